"""`knowtrail search`: a question, the walk, the sentences that answer."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from graph.errors import FilterError

if TYPE_CHECKING:
    from graph.settings import Settings
    from retrieval.search import SearchResult

__all__ = ["search"]


@click.command()
@click.argument("question")
@click.option("--corpus", help="Corpus to ask; needed where there are several.")
@click.option(
    "--algorithm",
    default="query_traversal",
    show_default=True,
    help="How to walk: query_traversal or basic_retrieval.",
)
@click.option("--k", type=int, help="Results wanted, in place of --max-sentences.")
@click.option("--max-sentences", type=int, default=10, show_default=True)
@click.option("--max-hops", type=int, default=20, show_default=True)
@click.option(
    "--filter",
    "filter_json",
    metavar="JSON",
    help='What chunks must pass, such as \'{"category": "Autism"}\'.',
)
@click.option(
    "--granularity",
    type=click.Choice(["chunk", "sentence"]),
    default="chunk",
    show_default=True,
    help="Whether a result is a chunk or a sentence.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.pass_obj
def search(
    settings: Settings,
    /,
    *,
    question: str,
    corpus: str | None,
    filter_json: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer QUESTION with sentences found by walking the graph."""
    from graph.cli_session import open_connection
    from retrieval.display import show_result
    from retrieval.questions import check_question
    from retrieval.search import search as answer

    given = None if filter_json is None else _read_filter(filter_json)
    check_question(question, filter=given, **options)
    with open_connection(settings) as connection:
        result = answer(
            connection,
            None,
            question,
            corpus=corpus or settings.corpus,
            filter=given,
            settings=settings,
            **options,
        )
    if as_json:
        click.echo(json.dumps(_as_dict(result), ensure_ascii=False, indent=2))
    else:
        show_result(result, sys.stdout)


def _read_filter(text: str) -> Any:
    """Read a filter from the command line.

    Raises:
        FilterError: If it is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        msg = f"--filter is not JSON ({error.msg} at character {error.pos}): {text!r}."
        raise FilterError(msg) from error


def _as_dict(result: SearchResult) -> dict[str, Any]:
    """Return a result as JSON values: the walk and, for each hit, a row."""
    return {
        **result.walk.as_dict(),
        "results": [
            {
                "rank": rank,
                "documentId": hit.chunk.document_id,
                "title": hit.chunk.title,
                "url": hit.chunk.url,
                "chunkId": hit.chunk.id,
                "sentenceIds": [s.id for s in hit.sentences],
                "text": hit.text,
                "score": hit.score,
                "hop": hit.hop,
                "path": list(hit.path),
                "filled": hit.filled,
            }
            for rank, hit in enumerate(result.hits, start=1)
        ],
    }

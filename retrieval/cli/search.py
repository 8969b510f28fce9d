"""`knowtrail search`: a question, the walk, the sentences that answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.cli.options import choice
from knowtrail.retrieval.cli.options import (
    algorithm_option,
    tell_unknown_fields,
    walk_asked,
    walk_options,
)

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.search import SearchResult


@click.command()
@click.argument("question")
@algorithm_option
@click.option("--k", type=int, help="Results wanted, in place of --max-sentences.")
@walk_options
@choice(
    "--granularity",
    of=("chunk", "sentence"),
    text="Whether a result is a chunk or a sentence.",
)
@click.option(
    "--rerank",
    metavar="NAME",
    help="Put results in the order of a reranker: embedding, bm25, "
    "cross-encoder:MODEL, pointwise:FILE or zeroentropy:MODEL.",
)
@click.option(
    "--rerank-candidates",
    type=int,
    default=50,
    help="Results that the reranker chooses from.",
)
@click.option(
    "--score-threshold", type=float, help="Least cosine of a result, from -1 to 1."
)
@json_option
@click.pass_obj
def search(
    settings: Settings,
    /,
    *,
    question: str,
    rerank: str | None,
    rerank_candidates: int,
    score_threshold: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer QUESTION with sentences found by walking the graph."""
    from knowtrail.graph.session import open_connection
    from knowtrail.retrieval.display import show_result
    from knowtrail.retrieval.rerank.stage import stage_of
    from knowtrail.retrieval.search import check_threshold
    from knowtrail.retrieval.search import search as answer

    check_threshold(score_threshold)
    stage_of(rerank, rerank_candidates, k=options["k"], settings=settings)
    asked = walk_asked(settings, question, options)
    with open_connection(settings) as connection:
        result = answer(
            connection,
            question,
            rerank=rerank,
            rerank_candidates=rerank_candidates,
            score_threshold=score_threshold,
            **asked,
        )
        tell_unknown_fields(connection, result.walk.corpus, asked["filter"])
    shown = _as_dict(result)
    emit(shown, lambda: show_result(result, sys.stdout), as_json=as_json, indent=2)


def _as_dict(result: SearchResult) -> dict[str, Any]:
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
                "rerankScore": hit.rerank_score,
                "hop": hit.hop,
                "path": list(hit.path),
                "filled": hit.filled,
            }
            for rank, hit in enumerate(result.hits, start=1)
        ],
    }

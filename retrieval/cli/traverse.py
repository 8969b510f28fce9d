"""`knowtrail search`, `traverse` and `compare`: walks, and what they found."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import own_command
from knowtrail.ingest.keys import camel_cased
from knowtrail.retrieval.cli.options import (
    algorithm_option,
    complete_algorithm,
    told,
    walk_asked,
    walk_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.search import SearchResult
    from knowtrail.retrieval.traverse import TraverseResult
    from knowtrail.retrieval.walk import RankedChunk


@click.command()
@click.argument("question")
@algorithm_option
@click.option("--k", type=int, help="Results wanted, in place of --max-sentences.")
@walk_options
@told("search")
@click.pass_obj
def search(
    settings: Settings, /, *, question: str, as_json: bool, **options: Any
) -> None:
    """Answer QUESTION with sentences found by walking the graph."""
    from knowtrail.retrieval.display import show_result
    from knowtrail.retrieval.rerank.stage import stage_of
    from knowtrail.retrieval.search import check_threshold
    from knowtrail.retrieval.search import search as answer

    names = ("score_threshold", "rerank", "rerank_candidates")
    least, rerank, candidates = chosen = [options.pop(name) for name in names]
    check_threshold(least)
    stage_of(rerank, candidates, k=options["k"], settings=settings)
    asked = walk_asked(settings, question, options)
    asked |= dict(zip(names, chosen, strict=True))
    with open_connection(settings) as connection:
        result = answer(connection, question, **asked)
    shown = _found(result)
    emit(shown, lambda: show_result(result, sys.stdout), as_json=as_json, indent=2)


def _found(result: SearchResult) -> dict[str, Any]:
    return {
        **result.walk.as_dict(),
        "results": [
            {
                "rank": rank,
                **camel_cased(hit.chunk, "document_id", "title", "url"),
                "chunkId": hit.chunk.id,
                "sentenceIds": [s.id for s in hit.sentences],
                **camel_cased(hit, "text", "score", "rerank_score", "hop"),
                "path": list(hit.path),
                "filled": hit.filled,
            }
            for rank, hit in enumerate(result.hits, start=1)
        ],
    }


_RECORDED = told("recorded")


@click.command()
@click.argument("question")
@algorithm_option
@walk_options
@_RECORDED
@click.pass_obj
def traverse(
    settings: Settings,
    /,
    *,
    question: str,
    record: bool,
    trace: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Walk the graph for QUESTION and store the walk.

    The walk can then be asked by saved queries, see knowtrail cypher --list.
    """
    from knowtrail.retrieval.display import show_walk
    from knowtrail.retrieval.traverse import traverse as walk

    asked = walk_asked(settings, question, options)
    with open_connection(settings) as connection:
        result = walk(connection, question, record=record, trace=trace, **asked)
    shown = _as_dict(result, trace=trace)
    emit(shown, lambda: show_walk(result.walk, sys.stdout), as_json=as_json, indent=2)
    if result.warning:
        click.echo(f"Warning: {result.warning}", err=True)
    elif result.traversal_id is not None and result.walk.steps and not as_json:
        _tell_saved(settings, result.traversal_id, trace=trace)


@click.command()
@click.argument("question")
@told("compare", algorithms={"shell_complete": complete_algorithm})
@walk_options
@_RECORDED
@click.pass_obj
def compare(
    settings: Settings,
    /,
    *,
    question: str,
    record: bool,
    trace: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Walk the graph for QUESTION with several algorithms and store each walk."""
    from knowtrail.retrieval.traverse import compare as walk

    asked = walk_asked(settings, question, options)
    with open_connection(settings) as connection:
        results = walk(connection, question, record=record, trace=trace, **asked)
    _show_comparison(settings, results, trace=trace, as_json=as_json)
    if all(result.error for result in results):
        sys.exit(1)


def _show_comparison(
    settings: Settings, results: Sequence[TraverseResult], *, trace: bool, as_json: bool
) -> None:
    """Write the results; what failed or could not be recorded goes to stderr."""
    from knowtrail.retrieval.display import show_comparison
    from knowtrail.retrieval.traverse import overlaps

    shared = overlaps(results)
    shown = {
        "question": results[0].walk.question,
        "corpus": results[0].walk.corpus,
        "walks": [_as_dict(result, trace=trace) for result in results],
        "overlaps": [
            {
                "algorithm": overlap.left,
                "other": overlap.right,
                "shared": overlap.shared,
                "either": overlap.either,
            }
            for overlap in shared
        ],
    }

    def show() -> None:
        show_comparison(results, shared, sys.stdout)

    emit(shown, show, as_json=as_json, indent=2)
    for result in results:
        if said := result.error or result.warning:
            click.echo(f"{result.walk.algorithm}: {said}", err=True)
    stored = [r for r in results if r.traversal_id and r.walk.steps]
    if stored and not as_json:
        click.echo("Where they part, and one walk step by step:")
        own, first = own_command(settings.home), stored[0].traversal_id
        question = shlex.quote(f"question={stored[0].walk.question}")
        click.echo(f"  {own} cypher --saved walks_apart -p {question}")
        click.echo(f"  {own} cypher --saved traversal_steps -p traversal={first}")


def _tell_saved(settings: Settings, traversal: str, *, trace: bool) -> None:
    """Say under which id the walk is stored, and how to look at it."""
    own = own_command(settings.home)
    click.echo(f"\nStored as traversal {traversal}. Look at it with:")
    names = ["traversal_steps"]
    if trace:
        names += ["traversal_candidates", "passages_missed"]
    for name in names:
        click.echo(f"  {own} cypher --saved {name} -p traversal={traversal}")
    click.echo(f"  {own} view path --traversal {traversal}")


def _as_dict(result: TraverseResult, *, trace: bool) -> dict[str, Any]:
    """Return a result as JSON values; with `trace` also what was considered."""
    walk = result.walk.as_dict()
    if trace:
        walk["anchors"] = _ranked(result.ranking)
        for row, step in zip(walk["steps"], result.walk.steps, strict=True):
            row["considered"] = _ranked(step.considered)
    return {
        **walk,
        "traversalId": result.traversal_id,
        "warning": result.warning or None,
        "error": result.error or None,
    }


def _ranked(chunks: Sequence[RankedChunk]) -> list[dict[str, Any]]:
    return [{"chunkId": chunk.id, "score": chunk.score} for chunk in chunks]

"""Results as a person reads them in a terminal."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from graph.rows import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from retrieval.hits import Hit
    from retrieval.rerank.stage import Reranked
    from retrieval.search import SearchResult
    from retrieval.traverse import Overlap, TraverseResult
    from retrieval.walk import FoundSentence, Step, StopReason, Walk

__all__ = ["show_comparison", "show_result", "show_walk", "stop_text"]

_PIPE_WIDTH = 200
"""Columns where the output is no terminal."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_STOPS: dict[StopReason, str] = {
    "sentence_limit": "enough sentences were found",
    "chunk_limit": "enough chunks were found",
    "early_stop": "a sentence found is nearer to the question than any chunk left",
    "max_hops": "the hop limit was reached",
    "no_unvisited_chunk": "every neighbour had been visited",
    "no_connections": "the chunk has no outgoing edge",
    "all_candidates_overlap": "every neighbour holds a sentence already found",
    "no_more_similar": "no neighbour is more similar than the last hop was",
    "sentence_is_best": "a sentence of the chunk scores better than its neighbours",
    "model_stopped": "the language model had seen enough",
    "time_limit": "the time was up",
    "chunks_exhausted": "every chunk had been read",
    "no_anchor": "no chunk passed",
    "failed": "it could not be made",
}


def stop_text(reason: StopReason) -> str:
    """Return a stop reason in words."""
    return _STOPS[reason]


def show_result(result: SearchResult, file: TextIO) -> None:
    """Write the table of the walk and the sentences that answer.

    Text from documents is printed as it is, but for control characters, which a
    terminal would obey.

    Args:
        result: What a search returned.
        file: Where to write, such as standard output.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, highlight=False)
    console.print(_headline(result.walk))
    if result.walk.steps:
        console.print(_table(result.walk))
    if result.reranked is not None:
        console.print(_reranking(result.reranked))
    for (title, score), hits in groupby(result.hits, key=_heading):
        more = "" if score is None else f" [{score:.3f}]"
        console.print(Text(_plain(title) + more, style="bold"))
        console.print(
            _sentences((hit.filled, s) for hit in hits for s in hit.sentences)
        )


def show_walk(walk: Walk, file: TextIO) -> None:
    """Write the table of a walk, with reasons and times, and what it found.

    Args:
        walk: The walk.
        file: Where to write, such as standard output.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, highlight=False)
    console.print(_headline(walk))
    if walk.steps:
        console.print(_table(walk, reasons=True))
    for title, steps in groupby(walk.steps, key=lambda step: step.chunk.title):
        found = [(False, s) for step in steps for s in step.sentences]
        if found:
            console.print(Text(_plain(title), style="bold"))
            console.print(_sentences(found))


def show_comparison(
    results: Sequence[TraverseResult], overlaps: Sequence[Overlap], file: TextIO
) -> None:
    """Write one row an algorithm, and how much each two found alike.

    Args:
        results: What a comparison returned.
        overlaps: The same in pairs, as `retrieval.traverse.overlaps` gives them.
        file: Where to write, such as standard output.
    """
    from rich import box
    from rich.table import Table

    console = _wide(file)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("Algorithm", overflow="fold")
    for heading in ("Sentences", "Documents", "Hops"):
        table.add_column(heading, justify="right")
    table.add_column("Ended by", overflow="fold")
    table.add_column("ms", justify="right")
    table.add_column("Traversal", overflow="fold")
    for result in results:
        walk = result.walk
        table.add_row(
            walk.algorithm,
            str(len(walk.sentences)),
            str(len({step.chunk.document_id for step in walk.steps})),
            str(walk.hops),
            walk.stop_reason,
            f"{walk.milliseconds:.1f}",
            result.traversal_id or "",
        )
    console.print(table)
    if overlaps:
        console.print("Sentences in common, of all that either found:")
        console.print(_overlap_table(overlaps))


def _overlap_table(overlaps: Sequence[Overlap]) -> Table:
    """Return the shares of common sentences as a triangle."""
    from rich import box
    from rich.table import Table

    names = list(dict.fromkeys(n for o in overlaps for n in (o.left, o.right)))
    share = {(o.left, o.right): f"{o.share:.0%}" for o in overlaps}
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", justify="right")
    table.add_column("", overflow="fold")
    for number in range(1, len(names)):
        table.add_column(str(number), justify="right")
    for number, name in enumerate(names, start=1):
        cells = [share.get((other, name), "") for other in names[:-1]]
        table.add_row(str(number), name, *cells)
    return table


def _wide(file: TextIO) -> Console:
    """Return a console as wide as the terminal, or wide where there is none."""
    from rich.console import Console

    console = Console(file=file, highlight=False)
    if console.is_terminal:
        return console
    return Console(file=file, highlight=False, width=_PIPE_WIDTH)


def _headline(walk: Walk) -> Text:
    """Return what happened in one sentence."""
    from rich.text import Text

    return Text(
        f"{walk.algorithm} on {_plain(walk.corpus)}: {walk.extent}, "
        f"{walk.milliseconds:.0f} ms; it ended because "
        f"{stop_text(walk.stop_reason)}."
    )


def _reranking(reranked: Reranked) -> Text:
    """Return what the reranker did in one sentence."""
    from rich.text import Text

    return Text(
        f"Of {counted(reranked.candidates, 'result')} the best by "
        f"{_plain(reranked.name)} ({reranked.milliseconds:.0f} ms), its number in "
        "brackets:"
    )


def _heading(hit: Hit) -> tuple[str, float | None]:
    """Return what stands above a hit's sentences."""
    return hit.chunk.title, hit.rerank_score


def _table(walk: Walk, *, reasons: bool = False) -> Table:
    """Return the steps of a walk as a table.

    Args:
        walk: The walk.
        reasons: Whether to say how each chunk was chosen and how long that took.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("Step", "Hop"):
        table.add_column(heading, justify="right")
    table.add_column("Document", overflow="fold")
    table.add_column("Sentences", justify="right")
    table.add_column("New", justify="right")
    table.add_column("Score", justify="right")
    if reasons:
        table.add_column("ms", justify="right")
        table.add_column("Chosen as", overflow="fold")
    for step in walk.steps:
        more = (f"{step.milliseconds:.1f}", Text(_plain(step.reason)))
        table.add_row(
            str(step.index),
            str(step.hop),
            Text(_plain(step.chunk.title)),
            _span(step),
            str(len(step.sentences)),
            f"{step.score:.3f}",
            *(more if reasons else ()),
        )
    return table


def _span(step: Step) -> str:
    """Return which sentences of the document a chunk covers."""
    first, last = step.chunk.first_sentence, step.chunk.last_sentence
    return str(first) if first == last else f"{first}-{last}"


def _sentences(found: Iterable[tuple[bool, FoundSentence]]) -> Table:
    """Return sentences, one a row with its score.

    Args:
        found: Each sentence, and whether it filled the results up after the walk,
            which a plus tells.
    """
    from rich.table import Table
    from rich.text import Text

    rows = Table.grid(padding=(0, 1))
    for filled, sentence in found:
        text = f"{_plain(sentence.text)} ({sentence.score:.3f})"
        rows.add_row(" +" if filled else " -", Text(text, overflow="fold"))
    return rows


def _plain(text: str) -> str:
    """Return a text on one line without control characters."""
    return _CONTROLS.sub(" ", text)

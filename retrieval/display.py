"""Results as a person reads them in a terminal."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from rich.table import Table

    from retrieval.hits import Hit
    from retrieval.search import SearchResult
    from retrieval.walk import Step, StopReason, Walk

__all__ = ["show_result", "stop_text"]

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
    walk = result.walk
    console.print(
        Text(
            f"{walk.algorithm} on {_plain(walk.corpus)}: {len(walk.steps)} steps, "
            f"{walk.hops} hops, {len(walk.sentences)} sentences, "
            f"{walk.milliseconds:.0f} ms; it ended because "
            f"{stop_text(walk.stop_reason)}."
        )
    )
    if walk.steps:
        console.print(_table(walk))
    for title, hits in groupby(result.hits, key=lambda hit: hit.chunk.title):
        console.print(Text(_plain(title), style="bold"))
        console.print(_sentences(list(hits)))


def _table(walk: Walk) -> Table:
    """Return the steps of a walk as a table."""
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
    for step in walk.steps:
        table.add_row(
            str(step.index),
            str(step.hop),
            Text(_plain(step.chunk.title)),
            _span(step),
            str(len(step.sentences)),
            f"{step.score:.3f}",
        )
    return table


def _span(step: Step) -> str:
    """Return which sentences of the document a chunk covers."""
    first, last = step.chunk.first_sentence, step.chunk.last_sentence
    return str(first) if first == last else f"{first}-{last}"


def _sentences(hits: list[Hit]) -> Table:
    """Return the sentences of hits, one a row with its score.

    A plus marks those that filled the results up after the walk.
    """
    from rich.table import Table
    from rich.text import Text

    rows = Table.grid(padding=(0, 1))
    for hit in hits:
        for sentence in hit.sentences:
            text = f"{_plain(sentence.text)} ({sentence.score:.3f})"
            rows.add_row(" +" if hit.filled else " -", Text(text, overflow="fold"))
    return rows


def _plain(text: str) -> str:
    """Return a text on one line without control characters."""
    return _CONTROLS.sub(" ", text)

"""Results as a person reads them in a terminal."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.rows import counted, plain_text
from knowtrail.graph.cli.tables import draw_rows, table_console
from knowtrail.graph.files.packaged import packaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TextIO

    from rich.table import Table
    from rich.text import Text

    from knowtrail.retrieval.search import SearchResult
    from knowtrail.retrieval.traverse import Overlap, TraverseResult
    from knowtrail.retrieval.walk import ChunkText, FoundSentence, Step, Walk

_STOPS: dict[str, str] = packaged(__package__, "display.toml")["stops"]
"""Why a walk ended, in words."""
_AUTO = "Score is the cosine with the question; auto ranks by its random walks as well."
_STEPS = ("Step", "Hop", "Document", "Sentences", "New", "Score", "ms", "Chosen as")
_COMPARED = ("Algorithm", "Found", "Docs", "Hops", "ms", "Ended by")


def stop_text(reason: str, given: Mapping[str, Any] | None = None) -> str:
    """Return a stop reason in words, closer ones where what was given is known."""
    if reason != "no_anchor" or given is None:
        return _STOPS[reason]
    if given.get("filter"):
        return "no chunk passed the filter"
    return "the corpus has no chunk yet, see knowtrail corpus list"


def show_result(result: SearchResult, file: TextIO) -> None:
    """Write the table of the walk and the sentences that answer.

    Of results that were reranked only the sentences are written, with the reranker's
    numbers; what ranked them goes to standard error.

    Text from documents is printed as it is, but for control characters, which a
    terminal would obey.
    """
    if (reranked := result.reranked) is None:
        table_console(file).print(_headline(result.walk))
        _draw_steps(result.walk, file)
    else:
        click.echo(
            f"Of {counted(reranked.candidates, 'result')} the best by "
            f"{plain_text(reranked.name)} ({reranked.milliseconds:.0f} ms), its number "
            "in brackets:",
            err=True,
        )
    _show_found(
        [(h.chunk, h.rerank_score, h.filled, h.sentences) for h in result.hits], file
    )


def show_walk(walk: Walk, file: TextIO, *, reasons: bool = True) -> None:
    """Write the table of a walk and what it found."""
    table_console(file).print(_headline(walk))
    _draw_steps(walk, file, reasons=reasons)
    _show_found([(s.chunk, None, False, s.sentences) for s in walk.steps], file)


def _show_found(
    parts: Sequence[tuple[ChunkText, float | None, bool, Sequence[FoundSentence]]],
    file: TextIO,
) -> None:
    """Write sentences under their documents: chunks, scores and what filled them up."""
    console = table_console(file)
    documents = {(chunk.document_id, chunk.title) for chunk, *_ in parts}
    titles = Counter(title for _, title in documents)
    for (document, title, url, score), group in groupby(
        parts,
        key=lambda part: (part[0].document_id, part[0].title, part[0].url, part[1]),
    ):
        found = [(filled, s) for _, _, filled, sentences in group for s in sentences]
        if found:
            name = document if titles[title] > 1 else ""
            console.print(_title(title, url, score, document=name))
            console.print(_sentences(found))


def show_comparison(
    results: Sequence[TraverseResult], overlaps: Sequence[Overlap], file: TextIO
) -> None:
    """Write one row an algorithm, what each found, and how much each two share."""
    from rich.text import Text

    console = table_console(file)
    rows = [
        (
            result.walk.algorithm,
            len(result.walk.sentences),
            len({step.chunk.document_id for step in result.walk.steps}),
            result.walk.hops,
            f"{result.walk.milliseconds:.1f}",
            stop_text(result.walk.stop_reason, result.walk.parameters),
        )
        for result in results
    ]
    draw_rows(_COMPARED, rows, file=file)
    click.echo(file=file)
    for result in (result for result in results if result.walk.sentences):
        stored = f" (traversal {result.traversal_id})" if result.traversal_id else ""
        console.print(Text(f"{result.walk.algorithm} found{stored}:", style="bold"))
        console.print(_sentences((False, s) for s in result.walk.sentences))
    if overlaps:
        console.print("Sentences in common, of all that either found:")
        names = list(dict.fromkeys(n for o in overlaps for n in (o.left, o.right)))
        share = {(o.left, o.right): f"{o.share:.0%}" for o in overlaps}
        numbers = [str(number) for number in range(1, len(names) + 1)]
        triangle = [
            (number, name, *(share.get((other, name), "") for other in names[:-1]))
            for number, name in zip(numbers, names, strict=True)
        ]
        draw_rows(("", "", *numbers[:-1]), triangle, file=file)


def _headline(walk: Walk) -> Text:
    from rich.text import Text

    return Text(
        f"{walk.algorithm} on {plain_text(walk.corpus)}: {walk.extent}, "
        f"{walk.milliseconds:.0f} ms; it ended because "
        f"{stop_text(walk.stop_reason, walk.parameters)}."
    )


def _title(
    title: str, url: str | None, score: float | None = None, *, document: str = ""
) -> Text:
    """Return the line above sentences; with an id too, where titles are shared."""
    from rich.text import Text

    ranked = "" if score is None else f" [{score:.3f}]"
    address = f"  {plain_text(url)}" if url else ""
    name = f"  document {document}" if document else ""
    return Text.assemble((plain_text(title) + ranked, "bold"), (name + address, "dim"))


def _draw_steps(walk: Walk, file: TextIO, *, reasons: bool = False) -> None:
    rows = [
        (
            step.index,
            step.hop,
            step.chunk.title,
            _span(step),
            len(step.sentences),
            f"{step.score:.3f}",
            f"{step.milliseconds:.1f}",
            step.reason,
        )
        for step in walk.steps
    ]
    shown = len(_STEPS) if reasons else -2
    if rows:
        draw_rows(_STEPS[:shown], [row[:shown] for row in rows], file=file)
        if walk.algorithm == "auto":
            table_console(file).print(_AUTO, style="dim")
        click.echo(file=file)


def _span(step: Step) -> str:
    """Return which sentences of the document a chunk covers."""
    first, last = step.chunk.first_sentence, step.chunk.last_sentence
    return str(first) if first == last else f"{first}-{last}"


def _sentences(found: Iterable[tuple[bool, FoundSentence]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    rows = Table.grid(padding=(0, 1))
    for filled, sentence in found:
        text = f"{plain_text(sentence.text)} ({sentence.score:.3f})"
        rows.add_row(" +" if filled else " -", Text(text, overflow="fold"))
    return rows

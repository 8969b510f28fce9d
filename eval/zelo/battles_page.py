"""A judged query as one page of HTML: matrices, scores, and every battle."""

from __future__ import annotations

from importlib import resources
from math import isfinite
from typing import TYPE_CHECKING

from eval.report import facts, html_page, shown_text, table
from eval.zelo.figures import matrix_figure, scores_figure
from eval.zelo.tables import inspection_tables, shown, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eval.zelo.inspection import Fought, Inspection

__all__ = ["battles_page", "page_style"]

LARGEST = 100
"""Documents whose matrices are drawn at most; every cell is an element of the page."""
_TEXT = 1_500
_REASONING = 4_000


def page_style() -> str:
    """Return the style of pages about zELO scores."""
    return resources.files("eval.zelo").joinpath("report.css").read_text("utf-8")


def battles_page(one: Inspection) -> str:
    """Return a judged query as HTML.

    Args:
        one: The query.
    """
    return html_page(one.judged.query.query, _body(one), style=page_style())


def _body(one: Inspection) -> Iterator[str]:
    """Yield what stands below the heading."""
    yield from facts({
        "query": one.judged.query.id,
        "judges": ", ".join(one.judged.judges) or "none",
    })
    for line in summary(one).splitlines():
        yield f"<p>{shown_text(line)}</p>"
    yield "<h2>Battles</h2>"
    if one.battles.n <= LARGEST:
        yield (
            "<p>Blue: the document of the row beats that of the column; red: it loses; "
            "grey: they did not meet. In zELO order, the best first, consistent judges "
            "leave blue above the diagonal and red below.</p>"
        )
        yield '<div class="figures">'
        yield from matrix_figure(one, list(range(one.battles.n)), "Input order")
        yield from matrix_figure(one, one.order(), "zELO order")
        yield "</div>"
    else:
        yield f"<p>{one.battles.n} documents are too many for a matrix on a page.</p>"
    yield '<div class="figures">'
    yield from scores_figure(one)
    yield "</div>"
    for each in inspection_tables(one):
        yield from table(each)
    yield "<h2>Battles of each document</h2><p>The best document first; its opponents "
    yield "likewise. Scores from -1, for the other, to 1, for this one.</p>"
    for rank, number in enumerate(one.order(), start=1):
        yield from _document(one, number, rank)


def _document(one: Inspection, number: int, rank: int) -> Iterator[str]:
    """Yield the battles of a document."""
    document, fought = one.document(number), one.fought(number)
    score = one.scores[number]
    said = f"zELO {score:.2f}" if isfinite(score) else "not judged"
    opened = " open" if rank == 1 else ""
    yield (
        f"<details{opened}><summary>{rank}. <b><bdi>{shown_text(document.id[:200])}"
        f"</bdi></b> {said}, {len(fought)} battles</summary>"
    )
    if document.content:
        more = "\N{HORIZONTAL ELLIPSIS}" if len(document.content) > _TEXT else ""
        text = shown_text(document.content[:_TEXT])
        yield f'<p class="text" dir="auto">{text}{more}</p>'
    for battle in fought:
        yield from _battle(one, battle)
    yield "</details>"


def _battle(one: Inspection, battle: Fought) -> Iterator[str]:
    """Yield what the judges said of a battle."""
    result = (
        "not judged"
        if not isfinite(battle.share)
        else "even with"
        if battle.share == 0.5
        else "won over"
        if battle.share > 0.5
        else "lost to"
    )
    kind = {"won over": "won", "lost to": "lost"}.get(result, "")
    other = shown_text(one.document(battle.other).id[:200])
    yield (
        f'<div><b class="{kind}">{result}</b> <bdi>{other}</bdi>, share of the votes '
        f"{shown(battle.share)}</div>"
        '<div class="said">'
    )
    for said in battle.said:
        score = "failed" if said.score is None else f"{said.score:+.2f}"
        yield (
            f"<b>{shown_text(said.judge[:80])}</b><i>{score}</i>"
            f'<span dir="auto">{shown_text(said.reasoning[:_REASONING])}</span>'
        )
    yield "</div>"

"""Rankings against ground truth as one page of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.report import Table, facts, html_page, interval_cells, shown_text, table
from eval.zelo.battles_page import page_style
from eval.zelo.figures import histogram_figure
from eval.zelo.tables import MEANING, benchmark_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eval.zelo.comparison import Benchmark, Difference, RankingSettings

__all__ = ["benchmark_page"]

_WORST = 25


def benchmark_page(
    truth: str,
    found: Sequence[Benchmark],
    apart: Sequence[Difference],
    *,
    settings: RankingSettings,
) -> str:
    """Return rankings against the truth as HTML.

    Args:
        truth: Name of the ground truth.
        found: The rankings.
        apart: Their differences from the first.
        settings: How they were compared.
    """
    body = _body(found, apart, settings)
    return html_page(f"Rankings against {truth}", body, style=page_style())


def _body(
    found: Sequence[Benchmark], apart: Sequence[Difference], settings: RankingSettings
) -> Iterator[str]:
    """Yield what stands below the heading."""
    yield from facts({
        name.replace("_", " "): str(value)
        for name, value in settings.as_dict().items()
        if value is not None
    })
    yield f"<p>{MEANING}</p>"
    for one in found:
        yield from _ranking(one)
    if apart:
        yield from table(benchmark_tables(found, apart)[1])
    yield (
        "<h2>nDCG of the queries</h2><p>The line is the mean, the band its 95 % "
        'interval.</p><div class="figures">'
    )
    for one in found:
        yield from histogram_figure(one.name, one.values["ndcg"], one.means["ndcg"])
    yield "</div>"
    for one in found:
        yield from table(_worst(one))


def _ranking(one: Benchmark) -> Iterator[str]:
    """Yield the means of a ranking, as numbers and drawn."""
    yield (f"<h2>{shown_text(one.name)}</h2><p>{len(one.queries)} queries.</p>")
    if one.absent or one.unjudged:
        yield (
            f"<p>{one.absent} queries of the truth are missing in it; {one.unjudged} "
            "of its documents are not judged and were passed over.</p>"
        )
    yield '<table class="metrics"><tbody>'
    for metric, mean in one.means.items():
        if mean is None:
            cells = (
                '<td class="number">-</td><td class="ends">not defined</td><td></td>'
            )
        else:
            cells = interval_cells(
                mean.value, mean.low, mean.high, none="one query: no interval"
            )
        yield f"<tr><th>{shown_text(metric)}</th>{cells}</tr>"
    yield "</tbody></table>"


def _worst(one: Benchmark) -> Table:
    """Return the queries of a ranking with the lowest nDCG."""
    metrics = list(one.values)
    order = sorted(
        range(len(one.queries)), key=lambda place: (one.values["ndcg"][place], place)
    )
    return Table(
        title=f"Queries that {one.name} ranks worst",
        note=f"The {min(_WORST, len(order))} with the lowest nDCG of {len(order)}.",
        columns=("query", *metrics),
        rows=[
            (
                one.queries[place],
                *(_number(one.values[metric][place]) for metric in metrics),
            )
            for place in order[:_WORST]
        ],
    )


def _number(value: float) -> str:
    """Return a number, a dash for none."""
    return f"{value:.3f}" if value == value else "-"

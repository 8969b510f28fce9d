"""Rankings and judged queries as tables and sentences, for terminals and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.report import Table
from retrieval.views.labels import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.zelo.comparison import Benchmark, Difference
    from eval.zelo.inspection import Inspection

__all__ = [
    "MEANING",
    "benchmark_tables",
    "inspection_tables",
    "shown",
    "summary",
]

MEANING = (
    "Means over the queries with 95 % bootstrap intervals: ndcg, accuracy and recall "
    "by the true scores; nDCG, RR and R by which documents are relevant."
)
"""What the columns are, in a sentence."""


def benchmark_tables(
    found: Sequence[Benchmark], apart: Sequence[Difference]
) -> list[Table]:
    """Return the results as tables: a ranking a row, then the paired differences.

    Args:
        found: The rankings.
        apart: Their differences from the first.
    """
    metrics = list(found[0].values)
    tables = [
        Table(
            title="Rankings",
            note=MEANING,
            columns=("ranking", "queries", *metrics),
            rows=[
                (
                    one.name,
                    _queries(one),
                    *(_interval(one.means.get(metric)) for metric in metrics),
                )
                for one in found
            ],
        )
    ]
    if apart:
        tables.append(
            Table(
                title=f"Less {found[0].name}",
                note=(
                    "Mean difference on the same queries, with its 95 % interval; p of "
                    "a permutation test, by Holm's method for each metric."
                ),
                columns=("ranking", "metric", "queries", "difference", "p"),
                rows=[
                    (
                        one.name,
                        one.metric,
                        str(one.found.n),
                        _interval(one.found.difference, sign=True),
                        f"{one.p_value:.4f}",
                    )
                    for one in apart
                ],
            )
        )
    return tables


def _queries(one: Benchmark) -> str:
    """Return the number of queries, with what is missing."""
    said = [f"{len(one.queries)}"]
    if one.absent:
        said.append(f"{one.absent} of the truth missing")
    if one.unjudged:
        said.append(f"{one.unjudged} documents not judged")
    return ", ".join(said)


def _interval(interval: Any, *, sign: bool = False) -> str:
    """Return a number with its interval as text."""
    if interval is None:
        return "-"
    form = "+.3f" if sign else ".3f"
    value = format(interval.value, form)
    if interval.low != interval.low:
        return value
    return f"{value} ({interval.low:{form}} to {interval.high:{form}})"


def summary(one: Inspection) -> str:
    """Return in a sentence or two what was judged and how consistent it is."""
    n = int((one.component < 0).sum())
    parts = {0: "nothing was judged", 1: "all judged documents are connected"}.get(
        one.components,
        f"they fall into {one.components} parts that cannot be compared",
    )
    lines = [
        f"{_count(one.battles.n, 'document')}, "
        f"{_count(len(one.battles.left), 'battle')}, "
        f"{_count(len(one.judged.judges), 'judge')}; {parts}"
        f"{f'; {n} not judged' if n else ''}.",
        f"Of {_count(one.triads.count, 'triad')} a share of {shown(one.triads.share)} "
        "is transitive. "
        f"Agreement of the judges: Kendall's W {shown(one.concordance.w)}, "
        f"Krippendorff's alpha {shown(one.agreement.alpha)}, unanimous in "
        f"{shown(one.agreement.unanimous)} of the battles that two or more decided.",
    ]
    return "\n".join(lines)


def inspection_tables(one: Inspection) -> list[Table]:
    """Return documents, judges and their agreement as tables."""
    rows = [
        (
            one.document(number).id,
            shown(one.scores[number]),
            shown(one.errors[number]),
            str(one.degree[number]),
            "-" if one.component[number] < 0 else str(one.component[number] + 1),
            str(number + 1),
            cut(one.document(number).content, 60),
        )
        for number in one.order()
    ]
    tables = [
        Table(
            title="Documents",
            note="By falling zELO score; a score holds within its part.",
            columns=("document", "zELO", "standard error", "battles", "part", "place",
                     "text"),
            rows=rows,
        ),
        Table(
            title="Judges",
            note=(
                "Shares of the decided answers that prefer the left document, and the "
                "one that was shown first; 0.5 is without bias."
            ),
            columns=("judge", "answered", "missing", "ties", "left", "first",
                     "transitive"),
            rows=[
                (
                    judge.name,
                    str(judge.answered),
                    str(judge.missing),
                    str(judge.ties),
                    shown(judge.left),
                    shown(first),
                    shown(judge.triads.share),
                )
                for judge, first in zip(one.judges, one.first, strict=True)
            ],
        ),
    ]  # fmt: skip
    if one.agreement.pairs:
        names = one.judged.judges
        tables.append(
            Table(
                title="Agreement",
                note="Battles that both decided, and where they name the same side.",
                columns=("judges", "battles", "same side"),
                rows=[
                    (f"{names[a]}, {names[b]}", str(count), shown(share))
                    for (a, b), (count, share) in one.agreement.pairs.items()
                ],
            )
        )
    return tables


def shown(value: float | None) -> str:
    """Return a number as people read it, a dash for none."""
    return "-" if value is None or value != value else f"{value:.2f}"


def _count(number: int, name: str) -> str:
    """Return a number of things."""
    return f"{number} {name}{'' if number == 1 else 's'}"

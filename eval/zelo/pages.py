"""Rankings and judged queries for people: tables, sentences, pages of HTML."""

from __future__ import annotations

from base64 import b64encode
from math import isnan
from typing import TYPE_CHECKING, Any

from knowtrail.eval.report import Table, filled
from knowtrail.eval.zelo.pictures import BATTLES, battles_picture, histogram_picture
from knowtrail.graph.cli.rows import counted
from knowtrail.graph.errors import MissingExtraError
from knowtrail.retrieval.views.labels import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowtrail.eval.differences import Difference
    from knowtrail.eval.statistics import Interval
    from knowtrail.eval.zelo.comparison import Benchmark, RankingSettings
    from knowtrail.eval.zelo.inspection import Inspection

MEANING = (
    "Means over the queries with 95 % bootstrap intervals: ndcg, accuracy and recall "
    "by the true scores; nDCG, RR and R by which documents are relevant."
)
"""What the columns are, in a sentence."""


def benchmark_tables(
    found: Sequence[Benchmark],
    apart: Sequence[Difference],
) -> list[Table]:
    """Return the results as tables: a ranking a row, then the paired differences."""
    metrics = list(found[0].values)
    tables = [
        Table(
            title="Rankings",
            note=f"{MEANING} Here {found[0].relevance}.",
            columns=("ranking", "queries", *metrics),
            rows=[
                (
                    one.name,
                    _queries(one),
                    *(interval_text(one.means.get(metric)) for metric in metrics),
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
                        interval_text(one.found.difference, "+"),
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
    said += [f"{one.absent} of the truth missing"] if one.absent else []
    said += [f"{one.unjudged} documents not judged"] if one.unjudged else []
    return ", ".join(said)


def interval_text(interval: Interval | None, sign: str = "") -> str:
    """Return a number with the ends of its interval, where it has them."""
    if interval is None:
        return "-"
    value, low, high = (
        f"{number:{sign}.3f}"
        for number in (interval.value, interval.low, interval.high)
    )
    return value if isnan(interval.low) else f"{value} ({low} to {high})"


def summary(one: Inspection) -> str:
    """Return in a sentence or two what was judged and how consistent it is."""
    n = int((one.component < 0).sum())
    parts = {0: "nothing was judged", 1: "all judged documents are connected"}.get(
        one.components,
        f"they fall into {one.components} parts that cannot be compared",
    )
    lines = [
        f"{counted(one.battles.n, 'document')}, "
        f"{counted(len(one.battles.left), 'battle')}, "
        f"{counted(len(one.judged.judges), 'judge')}; {parts}"
        f"{f'; {n} not judged' if n else ''}.",
        f"Of {counted(one.triads.count, 'triad')} a share of {shown(one.triads.share)} "
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


def battles_page(one: Inspection) -> str:
    """Return a judged query as HTML."""
    return filled(
        "zelo/battles.html",
        title=one.judged.query.query,
        one=one,
        summary=summary(one),
        tables=inspection_tables(one),
        about=BATTLES,
        shown=shown,
        **_figure(lambda: battles_picture(one, ".svg")),
    )


def _figure(draw: Callable[[], bytes]) -> dict[str, Any]:
    """Return a picture for a page; without the extra for it, what to install."""
    try:
        data = b64encode(draw()).decode("ascii")
    except MissingExtraError as error:
        return {"picture": None, "missing": str(error)}
    return {"picture": f"data:image/svg+xml;base64,{data}", "images": True}


_WORST = 25


def benchmark_page(
    truth: str,
    found: Sequence[Benchmark],
    apart: Sequence[Difference],
    *,
    settings: RankingSettings,
) -> str:
    """Return rankings against the truth, and their differences, as HTML."""
    named = settings.as_dict().items()
    return filled(
        "zelo/benchmark.html",
        title=f"Rankings against {truth}",
        named={k.replace("_", " "): str(v) for k, v in named if v is not None},
        found=found,
        tables=benchmark_tables(found, apart),
        worst=[_worst(one) for one in found],
        **_figure(lambda: histogram_picture(truth, found, ".svg")),
    )


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

"""Rankings and judged queries for people: tables, sentences, pages of HTML."""

from __future__ import annotations

from base64 import b64encode
from importlib import resources
from math import isfinite
from typing import TYPE_CHECKING, Any

from knowtrail.eval.report import (
    Table,
    facts,
    html_page,
    interval_cells,
    shown_text,
    table,
)
from knowtrail.eval.zelo.pictures import BATTLES, battles_picture, histogram_picture
from knowtrail.graph.errors import MissingExtraError
from knowtrail.retrieval.views.labels import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.eval.differences import Difference
    from knowtrail.eval.zelo.comparison import Benchmark, RankingSettings
    from knowtrail.eval.zelo.inspection import Fought, Inspection

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


_TEXT = 1_500
_REASONING = 4_000


def page_style() -> str:
    """Return the style of pages about zELO scores."""
    return (
        resources.files("knowtrail.eval.zelo").joinpath("report.css").read_text("utf-8")
    )


def _figure(draw: Callable[[], bytes], about: str) -> str:
    """Return a picture inside the page; without the extra for it, what to install."""
    try:
        data = b64encode(draw()).decode("ascii")
    except MissingExtraError as error:
        return f"<p>{shown_text(str(error))}</p>"
    source = f"data:image/svg+xml;base64,{data}"
    return f'<figure><img alt="{shown_text(about)}" src="{source}"></figure>'


def battles_page(one: Inspection) -> str:
    """Return a judged query as HTML."""
    return html_page(
        one.judged.query.query, _battles_body(one), style=page_style(), images=True
    )


def _battles_body(one: Inspection) -> Iterator[str]:
    """Yield what stands below the heading."""
    yield from facts({
        "query": one.judged.query.id,
        "judges": ", ".join(one.judged.judges) or "none",
    })
    for line in summary(one).splitlines():
        yield f"<p>{shown_text(line)}</p>"
    yield "<h2>Battles</h2>"
    yield _figure(lambda: battles_picture(one, ".svg"), BATTLES)
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
        f"</bdi></b> {said}, {one.degree[number]} battles</summary>"
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
    kind = {"won over": "won", "lost to": "lost"}.get(battle.verdict, "")
    other = shown_text(one.document(battle.other).id[:200])
    yield (
        f'<div><b class="{kind}">{battle.verdict}</b> <bdi>{other}</bdi>, '
        f"share of the votes {shown(battle.share)}</div>"
        '<div class="said">'
    )
    for said in battle.said:
        score = "failed" if said.score is None else f"{said.score:+.2f}"
        yield (
            f"<b>{shown_text(said.judge[:80])}</b><i>{score}</i>"
            f'<span dir="auto">{shown_text(said.reasoning[:_REASONING])}</span>'
        )
    yield "</div>"


_WORST = 25


def benchmark_page(
    truth: str,
    found: Sequence[Benchmark],
    apart: Sequence[Difference],
    *,
    settings: RankingSettings,
) -> str:
    """Return rankings against the truth as HTML."""
    body = _benchmark_body(truth, found, apart, settings)
    return html_page(f"Rankings against {truth}", body, style=page_style(), images=True)


def _benchmark_body(
    truth: str,
    found: Sequence[Benchmark],
    apart: Sequence[Difference],
    settings: RankingSettings,
) -> Iterator[str]:
    """Yield what stands below the heading."""
    yield from facts({
        name.replace("_", " "): str(value)
        for name, value in settings.as_dict().items()
        if value is not None
    })
    yield f"<p>{MEANING} Here {found[0].relevance}.</p>"
    for one in found:
        yield from _ranking(one)
    if apart:
        yield from table(benchmark_tables(found, apart)[1])
    yield "<h2>nDCG of the queries</h2>"
    drawn = f"nDCG of the queries of {', '.join(one.name for one in found)}"
    yield _figure(lambda: histogram_picture(truth, found, ".svg"), drawn)
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

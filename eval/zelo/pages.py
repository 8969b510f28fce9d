"""Rankings and judged queries for people: tables, sentences, pictures, pages of HTML.

Green and red are hard to tell apart for many people: who wins is blue here, who loses
red, as dark as it is clear. See `knowtrail.retrieval.views.drawing`.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.eval.report import (
    NOTES,
    Table,
    as_number,
    filled,
    known,
    plain,
    table,
    told,
)
from knowtrail.graph.errors import MissingExtraError
from knowtrail.retrieval.views.drawing import drawing, empty_figure, picture_bytes
from knowtrail.retrieval.views.labels import cut, cut_apart
from knowtrail.retrieval.views.layout import Heading
from knowtrail.retrieval.views.palette import COLORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

    from knowtrail.eval.statistics import Difference
    from knowtrail.eval.zelo.inspection import Inspection
    from knowtrail.eval.zelo.metrics import Benchmark, RankingSettings
    from knowtrail.eval.zelo.training import Training


LOSES_WINS = ("#67001f", "#d6604d", "#f7f7f7", "#4393c3", "#053061")
"""Brewer's red to blue; in the middle nobody wins."""
_NONE = "#d9dde2"
_BINS = 30
BATTLES = NOTES["zelo_battles"]
"""What a picture of battles shows, in words."""
_NAMED = 40
"""With more documents than this only some are named along a side."""


def battles_picture(one: Inspection, suffix: str) -> bytes:
    """Draw the battles of a query in input order and in zELO order, and the scores."""
    said = Heading(title=one.judged.query.query, about=BATTLES)
    with drawing():
        figure, axes = empty_figure(said, (14.4, 6.4), 1, 3)
        shares, order = one.shares(), one.order()
        names = cut_apart([document.id for document in one.judged.documents], 14)
        given = list(range(len(names)))
        drawn = _matrix(axes[0], shares, given, names, "input order")
        _matrix(axes[1], shares, order, names, "zELO order")
        label = "share of the votes for the row"
        figure.colorbar(drawn, ax=axes[1], label=label, shrink=0.6, pad=0.02)
        _scores(axes[2], one, order, names)
        return picture_bytes(figure, suffix)


def _matrix(
    axes: Axes, shares: Any, order: Sequence[int], names: Sequence[str], title: str
) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("knowtrail-battles", LOSES_WINS)
    colors.set_bad(_NONE)
    drawn = axes.imshow(
        np.ma.masked_invalid(shares[np.ix_(order, order)]),
        cmap=colors,
        vmin=0,
        vmax=1,
        interpolation="nearest",
        aspect="equal",
    )
    axes.set_title(title, fontsize=10)
    _names(axes, [names[place] for place in order], both=True)
    return drawn


def _names(axes: Axes, names: Sequence[str], *, both: bool) -> None:
    step = max(1, ceil(len(names) / _NAMED))
    places = list(range(0, len(names), step))
    shown = [names[place] for place in places]
    size = 8 if len(places) <= 25 else 6
    axes.set_yticks(places, shown, fontsize=size)
    if both:
        axes.set_xticks(places, shown, fontsize=size, rotation=90)


def _scores(
    axes: Axes, one: Inspection, order: Sequence[int], names: Sequence[str]
) -> None:
    scores = np.array([one.scores[number] for number in order])
    errors = np.array([one.errors[number] for number in order])
    rows = np.arange(len(order))
    bare = np.isfinite(scores) & ~np.isfinite(errors)
    whole = np.isfinite(scores) & np.isfinite(errors)
    axes.axvline(0, color=_NONE, linewidth=1, zorder=0)
    axes.errorbar(
        scores[whole],
        rows[whole],
        xerr=errors[whole],
        fmt="o",
        markersize=4,
        color=COLORS[0],
        ecolor="#8fb9d9",
        elinewidth=1.6,
    )
    axes.plot(scores[bare], rows[bare], "o", markersize=4, color=COLORS[0])
    for row in rows[~np.isfinite(scores)].tolist():
        axes.text(0, row, "not judged", fontsize=7, va="center", ha="center")
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel("zELO score (natural logarithm of odds)")
    axes.set_title("scores", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    _names(axes, [names[place] for place in order], both=False)


def bin_counts(values: Sequence[float]) -> list[int]:
    """Return how many numbers from 0 to 1 are in each bin; NaN in none."""
    known = [value for value in values if isfinite(value)]
    return [int(n) for n in np.histogram(known, bins=_BINS, range=(0, 1))[0]]


def histogram_picture(truth: str, found: Sequence[Benchmark], suffix: str) -> bytes:
    """Draw how the nDCGs of the queries are distributed, one panel a ranking."""
    said = Heading(
        title=f"nDCG against {truth}",
        about="Queries by nDCG; the line is their mean, the band its 95 % interval.",
    )
    columns = min(3, len(found))
    rows = ceil(len(found) / columns)
    with drawing():
        from matplotlib.ticker import MaxNLocator

        size = (max(5.6, 4.4 * columns), 3.1 * rows + 0.9)
        figure, cells = empty_figure(said, size, rows, columns)
        for axes in cells[len(found) :]:
            axes.set_axis_off()
        names = cut_apart([one.name for one in found], 40)
        top = max(count for one in found for count in bin_counts(one.values["ndcg"]))
        for place, (axes, one) in enumerate(zip(cells, found, strict=False)):
            counts, color = bin_counts(one.values["ndcg"]), COLORS[place % len(COLORS)]
            axes.stairs(counts, np.linspace(0, 1, _BINS + 1), fill=True, color=color)
            mean = one.means["ndcg"]
            if mean is not None:
                if mean.low == mean.low:
                    axes.axvspan(mean.low, mean.high, color="#1d2329", alpha=0.15)
                axes.axvline(mean.value, color="#1d2329", linewidth=1.4)
                axes.set_title(f"{names[place]}: {mean.value:.3f}", fontsize=10)
            axes.set_xlim(0, 1)
            axes.set_ylim(0, max(1, top) * 1.05)
            axes.set_xlabel("nDCG")
            axes.set_ylabel("queries")
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
            axes.spines[["top", "right"]].set_visible(False)
        return picture_bytes(figure, suffix)


def benchmark_tables(
    found: Sequence[Benchmark], apart: Sequence[Difference]
) -> list[Table]:
    """Return the results as tables: a ranking a row, then the paired differences."""
    first, means = found[0], {n: f"{{one[0].means[{n}]:.3f}}" for n in found[0].values}
    rows = ((one, _queries(one)) for one in found)
    tables = [table("rankings", rows, means, relevance=first.relevance)]
    return tables + ([table("rankings_less", apart, name=first.name)] if apart else [])


def _queries(one: Benchmark) -> str:
    said = [f"{len(one.queries)}"]
    said += [f"{one.absent} of the truth missing"] if one.absent else []
    said += [f"{one.unjudged} documents not judged"] if one.unjudged else []
    return ", ".join(said)


def summary(one: Inspection) -> str:
    """Return in a sentence or two what was judged and how consistent it is."""
    alone = int((one.fit.component < 0).sum())
    return told("zelo/summary.txt", one=one, alone=alone, known=known)


def inspection_tables(one: Inspection) -> list[Table]:
    """Return documents, judges and their agreement as tables."""
    names = one.judged.judges
    documents = (
        (
            one.document(number).id,
            one.scores[number],
            one.errors[number],
            one.fit.degree[number],
            None if one.fit.component[number] < 0 else one.fit.component[number] + 1,
            number + 1,
            cut(one.document(number).content, 60),
        )
        for number in one.order()
    )
    pairs = [
        (names[a], names[b], *both) for (a, b), both in one.agreement.pairs.items()
    ]
    return [
        table("documents", documents),
        table("judges", zip(one.judges, one.first, strict=True)),
        *([table("judges_alike", pairs)] if pairs else []),
    ]


_COUNTS = ("name", "answered", "missing", "ties")


def battles_table(one: Inspection, number: int) -> Table:
    """Return the battles of a document as a table."""
    rows = (
        (
            one.document(battle.other),
            battle.share,
            said,
            "failed" if said.score is None else f"{said.score:+.2f}",
        )
        for battle in one.fought(number)
        for said in battle.said
    )
    return table("battles", rows, name=one.document(number).id)


def figures(one: Inspection) -> dict[str, Any]:
    """Return the figures of a query for JSON."""
    return {
        "query": one.judged.query.id,
        "text": one.judged.query.query,
        "documents": one.battles.n,
        "battles": len(one.battles.left),
        "components": one.fit.components,
        "triads": plain(one.triads),
        "kendall_w": as_number(one.kendall_w),
        "krippendorff_alpha": one.agreement.alpha,
        "unanimous": as_number(one.agreement.unanimous),
        "judges": [
            {name: getattr(judge, name) for name in _COUNTS}
            | {"prefers_left": as_number(judge.left), "prefers_first": as_number(first)}
            for judge, first in zip(one.judges, one.first, strict=True)
        ],
    }


def details(one: Inspection, wanted: int | None) -> dict[str, Any]:
    """Return the documents of a query for JSON, with the battles of one or of all."""
    told = ("judge", "score", "reasoning")
    ranking = [
        {
            "document": one.document(number).id,
            "zelo": one.scores[number],
            "standard_error": one.errors[number],
            "component": int(one.fit.component[number]),
            "battles": [
                {
                    "against": one.document(battle.other).id,
                    "share": battle.share,
                    "judges": [
                        {name: getattr(said, name) for name in told}
                        for said in battle.said
                    ],
                }
                for battle in one.fought(number)
            ],
        }
        for number in one.order()
        if wanted in {None, number}
    ]
    return {"ranking": plain(ranking)}


def battles_page(one: Inspection) -> str:
    """Return a judged query as HTML."""
    return filled(
        "zelo/battles.html",
        title=one.judged.query.query,
        one=one,
        summary=summary(one),
        tables=inspection_tables(one),
        about=BATTLES,
        shown=known,
        **_figure(lambda: battles_picture(one, ".svg")),
    )


def _figure(draw: Callable[[], bytes]) -> dict[str, Any]:
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
    named = asdict(settings).items()
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
    values = [
        (query, {metric: numbers[place] for metric, numbers in one.values.items()})
        for place, query in enumerate(one.queries)
    ]
    shown = sorted(values, key=lambda row: row[1]["ndcg"])[:_WORST]
    columns = {metric: f"{{one[1][{metric}]:.3f}}" for metric in one.values}
    about = {"name": one.name, "shown": len(shown), "count": len(values)}
    return table("rankings_worst", shown, columns, **about)


def benchmark_json(
    found: Sequence[Benchmark], apart: Sequence[Difference], runs: Mapping[str, str]
) -> dict[str, Any]:
    """Return rankings and differences for JSON, with the ids of stored runs."""
    rankings = [
        {
            "name": one.name,
            "run": runs.get(one.name),
            "metrics": one.means,
            "relevance": one.relevance,
            "absent_queries": one.absent,
            "unjudged_documents": one.unjudged,
            "queries": {
                query: {metric: of[place] for metric, of in one.values.items()}
                for place, query in enumerate(one.queries)
            },
        }
        for one in found
    ]
    differences = [
        {
            "name": one.name,
            "less": one.base,
            "metric": one.metric,
            "queries": one.found.n,
            "difference": one.found.difference,
            "p_value": one.found.p_value,
            "p_value_holm": one.p_value,
        }
        for one in apart
    ]
    return {"rankings": plain(rankings), "differences": plain(differences)}


def training_table(found: Training) -> Table:
    """Return what a model is worth beside what it is made of."""
    rows = [
        (name, one.first, one.difference, one.p_value)
        for name, one in found.against.items()
    ]
    return table("training", [("the model", found.ndcg.value, "", ""), *rows])


def training_json(found: Training) -> dict[str, Any]:
    """Return a training for JSON."""
    return {
        "embedder": found.model.embedder,
        "penalty": found.penalty,
        "documents": found.documents,
        "trained": list(found.trained),
        "held_out": list(found.held_out),
        "ndcg": plain(found.ndcg),
        "against": {
            name: {
                "ndcg": one.first,
                "difference": plain(one.difference),
                "p_value": one.p_value,
            }
            for name, one in found.against.items()
        },
    }

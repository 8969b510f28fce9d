"""Standard measures of a ranking, from the library `ir-measures`.

The truth is turned into grades first: whole numbers from 0 up are grades as they are;
of other scores, such as zELO's, those above a threshold are relevant (grade 1). By
default the threshold is 0, which is the mean of a query's zELO scores: half of its
documents. Documents with equal scores are ranked as in `metrics`, the later one higher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from eval.zelo.metrics import ranked
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from eval.zelo.metrics import TwoScores

__all__ = ["STANDARD", "grades", "standard_measures"]

_Number = TypeVar("_Number", int, float)

STANDARD = ("nDCG@10", "RR", "R@10")
"""Normalised discounted gain of the first ten, reciprocal rank of the first relevant
document, share of the relevant ones among the first ten."""


def standard_measures(
    queries: Iterable[TwoScores],
    names: Sequence[str] = STANDARD,
    *,
    threshold: float | None = None,
) -> dict[str, list[float]]:
    """Return measures of each query, NaN where it has no relevant document.

    Args:
        queries: Queries with true scores and scores under test.
        names: Measures as ir-measures writes them, such as `nDCG@5` or `AP`.
        threshold: Above which a true score is relevant; None as in the module.

    Raises:
        InputError: If ir-measures knows no such measure.
    """
    import ir_measures

    try:
        measures = {name: ir_measures.parse_measure(name) for name in names}
    except (NameError, ValueError, SyntaxError) as error:
        msg = f"ir-measures has none of {list(names)}: {error}."
        raise InputError(msg) from error
    truth: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    order = []
    for query in queries:
        order.append(query.query_id)
        found = grades(query.truth, threshold=threshold)
        if not found.any():
            continue
        truth[query.query_id] = _by_name(query, found.tolist())
        place = np.empty(len(found))
        place[ranked(query.test)] = -np.arange(len(found), dtype=np.float64)
        run[query.query_id] = _by_name(query, place.tolist())
    values = {
        (str(metric.measure), metric.query_id): float(metric.value)
        for metric in ir_measures.iter_calc(list(measures.values()), truth, run)
    }
    return {
        name: [values.get((str(measure), query), float("nan")) for query in order]
        for name, measure in measures.items()
    }


def grades(
    truth: NDArray[np.float64], *, threshold: float | None = None
) -> NDArray[np.int64]:
    """Return true scores as whole numbers from 0 up; see the module.

    Args:
        truth: True scores of a query.
        threshold: Above which a score is relevant; None as in the module.
    """
    whole = bool(((truth >= 0) & (truth == np.floor(truth))).all())
    if threshold is None and whole:
        return truth.astype(np.int64)
    return (truth > (threshold or 0.0)).astype(np.int64)


def _by_name(query: TwoScores, values: list[_Number]) -> dict[str, _Number]:
    """Return the values of a query's documents by their ids."""
    return dict(zip(query.documents, values, strict=True))

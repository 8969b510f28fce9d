"""Systems against each other on the same records: paired differences, corrected.

One rule holds in every report: all differences in one metric, between however many
systems or in however many fields, are a family, whose p-values are corrected together
by Holm's method. Different metrics are different questions: of many, one is to be
chosen before one looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowtrail.eval.statistics import SHARE, Comparison, compare_paired, corrected

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A system less another, by one metric, on the records that both have.

    Attributes:
        name: The system.
        base: The other.
        metric: The metric.
        found: Both values and their difference with its interval.
        p_value: That of the permutation test, corrected; see the module.
    """

    name: str
    base: str
    metric: str
    found: Comparison
    p_value: float


def corrected_differences(
    tests: Iterable[tuple[str, str, str, Comparison]],
) -> tuple[Difference, ...]:
    """Return comparisons with their p-values corrected, in the order given."""
    given = list(tests)
    adjusted = [0.0] * len(given)
    for metric in dict.fromkeys(test[2] for test in given):
        family = [place for place, test in enumerate(given) if test[2] == metric]
        p_values = corrected([given[place][3].p_value for place in family])
        for place, p_value in zip(family, p_values, strict=True):
            adjusted[place] = float(p_value)
    return tuple(
        Difference(name=name, base=base, metric=metric, found=found, p_value=p_value)
        for (name, base, metric, found), p_value in zip(given, adjusted, strict=True)
    )


def compare_systems(
    values: Mapping[str, Mapping[str, Mapping[Any, float]]],
    base: str,
    *,
    metrics: Sequence[str],
    seed: int = 0,
) -> tuple[Difference, ...]:
    """Return each system less one of them, metric by metric; all are shares.

    Args:
        values: System -> metric -> record -> number; a record may lack it.
        base: The system that the others are compared with.
        metrics: The metrics.
        seed: Of intervals and tests.
    """
    tests = []
    for metric in metrics:
        first = values[base].get(metric, {})
        for name, found in values.items():
            second = found.get(metric, {})
            both = [record for record in first if record in second]
            if name == base or not both:
                continue
            one, two = ([side[record] for record in both] for side in (first, second))
            pair = compare_paired(one, two, seed=seed, bounds=SHARE)
            tests.append((name, base, metric, pair))
    return corrected_differences(tests)

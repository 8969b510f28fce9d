"""How well annotators agree on each field, over the alignment that scoring uses.

The first annotator's records are the reference: those of every other are aligned to
them as an extraction is to gold. A *unit* is one place of one record, with a value from
each annotator, after the field's transforms. What is not in the reference is one unit
for each equal value. That an annotator wrote nothing is a category of its own for both
kappas, and a missing value for alpha.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.coefficients import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
)
from knowtrail.eval.fields.paths import category, schema_path
from knowtrail.eval.fields.results import (
    HALLUCINATION,
    MATCH,
    MISMATCH,
    OMISSION,
    PENDING,
)
from knowtrail.eval.fields.scoring import score_record
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowtrail.eval.fields.results import FieldResult
    from knowtrail.eval.fields.schema import SchemaNode

_BOTH = frozenset({MATCH, MISMATCH, PENDING})
_NOTHING = "(nothing)"
"""The category of an annotator who wrote nothing; JSON texts never look like it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAgreement:
    """Agreement on one field; None where a coefficient is not defined.

    Units are places where anybody wrote something. Cohen's kappa is the mean over all
    pairs of annotators; `alpha_interval` is None unless all values are numbers.
    """

    field: str
    units: int
    annotators: int
    agreed: float
    cohen: float | None
    fleiss: float | None
    alpha: float | None
    alpha_interval: float | None


@dataclass(slots=True)
class _Unit:
    """The values of one place: absent ones are not in the dictionary."""

    field: str
    values: dict[int, Any]
    compared: bool = False


def annotator_agreement(
    schema: SchemaNode, records: Iterable[Sequence[Any]]
) -> tuple[FieldAgreement, ...]:
    """Return the agreement on every field, in the order in which fields appear."""
    units: dict[str, list[_Unit]] = {}
    annotators = 0
    for number, versions in enumerate(records):
        annotators = annotators or len(versions)
        if len(versions) < 2 or len(versions) != annotators:
            raise InputError(
                f"Record {number} has {len(versions)} annotators: give two or more, "
                "as many for every record."
            )
        for unit in _units(schema, versions):
            units.setdefault(unit.field, []).append(unit)
    return tuple(_agreement(field, of, annotators) for field, of in units.items())


def _units(schema: SchemaNode, versions: Sequence[Any]) -> Iterator[_Unit]:
    found: dict[tuple[Any, ...], _Unit] = {}
    for annotator, version in enumerate(versions[1:], start=1):
        extra: Counter[tuple[str, str]] = Counter()
        for result in score_record(schema, versions[0], version):
            if result.status == HALLUCINATION:
                _add_extra(found, extra, result, annotator)
            elif result.status == OMISSION or result.status in _BOTH:
                _add(found, result, annotator)
    # A place that every annotator fills as the first does is aligned each time; one
    # that only some leave out was added by the others.
    yield from found.values()


def _add(
    found: dict[tuple[Any, ...], _Unit], result: FieldResult, annotator: int
) -> None:
    unit = found.setdefault(
        (result.path,), _Unit(schema_path(result.path), {0: result.gold_value})
    )
    if result.status != OMISSION:
        if not unit.compared:
            unit.values[0], unit.compared = result.gold_compared, True
        unit.values[annotator] = result.extracted_compared


def _add_extra(
    found: dict[tuple[Any, ...], _Unit],
    extra: Counter[tuple[str, str]],
    result: FieldResult,
    annotator: int,
) -> None:
    """Add what the reference lacks: equal values of several annotators are one unit."""
    field = schema_path(result.path)
    same = (field, category(result.extracted_value))
    extra[same] += 1
    unit = found.setdefault(("extra", *same, extra[same]), _Unit(field, {}))
    unit.values[annotator] = result.extracted_value


def _agreement(field: str, units: list[_Unit], annotators: int) -> FieldAgreement:
    everyone = range(annotators)
    filled = [
        [category(unit.values[a]) if a in unit.values else _NOTHING for a in everyone]
        for unit in units
    ]
    present = [
        [None if value == _NOTHING else value for value in unit] for unit in filled
    ]
    columns = list(zip(*filled, strict=True))
    kappas = [
        kappa
        for one, two in combinations(everyone, 2)
        if (kappa := cohen_kappa(columns[one], columns[two])) is not None
    ]
    return FieldAgreement(
        field=field,
        units=len(units),
        annotators=annotators,
        agreed=sum(len(set(unit)) == 1 for unit in filled) / len(units),
        cohen=sum(kappas) / len(kappas) if kappas else None,
        fleiss=fleiss_kappa(filled),
        alpha=krippendorff_alpha(present),
        alpha_interval=_interval(units, everyone),
    )


def _interval(units: list[_Unit], everyone: range) -> float | None:
    values = [[unit.values.get(a) for a in everyone] for unit in units]
    if any(
        isinstance(value, bool) or not isinstance(value, int | float | None)
        for unit in values
        for value in unit
    ):
        return None
    try:
        return krippendorff_alpha(values, level="interval")
    except (InputError, OverflowError):
        return None

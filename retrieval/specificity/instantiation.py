"""A template with values: the text stays as it is, values are bound to variables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdflib import Literal

    from retrieval.specificity.templates import Slot, Template, Variant

__all__ = ["Binding", "Instantiated", "Run", "TemplateInstantiator", "missing_slots"]

_CODE = re.compile(r"[A-Z]{2}-[A-Z0-9]{1,3}")
_LABELS = {
    "institution_type": "type",
    "city": "place",
    "region": "place",
    "country": "place",
}
"""Slot types that may have several values -> the column that tells their rows."""

ALWAYS = (-9999, 9999)
"""Years that any date lies between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a variable is bound to.

    Attributes:
        value: The text of the value.
        datatype: `string`, `integer` or `decimal`.
    """

    value: str
    datatype: str = "string"

    def literal(self) -> Literal:
        """Return the value as a literal; a text is only ever a string."""
        from rdflib import XSD, Literal

        if self.datatype == "string":
            return Literal(self.value)
        kind = XSD.integer if self.datatype == "integer" else XSD.decimal
        return Literal(self.value, datatype=kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One query to be run.

    Attributes:
        sparql: Its text, word for word that of the template.
        bindings: Its variables with what they are bound to.
        label: What tells its rows from those of other runs: slot and value.
    """

    sparql: str
    bindings: Mapping[str, Binding]
    label: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instantiated:
    """A template with values.

    Attributes:
        template_id: The template.
        runs: Its queries; one for each type and place, where there are several.
    """

    template_id: str
    runs: tuple[Run, ...]


def missing_slots(
    template: Template, slots: Mapping[str, str | tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the names of what a template still needs, in its order.

    Alternatives, of which one is needed, are one name such as `city|region|country`.
    """
    missing = [s.name for s in template.slots.values() if s.required]
    missing = [name for name in missing if not slots.get(name)]
    if template.one_of and not any(slots.get(name) for name in template.one_of):
        missing.append("|".join(template.one_of))
    if template.each and len(_each(template, slots)) < 2:
        missing.append("|".join(template.each))
    return tuple(missing)


class TemplateInstantiator:
    """Binds slot values to the variables of a template's query."""

    def instantiate(
        self,
        template: Template,
        slots: Mapping[str, str | tuple[str, ...]],
        meant: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
    ) -> Instantiated:
        """Return the queries of a template for slot values.

        Args:
            template: Which template; not `none`.
            slots: Values by slot name; a tuple for slots that have several. A date is
                a year, or `first/last` years; a budget is a number of euro,
                or `first/last` numbers.
            meant: Slot -> value -> values that are asked for in its place, such as
                the parts of a region or the spellings of a town.

        Raises:
            InputError: If a required slot has no value, or a value has not the form
                of its slot; names the slot.
        """
        for name in slots:
            if name not in template.slots:
                msg = f"Template {template.id!r} has no slot {name!r}."
                raise InputError(msg)
        if missing := missing_slots(template, slots):
            msg = f"Template {template.id!r} needs a value for {', '.join(missing)}."
            raise InputError(msg)
        if not template.variants:
            msg = f"Template {template.id!r} has no query."
            raise InputError(msg)
        if not template.each:
            runs = _of_all(template, slots, meant or {})
            return Instantiated(template_id=template.id, runs=runs)
        rest = {n: _one(n, v) for n, v in slots.items() if n not in template.each}
        runs = tuple(
            _run(template, given, label={"place": value})
            for name, value in _each(template, slots)
            for given in _as_meant({**rest, name: value}, meant or {})
        )
        return Instantiated(template_id=template.id, runs=runs)


def _each(
    template: Template, slots: Mapping[str, str | tuple[str, ...]]
) -> list[tuple[str, str]]:
    """Return slot and value of each place that a template compares."""
    found = []
    for name in template.each:
        given = slots.get(name) or ()
        values = (given,) if isinstance(given, str) else given
        found += [(name, value) for value in values]
    return found


def _of_all(
    template: Template,
    slots: Mapping[str, str | tuple[str, ...]],
    meant: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> tuple[Run, ...]:
    """Return one query, or one for each institution type and each place."""
    runs: list[tuple[dict[str, str], dict[str, str]]] = [({}, {})]
    for name, value in slots.items():
        if isinstance(value, str) or len(value) < 2:
            runs = [(s | {name: _one(name, value)}, label) for s, label in runs]
            continue
        column = _LABELS.get(template.slots[name].type)
        if column is None:
            msg = f"Slot {name!r} has {len(value)} values: it takes one."
            raise InputError(msg)
        runs = [
            (s | {name: one}, label | {column: one})
            for s, label in runs
            for one in value
        ]
    return tuple(
        _run(template, part, label=label)
        for given, label in runs
        for part in _as_meant(given, meant)
    )


def _as_meant(
    slots: dict[str, str], meant: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> list[dict[str, str]]:
    """Return slots once for each value that one of their values stands for."""
    made = [slots]
    for name, values in meant.items():
        if several := values.get(slots.get(name, "")):
            made = [given | {name: one} for given in made for one in several]
    return made


def _one(name: str, value: str | tuple[str, ...]) -> str:
    """Return the only value of a slot.

    Raises:
        InputError: If it has several.
    """
    if isinstance(value, str):
        return value
    if len(value) == 1:
        return value[0]
    msg = f"Slot {name!r} has {len(value)} values: it takes one."
    raise InputError(msg)


def _run(
    template: Template,
    slots: Mapping[str, str],
    label: Mapping[str, str] | None = None,
) -> Run:
    """Return one query with its bindings."""
    known = _with_codes(slots)
    variant = _variant(template, known)
    bindings: dict[str, Binding] = {}
    for slot in template.slots.values():
        value = slots.get(slot.name) or slot.default
        bindings.update(_bindings(slot, value))
    if "region_code" in known:
        bindings["region_code"] = bindings.pop("region")
    if any(slot.type == "date" for slot in template.slots.values()):
        bindings |= _years(slots.get("date"), slots.get("date_relation", "in"))
    return Run(sparql=variant.sparql, bindings=bindings, label=label or {})


def _with_codes(slots: Mapping[str, str]) -> dict[str, str]:
    """Return slots in which a region that is an ISO 3166-2 code is `region_code`."""
    if _CODE.fullmatch(slots.get("region", "")):
        return {"region_code" if n == "region" else n: v for n, v in slots.items()}
    return dict(slots)


def _variant(template: Template, slots: Mapping[str, str]) -> Variant:
    """Return the first query whose slots all have a value.

    Raises:
        InputError: If there is none.
    """
    for variant in template.variants:
        if all(slots.get(name) for name in variant.when):
            return variant
    msg = f"Template {template.id!r} has no query for the slots {sorted(slots)}."
    raise InputError(msg)


def _bindings(slot: Slot, value: str | None) -> dict[str, Binding]:
    """Return the variables of a slot with what they are bound to."""
    if value is None or slot.type in {"number", "date"}:
        return {}
    if slot.values and value not in slot.values:
        msg = f"Slot {slot.name!r} is {value[:80]!r}: use one of {slot.values}."
        raise InputError(msg)
    if slot.type == "budget":
        low, _, high = value.partition("/")
        ends = {slot.name: low, f"{slot.name}_to": high or low}
        return {
            name: Binding(value=_decimal(slot.name, end), datatype="decimal")
            for name, end in ends.items()
        }
    return {slot.name: Binding(value=value)}


def _years(value: str | None, relation: str) -> dict[str, Binding]:
    """Return the range of years that a date means.

    Args:
        value: A year, `first/last` years, or None for any.
        relation: `in`, `before`, `after`, `since` or `until`.
    """
    first, last = ALWAYS
    if value is not None:
        begin, slash, end = value.partition("/")
        low, high = _year(value, begin), _year(value, end if slash else begin)
        first = {"before": first, "until": first, "after": high + 1}.get(relation, low)
        last = {"after": last, "since": last, "before": low - 1}.get(relation, high)
    return {
        "date_from": Binding(value=str(first), datatype="integer"),
        "date_to": Binding(value=str(last), datatype="integer"),
    }


def _year(whole: str, part: str) -> int:
    """Return a year as a number.

    Raises:
        InputError: If it is none.
    """
    if re.fullmatch(r"-?[0-9]{1,4}", part):
        return int(part)
    msg = f"Slot 'date' is {whole[:80]!r}: write a year, or first/last year."
    raise InputError(msg)


def _decimal(name: str, value: str) -> str:
    """Return a decimal number as it is written in XSD."""
    try:
        number = Decimal(value)
    except InvalidOperation as error:
        msg = f"Slot {name!r} is {value[:80]!r}: write a number of euro."
        raise InputError(msg) from error
    if not number.is_finite() or abs(number) >= Decimal(10) ** 18:
        msg = f"Slot {name!r} is {value[:80]!r}: write a number of euro."
        raise InputError(msg)
    return format(number, "f")

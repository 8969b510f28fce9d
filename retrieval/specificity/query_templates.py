"""Query templates: read from YAML and checked, and made into queries by values.

The text of a query stays as it is; values are bound to its variables.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    StringConstraints,
    ValidationError,
    model_validator,
)

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.specificity.yaml_lines import DATA, Lines, Place, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdflib import Literal as Term

    SlotValues = Mapping[str, str | tuple[str, ...]]
    Meant = Mapping[str, Mapping[str, tuple[str, ...]]]

LANGUAGES = ("en", "nl")
NONE: Final = "none"
SLOT_TYPES = (
    "institution_type",
    "city",
    "region",
    "country",
    "name",
    "identifier",
    "date",
    "budget",
    "choice",
    "number",
)
INTENTS = ("list", "count", "name", "identifier", "date", "compare", "budget", "near")
_ID = r"^[a-z][a-z0-9_]{0,79}$"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MASKS = frozenset(SLOT_TYPES[:8])
_MADE = {"region": "region_code"}
"""Slots that have another name where their value is a code."""


_Text = Annotated[str, Field(pattern=r"\S")]


class Slot(BaseModel, frozen=True, extra="forbid"):
    """A place in a template, named as a variable of its query."""

    name: str = Field(pattern=_ID)
    type: Literal[SLOT_TYPES]  # type: ignore[valid-type]
    required: StrictBool = False
    values: tuple[str, ...] = ()
    default: str | None = None

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if (self.type == "choice") != bool(self.values):
            raise ValueError("a choice, and only a choice, lists its values.")
        if self.values and self.default not in {None, *self.values}:
            raise ValueError(f"default is {self.default!r}: write one of the values.")
        return self


class Variant(BaseModel, frozen=True, extra="forbid"):
    """A query without prefixes, and the slots that must have a value for it."""

    when: tuple[str, ...]
    sparql: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        alias="query"
    )


def _as_variants(sparql: Any) -> Any:
    return [{"when": (), "query": sparql}] if isinstance(sparql, str) else sparql or ()


class Template(BaseModel, frozen=True, extra="forbid"):
    """A kind of question with its query, as a file has it.

    Attributes:
        listed: Its slots, `slots` in the file; see there.
        examples: Questions by language, with `{slot}` for values.
        variants: Queries, `sparql` in the file, the first suitable one is taken; none
            for `none`.
        one_of: Slots of which one must have a value.
        each: Slots that may have several values, two or more in all: the query runs
            once for each.
        intent: What its questions are after, one of `INTENTS`; None says nothing.
    """

    id: str = Field(pattern=_ID)
    description: Annotated[_Text, StringConstraints(strip_whitespace=True)]
    listed: tuple[Slot, ...] = Field(alias="slots")
    examples: dict[str, Annotated[tuple[_Text, ...], Field(min_length=1)]]
    variants: Annotated[tuple[Variant, ...], BeforeValidator(_as_variants)] = Field(
        (), alias="sparql"
    )
    one_of: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    intent: Literal[INTENTS] | None = None  # type: ignore[valid-type]

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """Return the slots by name."""
        return {slot.name: slot for slot in self.listed}


def load_templates(path: Path | str | None = None) -> dict[str, Template]:
    """Read templates, in the order of the file; None reads those of the product."""
    return dict(_built_in()) if path is None else _read(Path(path))


@lru_cache(maxsize=1)
def _built_in() -> dict[str, Template]:
    """Read the templates of the product, once; tests parse their queries."""
    return _read(DATA / "templates.yaml", parse=False)


def _read(path: Path, *, parse: bool = True) -> dict[str, Template]:
    lines = read_lines(path)
    top = lines.value
    if not isinstance(top, dict) or set(top) != {"templates"}:
        raise lines.error((), "the file must have one key, `templates`, with a list.")
    given = top["templates"]
    if not isinstance(given, list) or not given:
        raise lines.error(("templates",), "`templates` must be a list of templates.")
    found: dict[str, Template] = {}
    for index, value in enumerate(given):
        reader = _Reader(lines, ("templates", index), parse)
        template = reader.template(value)
        if template.id in found:
            raise reader.error("this id occurs twice.", "id")
        found[template.id] = template
    if NONE not in found:
        msg = "there is no template `none`, which is taken where no other fits."
        raise lines.error(("templates",), msg)
    return found


@dataclass
class _Reader:
    """Reads one template; its errors say where they are."""

    _lines: Lines
    _place: Place
    _parse: bool
    _id: str = "?"

    def error(self, text: str, *below: str | int) -> InputError:
        whole = f"template {self._id!r}: {text}"
        return self._lines.error((*self._place, *below), whole)

    def template(self, value: Any) -> Template:
        if isinstance(value, dict):
            self._id = str(value.get("id", "?"))[:80]
        try:
            found = Template.model_validate(value)
        except ValidationError as error:
            raise self._wrong(error) from error
        names = [slot.name for slot in found.listed]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self.error(f"slot {name!r} occurs twice.", "slots", index)
        for key in ("one_of", "each"):
            if not found.slots.keys() >= set(getattr(found, key)):
                raise self.error(f"{key} must list slots of the template.", key)
        self._check_examples(found)
        self._check_variants(found)
        return found

    def _wrong(self, error: ValidationError) -> InputError:
        """Return what is wrong first; an unknown key goes before what it stands for."""
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        names = [step for step in first["loc"] if isinstance(step, str)]
        name, found = names[-1] if names else "it", str(first["input"])[:80]
        text = {
            "extra_forbidden": f"unknown key {name!r}.",
            "missing": f"{name} is missing.",
            "string_pattern_mismatch": (
                f"{name} is {found!r}: write a text; an id is made of a-z, 0-9, _."
            ),
            "tuple_type": f"{name} must be a list; [] for none.",
            "value_error": str(first.get("ctx", {}).get("error")),
        }.get(first["type"], f"{name} is {found!r}: {first['msg']}.")
        return self.error(text, *first["loc"])

    def _check_examples(self, found: Template) -> None:
        """Refuse examples of other languages, or with slots that are not there."""
        if set(found.examples) != set(LANGUAGES):
            msg = f"examples must have the languages {', '.join(LANGUAGES)}."
            raise self.error(msg, "examples")
        allowed = found.slots.keys() if found.id != NONE else _MASKS
        for language, texts in found.examples.items():
            for index, text in enumerate(texts):
                if unknown := set(_PLACEHOLDER.findall(text)) - allowed:
                    msg = f"example {text!r} names no slot: {sorted(unknown)}."
                    raise self.error(msg, "examples", language, index)

    def _check_variants(self, found: Template) -> None:
        if (found.id == NONE or found.intent == "near") == bool(found.variants):
            msg = (
                "`none` and what is near a town have no query."
                if found.variants
                else "sparql is missing: a query, or a list of them."
            )
            raise self.error(msg, "sparql")
        known = {*found.slots, *(_MADE[n] for n in found.slots if n in _MADE)}
        for index, one in enumerate(found.variants):
            if not known >= set(one.when):
                msg = "`when` must list slots of the template."
                raise self.error(msg, "sparql", index)
            self._check_query(one.sparql, found.slots, "sparql", index)

    def _check_query(
        self, query: str, slots: Mapping[str, Slot], *place: str | int
    ) -> None:
        """Refuse what is no reading query, or lacks a variable of a required slot."""
        from knowtrail.retrieval.specificity.execution import select_query

        try:
            if self._parse:
                select_query(query)
        except InputError as error:
            raise self.error(str(error), *place) from error
        for slot in slots.values():
            names = "|".join(filter(None, (slot.name, _MADE.get(slot.name))))
            if slot.required and not re.search(rf"[?$](?:{names})\b", query):
                msg = f"the query has no variable ?{slot.name} for a required slot."
                raise self.error(msg, *place)


REGION_CODE = re.compile(r"[A-Z]{2}-[A-Z0-9]{1,3}")
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
    """What a variable is bound to: a `string`, `integer` or `decimal`."""

    value: str
    datatype: str = "string"

    def literal(self) -> Term:
        """Return the value as a literal; a text is only ever a string."""
        from rdflib import XSD, Literal

        kind = None if self.datatype == "string" else XSD[self.datatype]
        return Literal(self.value, datatype=kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A query as its template has it; the label tells its rows from others'."""

    sparql: str
    bindings: Mapping[str, Binding]
    label: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instantiated:
    """A template with values: a query for each type and place it has several of."""

    template_id: str
    runs: tuple[Run, ...]


def missing_slots(template: Template, slots: SlotValues) -> tuple[str, ...]:
    """Return the names of what a template still needs, in its order.

    Alternatives, of which one is needed, are one name such as `city|region|country`.
    """
    missing = [s.name for s in template.slots.values() if s.required]
    missing = [name for name in missing if not slots.get(name)]
    if template.one_of and not any(slots.get(name) for name in template.one_of):
        missing.append("|".join(template.one_of))
    if template.each and sum(len(each_of(slots, n)) for n in template.each) < 2:
        missing.append("|".join(template.each))
    return tuple(missing)


class TemplateInstantiator:
    """Binds slot values to the variables of a template's query."""

    def instantiate(
        self, template: Template, slots: SlotValues, meant: Meant | None = None
    ) -> Instantiated:
        """Return the queries of a template for slot values.

        Raises `InputError`, which names the slot, if a required one has no value, or a
        value has not the form of its slot.
        """
        for name in slots:
            if name not in template.slots:
                raise InputError(f"Template {template.id!r} has no slot {name!r}.")
        if missing := missing_slots(template, slots):
            msg = f"Template {template.id!r} needs a value for {', '.join(missing)}."
            raise InputError(msg)
        if not template.variants:
            raise InputError(f"Template {template.id!r} has no query.")
        runs = tuple(
            _run(template, part, label)
            for chosen in product(*_choices(template, slots))
            for label in ({column: one for _, one, column in chosen if column},)
            for part in _as_meant({name: one for name, one, _ in chosen}, meant or {})
        )
        return Instantiated(template_id=template.id, runs=runs)


def _choices(
    template: Template, slots: SlotValues
) -> Iterator[list[tuple[str, str, str | None]]]:
    """Yield slots with each of their values, and the column that tells their rows.

    The places that are compared are one.
    """
    columns = {n: _LABELS.get(slot.type) for n, slot in template.slots.items()}
    if template.each:
        each = template.each
        yield [(n, value, columns[n]) for n in each for value in each_of(slots, n)]
    for name in slots:
        if name in template.each:
            continue
        values = each_of(slots, name)
        column = None if template.each else columns[name]
        if len(values) != 1 and column is None:
            raise InputError(f"Slot {name!r} has {len(values)} values: it takes one.")
        yield [(name, one, column if len(values) > 1 else None) for one in values]


def each_of(slots: SlotValues, name: str) -> tuple[str, ...]:
    """Return the values of a slot; none where it has none."""
    given = slots.get(name) or ()
    return (given,) if isinstance(given, str) else given


def _as_meant(slots: dict[str, str], meant: Meant) -> list[dict[str, str]]:
    """Return slots once for each value that one of their values stands for."""
    made = [slots]
    for name, values in meant.items():
        if several := values.get(slots.get(name, "")):
            made = [given | {name: one} for given in made for one in several]
    return made


def _run(template: Template, slots: Mapping[str, str], label: Mapping[str, str]) -> Run:
    coded = REGION_CODE.fullmatch(slots.get("region", ""))
    known = {"region_code" if coded and n == "region" else n: slots[n] for n in slots}
    for variant in template.variants:
        if all(known.get(name) for name in variant.when):
            break
    else:
        msg = f"Template {template.id!r} has no query for the slots {sorted(known)}."
        raise InputError(msg)
    bindings: dict[str, Binding] = {}
    for slot in template.slots.values():
        bindings.update(_bindings(slot, slots.get(slot.name) or slot.default))
    if "region_code" in known:
        bindings["region_code"] = bindings.pop("region")
    if any(slot.type == "date" for slot in template.slots.values()):
        bindings |= year_bounds(slots.get("date"), slots.get("date_relation", "in"))
    return Run(sparql=variant.sparql, bindings=bindings, label=label)


def _bindings(slot: Slot, value: str | None) -> dict[str, Binding]:
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


def year_bounds(value: str | None, relation: str) -> dict[str, Binding]:
    """Return the range of years that a date means."""
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
    if re.fullmatch(r"-?[0-9]{1,4}", part):
        return int(part)
    msg = f"Slot 'date' is {whole[:80]!r}: write a year, or first/last year."
    raise InputError(msg)


def _decimal(name: str, value: str) -> str:
    with suppress(InvalidOperation):
        number = Decimal(value)
        if number.is_finite() and abs(number) < Decimal(10) ** 18:
            return format(number, "f")
    raise InputError(f"Slot {name!r} is {value[:80]!r}: write a number of euro.")

"""Query templates: read from YAML and checked, and made into queries by values.

The text of a query stays as it is; values are bound to its variables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.specificity.yaml_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdflib import Literal

    from knowtrail.retrieval.specificity.yaml_lines import Lines, Place

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
INTENTS = ("list", "count", "name", "identifier", "date", "compare", "budget")
_ID = re.compile(r"[a-z][a-z0-9_]{0,79}")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MASKS = frozenset(SLOT_TYPES[:8])
_MADE = {"region": "region_code"}
"""Slots that have another name where their value is a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A place in a template that a question fills.

    Attributes:
        name: As in the query, where it is a variable.
        type: One of `SLOT_TYPES`.
        required: Whether the query means nothing without it.
        values: What a choice may be.
        default: What it is where the question says nothing.
    """

    name: str
    type: str
    required: bool = False
    values: tuple[str, ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A query, and the slots that must have a value for it.

    Attributes:
        when: Names of slots; none for a query that always suits.
        sparql: The query, without prefixes.
    """

    when: tuple[str, ...]
    sparql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A kind of question with its query.

    Attributes:
        id: Its name.
        description: What it is for.
        slots: What a question can say, by name.
        examples: Questions by language, with `{slot}` for values.
        variants: Queries, the first suitable one is taken; none for `none`.
        one_of: Slots of which one must have a value.
        each: Slots that may have several values, two or more in all: the query runs
            once for each.
        intent: What its questions are after, one of `INTENTS`; None says nothing.
    """

    id: str
    description: str
    slots: Mapping[str, Slot]
    examples: Mapping[str, tuple[str, ...]]
    variants: tuple[Variant, ...]
    one_of: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    intent: str | None = None


def load_templates(path: Path | str | None = None) -> dict[str, Template]:
    """Read templates, in the order of the file.

    Args:
        path: YAML file; None reads the templates that come with the product.

    Raises:
        InputError: If something in it is wrong; names file, line and template.
    """
    if path is not None:
        return _read(Path(path))
    return dict(_built_in())


@lru_cache(maxsize=1)
def _built_in() -> dict[str, Template]:
    """Read the templates of the product, once.

    Their queries are not parsed: that takes longer than all the rest, and tests do it.
    """
    place = resources.files("knowtrail.retrieval.specificity").joinpath(
        "data", "templates.yaml"
    )
    with resources.as_file(place) as path:
        return _read(path, parse=False)


def _read(path: Path, *, parse: bool = True) -> dict[str, Template]:
    """Read and check a file."""
    lines = read_lines(path)
    top = lines.value
    if not isinstance(top, dict) or set(top) != {"templates"}:
        msg = "the file must have one key, `templates`, with a list."
        raise lines.error((), msg)
    given = top["templates"]
    if not isinstance(given, list) or not given:
        raise lines.error(("templates",), "`templates` must be a list of templates.")
    found: dict[str, Template] = {}
    for index, _ in enumerate(given):
        reader = _Reader(lines, ("templates", index), parse=parse)
        template = reader.template()
        if template.id in found:
            raise reader.error("this id occurs twice.", "id")
        found[template.id] = template
    if NONE not in found:
        msg = "there is no template `none`, which is taken where no other fits."
        raise lines.error(("templates",), msg)
    return found


class _Reader:
    """Reads one template; its errors say where they are."""

    def __init__(self, lines: Lines, place: Place, *, parse: bool) -> None:
        self._lines = lines
        self._parse = parse
        self._place = place
        self._id = "?"
        value: Any = lines.value
        for step in place:
            value = value[step]
        if not isinstance(value, dict):
            raise self.error("must be a mapping with id, description, slots ...")
        self._value: dict[str, Any] = value

    def error(self, text: str, *below: str | int) -> InputError:
        """Return an error that names file, line and template."""
        whole = f"template {self._id!r}: {text}"
        return self._lines.error((*self._place, *below), whole)

    def template(self) -> Template:
        """Read the template."""
        known = {"id", "description", "slots", "examples", "sparql", "one_of", "each"}
        known |= {"intent"}
        self._id = str(self._value.get("id", "?"))[:80]
        for key in self._value:
            if key not in known:
                raise self.error(f"unknown key {key!r}; known: {sorted(known)}.", key)
        if not _ID.fullmatch(self._text("id")):
            raise self.error("an id is made of a-z, 0-9 and _.", "id")
        description = self._text("description")
        slots = self._slots()
        one_of, each = self._names("one_of", slots), self._names("each", slots)
        intent = self._value.get("intent")
        if intent is not None and intent not in INTENTS:
            msg = f"intent is {intent!r}: it must be one of {', '.join(INTENTS)}."
            raise self.error(msg, "intent")
        return Template(
            id=self._id,
            description=description,
            slots=slots,
            examples=self._examples({*slots} if self._id != NONE else {*_MASKS}),
            variants=self._variants(slots),
            one_of=one_of,
            each=each,
            intent=intent,
        )

    def _text(self, key: str) -> str:
        """Return a text that must be there."""
        value = self._value.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key} is missing or no text.", key)
        return value.strip()

    def _names(self, key: str, slots: Mapping[str, Slot]) -> tuple[str, ...]:
        """Return a list of slot names, which may be missing."""
        value = self._value.get(key, [])
        if not isinstance(value, list) or not all(n in slots for n in value):
            raise self.error(f"{key} must list slots of the template.", key)
        return tuple(value)

    def _slots(self) -> dict[str, Slot]:
        """Read the slots."""
        given = self._value.get("slots")
        if not isinstance(given, list):
            raise self.error("slots must be a list; [] for none.", "slots")
        found: dict[str, Slot] = {}
        for index, item in enumerate(given):
            slot = self._slot(item, index)
            if slot.name in found:
                raise self.error(f"slot {slot.name!r} occurs twice.", "slots", index)
            found[slot.name] = slot
        return found

    def _slot(self, item: Any, index: int) -> Slot:
        """Read one slot."""

        def wrong(text: str) -> InputError:
            return self.error(f"slot {index + 1}: {text}", "slots", index)

        allowed = {"name", "type", "required", "values", "default"}
        if not isinstance(item, dict) or not set(item) <= allowed:
            raise wrong(f"must be a mapping of {sorted(allowed)}.")
        name, kind = item.get("name"), item.get("type")
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise wrong(f"name is {name!r}: write a-z, 0-9 and _.")
        if kind not in SLOT_TYPES:
            raise wrong(f"type is {kind!r}: it must be one of {', '.join(SLOT_TYPES)}.")
        required, values = item.get("required", False), item.get("values", [])
        default = item.get("default")
        if not isinstance(required, bool):
            raise wrong(f"required is {required!r}: write true or false.")
        if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
            raise wrong("values must be a list of texts.")
        if (kind == "choice") != bool(values):
            raise wrong("a choice, and only a choice, lists its values.")
        if default is not None and (
            not isinstance(default, str) or (values and default not in values)
        ):
            raise wrong(f"default is {default!r}: write a text, of the values if any.")
        return Slot(
            name=name,
            type=str(kind),
            required=required,
            values=tuple(values),
            default=default,
        )

    def _examples(self, allowed: set[str]) -> dict[str, tuple[str, ...]]:
        """Read the examples, at least one in each language."""
        given = self._value.get("examples")
        if not isinstance(given, dict) or set(given) != set(LANGUAGES):
            msg = f"examples must have the languages {', '.join(LANGUAGES)}."
            raise self.error(msg, "examples")
        found = {}
        for language in LANGUAGES:
            texts = given[language]
            if not isinstance(texts, list) or not texts:
                msg = f"examples.{language} must list at least one question."
                raise self.error(msg, "examples", language)
            for index, text in enumerate(texts):
                if not isinstance(text, str) or not text.strip():
                    msg = f"example {text!r} is no text: put it between quotes."
                    raise self.error(msg, "examples", language, index)
                unknown = set(_PLACEHOLDER.findall(text)) - allowed
                if unknown:
                    msg = f"example {text!r} names no slot: {sorted(unknown)}."
                    raise self.error(msg, "examples", language, index)
            found[language] = tuple(texts)
        return found

    def _variants(self, slots: Mapping[str, Slot]) -> tuple[Variant, ...]:
        """Read the queries."""
        given = self._value.get("sparql")
        if self._id == NONE:
            if given is not None:
                raise self.error("the template `none` has no query.", "sparql")
            return ()
        if isinstance(given, str):
            self._check_query(given, slots, "sparql")
            return (Variant(when=(), sparql=given.strip()),)
        if not isinstance(given, list) or not given:
            raise self.error("sparql is missing: a query, or a list of them.", "sparql")
        found = []
        for index, item in enumerate(given):
            place = ("sparql", index)
            if not isinstance(item, dict) or set(item) != {"when", "query"}:
                raise self.error("a query of a list has `when` and `query`.", *place)
            when, query = item["when"], item["query"]
            known = {*slots, *(_MADE[name] for name in slots if name in _MADE)}
            if not isinstance(when, list) or not all(n in known for n in when):
                raise self.error("`when` must list slots of the template.", *place)
            self._check_query(query, slots, *place)
            found.append(Variant(when=tuple(when), sparql=query.strip()))
        return tuple(found)

    def _check_query(
        self, query: Any, slots: Mapping[str, Slot], *place: str | int
    ) -> None:
        """Refuse what is no reading query, or lacks a variable of a required slot."""
        from knowtrail.retrieval.specificity.execution import check_reading

        if not isinstance(query, str) or not query.strip():
            raise self.error("the query is no text.", *place)
        try:
            if self._parse:
                check_reading(query)
        except InputError as error:
            raise self.error(str(error), *place) from error
        for slot in slots.values():
            names = "|".join(filter(None, (slot.name, _MADE.get(slot.name))))
            if slot.required and not re.search(rf"[?$](?:{names})\b", query):
                msg = f"the query has no variable ?{slot.name} for a required slot."
                raise self.error(msg, *place)


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
            _run(template, given, label=_labelled(name, value))
            for name, value in _each(template, slots)
            for given in _as_meant({**rest, name: value}, meant or {})
        )
        return Instantiated(template_id=template.id, runs=runs)


def _labelled(name: str, value: str) -> dict[str, str]:
    """Return what tells the rows of a place from those of others; none of a name."""
    return {_LABELS[name]: value} if name in _LABELS else {}


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
    """Return the only value of a slot."""
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
        bindings |= year_bounds(slots.get("date"), slots.get("date_relation", "in"))
    return Run(sparql=variant.sparql, bindings=bindings, label=label or {})


def _with_codes(slots: Mapping[str, str]) -> dict[str, str]:
    """Return slots in which a region that is an ISO 3166-2 code is `region_code`."""
    if _CODE.fullmatch(slots.get("region", "")):
        return {"region_code" if n == "region" else n: v for n, v in slots.items()}
    return dict(slots)


def _variant(template: Template, slots: Mapping[str, str]) -> Variant:
    """Return the first query whose slots all have a value."""
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
    """Return a year as a number."""
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

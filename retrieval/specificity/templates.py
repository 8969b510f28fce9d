"""Query templates: read from YAML and checked before anything is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from graph.errors import InputError
from retrieval.specificity.yaml_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retrieval.specificity.yaml_lines import Lines, Place

__all__ = [
    "INTENTS",
    "LANGUAGES",
    "NONE",
    "SLOT_TYPES",
    "Slot",
    "Template",
    "Variant",
    "load_templates",
]

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
    place = resources.files("retrieval.specificity").joinpath("data", "templates.yaml")
    with resources.as_file(place) as path:
        return _read(path, parse=False)


def _read(path: Path, *, parse: bool = True) -> dict[str, Template]:
    """Read and check a file.

    Args:
        path: YAML file.
        parse: Whether its queries are parsed, to refuse those that cannot be.
    """
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
        from retrieval.specificity.execution import check_reading

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

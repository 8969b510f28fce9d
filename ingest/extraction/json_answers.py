"""The JSON variants: one schema, a check, and repairs of what models get wrong."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import InputError
from knowtrail.graph.files.lines import no_constant
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.ingest.extraction.numbers import read_confidence
from knowtrail.ingest.extraction.skn.notation import Repair
from knowtrail.ingest.extraction.variants import CATEGORIES, MOST_ITEMS, json_schema

if TYPE_CHECKING:
    from knowtrail.ingest.extraction.variants import Variant

_TRIES = 200
"""Places where a cut answer is tried to be closed, from its end."""

_COMMA = re.compile(r",\s*$")


def loaded(answer: str) -> tuple[Any, tuple[Repair, ...]]:
    """Return the JSON value in an answer, and what was put right."""
    stripped = answer.strip()
    try:
        return _parsed(stripped), ()
    except ValueError as error:
        problem = error
    begin = stripped.find("{")
    if begin < 0:
        msg = f"The answer has no JSON object: {stripped[:60]!r}."
        raise InputError(msg) from problem
    text = stripped[begin:]
    line = stripped.count("\n", 0, begin) + 1
    try:
        value, end = json.JSONDecoder(
            parse_constant=no_constant, parse_float=_finite
        ).raw_decode(text)
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(value, dict) and (begin or text[end:].strip()):
            said = "text around the JSON object left out"
            return value, (Repair(line=line, code="text_around", message=said),)
    value = _closed(text)
    if value is None:
        raise InputError(f"The answer is not JSON: {problem}.") from problem
    said = "the end of the JSON object was missing: closed after its last whole part"
    return value, (Repair(line=stripped.count("\n") + 1, code="cut", message=said),)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else no_constant(text[:40])


def _parsed(text: str) -> Any:
    """Parse JSON; depth without end is a `ValueError` too."""
    try:
        return json.loads(text, parse_constant=no_constant, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _closed(text: str) -> dict[str, Any] | None:
    for end, closers in reversed(_ends(text)[-_TRIES:]):
        try:
            value = _parsed(_COMMA.sub("", text[:end]) + closers)
        except ValueError:
            continue
        return value if isinstance(value, dict) else None
    return None


def _ends(text: str) -> list[tuple[int, str]]:
    """Return the places after whole parts, with what closes the object there."""
    ends: list[tuple[int, str]] = []
    stack: list[str] = []
    in_string = escaped = False
    for index, char in enumerate(text):
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string, escaped = True, False
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]":
            if not stack or stack.pop() != char:
                break
            ends.append((index + 1, "".join(reversed(stack))))
            if not stack:
                break
    return ends


DEEPEST = 20
_ARRAYS = ("entities", "relationships", "claims")


def json_problem(value: object, variant: Variant, *, checked: bool = False) -> str:
    """Say what in a value does not fit the schema, empty if nothing."""
    from jsonschema import Draft202012Validator

    schema = json_schema(variant, checked=checked)
    errors = Draft202012Validator(schema).iter_errors(value)
    error = min(
        errors, key=lambda e: (len(e.absolute_path), str(e.json_path)), default=None
    )
    return "" if error is None else f"{error.json_path}: {error.message[:200]}"


def read_json(
    answer: str, variant: Variant
) -> tuple[dict[str, Any], tuple[Repair, ...]]:
    """Read an answer, putting right what can be."""
    value, repairs = loaded(answer)
    if _depth(value) > DEEPEST:
        raise InputError(f"The answer is nested more than {DEEPEST} levels deep.")
    value = json.loads(whole_characters(json.dumps(value, ensure_ascii=False)))
    problem = json_problem(value, variant) or _template(value)
    if problem:
        mender = _Mender(variant)
        value = mender.whole(value)
        repairs += tuple(mender.repairs)
        problem = json_problem(value, variant, checked=True)
        if problem or not any(value[name] for name in _ARRAYS):
            msg = problem or "$: there is nothing in it that can be used"
            raise InputError(f"The answer does not fit the schema at {msg}.")
    return value, repairs


def _depth(value: object) -> int:
    """Return how deep a value is nested, one more than the limit if deeper."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        depth += 1
        level = [
            item
            for parent in level
            if isinstance(parent, dict | list)
            for item in (parent.values() if isinstance(parent, dict) else parent)
        ]
    return depth


def _template(value: Any) -> str:
    """Say where a value has the dots of the form, empty if nowhere."""
    texts = [entity["name"] for entity in value["entities"]]
    texts += [text for link in value["relationships"] for text in link.values()]
    texts += [claim["statement"] for claim in value["claims"]]
    if all(any(char.isalnum() for char in text) for text in texts):
        return ""
    return "$: it has a text without a letter or digit"


class _Mender:
    """Puts a parsed answer right and keeps what it did."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self.repairs: list[Repair] = []

    def _tell(self, code: str, message: str) -> None:
        self.repairs.append(Repair(line=0, code=code, message=message))

    def whole(self, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            msg = f"The answer is {type(value).__name__}, not a JSON object."
            raise InputError(msg)
        found = {str(key).strip().casefold(): item for key, item in value.items()}
        for key in sorted(set(found) - set(_ARRAYS)):
            self._tell("unknown_key", f"{key[:40]!r} left out")
        arrays = {}
        for name in _ARRAYS:
            items = found.get(name)
            if not isinstance(items, list):
                self._tell("missing_array", f"{name} is not an array: taken for empty")
                items = []
            if len(items) > MOST_ITEMS:
                self._tell("too_many", f"{len(items) - MOST_ITEMS} of {name} left out")
            mend = getattr(self, f"_{name}")
            mended = [mend(item, f"{name}[{i}]") for i, item in enumerate(items)]
            arrays[name] = [item for item in mended if item is not None][:MOST_ITEMS]
        return arrays

    def _fields(
        self, item: object, place: str, alone: str, wanted: set[str]
    ) -> dict[str, Any]:
        """Return the fields of an item; a bare text is its main field."""
        if isinstance(item, str):
            self._tell("bare_text", f"{place}: a text taken for its {alone}")
            return {alone: item}
        if not isinstance(item, dict):
            return {}
        found = {str(key).strip().casefold(): v for key, v in item.items()}
        for key in sorted(set(found) - wanted):
            self._tell("unknown_key", f"{place}.{key[:40]} left out")
        return {key: v for key, v in found.items() if key in wanted}

    def _text(self, value: object) -> str:
        """Return a scalar as text, empty for anything else and for mere dots."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        text = str(value).strip()
        return text if any(char.isalnum() for char in text) else ""

    def _entities(self, item: object, place: str) -> dict[str, Any] | None:
        fields = self._fields(item, place, "name", {"name", "type", "attributes"})
        name = self._text(fields.get("name"))
        if not name:
            self._tell("dropped", f"{place} has no name: left out")
            return None
        kind = self._text(fields.get("type"))
        attributes = fields.get("attributes")
        if not isinstance(attributes, dict):
            self._tell("attributes", f"{place}.attributes taken for empty")
            attributes = {}
        return {
            "name": name,
            "type": kind,
            "attributes": {str(k): _scalar(v) for k, v in attributes.items()},
        }

    def _relationships(self, item: object, place: str) -> dict[str, Any] | None:
        names = ("source", "relation", "target")
        fields = self._fields(item, place, "relation", set(names))
        texts = {name: self._text(fields.get(name)) for name in names}
        if not all(texts.values()):
            self._tell("dropped", f"{place} is not whole: left out")
            return None
        return texts

    def _claims(self, item: object, place: str) -> dict[str, Any] | None:
        wanted = {"statement", "category"}
        wanted |= {"confidence"} if self._variant.confidences else set()
        fields = self._fields(item, place, "statement", wanted)
        statement = self._text(fields.get("statement"))
        if not statement:
            self._tell("dropped", f"{place} states nothing: left out")
            return None
        category = self._text(fields.get("category")).casefold()
        if category not in CATEGORIES:
            self._tell("category", f"{place}: {category[:40]!r} taken for 'fact'")
            category = "fact"
        claim: dict[str, Any] = {"statement": statement, "category": category}
        if self._variant.confidences:
            number, said = read_confidence(fields.get("confidence"))
            claim["confidence"] = number
            if said:
                self._tell("confidence", f"{place}: {said}")
        return claim


def _scalar(value: object) -> str | int | float | bool | None:
    """Return a value that is no array or object; those as JSON text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, ensure_ascii=False)

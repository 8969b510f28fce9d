"""JSON out of what a model said: fences, words around it, an answer that was cut."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from graph.errors import InputError
from ingest.extraction.skn.blocks import Repair

__all__ = ["loaded"]

_TRIES = 200
"""Places where a cut answer is tried to be closed, from its end."""

_COMMA = re.compile(r",\s*$")


def loaded(answer: str) -> tuple[Any, tuple[Repair, ...]]:
    """Return the JSON value in an answer, and what was put right.

    Args:
        answer: What the model said.

    Raises:
        InputError: If there is none; with line and column.
    """
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
            parse_constant=_refuse, parse_float=_finite
        ).raw_decode(text)
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(value, dict) and (begin or text[end:].strip()):
            said = "text around the JSON object left out"
            return value, (Repair(line=line, code="text_around", message=said),)
    value = _closed(text)
    if value is None:
        msg = f"The answer is not JSON: {problem}."
        raise InputError(msg) from problem
    said = "the end of the JSON object was missing: closed after its last whole part"
    last = stripped.count("\n") + 1
    return value, (Repair(line=last, code="cut", message=said),)


def _refuse(name: str) -> NoReturn:
    """Refuse a number that JSON lacks."""
    msg = f"{name} is no number of JSON"
    raise ValueError(msg)


def _finite(text: str) -> float:
    """Return a number, refused where it is too large for one."""
    number = float(text)
    return number if math.isfinite(number) else _refuse(text[:40])


def _parsed(text: str) -> Any:
    """Parse JSON; depth without end is a `ValueError` too."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError as error:
        msg = "it is nested too deeply"
        raise ValueError(msg) from error


def _closed(text: str) -> dict[str, Any] | None:
    """Return the longest beginning of an object that can be closed, None if none."""
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

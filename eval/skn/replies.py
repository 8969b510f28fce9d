"""JSON in what a model says: read leniently, then held to a schema strictly."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from graph.errors import InputError
from graph.prompts import whole_characters

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["checked_reply", "parse_json_reply"]

_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL | re.IGNORECASE)


def parse_json_reply(raw: str) -> Any:
    """Return the JSON value that a model's answer holds.

    Args:
        raw: The whole answer: JSON alone, in a fence, or from the first brace to the
            last with words around.

    Raises:
        InputError: If there is no JSON in it.
    """
    text = whole_characters(raw).strip()
    fenced = _FENCE.search(text)
    first, last = text.find("{"), text.rfind("}")
    tried = [text]
    tried += [fenced[1].strip()] if fenced else []
    tried += [text[first : last + 1]] if 0 <= first < last else []
    for candidate in tried:
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    msg = f"The answer is not JSON: {text[:80]!r}. Answer with one JSON object."
    raise InputError(msg)


def checked_reply(raw: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object in a model's answer, exactly of the form asked for.

    Args:
        raw: The whole answer.
        schema: JSON schema of an object. Truth values are `true` and `false`, not
            words; NaN and infinities are no numbers.

    Raises:
        InputError: If it is no JSON or does not fit; the message says where, for the
            model.
    """
    from jsonschema import Draft202012Validator

    value = parse_json_reply(raw)
    if not _all_finite(value):
        msg = "the answer: NaN and infinities are no numbers; write one from 0 to 1."
        raise InputError(msg)
    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=str)
    if errors:
        error = errors[0]
        where = ".".join(str(part) for part in error.absolute_path) or "the answer"
        msg = f"{where}: {error.message[:200]}"
        raise InputError(msg)
    answer: dict[str, Any] = value
    return answer


def _all_finite(value: Any) -> bool:
    """Return whether all numbers of a value are numbers of JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True

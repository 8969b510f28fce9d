"""Values from outside, checked before they become properties of a node."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from knowtrail.graph.models.prompts import whole_characters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowtrail.ingest.records import Metadata, Scalar

_LARGEST_INTEGER = 2**63


class BadValueError(ValueError):
    """A value of a record cannot be stored; the message says which and why."""


def as_text(value: object, name: str) -> str | None:
    """Return a string value, or None where there is none."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadValueError(f"{name!r} is {_kind(value)}: it must be a string")
    return whole_characters(value)


def stored_metadata(values: Mapping[str, object], where: str) -> dict[str, Metadata]:
    """Return metadata as a node can hold it, without nulls, or `BadValueError`."""
    found: dict[str, Metadata] = {}
    for name, value in values.items():
        if value is None:
            continue
        if not isinstance(name, str) or not name.strip() or "\0" in name:
            msg = f"a name in {where} is blank or has a NUL: name the value or omit it"
            raise BadValueError(msg)
        found[whole_characters(name)] = metadata_value(value, name)
    return found


def metadata_value(value: object, name: str) -> Metadata:
    """Return one metadata value as a property can hold it.

    A list of texts, of numbers or of truth values stays a list, without its nulls;
    whole numbers beside fractions become fractions. An object, and a list of anything
    else, becomes its JSON text.

    Raises:
        BadValueError: If Neo4j cannot store a number, or JSON cannot say the value.
    """
    if isinstance(value, list):
        members = [member for member in value if member is not None]
        kinds = {type(member) for member in members}
        if kinds <= {int, float} or kinds in ({str}, {bool}):
            single = [_scalar(member, name) for member in members]
            return [float(n) for n in single] if float in kinds else single
    if not isinstance(value, list | dict):
        return _scalar(value, name)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"{name!r} is {_kind(value)} that JSON cannot say: {error}"
        raise BadValueError(msg) from error
    return whole_characters(text)


def _scalar(value: object, name: str) -> Scalar:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return whole_characters(str(value))
    if isinstance(value, int) and -_LARGEST_INTEGER <= value < _LARGEST_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise BadValueError(
        f"{name!r} is {_kind(value)}: metadata must be a string, a number of at most "
        f"64 bits, or true or false"
    )


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a string"}
    return names.get(type(value), f"a {type(value).__name__}")

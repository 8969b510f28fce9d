"""What a client gives, as parameters of a URL or as JSON; types are the registry's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from graph.errors import InputError
from retrieval.procedures import options_from_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_body", "read_query", "read_values"]

MOST_FIELDS = 100
SHOWN = 80


def read_query(query: bytes) -> dict[str, list[str]]:
    """Return the parameters of a URL, each with its texts in order.

    Args:
        query: What follows the question mark, percent-encoded UTF-8.

    Raises:
        InputError: If it is not UTF-8 or has too many fields.
    """
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(
            query.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except UnicodeDecodeError as error:
        msg = "The URL is not UTF-8: encode parameters as encodeURIComponent does."
        raise InputError(msg) from error
    except ValueError as error:
        msg = f"The URL has more than {MOST_FIELDS} parameters: send JSON."
        raise InputError(msg) from error
    for name, text in pairs:
        found.setdefault(name, []).append(text)
    return found


def read_body(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request's body; nothing for an empty one.

    Raises:
        InputError: If it is something else.
    """
    if not body.strip():
        return {}
    try:
        values = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        msg = f"The body is not JSON ({error}): send an object of parameters."
        raise InputError(msg) from error
    if not isinstance(values, dict):
        msg = f"The body is {repr(values)[:SHOWN]}: send an object of parameters."
        raise InputError(msg)
    return values


def read_values(
    query: Mapping[str, list[str]], body: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a call by name, not yet checked.

    A parameter of the URL whose text is empty, and one that is null in the body, is as
    if it were not given.

    Args:
        query: Parameters of the URL; a list is one text with commas, or several.
        body: Parameters of the body.

    Raises:
        InputError: If one is given twice or cannot be read as its type.
    """
    if twice := sorted(set(query) & set(body)):
        msg = f"Parameter {twice[0][:SHOWN]!r} is in URL and body: give it once."
        raise InputError(msg)
    texts = {}
    for name, given in query.items():
        if len(given) > 1 and name != "algorithms":
            msg = f"Parameter {name[:SHOWN]!r} is given {len(given)} times: give one."
            raise InputError(msg)
        if any(given):
            texts[name] = ",".join(given)
    given_body = {name: value for name, value in body.items() if value is not None}
    return options_from_text(texts) | given_body


def _no_constant(name: str) -> float:
    """Refuse NaN and Infinity, which are not JSON."""
    msg = f"{name} is not JSON"
    raise ValueError(msg)

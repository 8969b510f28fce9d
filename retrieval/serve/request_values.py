"""What a client gives, as parameters of a URL or as JSON, read within limits.

Types are those of the registry of procedures.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from knowtrail.graph.cli.rows import shown_value
from knowtrail.graph.errors import InputError
from knowtrail.graph.files.lines import no_constant
from knowtrail.retrieval.procedures.registry import options_from_text
from knowtrail.retrieval.serve.gate import CLIENT_GONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set

    from starlette.requests import Request

MOST_FIELDS = 100
SHOWN = 80


def read_query(query: bytes) -> dict[str, list[str]]:
    """Return the parameters of a URL, in UTF-8, each with its texts in order."""
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
    """Return the JSON object of a request's body; nothing for an empty one."""
    if not body.strip():
        return {}
    try:
        values = json.loads(body, parse_constant=no_constant)
        json.dumps(values, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        msg = "The body has half a character (a lone surrogate): leave it out."
        raise InputError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"The body is not JSON ({error}): send an object of parameters."
        raise InputError(msg) from error
    if not isinstance(values, dict):
        msg = f"The body is {shown_value(values)}: send an object of parameters."
        raise InputError(msg)
    return values


def read_values(
    query: Mapping[str, list[str]], body: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a call by name, not yet checked.

    A parameter of the URL whose text is empty, and one that is null in the body, is as
    if it were not given. A list in the URL is one text with commas, or several. What is
    given twice is refused.
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


def check_known(given: Iterable[str], known: Set[str]) -> None:
    """Refuse a parameter that there is not."""
    if unknown := sorted({*given} - known):
        msg = f"Unknown parameter {unknown[0][:SHOWN]!r}: there are {sorted(known)}."
        raise InputError(msg)


BODY_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a client gave in URL and body, not yet checked."""

    query: dict[str, list[str]]
    body: dict[str, Any]

    def take(self, name: str) -> str | None:
        """Remove a parameter of the door itself; return its last text."""
        texts = self.query.pop(name, None)
        return texts[-1] if texts else None


async def asked(request: Request) -> Asked:
    """Return the parameters of a request."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await request.body()
    except TimeoutError as error:
        msg = f"The body did not come in {BODY_SECONDS:g} seconds: send it at once."
        raise HTTPException(408, msg) from error
    except ClientDisconnect as error:
        raise HTTPException(CLIENT_GONE, "The client has gone.") from error
    kind = request.headers.get("content-type", "application/json").partition(";")[0]
    if body.strip() and kind.strip().lower() != "application/json":
        raise HTTPException(415, f"The body is {kind[:80]!r}: send application/json.")
    return Asked(query=read_query(request.scope["query_string"]), body=read_body(body))

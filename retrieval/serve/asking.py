"""A request's parameters, read within limits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from retrieval.serve.arguments import read_body, read_query
from retrieval.serve.gate import CLIENT_GONE

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["Asked", "asked"]

BODY_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a client gave, not yet checked.

    Attributes:
        query: Parameters of the URL.
        body: Parameters of the body.
    """

    query: dict[str, list[str]]
    body: dict[str, Any]

    def take(self, name: str) -> str | None:
        """Remove a parameter of the door itself; return its last text."""
        texts = self.query.pop(name, None)
        return texts[-1] if texts else None


async def asked(request: Request) -> Asked:
    """Return the parameters of a request.

    Raises:
        InputError: If URL or body cannot be read.
        HTTPException: If the body does not come, or is of another kind.
    """
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
        msg = f"The body is {kind[:80]!r}: send application/json."
        raise HTTPException(415, msg)
    return Asked(query=read_query(request.scope["query_string"]), body=read_body(body))

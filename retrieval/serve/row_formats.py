"""Rows as CSV that LOAD CSV reads back as they were, and answers line by line.

Neo4j reads a backslash in a quoted field as an escape of a quote or of a backslash,
unless `server.import.csv.legacy_quote_escaping` is off; RFC 4180 knows no such thing.
Text with a backslash before a quote can thus not be written so that both read it: the
server is told from others by the name that it gives itself.
"""

from __future__ import annotations

import json
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from knowtrail.graph.cli.rows import plain_value
from knowtrail.graph.errors import KnowtrailError
from knowtrail.retrieval.serve.gate import until_gone, within
from knowtrail.retrieval.serve.guard import http_problem, problem_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence

    from starlette.types import Receive, Scope, Send

    from knowtrail.retrieval.serve.gate import Gate
    from knowtrail.retrieval.serve.guard import Problem

LOAD_CSV_AGENT = "NeoLoadCSV_"
_QUOTED = frozenset(',"\r\n')


def csv_text(
    columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, escaped: bool = False
) -> str:
    """Return rows as CSV with a header, lines ending as RFC 4180 has them.

    Null is an empty field, the empty text a quoted one, so that LOAD CSV tells them
    apart; lists and maps are JSON, booleans `true` and `false`. `escaped` is for
    readers that take a backslash in a quoted field for an escape.
    """
    lines = [",".join(_cell(name, escaped) for name in columns)]
    lines += [
        ",".join(_cell(row.get(name), escaped) for name in columns) for row in rows
    ]
    return "".join(f"{line}\r\n" for line in lines)


def escapes_for(user_agent: str, asked: str | None) -> bool:
    """Return whether backslashes are escaped for a reader, by its name or its wish."""
    if asked is None:
        return user_agent.startswith(LOAD_CSV_AGENT)
    return asked == "neo4j"


def _cell(value: Any, escaped: bool) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text and _QUOTED.isdisjoint(text):
        return text
    if escaped:
        text = text.replace("\\", "\\\\")
    return '"' + text.replace('"', '""') + '"'


_LOG = logging.getLogger(__name__)
LINES = "application/x-ndjson"


async def started(
    pieces: AsyncGenerator[str | dict[str, Any]], gate: Gate, request_id: str
) -> AsyncGenerator[bytes]:
    """Yield a line for each piece: `{"token": ...}` for text, `{"row": ...}` for rows.

    What fails before the first line is raised, since the status can still say it; what
    fails later is the last line, `{"error": ...}`. The gate's place is held all the
    time.
    """
    any_line = False
    async with gate.place() as end, aclosing(pieces):
        while True:
            try:
                piece = await within(end, gate.seconds, anext(pieces, None))
            except Exception as error:  # the client must be told, whatever it is
                if not any_line:
                    raise
                yield _line({"error": _told(error, request_id).as_dict(request_id)})
                return
            if piece is None:
                return
            any_line = True
            yield _line({"token": piece} if isinstance(piece, str) else {"row": piece})


class LineResponse(Response):
    """A streaming response that ends its work when the client goes."""

    media_type = LINES

    def __init__(self, first: bytes, lines: AsyncGenerator[bytes]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._first = first
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send line after line, each at once."""
        async with aclosing(self._lines):
            try:
                await until_gone(self._send(send), receive)
            except HTTPException:
                _LOG.info("%s the client has gone", scope["state"]["request_id"])

    async def _send(self, send: Send) -> None:
        await send({
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        })
        await _send_line(send, self._first)
        async for line in self._lines:
            await _send_line(send, line)
        await send({"type": "http.response.body", "body": b""})


async def _send_line(send: Send, line: bytes) -> None:
    await send({"type": "http.response.body", "body": line, "more_body": True})


def _told(error: Exception, request_id: str) -> Problem:
    """Return what a client is told of an error in the middle of an answer."""
    if isinstance(error, HTTPException):
        return http_problem(error.status_code, error.detail)
    if not isinstance(error, KnowtrailError):
        _LOG.error("%s failed: %s", request_id, type(error).__name__)
    return problem_of(error)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(plain_value(value), ensure_ascii=False).encode() + b"\n"

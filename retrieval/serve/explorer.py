"""The explorer: its files, what it must know to draw, rows of reading statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse

from knowtrail.graph.cli.rows import plain_value, shown_value
from knowtrail.graph.db.statements import statement, statement_names, statement_record
from knowtrail.graph.errors import InputError, check_whole
from knowtrail.retrieval.algorithms import ALGORITHMS
from knowtrail.retrieval.serve.request_values import check_known
from knowtrail.retrieval.views.network import EXPLORER, Elements, named, style_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from knowtrail.retrieval.serve.backend import GraphBackend

KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data: blob:; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
"""The graph library writes styles; nothing else is inline."""

MOST_ROWS = 1000
MOST_NODES = 5000
_KNOWN = frozenset({"saved", "statement", "parameters", "limit"})


def file_response(name: str) -> Response:
    """Answer with a file of the explorer; without a name, with its page."""
    path = EXPLORER / (name or "index.html")
    if path not in EXPLORER.rglob("*.*") or path.suffix not in KINDS:
        raise HTTPException(404, "Not Found")
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
    return FileResponse(path, media_type=KINDS[path.suffix], headers=headers)


def about(corpus: str | None) -> dict[str, Any]:
    """Return what the explorer must know: styles, ways of walking, saved queries."""
    records = [statement_record(name) for name in statement_names()]
    return {
        "corpus": corpus,
        "styles": style_table(),
        "algorithms": list(ALGORITHMS),
        "saved": [
            {"name": record.name, "title": record.title, "params": record.params}
            for record in records
            if record.title
        ],
        "checks": [
            {"name": record.name, "title": record.purpose}
            for record in records
            if record.name.startswith("corpus/verify_") and record.params == ("corpus",)
        ],
    }


async def read_rows(backend: GraphBackend, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Answer `saved` or `statement` with rows and with the graph that is in them."""
    text, params, limit = _checked(asked)
    columns, values = await backend.read(text, params, limit=limit + 1)
    elements = Elements(MOST_NODES)
    elements.add(values[:limit])
    if bare := elements.bare():
        lacking = statement("retrieval/view_nodes")
        elements.add((await backend.read(lacking, {"ids": bare}, limit=len(bare)))[1])
    return {
        "columns": columns,
        "rows": plain_value(named(values[:limit])),
        "more": len(values) > limit,
        "graph": elements.as_dict(),
    }


def _checked(asked: Mapping[str, Any]) -> tuple[str, dict[str, Any], int]:
    """Return statement, parameters and limit of rows that were asked for."""
    check_known(asked, _KNOWN)
    params, limit = asked.get("parameters", {}), asked.get("limit", MOST_ROWS)
    if not isinstance(params, dict):
        raise InputError(f"parameters is {shown_value(params)}: give a map.")
    check_whole("limit", limit, 1, MOST_ROWS)
    saved, text = asked.get("saved"), asked.get("statement")
    if (saved is None) == (text is None):
        msg = "Give one: saved, the name of a stored statement, or statement."
        raise InputError(msg)
    if text is not None:
        if not isinstance(text, str):
            raise InputError(f"No statement {shown_value(text)}: give a text.")
        return text, params, limit
    if saved not in statement_names():
        msg = f"No saved statement {shown_value(saved)}: /explore/about lists them."
        raise InputError(msg)
    record = statement_record(str(saved))
    return record.text, dict.fromkeys(record.params) | params, limit

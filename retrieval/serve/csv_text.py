"""Rows as CSV that LOAD CSV reads back as they were.

Neo4j reads a backslash in a quoted field as an escape of a quote or of a backslash,
unless `server.import.csv.legacy_quote_escaping` is off; RFC 4180 knows no such thing.
Text with a backslash before a quote can thus not be written so that both read it: the
server is told from others by the name that it gives itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["csv_text", "escapes_for"]

LOAD_CSV_AGENT = "NeoLoadCSV_"
_QUOTED = frozenset(',"\r\n')


def csv_text(
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    *,
    escaped: bool = False,
) -> str:
    """Return rows as CSV with a header, lines ending as RFC 4180 has them.

    Null is an empty field, the empty text a quoted one, so that LOAD CSV tells them
    apart; lists and maps are JSON, booleans `true` and `false`.

    Args:
        columns: Names of the columns, in order.
        rows: Values by column.
        escaped: Whether the reader takes a backslash in a quoted field for an escape.
    """
    lines = [",".join(_cell(name, escaped) for name in columns)]
    lines += [
        ",".join(_cell(row.get(name), escaped) for name in columns) for row in rows
    ]
    return "".join(f"{line}\r\n" for line in lines)


def escapes_for(user_agent: str, asked: str | None) -> bool:
    """Return whether backslashes are escaped for a reader.

    Args:
        user_agent: What the client calls itself.
        asked: `neo4j` or `rfc4180` where the client says it; None where it does not.
    """
    if asked is None:
        return user_agent.startswith(LOAD_CSV_AGENT)
    return asked == "neo4j"


def _cell(value: Any, escaped: bool) -> str:
    """Return one field."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text and _QUOTED.isdisjoint(text):
        return text
    if escaped:
        text = text.replace("\\", "\\\\")
    return '"' + text.replace('"', '""') + '"'

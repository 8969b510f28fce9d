"""What no index of Neo4j can hold, found in a file before anything of it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.errors import RdfError
from graph.rdf.readings import TYPE
from graph.schema import indexed_properties

if TYPE_CHECKING:
    from graph.rdf.rows import Rows
    from graph.rdf.staging import Staging

__all__ = ["check_lengths"]

_MOST = 8_000
"""Bytes of a value; the server refuses a transaction with a little more."""


def check_lengths(staging: Staging, rows: Rows) -> None:
    """Refuse a file that has values which no index can hold.

    Args:
        staging: The triples of the file.
        rows: What subjects and predicates become.

    Raises:
        RdfError: If it has one; nothing is stored yet.
    """
    for subject, predicate, found, is_literal in staging.longer(_MOST):
        for iri in [subject] if is_literal else [subject, found]:
            if len(iri.encode()) > _MOST:
                _refuse(f"The IRI {iri[:60]!r}...", iri)
        types = (o for p, o in staging.about(subject) if p == TYPE)
        label = rows.label_of(subject, [o for o in types if isinstance(o, str)])
        name = rows.name_of(label, predicate)
        if name in {"id", "uri"} | indexed_properties().get(label, set()):
            _refuse(f"The {name} of {subject[:200]}", found)


def _refuse(what: str, text: str) -> None:
    """Refuse a value.

    Raises:
        RdfError: Always.
    """
    msg = (
        f"{what} has {len(text.encode()):,} bytes and an index of Neo4j holds "
        f"{_MOST:,}: shorten it. Nothing was stored."
    )
    raise RdfError(msg)

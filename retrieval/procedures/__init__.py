"""Named operations that Python, Cypher and HTTP call alike."""

from __future__ import annotations

from knowtrail.retrieval.procedures.registry import (
    OPTIONS,
    PROCEDURES,
    Field,
    Procedure,
    Row,
    acall,
    call,
    keywords,
    options_from_text,
)

__all__ = [
    "OPTIONS",
    "PROCEDURES",
    "Field",
    "Procedure",
    "Row",
    "acall",
    "call",
    "keywords",
    "options_from_text",
]

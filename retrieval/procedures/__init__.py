"""Named operations that Python, Cypher and HTTP call alike."""

from __future__ import annotations

from retrieval.procedures.options import OPTIONS, Option, options_from_text
from retrieval.procedures.registry import (
    PROCEDURES,
    Field,
    Procedure,
    acall,
    call,
    keywords,
)
from retrieval.procedures.rows import Row

__all__ = [
    "OPTIONS",
    "PROCEDURES",
    "Field",
    "Option",
    "Procedure",
    "Row",
    "acall",
    "call",
    "keywords",
    "options_from_text",
]

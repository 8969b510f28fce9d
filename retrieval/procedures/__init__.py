"""Named operations that Python, Cypher and HTTP call alike."""

from __future__ import annotations

from knowtrail.retrieval.procedures.registry import acall, call

__all__ = ["acall", "call"]

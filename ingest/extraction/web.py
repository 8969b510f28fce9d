"""Web search as a source: results live or recorded, with retries."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WebResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """One result of a web search, as text."""

    title: str
    url: str
    content: str

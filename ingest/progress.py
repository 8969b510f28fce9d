"""How long work tells of itself."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "silent"]


class Progress(Protocol):
    """Called as a stage moves on; must be quick and must not raise."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Take note that `done` of `total` are finished (None where unknown)."""
        ...


def silent(stage: str, done: int, total: int | None) -> None:
    """Take no notice."""

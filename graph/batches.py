"""Many rows, a part at a time; `itertools.batched` comes with Python 3.12."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
ROWS = 1000
"""Rows that a statement takes at a time, where nothing else is said."""


def batched(rows: Iterable[T], size: int = ROWS) -> Iterator[list[T]]:
    """Yield rows in lists of so many, the last one of what is left."""
    waiting = iter(rows)
    while batch := list(islice(waiting, size)):
        yield batch


def batched_within(
    rows: Iterable[T], size_of: Callable[[T], int], most: int
) -> Iterator[list[T]]:
    """Yield rows in lists of sizes up to so much in all; a larger row stands alone."""
    batch: list[T] = []
    size = 0
    for row in rows:
        own = size_of(row)
        if batch and size + own > most:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += own
    if batch:
        yield batch

"""Several sources read as one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.records import Item, Source

__all__ = ["begun", "position"]


def begun(sources: Sequence[Source]) -> Iterator[Item]:
    """Return the items of all sources, the first read before anything is written.

    Raises:
        InputError: If there is no source, or it cannot be read at all.
    """
    if not sources:
        msg = "Nothing to ingest: name at least one source."
        raise InputError(msg)
    items = itertools.chain.from_iterable(source.items() for source in sources)
    first = list(itertools.islice(items, 1))
    return itertools.chain(first, items)


def position(sources: Sequence[Source]) -> tuple[int, int | None]:
    """Return how much of the sources has been read, and of how much."""
    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(s for s in sizes if s is not None)
    return sum(source.position for source in sources), total

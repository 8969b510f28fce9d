"""Several sources read as one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from graph.errors import InputError, SourceError
from ingest.records import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.records import Item, Source

__all__ = ["begun", "position"]

_LOOKED_AT = 100_000
"""Failures in a row after which a source is begun all the same."""


def begun(sources: Sequence[Source]) -> Iterator[Item]:
    """Return the items of all sources, read so far that there is something to store.

    So nothing is written, and no model loaded, for sources that are of no use.

    Raises:
        InputError: If there is no source.
        SourceError: If one cannot be read at all, or everything in all is a failure.
    """
    if not sources:
        msg = "Nothing to ingest: name at least one source."
        raise InputError(msg)
    items = itertools.chain.from_iterable(source.items() for source in sources)
    failures: list[Failure] = []
    for item in itertools.islice(items, _LOOKED_AT):
        if not isinstance(item, Failure):
            return itertools.chain(failures, [item], items)
        failures.append(item)
    if 0 < len(failures) < _LOOKED_AT:
        names = ", ".join(source.name for source in sources)
        first = f"{failures[0].title}: {failures[0].message.rstrip('.')}"
        msg = f"Nothing in {names} can be used. The first: {first}."
        raise SourceError(msg)
    return itertools.chain(failures, items)


def position(sources: Sequence[Source]) -> tuple[int, int | None]:
    """Return how much of the sources has been read, and of how much."""
    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(s for s in sizes if s is not None)
    return sum(source.position for source in sources), total

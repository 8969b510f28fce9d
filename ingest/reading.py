"""Several sources read as one."""

from __future__ import annotations

import itertools
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError, SourceError
from knowtrail.ingest.records import Failure, RawDocument

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from knowtrail.ingest.records import Item, Source

_LOOKED_AT = 100_000
"""Failures in a row after which a source is begun all the same."""


class Limited:
    """A source that ends after so many documents."""

    def __init__(self, source: Source, limit: int) -> None:
        """Say what ends when.

        Args:
            source: What is read.
            limit: Documents of it that are read, at least 1.
        """
        self._source = source
        self._limit = limit
        self._position = 0
        if hasattr(source, "settle"):
            self.settle = source.settle

    @property
    def name(self) -> str:
        """Return the name of the source."""
        return self._source.name

    @property
    def size(self) -> int | None:
        """Return the most documents that come."""
        return self._limit

    @property
    def position(self) -> int:
        """Return how many documents came."""
        return self._position

    def items(self) -> Iterator[Item]:
        """Yield the items of the source up to the last document.

        Raises:
            SourceError: If the source cannot be read at all.
        """
        return self._counted(self._source.items())

    def _counted(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield items until there are enough documents, then close what gives them."""
        self._position = 0
        try:
            for item in items:
                self._position += isinstance(item, RawDocument)
                yield item
                if self._position == self._limit:
                    return
        finally:
            getattr(items, "close", lambda: None)()


@contextmanager
def begun(sources: Sequence[Source]) -> Iterator[Iterator[Item]]:
    """Yield the items of all sources, read so far that there is something to store.

    So nothing is written, and no model loaded, for sources that are of no use. Leaving
    the block closes the source that is being read.

    Raises:
        InputError: If there is no source.
        SourceError: If one cannot be read at all, or everything in all is a failure.
    """
    if not sources:
        msg = "Nothing to ingest: name at least one source."
        raise InputError(msg)
    with closing(_items(sources)) as items:
        failures: list[Item] = []
        for item in itertools.islice(items, _LOOKED_AT):
            failures.append(item)
            if not isinstance(item, Failure):
                break
        else:
            _check_some(sources, failures)
        yield itertools.chain(failures, items)


def settled(sources: Sequence[Source], root: str | None, *, new: bool) -> str | None:
    """Let the sources of files take the folder that their ids are paths in.

    Args:
        sources: Of any kind.
        root: The folder of the corpus, None before it has one.
        new: Whether the corpus is new.

    Returns:
        The folder of the corpus from now on.
    """
    for source in sources:
        if (settle := getattr(source, "settle", None)) is not None:
            root = settle(root, new=new)
    return root


def _items(sources: Sequence[Source]) -> Generator[Item]:
    """Yield the items of one source after the other."""
    for source in sources:
        yield from source.items()


def _check_some(sources: Sequence[Source], failures: Sequence[Item]) -> None:
    """Refuse sources in which there is nothing but failures."""
    first = next(iter(failures), None)
    if len(failures) < _LOOKED_AT and isinstance(first, Failure):
        names = ", ".join(source.name for source in sources)
        told = f"{first.title}: {first.message.rstrip('.')}"
        msg = f"Nothing in {names} can be used. The first: {told}."
        raise SourceError(msg)


def position(sources: Sequence[Source]) -> tuple[str, int, int | None]:
    """Return how much of the sources has been read, as progress is told."""
    units = {getattr(source, "unit", "documents") for source in sources}
    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(s for s in sizes if s is not None)
    read = sum(source.position for source in sources)
    return f"{' and '.join(sorted(units))} read", read, total

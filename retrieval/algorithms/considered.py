"""Candidates of a step, put in order when somebody looks at them, which is seldom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from retrieval.cosine import ranked
from retrieval.walk import RankedChunk

if TYPE_CHECKING:
    from retrieval.protocols import Vector

__all__ = ["Considered"]


class Considered(Sequence[RankedChunk]):
    """Chunks by descending score, ties by id; equal to a tuple of the same."""

    def __init__(self, ids: Sequence[str], scores: Vector) -> None:
        """Take ids and, one by one, their scores; neither may change afterwards."""
        self._ids = ids
        self._scores = scores
        self._ranked: tuple[RankedChunk, ...] | None = None

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._ids)

    @overload
    def __getitem__(self, place: int) -> RankedChunk: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[RankedChunk]: ...

    def __getitem__(self, place: int | slice) -> RankedChunk | Sequence[RankedChunk]:
        """Return the chunk at a place, or those of a slice."""
        return self._all()[place]

    def __eq__(self, other: object) -> bool:
        """Return whether the other has the same chunks in the same order."""
        if not isinstance(other, Considered | tuple):
            return NotImplemented
        return self._all() == tuple(other)

    def __hash__(self) -> int:
        """Return the hash of the tuple."""
        return hash(self._all())

    def __repr__(self) -> str:
        """Return the tuple as text."""
        return repr(self._all())

    def _all(self) -> tuple[RankedChunk, ...]:
        """Return the chunks in order."""
        if self._ranked is None:
            values = self._scores.tolist()
            self._ranked = tuple([
                RankedChunk(id=self._ids[i], score=values[i])
                for i in ranked(self._ids, self._scores)
            ])
        return self._ranked

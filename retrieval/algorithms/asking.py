"""Requests with typed answers, and the ranking of chunks by a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from retrieval.cosine import cosines, ranked
from retrieval.protocols import AnchorRequest, Candidates, ExpandRequest
from retrieval.walk import RankedChunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retrieval.protocols import Vector, Visit, Walking

__all__ = ["Ranking", "ask_visits"]

_BATCH = 4


def ask_visits(
    chunk_ids: tuple[str, ...], *, neighbours: bool = True
) -> Walking[Mapping[str, Visit]]:
    """Ask for chunks by id in one round trip."""
    answer = yield ExpandRequest(chunk_ids=chunk_ids, neighbours=neighbours)
    return cast("Mapping[str, Visit]", answer)


class Ranking:
    """Chunks by descending cosine to a question, read as far as they are needed.

    The reader is asked for `anchor_hits(k)` chunks first and for twice as many each
    time that the caller comes to the end; the sentences of chunks are fetched a few
    chunks at a time.
    """

    def __init__(
        self, query: Vector, *, k: int = 1, known: tuple[RankedChunk, ...] = ()
    ) -> None:
        """Prepare the ranking; nothing is asked for yet.

        Args:
            query: The question's vector.
            k: How many places at the top must be right.
            known: A ranking that was read before, to go on from.
        """
        self.query = query
        self.ranked = known
        self._k = k
        self._complete = False
        self._taken: set[str] = set()
        self._visits: dict[str, Visit | None] = {}

    def skip(self, chunk_ids: Iterable[str]) -> None:
        """Leave chunks out from now on."""
        self._taken.update(chunk_ids)

    def next(self) -> Walking[RankedChunk | None]:
        """Return the best chunk not yet returned or skipped; None at the end."""
        while True:
            for hit in self.ranked:
                if hit.id not in self._taken:
                    self._taken.add(hit.id)
                    return hit
            if self._complete:
                return None
            yield from self._read()

    def visit(self, hit: RankedChunk) -> Walking[Visit | None]:
        """Return a chunk with its sentences; None if it was deleted meanwhile."""
        if hit.id not in self._visits:
            ahead = (
                h.id
                for h in self.ranked
                if h.id not in self._taken and h.id not in self._visits
            )
            wanted = (
                hit.id,
                *(i for i, _ in zip(ahead, range(_BATCH - 1), strict=False)),
            )
            visits = yield from ask_visits(wanted, neighbours=False)
            self._visits.update({i: visits.get(i) for i in wanted})
        return self._visits[hit.id]

    def _read(self) -> Walking[None]:
        """Ask for the ranking, longer than before."""
        if self.ranked:
            self._k = 2 * max(self._k, len(self.ranked) // 10)
        answer = yield AnchorRequest(vector=self.query, k=self._k)
        found = cast("Candidates", answer)
        scores = cosines(self.query, found.vectors)
        self.ranked = tuple(
            RankedChunk(id=found.ids[i], score=float(scores[i]))
            for i in ranked(found.ids, scores)
        )
        self._complete = found.complete

"""Requests with typed answers, and the ranking of chunks by a question."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar, cast

from knowtrail.retrieval.algorithms.rules import OWN
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.protocols import (
    AnchorRequest,
    Candidates,
    ElapsedRequest,
    ExpandRequest,
    HomesRequest,
    ModelRequest,
    ProjectionRequest,
)
from knowtrail.retrieval.walk import RankedChunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowtrail.graph.models.language_models import ModelReply
    from knowtrail.retrieval.algorithms.rules import Rules
    from knowtrail.retrieval.projection import Projection
    from knowtrail.retrieval.protocols import Response, Vector, Visit, Walking

T = TypeVar("T")
_BATCH, _LARGEST_BATCH = 4, 32
"""Chunks fetched at once: the first time, and when many are wanted."""


def keeping(walking: Walking[T], opened: dict[str, Visit]) -> Walking[T]:
    """Go on with a walk, and keep the chunks that it opens."""
    response: Response | None = None
    while True:
        try:
            request = walking.send(response)  # type: ignore[arg-type]
        except StopIteration as done:
            result: T = done.value
            return result
        response = yield request
        if isinstance(request, ExpandRequest):
            opened |= cast("Mapping[str, Visit]", response)


def ask_visits(
    chunk_ids: tuple[str, ...], *, neighbours: bool = True
) -> Walking[Mapping[str, Visit]]:
    """Ask for chunks by id in one round trip."""
    answer = yield ExpandRequest(chunk_ids=chunk_ids, neighbours=neighbours)
    return cast("Mapping[str, Visit]", answer)


def ask_homes(sentence_ids: tuple[str, ...]) -> Walking[dict[str, Vector]]:
    """Ask for the vector of the first chunk that holds each sentence."""
    answer = cast("Candidates", (yield HomesRequest(sentence_ids=sentence_ids)))
    return {
        sentence_id: vector
        for (sentence_id,), vector in zip(answer.sentences, answer.vectors, strict=True)
    }


def ask_projection(query: Vector | None) -> Walking[Projection]:
    """Ask for the main axes of the corpus, or those fitted to a question too."""
    return cast("Projection", (yield ProjectionRequest(query=query)))


def ask_model(request: ModelRequest) -> Walking[ModelReply]:
    """Ask the language model."""
    return cast("ModelReply", (yield request))


def ask_elapsed() -> Walking[float]:
    """Ask how many seconds have passed since the walk was started."""
    return cast("float", (yield ElapsedRequest()))


class Ranking:
    """Chunks by descending cosine to a question, read as far as they are needed.

    The reader is asked for `anchor_hits(k)` chunks first and for twice as many each
    time that the caller comes to the end; the sentences of chunks are fetched a few
    chunks at a time, and more each time. It is `complete` where there are no more.
    """

    def __init__(
        self,
        query: Vector,
        *,
        k: int = 1,
        known: tuple[RankedChunk, ...] = (),
        rules: Rules = OWN,
        documents: bool = False,
        complete: bool = False,
        wanted: int | None = None,
        opened: Mapping[str, Visit] | None = None,
    ) -> None:
        """Prepare the ranking of which `k` places must be right; nothing is asked yet.

        A `known` one, which may be `complete`, is gone on from. With `documents` it is
        asked which these are of. Chunks are opened together, half as many again as are
        `wanted`, as some overlap; those that a walk has `opened` are not asked for.
        """
        self.query = query
        self.ranked = known
        self.vectors: dict[str, Vector] = {}
        self.documents: dict[str, str] = {}
        self._k = k
        self._rules = rules
        self._documents = documents
        self.complete = complete
        self._taken: set[str] = set()
        self._place = 0
        self._batch = min(max(_BATCH, (wanted or 0) * 3 // 2), _LARGEST_BATCH)
        self._visits: dict[str, Visit | None] = dict(opened or {})

    def skip(self, chunk_ids: Iterable[str]) -> None:
        """Leave chunks out from now on."""
        self._taken.update(chunk_ids)

    def next(self) -> Walking[RankedChunk | None]:
        """Return the best chunk not yet returned or skipped; None at the end."""
        while True:
            while self._place < len(self.ranked):
                hit = self.ranked[self._place]
                self._place += 1
                if hit.id not in self._taken:
                    self._taken.add(hit.id)
                    return hit
            if self.complete:
                return None
            yield from self.read()

    def visit(self, hit: RankedChunk) -> Walking[Visit | None]:
        """Return a chunk with its sentences, once; None if it was deleted meanwhile."""
        if hit.id not in self._visits:
            rest = range(self._place, len(self.ranked))
            ahead = (
                h.id
                for h in map(self.ranked.__getitem__, rest)
                if h.id not in self._taken and h.id not in self._visits
            )
            wanted = (hit.id, *islice(ahead, self._batch - 1))
            self._batch = min(2 * self._batch, _LARGEST_BATCH)
            visits = yield from ask_visits(wanted, neighbours=False)
            self._visits.update({i: visits.get(i) for i in wanted})
        return self._visits.pop(hit.id)

    def reorder(self, first: Sequence[RankedChunk]) -> None:
        """Put chunks that were read in another order, before the rest."""
        known = {hit.id for hit in first}
        self.ranked = (*first, *(hit for hit in self.ranked if hit.id not in known))

    def read(self, *, words: str = "", texts: int = 0) -> Walking[Candidates]:
        """Ask for the ranking, longer than before, and return what was answered.

        The chunks that have most of the words, if some are given, are in the ranking
        too; of those with texts only the hits are.
        """
        if self.ranked:
            self._k = 2 * max(self._k, len(self.ranked) // 10)
        answer = yield AnchorRequest(
            vector=self.query,
            k=self._k,
            documents=self._documents,
            words=words,
            texts=texts,
        )
        found = cast("Candidates", answer)
        ids = found.ids[: len(found.vectors)]
        scores = cosines(self.query, found.vectors)
        values = scores.tolist()
        self.ranked = tuple([
            RankedChunk(id=ids[i], score=values[i])
            for i in self._rules.rank(ids, scores)
        ])
        self.vectors = dict(zip(ids, found.vectors, strict=True))
        self.documents = dict(zip(ids, found.documents, strict=False))
        self.complete = found.complete
        self._place = 0
        return found

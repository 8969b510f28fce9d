"""How algorithms ask for data, and what readers must answer.

An algorithm does no input or output. It is a generator that yields requests
(`AnchorRequest`, `ExpandRequest`) and is sent the answers; `retrieval.driving` runs
it over a `GraphReader`, or over an `AsyncGraphReader` with `await`. So one
implementation serves both, and every reader gives the same walk, because the
algorithm computes all cosines itself, in float64, from the vectors it is sent.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from graph.errors import InputError

if TYPE_CHECKING:
    from retrieval.walk import ChunkText, Trail

__all__ = [
    "Algorithm",
    "AnchorRequest",
    "AsyncGraphReader",
    "Candidates",
    "ExpandRequest",
    "GraphReader",
    "Request",
    "Response",
    "StoredSentence",
    "Vector",
    "Visit",
    "WalkOptions",
    "Walking",
    "anchor_hits",
]

Vector: TypeAlias = npt.NDArray[np.float64]
"""A vector of shape (dimensions,), or a matrix of shape (n, dimensions)."""

_FEWEST_HITS = 50
_HITS_PER_ANCHOR = 10
_MOST = 100_000


def anchor_hits(k: int) -> int:
    """Return how many hits are re-scored so that the k best are surely among them."""
    return max(_FEWEST_HITS, _HITS_PER_ANCHOR * k)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkOptions:
    """Budgets of a walk; an algorithm stops at whichever it meets first.

    Attributes:
        max_sentences: Sentences wanted; the output is cut there. None for no limit.
        max_hops: Edges that may be followed from the anchor.
        max_chunks: Chunks with new sentences wanted. None for no limit.
    """

    max_sentences: int | None = 10
    max_hops: int = 20
    max_chunks: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            InputError: If a value is no whole number or out of range.
        """
        for name, least in (("max_sentences", 1), ("max_hops", 0), ("max_chunks", 1)):
            value = getattr(self, name)
            if value is None and name != "max_hops":
                continue
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not least <= value <= _MOST:
                msg = (
                    f"{name} is {value!r}: give a whole number from {least} to {_MOST}."
                )
                raise InputError(msg)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Chunks that a walk may visit: ids and, row by row, their vectors.

    Attributes:
        ids: Chunk ids.
        vectors: Matrix of shape (len(ids), dimensions), float64.
        complete: For anchors: whether no chunk of the corpus is missing here.
    """

    ids: tuple[str, ...]
    vectors: Vector
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredSentence:
    """A sentence as the graph holds it, with its vector."""

    id: str
    text: str
    index: int
    start_char: int
    end_char: int
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Visit:
    """A chunk, opened: its text, its sentences and where one can go from it.

    Its own vector is not here: the walk has it from the candidates it chose among.

    Attributes:
        chunk: Text and place of the chunk.
        sentences: Its sentences in document order.
        neighbours: Chunks at the end of its outgoing SIMILAR_TO edges, those of its
            own document first, each group by rank.
    """

    chunk: ChunkText
    sentences: tuple[StoredSentence, ...]
    neighbours: Candidates


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnchorRequest:
    """Ask for the chunks nearest to a vector.

    The answer is a `Candidates` with `anchor_hits(k)` chunks, in any order: the k
    nearest are among them, and the algorithm ranks them itself.
    """

    vector: Vector
    k: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandRequest:
    """Ask for chunks by id, all in one round trip.

    The answer maps ids to `Visit`s; a chunk that was deleted meanwhile is missing.
    """

    chunk_ids: tuple[str, ...]
    neighbours: bool = True


Request: TypeAlias = AnchorRequest | ExpandRequest
Response: TypeAlias = Candidates | Mapping[str, Visit]

T = TypeVar("T")
Walking: TypeAlias = Generator[Request, Response, T]
"""A computation that asks for data as it goes and ends with a `T`."""


class GraphReader(Protocol):
    """Where chunks come from: one corpus, and the filter in force, if any.

    Implementations hold corpus and filter; the filter applies to anchors and to the
    neighbours of every hop. Each call is one round trip where the data is remote.
    """

    def anchors(self, vector: Vector, k: int) -> Candidates:
        """Return the `anchor_hits(k)` chunks nearest to a vector, in any order."""
        ...

    def expand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Return chunks with their sentences and, if wanted, their neighbours."""
        ...


class AsyncGraphReader(Protocol):
    """The asynchronous twin of `GraphReader`."""

    async def aanchors(self, vector: Vector, k: int) -> Candidates:
        """Return the `anchor_hits(k)` chunks nearest to a vector, in any order."""
        ...

    async def aexpand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Return chunks with their sentences and, if wanted, their neighbours."""
        ...


class Algorithm(Protocol):
    """A way of walking: pure, deterministic, ties broken by chunk id."""

    name: ClassVar[str]

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk from a question's vector; yield requests and return the trail."""
        ...

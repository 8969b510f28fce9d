"""How algorithms ask for data, and what readers must answer.

An algorithm does no input or output and reads no clock. It is a generator that
yields requests (`AnchorRequest`, `ExpandRequest` and the others) and is sent the
answers; `knowtrail.retrieval.driving` runs it over a `GraphReader`, or over an
`AsyncGraphReader` with `await`. So one implementation serves both, and every reader
gives the same walk, because the algorithm computes all cosines itself, in float64,
from the vectors it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from knowtrail.graph.errors import InputError, check_whole
from knowtrail.graph.models.language_models import ModelReply
from knowtrail.retrieval.budgets import BUDGETS
from knowtrail.retrieval.projection import Projection

if TYPE_CHECKING:
    from knowtrail.retrieval.walk import ChunkText, Trail

T = TypeVar("T")
Vector: TypeAlias = npt.NDArray[np.float64]
"""A vector of shape (dimensions,), or a matrix of shape (n, dimensions)."""

_FEWEST_HITS = 50
_HITS_PER_ANCHOR = 10


def anchor_hits(k: int) -> int:
    """Return how many hits are re-scored so that the k best are surely among them."""
    return max(_FEWEST_HITS, _HITS_PER_ANCHOR * k)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkOptions:
    """Budgets of a walk, and how it looks around.

    An algorithm stops at whichever budget it meets first. `basic_retrieval` follows
    no edges, so that `max_hops`, `anchors`, `lookahead` and `beam` do nothing there;
    `lookahead` and `beam` do nothing where a model chooses, and none of the last three
    where `auto` does.

    Attributes:
        max_sentences: Sentences wanted; the output is cut there. None for no limit.
        max_hops: Edges that may be followed.
        max_chunks: Chunks with new sentences wanted. None for no limit.
        anchors: Chunks to start from, of different documents as far as there are; the
            walk from each gets an equal share of what is left of the budgets.
        lookahead: How many further steps are looked at before one is taken.
        beam: How many paths are kept while looking ahead.
        question: The question's words, for an algorithm that asks a language model.
    """

    max_sentences: int | None = BUDGETS["max_sentences"].default
    max_hops: int = BUDGETS["max_hops"].default
    max_chunks: int | None = None
    anchors: int = BUDGETS["anchors"].default
    lookahead: int = BUDGETS["lookahead"].default
    beam: int = BUDGETS["beam"].default
    question: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no whole number or out of range."""
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is None and name in {"max_sentences", "max_chunks"}:
                continue
            check_whole(name, value, least, most)


_RANGES = {name: (budget.least, budget.most) for name, budget in BUDGETS.items()} | {
    "max_chunks": (1, BUDGETS["max_sentences"].most)
}
"""Option -> the least and the greatest value it may have."""


class Later(Sequence[T]):
    """So many things, made when they are looked at; equal to a tuple of the same."""

    def __init__(self, made: Callable[[], Sequence[T]], count: int) -> None:
        """Take what makes them, called once by one thread, and their number."""
        self._made = made
        self._count = count
        self._all: tuple[T, ...] | None = None

    def _things(self) -> tuple[T, ...]:
        if self._all is None:
            self._all = tuple(self._made())
        return self._all

    def __len__(self) -> int:
        """Return their number."""
        return self._count

    def __getitem__(self, place: Any) -> Any:
        """Return the thing at a place, or those of a slice."""
        return self._things()[place]

    def __eq__(self, other: object) -> bool:
        """Return whether the other has the same things in the same order."""
        if not isinstance(other, Later | tuple):
            return NotImplemented
        return self._things() == tuple(other)

    def __hash__(self) -> int:
        """Return the hash of the tuple."""
        return hash(self._things())

    def __repr__(self) -> str:
        """Return the tuple as text."""
        return repr(self._things())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Chunks that a walk may visit: ids and, row by row, their vectors.

    Attributes:
        ids: Chunk ids.
        vectors: Matrix of shape (len(ids), dimensions), float64; where texts were asked
            for, the last chunks may have none.
        complete: For anchors: whether no chunk of the corpus is missing here.
        documents: For anchors: ids of their documents, one by one.
        sentences: For neighbours: ids of the sentences of each, one by one, in any
            order.
        by_words: For anchors: ids of those that the words found, best first.
        texts: For anchors: their texts, one by one, where these were asked for.
    """

    ids: tuple[str, ...]
    vectors: Vector
    complete: bool = True
    documents: tuple[str, ...] = ()
    by_words: tuple[str, ...] = ()
    texts: Sequence[str] = ()
    sentences: Sequence[tuple[str, ...]] = ()


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

    Sentences are in document order. Neighbours are at the end of its outgoing
    SIMILAR_TO edges, those of its own document first, each group by rank. Its own
    vector is here only where it was opened without them.
    """

    chunk: ChunkText
    sentences: tuple[StoredSentence, ...]
    neighbours: Candidates
    vector: Vector | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnchorRequest:
    """Ask for the chunks nearest to a vector.

    The answer is a `Candidates` with `anchor_hits(k)` chunks, in any order: the k
    nearest are among them, and the algorithm ranks them itself. The ids of their
    documents are only needed where `documents` is set. With `words`, those that have
    most of these, by BM25 of the whole store, are there too, as `by_words` says; where
    `k` is 0 the nearest are not looked for. With `texts` there are so many chunks, or
    `anchor_hits(k)` where that is more, with their texts: those of the hits come first,
    the others have no vector. Words and texts together are not answered.
    """

    vector: Vector
    k: int = 1
    documents: bool = False
    words: str = ""
    texts: int = 0

    def __post_init__(self) -> None:
        """Refuse to ask for texts of what words find."""
        if self.words and self.texts:
            raise InputError("Ask for words or for texts: not for both at once.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandRequest:
    """Ask for chunks by id, all in one round trip.

    The answer maps ids to `Visit`s; a chunk that was deleted meanwhile is missing.
    """

    chunk_ids: tuple[str, ...]
    neighbours: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HomesRequest:
    """Ask in which chunk a sentence comes first, for several in one round trip.

    The answer is a `Candidates` with one chunk for each sentence, in the order asked:
    the first that holds it, by position in its document. Sentences that are gone are
    missing, so that `sentences` says which ones there are. The filter does not apply.
    """

    sentence_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProjectionRequest:
    """Ask for the three main axes of the corpus; the answer is a `Projection`.

    Attributes:
        query: None for the axes of all chunks, fitted once per version of the corpus;
            a question's vector for axes fitted to it, all chunks and all sentences.
    """

    query: Vector | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nearest:
    """Terms that more chunks name than can be opened, and which of these to open.

    Of each term, the `SAMPLE` members with the least ids (which are hashes, so that
    this is a sample that is always the same) are compared with the question's vector,
    and `most`, the nearest, are members, ties by id. A database looks for these ids
    among the first 10,000 members that its store gives, and filters those alone.
    """

    names: tuple[str, ...]
    vector: Vector
    most: int


SAMPLE = 5_000
"""Members of a broad term that are compared with the question."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TermsRequest:
    """Ask which terms chunks name, and which chunks name terms, in one round trip.

    The answer is a `TermsFound`. Names are words that may be terms, as
    `knowtrail.ingest.names.name_key` writes them; terms that no chunk is linked to are
    none. With `members`, the chunks that name these are wanted too, with all their
    terms, as far as they pass the filter; and some of those of the `nearest`.
    """

    chunk_ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    members: bool = False
    nearest: Nearest | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TermsFound:
    """Terms of chunks, and chunks of terms, of a corpus with so many chunks.

    `counts` tells how many chunks name each term that was found; by chunk id there are
    the names of its terms, in any order, its text and the title of its document.
    """

    chunks: int
    counts: Mapping[str, int]
    named: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str]
    titles: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Ask a language model for JSON of a schema, in time: a `ModelReply`."""

    prompt: str
    schema: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ElapsedRequest:
    """Ask how many seconds have passed since the walk was started; no round trip."""


Request: TypeAlias = (
    AnchorRequest
    | ExpandRequest
    | HomesRequest
    | ProjectionRequest
    | TermsRequest
    | ModelRequest
    | ElapsedRequest
)
Response: TypeAlias = (
    Candidates | Mapping[str, Visit] | Projection | TermsFound | ModelReply | float
)

Walking: TypeAlias = Generator[Request, Response, T]
"""A computation that asks for data as it goes and ends with a `T`."""


class GraphReader(Protocol):
    """Where chunks come from: one corpus, and the filter in force, if any.

    Implementations hold corpus and filter; the filter applies to anchors and to the
    neighbours of every hop. Each call is one round trip where the data is remote.
    """

    def anchors(
        self,
        vector: Vector,
        k: int,
        *,
        documents: bool = False,
        words: str = "",
        texts: int = 0,
    ) -> Candidates:
        """Return the `anchor_hits(k)` chunks nearest to a vector, in any order."""
        ...

    def expand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Return chunks with their sentences and, if wanted, their neighbours."""
        ...

    def homes(self, sentence_ids: Sequence[str]) -> Candidates:
        """Return for each sentence the first chunk that holds it."""
        ...

    def projection(self, query: Vector | None = None) -> Projection:
        """Return the main axes of the corpus, or those fitted to a question."""
        ...

    def terms(
        self,
        chunk_ids: Sequence[str],
        names: Sequence[str],
        *,
        members: bool = False,
        nearest: Nearest | None = None,
    ) -> TermsFound:
        """Return the terms of chunks, those of some names, and who names them."""
        ...


class AsyncGraphReader(Protocol):
    """Where chunks come from, asynchronously; else as `GraphReader`."""

    async def aanswer(self, request: Request) -> Response:
        """Return what a reader answers, to any but a model's request or a clock's."""
        ...


def answered(reader: GraphReader, request: Request) -> Response:
    """Return what a reader answers to a request; see `AsyncGraphReader`.

    Words, texts and the nearest of broad terms are passed on only where they are asked
    for: not every reader knows them.
    """
    if isinstance(request, ExpandRequest):
        return reader.expand(request.chunk_ids, neighbours=request.neighbours)
    more: dict[str, Any] = {}
    if isinstance(request, AnchorRequest):
        more = {"words": request.words} if request.words else {}
        more |= {"texts": request.texts} if request.texts else {}
        more["documents"] = request.documents
        return reader.anchors(request.vector, request.k, **more)
    if isinstance(request, HomesRequest):
        return reader.homes(request.sentence_ids)
    if isinstance(request, ProjectionRequest):
        return reader.projection(request.query)
    if isinstance(request, TermsRequest):
        more = {} if request.nearest is None else {"nearest": request.nearest}
        more["members"] = request.members
        return reader.terms(request.chunk_ids, request.names, **more)
    raise TypeError(request)


class Algorithm(Protocol):
    """A way of walking: pure, deterministic, ties broken by chunk id.

    One that asks a language model says so by an attribute `asks_model`, and one that
    asks for common words, for which snapshots are too slow, by `needs_words`.
    """

    name: ClassVar[str]

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk from a question's vector; yield requests and return the trail."""
        ...

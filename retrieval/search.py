"""Answer a question from a corpus: check, embed, walk, cut into hits."""

from __future__ import annotations

import asyncio
import difflib
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from graph.embedders import embedder_name, load_embedder, query_prompt
from graph.errors import CorpusDriftError, InputError, UnknownCorpusError, VectorError
from graph.settings import DEFAULT_EMBEDDER
from retrieval.algorithms import DEFAULT_ALGORITHM
from retrieval.algorithms import algorithm as algorithm_named
from retrieval.driving import arun, run
from retrieval.filters import parse_filter
from retrieval.hits import Hit, searching
from retrieval.protocols import WalkOptions
from retrieval.readers.cypher import AsyncCypherReader, CypherReader
from retrieval.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graph.connection import AsyncConnection, Connection
    from graph.embedders import Embedder
    from graph.settings import Settings
    from retrieval.filters import Filter
    from retrieval.hits import Granularity
    from retrieval.protocols import Algorithm, Vector, Walking
    from retrieval.walk import Trail

__all__ = [
    "CorpusInfo",
    "SearchResult",
    "Task",
    "acorpora",
    "asearch",
    "check_question",
    "corpora",
    "search",
]

LONGEST_QUESTION = 10_000
LARGEST_K = 10_000
_GRANULARITIES = ("chunk", "sentence")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusInfo:
    """A stored corpus, as far as a question must agree with it.

    Attributes:
        name: Its name.
        embedder: Name of the embedder that made its vectors.
        query_prompt: What that embedder puts before questions.
        dimensions: Length of its vectors; None before the first ingest is complete.
    """

    name: str
    embedder: str | None
    query_prompt: str
    dimensions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A walk and the hits that were made of it.

    Attributes:
        walk: The walk itself.
        hits: One for each result, in the order of the walk, filled ones last.
    """

    walk: Walk
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A question with everything about it checked that needs no database."""

    question: str
    algorithm: Algorithm
    options: WalkOptions
    k: int | None
    filter: Filter | None
    given_filter: Mapping[str, Any] | None
    granularity: Granularity

    def searching(self, query: Vector) -> Walking[tuple[Trail, tuple[Hit, ...]]]:
        """Return the walk for a question's vector, to be run over a reader."""
        return searching(
            self.algorithm,
            query,
            self.options,
            k=self.k,
            granularity=self.granularity,
        )

    def result(
        self, corpus: str, trail: Trail, hits: tuple[Hit, ...], seconds: float
    ) -> SearchResult:
        """Return the outcome with what it was made from."""
        walk = Walk(
            algorithm=self.algorithm.name,
            question=self.question,
            corpus=corpus,
            steps=trail.steps,
            stop_reason=trail.stop_reason,
            milliseconds=seconds * 1000,
            parameters={
                "k": self.k,
                "maxSentences": self.options.max_sentences if self.k is None else None,
                "maxHops": self.options.max_hops,
                "filter": self.given_filter,
                "granularity": self.granularity,
            },
        )
        return SearchResult(walk=walk, hits=hits)


def search(
    connection: Connection,
    embedder: Embedder | None,
    question: str,
    *,
    corpus: str | None = None,
    algorithm: str = DEFAULT_ALGORITHM,
    k: int | None = None,
    max_sentences: int = 10,
    max_hops: int = 20,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word callers know
    granularity: Granularity = "chunk",
    settings: Settings | None = None,
) -> SearchResult:
    """Answer a question with chunks found by an algorithm.

    Args:
        connection: The database; it is left open.
        embedder: The model that the corpus was embedded with; None loads the one
            of the settings, or else the one that the corpus names, once a process.
        question: What is asked, at most 10,000 characters.
        corpus: Name of the corpus; may be left out where there is only one.
        algorithm: Name of the algorithm.
        k: Hits wanted; takes the place of `max_sentences`, and a walk that ends
            earlier is filled up from the anchor ranking. None: the walk as it is.
        max_sentences: Sentences wanted, where `k` is None.
        max_hops: Edges that may be followed.
        filter: What chunks must pass, see `retrieval.filters`.
        granularity: Whether a hit is a chunk or a sentence.
        settings: Where the corpus's embedder is loaded from, if it is not given.

    Returns:
        The walk and its hits; no hits where nothing passes the filter.

    Raises:
        InputError: If question, algorithm, corpus, filter or a number is no good.
        CorpusDriftError: If the corpus was embedded with another model.
        DatabaseError: If the database fails.
    """
    task = check_question(
        question,
        algorithm=algorithm,
        k=k,
        max_sentences=max_sentences,
        max_hops=max_hops,
        filter=filter,
        granularity=granularity,
    )
    info = _pick(corpora(connection), corpus)
    embedder = _agreed(info, embedder, settings)
    query = _vector(embedder.embed_query(task.question), info)
    reader = CypherReader(connection, corpus=info.name, filter=task.filter)
    begin = time.perf_counter()
    trail, hits = run(reader, task.searching(query))
    return task.result(info.name, trail, hits, time.perf_counter() - begin)


async def asearch(
    connection: AsyncConnection,
    embedder: Embedder | None,
    question: str,
    *,
    corpus: str | None = None,
    algorithm: str = DEFAULT_ALGORITHM,
    k: int | None = None,
    max_sentences: int = 10,
    max_hops: int = 20,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word callers know
    granularity: Granularity = "chunk",
    settings: Settings | None = None,
) -> SearchResult:
    """Do as `search` does, without blocking; see there.

    An embedder without `aembed_query` runs in a thread.
    """
    task = check_question(
        question,
        algorithm=algorithm,
        k=k,
        max_sentences=max_sentences,
        max_hops=max_hops,
        filter=filter,
        granularity=granularity,
    )
    info = _pick(await acorpora(connection), corpus)
    embedder = _agreed(info, embedder, settings)
    native = getattr(embedder, "aembed_query", None)
    embedded = (
        await native(task.question)
        if native is not None
        else await asyncio.to_thread(embedder.embed_query, task.question)
    )
    query = _vector(embedded, info)
    reader = AsyncCypherReader(connection, corpus=info.name, filter=task.filter)
    begin = time.perf_counter()
    trail, hits = await arun(reader, task.searching(query))
    return task.result(info.name, trail, hits, time.perf_counter() - begin)


def corpora(connection: Connection) -> list[CorpusInfo]:
    """Return every stored corpus, by name."""
    return [_info(row) for row in connection.read("retrieval/corpora")]


async def acorpora(connection: AsyncConnection) -> list[CorpusInfo]:
    """Do as `corpora` does, without blocking."""
    return [_info(row) for row in await connection.aread("retrieval/corpora")]


def _info(row: dict[str, Any]) -> CorpusInfo:
    """Return a corpus from its row."""
    return CorpusInfo(
        name=row["name"],
        embedder=row["embedder"],
        query_prompt=row["queryPrompt"] or "",
        dimensions=row["dimensions"],
    )


def check_question(
    question: str,
    *,
    algorithm: str = DEFAULT_ALGORITHM,
    k: int | None = None,
    max_sentences: int = 10,
    max_hops: int = 20,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word callers know
    granularity: Granularity = "chunk",
) -> Task:
    """Check what a caller gives, before any server is asked.

    Takes the arguments of `search`.

    Raises:
        InputError: If something is no good; the message says what to give.
    """
    if not isinstance(question, str) or not question.strip():
        msg = f"The question is {question!r}: ask something."
        raise InputError(msg)
    if len(question) > LONGEST_QUESTION:
        msg = (
            f"The question has {len(question)} characters: shorten it to "
            f"{LONGEST_QUESTION}."
        )
        raise InputError(msg)
    if granularity not in _GRANULARITIES:
        msg = f"granularity is {granularity!r}: use 'chunk' or 'sentence'."
        raise InputError(msg)
    if k is not None and not (_is_whole(k) and 1 <= k <= LARGEST_K):
        msg = f"k is {k!r}: give a whole number from 1 to {LARGEST_K}, or None."
        raise InputError(msg)
    return Task(
        question=question,
        algorithm=algorithm_named(algorithm),
        options=WalkOptions(max_sentences=max_sentences, max_hops=max_hops),
        k=k,
        filter=parse_filter(filter),
        given_filter=filter,
        granularity=granularity,
    )


def _is_whole(value: object) -> bool:
    """Return whether a value is a whole number, and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def _pick(stored: Sequence[CorpusInfo], name: str | None) -> CorpusInfo:
    """Return the corpus of a name, or the only one.

    Raises:
        UnknownCorpusError: If there is none of that name, or none at all.
        InputError: If none is named and there are several.
    """
    names = [info.name for info in stored]
    if not stored:
        msg = "The database has no corpus: put one in with knowtrail ingest."
        raise UnknownCorpusError(msg)
    if name is None:
        if len(stored) == 1:
            return stored[0]
        msg = f"There are several corpora: name one of {', '.join(names)}."
        raise InputError(msg)
    for info in stored:
        if info.name == name:
            return info
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    msg = f"No corpus {name!r}: {hint}Stored are {', '.join(names[:10])}."
    raise UnknownCorpusError(msg)


@lru_cache(maxsize=4)
def _loaded(name: str, settings: Settings | None) -> Embedder:
    """Load an embedder once a process."""
    return load_embedder(name, settings=settings)


def _agreed(
    info: CorpusInfo, embedder: Embedder | None, settings: Settings | None
) -> Embedder:
    """Return the embedder of a corpus, or check that the given one is the same.

    Where none is given, that of the settings is taken if the corpus was made with it,
    and if the settings leave it open the one that the corpus names.

    Raises:
        CorpusDriftError: If it is another one.
    """
    if embedder is None:
        chosen = DEFAULT_EMBEDDER if settings is None else settings.embedder
        embedder = _loaded(chosen, settings)
        stored = info.embedder or embedder_name(embedder)
        if chosen == DEFAULT_EMBEDDER and stored != embedder_name(embedder):
            return _loaded(stored, settings)
    name = embedder_name(embedder)
    if info.embedder is not None and info.embedder != name:
        msg = (
            f"Corpus {info.name!r} was embedded with {info.embedder!r}, the question "
            f"would be with {name!r}: use the corpus's embedder."
        )
        raise CorpusDriftError(msg)
    if info.embedder is not None and info.query_prompt != query_prompt(embedder):
        msg = (
            f"Corpus {info.name!r} is asked with the query prompt "
            f"{info.query_prompt!r}, this embedder has {query_prompt(embedder)!r}: "
            "use the same."
        )
        raise CorpusDriftError(msg)
    return embedder


def _vector(values: Sequence[float], info: CorpusInfo) -> Vector:
    """Return a question's vector, checked.

    Raises:
        VectorError: If it is not finite or zero.
        CorpusDriftError: If its length is not that of the corpus's vectors.
    """
    vector: Vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all() or not vector.any():
        msg = "The embedder gave no usable vector for the question: check the model."
        raise VectorError(msg)
    if info.dimensions is not None and len(vector) != info.dimensions:
        msg = (
            f"The question's vector has {len(vector)} dimensions, corpus "
            f"{info.name!r} has {info.dimensions}: use the corpus's embedder."
        )
        raise CorpusDriftError(msg)
    return vector

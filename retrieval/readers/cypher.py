"""The graph in Neo4j: one statement an anchor search, one a hop.

The index ranks anchors by quantised scores, so `anchor_hits(k)` of its hits are
fetched, with id and vector only, and the algorithm ranks them again. Corpora share
the index; where the server filters by corpus inside the search, it does. What passes
a user's filter is counted first, up to a bound: where it is little, it is compared on
the server, and the index is not asked. Elsewhere more hits are asked for than are
wanted, and when that does not do, every chunk is compared. Only hits are ever sent,
and in one record, since the driver spends more on a record than on a vector.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Generator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np

from knowtrail.graph.blocking import at_once, blocking
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import DatabaseError
from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.protocols import (
    SAMPLE,
    AnchorRequest,
    Candidates,
    ExpandRequest,
    HomesRequest,
    ProjectionRequest,
    StoredSentence,
    TermsFound,
    TermsRequest,
    Visit,
    anchor_hits,
)
from knowtrail.retrieval.readers.axes import acorpus_projection
from knowtrail.retrieval.rerank.bm25 import words as words_of
from knowtrail.retrieval.walk import ChunkText

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from knowtrail.graph.db.connection import AsyncConnection, Capabilities, Connection
    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.projection import Projection
    from knowtrail.retrieval.protocols import Request, Response, Vector

_LOG = logging.getLogger(__name__)
_PLACE = "true /* filter */"
_START = "MATCH (c:Chunk {corpus: $corpus}) /* start */"
_WORDS = "[] /* words */"
_INSIDE = "/* inside */"
_NATIVE = "CYPHER 25\n"
_VECTOR = re.compile(r"(\w+\.embedding) /\* vector \*/")
_WHOLE = re.compile(r"\w+(?:'\w+)+")
_FETCH = {"anchors_search": (4,), "anchors_index": (16, 32)}
"""Statement -> how many times the hits it asks the index for, one try after the other.

An index misses some of the nearest the fewer it is asked for. Of 4,000 chunks, 50 hits
lost the anchor of 7 to 11 questions in 100; 200 lost none on 2026.08 and 800 none on
5.26, at hardly more time. Only the best are sent. Where the index of 5.26 would be
asked for every chunk there is, of which it misses some all the same, each is compared.
"""
_FIRST_FILTERED, _FILTERED = 16, 128
"""The same with a filter that lets more than `_FEW` chunks through: how many times the
hits first, and how many times the anchors if these are not found."""
_FEW = 5_000
"""Chunks that are compared one by one, sooner than asking the index."""
_WORD_FETCH = 1_000
"""Chunks that the full-text index is asked for, of all corpora and with any filter."""
_LOOKED = 2 * SAMPLE
"""Members of a broad term, as the store has them, that a sample is taken of."""
_MOST_WORDS = 200
"""Words of a question that are looked for; Lucene takes a thousand."""

_BROAD: set[str] = set()
"""Keys of corpora, as they are now, with a filter that lets many chunks through."""
_COLUMNS = packaged(__package__, "snapshot.toml")["columns"]
_CHUNK, _SENTENCE = _COLUMNS["chunk"], _COLUMNS["sentence"]
_MOST_BROAD, _MOST_VALUES = 100, 1_000

_Rows: TypeAlias = list[list[Any]]
_Query: TypeAlias = tuple[str, dict[str, Any]]
T = TypeVar("T")
_Queries: TypeAlias = Generator[_Query, _Rows, T]
"""Statements to run one after the other; those that are refused are thrown."""


@dataclass(slots=True, kw_only=True)
class _Statements:
    """The statements of one corpus and filter, shared by both readers."""

    corpus: str
    filter: Filter | None
    state: Hashable = None
    """What tells the corpus, as it is now, from all others; None where nothing does."""
    declared: Sequence[str] = ()
    """What the vector index can be filtered by, such as `document.year`."""
    native: bool = False
    """Whether vectors come as single values, which are read several times faster."""
    broad: bool = False
    """Whether the filter is known to let many chunks through."""

    def _text(self, name: str, chunk: str) -> tuple[str, dict[str, Any]]:
        """Return a statement with the filter in its place, and its values."""
        text = self._stored(name)
        if self.filter is None:
            return text, {}
        predicate, params = self.filter.cypher(chunk)
        return text.replace(_PLACE, f"({predicate})"), params

    def _stored(self, name: str) -> str:
        return _with_values(name) if self.native else statement(name)

    def answer(self, request: Request, server: Capabilities) -> _Queries[Response]:
        """Answer any request but one for axes, a model or a clock."""
        self.native = server.vector_values
        if isinstance(request, AnchorRequest):
            return (yield from self.anchors(request, search=server.search))
        if isinstance(request, ExpandRequest):
            return _visits((yield self.expand(request)))
        if isinstance(request, HomesRequest):
            ids = {"ids": list(request.sentence_ids)}
            return _homes((yield self._stored("retrieval/homes"), ids))
        if isinstance(request, TermsRequest):
            return _terms((yield self.terms(request)))
        raise TypeError(request)

    def expand(self, request: ExpandRequest) -> _Query:
        ids = {"ids": list(request.chunk_ids)}
        if not request.neighbours:
            return self._stored("retrieval/visits"), ids
        text, params = self._text("retrieval/expand", "n")
        return text, params | ids

    def terms(self, request: TermsRequest) -> _Query:
        """Return the statement that asks for terms, or for chunks that name them."""
        nearest = request.nearest
        params = {
            "corpus": self.corpus,
            "ids": list(request.chunk_ids),
            "names": list(request.names),
        }
        if not request.members:
            return statement("retrieval/terms"), params
        text, more = self._text("retrieval/terms_members", "c")
        broad = {
            "broad": [] if nearest is None else list(nearest.names),
            "vector": [] if nearest is None else nearest.vector.tolist(),
            "most": 0 if nearest is None else nearest.most,
            "sample": SAMPLE,
            "looked": _LOOKED,
        }
        return text, {**more, **params, **broad}

    def anchors(self, asked: AnchorRequest, *, search: bool) -> _Queries[Candidates]:
        """Ask what passes the filter, then the index, then every chunk."""
        anchors = anchor_hits(asked.k)
        hits = max(anchors, asked.texts)
        values = {
            "corpus": self.corpus,
            "vector": asked.vector.tolist(),
            "hits": hits,
            "anchors": anchors,
            "documents": asked.documents,
            "texts": asked.texts > 0,
        }
        if query := _index_query(asked.words):
            values |= {"words": query, "wordFetch": _WORD_FETCH}
        if not asked.k and not asked.texts:
            text, params = self._text("retrieval/anchors_words", "c")
            rows = (yield text, values | params) if query else []
            return _hits([[], [], [], [], [hit for (hit,) in rows]], complete=False)
        if search and (found := (yield from self._inside(values))) is not None:
            return found
        if self.filter is not None and not self.broad:
            text, params = self._started("retrieval/anchors_few", values)
            most = max(_FEW, hits)
            known = self._known(text, params, most)
            if known is None or known not in _BROAD:
                (row,) = yield text, params | values | {"most": most}
                if row[5] < most:
                    return _hits(row, complete=row[5] <= anchors)
                if known is not None:
                    if len(_BROAD) >= _MOST_BROAD:
                        _BROAD.clear()
                    _BROAD.add(known)
            self.broad = True
        if search:
            try:
                return (yield from self._index("anchors_search", values))
            except DatabaseError as error:
                if type(error) is not DatabaseError:  # the server was lost
                    raise
                _LOG.info("The index cannot be filtered inside: %s", error)
        return (yield from self._index("anchors_index", values))

    def _inside(self, values: dict[str, Any]) -> _Queries[Candidates | None]:
        """Ask the index for what passes; None where it cannot test it, or has few."""
        if self.filter is None or not self.declared:
            return None
        text, params = self._text("retrieval/anchors_search", "c")
        if not (tests := self.filter.inside(self.declared, params)):
            return None
        text = self._worded(text.replace(_INSIDE, f"AND {tests}"), values)
        fetch = max(values["hits"], values["anchors"] * _FETCH["anchors_search"][0])
        try:
            (row,) = yield text, {**params, **values, "fetch": fetch}
        except DatabaseError as error:
            if type(error) is not DatabaseError:  # the server was lost
                raise
            _LOG.info("The index cannot be filtered inside: %s", error)
            return None
        few = len(row[0]) < values["anchors"]
        return None if few else _hits(row, complete=False)

    def _known(self, text: str, params: Mapping[str, Any], most: int) -> str | None:
        """Return a key of state and filter; None without one, or for many values."""
        values = sum(len(v) for v in params.values() if isinstance(v, list))
        if self.state is None or values > _MOST_VALUES:
            return None
        return content_key(text, repr((self.state, most, params)))

    def _index(self, name: str, values: dict[str, Any]) -> _Queries[Candidates]:
        """Read the index, over-fetching, then scan."""
        # Texts may be of fewer, or not of the very nearest: where the index has anchors
        # enough of the corpus alone, or of what passes, no more is fetched for them.
        hits, anchors = values["hits"], values["anchors"]
        enough = self.filter is not None or name == "anchors_search"
        wanted = anchors if enough else hits
        fetches = [max(hits, wanted * factor) for factor in _FETCH[name]]
        if self.filter is not None:
            fetches = sorted({hits * _FIRST_FILTERED, anchors * _FILTERED})
        text, params = self._text(f"retrieval/{name}", "c")
        text, params = self._worded(text, values), params | values
        for fetch in fetches:
            (row,) = yield text, {**params, "fetch": fetch}
            if len(row[0]) >= wanted:
                return _hits(row, complete=False)
        text, more = self._started("retrieval/anchors_scan", values)
        (row,) = yield text, values | more
        return _hits(row, complete=len(row[0]) < anchors)

    def _started(
        self, name: str, values: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Return a statement that looks at nothing but what passes, and its values."""
        text = self._worded(self._stored(name), values)
        if self.filter is None:
            return text, {}
        start, predicate, params = self.filter.start()
        return text.replace(_START, start).replace(_PLACE, f"({predicate})"), params

    def _worded(self, text: str, values: Mapping[str, Any]) -> str:
        """Return a statement that looks for words too, where there are any."""
        if "words" not in values:
            return text
        inner = self._text("retrieval/anchors_words", "c")[0].removeprefix(_NATIVE)
        return text.replace(_WORDS, f"COLLECT {{ {inner} }}")


def _index_query(words: str) -> str:
    """Return words as the index has them: whole too around an apostrophe, with an s."""
    folded = words.casefold().replace("\u2019", "'")
    whole = (form for word in _WHOLE.findall(folded) for form in (word, f"{word}'s"))
    forms = [form.replace("'", mark) for form in whole for mark in "'\u2019"]
    return " ".join(list(dict.fromkeys([*words_of(words), *forms]))[:_MOST_WORDS])


def _hits(row: Sequence[Any], *, complete: bool) -> Candidates:
    """Return ids, vectors and documents, and hits by words, as candidates."""
    ids, vectors, documents, texts, worded, *_ = row
    # Nulls are left of what is deleted meanwhile; what has its text may have no vector.
    sizes = {len(part) for part in (ids, texts or vectors, documents) if part}
    if len(sizes) > 1 or None in ids or None in vectors:
        raise DatabaseError("The corpus changed while it was searched: ask again.")
    known, worded = set(ids), _there(worded)
    more = [hit for hit in worded if hit[0] not in known]
    return Candidates(
        ids=(*ids, *(hit[0] for hit in more)),
        vectors=_matrix([*vectors, *(hit[1] for hit in more)]),
        complete=complete,
        documents=(*documents, *(hit[2] for hit in more if documents)),
        by_words=tuple(hit[0] for hit in worded),
        texts=texts,
    )


def _there(rows: Sequence[Sequence[Any]], key: int = 0) -> list[Sequence[Any]]:
    """Return the rows that have their key: what is deleted meanwhile has none."""
    return [row for row in rows if row[key] is not None]


@cache
def _with_values(name: str) -> str:
    """Return a statement that sends vectors as single values."""
    text = statement(name).removeprefix(_NATIVE)
    return _NATIVE + _VECTOR.sub(r"vector(\1, size(\1), FLOAT32)", text)


def _matrix(vectors: Sequence[Any]) -> Vector:
    """Return vectors, all lists or all single values, as rows."""
    if not len(vectors):
        return np.empty((0, 1))
    if any(vector is None for vector in vectors):
        msg = "A chunk or sentence has no vector: `knowtrail corpus verify` says more."
        raise DatabaseError(msg)
    if isinstance(vectors[0], list):
        return np.array(vectors, dtype=np.float64)
    raw = b"".join(vector.raw() for vector in vectors)
    return np.frombuffer(raw, ">f4").astype(np.float64).reshape(len(vectors), -1)


def _homes(rows: _Rows) -> Candidates:
    """Return the one row of sentences and their first chunks as candidates."""
    homes = _there(rows[0][0], 1)
    return Candidates(
        ids=tuple(chunk_id for _, chunk_id, _ in homes),
        vectors=_matrix([vector for _, _, vector in homes]),
        sentences=tuple((sentence_id,) for sentence_id, _, _ in homes),
    )


def _terms(rows: _Rows) -> TermsFound:
    """Return the one row of chunks, and of terms with the places of their chunks."""
    # Each name is sent once, which is faster than once for each chunk that has it.
    # What is deleted meanwhile may come without its text or title.
    ((chunks, found, terms),) = rows
    found = _there(found, 1)
    terms = [row for row in _there(terms) if row[1]]  # named by a chunk still
    names: dict[int, list[str]] = {place: [] for place, *_ in found}
    for name, _, places in terms:
        for place in names.keys() & places:
            names[place].append(name)
    return TermsFound(
        chunks=chunks or 0,
        counts={name: count for name, count, _ in terms},
        named={chunk_id: tuple(names[place]) for place, chunk_id, *_ in found},
        texts={chunk_id: text or "" for _, chunk_id, text, _ in found},
        titles={chunk_id: title or "" for _, chunk_id, _, title in found},
    )


def _visits(rows: _Rows) -> dict[str, Visit]:
    """Return the one row of chunks, sentences and neighbours by chunk id."""
    visits = {}
    for of_chunk, sentences, neighbours, *vector in rows[0][0]:
        chunk = ChunkText(**dict(zip(_CHUNK, of_chunk, strict=True)))
        if None in (chunk.id, chunk.text, chunk.document_id):
            continue
        neighbours = _there(neighbours)
        visits[chunk.id] = Visit(
            chunk=chunk,
            sentences=_sentences(sentences),
            neighbours=Candidates(
                ids=tuple(row[0] for row in neighbours),
                vectors=_matrix([row[1] for row in neighbours]),
                sentences=tuple(tuple(row[2]) for row in neighbours),
            ),
            vector=_matrix(vector)[0] if any(vector) else None,
        )
    return visits


def _sentences(rows: Sequence[Sequence[Any]]) -> tuple[StoredSentence, ...]:
    rows = _there(rows, 1)
    vectors = _matrix([row[-1] for row in rows])
    return tuple(
        StoredSentence(**dict(zip(_SENTENCE, (*row[:-1], vector), strict=True)))
        for row, vector in zip(rows, vectors, strict=True)
    )


class AsyncCypherReader:
    """An `AsyncGraphReader` over a Neo4j database, which is not closed here."""

    def __init__(
        self,
        connection: AsyncConnection,
        *,
        corpus: str,
        filter: Filter | None = None,  # noqa: A002 - the word callers know
        state: Hashable = None,
        declared: Sequence[str] = (),
    ) -> None:
        """Prepare a reader of what passes, at the anchor and at every hop.

        A `state`, which tells the corpus as it is now from all others, lets it remember
        for the next reader that a filter passes too much to be counted again. The
        vector index is filtered by what is `declared`, such as `document.year`.
        """
        self._connection = connection
        state = None if state is None else (connection.database, state)
        self._statements = _Statements(
            corpus=corpus, filter=filter, state=state, declared=declared
        )

    async def aanswer(self, request: Request) -> Response:
        """Answer as the methods of `CypherReader` do."""
        if isinstance(request, ProjectionRequest):
            corpus = self._statements.corpus
            return await acorpus_projection(self._connection, corpus, request.query)
        server = await self._connection.acapabilities()
        queries = self._statements.answer(request, server)
        try:
            query = next(queries)
            while True:
                try:
                    rows = await self._connection.avalues(*query)
                except DatabaseError as error:
                    query = queries.throw(error)
                else:
                    query = queries.send(rows)
        except StopIteration as done:
            return cast("Response", done.value)


class CypherReader:
    """A `GraphReader` over a Neo4j database: what `AsyncCypherReader` is, at once."""

    def __init__(self, connection: Connection, *, corpus: str, **prepared: Any) -> None:
        """Prepare a reader; see `AsyncCypherReader`."""
        own = blocking(connection)
        self._reader = AsyncCypherReader(own, corpus=corpus, **prepared)

    def anchors(self, vector: Vector, k: int, **more: Any) -> Candidates:
        """Return the chunks nearest to a vector; see `AnchorRequest`."""
        return cast(
            "Candidates", self._answer(AnchorRequest(vector=vector, k=k, **more))
        )

    def expand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Return chunks with their sentences and, if wanted, their neighbours."""
        request = ExpandRequest(chunk_ids=tuple(chunk_ids), neighbours=neighbours)
        return cast("Mapping[str, Visit]", self._answer(request))

    def homes(self, sentence_ids: Sequence[str]) -> Candidates:
        """Return for each sentence the first chunk of its document that holds it."""
        request = HomesRequest(sentence_ids=tuple(sentence_ids))
        return cast("Candidates", self._answer(request))

    def terms(
        self, chunk_ids: Sequence[str], names: Sequence[str], **more: Any
    ) -> TermsFound:
        """Return the terms of chunks and of names, see `TermsRequest`."""
        request = TermsRequest(chunk_ids=tuple(chunk_ids), names=tuple(names), **more)
        return cast("TermsFound", self._answer(request))

    def projection(self, query: Vector | None = None) -> Projection:
        """Return the main axes of the corpus, or those fitted to a question."""
        return cast("Projection", self._answer(ProjectionRequest(query=query)))

    def _answer(self, request: Request) -> Response:
        return at_once(self._reader.aanswer(request))

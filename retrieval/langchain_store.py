"""A LangChain vector store whose documents become a corpus of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from knowtrail.graph.errors import (
    InputError,
    SettingsError,
    UnknownCorpusError,
    check_whole,
)
from knowtrail.graph.models.embedders import Embedder, load_embedder
from knowtrail.graph.settings import Settings
from knowtrail.graph.telemetry import span
from knowtrail.ingest.corpus import known_corpus
from knowtrail.ingest.forgetting import forget_documents
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.prepare import RESERVED, document_id, given_metadata
from knowtrail.ingest.sources.langchain import LangChainSource
from knowtrail.retrieval.algorithms.asking import Ranking
from knowtrail.retrieval.algorithms.hybrid import diverse
from knowtrail.retrieval.corpora import ground
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.filters import parse_filter
from knowtrail.retrieval.link import Link
from knowtrail.retrieval.questions import LARGEST_K
from knowtrail.retrieval.readers.cypher import CypherReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langchain_core.embeddings import Embeddings

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.protocols import Vector, Walking
    from knowtrail.retrieval.walk import RankedChunk

_OPTIONS = IngestOptions(themes="none")
_GIVEN = "retrieval/documents_given"
_FOUND = "extraction/documents"


class KnowtrailVectorStore(VectorStore):
    """Documents that are ingested into a corpus, and found by their nearest chunk.

    What `add_documents` takes goes through the whole ingest: sentences, chunks, edges
    and names, so that a `KnowtrailRetriever` of the same corpus can walk it. Searches
    of the store return whole documents as they were added, each once; all take a
    `filter`, see `knowtrail.retrieval.filters`. Scores are
    cosines; relevance scores are (1 + cosine) / 2. Metadata that no property of Neo4j
    can hold, such as nested objects, is left out. To add many documents, add them in
    one call: each call looks at the titles and terms of the whole corpus.
    """

    def __init__(
        self,
        *,
        corpus: str,
        embedder: Embedder | Embeddings | None = None,
        connection: Connection | None = None,
        settings: Settings | None = None,
        options: IngestOptions | None = None,
    ) -> None:
        """Name a corpus, which need not be there yet.

        Without an embedder that of the settings is loaded; without a connection, which
        is left open, the store connects by the settings at the first use, until
        `close`; settings are else those of the environment. A new corpus is built by
        the options, or as by default without themes.
        """
        self.corpus = corpus
        self._settings = settings or Settings.from_env()
        self._options = options
        self._given = embedder
        self._link = Link(
            connection=connection, settings=None if connection else self._settings
        )

    def close(self) -> None:
        """Close a connection that was opened here."""
        self._link.close()

    @property
    def embeddings(self) -> Embeddings:
        """Return the model that embeds documents and questions."""
        if self._given is None:
            self._given = load_embedder(
                self._settings.embedder, settings=self._settings
            )
        return self._given  # type: ignore[return-value]

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Ingest texts, replacing those of the same ids; return the ids.

        Without an id a text has a key of itself and its metadata. Raises `InputError`
        if lengths differ, or if a text cannot be stored; those before it are.
        """
        if kwargs:
            raise InputError(f"Unknown argument {next(iter(kwargs))!r}: give ids.")
        texts = list(texts)
        of = metadatas or [{} for _ in texts]
        given = list(ids) if ids is not None else [None] * len(texts)
        if not len(texts) == len(of) == len(given):
            counts = f"{len(texts)} texts, {len(of)} metadatas, {len(given)} ids"
            raise InputError(f"There are {counts}: give one for each text.")
        names = [
            name or content_key(text, str(sorted(more.items(), key=lambda i: i[0])))
            for text, more, name in zip(texts, of, given, strict=True)
        ]
        last = {
            name: Document(page_content=text, metadata=more, id=name)
            for name, text, more in zip(names, texts, of, strict=True)
        }
        report = ingest_corpus(
            self._connection(),
            [LangChainSource(list(last.values()))],
            corpus=self.corpus,
            embedder=self.embeddings,
            settings=self._settings,
            options=self._options or (None if self._is_stored() else _OPTIONS),
        )
        empty = report.left_out.total()
        if report.failed or empty:
            such = report.failures[0] if report.failed else "an empty one"
            msg = f"{report.failed + empty} texts were not stored, such as {such}"
            raise InputError(msg)
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Forget documents with all that was derived from them; None forgets all."""
        if kwargs:
            raise InputError(f"Unknown argument {next(iter(kwargs))!r}: give ids.")
        if not self._is_stored():
            return True
        connection = self._connection()
        rows = (
            connection.read(_FOUND, corpus=self.corpus, only=None)
            if ids is None
            else self._stored(ids)
        )
        wanted = [row["id"] for row in rows]
        if wanted:
            forget_documents(connection, self.corpus, wanted, settings=self._settings)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents of some ids, without those that are not there."""
        return [_document(row) for row in self._stored(ids)]

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Any = None,  # noqa: A002
        **kwargs: Any,
    ) -> list[Document]:
        """Return the `k` documents whose chunks, of those that pass, are nearest.

        All searches take a `filter`.
        """
        return [d for d, _ in self._found(query, None, k, filter=filter, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Do as `similarity_search` does, with the cosines."""
        return self._found(query, None, k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Do as `similarity_search` does, for a vector."""
        return [d for d, _ in self._found("", embedding, k, **kwargs)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that are near a question and unlike one another.

        They are chosen among the `fetch_k` nearest; `lambda_mult`, from 0 to 1, is how
        much nearness counts.
        """
        found = self._found(query, None, k, pool=fetch_k, balance=lambda_mult, **kwargs)
        return [document for document, _ in found]

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search` does, for a vector."""
        found = self._found(
            "", embedding, k, pool=fetch_k, balance=lambda_mult, **kwargs
        )
        return [document for document, _ in found]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a store of the class's arguments into which texts were ingested."""
        store = cls(embedder=embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _select_relevance_score_fn(self) -> Any:
        """Return what makes a number from 0 to 1 of a cosine."""
        return lambda cosine: (1 + cosine) / 2

    def _connection(self) -> Connection:
        connection = self._link.connection()
        if connection is None:
            msg = "A store with connection= cannot be pickled: give it settings=."
            raise SettingsError(msg)
        return connection

    def _is_stored(self) -> bool:
        return known_corpus(self._connection(), self.corpus) is not None

    def _stored(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows of documents, in the order of their ids."""
        keys = [document_id(self.corpus, name) for name in ids]
        return self._connection().read(_GIVEN, ids=keys, reserved=sorted(RESERVED))

    def _found(
        self,
        question: str,
        vector: list[float] | None,
        k: int,
        *,
        filter: Any = None,  # noqa: A002 - the word of LangChain
        pool: int | None = None,
        balance: float = 1.0,
    ) -> list[tuple[Document, float]]:
        """Return documents with the cosines of their nearest chunks, best first."""
        for name, count in (("k", k), ("fetch_k", k if pool is None else pool)):
            check_whole(name, count, 1, LARGEST_K)
        connection, parsed = self._connection(), parse_filter(filter)
        try:
            start = ground(
                connection,
                self.embeddings,
                question,
                corpus=self.corpus,
                settings=self._settings,
                vector=vector,
            )
        except UnknownCorpusError:
            return []
        corpus = start.corpus
        prepared = {"state": corpus.state, "declared": corpus.filters}
        reader = CypherReader(connection, corpus=corpus.name, filter=parsed, **prepared)
        most = max(k, pool or 0)
        filtered, told = parsed is not None, {"algorithm": "store", "reader": "cypher"}
        with span("walk", corpus=self.corpus, filtered=filtered, **told):
            hits, vectors, of = run(reader, _nearest(start.query, most))
        if pool is not None:
            hits = diverse(hits, vectors, balance)
        scores = {of[hit.id]: hit.score for hit in hits[:k]}
        rows = connection.read(_GIVEN, ids=list(scores), reserved=sorted(RESERVED))
        return [(_document(row), scores[row["id"]]) for row in rows]


def _nearest(
    query: Vector, documents: int
) -> Walking[tuple[list[RankedChunk], Mapping[str, Vector], Mapping[str, str]]]:
    ranking = Ranking(query, k=documents, documents=True)
    while True:
        yield from ranking.read()
        first: dict[str, RankedChunk] = {}
        for hit in ranking.ranked:
            first.setdefault(ranking.documents[hit.id], hit)
        if len(first) >= documents or ranking.complete:
            best = list(first.values())[:documents]
            return best, ranking.vectors, ranking.documents


def _document(row: Mapping[str, Any]) -> Document:
    """Return a stored document as it was added."""
    metadata = given_metadata(row["given"], taken=())
    if row["title"] not in (row["source"], row["sourceId"]):
        metadata["title"] = row["title"]
    if row["source"]:
        metadata["source"] = row["source"]
    if row["url"] and row["url"] != row["source"]:
        metadata["url"] = row["url"]
    return Document(page_content=row["text"], metadata=metadata, id=row["sourceId"])

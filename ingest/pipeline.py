"""From sources to a corpus in the graph.

Reading and parsing run one step ahead of embedding, writing one step behind; each
passes on batches of bounded size. A document is stored in one transaction, so that a
run that ends anywhere leaves whole documents behind, and the next run goes on from
there: hashes tell what is stored, and the edges between documents are always brought
to what the whole corpus demands.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.batches import batched
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.db.corpus_lock import corpus_lock
from knowtrail.graph.db.labels import MOST_INDEXED
from knowtrail.graph.errors import DatabaseError
from knowtrail.graph.models.served import served_embedder
from knowtrail.graph.vectors import vector_array
from knowtrail.ingest.background import Background, ahead, in_turn
from knowtrail.ingest.corpus import (
    check_dimensions,
    declare_filters,
    known_corpus,
    open_corpus,
)
from knowtrail.ingest.embedding import embed_documents, kept_texts, why_not
from knowtrail.ingest.keys import Seen, normalise_title
from knowtrail.ingest.linking import link_corpus
from knowtrail.ingest.prepare import (
    PreparedDocument,
    content_hash,
    document_id,
    prepared_or_why,
    redirect_id,
)
from knowtrail.ingest.records import (
    Damage,
    Failure,
    LeftOut,
    RawDocument,
    RawRedirect,
    begun,
    position,
    settled,
)
from knowtrail.ingest.report import IngestReport
from knowtrail.ingest.shards import Order, ReadyDocument, stored_digest
from knowtrail.ingest.store import (
    EmbeddedDocument,
    distrust_links,
    losses,
    removal_of,
    write_documents,
)
from knowtrail.ingest.themes import theme_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from numpy.typing import NDArray

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection, Counters
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.background import Mapped
    from knowtrail.ingest.options import Cleanup, IngestOptions
    from knowtrail.ingest.ray_engine import RayEngine
    from knowtrail.ingest.records import Item, Measured, Source
    from knowtrail.ingest.themes import ThemeSource

    _Document: TypeAlias = PreparedDocument | EmbeddedDocument
    _Store: TypeAlias = Callable[[Sequence[EmbeddedDocument], int], Counters]

_LOG = logging.getLogger(__name__)
TEXTS = 512
"""Texts embedded together and then written: what a run that is killed has to redo."""
_LOOKUP_DOCUMENTS = 32
_LOOKUP_CHARACTERS = 8_000_000
_OTHERS = 1000


def ingest_corpus(
    connection: Connection,
    sources: Sequence[Source],
    *,
    corpus: str,
    embedder: Embedder,
    settings: Settings,
    options: IngestOptions | None = None,
    cleanup: Cleanup = "incremental",
    progress: Progress = silent,
    engine: RayEngine | None = None,
    work: Path | None = None,
    filters: Sequence[str] = (),
) -> IngestReport:
    """Bring a corpus to the state of its sources.

    The same input again writes nothing. An interrupted run is continued by the next
    one, and the graph is then that of an uninterrupted run.

    Args:
        connection: The database.
        sources: Read one after the other as one source.
        corpus: Name of the corpus; made if it is new.
        embedder: The model; must be the one the database was made with. The managed
            server embeds in its place where it has it loaded and this process not.
        settings: Where working files go and, for themes, where Ollama answers.
        options: Parameters of a new corpus; None takes those stored, or the defaults.
        cleanup: `none` leaves changed documents as they are stored; `incremental`
            replaces them with all that was derived from them; `full` also deletes
            documents and redirects that are gone from the sources.
        progress: Told of each stage.
        engine: Reads, parses, embeds and compares in other processes; None does it
            here.
        work: Folder for working files, the same each time, for the next change reads
            what the last one left there; None is below the home folder.
        filters: Properties that filters name, declared as `apply_schema` does it where
            the database has not all of them: `year` of documents, or `chunk.NAME`.

    Returns:
        What was done. Pages that failed and damage of a source are counted there and
        do not stop the rest.

    Raises:
        InputError: For a name that cannot be used, a corpus that is being written, or
            what no filter can name.
        CorpusDriftError: If embedder or options differ from those stored.
        SourceError: If a source cannot be read at all.
        DatabaseError: If the database fails; what is stored stays whole.
    """
    with (
        corpus_lock(settings.home, connection, corpus),
        _never_empty(connection, corpus),
    ):
        made = Ingest(
            connection, corpus, embedder, settings, options, cleanup, progress, filters
        )
        made.work = work
        return made.run(sources, engine)


@contextmanager
def _never_empty(connection: Connection, corpus: str) -> Iterator[None]:
    """Take a new corpus away again where its sources broke off before any text."""
    new = not connection.read("ingest/corpus_read", name=corpus)
    try:
        yield
    except DatabaseError:
        new = False
        raise
    finally:
        if new:
            with suppress(DatabaseError):  # what is left can be ingested into
                connection.write("ingest/corpus_unmade", name=corpus)


def _hash(raw: RawDocument | ReadyDocument) -> str:
    """Return a document's hash, "" where preparing it will say what is wrong."""
    try:
        return raw.hash if isinstance(raw, ReadyDocument) else content_hash(raw)
    except Exception:
        return ""


def _prepared(one: _Document) -> PreparedDocument:
    return one.document if isinstance(one, EmbeddedDocument) else one


def _unindexable(one: _Document, names: Iterable[str]) -> str | None:
    """Return which of some properties has a value that no index holds."""
    properties = _prepared(one).properties
    room = MOST_INDEXED - _indexed_bytes(properties["corpus"])  # they share a key
    return next((n for n in names if _indexed_bytes(properties.get(n)) > room), None)


def _indexed_bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode()) + 2
    return sum(map(_indexed_bytes, value)) if isinstance(value, list | tuple) else 8


@dataclass(eq=False, repr=False)
class Ingest:
    """What `ingest_corpus` does, for a caller that holds the corpus' lock.

    Working files go to `work`, by default below the home folder; embedded documents
    are stored by `write`, given the version, by default over the connection.
    What `filters` name is declared once nothing speaks against the ingest.
    """

    connection: Connection
    corpus: str
    embedder: Embedder
    settings: Settings
    options: IngestOptions | None
    cleanup: Cleanup
    progress: Progress
    filters: Sequence[str] = ()
    work: Path | None = None
    write: _Store | None = None

    def run(
        self, sources: Sequence[Source], engine: RayEngine | None = None
    ) -> IngestReport:
        """Bring the corpus to the state of the sources."""
        stored = known_corpus(self.connection, self.corpus)
        old = stored.files_root if stored else None
        root = settled(sources, old, new=stored is None)
        with begun(sources) as items:
            self._open()
            if root != old:
                self.connection.write(
                    "ingest/corpus_files_root", name=self.corpus, root=root
                )
            if engine is None:
                return self._ingest(sources, items)
        with engine.shards(
            sources, self._order(), settings=self.settings, progress=self.progress
        ) as shards:
            shared = self._work.absolute().is_relative_to(engine.folder(self.settings))
            searched = engine.mapped if shared else in_turn
            return self._ingest([shards], shards.items(), engine.mapped, searched)

    def _open(self) -> None:
        self._embedder = served_embedder(self.connection, self.embedder)
        self._report = IngestReport(corpus=self.corpus)
        self._unread = False
        self._unusable: list[tuple[str, str]] = []
        with self._report.timed("schema"):
            self._stored = open_corpus(
                self.connection,
                self.corpus,
                embedder=self._embedder,
                options=self.options,
                language_model=self.settings.language_model,
                progress=self.progress,
            )
            self._indexed = declare_filters(
                self.connection, self.corpus, self.filters, progress=self.progress
            )
        self._resumes = self._stored.status != "complete"
        self._options = self._stored.options
        self._version = self._stored.next_version

    @property
    def _work(self) -> Path:
        return self.work or self.settings.home / "work"

    def _order(self) -> Order:
        keep = self.cleanup == "none"
        rows = self.connection.stream("ingest/document_ids", corpus=self.corpus)
        stored = np.fromiter(
            (stored_digest(row["id"], row["hash"], keep=keep) for row in rows),
            dtype=np.uint64,
        )
        return Order(
            corpus=self.corpus,
            options=self._options,
            embedder=self.embedder,
            keep=keep,
            stored=np.sort(stored),
        )

    def _ingest(
        self,
        sources: Sequence[Measured],
        items: Iterator[Item | ReadyDocument],
        mapped: Mapped = in_turn,
        searched: Mapped = in_turn,
    ) -> IngestReport:
        with Seen() as seen, Background() as writer:
            with self._report.timed("documents"):
                self._documents(sources, items, seen, writer)
                writer.wait()
            for written in writer.results:
                self._report.written += written
            for title, message in self._unusable:
                self._report.fail(title, message)
            if self.cleanup == "full":
                with self._report.timed("cleanup"):
                    self._delete_unseen(seen)
        self._finish(mapped, searched)
        return self._report

    def _documents(
        self,
        sources: Sequence[Measured],
        items: Iterator[Item | ReadyDocument],
        seen: Seen,
        writer: Background,
    ) -> None:
        themes = theme_source(self._options.themes, self._embedder, self.settings)
        waiting: list[tuple[_Document, bool]] = []
        size = 0
        done, finished, known = Counter[str](), Counter[str](), Counter[str]()

        def tell(stage: str, count: int) -> None:
            done[stage] += count
            self.progress(stage, min(done[stage], known[stage]), known[stage])

        def flush() -> None:
            nonlocal size
            if not waiting:
                return
            embedded = self._embedded(waiting, themes, tell)
            if embedded:
                check_dimensions(self._stored, embedded[0].vectors.shape[1])
                writer.submit(self._write, embedded)
            waiting.clear()
            finished["texts"] += size
            tell("texts", finished["texts"] - done["texts"])
            size = 0

        self.progress(*position(sources))
        with closing(ahead(self._changed(items, seen))) as batches:
            for batch in batches:
                known["themes"] += len(batch)
                known["texts"] += sum(document.size for document, _ in batch)
                for document, replaces in batch:
                    if size and size + document.size > TEXTS:
                        flush()
                    waiting.append((document, replaces))
                    size += document.size
                self.progress(*position(sources))
        flush()
        self.progress(*position(sources))

    def _embedded(
        self,
        waiting: Sequence[tuple[_Document, bool]],
        themes: ThemeSource,
        tell: Callable[[str, int], None],
    ) -> list[EmbeddedDocument]:
        """Embed (document, replaces) pairs, but for what has vectors or is stored."""
        replaced = {
            _prepared(document).id for document, replaces in waiting if replaces
        }
        stored = self._stored_vectors(sorted(replaced))
        documents = [document for document, _ in waiting]
        embedded = [d for d in documents if isinstance(d, EmbeddedDocument)]
        embedded += embed_documents(
            [d for d in documents if isinstance(d, PreparedDocument)],
            embedder=self._embedder,
            stored=stored,
            themes=themes,
            fail=self._fail,
            tell=tell,
        )
        return [
            replace(
                one,
                replaces=one.document.id in replaced,
                kept=frozenset(kept_texts(one.document, stored)),
            )
            for one in embedded
        ]

    def _stored_vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        if not ids:
            return {}
        name = self.connection.vector_statement("ingest/stored_vectors")
        rows = self.connection.stream(name, ids=ids)
        return {row["id"]: vector_array(row["vector"]) for row in rows}

    def _fail(self, document: PreparedDocument, error: Exception) -> None:
        """Keep a failure of embedding apart: another thread counts the others."""
        self._unusable.append((document.properties["title"], why_not(error)))

    def _write(self, embedded: list[EmbeddedDocument]) -> Counters:
        """Write a batch; runs behind the embedding."""
        self._distrust()
        if self.write is not None:
            written = self.write(embedded, self._version)
        else:
            written = write_documents(
                self.connection,
                embedded,
                corpus=self.corpus,
                version=self._version,
                options=self._options,
            )
        self._report.updated += sum(e.replaces for e in embedded)
        self._report.added += sum(not e.replaces for e in embedded)
        return written

    def _changed(
        self, items: Iterator[Item | ReadyDocument], seen: Seen
    ) -> Iterator[list[tuple[_Document, bool]]]:
        """Yield batches of new and changed documents; runs ahead of the embedding."""
        documents: list[RawDocument | ReadyDocument] = []
        others: list[RawRedirect | LeftOut] = []
        characters = 0
        for item in self._counted(items):
            if isinstance(item, RawRedirect | LeftOut):
                others.append(item)
            elif isinstance(item, RawDocument | ReadyDocument):
                documents.append(item)
                characters += len(item.raw) if isinstance(item, RawDocument) else 0
            if len(others) >= _OTHERS:
                self._others(others, seen)
                others = []
            if len(documents) >= _LOOKUP_DOCUMENTS or characters >= _LOOKUP_CHARACTERS:
                yield self._new(documents, seen)
                documents, characters = [], 0
        self._others(others, seen)
        yield self._new(documents, seen)

    def _counted(
        self, items: Iterator[Item | ReadyDocument]
    ) -> Iterator[Item | ReadyDocument]:
        """Yield the items that name a page, counting those that are not documents."""
        for item in items:
            if isinstance(item, LeftOut):
                self._report.left_out[item.reason] += 1
                yield item
            elif isinstance(item, Failure):
                self._unread = True
                self._report.fail(item.title, item.message)
            elif isinstance(item, Damage):
                self._report.damage.append(item.message)
            else:
                yield item

    def _new(
        self, raws: Sequence[RawDocument | ReadyDocument], seen: Seen
    ) -> list[tuple[_Document, bool]]:
        """Parse those documents that are not stored as they are."""
        unseen = []
        for raw in raws:
            identity = document_id(self.corpus, raw.source_id)
            if seen.add(identity):
                unseen.append((identity, raw))
            else:
                self._report.fail(
                    raw.title, f"the id {raw.source_id!r} occurs twice in the source"
                )
        rows = self.connection.read("ingest/hashes", ids=[key for key, _ in unseen])
        stored = {row["id"]: row["contentHash"] for row in rows}
        out, empty = [], {}
        for identity, raw in unseen:
            old = stored.get(identity)
            if old and (self.cleanup == "none" or old == _hash(raw)):
                self._report.skipped += 1
                continue
            document = (
                raw.made
                if isinstance(raw, ReadyDocument)
                else prepared_or_why(raw, corpus=self.corpus, options=self._options)
            )
            if isinstance(document, str):
                self._report.fail(raw.title, document)
            elif name := _unindexable(document, self._indexed):
                limit = f"{MOST_INDEXED:,} bytes, and filters name it: shorten it"
                self._report.fail(raw.title, f"its {name} has more than {limit}")
            elif document.size:
                out.append((document, old is not None))
            else:
                self._report.left_out["empty"] += 1
                empty[identity] = raw.title
        self._delete([key for key in empty if key in stored])
        self._redirects_no_more(empty)
        return out

    def _others(self, items: Sequence[RawRedirect | LeftOut], seen: Seen) -> None:
        """Delete documents whose page is one no longer; store redirects."""
        pages, redirects, others = [], [], {}
        for item in items:
            if item.source_id is not None:
                page = document_id(self.corpus, item.source_id)
                if not seen.add(page):
                    continue
                pages.append(page)
                if isinstance(item, LeftOut):
                    others[page] = item.title
            if isinstance(item, RawRedirect):
                redirects.append(item)
        if self.cleanup != "none":
            former = self.connection.read("ingest/hashes", ids=pages)
            self._delete([row["id"] for row in former])
        self._redirects_no_more(others)
        self._redirects(redirects, seen)

    def _redirects_no_more(self, pages: Mapping[str, str]) -> None:
        """Delete the redirects that pages were, titles by id."""
        if self.cleanup == "none" or not pages:
            return
        ids = [redirect_id(self.corpus, normalise_title(t)) for t in pages.values()]
        rows = self.connection.read("ingest/redirects_stored", ids=ids)
        self._delete_redirects([row["id"] for row in rows if row["page"] in pages])

    def _redirects(self, raws: Sequence[RawRedirect], seen: Seen) -> None:
        """Store the redirects that are new, renamed or point elsewhere now."""
        rows = {}
        for raw in raws:
            key = normalise_title(raw.title)
            identity = redirect_id(self.corpus, key)
            if not key or not seen.add(identity):
                continue
            rows[identity] = {
                "id": identity,
                "title": raw.title,
                "target": raw.target,
                "targetKey": normalise_title(raw.target, fragment=True),
                "page": raw.source_id and document_id(self.corpus, raw.source_id),
            }
        self._report.redirects += len(rows)
        stored = {
            row["id"]: (row["title"], row["target"], row["page"])
            for row in self.connection.read("ingest/redirects_stored", ids=list(rows))
        }
        changed = [
            row
            for key, row in rows.items()
            if stored.get(key) != (row["title"], row["target"], row["page"])
        ]
        for part in batched(changed):
            self._report.written += self.connection.write_all([
                self._begin(),
                ("ingest/redirects", {"corpus": self.corpus, "rows": part}),
            ])

    def _distrust(self) -> None:
        """Let texts be read again where an interrupted run is written over."""
        # What it wrote may come to be again what was linked before it, without the
        # edges.
        if self._resumes and self._stored.link_state:
            distrust_links(self.connection, self.corpus)
        self._resumes = False

    def _begin(self) -> tuple[str, dict[str, object]]:
        return "ingest/corpus_begin", {"name": self.corpus, "version": self._version}

    def _delete(self, ids: Sequence[str]) -> None:
        if ids:
            self._distrust()
        for part in batched(ids, 10):
            self._report.written += self.connection.write_all([
                self._begin(),
                *losses(part),
                *removal_of(self.connection, part),
            ])
            self._report.deleted += len(part)

    def _delete_unseen(self, seen: Seen) -> None:
        if self._report.damage or self._unread:
            _LOG.warning("Nothing is deleted: a part of the sources was not read")
            return
        for name, delete in (
            ("ingest/document_ids", self._delete),
            ("ingest/redirect_ids", self._delete_redirects),
        ):
            rows = self.connection.stream(name, corpus=self.corpus)
            gone = [row["id"] for row in rows if row["id"] not in seen]
            delete(gone)

    def _delete_redirects(self, ids: Sequence[str]) -> None:
        for part in batched(ids):
            self._report.written += self.connection.write_all([
                self._begin(),
                ("ingest/redirects_remove", {"ids": part}),
            ])

    def _finish(self, mapped: Mapped, searched: Mapped) -> None:
        """Bring the edges between documents up to date, if anything changed."""
        (row,) = self.connection.read("ingest/corpus_read", name=self.corpus)
        if row["properties"]["status"] != "complete":
            with self._report.timed("links"):
                self._report.written += link_corpus(
                    self.connection,
                    corpus=self.corpus,
                    version=self._version,
                    options=self._options,
                    work=self._work,
                    progress=self.progress,
                    unclear=self._report.leave_link,
                    mapped=mapped,
                    searched=searched,
                )
            if not self._report.damage:
                self._report.written += self.connection.write(
                    "ingest/corpus_complete", name=self.corpus
                )
        (counts,) = self.connection.read("ingest/redirect_counts", corpus=self.corpus)
        self._report.redirects_resolved = counts["resolved"]
        self._report.redirects_waiting = counts["waiting"]

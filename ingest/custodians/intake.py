"""Putting the institutions of a file into the graph, and finding them by their place.

Rows are read in batches; what is stored already as it is, told by a hash, is not
written again, so that the same file twice changes nothing.
"""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, field, fields
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from knowtrail.graph.batches import batched
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.db.corpus_lock import corpus_lock
from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.served import served_embedder
from knowtrail.ingest.corpus import open_corpus
from knowtrail.ingest.custodians.columns import AXES
from knowtrail.ingest.custodians.custodian_file import (
    CustodianFile,
    Findings,
    custodian_of,
)
from knowtrail.ingest.custodians.institution import Custodian, class_uri, document_of
from knowtrail.ingest.keys import Seen
from knowtrail.ingest.options import Cleanup, IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.prepare import document_id
from knowtrail.ingest.records import Failure, Item

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.report import IngestReport


_BATCH = 1000


@dataclass(slots=True, kw_only=True)
class CustodianReport:
    """Counts of one run; institutions unless said otherwise.

    Attributes:
        updated: Those whose row had changed.
        skipped: Those stored as they are.
        deleted: Those gone from the file (`--cleanup full`).
        repeated: Rows of an institution that an earlier row was of.
        failures: The first of these, as "place: reason".
        findings: Values refused, guesses made, what stayed unknown.
        documents: What became of their documents; None if none were asked for.
        linked: Links from chunks to institutions that were made.
        stale: Changed ones whose documents are as before (`--no-documents`).
        seconds: Time by stage.
    """

    corpus: str
    source: str
    added: int = 0
    updated: int = 0
    skipped: int = 0
    deleted: int = 0
    repeated: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)
    documents: IngestReport | None = None
    linked: int = 0
    stale: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for `--json`."""
        found = self.findings
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        del told["findings"]
        return told | {
            "malformed": dict(sorted(found.malformed.items())),
            "examples": found.examples,
            "guessed": [
                {"field": name, "rule": rule, "count": count}
                for (name, rule), count in sorted(found.guessed.items())
            ],
            "unknown": dict(sorted(found.unknown.items())),
            "documents": self.documents.as_dict() if self.documents else None,
        }


def ingest_custodians(
    connection: Connection,
    file: CustodianFile,
    *,
    corpus: str,
    settings: Settings,
    embedder: Embedder | None,
    country: str | None = None,
    guess: bool = True,
    cleanup: Cleanup = "incremental",
    progress: Progress = silent,
) -> CustodianReport:
    """Store the institutions of a file, and a document of each.

    Without an embedder institutions are stored alone. Rows that neither state nor imply
    a country have that code of ISO 3166-1; `guess` is whether type and city are guessed
    from title and address. The cleanup `full` also deletes institutions of the corpus
    that are gone from the file, with their documents, unless a row of the file has no
    name or a malformed identifier and may be theirs; `none` keeps changed ones.

    Raises:
        InputError: For a name that cannot be used, a corpus that is being written, or
            `full` without an embedder where there are documents; a row that cannot be
            used does not stop the rest.
        CorpusDriftError: If the database was made with another embedder.
        DatabaseError: If the database fails; a batch is stored whole or not at all.
    """
    source = CustodianSource(file, corpus=corpus, country=country, guess=guess)
    run = _Run(connection, source, corpus, progress)
    begin = time.perf_counter()
    apply_schema(connection, progress=progress)
    with corpus_lock(settings.home, connection, corpus), Seen() as seen:
        has_documents = run.open(embedder, settings, cleanup)
        run.store(seen, replace=cleanup != "none")
        if embedder is None and has_documents:
            run.report.stale = run.report.updated
        if cleanup == "full" and not run.remove_unseen(seen):
            cleanup = "incremental"
    run.report.seconds["custodians"] = round(time.perf_counter() - begin, 3)
    if embedder is not None:
        run.documents(embedder, settings, cleanup)
    return run.report


@dataclass(eq=False)
class CustodianSource:
    """The institutions of a table, as documents whose ids are those of their nodes.

    Attributes:
        failures: Whether rows that cannot be used are items as well.
        position: How many institutions were read.
        findings: Values refused, guesses made, what stayed unknown in the last reading.
        repeated: Rows in it that were of an institution that an earlier row was of.
    """

    file: CustodianFile
    _: KW_ONLY
    corpus: str
    country: str | None = None
    guess: bool = True
    failures: bool = False
    position: int = field(default=0, init=False)
    findings: Findings = field(default_factory=Findings, init=False)
    repeated: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.name = self.file.name
        self.size = self.file.rows_total

    def custodians(self, seen: Seen) -> Iterator[Custodian | Failure]:
        """Yield each institution once, and the rows that are none."""
        self.position, self.findings, self.repeated = 0, Findings(), 0
        for place, row in self.file.rows():
            try:
                custodian = custodian_of(
                    row,
                    place=place,
                    source=self.name,
                    towns=self.file.towns,
                    country=self.country,
                    guess=self.guess,
                    findings=self.findings,
                    misplaced=self.file.misplaced,
                )
            except InputError as error:
                yield Failure(title=place, message=str(error))
                continue
            self.position += 1
            if seen.add(custodian.id(self.corpus)):
                yield custodian
            else:
                self.repeated += 1

    def items(self) -> Iterator[Item]:
        """Yield a document for each institution."""
        with Seen() as seen:
            for one in self.custodians(seen):
                if not isinstance(one, Failure):
                    yield document_of(one, self.corpus)
                elif self.failures:
                    yield one


@dataclass
class _Run:
    """One ingest under way."""

    _connection: Connection
    _source: CustodianSource
    _corpus: str
    _progress: Progress

    def __post_init__(self) -> None:
        self.report = CustodianReport(corpus=self._corpus, source=self._source.name)

    def store(self, seen: Seen, *, replace: bool) -> None:
        for batch in batched(self._sound(seen), _BATCH):
            self._write(batch, replace=replace)
        self.report.findings = self._source.findings
        self.report.repeated = self._source.repeated

    def _sound(self, seen: Seen) -> Iterator[dict[str, Any]]:
        for one in self._source.custodians(seen):
            if not isinstance(one, Failure):
                self._progress("custodians", self._source.position, self._source.size)
                yield one.properties(self._corpus)
                continue
            self.report.failed += 1
            if len(self.report.failures) < 50:
                self.report.failures.append(f"{one.title}: {one.message}")

    def _write(self, batch: Sequence[dict[str, Any]], *, replace: bool) -> None:
        ids = [row["id"] for row in batch]
        stored = {
            row["id"]: row["hash"]
            for row in self._connection.read("custodians/hashes", ids=ids)
        }
        added = len(batch) - len(stored)
        # Sorted by class, so that two writers wait for each other in one order.
        rows = [
            row
            for row in sorted(batch, key=itemgetter("className"))
            if row["id"] not in stored
            or (replace and stored[row["id"]] != row["contentHash"])
        ]
        self.report.added += added
        self.report.updated += len(rows) - added
        self.report.skipped += len(batch) - len(rows)
        if rows:
            heritage = class_uri("")
            self._connection.write("custodians/store", rows=rows, heritage=heritage)

    def open(
        self, embedder: Embedder | None, settings: Settings, cleanup: Cleanup
    ) -> bool:
        """Refuse what could not be finished, and return whether there are documents."""
        options = _options(self._connection, self._corpus)
        if embedder is not None:
            open_corpus(
                self._connection,
                self._corpus,
                embedder=served_embedder(self._connection, embedder),
                options=options,
                language_model=settings.language_model,
            )
        elif options is None and cleanup == "full":
            raise InputError(
                f"Corpus {self._corpus!r} has documents; those of institutions that "
                "are gone would stay: leave --no-documents out."
            )
        return options is None

    def remove_unseen(self, seen: Seen) -> bool:
        unclear = self.report.failed + self.report.findings.unidentified
        kept = 0
        for page in self._pages():
            gone = [row["id"] for row in page if row["id"] not in seen]
            if unclear:
                kept += len(gone)
            elif gone:
                self._connection.write("custodians/remove", ids=gone)
                self.report.deleted += len(gone)
        if kept:
            self.report.failures.append(
                f"{self._source.name}: nothing is deleted: rows without a name or with "
                f"a malformed identifier ({unclear:,}) may be of those that are stored "
                f"and not in the file ({kept:,}); mend them and run again"
            )
        return not unclear

    def _pages(self) -> Iterator[list[dict[str, Any]]]:
        after = ""
        while page := self._connection.read(
            "custodians/page", corpus=self._corpus, after=after, limit=_BATCH
        ):
            yield page
            after = page[-1]["id"]

    def documents(
        self, embedder: Embedder, settings: Settings, cleanup: Cleanup
    ) -> None:
        self.report.documents = ingest_corpus(
            self._connection,
            [self._source],
            corpus=self._corpus,
            embedder=embedder,
            settings=settings,
            options=_options(self._connection, self._corpus),
            cleanup=cleanup,
            progress=self._progress,
        )
        begin = time.perf_counter()
        for page in self._pages():
            rows = [
                row | {"document": document_id(self._corpus, row["id"])} for row in page
            ]
            written = self._connection.write("custodians/about", rows=rows)
            self.report.linked += written.relationships_created
        self.report.seconds["links"] = round(time.perf_counter() - begin, 3)


def _options(connection: Connection, corpus: str) -> IngestOptions | None:
    """Return how a new corpus of institutions is built; a stored one stays as it is."""
    # Key phrases of such short and similar texts say nothing, and cost most of the
    # time.
    stored = connection.read("ingest/corpus_read", name=corpus)
    return None if stored else IngestOptions(themes="none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """An institution near a point: key of its node, own IRI, letter of its type.

    `km` is how far away it is, on the sphere of WGS 84.
    """

    id: str
    uri: str | None
    name: str
    city: str | None
    type: str
    km: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """How many institutions there are in all, and cannot be found by their place."""

    institutions: int
    without_town: int
    without_location: int


def custodians_near(
    connection: Connection,
    *,
    latitude: float,
    longitude: float,
    km: float,
    corpus: str | None = None,
    types: Sequence[str] | None = None,
    limit: int = 100,
) -> list[Near]:
    """Return the institutions within some kilometres of a point, the nearest first.

    The point is in degrees of WGS 84; `types` are letters, None for all.

    Raises:
        InputError: If there is no such point, distance or limit.
    """
    AXES["latitude"](str(latitude))
    AXES["longitude"](str(longitude))
    if not 0 <= km <= 40_000 or limit < 1:
        msg = f"{km} km and at most {limit}: give 0 to 40000 km, and 1 or more."
        raise InputError(msg)
    rows = connection.read(
        "custodians/near",
        latitude=latitude,
        longitude=longitude,
        km=km,
        corpus=corpus,
        types=None if types is None else list(types),
        limit=limit,
    )
    return [Near(**row) for row in rows]


def custodians_unplaced(
    connection: Connection,
    *,
    corpus: str | None = None,
    types: Sequence[str] | None = None,
) -> Unplaced:
    """Return how many institutions have no town or no coordinates."""
    (row,) = connection.read(
        "custodians/unplaced",
        corpus=corpus,
        types=None if types is None else list(types),
    )
    return Unplaced(**row)

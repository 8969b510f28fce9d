"""Terms of a whole corpus, written where they differ from what is stored.

Three passes in bounded memory: the names in all texts are counted, the terms are found
in them, the differences are written. Texts, counts and findings lie in temporary files;
the terms themselves, like the titles in `linking`, are held in memory. What results
depends on the documents alone, not on how they came in: a phrase that a new document
makes a term is linked in the old ones, and one that loses its second place is no term
any more.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from knowtrail.graph.db.connection import Counters
from knowtrail.graph.errors import IngestError, StorageError
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.store import batched
from knowtrail.ingest.tally import NameTally, title_names
from knowtrail.ingest.terms import (
    TermFinder,
    is_linked,
    is_term,
    names_of_chunks,
    segments,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection

_DOCUMENTS = 50
"""Documents whose texts are read at a time."""
_CHUNKS = 4000
"""Chunks whose terms are compared and written at a time."""


def term_id(corpus: str, name: str) -> str:
    """Return the key of a term of this name."""
    return content_key(corpus, "term", name)


def link_terms(
    connection: Connection, *, corpus: str, version: int, progress: Progress
) -> Counters:
    """Make the terms of a corpus, and the NAMES of its chunks, what they must be.

    Args:
        connection: The database.
        corpus: Name of a stored corpus.
        version: Version that changed documents are marked with.
        progress: Told of the stage `terms`.

    Returns:
        What changed.

    Raises:
        IngestError: If another process changes the corpus meanwhile.
        StorageError: If there is no space for temporary files.
    """
    ids, titles = [], []
    for row in connection.stream("ingest/titles", corpus=corpus):
        ids.append(row["id"])
        titles += [row["title"], *(row["aliases"] or ())]
    linker = _TermLinker(connection, corpus, version, progress, sorted(ids))
    titled = title_names(titles)
    with _temporary_file() as sources, _temporary_file() as spool:
        labels = linker.chosen(sources) | titled
        linker.find(labels, titled, sources, spool)
        return linker.write(spool)


class _TermLinker:
    """The passes of one linking, with what they share."""

    def __init__(
        self,
        connection: Connection,
        corpus: str,
        version: int,
        progress: Progress,
        ids: Sequence[str],
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._version = version
        self._progress = progress
        self._ids = ids
        self._total = 0
        self._terms: dict[str, dict[str, Any]] = {}
        self._keys: list[str | None] = []

    def chosen(self, spool: IO[str]) -> dict[str, str]:
        """Count the names of all documents and return those that became terms.

        Args:
            spool: Takes the texts, for the next pass.
        """
        done = 0
        with NameTally() as tally:
            for ids in batched(self._ids, _DOCUMENTS):
                for row in self._connection.stream("ingest/term_sources", ids=ids):
                    text, spans = row["text"], _spans(row)
                    for start, end in segments(spans):
                        tally.add(text[start:end])
                    _put(spool, [row["id"], row["title"], text, row["chunks"], spans])
                done += len(ids)
                self._progress("terms", done, len(self._ids))
            return tally.chosen()

    def find(
        self,
        labels: Mapping[str, str],
        titled: Mapping[str, str],
        sources: IO[str],
        spool: IO[str],
    ) -> None:
        """Find the terms of all chunks and count them.

        A document's title counts as written at its beginning, in its first chunk.

        Args:
            labels: Every name that may be a term, with its label.
            titled: Those among them that are titles.
            sources: What `chosen` wrote.
            spool: Takes what is found.
        """
        names = list(labels)
        numbers = {name: number for number, name in enumerate(names)}
        counts: Counter[int] = Counter()
        finder = TermFinder(labels)
        sources.seek(0)
        for document, title, text, chunks, spans in map(json.loads, sources):
            found = names_of_chunks(text, spans, finder)
            if found:
                found[0] |= title_names([title]).keys()
            named = [[numbers[name] for name in of_chunk] for of_chunk in found]
            counts.update(chain.from_iterable(named))
            self._total += len(chunks)
            _put(spool, [document, list(zip(chunks, named, strict=True))])
        self._choose(names, labels, titled, counts)

    def _choose(
        self,
        names: Sequence[str],
        labels: Mapping[str, str],
        titled: Mapping[str, str],
        counts: Mapping[int, int],
    ) -> None:
        """Keep what is a term, and the keys of those that are linked."""
        for number, name in enumerate(names):
            chunks, key = counts[number], None
            if is_term(chunks=chunks, titled=name in titled):
                identity = term_id(self._corpus, name)
                self._terms[identity] = {
                    "id": identity,
                    "name": name,
                    "label": labels[name],
                    "chunks": chunks,
                }
                if is_linked(chunks=chunks, total=self._total):
                    key = identity
            self._keys.append(key)

    def write(self, spool: IO[str]) -> Counters:
        """Write the terms and links that differ; terms that are gone go last."""
        gone, same = [], set()
        for row in self._connection.stream("ingest/terms_stored", corpus=self._corpus):
            stored = dict(row)
            if stored["id"] not in self._terms:
                gone.append(stored["id"])
            elif stored == self._terms[stored["id"]]:
                same.add(stored["id"])
        changed = [term for key, term in self._terms.items() if key not in same]
        total = Counters()
        for part in batched(changed):
            step = ("ingest/terms", {"corpus": self._corpus, "rows": part})
            total += self._connection.write_all([step])
        spool.seek(0)
        for documents in _batches(spool):
            total += self._link(documents)
        for part in batched(gone):
            total += self._connection.write_all([
                ("ingest/terms_remove", {"ids": part})
            ])
        return total + self._connection.write(
            "ingest/corpus_chunks", name=self._corpus, chunks=self._total
        )

    def _link(self, documents: Sequence[_Found]) -> Counters:
        """Write the NAMES of some documents' chunks where they differ.

        What two processes that did not know of each other wrote twice is mended.
        """
        chunks = [chunk for _, found in documents for chunk, _ in found]
        rows = self._connection.read("ingest/term_names_stored", ids=chunks)
        stored = {row["id"]: Counter(row["terms"]) for row in rows}
        removed: list[dict[str, Any]] = []
        added: dict[str, list[str]] = {}
        touched = []
        for document, found in documents:
            before = len(removed), len(added)
            for chunk, numbers in found:
                keys = {key for n in numbers if (key := self._keys[n]) is not None}
                old = stored.get(chunk, Counter())
                once = {key for key, times in old.items() if times == 1}
                if excess := old.keys() - (keys & once):
                    removed.append({"id": chunk, "terms": sorted(excess)})
                if missing := keys - once:
                    added[chunk] = sorted(missing)
            if (len(removed), len(added)) != before:
                touched.append(document)
        if not touched:
            return Counters()
        return self._write_links(removed, added, touched)

    def _write_links(
        self,
        removed: Sequence[Mapping[str, Any]],
        added: Mapping[str, Sequence[str]],
        touched: Sequence[str],
    ) -> Counters:
        """Write differences of NAMES in one transaction."""
        number: dict[str, int] = {}
        rows = [
            [number.setdefault(term, len(number)) for term in terms]
            for terms in added.values()
        ]
        written = self._connection.write_all([
            ("ingest/term_names_remove", {"rows": removed}),
            (
                "ingest/term_names",
                {"chunks": list(added), "terms": list(number), "rows": rows},
            ),
            ("ingest/touch_documents", {"ids": touched, "version": self._version}),
        ])
        if written.relationships_created != sum(map(len, rows)):
            msg = (
                f"Chunks of corpus {self._corpus!r} changed while their terms were "
                "linked: run the ingest again, alone."
            )
            raise IngestError(msg)
        return written


def _spans(row: Any) -> list[tuple[int, int]]:
    """Return start and end of each chunk of a row."""
    return list(zip(row["starts"], row["ends"], strict=True))


def _temporary_file() -> IO[str]:
    """Return a file that goes with the process."""
    return tempfile.TemporaryFile("w+", encoding="utf-8")


_Found = tuple[str, list[tuple[str, list[int]]]]


def _put(spool: IO[str], row: Sequence[Any]) -> None:
    """Write a row to a temporary file."""
    try:
        spool.write(json.dumps(row) + "\n")
    except OSError as error:
        msg = f"No space for temporary files ({error}): free some or set TMPDIR."
        raise StorageError(msg) from error


def _batches(spool: IO[str]) -> Iterator[list[_Found]]:
    """Yield the documents of a file in groups of about `_CHUNKS` chunks."""
    batch: list[_Found] = []
    size = 0
    for line in spool:
        document, found = json.loads(line)
        batch.append((document, found))
        size += len(found)
        if size >= _CHUNKS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

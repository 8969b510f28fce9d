"""The files of a snapshot: rows in SQLite, vectors as numpy arrays; no pickle.

Documents stand in the order of their ids, the chunks and sentences of a document one
after the other in its order, and a row's number is its place in the vectors. So the
same corpus always gives the same bytes, however the snapshot came about. Edges, and
which sentences and terms a chunk has, are lists of row numbers in the chunk's row, so
that a step reads a few pages. Opening reads only the description.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import shlex
import sqlite3
import threading
import weakref
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from knowtrail.graph.errors import SnapshotError
from knowtrail.graph.files import file_digest, private
from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.vector_file import storage_errors
from knowtrail.retrieval.projection import Moments, fit_projection
from knowtrail.retrieval.snapshot.source import (
    DocumentMark,
    StoredChunk,
    StoredDocument,
    text_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowtrail.retrieval.snapshot.source import CorpusMark

    Rows = npt.NDArray[np.int64]

FORMAT = 4
"""Raised when files of an older kind cannot be read any more."""
FACTS = "snapshot.json"
ROWS = "rows.sqlite"
CHUNKS = "chunk_vectors.npy"
SENTENCES = "sentence_vectors.npy"
SCALES = "chunk_scales.npy"
"""1 / length of each chunk's vector."""
TEXTS = "chunk_texts.bin"
"""The texts of the chunks, end to end, of which many are read at a time."""
_FILES = {ROWS, CHUNKS, SENTENCES, SCALES, TEXTS}
_SQL: dict[str, Any] = packaged(__package__, "files.toml")
LONG_PROPERTIES = frozenset(_SQL["long_properties"])
"""Properties of documents that have no index, since filters seldom ask for them."""
_OTHER, _BOOLEAN, _NUMBER, _STRING = range(4)
"""Groups of types within which values are compared, as Cypher does."""
ROW_BYTES = 4
_DRAFT = "draft.sqlite"
_REFUSALS = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_READONLY: errno.EROFS,
}
"""What SQLite says of a disk that refuses, a quota and a limit of size among it."""
_BLOCK = 4096

_TABLES, _FINISH = (
    Path(__file__).with_name(name).read_text("utf-8")
    for name in ("tables.sql", "finish.sql")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFacts:
    """What a snapshot says of itself, with sizes and checksums (blake2b) of files.

    The stamp tells its corpus from another one of the same name; the version is that of
    the corpus; the format is the kind of the files.
    """

    corpus: str
    stamp: str
    version: int
    dimensions: int
    documents: int
    chunks: int
    sentences: int
    edges: int
    sizes: dict[str, int]
    checksums: dict[str, str]
    format: int = FORMAT

    @classmethod
    def read(cls, path: Path) -> SnapshotFacts:
        """Read the description of a snapshot; refuse another format, or other types."""
        values: Any = None
        with suppress(ValueError):
            values = json.loads(path.read_text("utf-8"))
        if isinstance(values, dict) and values.get("format", FORMAT) != FORMAT:
            raise SnapshotError(
                f"The snapshot has format {values['format']!r}, this version reads "
                f"{FORMAT}: {rebuild_hint()}"
            )
        kinds = {"corpus": str, "stamp": str, "sizes": dict, "checksums": dict}
        names = {one.name for one in fields(cls)}
        if (
            not isinstance(values, dict)
            or set(values) != names
            or not all(isinstance(values[n], kinds.get(n, int)) for n in names)
            or set(values["sizes"]) != _FILES
        ):
            msg = f"The description of a snapshot is damaged: {rebuild_hint()}"
            raise SnapshotError(msg)
        return cls(**values)


def update_hint(corpus: str) -> str:
    """Return how to bring a corpus's snapshot up to date."""
    return f"make it with knowtrail corpus snapshot {shlex.quote(corpus)}."


def rebuild_hint(corpus: str = "NAME") -> str:
    """Return what to do about a snapshot that is damaged."""
    return f"make it anew with knowtrail corpus snapshot {shlex.quote(corpus)} --full."


def _need_modules(error: Exception) -> None:
    """Say of an error that this Python's SQLite is a smaller one, if it is that."""
    if str(error).startswith("no such module"):
        raise SnapshotError(
            f"Snapshots need more of SQLite than this Python has ({error}): use a "
            "Python whose SQLite has FTS5, or walk without (--reader cypher)."
        ) from error


class _Packed:
    """An aggregate of SQL: row numbers, by their places, as `unpacked` reads them."""

    def __init__(self) -> None:
        self._values: list[tuple[Any, Any]] = []

    def step(self, place: Any, value: Any) -> None:
        self._values.append((place, value))

    def finalize(self) -> bytes | str:
        return packed(row for _, row in sorted(self._values))


class _Listed(_Packed):
    """The same of ids, as JSON."""

    def finalize(self) -> str:
        return json.dumps([value for _, value in sorted(self._values)])


def packed(rows: Iterable[int]) -> bytes:
    """Return row numbers as bytes."""
    return np.fromiter(rows, dtype="<i4").tobytes()


def unpacked(*values: bytes) -> Rows:
    """Return the row numbers of lists, end to end."""
    return np.frombuffer(b"".join(values), dtype="<i4").astype(np.int64)


class SnapshotWriter:
    """The files of a generation while they grow; use it as a context manager."""

    def __init__(self, folder: Path, mark: CorpusMark) -> None:
        """Open the files of an empty folder."""
        self._folder = folder
        self._mark = mark
        self._files: dict[str, BinaryIO] = {}
        self._counts = dict.fromkeys(("documents", "chunks", "sentences", "edges"), 0)
        with self._storing(), ExitStack() as stack:
            for name in (CHUNKS, SENTENCES, SCALES, TEXTS):
                file = open(folder / name, "wb", opener=private)  # noqa: SIM115 - exit
                self._files[name] = stack.enter_context(file)
                if name != TEXTS:
                    self._header(name, 0)
            for name in (ROWS, _DRAFT):
                os.close(private(str(folder / name), os.O_CREAT | os.O_WRONLY))
            self._sql = sqlite3.connect(folder / ROWS, isolation_level=None)
            stack.callback(self._sql.close)
            self._sql.execute("ATTACH ? AS draft", (str(folder / _DRAFT),))
            for schema in ("main", "draft"):
                self._sql.execute(f"PRAGMA {schema}.journal_mode = OFF")
                self._sql.execute(f"PRAGMA {schema}.synchronous = OFF")
                self._sql.execute(f"PRAGMA {schema}.cache_size = -65536")
            aggregates: dict[str, Any] = {"packed": _Packed, "listed": _Listed}
            for name, made in aggregates.items():
                self._sql.create_aggregate(name, 2, made)
            self._sql.executescript(f"BEGIN; {_TABLES}")
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        with self._storing():
            self._stack.close()

    @contextmanager
    def _storing(self) -> Iterator[None]:
        with storage_errors(self._folder):
            try:
                yield
            except sqlite3.IntegrityError as error:
                raise SnapshotError(
                    f"Two chunks or sentences of corpus {self._mark.corpus!r} have one "
                    "id: see knowtrail corpus verify."
                ) from error
            except sqlite3.OperationalError as error:
                _need_modules(error)
                kind = error.sqlite_errorcode & 0xFF  # the rest says more closely what
                if kind not in _REFUSALS:
                    raise
                raise OSError(_REFUSALS[kind], str(error)) from error

    def append(self, document: StoredDocument) -> None:
        """Add a document; ids must come in ascending order."""
        counts, mark = self._counts, document.mark
        number, chunk, sentence = (
            counts[name] for name in ("documents", "chunks", "sentences")
        )
        with self._storing():
            self._sql.execute(
                "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, *mark, chunk, sentence, document.head, document.properties),
            )
            self._properties(number, document_properties(document))
            for row, added in enumerate(document.chunks, start=chunk):
                self._chunk(row, number, sentence, added, document)
            homes: dict[int, int] = {}
            for row, added in enumerate(document.chunks, start=chunk):
                for member in added.sentences:
                    homes.setdefault(member, row)
            self._sql.executemany(
                "INSERT INTO sentence VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (sentence + i, key, homes[i], *places, text)
                    for i, (key, text, *places) in enumerate(document.sentences)
                ),
            )
            lengths = np.linalg.norm(document.vectors.astype(np.float64), axis=1)
            scales = np.divide(1.0, lengths, out=lengths * 0.0, where=lengths > 0)
            self._files[SCALES].write(scales.astype("<f4").tobytes())
            self._files[CHUNKS].write(document.vectors.tobytes())
            self._files[SENTENCES].write(document.sentence_vectors.tobytes())
        counts["documents"] += 1
        counts["chunks"] += len(document.chunks)
        counts["sentences"] += len(document.sentences)
        counts["edges"] += mark.edges

    def _chunk(
        self,
        row: int,
        owner: int,
        first: int,
        chunk: StoredChunk,
        document: StoredDocument,
    ) -> None:
        """Add a chunk; `first` is the row of the document's first sentence."""
        ids = [document.sentences[member][0] for member in chunk.sentences]
        sentences = packed(first + member for member in chunk.sentences)
        start = self._files[TEXTS].tell()
        stop = start + self._files[TEXTS].write(chunk.text)
        self._sql.execute(
            "INSERT INTO draft.chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (row, chunk.id, owner, *chunk.places, start, stop, sentences,
             json.dumps(ids), chunk.extras),
        )  # fmt: skip
        self._sql.execute(
            "INSERT INTO word (rowid, text) VALUES (?, ?)",
            (row, str(chunk.text, "utf-8", "replace")),
        )
        self._sql.executemany(
            "INSERT INTO draft.edge VALUES (?, ?, ?)",
            ((row, place, target) for place, target in enumerate(chunk.neighbours)),
        )
        self._sql.executemany(
            "INSERT INTO draft.naming VALUES (?, ?)", ((row, n) for n in chunk.terms)
        )
        extras = json.loads(chunk.extras)
        self._properties(row, ((f"chunk.{k}", v) for k, v in extras.items()))

    def _properties(self, owner: int, values: Iterable[tuple[str, Any]]) -> None:
        """Add what filters ask for of a document or chunk."""
        self._sql.executemany(
            "INSERT INTO draft.property VALUES (?, ?, ?, ?)",
            ((name, *sql_value(v), owner) for name, v in values if v is not None),
        )

    def finish(self) -> SnapshotFacts:
        """Write what follows from the rest, close the files and describe them."""
        with self._storing():
            for name, count in (
                (CHUNKS, "chunks"), (SCALES, "chunks"), (SENTENCES, "sentences"),
            ):  # fmt: skip
                self._header(name, self._counts[count])
                self._files[name].flush()
            self._sql.execute("CREATE UNIQUE INDEX draft.draft_id ON chunk (id)")
            if self._sql.execute(_SQL["outside"]).fetchone():
                raise SnapshotError(
                    f"Edges of corpus {self._mark.corpus!r} lead out of it: see "
                    "knowtrail corpus verify."
                )
            for part in _FINISH.split(";\n"):
                self._sql.execute(part)
            self._axes()
            self._sql.execute("COMMIT")
            self._stack.close()
            (self._folder / _DRAFT).unlink()
            return self._described()

    def _header(self, name: str, rows: int) -> None:
        shape = (rows,) if name == SCALES else (rows, self._mark.dimensions)
        file = self._files[name]
        file.seek(0)
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )

    def _axes(self) -> None:
        """Write the sums over all vectors, and the main axes of the chunks."""
        sums = []
        for name in (CHUNKS, SENTENCES):
            vectors = _mapped(self._folder / name)
            moments = Moments.none(self._mark.dimensions)
            for start in range(0, len(vectors), _BLOCK):
                moments += Moments.of(
                    vectors[start : start + _BLOCK].astype(np.float64)
                )
            sums.append(moments)
        values = {
            "chunks": np.concatenate((sums[0].total[None, :], sums[0].outer)),
            "sentences": np.concatenate((sums[1].total[None, :], sums[1].outer)),
            "projection": fit_projection(sums[0]).packed(),
        }
        self._sql.executemany(
            "INSERT INTO numbers VALUES (?, ?)",
            ((name, v.astype("<f8").tobytes()) for name, v in values.items()),
        )

    def _described(self) -> SnapshotFacts:
        """Write the description, after all files are on the disk."""
        paths = [self._folder / name for name in (ROWS, *self._files)]
        for path in paths:
            with path.open("rb") as file:
                os.fsync(file.fileno())
        facts = SnapshotFacts(
            corpus=self._mark.corpus,
            stamp=self._mark.stamp,
            version=self._mark.version,
            dimensions=self._mark.dimensions,
            sizes={path.name: path.stat().st_size for path in paths},
            checksums={path.name: file_digest(path) for path in paths},
            **self._counts,
        )
        with open(self._folder / FACTS, "w", encoding="utf-8", opener=private) as text:
            json.dump(asdict(facts), text, sort_keys=True)
            text.flush()
            os.fsync(text.fileno())
        return facts


def document_properties(document: StoredDocument) -> Iterator[tuple[str, Any]]:
    """Yield what filters ask for of a document, lists of names member by member."""
    values = json.loads(document.properties)
    properties = values["properties"]
    for name in properties.keys() - LONG_PROPERTIES - {"aliases"}:
        yield f"document.{name}", properties[name]
    yield "document.corpusVersion", document.mark.version
    for name, members in (
        ("document.aliases", properties.get("aliases") or ()),
        ("theme.name", values["themes"]),
        ("category.name", values["categories"]),
    ):
        yield from ((name, member) for member in members)


def sql_value(value: Any) -> tuple[int, int | float | bytes]:
    """Return the kind of a value, and what stands for it in SQL."""
    if isinstance(value, str):
        return _STRING, text_bytes(value)
    if isinstance(value, bool):
        return _BOOLEAN, int(value)
    if isinstance(value, int | float) and value == value:
        return _NUMBER, value
    return _OTHER, 0


def _mapped(path: Path) -> npt.NDArray[np.float32]:
    vectors: npt.NDArray[np.float32]
    try:
        vectors = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except (OverflowError, SyntaxError) as error:  # of what the header says
        raise ValueError(f"{path.name}: {error}") from error
    return vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTerms:
    """What many questions ask for, by row.

    Of a term its name and how many chunks name it; of a chunk its id, its terms by row
    and by name, where its text begins and ends, and the title of its document.
    """

    terms: dict[int, tuple[str, int]] = field(default_factory=dict)
    chunks: dict[int, tuple[str, tuple[int, ...], tuple[str, ...], int, int, str]] = (
        field(default_factory=dict)
    )


class _OpenedRows:
    """The rows of a snapshot as one thread reads them; closed when it ends."""

    def __init__(self, file: Path, size: int, texts: mmap.mmap | bytes) -> None:
        uri = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
        self.sql = sqlite3.connect(
            uri, uri=True, check_same_thread=False, isolation_level=None
        )
        weakref.finalize(self, self.sql.close)
        self.sql.execute(f"PRAGMA mmap_size = {size}")
        self.sql.create_function("lower_has", 2, _lower_has, deterministic=True)
        self.sql.create_function("chunk_text", 2, lambda a, b: texts[a:b])


class _RowsOfThread(threading.local):
    """Rows open in each thread: two that share a connection can wait for ever."""

    # One holds SQLite's lock and waits to run a Python function, the other runs Python
    # and waits for SQLite's lock.

    def __init__(self, *opening: Any) -> None:
        self.opened = _OpenedRows(*opening)


class Snapshot:
    """The files of one generation, read-only; safe among threads.

    Vectors of chunks are row by row, with 1 / length of each as `scales`; `passing` has
    for filters the rows of the chunks that pass, for readers to keep; `texts` are those
    of the chunks, end to end.
    """

    def __init__(self, folder: Path) -> None:
        """Open the files; nothing but the description is read."""
        self.folder = folder
        self.facts = facts = SnapshotFacts.read(folder / FACTS)
        self.passing: dict[str, Rows] = {}
        self.kept = KeptTerms()
        for name, size in facts.sizes.items():
            found = (folder / name).stat().st_size
            if found != size:
                raise self._damaged(f"{name} has {found} bytes, not {size}")
        with self.reading():
            self.vectors = _mapped(folder / CHUNKS)
            self.scales = _mapped(folder / SCALES)
            self.sentence_vectors = _mapped(folder / SENTENCES)
            with (folder / TEXTS).open("rb") as file:
                self.texts: mmap.mmap | bytes = (
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                    if facts.sizes[TEXTS]
                    else b""
                )
            for name, array, wanted in (
                (CHUNKS, self.vectors, (facts.chunks, facts.dimensions)),
                (SCALES, self.scales, (facts.chunks,)),
                (SENTENCES, self.sentence_vectors, (facts.sentences, facts.dimensions)),
            ):
                if array.shape != wanted:
                    raise self._damaged(f"{name} has shape {array.shape}")
            self._rows = _RowsOfThread(folder / ROWS, facts.sizes[ROWS], self.texts)
            self.sql.execute("SELECT 1 FROM sqlite_schema").fetchone()

    @property
    def sql(self) -> sqlite3.Connection:
        """The rows, open for the thread that asks."""
        return self._rows.opened.sql

    def _damaged(self, what: str) -> SnapshotError:
        msg = (
            f"The snapshot of corpus {self.facts.corpus!r} is damaged ({what}): "
            f"{rebuild_hint(self.facts.corpus)}"
        )
        return SnapshotError(msg)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say of what cannot be read that the snapshot is damaged."""
        try:
            yield
        except (sqlite3.Error, LookupError, TypeError, ValueError, TokenError) as error:
            if isinstance(error, SnapshotError):
                raise
            _need_modules(error)
            raise self._damaged(str(error)) from error

    def verify(self) -> None:
        """Compare every file with its checksum, or raise `SnapshotError`."""
        for name, wanted in self.facts.checksums.items():
            if file_digest(self.folder / name) != wanted:
                raise self._damaged(f"{name} is not what was written")

    def of(self, query: str, keys: list[Any]) -> list[tuple[Any, ...]]:
        """Return what a query finds for keys, which it names as `json_each(?)`."""
        texts = keys and isinstance(keys[0], str)
        listed = json.dumps(keys) if texts else str(keys)
        return self.sql.execute(query, (listed,)).fetchall()

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """Return kept numbers: sums of `chunks` or `sentences`, or the `projection`."""
        query = "SELECT value FROM numbers WHERE name = ?"
        (value,) = self.sql.execute(query, (name,)).fetchone()
        return np.frombuffer(value, dtype=np.dtype(np.float64).newbyteorder("<"))

    def marks(self) -> Iterator[tuple[DocumentMark, int]]:
        """Yield the marks of all documents, each with its row."""
        query = "SELECT id, version, chunks, edges, row FROM document"
        for *mark, row in self.sql.execute(query):
            yield DocumentMark(*mark), row

    def document(self, row: int) -> StoredDocument:
        """Return a document as it can be appended to another generation."""
        found = self.sql.execute(_SQL["document"], (row,)).fetchone()
        *mark, chunk, sentence, head, properties = found
        following = (row + 1, self.facts.sentences)
        (after,) = self.sql.execute(_SQL["sentence_after"], following).fetchone()
        stop = chunk + mark[2]
        columns = self.sql.execute(_SQL["chunks"], (chunk, stop)).fetchall()
        terms = unpacked(*(c[10] for c in columns)).tolist()
        names = dict(self.of(_SQL["names"], terms))
        return StoredDocument(
            mark=DocumentMark(*mark),
            head=head,
            properties=properties,
            chunks=[
                StoredChunk(
                    id=c[0],
                    places=c[1:6],
                    text=self.texts[c[6] : c[7]],
                    extras=c[8],
                    sentences=tuple((unpacked(c[9]) - sentence).tolist()),
                    neighbours=tuple(json.loads(c[11])),
                    terms=tuple(names[t] for t in unpacked(c[10]).tolist()),
                )
                for c in columns
            ],
            vectors=self.vectors[chunk:stop],
            sentences=self.sql.execute(_SQL["sentences"], (sentence, after)).fetchall(),
            sentence_vectors=self.sentence_vectors[sentence:after],
        )


def _lower_has(value: bytes, part: bytes) -> bool:
    text, wanted = (b.decode("utf-8", "surrogatepass").lower() for b in (value, part))
    return wanted in text

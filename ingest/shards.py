"""Documents that another process has read, parsed and embedded, in files of their own.

What a worker does is here: the functions of an ingest on this machine, over one piece
of a source. A shard is the file of a piece, whole or not there.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from knowtrail.graph.errors import IngestError, InputError
from knowtrail.graph.files import file_digest, whole_bytes
from knowtrail.graph.models.embedders import embedder_name
from knowtrail.ingest.embedding import embed_documents, why_not
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.prepare import (
    PreparedDocument,
    content_hash,
    document_id,
    prepared_or_why,
)
from knowtrail.ingest.records import Damage, Failure, LeftOut, RawDocument, RawRedirect
from knowtrail.ingest.sources._lines import Part
from knowtrail.ingest.store import EmbeddedDocument
from knowtrail.ingest.themes import theme_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.records import Item

_Row: TypeAlias = dict[str, Any]

UNCHANGED = "it was stored as it is when its shard was made: run the same command again"
MANIFEST = "manifest.json"
_OTHERS: dict[str, type[Item]] = {
    kind.__name__: kind for kind in (RawRedirect, LeftOut, Failure, Damage)
}
_TEXTS = 512
_CODE = frozenset({".jsonl", ".lark", ".py", ".sql", ".toml", ".txt"})
TRIES = 5
"""Workers that may end over one shard before it is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyDocument:
    """A document that needs no more than to be stored, or has not even that to it.

    `made` has no vectors where the document has no text, and is a reason where it
    cannot be stored, or need not (`UNCHANGED`).
    """

    source_id: str
    title: str
    hash: str
    made: PreparedDocument | EmbeddedDocument | str


@dataclass(frozen=True, kw_only=True)
class Order:
    """What documents an ingest wants: of a corpus, and not those that are stored.

    `stored` are sorted digests of documents; `keep` says that their content is none of
    our business.
    """

    corpus: str
    options: IngestOptions
    embedder: Embedder
    keep: bool
    stored: npt.NDArray[np.uint64]

    @property
    def key(self) -> str:
        """Return a key of everything here that shards hang on, the code among it."""
        model = embedder_name(self.embedder)
        return content_key(
            code_key(), self.corpus, repr(self.options), model, self.keep
        )

    def has(self, raw: RawDocument | ReadyDocument, content: str) -> bool:
        """Return whether a document of this hash was stored when the ingest began."""
        key = stored_digest(
            document_id(self.corpus, raw.source_id), content, keep=self.keep
        )
        place = int(np.searchsorted(self.stored, np.uint64(key)))
        return place < len(self.stored) and int(self.stored[place]) == key


def stored_digest(identity: str, content: str, *, keep: bool) -> int:
    """Return 64 bits that tell a stored document, and its content unless that stays."""
    return int(content_key(identity, "" if keep else content)[:16], 16)


@dataclass(frozen=True, kw_only=True)
class Work:
    """What workers are told: where pieces come from, what of them, and where it goes.

    The token is that of the manifest, which tells a folder that all machines see from
    one of the same name.
    """

    sources: tuple[Any, ...]
    order: Order
    folder: Path
    token: str
    code: str
    settings: Settings
    batch: int


def prepare_shard(row: _Row, work: Work) -> _Row:
    """Read and parse a piece; its documents and other items become lines of JSON."""
    _check(work)
    source = work.sources[row["source"]]
    items = source.part_items(Part(*json.loads(row["part"])))
    lines = [json.dumps(_written(item, work.order)) for item in items]
    return {"name": row["name"], "lines": "\n".join(lines)}


class ShardEmbedder:
    """Embeds what `prepare_shard` returns and writes shards; has the model once."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._embedder = work.order.embedder
        self._themes = theme_source(
            work.order.options.themes, self._embedder, work.settings
        )

    def __call__(self, row: _Row) -> _Row:
        """Write one shard, unless it is there; return its name.

        Raises:
            IngestError: If it has ended several workers before, or a single text is too
                much for this one's memory.
        """
        path = shard_path(self._work.folder, row["name"])
        if not path.exists():
            tries = path.with_suffix(".tries")
            batch = self._taken(tries, row["name"])
            while not path.exists():
                try:
                    with whole_bytes(path) as file:
                        self._write(file, row["lines"].split("\n"), batch)
                except (MemoryError, RuntimeError) as error:
                    if not _no_memory(error):
                        raise
                    if batch == 1:
                        msg = f"Shard {row['name']}: no memory for one text"
                        raise IngestError(f"{msg}: give workers more.") from error
                    batch //= 2
            tries.unlink(missing_ok=True)
        return {"name": row["name"]}

    def _taken(self, tries: Path, name: str) -> int:
        """Return the texts of a batch: half as many after each worker that died."""
        before = len(tries.read_bytes()) if tries.exists() else 0
        batch = max(1, self._work.batch >> before)
        if before >= TRIES:
            raise IngestError(
                f"Shard {name} ended {before} workers, the last with batches of "
                f"{batch} texts: give workers more memory."
            )
        with tries.open("ab") as file:
            file.write(b".")
        return batch

    def _write(self, file: Any, lines: Sequence[str], batch: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([("item", pa.string()), ("vectors", pa.binary())])
        packing = {"item": "zstd", "vectors": "none"}
        with pq.ParquetWriter(file, schema, compression=packing) as writer:
            group: list[tuple[_Row, PreparedDocument | None]] = []
            size = 0
            for line in filter(None, lines):
                row = json.loads(line)
                document = PreparedDocument.of(row["body"]) if row.get("body") else None
                more = document.size if document else 0
                if group and (size + more > _TEXTS or len(group) >= _TEXTS):
                    writer.write_batch(self._embedded(group, batch, schema))
                    group, size = [], 0
                group.append((row, document))
                size += more
            writer.write_batch(self._embedded(group, batch, schema))

    def _embedded(
        self,
        group: Sequence[tuple[_Row, PreparedDocument | None]],
        batch: int,
        schema: pa.Schema,
    ) -> pa.RecordBatch:
        """Return rows with the vectors of their documents, as bytes of float32."""
        import pyarrow as pa

        why: dict[int, str] = {}  # by object: two rows may be of one id
        wanted = [d for _, d in group if d is not None and d.size]
        done: dict[int, EmbeddedDocument] = {}
        for found in embed_documents(
            wanted,
            embedder=self._embedder,
            stored={},
            themes=self._themes,
            fail=lambda document, e: why.update({id(document): why_not(e)}),
            at_once=batch,
        ):
            done[id(found.document)] = found
        rows = [_completed(row, document, done, why) for row, document in group]
        columns = list(zip(*rows, strict=True)) or [(), ()]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        return pa.record_batch(arrays, schema=schema)


def shard_path(folder: Path, name: str) -> Path:
    """Return the file of a shard."""
    return folder / f"{name}.parquet"


def shard_items(path: Path) -> Iterator[Item | ReadyDocument]:
    """Yield what a shard has, in the order of its piece of the source."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for rows in file.iter_batches(batch_size=32):
            for line, vectors in zip(*(c.to_pylist() for c in rows), strict=True):
                yield _read(json.loads(line), vectors)


def check_code(code: str) -> None:
    """Refuse to work with other code than that of this key."""
    if code_key() != code:
        msg = f"{gethostname()} has another version of Knowtrail: install the same."
        raise InputError(msg)


def _check(work: Work) -> None:
    """Refuse to work with other code, or into a folder of this machine alone."""
    check_code(work.code)
    found = None
    with suppress(OSError, ValueError, KeyError):
        found = json.loads((work.folder / MANIFEST).read_text("utf-8"))["token"]
    if found != work.token:
        raise InputError(
            f"{gethostname()} does not see the shards in {work.folder}: name a folder "
            "that all machines share, with --work."
        )


@cache
def code_key() -> str:
    """Return a hash of the code of this machine that shards hang on."""
    here = Path(__file__).parent
    graph = here.parent / "graph"
    found = [*here.rglob("*"), graph / "vectors.py", graph / "batches.py"]
    for folder in ("models", "files"):
        found += (graph / folder).iterdir()
    return content_key(
        *(file_digest(p) for p in sorted(found) if p.suffix in _CODE and p.is_file())
    )


def _written(item: Item, order: Order) -> _Row:
    """Return an item as a shard has it, vectors apart."""
    if not isinstance(item, RawDocument):
        return {"kind": type(item).__name__, "fields": asdict(item)}
    row: _Row = {"id": item.source_id, "title": item.title, "hash": ""}
    with suppress(Exception):  # preparing it says what is wrong
        row["hash"] = content_hash(item)
    if order.has(item, row["hash"]):
        return row | {"why": UNCHANGED}
    made = prepared_or_why(item, corpus=order.corpus, options=order.options)
    if isinstance(made, str):
        return row | {"why": made}
    return row | {"body": made.body}


def _completed(
    row: _Row,
    document: PreparedDocument | None,
    done: Mapping[int, EmbeddedDocument],
    why: Mapping[int, str],
) -> tuple[str, bytes | None]:
    """Return the line of a row and its vectors."""
    if document is None:
        return json.dumps(row), None
    if id(document) in why:
        del row["body"]
        return json.dumps(row | {"why": why[id(document)]}), None
    found = done.get(id(document))
    if found is None:  # without text
        return json.dumps(row), None
    vectors = np.ascontiguousarray(found.vectors, dtype="<f4").tobytes()
    return json.dumps(row | {"themes": found.themes}), vectors


def _read(row: _Row, vectors: bytes | None) -> Item | ReadyDocument:
    if "kind" in row:
        return _OTHERS[row["kind"]](**row["fields"])
    made: PreparedDocument | EmbeddedDocument | str
    if "why" in row:
        made = row["why"]
    else:
        made = PreparedDocument.of(row["body"])
        if vectors is not None:
            themes = row["themes"]
            count = made.size + (1 + len(themes) if themes else 0)
            found = np.frombuffer(vectors, dtype="<f4").reshape(count, -1)
            made = EmbeddedDocument(document=made, vectors=found, themes=themes)
    return ReadyDocument(
        source_id=row["id"], title=row["title"], hash=row["hash"], made=made
    )


def _no_memory(error: Exception) -> bool:
    """Return whether memory ran out, that of a GPU among it."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"

"""The write path against Neo4jVector, and against the server's own index build.

All sides write the same precomputed vectors to the same server with the vector index
in place, in turn; before each the database is emptied and its indexes are new.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Server, Table, Took, cpu, median, served, server_cpu, spread, walls
from sample import CORPUS, DIMENSIONS, batches, embedded, rows_of

from knowtrail.graph.batches import batched
from knowtrail.graph.db.schema import apply_schema, delete_data
from knowtrail.graph.vectors import vector_parameter
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import TEXTS
from knowtrail.ingest.store import TRANSACTION_TEXTS, write_documents

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.ingest.store import EmbeddedDocument

NO_EDGES = IngestOptions(themes="none", intra_top_k=0)
VECTOR_INDEXES = ("chunk_embedding", "sentence_embedding", "theme_embedding")
PEER = Path(__file__).with_name("peer_neo4jvector.py")
POLL_SECONDS = 0.02


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--chunks", type=int, help="chunk rows (default 4000)")
    parser.add_argument(
        "--copies", type=int, help="times each document is there (default 3)"
    )
    parser.add_argument("--repeats", type=int, help="rounds (default 3)")
    parser.add_argument(
        "--no-peer", action="store_true", help="leave Neo4jVector out (no uv needed)"
    )


def fresh(server: Server) -> None:
    """Leave an empty database with all constraints and new, empty indexes."""
    connection = server.connection
    delete_data(connection)
    connection.run_schema(
        "MATCH (n:PeerChunk) CALL (n) { DELETE n } IN TRANSACTIONS OF 10000 ROWS"
    )
    for name in (*VECTOR_INDEXES, "chunk_text", "peer_embedding"):
        connection.run_schema(f"DROP INDEX {name} IF EXISTS")
    connection.write("schema/version_remove")
    apply_schema(connection, dimensions=DIMENSIONS)
    connection.write(
        "ingest/corpus_create",
        name=CORPUS,
        properties={"version": 0, "status": "complete"},
    )


def write_full(server: Server, documents: Sequence[EmbeddedDocument]) -> None:
    """Write documents as an ingest does, without the edges of similarity."""
    for batch in batches(documents, TEXTS):
        write_documents(
            server.connection, batch, corpus=CORPUS, version=1, options=NO_EDGES
        )


def write_chunks(server: Server, documents: Sequence[EmbeddedDocument]) -> None:
    """Write the Chunk rows alone, as many a transaction as an ingest does."""
    capabilities = server.connection.capabilities
    rows = [
        {
            "document": embedded.document.id,
            "properties": row,
            "vector": vector_parameter(vector, capabilities),
        }
        for embedded in documents
        for row, vector in zip(
            embedded.document.chunks, embedded.chunk_vectors, strict=True
        )
    ]
    for part in batched(rows, TRANSACTION_TEXTS // 2):
        server.connection.write("ingest/chunks", rows=part)


def store_documents(server: Server, documents: Sequence[EmbeddedDocument]) -> None:
    """Store the Document nodes that chunks hang on."""
    rows = [
        {"id": d.document.id, "properties": d.document.properties} for d in documents
    ]
    for part in batched(rows):
        server.connection.write("ingest/documents", corpus=CORPUS, rows=part)


def rebuild(server: Server, indexes: Sequence[str]) -> Callable[[], None]:
    """Drop vector indexes; return what makes them again and waits until ONLINE."""
    connection = server.connection
    for name in indexes:
        connection.run_schema(f"DROP INDEX {name} IF EXISTS")

    def build() -> None:
        apply_schema(connection, dimensions=DIMENSIONS, also=["sentences"])
        while True:
            states = {
                row["name"]: row["state"] for row in connection.read("schema/indexes")
            }
            if all(states.get(name) == "ONLINE" for name in indexes):
                return
            time.sleep(POLL_SECONDS)

    return build


@dataclass(slots=True)
class Peer:
    """Neo4jVector in a process of its own."""

    process: subprocess.Popen[str]
    installed: dict[str, Any]

    def write(self, count: int) -> dict[str, float]:
        """Let it write so many rows."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"write {count}\n")
        self.process.stdin.flush()
        return self._answer(self.process)

    @staticmethod
    def _answer(process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit("The Neo4jVector process ended; see its message above.")
        found: dict[str, Any] = json.loads(line)
        return found

    @classmethod
    @contextmanager
    def started(
        cls, server: Server, documents: Sequence[EmbeddedDocument]
    ) -> Iterator[Peer]:
        """Start it with the same chunk rows, in an environment without our extras."""
        settings = server.settings
        rows = [(r["id"], r["text"]) for d in documents for r in d.document.chunks]
        login = {
            "url": settings.uri,
            "username": settings.username,
            "password": settings.password,
            "database": settings.database,
        }
        with tempfile.TemporaryDirectory(prefix="knowtrail-peer-") as name:
            folder = Path(name)
            text = json.dumps({"rows": rows, "login": login})
            (folder / "rows.json").write_text(text, "utf-8")
            np.save(
                folder / "vectors.npy",
                np.concatenate([d.chunk_vectors for d in documents]),
            )
            uv = shutil.which("uv") or f"{Path(sys.executable).parent}/uv"
            environment = {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"}
            process = subprocess.Popen(
                [
                    uv, "run", "--no-project", "--isolated", "--quiet",
                    "--python", sys.executable,
                    "--with", "langchain-neo4j", "--with", "neo4j",
                    "python", str(PEER), name,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
                cwd=name,
            )  # fmt: skip
            try:
                yield cls(process, cls._answer(process))
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.wait(30)


def run(given: argparse.Namespace) -> None:
    """Measure all sides in turn and print the table."""
    chunks = given.chunks or (400 if given.small else 4000)
    repeats = given.repeats or (1 if given.small else 3)
    copies = given.copies or (1 if given.small else 3)
    documents, kind = embedded(chunks, copies=copies)
    count = sum(len(d.document.chunks) for d in documents)
    times: dict[str, list[Took]] = {}
    with served() as server:
        if given.no_peer:
            installed = _rounds(server, documents, repeats, None, times)
        else:
            with Peer.started(server, documents) as peer:
                installed = _rounds(server, documents, repeats, peer, times)
        _print(server, documents, count, kind, repeats, times, installed)


def _rounds(
    server: Server,
    documents: Sequence[EmbeddedDocument],
    repeats: int,
    peer: Peer | None,
    times: dict[str, list[Took]],
) -> dict[str, Any]:
    """Fill in what each side took, after one round that is thrown away."""
    count = sum(len(d.document.chunks) for d in documents)

    def timed(name: str, work: Callable[[], object]) -> None:
        server.quiet()
        times.setdefault(name, []).append(server.time(work))

    for number in range(repeats + 1):
        fresh(server)
        timed("full", lambda: write_full(server, documents))
        server.quiet()
        timed("build both", rebuild(server, VECTOR_INDEXES[:2]))
        fresh(server)
        store_documents(server, documents)
        timed("chunks", lambda: write_chunks(server, documents))
        server.quiet()
        timed("build one", rebuild(server, VECTOR_INDEXES[:1]))
        if peer is not None:
            fresh(server)
            peer.write(1)
            server.quiet()
            before = server.cpu()
            answer = peer.write(count)
            after = server.cpu()
            times.setdefault("peer", []).append(
                Took(
                    wall=answer["wall"],
                    own=answer["own"],
                    server=None if after is None else after - (before or 0.0),
                )
            )
        if not number:
            times.clear()
    return {} if peer is None else peer.installed


def _print(
    server: Server,
    documents: Sequence[EmbeddedDocument],
    count: int,
    kind: str,
    repeats: int,
    times: dict[str, list[Took]],
    installed: dict[str, Any],
) -> None:
    """Print both tables."""
    both = rows_of(documents)
    table = Table(
        title=(
            f"write-path: {count:,} chunks, {both:,} vectors, "
            f"{len(documents)} documents, {repeats} rounds, {kind}"
        ),
        columns=("side", "vectors", "seconds", "vectors/s", "CPU s: own + server"),
    )
    names = {
        "full": ("whole documents (no SIMILAR_TO)", both),
        "chunks": ("Chunk rows only", count),
        "peer": ("Neo4jVector.from_embeddings", count),
        "build both": ("CREATE VECTOR INDEX, chunks and sentences", both),
        "build one": ("CREATE VECTOR INDEX, chunks", count),
    }
    for key, (name, rows) in names.items():
        if key in times:
            seconds = walls(times[key])
            rates = [rows / s for s in seconds]
            table.add(
                name,
                f"{rows:,}",
                spread(seconds),
                spread(rates, "{:,.0f}"),
                cpu(times[key]),
            )
    if "peer" in times:
        per = median(times["peer"]) / count
        table.notes.append(
            f"Rate over Neo4jVector's (at least 1.8 is wanted): whole documents "
            f"{per / (median(times['full']) / both):.2f}x, "
            f"Chunk rows {per / (median(times['chunks']) / count):.2f}x. "
            f"Its process has {installed}."
        )
    table.notes.append(
        "Time over that of the index build (at most 1.25 is wanted): "
        f"whole documents {_over(times, 'full', 'build both')}, "
        f"Chunk rows {_over(times, 'chunks', 'build one')}."
    )
    table.print(server)


def _over(times: dict[str, list[Took]], one: str, other: str) -> str:
    """Return the ratio of two sides, by the clock and by the server's CPU."""
    text = f"{median(times[one]) / median(times[other]):.2f}x"
    mine, theirs = server_cpu(times[one]), server_cpu(times[other])
    if mine is not None and theirs:
        text += f" ({mine / theirs:.2f}x in server CPU)"
    return text

"""Questions with filters through `search`, beside two peers on the same database.

The corpus is that of `bulk`, loaded by the bulk door, with a server for each size.
Each chunk has a number `share` that is spread evenly, so that a filter lets 10, 1 or
0.01 % of the chunks through; nobody indexes it, unless `--indexed` has the product do
so, whose index the peers do not use. So has each document, by which the peers cannot
filter. A question is some words of a chunk, with a vector near the chunk's. Every side
is given both and answers with ten chunks and their texts. Round trips are counted at
the driver, for all sides alike. At the end callers ask at once, each all questions.
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import neo4j
import numpy as np
from bulk import CORPUS, Ready, loaded_by
from measure import Server, Table
from sample import DIMENSIONS

from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.server.folder import stop_server
from knowtrail.graph.server.lease import join_server
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.search import search

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.ingest.records import Source
    from knowtrail.ingest.report import IngestReport

    Filter = dict[str, dict[str, int]] | None
    Side = Callable[["Question", Filter], int]

K = 10
CALLERS = 20
PARTS = 10_000
FILTERS: dict[str, Filter] = {
    "none": None,
    "10 %": {"chunk.share": {"$lt": 1_000}},
    "1 %": {"chunk.share": {"$lt": 100}},
    "0.01 %": {"chunk.share": {"$lt": 1}},
    "10 % of documents": {"document.share": {"$lt": 1_000}},
    "1 % of documents": {"document.share": {"$lt": 100}},
}
"""What is let through, and the filter."""
ALGORITHMS = {
    "knowtrail dense": "basic_retrieval",
    "knowtrail hybrid": "hybrid",
    "knowtrail auto": "auto",
    "knowtrail query_traversal": "query_traversal",
}
WORDS = 8
"""Words of a chunk that its question has."""
WARMING = 3
SLOW = 1.0
FEW = 5
"""A side that takes more than `SLOW` seconds a question answers `FEW`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, with its vector."""

    text: str
    vector: list[float]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--sizes", type=int, nargs="+", help="chunks (30000)")
    parser.add_argument("--questions", type=int, help="questions (default 50)")
    parser.add_argument(
        "--indexed", action="store_true", help="index what the filter names"
    )


def run(given: argparse.Namespace) -> None:
    """Load each size into a server of its own and measure it."""
    count = given.questions or (5 if given.small else 50)
    for size in given.sizes or ([600] if given.small else [30_000]):
        with bulk_loaded(size) as (server, _):
            ask(server, count, indexed=given.indexed)


@contextmanager
def bulk_loaded(
    size: int, *, source: Source | None = None, embedder: Embedder | None = None
) -> Iterator[tuple[Server, IngestReport]]:
    """Yield a server of its own with a corpus loaded by the bulk door."""
    with tempfile.TemporaryDirectory(prefix="knowtrail-benchmark-") as name:
        settings = replace(Settings.from_env(home=Path(name)), uri=None)
        try:
            report = loaded_by("bulk", size, settings, source=source, embedder=embedder)
            stages = ", ".join(f"{k} {v:.0f}" for k, v in report.seconds.items())
            print(f"{size:,} chunks loaded; seconds: {stages}", flush=True)
            with (
                join_server(
                    settings.home,
                    version=settings.neo4j_version,
                    heap=settings.heap,
                    page_cache=settings.page_cache,
                ) as lease,
                open_connection(settings) as connection,
            ):
                info = lease.info
                reached = settings.with_server(
                    uri=info.uri, username=info.username, password=info.password
                )
                yield Server(connection, reached, info.pid), report
        finally:
            stop_server(settings.home)


def ask(
    server: Server, count: int, *, indexed: bool, embedder: Embedder | None = None
) -> None:
    """Ask a loaded corpus, and print the table; its chunks get their numbers first."""
    logging.getLogger("neo4j_graphrag").setLevel(logging.ERROR)  # told once a call
    _spread(server.connection)
    if indexed:
        apply_schema(
            server.connection, filters=["chunk.share", "document.share"], whole=True
        )
    server.quiet()
    _measure(server, questions_of(server.connection, count, embedder or Ready()))


def _spread(connection: Connection) -> None:
    """Give each chunk its number, and each document."""
    for label in ("Chunk", "Document"):
        found = connection.query(f"MATCH (n:{label}) RETURN n.id AS id")
        ids = [row["id"] for row in found]
        order = np.random.default_rng(3).permutation(len(ids))
        rows = [
            {"id": key, "share": number * PARTS // len(ids)}
            for key, number in zip(ids, order.tolist(), strict=True)
        ]
        for start in range(0, len(rows), 10_000):
            connection.driver.execute_query(
                f"UNWIND $rows AS row MATCH (n:{label} {{id: row.id}}) "
                "SET n.share = row.share",
                rows=rows[start : start + 10_000],
                database_=connection.database,
            )


def questions_of(
    connection: Connection, count: int, embedder: Embedder
) -> list[Question]:
    """Return questions to chunks spread over the corpus; the seed is fixed."""
    generator = np.random.default_rng(0)
    rows = connection.query(
        "MATCH (c:Chunk) WITH c ORDER BY c.id LIMIT $count RETURN c.text AS text",
        {"count": count},
    )
    texts = [row["text"] for row in rows]
    vectors = np.array(embedder.embed_documents(texts))
    vectors += generator.standard_normal(vectors.shape) / np.sqrt(DIMENSIONS)
    return [
        Question(text=_asked(text, generator), vector=vector)
        for text, vector in zip(texts, vectors.tolist(), strict=True)
    ]


def _asked(text: str, generator: np.random.Generator) -> str:
    """Return some words of a text, in their order; names keep their capitals."""
    words = text.replace(".", "").split()
    chosen = np.sort(generator.choice(len(words), size=WORDS, replace=False))
    return " ".join(words[n] for n in chosen.tolist()) + "?"


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Count the statements that any driver of this process runs."""
    trips = [0]
    kept: list[tuple[Any, Any]] = []
    for owner in (neo4j.Session, neo4j.ManagedTransaction, neo4j.Transaction):
        kept.append((owner, owner.run))

        def counting(self: Any, *args: Any, _run: Any = owner.run, **more: Any) -> Any:
            trips[0] += 1
            return _run(self, *args, **more)

        owner.run = counting  # type: ignore[method-assign]
    try:
        yield trips
    finally:
        for owner, plain in kept:
            owner.run = plain


def _sides(server: Server) -> dict[str, Side]:
    """Return what is measured: a question and a filter -> hits found."""

    def ours(algorithm: str) -> Side:
        def answer(question: Question, given: Filter) -> int:
            found = search(
                server.connection,
                question.text,
                vector=question.vector,
                corpus=CORPUS,
                algorithm=algorithm,
                k=K,
                filter=given,
            )
            return len(found.hits)

        return answer

    sides = {name: ours(algorithm) for name, algorithm in ALGORITHMS.items()}
    return sides | {
        "langchain-neo4j": _langchain(server),
        "neo4j-graphrag": _rag(server),
    }


def _langchain(server: Server) -> Side:
    """Return langchain-neo4j's vector search."""
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_neo4j import Neo4jVector

    opened = Neo4jVector.from_existing_index(
        DeterministicFakeEmbedding(size=DIMENSIONS),
        index_name="chunk_embedding",
        url=server.settings.uri,
        username=server.settings.username,
        password=server.settings.password,
        node_label="Chunk",
        text_node_property="text",
        embedding_node_property="embedding",
        retrieval_query="RETURN node.text AS text, score, {id: node.id} AS metadata",
    )

    def answer(question: Question, given: Filter) -> int:
        more: Any = {"filter": {"share": given["chunk.share"]}} if given else {}
        return len(opened.similarity_search_by_vector(question.vector, k=K, **more))

    return answer


def _rag(server: Server) -> Side:
    """Return neo4j-graphrag's vector search."""
    from neo4j_graphrag.retrievers import VectorRetriever

    retriever = VectorRetriever(
        server.connection.driver,
        "chunk_embedding",
        return_properties=["text", "id"],
        neo4j_database=server.connection.database,
    )

    def answer(question: Question, given: Filter) -> int:
        filters = {"share": given["chunk.share"]} if given else None
        found = retriever.search(query_vector=question.vector, top_k=K, filters=filters)
        return len(found.items)

    return answer


def _measure(server: Server, questions: Sequence[Question]) -> None:
    """Print the table of one size; sides take turns question by question."""
    (row,) = server.connection.query("MATCH (c:Chunk) RETURN count(c) AS chunks")
    table = Table(
        title=f"questions: {row['chunks']:,} chunks, {len(questions)} questions, k {K}",
        columns=("side", "filter", "p50 ms", "p95 ms", "trips", "hits"),
    )
    every = _sides(server)
    for called, given in FILTERS.items():
        documents = "document.share" in (given or {})
        sides = {n: s for n, s in every.items() if n in ALGORITHMS or not documents}
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        trips: dict[str, list[int]] = {name: [] for name in sides}
        hits: dict[str, list[int]] = {name: [] for name in sides}
        slow = set()
        for name, side in sides.items():
            begin = time.perf_counter()
            for question in questions[:WARMING]:
                side(question, given)
            if time.perf_counter() - begin > WARMING * SLOW:
                slow.add(name)
        for number, question in enumerate(questions):
            for name, side in sides.items():
                if name in slow and number >= FEW:
                    continue
                with _counted() as ran:
                    begin = time.perf_counter()
                    hits[name].append(side(question, given))
                    seconds[name].append(time.perf_counter() - begin)
                trips[name].append(ran[0])
        for name in sides:
            means = (f"{statistics.mean(one[name]):.1f}" for one in (trips, hits))
            table.add(name, called, *_told(seconds[name]), *means)
            print(*table.rows[-1], flush=True)
    for name, side in every.items():
        both = _told(_at_once(side, questions))
        table.add(name, f"none, {CALLERS} callers", *both, "", "")
        print(*table.rows[-1], flush=True)
    table.print(server)


def _told(seconds: list[float]) -> tuple[str, str]:
    """Return the median and the 95th percentile in milliseconds."""
    p95 = float(np.percentile(seconds, 95))
    return f"{1000 * statistics.median(seconds):.1f}", f"{1000 * p95:.1f}"


def _at_once(side: Side, questions: Sequence[Question]) -> list[float]:
    """Return the seconds of each answer to callers at once, in orders of their own."""

    def called(number: int) -> list[float]:
        seconds = []
        for at in range(len(questions)):
            begin = time.perf_counter()
            side(questions[(at + number) % len(questions)], None)
            seconds.append(time.perf_counter() - begin)
        return seconds

    with ThreadPoolExecutor(CALLERS) as pool:
        return [one for part in pool.map(called, range(CALLERS)) for one in part]

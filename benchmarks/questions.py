"""Questions with filters through `search`, beside two peers on the same database.

The corpus is generated, with edges as an ingest makes them. Each chunk has a number
`share` that is spread evenly, so that a filter lets 10, 1 or 0.01 % of the chunks
through; nobody indexes it, unless `--indexed` has the product do so, whose index the
peers do not use. Every side is given the question's vector and answers with ten chunks
and their texts. Round trips are counted at the driver, for all sides alike.
At the end callers ask at once, each all questions.
"""

from __future__ import annotations

import logging
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import neo4j
import numpy as np
from basic_retrieval import questions, store
from measure import Server, Table, served
from sample import CORPUS, DIMENSIONS
from walks import made

from knowtrail.graph.db.schema import apply_schema, delete_data
from knowtrail.retrieval.search import search

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from knowtrail.retrieval.protocols import Vector

    Side = Callable[[Vector, int | None], int]

K = 10
CALLERS = 20
PARTS = 10_000
FILTERS: dict[str, int | None] = {"none": None, "10 %": 1_000, "1 %": 100, "0.01 %": 1}
"""What is let through -> the first number that is not."""
ALGORITHMS = {
    "knowtrail dense": "basic_retrieval",
    "knowtrail hybrid": "hybrid",
    "knowtrail auto": "auto",
    "knowtrail query_traversal": "query_traversal",
}
QUESTION = "Which harbour was built near the old lighthouse?"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--documents",
        type=lambda text: [int(part) for part in text.split(",")],
        help="sizes of 30 chunks each, separated by commas (default 1000)",
    )
    parser.add_argument("--questions", type=int, help="questions (default 50)")
    parser.add_argument(
        "--indexed", action="store_true", help="index what the filter names"
    )


def run(given: argparse.Namespace) -> None:
    """Measure each size on one server."""
    logging.getLogger("neo4j_graphrag").setLevel(logging.ERROR)  # told once a call
    sizes = given.documents or ([20] if given.small else [1000])
    count = given.questions or (5 if given.small else 50)
    with served() as server:
        for size in sizes:
            delete_data(server.connection)
            documents = made(size)
            store(server, documents)
            _spread(server)
            if given.indexed:
                apply_schema(server.connection, filters=["chunk.share"])
            _measure(server, questions(documents, count))


def _spread(server: Server) -> None:
    """Give each chunk its number."""
    ids = [
        row["id"]
        for row in server.connection.query("MATCH (c:Chunk) RETURN c.id AS id")
    ]
    numbers = np.random.default_rng(3).permutation(len(ids)) % PARTS
    rows = [
        {"id": key, "share": number}
        for key, number in zip(ids, numbers.tolist(), strict=True)
    ]
    for start in range(0, len(rows), 10_000):
        server.connection.driver.execute_query(
            "UNWIND $rows AS row MATCH (c:Chunk {id: row.id}) SET c.share = row.share",
            rows=rows[start : start + 10_000],
            database_=server.connection.database,
        )
    server.quiet()


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
    """Return what is measured: a vector and a bound of `share` -> hits found."""

    def ours(algorithm: str) -> Side:
        def answer(vector: Vector, below: int | None) -> int:
            given = None if below is None else {"chunk.share": {"$lt": below}}
            found = search(
                server.connection,
                QUESTION,
                vector=vector.tolist(),
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

    def answer(vector: Vector, below: int | None) -> int:
        more: Any = {} if below is None else {"filter": {"share": {"$lt": below}}}
        return len(opened.similarity_search_by_vector(vector.tolist(), k=K, **more))

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

    def answer(vector: Vector, below: int | None) -> int:
        filters = None if below is None else {"share": {"$lt": below}}
        found = retriever.search(query_vector=vector.tolist(), top_k=K, filters=filters)
        return len(found.items)

    return answer


def _measure(server: Server, vectors: list[Vector]) -> None:
    """Print the table of one size; sides take turns question by question."""
    (row,) = server.connection.query("MATCH (c:Chunk) RETURN count(c) AS chunks")
    sides = _sides(server)
    table = Table(
        title=f"questions: {row['chunks']:,} chunks, {len(vectors)} questions, k {K}",
        columns=("side", "filter", "p50 ms", "p95 ms", "trips", "hits"),
    )
    for called, below in FILTERS.items():
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        trips: dict[str, list[int]] = {name: [] for name in sides}
        hits: dict[str, list[int]] = {name: [] for name in sides}
        for side in sides.values():
            for vector in vectors[:3]:
                side(vector, below)
        for vector in vectors:
            for name, side in sides.items():
                with _counted() as ran:
                    begin = time.perf_counter()
                    hits[name].append(side(vector, below))
                    seconds[name].append(time.perf_counter() - begin)
                trips[name].append(ran[0])
        for name in sides:
            means = (f"{statistics.mean(one[name]):.1f}" for one in (trips, hits))
            table.add(name, called, *_told(seconds[name]), *means)
            print(*table.rows[-1], flush=True)
    for name, side in sides.items():
        both = _told(_at_once(side, vectors))
        table.add(name, f"none, {CALLERS} callers", *both, "", "")
        print(*table.rows[-1], flush=True)
    table.print(server)


def _told(seconds: list[float]) -> tuple[str, str]:
    """Return the median and the 95th percentile in milliseconds."""
    p95 = float(np.percentile(seconds, 95))
    return f"{1000 * statistics.median(seconds):.1f}", f"{1000 * p95:.1f}"


def _at_once(side: Side, vectors: list[Vector]) -> list[float]:
    """Return the seconds of each answer to callers at once, in orders of their own."""

    def called(number: int) -> list[float]:
        seconds = []
        for at in range(len(vectors)):
            begin = time.perf_counter()
            side(vectors[(at + number) % len(vectors)], None)
            seconds.append(time.perf_counter() - begin)
        return seconds

    with ThreadPoolExecutor(CALLERS) as pool:
        return [one for part in pool.map(called, range(CALLERS)) for one in part]

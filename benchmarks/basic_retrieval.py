"""basic_retrieval through the Cypher reader against a bare vector-index call.

The bare call asks for as many hits and returns id, text and embedding. Both get the
question's vector, and run in turn, in one process, on one server; query_traversal is
reported beside them, with the round trips of each.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
from measure import Counting, Server, Table, served
from sample import CORPUS, DIMENSIONS, OPTIONS, batches, embedded

from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.corpus import open_corpus
from knowtrail.ingest.linking import link_corpus
from knowtrail.ingest.pipeline import TEXTS
from knowtrail.ingest.store import write_documents
from knowtrail.retrieval.algorithms import ALGORITHMS
from knowtrail.retrieval.driving import run as drive
from knowtrail.retrieval.protocols import WalkOptions, anchor_hits

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from knowtrail.ingest.store import EmbeddedDocument
    from knowtrail.retrieval.protocols import Vector

HITS = anchor_hits(5)
BARE = """
CALL db.index.vector.queryNodes('chunk_embedding', $k, $vector)
YIELD node, score
RETURN node.id AS id, node.text AS text, node.embedding AS embedding, score
"""
NAMES = ("basic_retrieval", "query_traversal")
"""The other algorithms are measured by `walks`."""

BARE_NAME = "bare vector-index call"
WARM_UP_ROUNDS = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--chunks", type=int, help="chunks (default 4000)")
    parser.add_argument("--questions", type=int, help="questions (default 100)")
    parser.add_argument("--rounds", type=int, help="rounds (default 5)")


def store(server: Server, documents: Sequence[EmbeddedDocument]) -> None:
    """Store documents with all their edges, as an ingest does."""
    connection = server.connection
    open_corpus(
        connection,
        CORPUS,
        embedder=HashEmbedder(DIMENSIONS),
        options=OPTIONS,
        language_model="none",
    )
    for batch in batches(documents, TEXTS):
        write_documents(connection, batch, corpus=CORPUS, version=1, options=OPTIONS)
    link_corpus(
        connection,
        corpus=CORPUS,
        version=1,
        options=OPTIONS,
        work=server.settings.home / "work",
        progress=lambda *_: None,
    )
    connection.write("ingest/corpus_complete", name=CORPUS)
    server.quiet()


def questions(documents: Sequence[EmbeddedDocument], count: int) -> list[Vector]:
    """Return vectors near those of chunks, as questions' are; the seed is fixed."""
    generator = np.random.default_rng(0)
    vectors = np.concatenate([d.chunk_vectors for d in documents]).astype(np.float64)
    chosen = vectors[generator.choice(len(vectors), size=count, replace=False)]
    noise = generator.standard_normal(chosen.shape) / np.sqrt(chosen.shape[1])
    return list(chosen + noise * np.linalg.norm(chosen, axis=1, keepdims=True))


def run(given: argparse.Namespace) -> None:
    """Store the sample, time all sides in turn and print the table."""
    chunks = given.chunks or (400 if given.small else 4000)
    rounds = given.rounds or (2 if given.small else 5)
    documents, kind = embedded(chunks)
    count = sum(len(d.document.chunks) for d in documents)
    vectors = questions(documents, given.questions or (10 if given.small else 100))
    with served() as server:
        store(server, documents)
        readers = {name: Counting(server.connection, corpus=CORPUS) for name in NAMES}
        times = _times(_sides(server, readers), vectors, rounds)
        asked = len(vectors) * (rounds + WARM_UP_ROUNDS)
        table = Table(
            title=(
                f"basic-retrieval: {len(vectors)} questions, {rounds} rounds, "
                f"{count:,} chunks, {HITS} hits asked for, {kind}"
            ),
            columns=("side", "p50 ms", "p95 ms", "over the bare call", "round trips"),
        )
        base = statistics.median(times[BARE_NAME])
        for name, values in times.items():
            trips = readers[name].trips / asked if name in readers else 1
            table.add(
                name,
                f"{1000 * statistics.median(values):.2f}",
                f"{1000 * float(np.percentile(values, 95)):.2f}",
                f"{statistics.median(values) / base:.2f}x",
                f"{trips:.1f}",
            )
        table.notes.append(
            "At most 1.5x is wanted of basic_retrieval. The question's embedding is in "
            "no side."
        )
        table.print(server)


def _sides(
    server: Server, readers: dict[str, Counting]
) -> dict[str, Callable[[Vector], object]]:
    """Return what is timed, by name."""

    def bare(vector: Vector) -> object:
        return server.connection.driver.execute_query(
            BARE,
            k=HITS,
            vector=vector.tolist(),
            database_=server.connection.database,
            routing_="r",
        )

    def walk(name: str) -> Callable[[Vector], object]:
        return lambda v: drive(readers[name], ALGORITHMS[name].walk(v, WalkOptions()))

    return {BARE_NAME: bare} | {name: walk(name) for name in NAMES}


def _times(
    sides: dict[str, Callable[[Vector], object]],
    vectors: Sequence[Vector],
    rounds: int,
) -> dict[str, list[float]]:
    """Return the seconds of each side, question by question in turn."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + WARM_UP_ROUNDS):
        for vector in vectors:
            for name, side in sides.items():
                begin = time.perf_counter()
                side(vector)
                if number >= WARM_UP_ROUNDS:
                    times[name].append(time.perf_counter() - begin)
    return times

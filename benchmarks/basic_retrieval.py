"""Compare basic_retrieval with a bare vector-index call that returns as many hits.

Both get the question's vector; both sides run in turn, in one process, on one server.

    uv run python benchmarks/basic_retrieval.py --corpus NAME

The server is that of NEO4J_URI, or the managed one.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from graph.cli_session import open_connection
from graph.settings import Settings
from retrieval.algorithms import ALGORITHMS
from retrieval.driving import run
from retrieval.protocols import WalkOptions, anchor_hits
from retrieval.readers import CypherReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from graph.connection import Connection
    from retrieval.protocols import Vector

HITS = anchor_hits(5)
BARE = """
CALL db.index.vector.queryNodes('chunk_embedding', $k, $vector)
YIELD node, score
RETURN node.id AS id, node.text AS text, node.embedding AS embedding, score
"""


def questions(connection: Connection, corpus: str, count: int) -> list[Vector]:
    """Return vectors near those of chunks, as questions' are; the seed is fixed."""
    rows = connection.query(
        "MATCH (c:Chunk {corpus: $corpus}) WITH c ORDER BY c.id LIMIT $count "
        "RETURN c.embedding AS vector",
        {"corpus": corpus, "count": count},
    )
    generator = np.random.default_rng(0)
    vectors = [np.array(row["vector"]) for row in rows]
    return [
        v + generator.standard_normal(len(v)) * np.linalg.norm(v) / np.sqrt(len(v))
        for v in vectors
    ]


def main() -> None:
    """Time both sides and print medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with open_connection(Settings.from_env()) as connection:
        reader = CypherReader(connection, corpus=given.corpus)
        vectors = questions(connection, given.corpus, given.questions)

        def bare(vector: Vector) -> None:
            connection.driver.execute_query(
                BARE,
                k=HITS,
                vector=vector.tolist(),
                database_=connection.database,
                routing_="r",
            )

        def walk(name: str) -> Callable[[Vector], None]:
            return lambda v: run(reader, ALGORITHMS[name].walk(v, WalkOptions()))

        sides = {"bare vector call": bare} | {name: walk(name) for name in ALGORITHMS}
        times: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(given.rounds + 2):
            for vector in vectors:
                for name, side in sides.items():
                    begin = time.perf_counter()
                    side(vector)
                    if number >= 2:  # the first two rounds warm the server up
                        times[name].append(time.perf_counter() - begin)
    base = statistics.median(times["bare vector call"])
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:18} {1000 * middle:7.2f} ms  {middle / base:5.2f}x")


if __name__ == "__main__":
    main()

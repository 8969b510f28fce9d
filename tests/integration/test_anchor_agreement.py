"""The vector index finds the anchor that an exact search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from knowtrail.graph.db.schema import apply_schema, delete_data
from knowtrail.retrieval.cosine import cosines, ranked
from knowtrail.retrieval.readers import CypherReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.protocols import Vector

pytestmark = pytest.mark.integration

CHUNKS, DIMENSIONS = 4000, 32
_WRITE = """
MERGE (k:Corpus {name: 'many'})
MERGE (d:Document {id: 'd', corpus: 'many', title: 'Many'})
MERGE (d)-[:IN_CORPUS]->(k)
WITH d
UNWIND $rows AS row
CREATE (c:Chunk {id: row.id, corpus: 'many', index: row.index, text: row.id})
CREATE (c)-[:FROM_DOCUMENT]->(d)
WITH c, row
CALL db.create.setNodeVectorProperty(c, 'embedding', row.vector)
"""


def vectors() -> Vector:
    """Return vectors that drift, as those of windows that overlap do."""
    generator = np.random.default_rng(3)
    drift = np.cumsum(0.3 * generator.standard_normal((CHUNKS, DIMENSIONS)), axis=0)
    moved = drift + generator.standard_normal((CHUNKS, DIMENSIONS))
    unit = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit.astype(np.float32).astype(np.float64)


@pytest.fixture
def many(connection: Connection) -> Iterator[tuple[Connection, Vector]]:
    """Yield a database with many chunks, and their vectors."""
    apply_schema(connection, dimensions=DIMENSIONS)
    stored = vectors()
    driver = connection.driver
    for start in range(0, CHUNKS, 1000):
        rows = [
            {"id": f"c{i:05}", "index": i, "vector": stored[i].tolist()}
            for i in range(start, start + 1000)
        ]
        driver.execute_query(_WRITE, rows=rows, database_=connection.database)
    driver.execute_query("CALL db.awaitIndexes(120)", database_=connection.database)
    yield connection, stored
    delete_data(connection)


@pytest.mark.thorough
def test_the_first_anchor_is_that_of_an_exact_search(
    many: tuple[Connection, Vector],
) -> None:
    """For at least 99 of 100 questions, near chunks and far from all of them."""
    connection, stored = many
    count = 300
    generator = np.random.default_rng(4)
    noise = generator.standard_normal((count, DIMENSIONS)) / np.sqrt(DIMENSIONS)
    near = stored[generator.choice(CHUNKS, size=count)]
    questions = near * (np.arange(count) % 3 > 0)[:, None] + noise
    ids = [f"c{i:05}" for i in range(CHUNKS)]
    reader = CypherReader(connection, corpus="many")

    agreed = 0
    for question in questions:
        found = reader.anchors(question, 1)
        best = ranked(found.ids, cosines(question, found.vectors))[0]
        exact = ranked(ids, cosines(question, stored))[0]
        agreed += found.ids[best] == ids[exact]

    assert agreed >= 0.99 * count

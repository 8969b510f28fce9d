"""What the search phrases of Bloom find, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.db.statements import statement

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection

pytestmark = pytest.mark.integration

_GRAPH = """
CREATE (a:Document {id: 'a', title: 'Tide'}), (b:Document {id: 'b', title: 'Moon'})
WITH a, b
UNWIND range(1, 6) AS i
CREATE (a)<-[:FROM_DOCUMENT]-(x:Chunk {id: 'a' + i}),
  (b)<-[:FROM_DOCUMENT]-(y:Chunk {id: 'b' + i})
WITH collect(x) AS xs, collect(y) AS ys
CALL (xs, ys) {
  UNWIND range(1, 30) AS t
  CREATE (term:Term {id: 't' + t, label: 't' + t, chunks: t})
  WITH xs, ys, term
  UNWIND xs + ys AS chunk
  CREATE (chunk)-[:NAMES]->(term)
}
UNWIND range(0, 5) AS i
UNWIND range(0, 5) AS j
WITH xs[i] AS x, ys[j] AS y, (i * 6 + j) / 36.0 AS score
CREATE (x)-[:SIMILAR_TO {score: score}]->(y), (y)-[:SIMILAR_TO {score: score}]->(x)
"""


@pytest.fixture
def two(connection: Connection) -> Connection:
    """Return a database of two documents with 30 terms and 36 pairs in common."""
    connection.run_schema(_GRAPH)
    return connection


def test_terms_between_are_the_rarest_of_all(two: Connection) -> None:
    """As many terms as are promised, however many chunks name each."""
    rows = two.query(
        statement("bloom/terms_between"), {"title": "Tide", "other": "Moon"}
    )

    terms = {row["between"][4]["label"] for row in rows}
    assert terms == {f"t{number}" for number in range(1, 26)}


def test_bridges_are_the_strongest_pairs(two: Connection) -> None:
    """Each pair once, though it is similar both ways."""
    rows = two.query(
        statement("bloom/bridges_between"), {"title": "Tide", "other": "Moon"}
    )

    pairs = {(row["bridge"][2]["id"], row["bridge"][4]["id"]) for row in rows}
    assert len(pairs) == 25
    assert ("a6", "b6") in pairs
    assert ("a1", "b1") not in pairs

"""Walks written back to a real server: whole, once, and readable afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.db.schema import SCHEMA_VERSION, apply_schema, schema_version
from knowtrail.graph.errors import DatabaseError
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.retrieval.recording import arecord, question_id, record
from tests.walks import BEGIN, EDGES, GRAPH, NIGHT, recording, walk_over

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

READ = """
MATCH (q:Query)<-[:FOR_QUERY]-(t:Traversal)-[:FIRST_STEP]->(first:Step)
MATCH (first)-[:NEXT_STEP]->*(s:Step)
OPTIONAL MATCH (s)-[:VISITED]->(c:Chunk)
OPTIONAL MATCH (s)-[p:PICKED]->(n:Sentence)
RETURN q.text AS question, t.id AS traversal, s.index AS step, c.id AS chunk,
       n.id AS sentence, p.rank AS rank
ORDER BY traversal, step
"""
COUNT = "MATCH (n:Query|Traversal|Step) RETURN count(n) AS n"


@pytest.fixture
def tales(connection: Connection) -> Connection:
    """Return a connection to a small graph without a walk."""
    apply_schema(connection)
    connection.run_schema(GRAPH)
    connection.run_schema(EDGES)
    return connection


def stored(connection: Connection) -> int:
    """Return how many nodes of walks there are."""
    return int(connection.query(COUNT)[0]["n"])


def properties(connection: Connection, traversal: str) -> dict[str, Any]:
    """Return a Traversal's properties."""
    (row,) = connection.query(
        "MATCH (t:Traversal {id: $id}) RETURN properties(t) AS p", {"id": traversal}
    )
    found: dict[str, Any] = row["p"]
    return found


def test_a_walk_is_stored_as_a_path(tales: Connection) -> None:
    """Question, traversal, steps in order, chunks and sentences with their ranks."""
    traversal, warning = record(tales, recording(walk_over("fox0", "owl0", "owl1")))

    rows = tales.query(READ)
    assert warning == ""
    assert {row["traversal"] for row in rows} == {traversal}
    assert [
        (row["question"], row["step"], row["chunk"], row["sentence"], row["rank"])
        for row in rows
    ] == [
        (NIGHT, 0, "fox0", "s-fox0", 1),
        (NIGHT, 1, "owl0", "s-owl0", 2),
        (NIGHT, 2, "owl1", "s-owl1", 3),
    ]


def test_a_traversal_says_how_it_was_made(tales: Connection) -> None:
    """Parameters one by one and as JSON, times, counts and the stop are properties."""
    walk = walk_over("fox0", "owl0", filter={"language": "en"}, preset=None)

    traversal, _ = record(tales, recording(walk))

    found = properties(tales, traversal or "")
    created = found.pop("createdAt")
    assert created.to_native() == BEGIN
    assert found == {
        "id": traversal,
        "corpus": "tales",
        "corpusVersion": 3,
        "algorithm": "query_traversal",
        "maxSentences": 10,
        "maxHops": 20,
        "filter": '{"language": "en"}',
        "parameters": (
            '{"maxSentences": 10, "maxHops": 20, "filter": {"language": "en"}}'
        ),
        "modelCalls": 2,
        "stopReason": "early_stop",
        "hops": 1,
        "sentences": 2,
        "documents": 2,
        "milliseconds": 4.25,
        "score": 0.7,
    }


def test_a_step_says_what_it_visited(tales: Connection) -> None:
    """Index, hop, score, reason and time, with title and text of the chunk."""
    record(tales, recording(walk_over("fox0", "owl0")))

    (row,) = tales.query("MATCH (s:Step {index: 1}) RETURN properties(s) AS p")
    del row["p"]["id"]
    assert row["p"] == {
        "corpus": "tales",
        "index": 1,
        "hop": 1,
        "score": 0.8,
        "reason": "nearest to the question",
        "milliseconds": 1.5,
        "chunkId": "owl0",
        "documentId": "owl",
        "title": "Owl",
        "text": "Text of owl0",
    }


def test_a_question_is_one_node(tales: Connection) -> None:
    """Two walks for a question share its node, which has the question's vector."""
    record(tales, recording(walk_over("fox0")))
    record(tales, recording(walk_over("owl0"), minute=1))

    rows = tales.query(
        "MATCH (q:Query) RETURN q.id AS id, q.embedding AS v,"
        " COUNT { (q)<-[:FOR_QUERY]-() } AS walks"
    )
    assert [(row["id"], row["walks"]) for row in rows] == [
        (question_id("tales", NIGHT), 2)
    ]
    assert rows[0]["v"] == pytest.approx([0.6, 0.8], abs=1e-6)


def test_storing_twice_changes_nothing(tales: Connection) -> None:
    """A retried transaction finds its own nodes and relationships."""
    walk = recording(walk_over("fox0", "owl0"), trace=True)
    first = record(tales, walk)
    before = tales.query("MATCH ()-[r]->() RETURN count(r) AS n"), stored(tales)

    again = record(tales, walk)

    after = tales.query("MATCH ()-[r]->() RETURN count(r) AS n"), stored(tales)
    assert (again, after) == (first, before)


def test_walks_are_stored_side_by_side(tales: Connection) -> None:
    """Several threads with one new question leave one question and all the walks."""
    walks = [recording(walk_over("fox0", "owl0"), minute=n) for n in range(16)]

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda walk: record(tales, walk), walks))

    assert [warning for _, warning in results] == [""] * 16
    assert stored(tales) == 1 + 16 + 32


def test_the_same_walk_later_is_another_traversal(tales: Connection) -> None:
    """Time is a part of the id."""
    walk = walk_over("fox0")

    ids = {record(tales, recording(walk, minute=n))[0] for n in range(3)}

    assert len(ids - {None}) == 3


def test_candidates_are_stored_with_a_trace_only(tales: Connection) -> None:
    """Every chunk considered, with rank and score, for the anchor and each step."""
    text = """
    MATCH (n)-[r:CONSIDERED]->(c:Chunk)
    RETURN coalesce(n.index, -1) AS at, c.id AS chunk, r.rank AS rank, r.score AS score
    ORDER BY at, rank
    """
    record(tales, recording(walk_over("fox0", "owl0", "owl1")))
    without = tales.query(text)

    record(tales, recording(walk_over("fox0", "owl0", "owl1"), trace=True, minute=1))

    assert without == []
    assert [
        (r["at"], r["chunk"], r["rank"], r["score"]) for r in tales.query(text)
    ] == [
        (-1, "fox0", 1, 0.9),
        (-1, "eel0", 2, 0.1),
        (0, "owl0", 1, 0.5),
        (0, "owl1", 2, 0.4),
        (1, "owl1", 1, 0.5),
    ]


def test_a_walk_without_a_step_is_stored(tales: Connection) -> None:
    """That nothing was found is a result too."""
    traversal, warning = record(tales, recording(walk_over(stop_reason="no_anchor")))

    assert warning == ""
    assert properties(tales, traversal or "")["stopReason"] == "no_anchor"
    assert tales.query("MATCH (s:Step) RETURN s") == []


@pytest.mark.parametrize(
    "change",
    [
        "MATCH (c:Chunk {id: 'owl0'}) DETACH DELETE c",
        "MATCH (c:Chunk {id: 'owl0'}) SET c.text = 'Replaced'",
        "MATCH (n:Sentence {id: 's-owl0'}) DETACH DELETE n",
        "MATCH (k:Corpus) SET k.status = 'deleting'",
        "MATCH (k:Corpus) DETACH DELETE k",
    ],
)
def test_nothing_is_stored_of_a_walk_whose_ground_is_gone(
    tales: Connection, change: str
) -> None:
    """A chunk, a sentence or the corpus went meanwhile: a warning, and no node."""
    tales.run_schema(change)

    traversal, warning = record(tales, recording(walk_over("fox0", "owl0")))

    assert traversal is None
    assert warning.startswith("The walk was not recorded: corpus 'tales' changed")
    assert stored(tales) == 0


def test_a_vanished_candidate_stops_a_traced_recording(tales: Connection) -> None:
    """A trace is whole or not there."""
    tales.run_schema("MATCH (c:Chunk {id: 'eel0'}) DETACH DELETE c")

    traced = record(tales, recording(walk_over("fox0"), trace=True))
    plain = record(tales, recording(walk_over("fox0")))

    assert (traced[0], plain[0]) == (None, recording(walk_over("fox0")).id)


def test_a_refusal_of_the_server_is_told(tales: Connection) -> None:
    """An error of the database is a warning; nothing is half written."""
    bad = replace(recording(walk_over("fox0")), query=np.array([]))

    traversal, warning = record(tales, bad)

    assert traversal is None
    assert warning.startswith("The walk was not recorded: ")
    assert stored(tales) == 0


@pytest.mark.forgets
def test_an_older_schema_is_brought_up_to_date(tales: Connection) -> None:
    """A database of version 1 gets the constraints of walks with its first one."""
    for name in ("query_id", "traversal_id", "step_id"):
        tales.run_schema(f"DROP CONSTRAINT {name}")
    tales.write("schema/version_write", version=1)

    traversal, warning = record(tales, recording(walk_over("fox0")))

    names = {row["name"] for row in tales.read("schema/constraints")}
    assert (warning, traversal is None) == ("", False)
    assert schema_version(tales) == SCHEMA_VERSION
    assert {"query_id", "traversal_id", "step_id"} <= names


async def test_the_asynchronous_twin_stores_the_same(
    tales: Connection, server: Settings
) -> None:
    """Same id, same nodes; an older schema is brought up to date here too."""
    tales.write("schema/version_write", version=1)
    walk = recording(walk_over("fox0", "owl0"), trace=True)
    async with await AsyncConnection.open(server) as connection:
        first = await arecord(connection, walk)
        count = stored(tales)
        second = record(tales, walk)

    assert first == second
    assert (first[1], count, stored(tales)) == ("", 4, 4)
    assert schema_version(tales) == SCHEMA_VERSION


async def test_the_asynchronous_twin_tells_what_vanished(
    tales: Connection, server: Settings
) -> None:
    """The same warning."""
    tales.run_schema("MATCH (c:Chunk {id: 'fox0'}) DETACH DELETE c")

    async with await AsyncConnection.open(server) as connection:
        traversal, warning = await arecord(connection, recording(walk_over("fox0")))

    assert (traversal, "changed meanwhile" in warning) == (None, True)


def test_a_deleted_corpus_takes_its_walks_along(tales: Connection) -> None:
    """Its questions, traversals and steps go; those of another corpus stay."""
    record(tales, recording(walk_over("fox0", "owl0")))
    tales.run_schema("CREATE (:Traversal {id: 'other', corpus: 'other'})")

    delete_corpus_of_tales(tales)

    assert tales.query("MATCH (n:Query|Traversal|Step) RETURN n.id AS id") == [
        {"id": "other"}
    ]


def delete_corpus_of_tales(connection: Connection) -> None:
    """Give the corpus the settings that a real one has, and delete it."""
    connection.run_schema(
        "MATCH (k:Corpus {name: 'tales'}) SET k += {embedder: 'hash:2', "
        "queryPrompt: '', dimensions: 2, window: 3, stride: 1, intraTopK: 15, "
        "intraThreshold: 0.4, interTopX: 5, interThreshold: 0.3, themeTop: 1, "
        "themeThreshold: 0.2, themeSource: 'none'}"
    )
    delete_corpus(connection, "tales")


def test_a_deleted_document_leaves_its_walks_readable(tales: Connection) -> None:
    """The relationships go with the chunks; title and text stay with the step."""
    record(tales, recording(walk_over("fox0", "owl0")))

    for what in ("sentences", "chunks", "documents"):
        tales.write(f"ingest/remove_{what}", ids=["owl"], kept=[])

    rows = tales.query(READ)
    kept = tales.query("MATCH (s:Step {index: 1}) RETURN s.title AS t, s.text AS x")
    assert [(r["step"], r["chunk"]) for r in rows] == [(0, "fox0"), (1, None)]
    assert kept == [{"t": "Owl", "x": "Text of owl0"}]


def test_ids_of_walks_are_unique(tales: Connection) -> None:
    """The constraints hold for all three."""
    record(tales, recording(walk_over("fox0")))

    with pytest.raises(DatabaseError, match="ConstraintValidation"):
        tales.run_schema("MATCH (s:Step) CREATE (:Step {id: s.id})")

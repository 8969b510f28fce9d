"""The schema on a real server: applied, shown, migrated, dropped.

The order saves making the schema anew for each test, which takes a server seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.db.schema import (
    SCHEMA_VERSION,
    apply_schema,
    create_reader,
    drop_schema,
    schema_version,
    show_schema,
    vector_dimensions,
)
from knowtrail.graph.errors import (
    CorpusDriftError,
    DatabaseError,
    InputError,
    SchemaError,
    SettingsError,
)

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection

pytestmark = [pytest.mark.integration, pytest.mark.forgets]

FOREIGN = "CREATE INDEX somebodys_own IF NOT EXISTS FOR (n:Elsewhere) ON (n.name)"


@pytest.fixture
def bare(connection: Connection) -> Connection:
    """Return a connection to a database without our schema."""
    drop_schema(connection, data=True)
    return connection


@pytest.fixture
def applied(connection: Connection) -> Connection:
    """Return a connection to a database with the whole schema."""
    apply_schema(connection, dimensions=32)
    return connection


def _states(connection: Connection) -> dict[str, str]:
    """Return our constraints and indexes with their states."""
    return {item.name: item.state for item in show_schema(connection) if item.ours}


def test_bare_database_has_version_zero(bare: Connection) -> None:
    """A database that never saw us lacks everything, and says so."""
    assert schema_version(bare) == 0
    assert set(_states(bare).values()) == {"MISSING"}


@pytest.mark.thorough
def test_apply_without_dimensions_leaves_vector_indexes(bare: Connection) -> None:
    """Without a dimension the vector indexes wait for the first ingest."""
    apply_schema(bare)

    missing = {name for name, state in _states(bare).items() if state == "MISSING"}
    assert missing == {"chunk_embedding"}
    assert vector_dimensions(bare) is None


def test_apply_brings_everything_online(bare: Connection) -> None:
    """With a dimension, every constraint and index is there and ready."""
    found = apply_schema(bare, dimensions=32)

    assert (found, schema_version(bare)) == (0, SCHEMA_VERSION)
    assert set(_states(bare).values()) == {"ONLINE"}


def test_applying_twice_changes_nothing(applied: Connection) -> None:
    """The second time finds this version and leaves the same schema."""
    before = show_schema(applied)

    found = apply_schema(applied, dimensions=32)

    assert found == SCHEMA_VERSION
    assert show_schema(applied) == before


def test_indexes_of_sentences_and_themes_are_made_on_request(bare: Connection) -> None:
    """They take the dimension that is there, and without one are refused."""
    with pytest.raises(SettingsError, match="--dimensions"):
        apply_schema(bare, also=["sentences"])

    apply_schema(bare, dimensions=32)
    apply_schema(bare, also=["sentences", "themes"])

    states = _states(bare)
    assert states["sentence_embedding"] == states["theme_embedding"] == "ONLINE"


def test_other_dimensions_are_refused(applied: Connection) -> None:
    """A database has one dimension; another one is an error and changes nothing."""
    with pytest.raises(CorpusDriftError, match=r"32 dimensions.*64"):
        apply_schema(applied, dimensions=64)

    assert vector_dimensions(applied) == 32


def test_impossible_dimensions_are_refused(applied: Connection) -> None:
    """A dimension that no index takes never reaches the server."""
    for dimensions in (0, -1, 4097):
        with pytest.raises(SettingsError, match="1 to 4096"):
            apply_schema(applied, dimensions=dimensions)


def test_what_was_stored_otherwise_is_moved(applied: Connection) -> None:
    """What an older version stored comes to be as this one stores it, once."""
    applied.run_schema(
        "CREATE (:Extraction {id: 'x'})-[:NAMES {type: 'lake'}]->(:Entity {id: 'e'})"
        "<-[:NAMES]-(:Chunk {id: 'c'})"
    )
    applied.write("schema/version_write", version=9)

    for _ in range(2):
        apply_schema(applied)
        rows = applied.query(
            "MATCH (n)-[r]->(:Entity) RETURN n.id AS id, type(r) AS kind, r.type AS of "
            "ORDER BY id"
        )

        assert rows == [
            {"id": "c", "kind": "NAMES", "of": None},
            {"id": "x", "kind": "IDENTIFIES", "of": "lake"},
        ]


def test_the_vector_index_is_made_anew_with_other_settings(applied: Connection) -> None:
    """What is asked for holds; the same again, or nothing asked, makes nothing."""

    def index() -> tuple[int, dict[str, int]]:
        (row,) = applied.query(
            "SHOW INDEXES YIELD id, name, options WHERE name = 'chunk_embedding' "
            "RETURN id, options.indexConfig AS settings"
        )
        return row["id"], row["settings"]

    first = index()
    apply_schema(applied, hnsw={"m": 8, "ef_construction": 40})
    second = index()
    apply_schema(applied, hnsw={"m": 8})
    apply_schema(applied, dimensions=32)

    assert first[0] != second[0]
    assert index() == second
    assert second[1]["vector.hnsw.m"] == 8
    assert second[1]["vector.hnsw.ef_construction"] == 40
    applied.run_schema("DROP INDEX chunk_embedding")


def test_newer_database_is_refused(applied: Connection) -> None:
    """A database of a newer Knowtrail is left alone."""
    applied.write("schema/version_write", version=SCHEMA_VERSION + 1)

    try:
        with pytest.raises(SchemaError, match="update Knowtrail"):
            apply_schema(applied)
    finally:
        applied.write("schema/version_write", version=SCHEMA_VERSION)


def test_uniqueness_is_enforced(applied: Connection) -> None:
    """Two nodes cannot have the same key once the schema is there."""
    applied.run_schema("CREATE (:Chunk {id: 'same'})")

    with pytest.raises(Exception, match="ConstraintValidation"):
        applied.run_schema("CREATE (:Chunk {id: 'same'})")


def test_interrupted_application_is_completed(applied: Connection) -> None:
    """A version is told when all of it is there; what is not comes the next time."""
    applied.run_schema("DROP INDEX chunk_text IF EXISTS")
    applied.run_schema("DROP CONSTRAINT verdict_id IF EXISTS")
    applied.run_schema("UNWIND [1, 2] AS n CREATE (:Verdict {id: 'twice', n: n})")
    applied.write("schema/version_remove")
    try:
        with pytest.raises(DatabaseError):
            apply_schema(applied)
        assert schema_version(applied) == 0
    finally:
        applied.run_schema("MATCH (v:Verdict {id: 'twice'}) DELETE v")

    apply_schema(applied)

    states = _states(applied)
    assert (states["chunk_text"], states["verdict_id"]) == ("ONLINE", "ONLINE")
    assert schema_version(applied) == SCHEMA_VERSION


def test_drop_leaves_data_and_what_others_made(applied: Connection) -> None:
    """Dropping takes our constraints and indexes and nothing else."""
    applied.run_schema(FOREIGN)
    applied.write("ingest/corpus_create", name="kept", properties={})
    try:
        drop_schema(applied)

        names = {item.name for item in show_schema(applied) if item.state != "MISSING"}
        assert "somebodys_own" in names
        assert {"chunk_id", "chunk_text", "chunk_embedding"} & names == set()
        assert applied.read("corpus/list")[0]["name"] == "kept"
        assert schema_version(applied) == 0
    finally:
        applied.run_schema("DROP INDEX somebodys_own IF EXISTS")


def test_drop_with_data_leaves_other_peoples_nodes(bare: Connection) -> None:
    """Deleting our nodes does not touch a node with another label."""
    bare.run_schema("CREATE (:Elsewhere {name: 'theirs'})")
    bare.write("ingest/corpus_create", name="ours", properties={})
    try:
        drop_schema(bare, data=True)

        assert bare.query("MATCH (n) RETURN n.name AS name") == [{"name": "theirs"}]
    finally:
        bare.run_schema("MATCH (n:Elsewhere) DELETE n")


@pytest.mark.thorough
def test_indexes_of_others_and_of_searches_hold_up_nothing(bare: Connection) -> None:
    """An index that cannot be built is nobody's business unless it is needed here."""
    bare.run_schema("CREATE (:Elsewhere {name: $text})", text="x" * 40_000)
    bare.run_schema(FOREIGN)
    try:
        apply_schema(bare, dimensions=32)

        assert set(_states(bare).values()) == {"ONLINE"}
    finally:
        bare.run_schema("DROP INDEX somebodys_own IF EXISTS")


def test_index_that_is_needed_and_cannot_be_built_is_named(bare: Connection) -> None:
    """One line says which it is and what to do."""
    bare.run_schema("CREATE (:Term {corpus: 'c', name: $text})", text="x" * 40_000)

    try:
        with pytest.raises(SchemaError, match="term_name cannot be built"):
            apply_schema(bare)
    finally:
        drop_schema(bare, data=True)


def test_a_server_without_roles_makes_no_reader(connection: Connection) -> None:
    """Community has users, but each may write: none is made, and that is said."""
    with pytest.raises(InputError, match="no roles"):
        create_reader(connection, "ada")

    assert [row["user"] for row in connection.query("SHOW USERS")] == ["neo4j"]

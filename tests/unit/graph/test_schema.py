"""What the table of labels makes of the database."""

from __future__ import annotations

from knowtrail.graph.db.schema import SCHEMA_VERSION, indexed_properties, migrations


def test_indexed_properties_are_those_of_the_commands() -> None:
    """Those of one property and of several are found; texts and vectors are not."""
    assert indexed_properties("Corpus") == {"name"}
    assert indexed_properties("Term") == {"id", "corpus", "name"}
    assert {"uri", "isil", "budget", "subregionCode"} < indexed_properties("Custodian")
    assert indexed_properties("Chunk") == {"id", "corpus", "similarLost"}
    assert indexed_properties("Unknown") == set()


def test_commands_are_named_by_label_and_property() -> None:
    """Each version has those that it brought, whatever a database already has."""
    steps = dict(migrations(4))

    assert list(steps) == list(range(5, SCHEMA_VERSION + 1))
    assert steps[6] == [
        "CREATE CONSTRAINT term_id IF NOT EXISTS FOR (n:Term) REQUIRE n.id IS UNIQUE",
        "CREATE INDEX term_name IF NOT EXISTS FOR (n:Term) ON (n.corpus, n.name)",
    ]
    assert steps[8][2] == (
        "CREATE INDEX custodian_subregion_code IF NOT EXISTS "
        "FOR (n:Custodian) ON (n.subregionCode)"
    )

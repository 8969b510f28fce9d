"""What the schema's own files say of the database."""

from __future__ import annotations

from graph.schema import indexed_properties


def test_indexed_properties_are_those_of_the_statements() -> None:
    """Those of one property and of several are found; texts and vectors are not."""
    held = indexed_properties()

    assert held["Corpus"] == {"name"}
    assert held["Term"] == {"id", "corpus", "name"}
    assert {"uri", "isil", "budget", "subregionCode"} < held["Custodian"]
    assert held["Chunk"] == {"id"}

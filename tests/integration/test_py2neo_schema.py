"""Indexes and uniqueness constraints in py2neo's manner, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo import ClientError, Graph, Node, Relationship, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.integration, pytest.mark.forgets]

LABEL = "Odd `label\\u0060"
KEY = "odd `key"


@pytest.fixture
def schema(graph: Graph) -> Iterator[Schema]:
    """Yield the schema; drop what a test left on its label."""
    schema = graph.schema
    yield schema
    for keys in schema.get_indexes(LABEL):
        schema.drop_index(LABEL, *keys)
    for key in schema.get_uniqueness_constraints(LABEL):
        schema.drop_uniqueness_constraint(LABEL, key)


def test_labels_and_types_that_are_there(graph: Graph) -> None:
    """What nodes and relationships have, as sets."""
    graph.create(Relationship(Node("A", "B c"), "KNOWS", Node("D")))

    assert {"A", "B c", "D"} <= graph.schema.node_labels
    assert "KNOWS" in graph.schema.relationship_types
    assert isinstance(graph.schema.node_labels, frozenset)


def test_indexes_come_and_go(schema: Schema) -> None:
    """An index on one property and one on two are told apart."""
    schema.create_index(LABEL, KEY)
    schema.create_index(LABEL, KEY, "b")

    assert sorted(schema.get_indexes(LABEL)) == [(KEY,), (KEY, "b")]
    schema.drop_index(LABEL, KEY)
    assert schema.get_indexes(LABEL) == [(KEY, "b")]
    assert schema.get_indexes("Another") == []


def test_constraints_come_and_go(schema: Schema, graph: Graph) -> None:
    """A constraint is none of the indexes, and the server keeps it."""
    schema.create_uniqueness_constraint(LABEL, KEY)

    assert schema.get_uniqueness_constraints(LABEL) == [KEY]
    assert schema.get_indexes(LABEL) == []
    graph.create(Node(LABEL, **{KEY: 1}))
    with pytest.raises(ClientError, match="ConstraintValidationFailed"):
        graph.create(Node(LABEL, **{KEY: 1}))
    schema.drop_uniqueness_constraint(LABEL, KEY)
    assert schema.get_uniqueness_constraints(LABEL) == []


def test_what_is_there_cannot_be_made_again(schema: Schema) -> None:
    """As in py2neo, twice is an error of the client."""
    schema.create_index(LABEL, KEY)

    with pytest.raises(ClientError, match="AlreadyExists"):
        schema.create_index(LABEL, KEY)


def test_what_is_not_there_cannot_be_dropped(schema: Schema) -> None:
    """The error has the status code of the server for it."""
    with pytest.raises(ClientError, match="no index on") as index:
        schema.drop_index(LABEL, KEY)
    with pytest.raises(ClientError, match="no constraint on") as constraint:
        schema.drop_uniqueness_constraint(LABEL, KEY)
    assert index.value.code == "Neo.ClientError.Schema.IndexNotFound"
    assert constraint.value.code == "Neo.ClientError.Schema.ConstraintNotFound"


def test_bad_names_are_refused(schema: Schema) -> None:
    """Nothing at all is no label, no key, and no index."""
    with pytest.raises(InputError, match="needs a property"):
        schema.create_index(LABEL)
    with pytest.raises(InputError, match="be a name"):
        schema.create_index("", "a")
    with pytest.raises(InputError, match="be a name"):
        schema.get_indexes("")
    with pytest.raises(TypeError, match="is text"):
        schema.create_uniqueness_constraint(LABEL, None)  # type: ignore[arg-type]

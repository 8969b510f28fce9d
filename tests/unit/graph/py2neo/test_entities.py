"""Nodes and relationships that are in no database."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo import Node, Relationship

texts = st.text(max_size=8)
values = st.one_of(st.integers(), st.booleans(), texts, st.lists(st.integers()))


def test_a_node_has_labels_and_properties() -> None:
    """Positional arguments are labels, keyword arguments properties."""
    node = Node("Person", "Employee", name="Alice", age=33)
    assert set(node.labels) == {"Person", "Employee"}
    assert dict(node) == {"name": "Alice", "age": 33}
    assert repr(node) == "Node('Employee', 'Person', age=33, name='Alice')"
    assert str(node) == "(:Employee:Person {age: 33, name: 'Alice'})"


def test_a_missing_property_is_none() -> None:
    """Brackets give None for a key that is not there, and get what stands in."""
    node = Node(name="Alice")
    assert node["age"] is None
    assert node.get("age", 3) == 3
    assert "age" not in node


def test_none_takes_a_property_away() -> None:
    """Setting None removes a key, in every way of setting."""
    node = Node(a=1, b=2, c=3, d=None)
    node["a"] = None
    node.update(b=None)
    node.update({"c": None})
    assert node.setdefault("e") is None
    assert dict(node) == {}
    assert not node


def test_deleting_a_missing_property_fails() -> None:
    """`del` of a key that is not there is a KeyError, as in a dictionary."""
    with pytest.raises(KeyError):
        del Node()["name"]


@given(st.dictionaries(texts, values))
def test_properties_are_a_dictionary(properties: dict[str, object]) -> None:
    """A node reads like the dictionary of its properties."""
    node = Node(**properties)
    assert dict(node) == properties
    assert len(node) == len(properties)
    assert json.loads(json.dumps(node)) == properties
    assert list(node.items()) == list(properties.items())


def test_labels_are_a_live_set() -> None:
    """What is done to the labels is done to the node."""
    node = Node("Person")
    labels = node.labels
    labels.add("Employee")
    labels.update(["Boss"])
    labels.discard("Nobody")
    labels.remove("Person")
    assert set(node.labels) == {"Employee", "Boss"}
    assert labels | {"Person"} == {"Employee", "Boss", "Person"}
    labels.clear()
    assert str(node) == "({})"


def test_labels_are_changed_by_methods_too() -> None:
    """The methods of py2neo 2021 do the same as the set."""
    node = Node("Person")
    node.add_label("Employee")
    node.update_labels(["Boss"])
    node.remove_label("Nobody")
    assert node.has_label("Boss")
    node.clear_labels()
    assert not node.labels


@pytest.mark.parametrize("label", [None, 3, ["Person"], ("Person",)])
def test_a_label_is_text(label: object) -> None:
    """A label of another type is refused at once."""
    with pytest.raises(TypeError, match="A label is text"):
        Node(label)  # type: ignore[arg-type]


def test_a_local_node_equals_itself_alone() -> None:
    """Labels and properties make no node equal to another."""
    node = Node("Person", name="Alice")
    assert node == node
    assert node != Node("Person", name="Alice")
    assert node != dict(node)
    assert {node: 1}[node] == 1


def test_a_relationship_has_a_class_by_its_type() -> None:
    """`Relationship.type` gives one class for a type, as does the constructor."""
    a, b = Node(name="Alice"), Node(name="Bob")
    knows = Relationship.type("KNOWS")
    edge = knows(a, b, since=1999)
    assert knows is Relationship.type("KNOWS")
    assert type(Relationship(a, "KNOWS", b)) is knows
    assert type(edge).__name__ == "KNOWS"
    assert (edge.start_node, edge.end_node) == (a, b)
    assert str(edge) == "(Alice)-[:KNOWS {since: 1999}]->(Bob)"


def test_a_subclass_has_its_own_name_as_type() -> None:
    """A class that a program writes names the type of its relationships."""

    class LIKES(Relationship):
        """A kind of relationship."""

    edge = LIKES(Node(name="Alice"), Node(name="Bob"))
    assert edge.types() == {"LIKES"}


def test_a_relationship_may_be_a_loop_or_have_no_type() -> None:
    """One node is both ends; without a type the class names it."""
    node = Node(name="Alice")
    assert Relationship(node, "LIKES").nodes == (node, node)
    assert Relationship(node, Node()).types() == {"Relationship"}


def test_local_relationships_are_equal_by_what_they_say() -> None:
    """Type, nodes and properties make local relationships equal."""
    a, b = Node(), Node()
    edge = Relationship(a, "KNOWS", b, since=1)
    assert edge == Relationship(a, "KNOWS", b, since=1)
    assert hash(edge) == hash(Relationship(a, "KNOWS", b, since=1))
    assert edge != Relationship(a, "KNOWS", b, since=2)
    assert edge != Relationship(b, "KNOWS", a, since=1)
    assert edge != Relationship(a, "LIKES", b, since=1)


@pytest.mark.parametrize(
    "nodes",
    [
        (),
        ("KNOWS", Node(), Node()),
        (Node(), "KNOWS", Node(), Node()),
        (Node(), "KNOWS", "Bob"),
        (Node(), None, Node()),
    ],
)
def test_a_relationship_joins_two_nodes(nodes: tuple[object, ...]) -> None:
    """Anything but one or two nodes is refused."""
    with pytest.raises(TypeError, match="relationship"):
        Relationship(*nodes)


def test_a_type_has_at_least_one_character() -> None:
    """An empty type is refused with py2neo's ValueError, which is ours too."""
    with pytest.raises(InputError, match="cannot be a name"):
        Relationship.type("")
    with pytest.raises(InputError, match="half of one"):
        Relationship.type("\ud800")


def test_names_that_are_no_identifiers_are_shown_escaped() -> None:
    """Backticks, spaces and emoji in names are escaped where Cypher is shown."""
    node = Node("A `B` \N{GRINNING FACE}", **{"a b": 1})
    assert str(node) == "(:`A ``B`` \N{GRINNING FACE}` {`a b`: 1})"
    assert repr(node) == "Node('A `B` \N{GRINNING FACE}', **{'a b': 1})"


def test_what_neo4j_refuses_can_be_shown() -> None:
    """A node with impossible names and values has a text for people."""
    node = Node("", "\0", **{"": 1, "\ud800": {1}})
    assert str(node) == "(:`\\x00` {``: 1, `\\ud800`: {1}})"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_are_local(copied: object) -> None:
    """A copy has the labels and properties, and is another node."""
    node = Node("Person", name="Alice")
    twin = copied(node)  # type: ignore[operator]
    assert (set(twin.labels), dict(twin)) == ({"Person"}, {"name": "Alice"})
    assert twin != node


def test_relationships_are_pickled_with_their_nodes() -> None:
    """A pickled relationship comes back with its type, nodes and properties."""
    edge = Relationship(Node("A", x=1), "KNOWS", Node("B"), since=1)
    twin = pickle.loads(pickle.dumps(edge))  # noqa: S301  (made here)
    assert (type(twin), dict(twin)) == (type(edge), {"since": 1})
    assert dict(twin.start_node) == {"x": 1}


def test_a_written_class_is_that_of_its_type() -> None:
    """`Relationship.type` and a type in the middle give the class that was written."""

    class WorksWith(Relationship):
        pass

    a, b = Node("Person"), Node("Person")
    assert Relationship.type("WorksWith") is WorksWith
    assert type(Relationship(a, "WorksWith", b, since=1)) is WorksWith
    assert type(copy.copy(WorksWith(a, b))) is WorksWith


def test_a_type_in_the_middle_wins_over_the_class() -> None:
    """A class that is called with another type makes one of that type."""
    edge = Relationship.type("KNOWS")(Node(), "LIKES", Node(), since=1)
    assert type(edge).__name__ == "LIKES"
    assert edge["since"] == 1
    assert len(edge.nodes) == 2


def test_any_word_of_python_is_a_property() -> None:
    """Keys that are names of arguments inside are keys all the same."""
    words = {"self": 1, "cls": 2}
    assert dict(Node("Person", **words)) == words
    assert dict(Relationship(Node(), "KNOWS", Node(), **words)) == words

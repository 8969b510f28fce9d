"""Paths, and how they are walked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo import Node, Path, Relationship, Subgraph, Walkable, walk

A, B, C, D = (Node("Person", name=name) for name in ("Alice", "Bob", "Carol", "Dave"))
AB = Relationship(A, "KNOWS", B)
BC = Relationship(B, "LIKES", C)
AC = Relationship(A, "WORKS_WITH", C)


def test_walkables_are_joined_by_plus() -> None:
    """A relationship that ends where the walk stands is walked backwards."""
    path = AB + BC + AC
    assert list(walk(path)) == [A, AB, B, BC, C, AC, A]
    assert (path.start_node, path.end_node, len(path)) == (A, A, 3)
    assert str(path) == (
        "(Alice)-[:KNOWS {}]->(Bob)-[:LIKES {}]->(Carol)<-[:WORKS_WITH {}]-(Alice)"
    )


def test_a_path_is_made_of_nodes_and_types() -> None:
    """A text between two nodes becomes a relationship of that type."""
    path = Path(A, "KNOWS", B, Relationship(C, "KNOWS", B), C)
    longer = Path(path, "KNOWS", Path(D, "KNOWS", Node(name="Eve")))
    assert path.nodes == (A, B, C)
    assert [str(edge) for edge in longer.relationships] == [
        "(Alice)-[:KNOWS {}]->(Bob)",
        "(Carol)-[:KNOWS {}]->(Bob)",
        "(Carol)-[:KNOWS {}]->(Dave)",
        "(Dave)-[:KNOWS {}]->(Eve)",
    ]


def test_a_path_is_cut_and_indexed_by_its_relationships() -> None:
    """An index gives a relationship, a slice a path."""
    path = AB + BC + AC
    assert (path[0], path[-1]) == (AB, AC)
    assert list(walk(path[1:3])) == [B, BC, C, AC, A]
    assert list(path) == [AB, BC, AC]


@given(st.integers(-4, 4), st.integers(-4, 4))
def test_a_cut_has_the_relationships_of_the_slice(start: int, stop: int) -> None:
    """Any slice of a path walks the relationships of that slice."""
    path = AB + BC + AC
    cut = path[start:stop]
    assert cut.relationships == path.relationships[start:stop]


def test_a_path_is_not_cut_with_a_step() -> None:
    """A step would leave gaps, and is refused."""
    with pytest.raises(InputError, match="without a step"):
        (AB + BC)[::2]


def test_paths_are_equal_by_what_they_walk() -> None:
    """Paths over the same nodes and relationships are equal, reversed ones not."""
    assert Path(A, AB, B, BC, C) == AB + BC
    assert hash(AB + BC) == hash(Path(AB, BC))
    assert Path(C, BC, B, AB, A) != AB + BC
    assert Walkable([A, AB, B]) == Path(AB)


@pytest.mark.parametrize("parts", [(A, B), (AB, C), (A, "KNOWS", B, AC)])
def test_a_gap_in_a_walk_is_refused(parts: tuple[object, ...]) -> None:
    """What does not continue the walk is named in the message."""
    with pytest.raises(InputError, match="neither starts nor ends at"):
        Path(*parts)


@pytest.mark.parametrize("parts", [(3,), ("KNOWS", A), (A, "KNOWS", "LIKES", B)])
def test_what_cannot_be_walked_is_refused(parts: tuple[object, ...]) -> None:
    """Texts and numbers in the wrong place are refused."""
    with pytest.raises(TypeError, match="cannot be walked"):
        Path(*parts)


def test_a_path_has_a_node() -> None:
    """A path of nothing is refused, and one of a node has no relationship."""
    assert len(Path(A)) == 0
    with pytest.raises(InputError, match="at least one node"):
        Path()


def test_what_is_equal_has_one_hash() -> None:
    """A path equals neither its relationship nor the subgraph of its members."""
    a, b = Node("Person"), Node("Person")
    edge = Relationship(a, "KNOWS", b)
    path = Path(a, edge, b)
    for other in (edge, Subgraph([a, b], [edge])):
        assert path != other
        assert other != path
    assert Path(a) != a
    assert path == Path(edge)
    assert hash(path) == hash(Path(edge))


def test_a_path_is_made_of_properties_and_none() -> None:
    """A dictionary is a node of these properties, None one without any."""
    path = Path({"name": "Alice"}, "KNOWS", {"name": "Bob"}, "KNOWS", None)
    assert str(path) == "(Alice)-[:KNOWS {}]->(Bob)-[:KNOWS {}]->()"
    assert dict(Path(None, "KNOWS", A).start_node) == {}
    assert Path(None).nodes[0].labels == set()
    with pytest.raises(InputError, match="neither starts nor ends at"):
        Path(A, None)

"""Subgraphs obey the algebra of sets, and keep the ends of what remains."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.py2neo import Node, Relationship, Subgraph

NODES = [Node("Person", number=number) for number in range(5)]
EDGES = [
    Relationship(start, kind, end, weight=weight)
    for start in NODES[:3]
    for end in NODES[1:4]
    for kind in ("KNOWS", "LIKES")
    for weight in (1, 2)
]

subgraphs = st.builds(
    Subgraph,
    st.lists(st.sampled_from(NODES), max_size=4),
    st.lists(st.sampled_from(EDGES), max_size=4),
)


def _ends(edges: set[Relationship]) -> set[Node]:
    """Return the nodes that relationships have."""
    return {node for edge in edges for node in edge.nodes}


@given(subgraphs, subgraphs)
def test_union_holds_all_of_both(one: Subgraph, other: Subgraph) -> None:
    """A union has the nodes and relationships of both, once."""
    both = one | other
    assert both.nodes() == one.nodes() | other.nodes()
    assert both.relationships() == one.relationships() | other.relationships()


@given(subgraphs, subgraphs)
def test_intersection_holds_what_is_common(one: Subgraph, other: Subgraph) -> None:
    """An intersection has what both have."""
    common = one & other
    assert common.nodes() == one.nodes() & other.nodes()
    assert common.relationships() == one.relationships() & other.relationships()


@given(subgraphs, subgraphs)
def test_difference_keeps_the_ends_of_relationships(
    one: Subgraph, other: Subgraph
) -> None:
    """A difference has what only the first has, and the ends of its relationships."""
    rest = one - other
    edges = one.relationships() - other.relationships()
    assert rest.relationships() == edges
    assert rest.nodes() == (one.nodes() - other.nodes()) | _ends(edges)


@given(subgraphs, subgraphs)
def test_symmetric_difference_keeps_the_ends_of_relationships(
    one: Subgraph, other: Subgraph
) -> None:
    """A symmetric difference has what one alone has, and the ends of that."""
    either = one ^ other
    edges = one.relationships() ^ other.relationships()
    assert either.relationships() == edges
    assert either.nodes() == (one.nodes() ^ other.nodes()) | _ends(edges)


@given(subgraphs, subgraphs)
def test_union_does_not_depend_on_the_order(one: Subgraph, other: Subgraph) -> None:
    """Unions of the same parts are equal, and so are their hashes."""
    assert one | other == other | one
    assert hash(one | other) == hash(other | one)


@given(subgraphs)
def test_every_subgraph_holds_the_ends_of_its_relationships(one: Subgraph) -> None:
    """There is no relationship without its nodes."""
    assert _ends(one.relationships()) <= one.nodes()


def test_members_keep_the_order_in_which_they_came() -> None:
    """Iteration gives relationships and nodes in the order of their coming."""
    subgraph = EDGES[5] | EDGES[1] | EDGES[3]
    assert list(subgraph) == [EDGES[5], EDGES[1], EDGES[3]]
    assert list(subgraph.nodes)[:2] == list(EDGES[5].nodes)


def test_a_subgraph_says_what_is_in_it() -> None:
    """Labels, types, keys, length and truth are those of the members."""
    subgraph = EDGES[0] | Node("Company", name="ACME")
    assert subgraph.labels() == {"Person", "Company"}
    assert subgraph.types() == {"KNOWS"}
    assert subgraph.keys() == {"number", "weight", "name"}
    assert len(subgraph) == 1
    assert not Subgraph()


@pytest.mark.parametrize("other", [None, 3, "text", {"a": 1}])
def test_only_subgraphs_are_joined(other: object) -> None:
    """What is no subgraph is refused with its value in the message."""
    with pytest.raises(TypeError, match="is no node"):
        NODES[0] | other


@pytest.mark.parametrize("name", ["__ior__", "__iand__", "__isub__", "__ixor__"])
def test_an_entity_is_not_turned_into_a_subgraph(name: str) -> None:
    """In-place operations on a node are refused, with what to write instead."""
    with pytest.raises(TypeError, match="write subgraph = a"):
        getattr(Node("Person"), name)(NODES[0])


@pytest.mark.thorough
def test_the_algebra_of_large_subgraphs_is_quick() -> None:
    """The work grows with the members, not with their square."""
    nodes = [Node("Person", number=number) for number in range(20_000)]
    whole, half = Subgraph(nodes), Subgraph(nodes[10_000:])
    began = time.process_time()
    assert len((whole & half).nodes) == 10_000
    assert len((whole - half).nodes) == 10_000
    assert len((whole ^ half).nodes) == 10_000
    assert whole == whole | half
    assert half.nodes <= whole.nodes
    assert whole.nodes >= half.nodes
    assert not whole.nodes.isdisjoint(half.nodes)
    assert time.process_time() - began < 5


@given(subgraphs, subgraphs)
def test_sets_of_members_are_sets(one: Subgraph, other: Subgraph) -> None:
    """Every comparison is that of plain sets."""
    ours, plain = (one.nodes, other.nodes), (one.nodes(), other.nodes())
    assert (ours[0] <= ours[1]) == (plain[0] <= plain[1])
    assert (ours[0] >= ours[1]) == (plain[0] >= plain[1])
    assert (ours[0] == ours[1]) == (plain[0] == plain[1])
    assert ours[0].isdisjoint(ours[1]) == plain[0].isdisjoint(plain[1])


@given(subgraphs, subgraphs, subgraphs)
def test_sets_of_members_have_the_methods_of_sets(
    one: Subgraph, other: Subgraph, third: Subgraph
) -> None:
    """Union, intersection and their like take any iterables, as a `frozenset` does."""
    ours, plain = one.nodes, one.nodes()
    for name in ("union", "intersection", "difference"):
        made = getattr(ours, name)(other.nodes, list(third.nodes))
        assert made == getattr(plain, name)(other.nodes, third.nodes), name
        assert getattr(ours, name)() == ours
    assert ours.symmetric_difference(list(other.nodes)) == plain ^ other.nodes()
    assert ours.issubset(list(other.nodes)) == (plain <= other.nodes())
    assert ours.issuperset(iter(third.nodes)) == (plain >= third.nodes())


def test_sets_of_members_keep_their_order() -> None:
    """The results have the order of the first set, then of the others."""
    ours = Subgraph(NODES[::-1]).nodes
    assert list(ours.intersection(NODES[1:4])) == [NODES[3], NODES[2], NODES[1]]
    assert list(ours.difference(NODES[:3]).union(NODES)) == [
        NODES[4],
        NODES[3],
        NODES[0],
        NODES[1],
        NODES[2],
    ]

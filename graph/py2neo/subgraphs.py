"""Subgraphs: sets of nodes and relationships, and the algebra of sets on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from graph.py2neo.entities import Node
    from graph.py2neo.graph import Graph
    from graph.py2neo.relationships import Relationship

__all__ = ["SetView", "Subgraph"]

T = TypeVar("T")


class SetView(Set[T]):
    """A set that keeps the order in which its members came.

    Members are looked up by what they equal now, so that a node that was bound in the
    meantime is still found. Calling the view gives a plain `frozenset`.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = tuple(dict.fromkeys(items))

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> SetView[Any]:
        """Make the result of a set operation."""
        return SetView(it)

    def __contains__(self, item: object) -> bool:
        """Return whether an equal member is in the set."""
        return item in frozenset(self._items)

    def __and__(self, other: Iterable[Any]) -> SetView[T]:
        """Return the members that the other has too, in the order here."""
        there = frozenset(other)
        return SetView(item for item in self._items if item in there)

    def __sub__(self, other: Iterable[Any]) -> SetView[T]:
        """Return the members that the other has not."""
        there = frozenset(other)
        return SetView(item for item in self._items if item not in there)

    def __xor__(self, other: Iterable[Any]) -> SetView[Any]:
        """Return the members that one of both has."""
        others = SetView(other)
        return SetView(chain(self - others, others - self))

    def __le__(self, other: Iterable[Any]) -> bool:
        """Return whether the other has all of the members."""
        return frozenset(self._items) <= frozenset(other)

    def __ge__(self, other: Iterable[Any]) -> bool:
        """Return whether it has all members of the other."""
        return frozenset(self._items) >= frozenset(other)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Return whether it has no member of the other."""
        return frozenset(self._items).isdisjoint(other)

    def __eq__(self, other: object) -> bool:
        """Return whether a set has equal members, in any order."""
        if not isinstance(other, Set):
            return NotImplemented
        return frozenset(self._items) == frozenset(other)

    def __iter__(self) -> Iterator[T]:
        """Yield the members in the order in which they came."""
        return iter(self._items)

    def __len__(self) -> int:
        """Count the members."""
        return len(self._items)

    def __call__(self) -> frozenset[T]:
        """Return the members as a plain set."""
        return frozenset(self._items)

    def __hash__(self) -> int:
        """Return the hash of an equal `frozenset`."""
        return hash(frozenset(self._items))

    def __repr__(self) -> str:
        """Return the members in braces."""
        return f"{{{', '.join(map(repr, self._items))}}}"


class Subgraph:
    """Nodes and relationships, each once; with every node that a relationship has.

    `|`, `&`, `-` and `^` are union, intersection, difference and symmetric
    difference of the nodes and of the relationships; the nodes at the ends of the
    relationships that remain always stay. The members keep the order of their coming.

    Args:
        nodes: Nodes to hold.
        relationships: Relationships to hold, whose nodes are held too.
    """

    def __init__(
        self,
        nodes: Iterable[Node] | None = None,
        relationships: Iterable[Relationship] | None = None,
    ) -> None:
        edges = tuple(relationships or ())
        ends = chain.from_iterable(edge.nodes for edge in edges)
        self._nodes: tuple[Node, ...] = tuple(chain(nodes or (), ends))
        self._relationships: tuple[Relationship, ...] = edges

    @property
    def nodes(self) -> Any:
        """Return the nodes: a set here, a tuple of what can be walked."""
        return SetView(self._nodes)

    @property
    def relationships(self) -> Any:
        """Return the relationships: a set here, a tuple of what can be walked."""
        return SetView(self._relationships)

    @property
    def graph(self) -> Graph | None:
        """Return the graph that all members are bound to, None where there is none."""
        graphs = [entity.graph for entity in chain(self.nodes, self.relationships)]
        first = graphs[0] if graphs else None
        return first if all(graph == first for graph in graphs) else None

    def labels(self) -> frozenset[str]:
        """Return all labels of the nodes."""
        return frozenset(chain.from_iterable(n.labels for n in self.nodes))

    def types(self) -> frozenset[str]:
        """Return the types of the relationships."""
        return frozenset(type(edge).__name__ for edge in self.relationships)

    def keys(self) -> Any:
        """Return the property keys of all nodes and relationships."""
        entities = chain(self.nodes, self.relationships)
        return frozenset(chain.from_iterable(dict(entity) for entity in entities))

    def __or__(self, other: Any) -> Subgraph:
        """Return all that is in either."""
        other = checked_subgraph(other)
        return Subgraph(
            chain(self.nodes, other.nodes),
            SetView(chain(self.relationships, other.relationships)),
        )

    def __and__(self, other: Any) -> Subgraph:
        """Return all that is in both."""
        other = checked_subgraph(other)
        return Subgraph(
            SetView(self.nodes) & SetView(other.nodes),
            SetView(self.relationships) & SetView(other.relationships),
        )

    def __sub__(self, other: Any) -> Subgraph:
        """Return all that is here and not there, with the ends of what remains."""
        other = checked_subgraph(other)
        return Subgraph(
            SetView(self.nodes) - SetView(other.nodes),
            SetView(self.relationships) - SetView(other.relationships),
        )

    def __xor__(self, other: Any) -> Subgraph:
        """Return all that is in one alone, with the ends of what remains."""
        other = checked_subgraph(other)
        return Subgraph(
            SetView(self.nodes) ^ SetView(other.nodes),
            SetView(self.relationships) ^ SetView(other.relationships),
        )

    def __eq__(self, other: object) -> bool:
        """Return whether both have equal nodes and relationships."""
        if not isinstance(other, Subgraph):
            return NotImplemented
        return SetView(self.nodes) == SetView(other.nodes) and SetView(
            self.relationships
        ) == SetView(other.relationships)

    def __hash__(self) -> int:
        """Return a hash of nodes and relationships."""
        return hash((SetView(self.nodes), SetView(self.relationships)))

    def __len__(self) -> int:
        """Count the relationships."""
        return len(self.relationships)

    def __iter__(self) -> Iterator[Any]:
        """Yield the relationships."""
        return iter(self.relationships)

    def __bool__(self) -> bool:
        """Return whether there is any node or relationship."""
        return bool(self.nodes) or bool(self.relationships)

    def __repr__(self) -> str:
        """Return the sets of nodes and relationships."""
        return f"Subgraph({SetView(self.nodes)!r}, {SetView(self.relationships)!r})"


def checked_subgraph(value: object) -> Subgraph:
    """Return a value if it is a node, a relationship or more of them.

    Raises:
        TypeError: If it is anything else.
    """
    if not isinstance(value, Subgraph):
        msg = (
            f"{value!r} is no node, relationship, path or subgraph, so that it cannot "
            "be joined with one."
        )
        raise TypeError(msg)
    return value

"""Entities and nodes: local things that may be bound to stored ones.

`identity` is the element id that the server gave: a text such as
`4:0cbd9f2c-3b7e-4b8a-9f9d-3f0c8f4f6a11:17`, of the same form on Neo4j 5.26 and 2026.x.
It names one entity of all databases while that lives; another entity may get it after
a deletion, and it must not be taken apart. py2neo had a number here, from a function
that Neo4j has since deprecated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import TYPE_CHECKING, Any, Self

from graph.py2neo.cypher_writing import key_text, value_text
from graph.py2neo.properties import PropertyDict
from graph.py2neo.walkables import Walkable

if TYPE_CHECKING:
    from graph.py2neo.graph import Graph
    from graph.py2neo.hydration import Hydrant
    from graph.py2neo.relationships import Relationship

__all__ = ["Entity", "LabelSet", "Node"]


class Entity(PropertyDict, Walkable):  # type: ignore[misc]
    """A node or a relationship: properties, and what it is bound to.

    Both bases have `keys`, `len` and brackets: here they are those of the properties.

    Attributes:
        graph: The graph that it is stored in, None while it is local only.
        identity: The server's element id there, None while it is local only.
    """

    graph: Graph | None = None
    identity: str | None = None
    _stale: Hydrant | None = None

    def _bind(self, graph: Graph | None, identity: str | None) -> None:
        """Say which stored entity this one stands for, or that it stands for none."""
        self.graph = graph
        self.identity = identity
        self._stale = None

    def _bound_to(self, graph: Graph) -> bool:
        """Return whether it stands for an entity of a graph."""
        return self.identity is not None and self.graph == graph

    def _freshen(self) -> None:
        """Read labels and properties, where only the identity is known so far."""
        if self._stale is not None:
            self._stale.read_stale()

    def __or__(self, other: Any) -> Any:
        """Return the subgraph of this and another."""
        return Walkable.__or__(self, other)

    def __ror__(self, other: Any) -> Any:
        """Refuse to be joined with what is no subgraph."""
        return NotImplemented

    def __ior__(self, other: Any) -> Self:  # type: ignore[override]
        """Refuse: an entity stays one entity."""
        return self._refuse("|=", "|")

    def __iand__(self, other: Any) -> Self:
        """Refuse: an entity stays one entity."""
        return self._refuse("&=", "&")

    def __isub__(self, other: Any) -> Self:
        """Refuse: an entity stays one entity."""
        return self._refuse("-=", "-")

    def __ixor__(self, other: Any) -> Self:
        """Refuse: an entity stays one entity."""
        return self._refuse("^=", "^")

    def _refuse(self, written: str, instead: str) -> Self:
        """Say how to write what would change an entity into a subgraph."""
        msg = (
            f"{written} cannot turn a {type(self).__name__} into a subgraph: write "
            f"subgraph = a {instead} b."
        )
        raise TypeError(msg)

    def _written_properties(self) -> str:
        """Return the properties as the keyword arguments that make them."""
        pairs = sorted(self.items())
        if all(key.isidentifier() for key, _ in pairs):
            return ", ".join(f"{key}={value!r}" for key, value in pairs)
        return f"**{dict(pairs)!r}"


class LabelSet(MutableSet[str]):
    """The labels of a node, live: what is added here is added to the node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> set[Any]:
        """Make the result of a set operation."""
        return set(it)

    def _held(self) -> dict[str, None]:
        """Return the labels of the node, read where that has not been done."""
        self._node._freshen()
        return self._node._labels

    def __contains__(self, label: object) -> bool:
        """Return whether the node has a label."""
        return label in self._held()

    def __iter__(self) -> Iterator[str]:
        """Yield the labels in alphabetical order."""
        return iter(sorted(self._held()))

    def __len__(self) -> int:
        """Count the labels."""
        return len(self._held())

    def add(self, value: str) -> None:
        """Give the node a label."""
        self._held()[checked_label(value)] = None
        self._node._gone = self._node._gone - {value}

    def discard(self, value: str) -> None:
        """Take a label from the node, if it has it."""
        if value in self:
            self._held().pop(value)
            self._node._gone = self._node._gone | {value}

    def clear(self) -> None:
        """Take all labels from the node."""
        self._node._gone = self._node._gone | set(self)
        self._held().clear()

    def update(self, labels: Iterable[str]) -> None:
        """Give the node more labels."""
        for label in labels:
            self.add(label)

    def __repr__(self) -> str:
        """Return the labels as Cypher writes them."""
        return "".join(f":{key_text(label)}" for label in self if label)


def checked_label(label: object) -> str:
    """Return a label.

    Raises:
        TypeError: If it is no text.
    """
    if not isinstance(label, str):
        msg = f"A label is text, not {type(label).__name__}: {label!r}."
        raise TypeError(msg)
    return label


class Node(Entity):
    """A node, local until it is created in or merged into a graph.

    Two nodes are equal when they stand for the same stored node, and a local node is
    equal to nothing but itself; labels and properties do not count. So the hash of a
    node changes when it is bound.

    Args:
        labels: Its labels.
        properties: Its properties; None is none.

    Example:
        ```python
        alice = Node("Person", name="Alice")
        ```
    """

    __primarylabel__: str | None = None
    __primarykey__: str | tuple[str, ...] | None = None
    _gone: frozenset[str] = frozenset()
    """Labels taken away here, for `push`."""

    def __init__(self, /, *labels: str, **properties: Any) -> None:
        self._labels = {checked_label(label): None for label in labels}
        super().__init__(**properties)

    @classmethod
    def _of(cls, labels: Iterable[str], properties: dict[str, Any]) -> Node:
        """Make a node of what the server sent."""
        node = Node.__new__(Node)
        node._labels = dict.fromkeys(labels)
        dict.update(node, properties)
        return node

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the node itself."""
        return (self,)

    @property
    def relationships(self) -> tuple[Relationship, ...]:
        """Return nothing."""
        return ()

    def __walk__(self) -> Iterator[Any]:
        """Yield the node."""
        yield self

    @property
    def labels(self) -> LabelSet:  # type: ignore[override]
        """Return the labels as a live set."""
        return LabelSet(self)

    def has_label(self, label: str) -> bool:
        """Return whether it has a label."""
        return label in self.labels

    def add_label(self, label: str) -> None:
        """Give it a label."""
        self.labels.add(label)

    def remove_label(self, label: str) -> None:
        """Take a label away, if it has it."""
        self.labels.discard(label)

    def clear_labels(self) -> None:
        """Take all labels away."""
        self.labels.clear()

    def update_labels(self, labels: Iterable[str]) -> None:
        """Give it more labels."""
        self.labels.update(labels)

    def __eq__(self, other: object) -> bool:
        """Return whether both stand for the same stored node, or are one object."""
        if self is other:
            return True
        if not isinstance(other, Node) or self.identity is None:
            return False
        return same_place(self, other)

    def __ne__(self, other: object) -> bool:
        """Return whether they are not equal."""
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        """Return the hash of the identity, or of the local object."""
        return hash(id(self) if self.identity is None else self.identity)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        parts = [repr(label) for label in self.labels]
        if self:
            parts.append(self._written_properties())
        return f"Node({', '.join(parts)})"

    def __str__(self) -> str:
        """Return it as Cypher writes it."""
        labels = repr(self.labels)
        body = literal_text(self)
        return f"({labels} {body})" if labels else f"({body})"

    def __reduce__(self) -> Any:
        """Copy and pickle as a local node."""
        return _local_node, (tuple(self.labels), dict(self))


def same_place(one: Entity, other: Entity) -> bool:
    """Return whether two bound entities are of one service and have one identity."""
    if one.identity != other.identity or one.graph is None or other.graph is None:
        return False
    return one.graph.service == other.graph.service


def _local_node(labels: tuple[str, ...], properties: dict[str, Any]) -> Node:
    """Make a local node of what was pickled."""
    return Node._of(labels, properties)


def literal_text(entity: Entity) -> str:
    """Return properties as Cypher writes them, by key; others as Python does."""
    pairs = sorted(entity.items())
    parts = (f"{key_text(key)}: {value_text(value)}" for key, value in pairs)
    return f"{{{', '.join(parts)}}}"

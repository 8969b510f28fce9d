"""Relationships: typed arrows between nodes, with a class for each type."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from graph.py2neo.cypher_writing import cypher_escape
from graph.py2neo.entities import Entity, Node, literal_text, same_place

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Relationship"]

_TYPES: dict[str, type[Relationship]] = {}
"""Classes of relationships by type: written with `class`, or made when needed."""
_LOCK = Lock()


class Relationship(Entity):
    """A relationship of a type from one node to another, or to itself.

    Its class is named by its type: `Relationship(a, "KNOWS", b)` is of the class
    `Relationship.type("KNOWS")`, and a subclass written with `class` has its own name
    as type. Two are equal when they stand for the same stored relationship; while one
    of them is local, when type, nodes and properties are equal.

    Args:
        nodes: Start node, type and end node; without the type it is the name of the
            class, without the end node it ends where it starts.
        properties: Its properties; None is none.

    Raises:
        TypeError: If there is no node, more than two, or something else between them.
    """

    def __new__(cls, /, *nodes: Any, **properties: Any) -> Relationship:
        """Choose the class by the type that is named."""
        named = nodes[1] if len(nodes) > 1 and isinstance(nodes[1], str) else None
        if named is None or named == cls.__name__ != "Relationship":
            return super().__new__(cls)
        made = super().__new__(Relationship.type(named))
        if not isinstance(made, cls):  # or else Python makes the call
            Relationship.__init__(made, *nodes, **properties)
        return made

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the class that of all relationships with its name as type."""
        super().__init_subclass__(**options)
        _TYPES[cls.__name__] = cls

    def __init__(self, /, *nodes: Any, **properties: Any) -> None:
        if not nodes:
            msg = "A relationship has a start node: give one."
            raise TypeError(msg)
        if len(nodes) > 1 and isinstance(nodes[1], str):
            nodes = (nodes[0], *nodes[2:])
        if len(nodes) > 2:
            msg = f"A relationship has two ends, not {len(nodes)}."
            raise TypeError(msg)
        for node in nodes:
            if not isinstance(node, Node):
                msg = f"A relationship joins nodes; {node!r} is none."
                raise TypeError(msg)
        self._ends: tuple[Node, Node] = (nodes[0], nodes[-1])
        super().__init__(**properties)

    @staticmethod
    def type(name: str) -> _Class:
        """Return the class of the relationships of a type.

        Args:
            name: The type, such as `KNOWS`.

        Raises:
            InputError: If it is empty.
            TypeError: If it is no text.
        """
        made = _TYPES.get(name) if isinstance(name, str) else None
        if made is not None:
            return made
        cypher_escape(name)
        with _LOCK:
            made = _TYPES.get(name)
            if made is None:
                body = {"__module__": Relationship.__module__}
                made = _new_class(name, (Relationship,), body)
        return made

    @classmethod
    def _of(cls, name: str, ends: tuple[Node, Node], properties: dict[str, Any]) -> Any:
        """Make a relationship of what the server sent."""
        made = Relationship.type(name)
        edge = Entity.__new__(made)
        edge._ends = ends
        dict.update(edge, properties)
        return edge

    @property
    def nodes(self) -> tuple[Node, Node]:
        """Return start and end node."""
        return self._ends

    @property
    def relationships(self) -> tuple[Relationship, ...]:
        """Return the relationship itself."""
        return (self,)

    def __walk__(self) -> Iterator[Any]:
        """Yield start node, relationship and end node."""
        yield self._ends[0]
        yield self
        yield self._ends[1]

    def __eq__(self, other: object) -> bool:
        """Return whether both stand for the same, see the class."""
        if self is other:
            return True
        if not isinstance(other, Relationship):
            return False
        if self.identity is not None and other.identity is not None:
            return same_place(self, other)
        return (
            type(self).__name__ == type(other).__name__
            and self._ends == other._ends
            and dict(self) == dict(other)
        )

    def __ne__(self, other: object) -> bool:
        """Return whether they are not equal."""
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        """Return a hash of type and nodes."""
        return hash((type(self).__name__, self._ends))

    def __bool__(self) -> bool:
        """Return True: there is a relationship, whatever its properties."""
        return True

    def __repr__(self) -> str:
        """Return the call that makes it."""
        parts = [repr(node) for node in self._ends]
        if len(self):
            parts.append(self._written_properties())
        return f"{type(self).__name__}({', '.join(parts)})"

    def __str__(self) -> str:
        """Return it as Cypher draws it, nodes by their names."""
        start, end = map(name_text, self._ends)
        return f"({start})-{arrow_text(self)}->({end})"

    def __reduce__(self) -> Any:
        """Copy and pickle as a local relationship."""
        return _local_edge, (type(self).__name__, self._ends, dict(self))


_new_class = type
_Class: TypeAlias = "type[Relationship]"


def _local_edge(
    name: str, ends: tuple[Node, Node], properties: dict[str, Any]
) -> Relationship:
    """Make a local relationship of what was pickled."""
    return Relationship._of(name, ends, properties)  # type: ignore[no-any-return]


def name_text(node: Node) -> str:
    """Return the name of a node for people, empty where it has none."""
    name = node["name"]
    return name if isinstance(name, str) else ""


def arrow_text(edge: Relationship) -> str:
    """Return the middle of an arrow: type and properties in brackets."""
    return f"[:{type(edge).__name__} {literal_text(edge)}]"

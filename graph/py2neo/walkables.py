"""Walkables and paths: subgraphs with an order in which they are walked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.errors import InputError
from graph.py2neo.subgraphs import Subgraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graph.py2neo.entities import Node
    from graph.py2neo.relationships import Relationship

__all__ = ["Path", "Walkable", "walk"]


class Walkable(Subgraph):
    """A subgraph that is walked: node, relationship, node, and so on.

    Args:
        iterable: Nodes and relationships in turn, a node first and last.
    """

    def __init__(self, iterable: Iterable[Any]) -> None:
        self._sequence: tuple[Any, ...] = tuple(iterable)

    def __walk__(self) -> Iterator[Any]:
        """Yield nodes and relationships in the order of the walk."""
        yield from self._sequence

    @property
    def nodes(self) -> Any:
        """Return the nodes in the order of the walk, each as often as it is met."""
        return self._sequence[0::2]

    @property
    def relationships(self) -> Any:
        """Return the relationships in the order of the walk."""
        return self._sequence[1::2]

    @property
    def start_node(self) -> Node:
        """Return the node at which the walk begins."""
        return self.nodes[0]  # type: ignore[no-any-return]

    @property
    def end_node(self) -> Node:
        """Return the node at which the walk ends."""
        return self.nodes[-1]  # type: ignore[no-any-return]

    def __add__(self, other: Any) -> Path:
        """Return the path that walks this and then the other.

        Raises:
            InputError: If the other neither starts nor ends where this ends.
        """
        return Path(self, other)

    def __getitem__(self, index: Any) -> Any:
        """Return one relationship, or the path of a slice of them."""
        if not isinstance(index, slice):
            return self.relationships[index]
        start, stop, step = index.indices(len(self))
        if step != 1:
            msg = "A path can be cut without a step only: write path[1:3]."
            raise InputError(msg)
        return Path._walked(self._sequence[2 * start : 2 * max(start, stop) + 1])

    def __eq__(self, other: object) -> bool:
        """Return whether both walk the same nodes and relationships in order."""
        from graph.py2neo.entities import Entity

        if not isinstance(other, Walkable) or isinstance(other, Entity):
            return False
        return tuple(walk(self)) == tuple(walk(other))

    def __hash__(self) -> int:
        """Return a hash of the walk."""
        return hash(self._sequence)

    def __repr__(self) -> str:
        """Return the class with the parts of the walk."""
        return f"{type(self).__name__}({', '.join(map(repr, self._sequence))})"


class Path(Walkable):
    """A walk through a graph, over relationships in either direction.

    Args:
        entities: Nodes, relationships and paths that follow each other; a text between
            two of them becomes a relationship of that type.

    Raises:
        InputError: If one does not continue where the one before ends.
        TypeError: If something cannot be walked.
    """

    def __init__(self, *entities: Any) -> None:
        from graph.py2neo.relationships import Relationship

        if not entities:
            msg = "A path has at least one node: give one."
            raise InputError(msg)
        joined: list[Any] = []
        for place, entity in enumerate(entities):
            if isinstance(entity, str) and 0 < place < len(entities) - 1:
                before, after = entities[place - 1], entities[place + 1]
                start = before if isinstance(before, Walkable) else None
                end = after if isinstance(after, Walkable) else None
                if start is not None and end is not None:
                    entity = Relationship(start.end_node, entity, end.start_node)
            joined.append(entity)
        super().__init__(walk(*joined))

    @classmethod
    def _walked(cls, sequence: Iterable[Any]) -> Path:
        """Make a path of a sequence that is known to be a walk."""
        path = cls.__new__(cls)
        Walkable.__init__(path, sequence)
        return path

    @staticmethod
    def walk(*walkables: Any) -> Iterator[Any]:
        """Yield what `walk` yields."""
        return walk(*walkables)

    def __repr__(self) -> str:
        """Return the first node and the relationships."""
        parts = (self.start_node, *self.relationships)
        return f"Path({', '.join(map(repr, parts))})"

    def __str__(self) -> str:
        """Return the path as Cypher draws it, arrows in the stored direction."""
        from graph.py2neo.relationships import arrow_text, name_text

        text = f"({name_text(self.start_node)})"
        for edge, node in zip(self.relationships, self.nodes[1:], strict=True):
            forward = edge.end_node == node
            arrow = arrow_text(edge)
            text += f"-{arrow}->" if forward else f"<-{arrow}-"
            text += f"({name_text(node)})"
        return text


def walk(*walkables: Any) -> Iterator[Any]:
    """Yield the nodes and relationships of walkables, one after the other.

    A walkable that ends where the last one ended is walked backwards.

    Args:
        *walkables: Nodes, relationships and paths.

    Raises:
        InputError: If one neither starts nor ends where the one before ended.
        TypeError: If something cannot be walked.
    """
    end: Node | None = None
    for walkable in walkables:
        if not isinstance(walkable, Walkable):
            msg = f"{walkable!r} cannot be walked: give nodes, relationships or paths."
            raise TypeError(msg)
        steps: list[Node | Relationship] = list(walkable.__walk__())
        if end is None:
            yield steps[0]
        elif steps[0] != end:
            if steps[-1] != end:
                msg = f"{walkable!r} neither starts nor ends at {end!r}."
                raise InputError(msg)
            steps.reverse()
        yield from steps[1:]
        end = steps[-1]  # type: ignore[assignment]

"""What py2neo has in `py2neo.data`: nodes, relationships, subgraphs and paths.

`identity` is the element id that the server gave: a text such as
`4:0cbd9f2c-3b7e-4b8a-9f9d-3f0c8f4f6a11:17`, of the same form on Neo4j 5.26 and 2026.x.
It names one entity of all databases while that lives; another entity may get it after
a deletion, and it must not be taken apart. py2neo had a number here, from a function
that Neo4j has since deprecated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSet, Set
from functools import wraps
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo.cypher_writing import cypher_escape, key_text, value_text
from knowtrail.graph.py2neo.errors import UniquenessError as UniquenessError

if TYPE_CHECKING:
    from knowtrail.graph.py2neo.database import Graph

T = TypeVar("T")


class SetView(Set[T]):
    """A set that keeps the order in which its members came.

    Members are looked up by what they equal now, so that a node that was bound in the
    meantime is still found. Calling the view gives a plain `frozenset`; the methods of
    one, and the operators, take any iterable.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = tuple(dict.fromkeys(items))

    def __call__(self) -> frozenset[T]:
        """Return a plain set of the members."""
        return frozenset(self._items)

    def union(self, *others: Iterable[Any]) -> SetView[Any]:
        """Return the members of all."""
        return SetView(chain(self, *others))

    def intersection(self, *others: Iterable[Any]) -> SetView[T]:
        """Return the members that all others have too, in the order here."""
        return SetView(filter(self().intersection(*others).__contains__, self))

    def difference(self, *others: Iterable[Any]) -> SetView[T]:
        """Return the members that no other has."""
        return SetView(filter(self().difference(*others).__contains__, self))

    def symmetric_difference(self, other: Iterable[Any]) -> SetView[Any]:
        """Return the members that one of both has."""
        others = SetView(other)
        return self.difference(others).union(others.difference(self))

    def issubset(self, other: Iterable[Any]) -> bool:
        """Return whether the other has all of the members."""
        return self() <= frozenset(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        """Return whether it has all members of the other."""
        return self() >= frozenset(other)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Return whether it has no member of the other."""
        return self().isdisjoint(other)

    __or__, __and__, __sub__ = union, intersection, difference
    __xor__, __le__, __ge__ = symmetric_difference, issubset, issuperset

    def __contains__(self, item: object) -> bool:
        return item in self()

    def __eq__(self, other: object) -> bool:
        return self() == frozenset(other) if isinstance(other, Set) else NotImplemented

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(self())

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self))}}}"


class Subgraph:
    """Nodes and relationships, each once; with every node that a relationship has.

    `|`, `&`, `-` and `^` are union, intersection, difference and symmetric
    difference of the nodes and of the relationships; the nodes at the ends of the
    relationships that remain always stay. The members keep the order of their coming.
    """

    def __init__(
        self,
        nodes: Iterable[Node] | None = None,
        relationships: Iterable[Relationship] | None = None,
    ) -> None:
        self._relationships = tuple(relationships or ())
        ends = chain.from_iterable(edge.nodes for edge in self._relationships)
        self._nodes: tuple[Node, ...] = tuple(chain(nodes or (), ends))

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

    def _joined(self, other: Any, way: Callable[[Any, Any], Any]) -> Subgraph:
        if not isinstance(other, Subgraph):
            raise TypeError(
                f"{other!r} is no node, relationship, path or subgraph, so that it "
                "cannot be joined with one."
            )
        pairs = zip(self._sets(), other._sets(), strict=True)
        return Subgraph(*(way(ours, theirs) for ours, theirs in pairs))

    def _sets(self) -> tuple[SetView[Any], SetView[Any]]:
        return SetView(self.nodes), SetView(self.relationships)

    def __or__(self, other: Any) -> Subgraph:
        return self._joined(other, SetView.union)

    def __and__(self, other: Any) -> Subgraph:
        return self._joined(other, SetView.intersection)

    def __sub__(self, other: Any) -> Subgraph:
        return self._joined(other, SetView.difference)

    def __xor__(self, other: Any) -> Subgraph:
        return self._joined(other, SetView.symmetric_difference)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Subgraph):
            return NotImplemented
        return self._sets() == other._sets()

    def __hash__(self) -> int:
        return hash(self._sets())

    def __len__(self) -> int:
        return len(self.relationships)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.relationships)

    def __bool__(self) -> bool:
        return bool(self.nodes) or bool(self.relationships)

    def __repr__(self) -> str:
        return f"Subgraph({', '.join(map(repr, self._sets()))})"


class Walkable(Subgraph):
    """A subgraph that is walked: node, relationship, node, and so on."""

    def __init__(self, iterable: Iterable[Any]) -> None:
        self._sequence: tuple[Any, ...] = tuple(iterable)

    def __walk__(self) -> Iterator[Any]:
        yield from self._sequence

    @property
    def nodes(self) -> Any:
        """Return the nodes in the order of the walk, each as often as it is met."""
        return tuple(self.__walk__())[0::2]

    @property
    def relationships(self) -> Any:
        """Return the relationships in the order of the walk."""
        return tuple(self.__walk__())[1::2]

    @property
    def start_node(self) -> Node:
        """Return the node at which the walk begins."""
        return self.nodes[0]  # type: ignore[no-any-return]

    @property
    def end_node(self) -> Node:
        """Return the node at which the walk ends."""
        return self.nodes[-1]  # type: ignore[no-any-return]

    def __add__(self, other: Any) -> Path:
        return Path(self, other)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self.relationships[index]
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise InputError("A path can be cut without a step only: write path[1:3].")
        return Path._walked(self._sequence[2 * start : 2 * max(start, stop) + 1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Walkable) or isinstance(other, Entity):
            return False
        return tuple(walk(self)) == tuple(walk(other))

    def __hash__(self) -> int:
        return hash(self._sequence)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._sequence))})"


class Path(Walkable):
    """A walk through a graph, over relationships in either direction.

    A dictionary becomes a node with these properties, None a node without any, and a
    text between two of them a relationship of that type:
    `Path({"name": "Alice"}, "KNOWS", None)`.
    """

    def __init__(self, *entities: Any) -> None:
        if not entities:
            raise InputError("A path has at least one node: give one.")
        parts = [
            Node(**(part or {})) if part is None or type(part) is dict else part
            for part in entities
        ]
        for place in range(1, len(parts) - 1):
            before, name, after = parts[place - 1 : place + 2]
            joins = isinstance(before, Walkable) and isinstance(after, Walkable)
            if joins and isinstance(name, str):
                parts[place] = Relationship(before.end_node, name, after.start_node)
        super().__init__(walk(*parts))

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
        parts = (self.start_node, *self.relationships)
        return f"Path({', '.join(map(repr, parts))})"

    def __str__(self) -> str:
        text = f"({_name_text(self.start_node)})"
        for edge, node in zip(self.relationships, self.nodes[1:], strict=True):
            left, right = ("-", "->") if edge.end_node == node else ("<-", "-")
            text += f"{left}{_arrow_text(edge)}{right}({_name_text(node)})"
        return text


def walk(*walkables: Any) -> Iterator[Any]:
    """Yield the nodes and relationships of walkables that continue each other.

    A walkable that ends where the last one ended is walked backwards.
    """
    end: Any = None
    for walkable in walkables:
        if not isinstance(walkable, Walkable):
            msg = f"{walkable!r} cannot be walked: give nodes, relationships or paths."
            raise TypeError(msg)
        steps = list(walkable.__walk__())
        if end is None:
            yield steps[0]
        elif steps[0] != end:
            if steps[-1] != end:
                raise InputError(f"{walkable!r} neither starts nor ends at {end!r}.")
            steps.reverse()
        yield from steps[1:]
        end = steps[-1]


class Entity(dict[str, Any], Walkable):  # type: ignore[misc]
    """A node or a relationship: properties by key, and what it is bound to.

    A key that is missing has the value None, and setting None takes a key away. What
    is known only by its identity is read from the server before anything is looked up.
    `graph` and `identity`, the server's element id there, are None while it is local.
    """

    graph: Graph | None = None
    identity: str | None = None
    _stale: Any = None
    """What reads labels and properties, where only the identity is known so far."""

    def __init__(self, /, *args: Any, **properties: Any) -> None:
        super().__init__()
        self.update(*args, **properties)

    def _bind(self, graph: Graph | None, identity: str | None) -> None:
        self.graph = graph
        self.identity = identity
        self._stale = None

    def _bound_to(self, graph: Graph) -> bool:
        return self.identity is not None and self.graph == graph

    def _freshen(self) -> None:
        if self._stale is not None:
            self._stale.read_stale()

    def _replace(self, properties: dict[str, Any]) -> None:
        """Hold other properties, without a look at the server."""
        dict.clear(self)
        dict.update(self, properties)

    def __getitem__(self, key: str) -> Any:
        return self.get(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            msg = f"A property key is text, not {type(key).__name__}: {key!r}."
            raise TypeError(msg)
        if value is None:
            self.pop(key, None)
        else:
            self._freshen()
            super().__setitem__(key, value)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, and set it first where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, /, *args: Any, **properties: Any) -> None:
        """Set many values; None takes a key away."""
        for key, value in dict(*args, **properties).items():
            self[key] = value

    __or__ = Walkable.__or__  # type: ignore[assignment]

    def __ror__(self, other: Any) -> Any:
        return NotImplemented

    def __bool__(self) -> bool:
        return len(self) > 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _same_place(self, other: Entity) -> bool:
        if self.identity != other.identity or self.graph is None or other.graph is None:
            return False
        return self.graph.service == other.graph.service

    def _call_text(self, name: str, parts: Iterable[object]) -> str:
        """Return the call that makes it of these parts and its properties."""
        pairs = sorted(self.items())
        named = [f"{key}={value!r}" for key, value in pairs]
        if not all(key.isidentifier() for key, _ in pairs):
            named = [f"**{dict(pairs)!r}"]
        return f"{name}({', '.join([*map(repr, parts), *named])})"


def _read_first(name: str) -> Callable[..., Any]:
    """Return a method of `dict` that reads what is known by its identity only."""
    method = getattr(dict, name)

    @wraps(method)
    def read(self: Entity, *args: Any) -> Any:
        self._freshen()
        return method(self, *args)

    return read


def _refused(sign: str) -> Callable[..., Any]:
    """Return an operator that says how to write what would change an entity."""

    def refuse(self: Entity, other: object) -> Any:
        raise TypeError(
            f"{sign}= cannot turn a {type(self).__name__} into a subgraph: write "
            f"subgraph = a {sign} b."
        )

    return refuse


for _name in ("clear", "copy", "get", "items", "keys", "pop", "popitem", "values"):
    setattr(Entity, _name, _read_first(_name))
for _name in ("__contains__", "__delitem__", "__iter__", "__len__"):
    setattr(Entity, _name, _read_first(_name))
for _name, _sign in {"ior": "|", "iand": "&", "isub": "-", "ixor": "^"}.items():
    setattr(Entity, f"__{_name}__", _refused(_sign))


class LabelSet(MutableSet[str]):
    """The labels of a node, live: what is added here is added to the node."""

    _from_iterable = set  # of which the operators make their results

    def __init__(self, node: Node) -> None:
        self._node = node

    def _held(self) -> dict[str, None]:
        self._node._freshen()
        return self._node._labels

    def __contains__(self, label: object) -> bool:
        return label in self._held()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._held()))

    def __len__(self) -> int:
        return len(self._held())

    def add(self, value: str) -> None:
        """Give the node a label."""
        self._held()[_checked_label(value)] = None
        self._node._gone -= {value}

    def discard(self, value: str) -> None:
        """Take a label from the node, if it has it."""
        if value in self:
            self._held().pop(value)
            self._node._gone |= {value}

    def update(self, labels: Iterable[str]) -> None:
        """Give the node more labels."""
        for label in labels:
            self.add(label)

    def __repr__(self) -> str:
        return "".join(f":{key_text(label)}" for label in self if label)


def _checked_label(label: object) -> str:
    if not isinstance(label, str):
        raise TypeError(f"A label is text, not {type(label).__name__}: {label!r}.")
    return label


class Node(Entity):
    """A node, local until it is created in or merged into a graph.

    Two nodes are equal when they stand for the same stored node, and a local node is
    equal to nothing but itself; labels and properties do not count. So the hash of a
    node changes when it is bound. `graph.merge` finds the nodes of a subclass by its
    `__primarylabel__` and `__primarykey__`.
    """

    __primarylabel__: str | None = None
    __primarykey__: str | tuple[str, ...] | None = None
    _gone: frozenset[str] = frozenset()
    """Labels taken away here, for `push`."""

    def __init__(self, /, *labels: str, **properties: Any) -> None:
        self._labels = {_checked_label(label): None for label in labels}
        super().__init__(**properties)

    @classmethod
    def _of(cls, labels: Iterable[str], properties: dict[str, Any]) -> Node:
        """Make a node of what the server sent, or of a copy."""
        node = cls.__new__(cls)
        node._labels = dict.fromkeys(labels)
        dict.update(node, properties)
        return node

    def __walk__(self) -> Iterator[Any]:
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
        return self is other or (isinstance(other, Node) and self._same_place(other))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(id(self) if self.identity is None else self.identity)

    def __repr__(self) -> str:
        return self._call_text("Node", self.labels)

    def __str__(self) -> str:
        return f"({f'{self.labels!r} '.lstrip()}{_literal_text(self)})"

    def __reduce__(self) -> Any:
        return type(self)._of, (tuple(self.labels), dict(self))


def _literal_text(entity: Entity) -> str:
    """Return properties as Cypher writes them, by key; others as Python does."""
    pairs = sorted(entity.items())
    parts = (f"{key_text(key)}: {value_text(value)}" for key, value in pairs)
    return f"{{{', '.join(parts)}}}"


def _name_text(node: Node) -> str:
    return node["name"] if isinstance(node["name"], str) else ""


def _arrow_text(edge: Relationship) -> str:
    return f"[:{type(edge).__name__} {_literal_text(edge)}]"


_TYPES: dict[str, type[Relationship]] = {}
"""Classes of relationships by type: written with `class`, or made when needed."""
_LOCK = Lock()


class Relationship(Entity):
    """A relationship of a type from one node to another, or to itself.

    Its class is named by its type: `Relationship(a, "KNOWS", b)` is of the class
    `Relationship.type("KNOWS")`, and a subclass written with `class` has its own name
    as type, which may be left out. Two are equal when they stand for the same stored
    relationship; while one of them is local, when type, nodes and properties are equal.
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
            raise TypeError("A relationship has a start node: give one.")
        if len(nodes) > 1 and isinstance(nodes[1], str):
            nodes = (nodes[0], *nodes[2:])
        if len(nodes) > 2:
            raise TypeError(f"A relationship has two ends, not {len(nodes)}.")
        for node in nodes:
            if not isinstance(node, Node):
                raise TypeError(f"A relationship joins nodes; {node!r} is none.")
        self._ends: tuple[Node, Node] = (nodes[0], nodes[-1])
        super().__init__(**properties)

    @staticmethod
    def type(name: str) -> _Class:
        """Return the class of the relationships of a type, such as `KNOWS`."""
        if name not in _TYPES:
            cypher_escape(name)
        with _LOCK:
            if name not in _TYPES:
                _new_class(name, (Relationship,), {"__module__": __name__})
            return _TYPES[name]

    @classmethod
    def _of(cls, name: str, ends: tuple[Node, Node], properties: dict[str, Any]) -> Any:
        """Make a relationship of what the server sent, or of a copy."""
        edge = Entity.__new__(_TYPES.get(name) or Relationship.type(name))
        edge._ends = ends
        dict.update(edge, properties)
        return edge

    @property
    def nodes(self) -> tuple[Node, Node]:
        """Return start and end node."""
        return self._ends

    def __walk__(self) -> Iterator[Any]:
        yield from (self._ends[0], self, self._ends[1])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Relationship):
            return False
        if self.identity is not None and other.identity is not None:
            return self._same_place(other)
        return bool(self.__reduce__()[1] == other.__reduce__()[1])

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((type(self).__name__, self._ends))

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return self._call_text(type(self).__name__, self._ends)

    def __str__(self) -> str:
        start, end = map(_name_text, self._ends)
        return f"({start})-{_arrow_text(self)}->({end})"

    def __reduce__(self) -> Any:
        return Relationship._of, (type(self).__name__, self._ends, dict(self))


_new_class = type
_Class: TypeAlias = "type[Relationship]"

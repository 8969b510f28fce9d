"""Matches: nodes and relationships by labels, types, ends and properties.

A match is a description; it is asked of the server each time that it is iterated,
counted or otherwise evaluated. Labels, types and property keys are escaped and values
are parameters. Texts in `where` and `order_by` are Cypher that the calling programmer
wrote, with `_` for the node or relationship: they are passed on as they are and must
never be made from data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from graph.errors import InputError
from graph.py2neo.cypher_writing import add_parameters, clause_parts, cypher_escape
from graph.py2neo.entities import Node
from graph.py2neo.errors import UnsupportedValueError
from graph.py2neo.predicates import Predicate, predicate_of
from graph.py2neo.relationships import Relationship

if TYPE_CHECKING:
    from graph.py2neo.graph import Graph

__all__ = ["NodeMatch", "RelationshipMatch", "property_predicates", "type_names"]

E = TypeVar("E", Node, Relationship)


class _Match(Generic[E]):
    """What matches of nodes and of relationships have in common; immutable."""

    _returned = "_"

    def __init__(
        self,
        graph: Graph,
        predicates: Iterable[Any] = (),
        order_by: Iterable[str] = (),
        skip: int | None = None,
        limit: int | None = None,
    ) -> None:
        self._graph = graph
        self._predicates = tuple(map(_checked_predicate, predicates))
        self._order_by = tuple(map(_checked_field, order_by))
        self._skip = _checked_amount("skip", skip)
        self._limit = _checked_amount("limit", limit)

    def _with(self, **changes: Any) -> Self:
        """Return a copy that differs in some attributes."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update({f"_{name}": value for name, value in changes.items()})
        return copy

    def where(self, /, *predicates: Any, **properties: Any) -> Self:
        """Return a match that asks for more.

        Args:
            *predicates: Cypher with `_` for what is matched, or tuples of such a text
                and a dictionary of its parameters.
            **properties: Property keys with the values or predicates that they are to
                have; None is no value, a tuple or set is one of its members.

        Raises:
            InputError: If a text or a key is empty.
            TypeError: If a predicate is no text.
        """
        added: list[tuple[str, Any]] = list(map(_checked_predicate, predicates))
        added += property_predicates(properties)
        return self._with(predicates=(*self._predicates, *added))

    def order_by(self, *fields: str) -> Self:
        """Return a match in another order.

        Args:
            *fields: Cypher expressions with `_` for what is matched, each with `DESC`
                behind it where wanted; they take the place of those before.
        """
        return self._with(order_by=tuple(map(_checked_field, fields)))

    def skip(self, amount: int | None) -> Self:
        """Return a match that leaves out its first members.

        Args:
            amount: How many; None for none.
        """
        return self._with(skip=_checked_amount("skip", amount))

    def limit(self, amount: int | None) -> Self:
        """Return a match of at most so many members.

        Args:
            amount: How many; None for all.
        """
        return self._with(limit=_checked_amount("limit", amount))

    def first(self) -> E | None:
        """Return the first member; None where there is none."""
        least = 1 if self._limit is None else min(1, self._limit)
        return next(iter(self.limit(least)), None)

    def all(self) -> list[E]:
        """Return all members."""
        return list(iter(self))

    def count(self) -> int:
        """Return how many members there are, of those that `skip` and `limit` leave."""
        text, parameters = self._matched()
        cut = self._cut(parameters)
        between = f"WITH _{cut}\n" if cut else ""
        return int(self._evaluated(f"{text}{between}RETURN count(_)", parameters))

    def exists(self) -> bool:
        """Return whether there is any member."""
        text, parameters = self._matched()
        cut = self._cut(parameters)
        between = f"WITH _{cut}\n" if cut else ""
        return bool(self._evaluated(f"{text}{between}RETURN true LIMIT 1", parameters))

    def __len__(self) -> int:
        """Count the members."""
        return self.count()

    def __bool__(self) -> bool:
        """Return whether there is any member."""
        return self.exists()

    def __iter__(self) -> Iterator[E]:
        """Yield the members."""
        text, parameters = self._statement()
        for record in self._graph.query(text, parameters):
            yield record[0]

    def _statement(self) -> tuple[str, dict[str, Any]]:
        """Return the statement that reads the members, with its parameters."""
        text, parameters = self._matched()
        order = ""
        if self._order_by:
            order = "\nORDER BY " + ", ".join(f"{field}\n" for field in self._order_by)
        return (
            f"{text}RETURN {self._returned}{order}{self._cut(parameters)}",
            parameters,
        )

    def _evaluated(self, text: str, parameters: dict[str, Any]) -> Any:
        """Return the one value of a statement."""
        return self._graph.query(text, parameters).evaluate()

    def _cut(self, parameters: dict[str, Any]) -> str:
        """Return the clauses of `skip` and `limit`, and add their parameters."""
        texts = []
        for name in ("skip", "limit"):
            amount = getattr(self, f"_{name}")
            if amount is not None:
                texts.append(f" {name.upper()} {_parameter(parameters, amount)}")
        return "".join(texts)

    def _matched(self) -> tuple[str, dict[str, Any]]:
        """Return the clauses that match, each in a line, and their parameters."""
        parameters: dict[str, Any] = {}
        for predicate in self._predicates:
            if not isinstance(predicate[1], Predicate):
                add_parameters(parameters, predicate[1])
        pattern, conditions = self._pattern(parameters)
        for first, second in self._predicates:
            if isinstance(second, Predicate):
                subject = f"_.{cypher_escape(first)}"
                written = second.compile(
                    subject, lambda value: _parameter(parameters, value)
                )
                conditions.append(written)
            else:
                conditions.append(f"({first}\n)")
        where = f"WHERE {' AND '.join(conditions)}\n" if conditions else ""
        return f"MATCH {pattern}\n{where}", parameters

    def _pattern(self, parameters: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the pattern to match and the conditions that belong to it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the statement that would be run."""
        text, parameters = self._statement()
        return f"<{type(self).__name__} {text!r} {parameters!r}>"


class NodeMatch(_Match[Node]):
    """A selection of nodes; immutable, evaluated when it is used.

    Args:
        graph: The graph.
        labels: Labels that each node has.
        predicates: As for `where`.
        order_by: As for `order_by`.
        skip: As for `skip`.
        limit: As for `limit`.
    """

    def __init__(
        self,
        graph: Graph,
        labels: Iterable[str] = frozenset(),
        predicates: Iterable[Any] = (),
        order_by: Iterable[str] = (),
        skip: int | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(graph, predicates, order_by, skip, limit)
        names = (labels,) if isinstance(labels, str) else labels
        self._labels = sorted({cypher_escape(label) for label in names})

    def _pattern(self, parameters: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the pattern of a node with the labels."""
        return f"({':'.join(('_', *self._labels))})", []


class RelationshipMatch(_Match[Relationship]):
    """A selection of relationships; immutable, evaluated when it is used.

    Args:
        graph: The graph.
        nodes: A sequence of start and end node, or a set of one or two nodes in any
            direction; None stands for any node.
        r_type: A type, a class of relationships, or several of them; None for any.
        predicates: As for `where`.
        order_by: As for `order_by`.
        skip: As for `skip`.
        limit: As for `limit`.

    Raises:
        InputError: If there are more than two nodes, or one is not of the graph.
        TypeError: If something else is given in place of nodes or types.
    """

    _returned = "_, startNode(_), endNode(_)"

    def __init__(
        self,
        graph: Graph,
        nodes: Sequence[Node | None] | Set[Node | None] | None = None,
        r_type: Any = None,
        predicates: Iterable[Any] = (),
        order_by: Iterable[str] = (),
        skip: int | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(graph, predicates, order_by, skip, limit)
        self._ends = _checked_ends(graph, nodes)
        self._directed = not isinstance(nodes, Set) or not self._ends
        self._types = type_names(r_type)

    def _pattern(self, parameters: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the pattern of a relationship between the nodes."""
        conditions = [
            f"elementId({end}) = {_parameter(parameters, node.identity)}"
            for end, node in zip("ab", self._ends, strict=False)
            if node is not None
        ]
        types = f":{'|'.join(self._types)}" if self._types else ""
        return f"(a)-[_{types}]-{'>' if self._directed else ''}(b)", conditions


def _parameter(parameters: dict[str, Any], value: Any) -> str:
    """Add a value to the parameters and return what stands for it."""
    number = len(parameters)
    while f"p{number}" in parameters:
        number += 1
    parameters[f"p{number}"] = value
    return f"$p{number}"


def property_predicates(properties: dict[str, Any]) -> list[tuple[str, Predicate]]:
    """Return keys with predicates; an empty key is refused."""
    for key in properties:
        cypher_escape(key)
    return [(key, predicate_of(value)) for key, value in properties.items()]


def _checked_predicate(predicate: Any) -> tuple[str, Any]:
    """Return a predicate as (key, predicate) or as (Cypher, parameters)."""
    if (
        isinstance(predicate, tuple)
        and len(predicate) == 2
        and isinstance(predicate[1], Predicate)
    ):
        return predicate
    text, parameters = clause_parts(predicate)
    if not text.strip():
        msg = "A predicate is empty: leave it out, or write one such as '_.age > 30'."
        raise InputError(msg)
    return text, parameters


def _checked_field(field: Any) -> str:
    """Return a field to order by."""
    text, _ = clause_parts(field)
    if not isinstance(field, str) or not text.strip():
        msg = f"{field!r} is nothing to order by: write a field such as '_.name'."
        raise InputError(msg)
    return text


def _checked_amount(name: str, amount: Any) -> int | None:
    """Return a number of members."""
    if amount is None:
        return None
    if type(amount) is not int:
        msg = f"{name}({amount!r}): give a whole number."
        raise UnsupportedValueError(msg)
    if amount < 0:
        msg = f"{name}({amount}): give 0 or more."
        raise InputError(msg)
    return amount


def _checked_ends(graph: Graph, nodes: Any) -> tuple[Node | None, ...]:
    """Return the nodes at the ends of a relationship, without those that are any."""
    if nodes is None:
        return ()
    if not isinstance(nodes, Sequence | Set) or isinstance(nodes, str | bytes):
        msg = f"{nodes!r} is no sequence or set of nodes: write (node,) for one node."
        raise InputError(msg)
    ends = tuple(nodes)
    if isinstance(nodes, Set):
        ends = tuple(node for node in ends if node is not None)
    if len(ends) > 2:
        msg = f"A relationship has two ends, not {len(ends)}."
        raise InputError(msg)
    for node in ends:
        if node is not None and not isinstance(node, Node):
            msg = f"A relationship joins nodes; {node!r} is none."
            raise UnsupportedValueError(msg)
        if node is not None and not node._bound_to(graph):
            msg = f"{node!r} is not of this graph: create or merge it first."
            raise InputError(msg)
    return ends


def type_names(r_type: Any) -> list[str]:
    """Return the escaped names of types."""
    if r_type is None:
        return []
    if isinstance(r_type, str) or not isinstance(r_type, Iterable):
        r_type = (r_type,)
    names = {
        each.__name__
        if isinstance(each, type) and issubclass(each, Relationship)
        else each
        for each in r_type
    }
    return sorted(map(cypher_escape, names))

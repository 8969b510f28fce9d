"""Matching: `graph.nodes`, `graph.relationships`, and the predicates for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from graph.py2neo.entities import Node
from graph.py2neo.errors import UnsupportedValueError
from graph.py2neo.matches import NodeMatch, RelationshipMatch, property_predicates
from graph.py2neo.predicates import (
    AND,
    CONTAINS,
    ENDS_WITH,
    EQ,
    EQUAL_TO,
    GE,
    GREATER_THAN,
    GREATER_THAN_OR_EQUAL_TO,
    GT,
    IN,
    IS_NOT_NULL,
    IS_NULL,
    LE,
    LESS_THAN,
    LESS_THAN_OR_EQUAL_TO,
    LIKE,
    LT,
    NE,
    NOT_EQUAL_TO,
    OR,
    STARTS_WITH,
    XOR,
    And,
    Connective,
    Contains,
    EitherOr,
    EndsWith,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqualTo,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqualTo,
    Like,
    NotEqualTo,
    Or,
    Predicate,
    Predicate1,
    StartsWith,
)
from graph.py2neo.relationships import Relationship

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graph.py2neo.graph import Graph

__all__ = [
    "AND",
    "CONTAINS",
    "ENDS_WITH",
    "EQ",
    "EQUAL_TO",
    "GE",
    "GREATER_THAN",
    "GREATER_THAN_OR_EQUAL_TO",
    "GT",
    "IN",
    "IS_NOT_NULL",
    "IS_NULL",
    "LE",
    "LESS_THAN",
    "LESS_THAN_OR_EQUAL_TO",
    "LIKE",
    "LT",
    "NE",
    "NOT_EQUAL_TO",
    "OR",
    "STARTS_WITH",
    "XOR",
    "And",
    "Connective",
    "Contains",
    "EitherOr",
    "EndsWith",
    "EqualTo",
    "GreaterThan",
    "GreaterThanOrEqualTo",
    "In",
    "IsNotNull",
    "IsNull",
    "LessThan",
    "LessThanOrEqualTo",
    "Like",
    "NodeMatch",
    "NodeMatcher",
    "NotEqualTo",
    "Or",
    "Predicate",
    "Predicate1",
    "RelationshipMatch",
    "RelationshipMatcher",
    "StartsWith",
    "identity_function",
]

E = TypeVar("E", Node, Relationship)


class _Matcher(Generic[E]):
    """What matchers of nodes and of relationships have in common.

    Args:
        graph: The graph to match in.
    """

    _kind: str

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def _all(self) -> Any:
        """Return the match of everything."""
        raise NotImplementedError

    def _identified(self, identity: Any) -> Any:
        """Return the match of one identity."""
        function = identity_function([identity])
        return self._all().where((f"{function}(_) = $identity", {"identity": identity}))

    def get(self, identity: str | int) -> E | None:
        """Return the member of an identity; None where there is none.

        Args:
            identity: What `identity` of a node or relationship says; a whole number is
                looked up by the server's deprecated `id()`.

        Raises:
            TypeError: If it is neither.
        """
        found: E | None = self._identified(identity).first()
        return found

    def __getitem__(self, identity: str | int) -> E:
        """Return the member of an identity.

        Raises:
            KeyError: If there is none.
        """
        found = self.get(identity)
        if found is None:
            msg = f"There is no {self._kind} {identity!r}."
            raise KeyError(msg)
        return found

    def __contains__(self, identity: object) -> bool:
        """Return whether there is a member of an identity."""
        return bool(self._identified(identity).exists())

    def __iter__(self) -> Iterator[str]:
        """Yield the identity of each member."""
        text, parameters = self._all()._matched()
        for record in self.graph.query(f"{text}RETURN elementId(_)", parameters):
            yield record[0]

    def __len__(self) -> int:
        """Count the members."""
        return int(self._all().count())

    def __bool__(self) -> bool:
        """Return whether there is any member."""
        return bool(self._all().exists())


class NodeMatcher(_Matcher[Node]):
    """Selects nodes: iteration and `len` are of all nodes, `[...]` of one."""

    _kind = "node"

    def _all(self) -> NodeMatch:
        """Return the match of all nodes."""
        return NodeMatch(self.graph)

    def match(self, /, *labels: str, **properties: Any) -> NodeMatch:
        """Return a match by labels and properties.

        Args:
            *labels: Labels that each node has.
            **properties: As for `NodeMatch.where`.

        Example:
            ```python
            graph.nodes.match("Person", name="Keanu Reeves").first()
            ```
        """
        return NodeMatch(self.graph, labels, property_predicates(properties))


class RelationshipMatcher(_Matcher[Relationship]):
    """Selects relationships: iteration and `len` are of all, `[...]` of one."""

    _kind = "relationship"

    def _all(self) -> RelationshipMatch:
        """Return the match of all relationships."""
        return RelationshipMatch(self.graph)

    def match(
        self, /, nodes: Any = None, r_type: Any = None, **properties: Any
    ) -> RelationshipMatch:
        """Return a match by ends, type and properties.

        Args:
            nodes: As for `RelationshipMatch`.
            r_type: As for `RelationshipMatch`.
            **properties: As for `RelationshipMatch.where`.
        """
        predicates = property_predicates(properties)
        return RelationshipMatch(self.graph, nodes, r_type, predicates)


def identity_function(identities: Sequence[Any]) -> str:
    """Return the function of Cypher that gives identities of this kind.

    Args:
        identities: Element ids, which are texts, or the numbers of `id()`.

    Raises:
        TypeError: If there are other things, or both.
    """
    if all(isinstance(identity, str) for identity in identities):
        return "elementId"
    if all(type(identity) is int for identity in identities):
        return "id"
    odd = next(i for i in identities if not isinstance(i, str))
    msg = f"{odd!r} is no identity: give what .identity says, for all of them alike."
    raise UnsupportedValueError(msg)

"""Matching: `graph.nodes`, `graph.relationships`, and the predicates for them.

A match is a description; it is asked of the server each time that it is iterated,
counted or otherwise evaluated. Labels, types and property keys are escaped and every
value is a parameter, so that none can change what a statement means. Texts in `where`
and `order_by` are Cypher that the calling programmer wrote, with `_` for the node or
relationship: they are passed on as they are and must never be made from data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo.cypher_writing import (
    add_parameters,
    clause_parts,
    cypher_escape,
)
from knowtrail.graph.py2neo.data import Node, Relationship
from knowtrail.graph.py2neo.errors import UnsupportedValueError

if TYPE_CHECKING:
    from knowtrail.graph.py2neo.database import Graph

E = TypeVar("E", Node, Relationship)
_FLAGS = {re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
"""Flags of Python's patterns -> letters of the server's."""


class Predicate:
    """A condition on one value, such as `GE(1964)`."""

    operator: ClassVar[str] = ""

    def __init_subclass__(cls, *, operator: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.operator = operator or cls.operator

    def compile(self, subject: str, parameter: Callable[[Any], str]) -> str:
        """Return the condition as Cypher; `parameter` makes a parameter of a value."""
        return f"{subject} {self.operator}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class IsNull(Predicate, operator="IS NULL"):
    """There is no value: `x IS NULL`."""


class IsNotNull(Predicate, operator="IS NOT NULL"):
    """There is a value: `x IS NOT NULL`."""


class Predicate1(Predicate):
    """A condition that compares with a value."""

    def __init__(self, value: Any) -> None:
        if isinstance(value, Predicate) or _is_class(value, Predicate):
            msg = f"{type(self).__name__} compares with a value; {value!r} is none."
            raise UnsupportedValueError(msg)
        self.value = value

    def compile(self, subject: str, parameter: Callable[[Any], str]) -> str:
        """Return the condition as Cypher."""
        return f"{subject} {self.operator} {parameter(self.value)}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


def _compared(name: str, operator: str) -> type[Predicate1]:
    """Return the condition of an operator of Cypher."""

    class Compared(Predicate1, operator=operator):
        __doc__ = f"It holds: `x {operator} value`."

    Compared.__name__ = Compared.__qualname__ = name
    return Compared


EQ = EQUAL_TO = EqualTo = _compared("EqualTo", "=")
NE = NOT_EQUAL_TO = NotEqualTo = _compared("NotEqualTo", "<>")
LT = LESS_THAN = LessThan = _compared("LessThan", "<")
LE = LESS_THAN_OR_EQUAL_TO = LessThanOrEqualTo = _compared("LessThanOrEqualTo", "<=")
GT = GREATER_THAN = GreaterThan = _compared("GreaterThan", ">")
GE = GREATER_THAN_OR_EQUAL_TO = GreaterThanOrEqualTo = _compared(
    "GreaterThanOrEqualTo", ">="
)
STARTS_WITH = StartsWith = _compared("StartsWith", "STARTS WITH")
ENDS_WITH = EndsWith = _compared("EndsWith", "ENDS WITH")
CONTAINS = Contains = _compared("Contains", "CONTAINS")


class Like(Predicate1, operator="=~"):
    """The whole text matches a regular expression: `x =~ value`.

    The server reads it as Java does; of a compiled pattern its flags count too.
    """

    def __init__(self, value: str | re.Pattern[str]) -> None:
        text: Any = value
        if isinstance(value, re.Pattern):
            text = value.pattern
            letters = "".join(_FLAGS[flag] for flag in _FLAGS if value.flags & flag)
            if value.flags & re.IGNORECASE:
                letters += "i" if value.flags & re.ASCII else "iu"
            if letters and isinstance(text, str):
                text = f"(?{letters}){text}"
        if not isinstance(text, str):
            msg = f"LIKE takes a regular expression as text, not {text!r}."
            raise UnsupportedValueError(msg)
        super().__init__(text)


class In(Predicate1, operator="IN"):
    """The value is one of these: `x IN values`."""

    def __init__(self, value: Iterable[Any]) -> None:
        text = isinstance(value, str | bytes)
        named = isinstance(value, Mapping) and not isinstance(value, tuple)
        if text or named or not isinstance(value, Iterable):
            raise UnsupportedValueError(f"IN takes a list of values, not {value!r}.")
        super().__init__(list(value))


class Connective(Predicate):
    """Several conditions on one value: predicates, and values that are to be equal."""

    def __init__(self, *values: Any) -> None:
        if not values:
            msg = f"{type(self).__name__} joins conditions: give at least one."
            raise InputError(msg)
        self.predicates = tuple(predicate_of(value) for value in values)

    def compile(self, subject: str, parameter: Callable[[Any], str]) -> str:
        """Return the conditions as Cypher, in parentheses."""
        parts = (each.compile(subject, parameter) for each in self.predicates)
        return f"({f' {self.operator} '.join(parts)})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.predicates))})"


class And(Connective, operator="AND"):
    """All of the conditions hold."""


class Or(Connective, operator="OR"):
    """At least one of the conditions holds."""


class EitherOr(Connective, operator="XOR"):
    """One of two conditions holds and the other does not; of more, an odd number."""


IS_NULL = IsNull
IS_NOT_NULL = IsNotNull
LIKE = Like
IN = In
AND = And
OR = Or
XOR = EitherOr


def predicate_of(value: Any) -> Predicate:
    """Return the condition that a value stands for: its own, or that it is equal.

    None is no value, a tuple or set one of its members.
    """
    if isinstance(value, Predicate):
        return value
    if _is_class(value, Predicate):
        msg = f"{value.__name__} is not called: write {value.__name__}(...)."
        raise UnsupportedValueError(msg)
    if value is None:
        return IsNull()
    if type(value) is tuple or isinstance(value, set | frozenset):
        return In(value)
    return EqualTo(value)


def _is_class(value: Any, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base)


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
        made = copy(self)
        vars(made).update(changes)
        return made

    def where(self, /, *predicates: Any, **properties: Any) -> Self:
        """Return a match that asks for more.

        Predicates are Cypher with `_` for what is matched, or tuples of such a text and
        a dictionary of its parameters. Properties have the values or predicates that
        they are to have; None is no value, a tuple or set one of its members.
        """
        named: list[Any] = [(key, predicate_of(v)) for key, v in properties.items()]
        added: list[Any] = list(map(_checked_predicate, (*predicates, *named)))
        return self._with(_predicates=(*self._predicates, *added))

    def order_by(self, *fields: str) -> Self:
        """Return a match in another order, by Cypher such as `_.name DESC`."""
        return self._with(_order_by=tuple(map(_checked_field, fields)))

    def skip(self, amount: int | None) -> Self:
        """Return a match that leaves out so many members first; None for none."""
        return self._with(_skip=_checked_amount("skip", amount))

    def limit(self, amount: int | None) -> Self:
        """Return a match of at most so many members; None for all."""
        return self._with(_limit=_checked_amount("limit", amount))

    def first(self) -> E | None:
        """Return the first member; None where there is none."""
        least = 1 if self._limit is None else min(1, self._limit)
        return next(iter(self.limit(least)), None)

    def all(self) -> list[E]:
        """Return all members."""
        return list(iter(self))

    def count(self) -> int:
        """Return how many members there are, of those that `skip` and `limit` leave."""
        return int(self._evaluated("RETURN count(_)"))

    def exists(self) -> bool:
        """Return whether there is any member."""
        return bool(self._evaluated("RETURN true LIMIT 1"))

    __len__ = count
    __bool__ = exists

    def __iter__(self) -> Iterator[E]:
        for record in self._graph.query(*self._statement()):
            yield record[0]

    def _statement(self) -> tuple[str, dict[str, Any]]:
        text, parameters = self._matched()
        text += f"RETURN {self._returned}"
        if self._order_by:
            text += "\nORDER BY " + ", ".join(f"{field}\n" for field in self._order_by)
        return text + self._cut(parameters), parameters

    def _evaluated(self, returned: str) -> Any:
        text, parameters = self._matched()
        if cut := self._cut(parameters):
            text += f"WITH _{cut}\n"
        return self._graph.query(text + returned, parameters).evaluate()

    def _cut(self, parameters: dict[str, Any]) -> str:
        amounts = {"SKIP": self._skip, "LIMIT": self._limit}
        return "".join(
            f" {name} {_parameter(parameters, amount)}"
            for name, amount in amounts.items()
            if amount is not None
        )

    def _matched(self) -> tuple[str, dict[str, Any]]:
        parameters: dict[str, Any] = {}
        for _, second in self._predicates:
            if not isinstance(second, Predicate):
                add_parameters(parameters, second)
        parameter = partial(_parameter, parameters)
        pattern, conditions = self._pattern(parameters)
        for first, second in self._predicates:
            if isinstance(second, Predicate):
                conditions.append(second.compile(first, parameter))
            else:
                conditions.append(f"({first}\n)")
        where = f"WHERE {' AND '.join(conditions)}\n" if conditions else ""
        return f"MATCH {pattern}\n{where}", parameters

    def _pattern(self, parameters: dict[str, Any]) -> tuple[str, list[str]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        text, parameters = self._statement()
        return f"<{type(self).__name__} {text!r} {parameters!r}>"


class NodeMatch(_Match[Node]):
    """A selection of nodes; immutable, evaluated when it is used."""

    def __init__(
        self, graph: Graph, labels: Iterable[str] = (), *options: Any, **more: Any
    ) -> None:
        super().__init__(graph, *options, **more)
        names = (labels,) if isinstance(labels, str) else labels
        self._labels = sorted({cypher_escape(label) for label in names})

    def _pattern(self, parameters: dict[str, Any]) -> tuple[str, list[str]]:
        return f"({':'.join(('_', *self._labels))})", []


class RelationshipMatch(_Match[Relationship]):
    """A selection of relationships; immutable, evaluated when it is used.

    `nodes` is a sequence of start and end node, or a set of one or two nodes in any
    direction; None stands for any node. `r_type` is a type, a class of relationships,
    or several of them; None for any.
    """

    _returned = "_, startNode(_), endNode(_)"

    def __init__(
        self,
        graph: Graph,
        nodes: Any = None,
        r_type: Any = None,
        *options: Any,
        **more: Any,
    ) -> None:
        super().__init__(graph, *options, **more)
        self._ends = _checked_ends(graph, nodes)
        self._directed = not isinstance(nodes, Set) or not self._ends
        self._types = type_names(r_type)

    def _pattern(self, parameters: dict[str, Any]) -> tuple[str, list[str]]:
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


def _checked_predicate(predicate: Any) -> tuple[str, Any]:
    """Return a predicate as (subject, predicate) or as (Cypher, parameters)."""
    pair = isinstance(predicate, tuple) and len(predicate) == 2
    if pair and isinstance(predicate[1], Predicate):
        return f"_.{cypher_escape(predicate[0])}", predicate[1]
    text, parameters = clause_parts(predicate)
    if not text.strip():
        msg = "A predicate is empty: leave it out, or write one such as '_.age > 30'."
        raise InputError(msg)
    return text, parameters


def _checked_field(field: Any) -> str:
    text, _ = clause_parts(field)
    if not isinstance(field, str) or not text.strip():
        msg = f"{field!r} is nothing to order by: write a field such as '_.name'."
        raise InputError(msg)
    return text


def _checked_amount(name: str, amount: Any) -> int | None:
    if amount is None:
        return None
    if type(amount) is not int:
        raise UnsupportedValueError(f"{name}({amount!r}): give a whole number.")
    if amount < 0:
        raise InputError(f"{name}({amount}): give 0 or more.")
    return amount


def _checked_ends(graph: Graph, nodes: Any) -> tuple[Node | None, ...]:
    if nodes is None:
        return ()
    if not isinstance(nodes, Sequence | Set) or isinstance(nodes, str | bytes):
        msg = f"{nodes!r} is no sequence or set of nodes: write (node,) for one node."
        raise InputError(msg)
    ends = tuple(nodes)
    if isinstance(nodes, Set):
        ends = tuple(node for node in ends if node is not None)
    if len(ends) > 2:
        raise InputError(f"A relationship has two ends, not {len(ends)}.")
    for node in ends:
        if node is not None and not isinstance(node, Node):
            msg = f"A relationship joins nodes; {node!r} is none."
            raise UnsupportedValueError(msg)
        if node is not None and not node._bound_to(graph):
            msg = f"{node!r} is not of this graph: create or merge it first."
            raise InputError(msg)
    return ends


def type_names(r_type: Any) -> list[str]:
    """Return the escaped names of types: texts, classes, or several of them."""
    if r_type is None:
        return []
    if isinstance(r_type, str) or not isinstance(r_type, Iterable):
        r_type = (r_type,)
    names = {one.__name__ if _is_class(one, Relationship) else one for one in r_type}
    return sorted(map(cypher_escape, names))


class _Matcher(Generic[E]):
    """What matchers of nodes and of relationships have in common."""

    _kind: str
    _match: Any

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    def _all(self) -> _Match[E]:
        made: _Match[E] = self._match(self.graph)
        return made

    def _identified(self, identity: Any) -> _Match[E]:
        function = identity_function([identity])
        return self._all.where((f"{function}(_) = $identity", {"identity": identity}))

    def get(self, identity: str | int) -> E | None:
        """Return the member of an identity; None where there is none.

        A whole number is looked up by the server's deprecated `id()`.
        """
        return self._identified(identity).first()

    def __getitem__(self, identity: str | int) -> E:
        found = self.get(identity)
        if found is None:
            raise KeyError(f"There is no {self._kind} {identity!r}.")
        return found

    def __contains__(self, identity: object) -> bool:
        return self._identified(identity).exists()

    def __iter__(self) -> Iterator[str]:
        text, _ = self._all._matched()
        for record in self.graph.query(f"{text}RETURN elementId(_)"):
            yield record[0]

    def __len__(self) -> int:
        return self._all.count()

    def __bool__(self) -> bool:
        return self._all.exists()


class NodeMatcher(_Matcher[Node]):
    """Selects nodes: iteration and `len` are of all nodes, `[...]` of one."""

    _kind = "node"
    _match = NodeMatch

    def match(self, /, *labels: str, **properties: Any) -> NodeMatch:
        """Return a match by labels, and by properties as for `NodeMatch.where`."""
        return NodeMatch(self.graph, labels).where(**properties)


class RelationshipMatcher(_Matcher[Relationship]):
    """Selects relationships: iteration and `len` are of all, `[...]` of one."""

    _kind = "relationship"
    _match = RelationshipMatch

    def match(
        self, /, nodes: Any = None, r_type: Any = None, **properties: Any
    ) -> RelationshipMatch:
        """Return a `RelationshipMatch` of nodes and type, and `where` of properties."""
        return RelationshipMatch(self.graph, nodes, r_type).where(**properties)


def identity_function(identities: Sequence[Any]) -> str:
    """Return the function of Cypher that gives identities: element ids, or numbers."""
    if all(isinstance(identity, str) for identity in identities):
        return "elementId"
    if all(type(identity) is int for identity in identities):
        return "id"
    odd = next(i for i in identities if not isinstance(i, str))
    msg = f"{odd!r} is no identity: give what .identity says, for all of them alike."
    raise UnsupportedValueError(msg)

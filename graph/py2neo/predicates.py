"""Predicates on the values of properties, for `match` and `where`.

Every value becomes a parameter, so that no value can change what a statement means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from graph.errors import InputError
from graph.py2neo.errors import UnsupportedValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    Parameter = Callable[[Any], str]
    """Takes a value and returns what stands for it in Cypher, such as `$p0`."""

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
    "NotEqualTo",
    "Or",
    "Predicate",
    "Predicate1",
    "StartsWith",
    "predicate_of",
]

_FLAGS = {re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
"""Flags of Python's patterns -> letters of the server's."""


class Predicate:
    """A condition on one value, such as `GE(1964)`."""

    __slots__ = ()

    def compile(self, subject: str, parameter: Parameter) -> str:
        """Return the condition as Cypher.

        Args:
            subject: Cypher of the value that is tested.
            parameter: Makes a parameter of a value.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"{type(self).__name__}()"


class IsNull(Predicate):
    """There is no value: `x IS NULL`."""

    __slots__ = ()

    def compile(self, subject: str, parameter: Parameter) -> str:
        """Return the condition as Cypher."""
        return f"{subject} IS NULL"


class IsNotNull(Predicate):
    """There is a value: `x IS NOT NULL`."""

    __slots__ = ()

    def compile(self, subject: str, parameter: Parameter) -> str:
        """Return the condition as Cypher."""
        return f"{subject} IS NOT NULL"


class Predicate1(Predicate):
    """A condition that compares with a value.

    Args:
        value: What to compare with.
    """

    __slots__ = ("value",)
    operator: ClassVar[str]

    def __init__(self, value: Any) -> None:
        if isinstance(value, Predicate) or _is_predicate_class(value):
            msg = f"{type(self).__name__} compares with a value; {value!r} is none."
            raise UnsupportedValueError(msg)
        self.value = value

    def compile(self, subject: str, parameter: Parameter) -> str:
        """Return the condition as Cypher."""
        return f"{subject} {self.operator} {parameter(self.value)}"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"{type(self).__name__}({self.value!r})"


class EqualTo(Predicate1):
    """The value is equal: `x = value`."""

    __slots__ = ()
    operator = "="


class NotEqualTo(Predicate1):
    """The value is not equal: `x <> value`."""

    __slots__ = ()
    operator = "<>"


class LessThan(Predicate1):
    """The value is less: `x < value`."""

    __slots__ = ()
    operator = "<"


class LessThanOrEqualTo(Predicate1):
    """The value is less or equal: `x <= value`."""

    __slots__ = ()
    operator = "<="


class GreaterThan(Predicate1):
    """The value is greater: `x > value`."""

    __slots__ = ()
    operator = ">"


class GreaterThanOrEqualTo(Predicate1):
    """The value is greater or equal: `x >= value`."""

    __slots__ = ()
    operator = ">="


class StartsWith(Predicate1):
    """The text begins so: `x STARTS WITH value`."""

    __slots__ = ()
    operator = "STARTS WITH"


class EndsWith(Predicate1):
    """The text ends so: `x ENDS WITH value`."""

    __slots__ = ()
    operator = "ENDS WITH"


class Contains(Predicate1):
    """The text has this in it: `x CONTAINS value`."""

    __slots__ = ()
    operator = "CONTAINS"


class Like(Predicate1):
    """The whole text matches a regular expression: `x =~ value`.

    The server reads it as Java does.

    Args:
        value: The expression; of a compiled pattern its flags count too.
    """

    __slots__ = ()
    operator = "=~"

    def __init__(self, value: str | re.Pattern[str]) -> None:
        if isinstance(value, re.Pattern):
            value = _java_pattern(value)
        if not isinstance(value, str):
            msg = f"LIKE takes a regular expression as text, not {value!r}."
            raise UnsupportedValueError(msg)
        super().__init__(value)


class In(Predicate1):
    """The value is one of these: `x IN values`.

    Args:
        value: A list, a set, or anything else that yields values.
    """

    __slots__ = ()
    operator = "IN"

    def __init__(self, value: Iterable[Any]) -> None:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            msg = f"IN takes a list of values, not {value!r}."
            raise UnsupportedValueError(msg)
        super().__init__(list(value))


class Connective(Predicate):
    """Several conditions on one value.

    Args:
        *values: Predicates, and values that are to be equal.

    Raises:
        InputError: If there is none.
    """

    __slots__ = ("predicates",)
    operator: ClassVar[str]

    def __init__(self, *values: Any) -> None:
        if not values:
            msg = f"{type(self).__name__} joins conditions: give at least one."
            raise InputError(msg)
        self.predicates = tuple(predicate_of(value) for value in values)

    def compile(self, subject: str, parameter: Parameter) -> str:
        """Return the conditions as Cypher, in parentheses."""
        parts = (each.compile(subject, parameter) for each in self.predicates)
        return f"({f' {self.operator} '.join(parts)})"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"{type(self).__name__}({', '.join(map(repr, self.predicates))})"


class And(Connective):
    """All of the conditions hold."""

    __slots__ = ()
    operator = "AND"


class Or(Connective):
    """At least one of the conditions holds."""

    __slots__ = ()
    operator = "OR"


class EitherOr(Connective):
    """One of two conditions holds and the other does not; of more, an odd number."""

    __slots__ = ()
    operator = "XOR"


IS_NULL = IsNull
IS_NOT_NULL = IsNotNull
EQ = EQUAL_TO = EqualTo
NE = NOT_EQUAL_TO = NotEqualTo
LT = LESS_THAN = LessThan
LE = LESS_THAN_OR_EQUAL_TO = LessThanOrEqualTo
GT = GREATER_THAN = GreaterThan
GE = GREATER_THAN_OR_EQUAL_TO = GreaterThanOrEqualTo
STARTS_WITH = StartsWith
ENDS_WITH = EndsWith
CONTAINS = Contains
LIKE = Like
IN = In
AND = And
OR = Or
XOR = EitherOr


def predicate_of(value: Any) -> Predicate:
    """Return the condition that a value stands for.

    Args:
        value: A predicate; None for no value; a tuple or set for one of its members;
            anything else, lists too, for what is equal.

    Raises:
        TypeError: If it is a predicate that was not called.
    """
    if isinstance(value, Predicate):
        return value
    if _is_predicate_class(value):
        msg = f"{value.__name__} is not called: write {value.__name__}(...)."
        raise UnsupportedValueError(msg)
    if value is None:
        return IsNull()
    if type(value) is tuple or isinstance(value, set | frozenset):
        return In(value)
    return EqualTo(value)


def _is_predicate_class(value: Any) -> bool:
    """Return whether a value is a class of predicates."""
    return isinstance(value, type) and issubclass(value, Predicate)


def _java_pattern(pattern: re.Pattern[str]) -> Any:
    """Return a compiled pattern as text, with its flags as the server writes them."""
    if not isinstance(pattern.pattern, str):
        return pattern.pattern
    letters = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
    if pattern.flags & re.IGNORECASE:
        letters += "i" if pattern.flags & re.ASCII else "iu"
    return f"(?{letters}){pattern.pattern}" if letters else pattern.pattern

"""Filters on what a walk may touch: parsed once, run in Cypher or in Python.

A filter is a JSON object, as neo4j-graphrag and LangChain write them:

```python
{"document.language": "en", "category": {"$in": ["Autism", "Genetics"]}}
{"$or": [{"title": {"$ilike": "autism"}}, {"chunk.index": {"$between": [0, 4]}}]}
```

Several fields, or several operators of one field, must all hold. Operators: `$eq
$ne $lt $lte $gt $gte $between $in $nin $like $ilike`, with `$and` and `$or` around
them; `$like` finds a substring, `$ilike` one in any case. A bare value means `$eq`.

A field is a property of the chunk or its document (`chunk.index`,
`document.revision`), a documented bare name (`title`, `language`, `className` ...),
`theme` or `category`. A field that a chunk lacks matches no operator; of a list
(theme, category, aliases) one member must match, and for `$ne` and `$nin` none may be
the value.

The Cypher is put together from a closed set of clauses: values are parameters, names
are checked and back-ticked. `matches` does the same in Python for data in memory.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from graph.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPERATORS", "AllOf", "AnyOf", "Compare", "Field", "Filter", "parse_filter"]

OPERATORS = (
    "$eq",
    "$ne",
    "$lt",
    "$lte",
    "$gt",
    "$gte",
    "$between",
    "$in",
    "$nin",
    "$like",
    "$ilike",
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SECRET = frozenset({"embedding", "themeEmbedding"})
_DEEPEST = 8
_MOST_TESTS = 200
_LARGEST_INT = 2**63

_FIELDS = {
    "title": "document.title",
    "url": "document.url",
    "source": "document.source",
    "revision": "document.revision",
    "language": "document.language",
    "aliases": "document.aliases",
    "doc_id": "document.id",
    "chunk_id": "chunk.id",
    "className": "chunk.className",
    "class_name": "chunk.className",
    "index": "chunk.index",
    "sentence_start": "chunk.firstSentence",
    "sentence_end": "chunk.lastSentence",
    "start_index": "chunk.startChar",
    "end_index": "chunk.endChar",
}
"""Bare name -> the property it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a test looks at.

    Attributes:
        owner: Where the value stands.
        name: Property name; `name` for themes and categories.
    """

    owner: Literal["document", "chunk", "theme", "category"]
    name: str

    @property
    def many(self) -> bool:
        """Return whether there can be several values."""
        return self.owner in {"theme", "category"} or (
            self.owner == "document" and self.name == "aliases"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """One test: a field, an operator and the value to compare with."""

    field: Field
    operator: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """Tests that must all hold."""

    parts: tuple[Clause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Tests of which one must hold."""

    parts: tuple[Clause, ...]


Clause: TypeAlias = Compare | AllOf | AnyOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A parsed filter."""

    clause: Clause

    def cypher(self, chunk: str) -> tuple[str, dict[str, Any]]:
        """Return the filter as a Cypher predicate with its parameters.

        Args:
            chunk: Variable that holds the chunk, such as `c`.

        Returns:
            The predicate, true, false or null, and the parameters it names
            (`filter0`, `filter1` ...).
        """
        params: dict[str, Any] = {}
        text = _cypher(self.clause, chunk, params)
        if _touches_document(self.clause):
            match = f"MATCH ({chunk})-[:FROM_DOCUMENT]->(document:Document)"
            text = f"EXISTS {{ {match} WHERE {text} }}"
        return text, params

    def matches(self, chunk: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
        """Return whether a chunk passes.

        Args:
            chunk: Properties of the chunk, by their names in the graph.
            document: Properties of its document; `themes` and `categories` list the
                names.
        """
        return _holds(self.clause, chunk, document)


def parse_filter(given: object) -> Filter | None:
    """Read a filter; None and an empty object mean no filter.

    Raises:
        FilterError: If it is no filter; the message names the place and what to write.
    """
    if given is None or given == {}:
        return None
    clause = _parse(given, depth=1)
    if _tests(clause) > _MOST_TESTS:
        msg = f"The filter has {_tests(clause)} tests: the most is {_MOST_TESTS}."
        raise FilterError(msg)
    return Filter(clause=clause)


def _parse(given: object, *, depth: int) -> Clause:
    """Read one object of a filter."""
    if not isinstance(given, dict) or not given:
        msg = f"{given!r} is no filter: write an object such as {{'language': 'en'}}."
        raise FilterError(msg)
    if depth > _DEEPEST:
        msg = f"The filter is nested deeper than {_DEEPEST}: make it flatter."
        raise FilterError(msg)
    parts: list[Clause] = []
    for key, value in given.items():
        if key in {"$and", "$or"}:
            if not isinstance(value, list) or not value:
                msg = f"{key} has {value!r}: give it a list of filters."
                raise FilterError(msg)
            inner = tuple(_parse(v, depth=depth + 1) for v in value)
            parts.append(AllOf(parts=inner) if key == "$and" else AnyOf(parts=inner))
        else:
            parts += _parse_field(key, value)
    return parts[0] if len(parts) == 1 else AllOf(parts=tuple(parts))


def _parse_field(key: object, value: object) -> list[Clause]:
    """Read the tests of one field."""
    if isinstance(key, str) and key.startswith("$"):
        near = difflib.get_close_matches(key, (*OPERATORS, "$and", "$or"), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        msg = f"{key!r} stands where a field should: write {{field: {{{key}: value}}}}"
        raise FilterError(msg + hint)
    field = _field(key)
    tests = value if isinstance(value, dict) else {"$eq": value}
    if not tests:
        msg = f"Field {key!r} has no operator: use one of {' '.join(OPERATORS)}."
        raise FilterError(msg)
    for operator, operand in tests.items():
        _check(str(key), operator, operand)
    return [
        Compare(field=field, operator=operator, value=operand)
        for operator, operand in tests.items()
    ]


def _field(key: object) -> Field:
    """Return the field of a name."""
    if not isinstance(key, str):
        msg = f"{key!r} is no field name: write a string."
        raise FilterError(msg)
    if key == "theme":
        return Field(owner="theme", name="name")
    if key == "category":
        return Field(owner="category", name="name")
    owner, dot, name = _FIELDS.get(key, key).partition(".")
    if not dot:
        near = difflib.get_close_matches(key, (*_FIELDS, "theme", "category"), n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        msg = (
            f"Unknown field {key!r}: {hint}Write document.NAME or chunk.NAME for a "
            "property of your own."
        )
        raise FilterError(msg)
    if not _NAME.fullmatch(name) or name in _SECRET:
        msg = f"Field {key!r}: {name!r} is no property that can be filtered by."
        raise FilterError(msg)
    if owner == "document":
        return Field(owner="document", name=name)
    if owner == "chunk":
        return Field(owner="chunk", name=name)
    msg = f"Field {key!r}: a field starts with document. or chunk., not {owner!r}."
    raise FilterError(msg)


def _check(key: str, operator: object, operand: object) -> None:
    """Check that an operator exists and its value is of the right kind.

    Raises:
        FilterError: If not.
    """
    if operator not in OPERATORS:
        near = difflib.get_close_matches(str(operator), OPERATORS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        msg = (
            f"Unknown operator {operator!r} of field {key!r}: {hint}"
            f"The operators are {' '.join(OPERATORS)}."
        )
        raise FilterError(msg)
    if operator in {"$in", "$nin", "$between"}:
        if not isinstance(operand, list) or not all(map(_is_scalar, operand)):
            msg = f"{operator} of {key!r} has {operand!r}: give it a list of values."
            raise FilterError(msg)
        if operator == "$between" and len(operand) != 2:
            msg = f"$between of {key!r} has {operand!r}: give it [lowest, highest]."
            raise FilterError(msg)
    elif operator in {"$like", "$ilike"}:
        if not isinstance(operand, str):
            msg = f"{operator} of {key!r} has {operand!r}: give it a string."
            raise FilterError(msg)
    elif not _is_scalar(operand):
        msg = (
            f"{operator} of {key!r} has {operand!r}: give it a string, number or "
            "boolean, or use $in for several."
        )
        raise FilterError(msg)


def _is_scalar(value: object) -> bool:
    """Return whether a value can be compared with a property."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return -_LARGEST_INT <= value < _LARGEST_INT
    return isinstance(value, bool | str)


def _tests(clause: Clause) -> int:
    """Count the tests of a clause."""
    return 1 if isinstance(clause, Compare) else sum(map(_tests, clause.parts))


def _touches_document(clause: Clause) -> bool:
    """Return whether the document must be looked at."""
    if isinstance(clause, Compare):
        return clause.field.owner != "chunk"
    return any(map(_touches_document, clause.parts))


_TESTS = {
    "$eq": "{x} = {p}",
    "$ne": "{x} <> {p}",
    "$lt": "{x} < {p}",
    "$lte": "{x} <= {p}",
    "$gt": "{x} > {p}",
    "$gte": "{x} >= {p}",
    "$between": "{p}[0] <= {x} <= {p}[1]",
    "$in": "{x} IN {p}",
    "$nin": "NOT {x} IN {p}",
    "$like": "CASE WHEN {x} IS :: STRING THEN {x} CONTAINS {p} ELSE false END",
    "$ilike": (
        "CASE WHEN {x} IS :: STRING THEN toLower({x}) CONTAINS toLower({p}) "
        "ELSE false END"
    ),
}
"""Operator -> the Cypher clause for a value {x} and a parameter {p}."""
_NONE_OF = {"$ne": "$eq", "$nin": "$in"}
"""Operators that, of a list, say what no member may be -> the test of a member."""


def _cypher(clause: Clause, chunk: str, params: dict[str, Any]) -> str:
    """Return a clause as Cypher, adding its values to the parameters."""
    if isinstance(clause, AllOf | AnyOf):
        word = " AND " if isinstance(clause, AllOf) else " OR "
        parts = [_cypher(part, chunk, params) for part in clause.parts]
        return f"({word.join(parts)})"
    name = f"filter{len(params)}"
    params[name] = clause.value
    field = clause.field
    operator = _NONE_OF.get(clause.operator, clause.operator)
    none_of = "NOT " if field.many and operator != clause.operator else ""
    if field.owner == "theme" or field.owner == "category":
        test = _TESTS[operator].format(x="tag.name", p=f"${name}")
        edge, label = (
            ("HAS_THEME", "Theme")
            if field.owner == "theme"
            else ("IN_CATEGORY", "Category")
        )
        return (
            f"{none_of}EXISTS {{ MATCH (document)-[:{edge}]->(tag:{label}) "
            f"WHERE {test} }}"
        )
    variable = chunk if field.owner == "chunk" else "document"
    value = f"{variable}.`{field.name}`"
    if field.many:
        test = _TESTS[operator].format(x="member", p=f"${name}")
        return f"{none_of}any(member IN coalesce({value}, []) WHERE {test})"
    return "(" + _TESTS[clause.operator].format(x=value, p=f"${name}") + ")"


def _holds(
    clause: Clause, chunk: Mapping[str, Any], document: Mapping[str, Any]
) -> bool:
    """Return whether a clause holds, as `_cypher`'s would."""
    if isinstance(clause, AllOf):
        return all(_holds(part, chunk, document) for part in clause.parts)
    if isinstance(clause, AnyOf):
        return any(_holds(part, chunk, document) for part in clause.parts)
    field = clause.field
    if field.owner == "chunk":
        return _test(clause.operator, chunk.get(field.name), clause.value)
    if not field.many:
        return _test(clause.operator, document.get(field.name), clause.value)
    key = {"theme": "themes", "category": "categories"}.get(field.owner, field.name)
    operator = _NONE_OF.get(clause.operator, clause.operator)
    found = any(_test(operator, v, clause.value) for v in document.get(key) or ())
    return found if operator == clause.operator else not found


def _test(operator: str, value: Any, operand: Any) -> bool:
    """Compare a value as Cypher does; what Cypher calls null is false."""
    if value is None:
        return False
    if operator in {"$in", "$nin"}:
        found = any(_equal(value, member) for member in operand)
        return found if operator == "$in" else not found
    if operator in {"$eq", "$ne"}:
        return _equal(value, operand) == (operator == "$eq")
    if operator == "$like":
        return isinstance(value, str) and operand in value
    if operator == "$ilike":
        return isinstance(value, str) and operand.lower() in value.lower()
    if operator == "$between":
        low, high = operand
        return _ordered(low, value, equal=True) and _ordered(value, high, equal=True)
    if operator in {"$lt", "$lte"}:
        return _ordered(value, operand, equal=operator == "$lte")
    return _ordered(operand, value, equal=operator == "$gte")


def _kind(value: object) -> str:
    """Return the group of types within which Cypher compares."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal in Cypher: true is not 1."""
    return _kind(left) == _kind(right) and bool(left == right)


def _ordered(low: Any, high: Any, *, equal: bool) -> bool:
    """Return whether two values of one kind are in order."""
    if _kind(low) != _kind(high) or _kind(low) not in {"boolean", "number", "str"}:
        return False
    return bool(low <= high if equal else low < high)

"""Filters on what a walk may touch: parsed once, run in Cypher or in SQL of a snapshot.

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
are checked and back-ticked.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.rows import shown_value
from knowtrail.graph.db.labels import BARE_FIELDS, PROPERTY
from knowtrail.graph.errors import FilterError, near_name
from knowtrail.ingest.keys import normalise_title
from knowtrail.retrieval.filter_clauses import (
    OPERATORS,
    AllOf,
    AnyOf,
    Clause,
    Compare,
    Field,
    cypher_of,
    inside_of,
    tag_of,
    tests_of,
    title_key_of,
    touches_document,
)

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["OPERATORS", "Filter", "parse_filter"]

_NAME = re.compile(PROPERTY)
_SECRET = frozenset({"embedding", "themeEmbedding"})
_DEEPEST = 8
_MOST_TESTS = 200
_LONGEST_NAME = 100
_LARGEST_INT = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A parsed filter."""

    clause: Clause

    def cypher(self, chunk: str) -> tuple[str, dict[str, Any]]:
        """Return the filter as a predicate, and its parameters `filter0` and so on."""
        params: dict[str, Any] = {}
        text = cypher_of(self.clause, chunk, params)
        if touches_document(self.clause):
            match = f"MATCH ({chunk})-[:FROM_DOCUMENT]->(document:Document)"
            text = f"EXISTS {{ {match} WHERE {text} }}"
        return text, params

    def inside(self, declared: Container[str], params: dict[str, Any]) -> str:
        """Return the filter as a vector index tests it, empty where it cannot.

        It has what is `declared`, such as `document.year`; values are added to the
        parameters.
        """
        clause = self.clause
        parts = clause.parts if isinstance(clause, AllOf) else (clause,)
        return inside_of(parts, declared, params)

    def start(self) -> tuple[str, str, dict[str, Any]]:
        """Return how to find what passes without looking at the rest.

        A pattern that finds chunks `c`, with their `document` where that is asked for,
        by an index where there is one for a property; a predicate for both; the
        parameters.
        """
        params: dict[str, Any] = {}
        predicate = cypher_of(self.clause, "c", params)
        if not touches_document(self.clause):
            return "MATCH (c:Chunk {corpus: $corpus})", predicate, params
        clause = self.clause
        parts = clause.parts if isinstance(clause, AllOf) else (clause,)
        of_document = [
            p for p in parts if "chunk" not in [t.field.owner for t in tests_of(p)]
        ]
        tests = [cypher_of(part, "c", params) for part in of_document]
        titles = [key for part in of_document if (key := title_key_of(part, params))]
        where = " AND ".join(["document.corpus = $corpus", *tests, *titles])
        tag = next(filter(None, (tag_of(part, params) for part in of_document)), "")
        if len(of_document) < len(parts) and not (tag or titles):
            # Without a title or a tag the planner chooses: properties have indexes.
            both = "(document:Document {corpus: $corpus})<-[:FROM_DOCUMENT]-"
            return f"MATCH {both}(c:Chunk {{corpus: $corpus}})", predicate, params
        start = f"{tag}MATCH (document:Document) WHERE {where} WITH document "
        start += "MATCH (document)<-[:FROM_DOCUMENT]-(c:Chunk)"
        return start, predicate, params


def parse_filter(given: object) -> Filter | None:
    """Read a filter; None and an empty object mean no filter.

    Raises `FilterError`, which names the place and what to write.
    """
    if given is None or given == {}:
        return None
    clause = _parse(given, depth=1)
    if (count := len(tests_of(clause))) > _MOST_TESTS:
        msg = f"The filter has {count} tests: the most is {_MOST_TESTS}."
        raise FilterError(msg)
    return Filter(clause=clause)


def _parse(given: object, *, depth: int) -> Clause:
    if not isinstance(given, dict) or not given:
        raise FilterError(
            f"{shown_value(given)} is no filter: write an object such as "
            '{"language": "en"}.'
        )
    if depth > _DEEPEST:
        msg = f"The filter is nested deeper than {_DEEPEST}: make it flatter."
        raise FilterError(msg)
    parts: list[Clause] = []
    for key, value in given.items():
        if len(str(key)) > _LONGEST_NAME:
            msg = f"A field's name has {len(str(key))} characters: shorten it."
            raise FilterError(msg)
        if key in {"$and", "$or"}:
            if not isinstance(value, list) or not value:
                msg = f"{key} has {shown_value(value)}: give it a list of filters."
                raise FilterError(msg)
            inner = tuple(_parse(v, depth=depth + 1) for v in value)
            parts += inner if key == "$and" else (AnyOf(parts=inner),)
        else:
            parts += _parse_field(key, value)
    flat = [q for p in parts for q in (p.parts if isinstance(p, AllOf) else (p,))]
    return flat[0] if len(flat) == 1 else AllOf(parts=tuple(flat))


def _parse_field(key: object, value: object) -> list[Clause]:
    if isinstance(key, str) and key.startswith("$"):
        hint = near_name(key, (*OPERATORS, "$and", "$or"), "; did you mean {}?")
        msg = f"{key!r} stands where a field should: write {{field: {{{key}: value}}}}"
        raise FilterError(msg + hint)
    field = _field(key)
    tests = value if isinstance(value, dict) else {"$eq": value}
    if not tests:
        msg = f"Field {key!r} has no operator: use one of {' '.join(OPERATORS)}."
        raise FilterError(msg)
    for operator, operand in tests.items():
        _check(str(key), operator, operand)
    stored = _stored_category if field.owner == "category" else lambda _, value: value
    return [
        Compare(field=field, operator=operator, value=stored(operator, operand))
        for operator, operand in tests.items()
    ]


def _stored_category(operator: str, operand: Any) -> Any:
    """Return names of categories as they are stored; what is no whole name stays."""
    if isinstance(operand, list) and operator != "$between":
        return [_stored_category("$eq", one) for one in operand]
    whole = operator in {"$eq", "$ne"} and isinstance(operand, str)
    return normalise_title(operand) if whole else operand


def _field(key: object) -> Field:
    if not isinstance(key, str):
        raise FilterError(f"{key!r} is no field name: write a string.")
    if key == "theme":
        return Field(owner="theme", name="name")
    if key == "category":
        return Field(owner="category", name="name")
    owner, dot, name = BARE_FIELDS.get(key, key).partition(".")
    if not dot:
        known = (*BARE_FIELDS, "theme", "category")
        hint = near_name(key, known, "did you mean {!r}? ")
        raise FilterError(
            f"Unknown field {key!r}: {hint}Use one of {', '.join(sorted(known))}, or "
            "document.NAME or chunk.NAME for a property of your own."
        )
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
    """Refuse an operator that there is not, or a value of the wrong kind."""
    if operator not in OPERATORS:
        hint = near_name(str(operator)[:80], OPERATORS, "did you mean {}? ")
        raise FilterError(
            f"Unknown operator {shown_value(operator)} of field {key!r}: {hint}"
            f"The operators are {' '.join(OPERATORS)}."
        )
    if operator in {"$in", "$nin", "$between"}:
        if not isinstance(operand, list) or not all(map(_is_scalar, operand)):
            raise FilterError(
                f"{operator} of {key!r} has {shown_value(operand)}: give it a list of "
                "values."
            )
        if operator == "$between" and len(operand) != 2:
            shown = shown_value(operand)
            msg = f"$between of {key!r} has {shown}: give it [lowest, highest]."
            raise FilterError(msg)
    elif operator in {"$like", "$ilike"}:
        if not isinstance(operand, str):
            msg = f"{operator} of {key!r} has {shown_value(operand)}: give it a string."
            raise FilterError(msg)
    elif not _is_scalar(operand):
        raise FilterError(
            f"{operator} of {key!r} has {shown_value(operand)}: give it a string, "
            "number or boolean, or use $in for several."
        )


def _is_scalar(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return -_LARGEST_INT <= value < _LARGEST_INT
    return isinstance(value, bool | str)

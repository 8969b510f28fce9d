"""The parts of a filter, and what they mean in Cypher."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from knowtrail.graph.db.labels import COPIED, LONGEST_COPY
from knowtrail.ingest.keys import title_keys

if TYPE_CHECKING:
    from collections.abc import Container, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a test looks at; of themes and categories the `name`."""

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


def tests_of(clause: Clause) -> list[Compare]:
    """Return the tests that a clause is made of."""
    if isinstance(clause, Compare):
        return [clause]
    return [test for part in clause.parts for test in tests_of(part)]


def touches_document(clause: Clause) -> bool:
    """Return whether the document must be looked at."""
    return any(test.field.owner != "chunk" for test in tests_of(clause))


_TESTS = {
    "$eq": "{x} = {p}",
    "$ne": "{x} <> {p}",
    "$lt": "{x} < {p}",
    "$lte": "{x} <= {p}",
    "$gt": "{x} > {p}",
    "$gte": "{x} >= {p}",
    "$between": "{p}[0] <= {x} <= {p}[1]",
    "$in": "{x} IN {p}",
    "$nin": "{x} IS NOT NULL AND NOT {x} IN {p}",
    "$like": "CASE WHEN {x} IS :: STRING THEN {x} CONTAINS {p} ELSE false END",
    "$ilike": (
        "CASE WHEN {x} IS :: STRING THEN toLower({x}) CONTAINS toLower({p}) "
        "ELSE false END"
    ),
}
"""Operator -> the Cypher clause for a value {x} and a parameter {p}."""
OPERATORS = tuple(_TESTS)
NONE_OF = {"$ne": "$eq", "$nin": "$in"}
"""Operators that, of a list, say what no member may be -> the test of a member."""


_TAGS = {"theme": ("HAS_THEME", "Theme"), "category": ("IN_CATEGORY", "Category")}
"""Owner of a tag's name -> the edge to the tag, and its label."""


def tag_of(clause: Clause, params: dict[str, Any]) -> str:
    """Return a pattern that finds documents by a tag; empty for any other clause."""
    if not isinstance(clause, Compare) or clause.field.owner not in _TAGS:
        return ""
    if clause.operator not in {"$eq", "$in"}:
        return ""
    name = f"filter{len(params)}"
    params[name] = clause.value
    edge, label = _TAGS[clause.field.owner]
    test = _TESTS[clause.operator].format(x="tag.name", p=f"${name}")
    return (
        f"MATCH (tag:{label} {{corpus: $corpus}})<-[:{edge}]-(document:Document) "
        f"WHERE {test} WITH DISTINCT document "
    )


def title_key_of(clause: Clause, params: dict[str, Any]) -> str:
    """Return a test of titles that an index answers; empty for any other clause.

    It passes a little more than the clause.
    """
    title = Field(owner="document", name="title")
    if not isinstance(clause, Compare) or clause.field != title:
        return ""
    titles = clause.value if clause.operator == "$in" else [clause.value]
    is_some = clause.operator in {"$eq", "$in"}
    if not (is_some and all(isinstance(one, str) for one in titles)):
        return ""
    name = f"filter{len(params)}"
    params[name] = sorted({key for title in titles for key in title_keys(title)})
    return f"document.titleKey IN ${name}"


_ENDS = {
    "$eq": "<>", "$in": "<>", "$between": "<>",
    "$lt": ">", "$lte": ">", "$gt": "<", "$gte": "<",
}  # fmt: skip
"""Operator that an index of vectors has inside -> the ends of a range that it sets."""


def inside_of(
    parts: Sequence[Clause], declared: Container[str], params: dict[str, Any]
) -> str:
    """Return what an index of vectors can test of clauses that must all hold.

    Those are of properties that it is `declared` to have, each with one range; of what
    a document has its chunks have copies. Empty where it cannot test them all, and
    where a title is asked for, which has an index of its own.
    """
    tests: list[str] = []
    taken: set[tuple[Field, str]] = set()
    for part in parts:
        if not isinstance(part, Compare) or part.field.many or title_key_of(part, {}):
            return ""
        field, copied = part.field, part.field.owner == "document"
        ends = {(field, end) for end in _ENDS.get(part.operator, "")}
        known = f"{field.owner}.{field.name}" in declared
        ordered = part.operator not in {"$eq", "$in"}
        if not known or not ends or ends & taken or not _inside(part.value, ordered):
            return ""
        taken |= ends
        own = Field(owner="chunk", name=COPIED + field.name if copied else field.name)
        tests.append(cypher_of(replace(part, field=own), "c", params))
    return " AND ".join(tests)


def _inside(value: Any, ordered: bool) -> bool:
    """Return whether the index compares with a value, or each of several, as Cypher."""
    if isinstance(value, list | tuple):
        return all(_inside(one, ordered) for one in value)
    if isinstance(value, str):  # long ones have no copy, but a place in an order
        return not ordered and len(value) <= LONGEST_COPY
    return bool(abs(value) < 2**53)  # it has doubles


def cypher_of(clause: Clause, chunk: str, params: dict[str, Any]) -> str:
    """Return a clause as Cypher, adding its values to the parameters."""
    if isinstance(clause, AllOf | AnyOf):
        word = " AND " if isinstance(clause, AllOf) else " OR "
        parts = [cypher_of(part, chunk, params) for part in clause.parts]
        return f"({word.join(parts)})"
    name = f"filter{len(params)}"
    params[name] = clause.value
    field = clause.field
    operator = NONE_OF.get(clause.operator, clause.operator)
    none_of = "NOT " if field.many and operator != clause.operator else ""
    if field.owner in _TAGS:
        test = _TESTS[operator].format(x="tag.name", p=f"${name}")
        edge, label = _TAGS[field.owner]
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

"""Filters in SQL: what passes is found by an index, not document by document."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.errors import FilterError
from knowtrail.retrieval.filter_clauses import NONE_OF, AllOf, Compare
from knowtrail.retrieval.snapshot.files import LONG_PROPERTIES, sql_value
from knowtrail.retrieval.snapshot.source import CHUNK_PLACES

if TYPE_CHECKING:
    from knowtrail.retrieval.filter_clauses import Clause, Field
    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.snapshot.files import Rows, Snapshot

_KEPT = 16
_ORDER = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}
_CONTAINS = {"$like": "instr(value, ?) > 0", "$ilike": "lower_has(value, ?)"}
_VALUES = "SELECT owner, kind, value FROM property WHERE name = ?"
_LONG_VALUES = """
SELECT row AS owner,
  CASE json_type(properties, ?) WHEN 'text' THEN 3 ELSE 0 END AS kind,
  CAST(json_extract(properties, ?) AS BLOB) AS value
FROM document WHERE json_type(properties, ?) IS NOT NULL
"""
_CHUNK_VALUES = {
    "id": "SELECT row AS owner, 3 AS kind, CAST(id AS BLOB) AS value FROM chunk",
    "text": (
        "SELECT row AS owner, 3 AS kind, chunk_text(text_start, text_stop) AS value "
        "FROM chunk"
    ),
} | {
    place: f'SELECT row AS owner, 2 AS kind, "{place}" AS value FROM chunk'  # noqa: S608
    for place in CHUNK_PLACES
}


def passing(snapshot: Snapshot, wanted: Filter) -> Rows:
    """Return the rows of the chunks that pass, in order; the last few are kept."""
    key = repr(wanted.clause)
    if (known := snapshot.passing.get(key)) is None:
        test, values = _clause(wanted.clause)
        with snapshot.reading():
            most = snapshot.sql.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        if len(values) > most:
            msg = f"The filter has {len(values):,} values: the most is {most:,}."
            raise FilterError(msg)
        with snapshot.reading():
            query = f"SELECT row FROM chunk WHERE {test}"  # noqa: S608 - clauses of ours
            found = snapshot.sql.execute(query, values)
            known = np.sort(np.fromiter((row for (row,) in found), dtype=np.int64))
        if len(snapshot.passing) >= _KEPT:
            snapshot.passing.clear()
        snapshot.passing[key] = known
    return known


def _clause(clause: Clause) -> tuple[str, list[Any]]:
    """Return a clause as a test of a chunk's row, and its values."""
    if not isinstance(clause, Compare):
        parts = [_clause(part) for part in clause.parts]
        word = " AND " if isinstance(clause, AllOf) else " OR "
        test = f"({word.join(part for part, _ in parts)})"
        return test, [value for _, values in parts for value in values]
    field, operator = clause.field, clause.operator
    none_of = field.many and operator in NONE_OF
    if none_of:
        operator = NONE_OF[operator]
    source, names = _source(field)
    test, values = _test(operator, clause.value)
    column = "row" if field.owner == "chunk" else "document"
    word = "NOT IN" if none_of else "IN"
    found = f"SELECT owner FROM ({source}) WHERE {test}"  # noqa: S608 - as above
    return f"{column} {word} ({found})", [*names, *values]


def _source(field: Field) -> tuple[str, list[str]]:
    """Return where the values of a field stand: owner, kind and value."""
    if field.owner == "chunk" and field.name in _CHUNK_VALUES:
        return _CHUNK_VALUES[field.name], []
    if field.owner == "document" and field.name in LONG_PROPERTIES:
        return _LONG_VALUES, [f"$.properties.{field.name}"] * 3
    return _VALUES, [f"{field.owner}.{field.name}"]


def _test(operator: str, operand: Any) -> tuple[str, list[Any]]:
    """Return an operator as a test of kind and value; what is null is false."""
    if operator in {"$ne", "$nin"}:
        test, values = _test(NONE_OF[operator], operand)
        return f"NOT ({test})", values
    if operator == "$between":
        low, high = (sql_value(end) for end in operand)
        return "kind = ? AND value >= ? AND kind = ? AND value <= ?", [*low, *high]
    if operator == "$in":
        of_kind: dict[int, list[Any]] = {}
        for kind, value in map(sql_value, operand):
            of_kind.setdefault(kind, []).append(value)
        tests = [
            f"kind = {kind} AND value IN ({', '.join('?' * len(values))})"
            for kind, values in of_kind.items()
        ]
        found = [value for values in of_kind.values() for value in values]
        return " OR ".join(tests) or "0", found
    kind, value = sql_value(operand)
    if operator in _CONTAINS:
        return f"kind = {kind} AND {_CONTAINS[operator]}", [value]
    return f"kind = {kind} AND value {_ORDER.get(operator, '=')} ?", [value]

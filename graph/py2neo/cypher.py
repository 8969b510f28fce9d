"""What py2neo has in `py2neo.cypher`: cursors, records, and the writing of Cypher."""

from __future__ import annotations

from graph.py2neo.cursors import Cursor
from graph.py2neo.cypher_writing import (
    CypherExpression,
    cypher_escape,
    cypher_join,
    cypher_repr,
    cypher_str,
)
from graph.py2neo.records import Record

__all__ = [
    "Cursor",
    "CypherExpression",
    "Record",
    "cypher_escape",
    "cypher_join",
    "cypher_repr",
    "cypher_str",
]

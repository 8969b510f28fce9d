"""How each kind of node and relationship looks, in every viewer.

One table, `styles.json`, gives the colours, sizes, captions and properties for Bloom,
Neo4j Browser and our own graph pictures, so that they agree. Of it a perspective and a
style sheet are made by templates beside this file; the search phrases of the
perspective are the statements in `cypher/bloom/`. Ids and times are always the same, so
that the files are, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowtrail.graph.db.statements import statement, statement_record
from knowtrail.retrieval.views.page import rendered
from knowtrail.retrieval.views.palette import darker


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStyle:
    """How nodes of a label look.

    `ink` is the colour of text on `color`, `caption` the property that names a node;
    of `properties`, with their types as Bloom names them, a person has no use for the
    hidden ones.
    """

    label: str
    color: str
    caption: str
    properties: Mapping[str, str]
    ink: str = "#ffffff"
    size: float = 1.0
    hidden: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipStyle:
    """How relationships of a type look, with the labels of their usual ends.

    The width is in pixels; a caption is the property that is shown, None shows the
    type; `properties` are as those of nodes.
    """

    type: str
    start: str
    end: str
    color: str
    width: int = 1
    caption: str | None = None
    properties: Mapping[str, str]


_TABLE: dict[str, Any] = json.loads(
    Path(__file__).with_name("styles.json").read_bytes()
)
_KINDS = {name: kind for kind in ("bigint", "number") for name in _TABLE[kind].split()}


def _typed(names: str) -> dict[str, str]:
    """Return properties with their types as Bloom names them."""
    return {name: _KINDS.get(name, "string") for name in names.split()}


def _node(*, properties: str, hidden: str = "", **given: Any) -> NodeStyle:
    typed = _typed(properties)
    unread = frozenset([*hidden.split(), "embedding"]) & set(typed)
    return NodeStyle(properties=typed, hidden=unread, **given)


NODES = tuple(_node(**row) for row in _TABLE["nodes"])
"""The labels that are stored, in the order in which a legend lists them."""

RELATIONSHIPS = tuple(
    RelationshipStyle(**row | {"properties": _typed(row.get("properties", ""))})
    for row in _TABLE["relationships"]
)
"""The types that are stored."""

FORMAT = "2.21.0"
"""The perspective format that is written."""

_SEARCH: dict[str, Any] = json.loads(
    Path(__file__).with_name("phrases.json").read_bytes()
)
"""Phrases, and parameter -> the label and property whose values Bloom suggests."""

PHRASES: Mapping[str, str] = _SEARCH["phrases"]
"""What one types in Bloom -> the statement that answers."""


def perspective_text() -> str:
    """Return the perspective as the text of a JSON file."""
    return json.dumps(perspective(), ensure_ascii=False, indent=2) + "\n"


def perspective() -> dict[str, Any]:
    """Return the perspective as JSON values."""
    text = rendered(
        "perspective.json",
        format=FORMAT,
        nodes=NODES,
        relationships=RELATIONSHIPS,
        statement=statement,
        record=statement_record,
        **_SEARCH,
    )
    found: dict[str, Any] = json.loads(text)
    return found


def grass_text() -> str:
    """Return the style sheet for Neo4j Browser."""
    return rendered(
        "browser.grass", nodes=NODES, relationships=RELATIONSHIPS, darker=darker
    )

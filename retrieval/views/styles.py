"""How each kind of node and relationship looks, in every viewer.

One table, `styles.json`, gives the colours, sizes, captions and properties for Bloom,
Neo4j Browser and our own graph pictures, so that they agree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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

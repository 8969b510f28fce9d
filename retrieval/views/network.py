"""Nodes and relationships of any reading statement, as a page that needs no server."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.rows import cell_text, counted, plain_value
from knowtrail.graph.db.user_statements import run_statement
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.views.labels import cut, plain
from knowtrail.retrieval.views.page import rendered
from knowtrail.retrieval.views.palette import COLORS
from knowtrail.retrieval.views.styles import NODES, RELATIONSHIPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import neo4j.graph
    from markupsafe import Markup

    from knowtrail.graph.db.connection import Connection

_LOG = logging.getLogger(__name__)
EXPLORER = Path(__file__).resolve().parents[1] / "explorer"
"""The files of the explorer, whose drawing this page shares."""

MAX_NODES = 2_000
MAX_ROWS = 10_000
_TITLE = 140
_LETTERS = 500
_NAMES = ("title", "name", "text", "id")
_NODE_STYLES = {style.label: style for style in NODES}
_RELATIONSHIP_STYLES = {style.type: style for style in RELATIONSHIPS}


def network_page(
    connection: Connection,
    statement: str,
    params: Mapping[str, Any] | None = None,
    *,
    title: str | None = None,
) -> str:
    """Draw the nodes, paths and relationships, with ends, that a statement returns.

    They may be at any depth of its values. Of more than 2,000 nodes the first are
    drawn, and a warning is logged. Without a title the statement is shown.
    """
    graph = _read(connection, statement, params)
    nodes, edges = counted(len(graph["nodes"]), "node"), len(graph["edges"])
    if not graph["nodes"]:
        raise InputError(
            "The statement returns no node to draw: return nodes, relationships or "
            "paths, such as 'MATCH p = (:Document)-[:LINKS_TO]->() RETURN p LIMIT 50'."
        )
    said = shorten(plain(title or statement), _TITLE, placeholder=" \u2026")
    about = f"{nodes} and {counted(edges, 'relationship')}"
    files = {
        "library": _text("vendor/cytoscape.min.js"),
        "drawing": _text("dom.js", "layout.js", "picture.js"),
        "style": _text("picture.css"),
    }
    data = {"title": said, "about": about, "graph": graph, "styles": style_table()}
    return rendered("network.html", data=data, **files)


def _text(*names: str) -> Markup:
    from markupsafe import Markup

    text = "".join((EXPLORER / name).read_text("utf-8") for name in names)
    return Markup(re.sub(r"(?m)^import .*\n", "", text))  # noqa: S704  (our own)


def _read(
    connection: Connection, statement: str, params: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Run the statement and keep the first entities that it returns."""
    elements = Elements(MAX_NODES)
    with run_statement(connection, statement, params) as running:
        for count, row in enumerate(running):
            if count >= MAX_ROWS or elements.more:
                _LOG.warning(
                    "Only the first %d rows are drawn, with %d nodes: add a LIMIT.",
                    *(count, MAX_NODES),
                )
                break
            elements.add(row)
    if bare := elements.bare():
        elements.add([
            r["n"] for r in connection.stream("retrieval/view_nodes", ids=bare)
        ])
    return elements.as_dict()


class Elements:
    """The first nodes of some values, at most `most`, and what is between them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._nodes: dict[str, neo4j.graph.Node] = {}
        self._edges: dict[str, neo4j.graph.Relationship] = {}
        self.more = False

    def add(self, value: Any) -> None:
        """Keep the nodes, relationships and paths of a value, at any depth."""
        from neo4j.graph import Node

        for entity in _entities(value):
            if isinstance(entity, Node):
                self._keep(entity)
            else:
                self._edges[entity.element_id] = entity
                for end in entity.nodes:
                    if end is not None and end.element_id not in self._nodes:
                        self._keep(end)

    def _keep(self, node: neo4j.graph.Node) -> None:
        if node.element_id in self._nodes or len(self._nodes) < self._most:
            self._nodes[node.element_id] = node
        else:
            self.more = True

    def bare(self) -> list[str]:
        """Return the ends of relationships of which nothing but the id is known."""
        nodes = self._nodes.items()
        return [key for key, node in nodes if not node.labels and not dict(node)]

    def as_dict(self) -> dict[str, Any]:
        """Return them as JSON values, properties as short texts."""
        edges, kept = map(_edge, self._edges.values()), self._nodes.keys()
        return {
            "nodes": [_node(node) for node in self._nodes.values()],
            "edges": [e for e in edges if {e["source"], e["target"]} <= kept],
            "more": self.more,
        }


def named(value: Any) -> Any:
    """Return a value in which nodes, relationships and paths are texts."""
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node | Relationship | Path):
        return cell_text(value)
    if isinstance(value, list | tuple):
        return [named(item) for item in value]
    if isinstance(value, dict):
        return {key: named(item) for key, item in value.items()}
    return value


def style_table() -> dict[str, Any]:
    """Return how kinds of nodes and relationships look, for the drawing in pages."""
    return {
        "nodes": {s.label: {"color": s.color, "size": s.size} for s in NODES},
        "edges": {s.type: {"color": s.color, "width": s.width} for s in RELATIONSHIPS},
        "others": COLORS,
    }


def _entities(value: Any) -> Iterator[neo4j.graph.Node | neo4j.graph.Relationship]:
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node | Relationship):
        yield value
    elif isinstance(value, Path):
        yield from value.nodes
        yield from value.relationships
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _entities(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _entities(item)


def _node(node: neo4j.graph.Node) -> dict[str, Any]:
    labels = sorted(node.labels)
    known = [label for label in labels if label in _NODE_STYLES]
    label = next(iter(known or labels), "")
    style = _NODE_STYLES.get(label)
    names = (style.caption,) if style else _NAMES
    name = next((node[n] for n in names if node.get(n) is not None), label)
    hidden = {key for known_label in known for key in _NODE_STYLES[known_label].hidden}
    return {
        "id": node.element_id,
        "label": plain(label),
        "name": cut(str(name), 200),
        "properties": _properties(node, hidden),
    }


def _edge(edge: neo4j.graph.Relationship) -> dict[str, Any]:
    style = _RELATIONSHIP_STYLES.get(edge.type)
    value = edge.get(style.caption) if style and style.caption else None
    shown = f"{value:.2f}" if isinstance(value, float) else cut(str(value or ""), 60)
    start, end = ("" if n is None else n.element_id for n in edge.nodes)
    return {
        "id": edge.element_id,
        "source": start,
        "target": end,
        "label": plain(edge.type),
        "name": shown,
        "properties": _properties(edge, ()),
    }


def _properties(
    entity: neo4j.graph.Node | neo4j.graph.Relationship, hidden: Iterable[str]
) -> dict[str, str]:
    """Return properties that a person can read, by name."""
    left = sorted(set(entity.keys()) - set(hidden))
    return {
        plain(name): cut(str(plain_value(entity[name])), _LETTERS)
        for name in left
        if not _is_vector(entity[name])
    }


def _is_vector(value: Any) -> bool:
    """Return whether a value is a vector, or a list as long as one."""
    from neo4j.vector import Vector

    if isinstance(value, list):
        return len(value) > 8 and not isinstance(value[0], str)
    return isinstance(value, Vector)

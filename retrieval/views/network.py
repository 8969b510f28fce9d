"""Nodes and relationships of any reading statement, drawn by `neo4j-viz`."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from graph.errors import InputError, MissingExtraError
from graph.user_statements import run_statement
from retrieval.views.labels import cut, plain
from retrieval.views.palette import COLORS
from retrieval.views.styles import NODES, RELATIONSHIPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import neo4j.graph
    from neo4j_viz import Node, Relationship

    from graph.connection import Connection

__all__ = ["MAX_NODES", "network_page"]

_LOG = logging.getLogger(__name__)
MAX_NODES = 2_000
MAX_ROWS = 10_000
_LETTERS = 500
_NODE_STYLES = {style.label: style for style in NODES}
_RELATIONSHIP_STYLES = {style.type: style for style in RELATIONSHIPS}


def network_page(
    connection: Connection, statement: str, params: Mapping[str, Any] | None = None
) -> str:
    """Draw what a statement returns.

    Args:
        connection: The database.
        statement: Cypher that reads; nodes, relationships and paths among its values,
            at any depth, are drawn. Ends of relationships are drawn too.
        params: Its parameters.

    Returns:
        A page that needs no network. Of more than 2,000 nodes the first are drawn,
        and a warning is logged.

    Raises:
        InputError: If the statement would write, cannot be understood or returns no
            node.
        MissingExtraError: If the extra `view` is not installed.
    """
    try:
        from neo4j_viz import VisualizationGraph
    except ImportError as error:
        msg = "Graph pictures need the extra `view`: pip install 'knowtrail[view]'"
        raise MissingExtraError(msg) from error
    nodes, relationships = _fetch(connection, statement, params)
    if not nodes:
        msg = (
            "The statement returns no node to draw: return nodes, relationships or "
            "paths, such as 'MATCH p = (:Document)-[:LINKS_TO]->() RETURN p LIMIT 50'."
        )
        raise InputError(msg)
    ids = {key: str(n) for n, key in enumerate(nodes)}
    graph = VisualizationGraph(
        nodes=[_node(ids[key], node) for key, node in nodes.items()],
        relationships=[
            _relationship(f"r{n}", ids, relationship)
            for n, relationship in enumerate(relationships.values())
        ],
    )
    _add_legend(graph, nodes)
    html: str = graph.render(
        height="100vh",
        theme="light",
        max_allowed_nodes=MAX_NODES,
        initial_zoom=min(1.0, 4.0 / len(nodes) ** 0.5),
    ).data
    return _finished(html)


def _fetch(
    connection: Connection, statement: str, params: Mapping[str, Any] | None
) -> tuple[dict[str, neo4j.graph.Node], dict[str, neo4j.graph.Relationship]]:
    """Run the statement and keep the first entities that it returns."""
    from neo4j.graph import Node

    nodes: dict[str, neo4j.graph.Node] = {}
    relationships: dict[str, neo4j.graph.Relationship] = {}
    with run_statement(connection, statement, params) as running:
        for count, row in enumerate(running):
            if count >= MAX_ROWS or len(nodes) >= MAX_NODES:
                _LOG.warning(
                    "Only the first %d rows are drawn, with %d nodes: add a LIMIT.",
                    count,
                    len(nodes),
                )
                break
            for entity in _entities(row):
                if isinstance(entity, Node):
                    nodes[entity.element_id] = entity
                else:
                    relationships[entity.element_id] = entity
                    for end in (entity.start_node, entity.end_node):
                        if end is not None:
                            nodes.setdefault(end.element_id, end)
    kept = dict(list(nodes.items())[:MAX_NODES])
    # The end of a relationship that was returned alone has an id and nothing else.
    bare = [key for key, node in kept.items() if not node.labels and not dict(node)]
    if bare:
        for record in connection.stream("retrieval/view_nodes", ids=bare):
            kept[record["n"].element_id] = record["n"]
    return kept, {
        key: one
        for key, one in relationships.items()
        if one.start_node is not None
        and one.end_node is not None
        and {one.start_node.element_id, one.end_node.element_id} <= set(kept)
    }


def _entities(
    value: Any,
) -> Iterator[neo4j.graph.Node | neo4j.graph.Relationship]:
    """Yield nodes and relationships of a value, however deep."""
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


def _label(node: neo4j.graph.Node) -> str:
    """Return the label that a node is drawn by."""
    labels = sorted(node.labels)
    return next(
        (label for label in labels if label in _NODE_STYLES), (labels or [""])[0]
    )


def _color(label: str) -> str:
    """Return the colour of a label; one of our own where it is not known."""
    style = _NODE_STYLES.get(label)
    return style.color if style else COLORS[sum(map(ord, label)) % len(COLORS)]


def _node(key: str, node: neo4j.graph.Node) -> Node:
    """Return a node as it is drawn."""
    from neo4j_viz import Node as Drawn

    label = _label(node)
    style = _NODE_STYLES.get(label)
    names = [style.caption] if style else ["title", "name", "text", "id"]
    name = next((str(node[n]) for n in names if node.get(n) is not None), label)
    return Drawn(  # type: ignore[call-arg] # its defaults are not seen
        id=key,
        caption=cut(name, 40),
        color=_color(label),
        size=round(28 * (style.size if style else 1.0)),
        properties={"labels": ", ".join(sorted(node.labels)), **_properties(node)},
    )


def _relationship(
    key: str, ids: Mapping[str, str], one: neo4j.graph.Relationship
) -> Relationship:
    """Return a relationship as it is drawn."""
    from neo4j_viz import Relationship as Drawn

    style = _RELATIONSHIP_STYLES.get(one.type)
    caption = one.type
    if style and style.caption and one.get(style.caption) is not None:
        value = one[style.caption]
        caption = f"{value:.2f}" if isinstance(value, float) else cut(str(value), 30)
    start, end = one.start_node, one.end_node
    return Drawn(  # type: ignore[call-arg] # its defaults are not seen
        id=key,
        source="" if start is None else ids[start.element_id],
        target="" if end is None else ids[end.element_id],
        caption=caption,
        color=style.color if style else "#8b97a3",
        properties={"type": one.type, **_properties(one)},
    )


def _properties(
    entity: neo4j.graph.Node | neo4j.graph.Relationship,
) -> dict[str, str | int | float | bool]:
    """Return properties that a person can read, by name."""
    found: dict[str, str | int | float | bool] = {}
    for name in sorted(entity.keys()):
        value = entity[name]
        if isinstance(value, bool | int | float):
            found[name] = value
        elif not _is_vector(value):
            found[name] = cut(str(value), _LETTERS)
    return found


def _is_vector(value: Any) -> bool:
    """Return whether a value is a vector, or a list as long as one."""
    if isinstance(value, list):
        return len(value) > 8 and not isinstance(value[0], str)
    return type(value).__name__ == "Vector"


def _add_legend(graph: Any, nodes: Mapping[str, neo4j.graph.Node]) -> None:
    """Say which colour stands for which label."""
    labels = sorted({_label(node) for node in nodes.values()})
    graph.set_legend(
        nodes={plain(label) or "no label": _color(label) for label in labels}
    )


def _finished(html: str) -> str:
    """Give a page the same bytes every time, and forbid it every connection."""
    policy = (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval' "
        "blob: data:; worker-src blob: data:; img-src data: blob:; font-src data:; "
        'connect-src data: blob:">'
    )
    html = re.sub(r"neo4j-viz-[0-9a-f]{12}", "knowtrail-graph", html)
    return html.replace("<head>", f"<head>\n    {policy}", 1)

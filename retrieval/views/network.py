"""Nodes and relationships of any reading statement, as a page."""

from __future__ import annotations

import html
import logging
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.cli.rows import counted
from knowtrail.graph.db.user_statements import run_statement
from knowtrail.graph.errors import InputError
from knowtrail.graph.extras import extra
from knowtrail.retrieval.views.labels import cut, markup, plain, width, wrapped
from knowtrail.retrieval.views.layout import Heading
from knowtrail.retrieval.views.page import BASE_LAYOUT, page_of
from knowtrail.retrieval.views.palette import COLORS
from knowtrail.retrieval.views.styles import NODES, RELATIONSHIPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import neo4j.graph
    import numpy.typing as npt

    from knowtrail.graph.db.connection import Connection

    _Places = npt.NDArray[np.float64]
    _Cells = list[tuple[str, str]]

_LOG = logging.getLogger(__name__)
MAX_NODES = 2_000
MAX_ROWS = 10_000
_LETTERS = 500
_TITLE = 140
_SIDE = 700
"""About so many pixels has a picture on its shorter side."""
_FEW = 80
"""With more nodes or relationships these are drawn smaller."""
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

    Raises:
        InputError: If the statement would write, cannot be understood or returns no
            node.
        MissingExtraError: If the extra `view` is not installed.
    """
    nodes, relationships = _fetch(connection, statement, params)
    if not nodes:
        msg = (
            "The statement returns no node to draw: return nodes, relationships or "
            "paths, such as 'MATCH p = (:Document)-[:LINKS_TO]->() RETURN p LIMIT 50'."
        )
        raise InputError(msg)
    numbers = {key: n for n, key in enumerate(nodes)}
    ends = [(numbers[a], numbers[b]) for a, b in map(_ends, relationships.values())]
    places = _places(len(nodes), ends)
    edges = _edge_traces(list(relationships.values()), ends, places)
    points = _node_traces(list(nodes.values()), places)
    traces = [trace for trace, _ in edges + points]
    said = Heading(
        title=shorten(plain(title or statement), _TITLE, placeholder=" \u2026"),
        about=(
            f"{counted(len(nodes), 'node')} and "
            f"{counted(len(relationships), 'relationship')}. Point at a node, or at "
            "the arrow of a relationship, to read it; scroll to zoom. Labels that "
            "would cover others are left out."
        ),
    )
    axis = {"visible": False}
    layout = {
        **BASE_LAYOUT,
        "xaxis": axis,
        "yaxis": {**axis, "scaleanchor": "x"},
        "dragmode": "pan",
        "hovermode": "closest",
        "legend": {"itemsizing": "constant"},
        "margin": {"l": 10, "r": 10, "t": 34, "b": 10},
    }
    held = {n: cells for n, (_, cells) in enumerate(edges + points) if cells}
    return page_of(said, traces, layout, cells=held, hint="Point at a node to read it.")


def _places(count: int, ends: Sequence[tuple[int, int]]) -> _Places:
    """Return where nodes stand: those that are connected near, all others apart."""
    with extra("view", "An interactive picture"):
        import networkx as nx  # type: ignore[import-untyped,unused-ignore]
    graph = nx.empty_graph(count)
    graph.add_edges_from(ends)
    rounds = max(20, min(50, 30_000 // count))
    at = nx.spring_layout(graph, method="energy", seed=0, iterations=rounds)
    return np.array([at[n] for n in range(count)]).T.round(4)


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
    labels = sorted(node.labels)
    return next(
        (label for label in labels if label in _NODE_STYLES), (labels or [""])[0]
    )


def _color(label: str) -> str:
    """Return the colour of a label; one of our own where it is not known."""
    style = _NODE_STYLES.get(label)
    return style.color if style else COLORS[sum(map(ord, label)) % len(COLORS)]


def _apart(texts: Sequence[str], places: _Places, letter: float) -> list[str]:
    """Return texts (of lines, below nodes) of which none covers another, or empty."""
    pixel = float(np.ptp(places, axis=1).max()) / _SIDE
    kept: list[tuple[float, float, float, float]] = []
    shown = []
    for text, (x, y) in zip(texts, places.T.tolist(), strict=True):
        lines = html.unescape(text).split("<br>")
        half = max(map(width, lines)) * letter * pixel / 2
        low = y - len(lines) * 2.2 * letter * pixel
        free = all(
            x + half < left or right < x - half or y < bottom or top < low
            for left, right, bottom, top in kept
        )
        if free:
            kept.append((x - half, x + half, low, y))
        shown.append(text if free else "")
    return shown


def _node_traces(
    nodes: Sequence[neo4j.graph.Node], places: _Places
) -> list[tuple[dict[str, Any], list[_Cells]]]:
    """Return the nodes of each label, with what the panel says of each."""
    small = len(nodes) > _FEW
    names = [_name(node) for node in nodes]
    texts = [wrapped(name, columns=20, lines=2) for name in names]
    texts = _apart(texts, places, 5.5 if small else 7.0)
    traces = []
    for label in sorted({_label(node) for node in nodes}):
        members = [n for n, node in enumerate(nodes) if _label(node) == label]
        style = _NODE_STYLES.get(label)
        trace = {
            "type": "scatter",
            "mode": "markers+text",
            "name": markup(plain(label)) or "no label",
            "x": places[0, members].tolist(),
            "y": places[1, members].tolist(),
            "text": [texts[n] for n in members],
            "hovertext": [wrapped(names[n]) for n in members],
            "hoverinfo": "text",
            "textposition": "bottom center",
            "textfont": {"size": 9 if small else 12},
            "marker": {
                "color": _color(label),
                "size": round((10 if small else 18) * (style.size if style else 1)),
                "line": {"color": "#ffffff", "width": 1},
            },
        }
        cells = [_told(":".join(sorted(nodes[n].labels)), nodes[n]) for n in members]
        traces.append((trace, cells))
    return traces


def _edge_traces(
    edges: Sequence[neo4j.graph.Relationship],
    ends: Sequence[tuple[int, int]],
    places: _Places,
) -> list[tuple[dict[str, Any], list[_Cells]]]:
    """Return for each type its lines and its arrows, which the panel tells of."""
    traces: list[tuple[dict[str, Any], list[_Cells]]] = []
    for kind in sorted({edge.type for edge in edges}):
        members = [n for n, edge in enumerate(edges) if edge.type == kind]
        style = _RELATIONSHIP_STYLES.get(kind)
        starts = places[:, [ends[n][0] for n in members]]
        stops = places[:, [ends[n][1] for n in members]]
        middle = 0.4 * starts + 0.6 * stops
        lead = stops - starts
        drawn: dict[str, Any] = {
            "type": "scatter",
            "legendgroup": kind,
            "name": markup(plain(kind)),
        }
        color = style.color if style else "#8b97a3"
        lines = {
            name: [
                value
                for pair in zip(starts[n].tolist(), stops[n].tolist(), strict=True)
                for value in (*pair, None)
            ]
            for n, name in enumerate("xy")
        }
        thick = style.width if style and len(edges) <= _FEW else 1
        line = {"color": color, "width": thick}
        traces.append((
            {
                **drawn,
                **lines,
                "mode": "lines",
                "line": line,
                "hoverinfo": "skip",
                "opacity": 1.0 if len(edges) <= _FEW else 0.4,
            },
            [],
        ))
        arrows = {
            "mode": "markers",
            "x": middle[0].round(3).tolist(),
            "y": middle[1].round(3).tolist(),
            "hovertext": [markup(_caption(edges[n])) for n in members],
            "hoverinfo": "text",
            "showlegend": False,
            "marker": {
                "symbol": "arrow",
                "size": 8 + thick,
                "color": color,
                "angle": np.degrees(np.arctan2(*lead)).round(1).tolist(),
            },
        }
        told = [_told(kind, edges[n]) for n in members]
        traces.append(({**drawn, **arrows}, told))
    return traces


def _ends(one: neo4j.graph.Relationship) -> tuple[str, str]:
    """Return what is known of the ends of a relationship, which `_fetch` kept."""
    start, end = ("" if n is None else n.element_id for n in one.nodes)
    return start, end


def _name(node: neo4j.graph.Node) -> str:
    label = _label(node)
    style = _NODE_STYLES.get(label)
    names = [style.caption] if style else ["title", "name", "text", "id"]
    return next((str(node[n]) for n in names if node.get(n) is not None), label)


def _caption(one: neo4j.graph.Relationship) -> str:
    """Return the type of a relationship, with the property that tells most."""
    style = _RELATIONSHIP_STYLES.get(one.type)
    value = one.get(style.caption) if style and style.caption else None
    shown = f"{value:.2f}" if isinstance(value, float) else cut(str(value or ""), 60)
    return f"{plain(one.type)} {shown}".rstrip()


def _told(kind: str, entity: neo4j.graph.Node | neo4j.graph.Relationship) -> _Cells:
    return [("", plain(kind)), *_properties(entity).items()]


def _properties(
    entity: neo4j.graph.Node | neo4j.graph.Relationship,
) -> dict[str, str]:
    """Return properties that a person can read, by name."""
    hidden: set[str] = set()
    for label in getattr(entity, "labels", ()):
        hidden |= _NODE_STYLES[label].hidden if label in _NODE_STYLES else set()
    return {
        plain(name): cut(str(entity[name]), _LETTERS)
        for name in sorted(entity.keys())
        if name not in hidden and not _is_vector(entity[name])
    }


def _is_vector(value: Any) -> bool:
    """Return whether a value is a vector, or a list as long as one."""
    if isinstance(value, list):
        return len(value) > 8 and not isinstance(value[0], str)
    return type(value).__name__ == "Vector"

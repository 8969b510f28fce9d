"""Nodes and relationships of any reading statement, as a page that needs no server."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.rows import counted
from knowtrail.graph.db.user_statements import run_statement
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.views.elements import Elements, style_table
from knowtrail.retrieval.views.labels import plain
from knowtrail.retrieval.views.page import rendered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markupsafe import Markup

    from knowtrail.graph.db.connection import Connection

_LOG = logging.getLogger(__name__)
EXPLORER = Path(__file__).resolve().parents[1] / "explorer"
"""The files of the explorer, whose drawing this page shares."""

MAX_NODES = 2_000
MAX_ROWS = 10_000
_TITLE = 140


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

"""Pictures over similarity matrices: of a document, and of a walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.views.layout import Heading, pooling
from knowtrail.retrieval.views.path import (
    global_panel,
    panel_of,
    read_visited,
    sequential_panels,
    windowed_panels,
)
from knowtrail.retrieval.views.reading import (
    MAX_CHUNKS,
    find_document,
    read_passages,
    read_sample,
)
from knowtrail.retrieval.views.static import path_picture
from knowtrail.retrieval.views.walks import heading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.walk import Walk

_LAYOUTS = {"sequential": sequential_panels, "windowed": windowed_panels}


def matrix_of(
    connection: Connection, document: str, *, corpus: str | None, suffix: str
) -> bytes | str:
    """Draw the similarity matrix of a document, by its title, alias or id.

    Raises `InputError` if there is no such document, or it has no chunks or too many.
    """
    found = find_document(connection, document, corpus=corpus)
    if found.chunks > MAX_CHUNKS:
        raise InputError(
            f"{found.title!r} has {found.chunks} chunks, a matrix is made of "
            f"{MAX_CHUNKS} at most: use knowtrail view graph."
        )
    passages = read_sample(connection, [found.id])
    if not passages.rows:
        msg = f"{found.title!r} has no chunks with vectors: ingest it first."
        raise InputError(msg)
    panel = panel_of(passages)
    said = Heading(
        title=found.title,
        about=(
            f"How similar its {len(passages.rows)} chunks are to each other, in the "
            f"order of the text.{pooling(panel.grid)}"
        ),
    )
    return path_picture([panel], said, suffix)


def chunks_of(
    connection: Connection, ids: Sequence[str], heading: Heading, *, suffix: str
) -> bytes | str:
    """Draw how similar to each other those of some chunks are that are left."""
    found = read_passages(connection, ids)
    if not found.rows:
        msg = "None of these chunks is left to draw: make the contexts again."
        raise InputError(msg)
    order = {key: place for place, key in enumerate(ids)}
    panel = panel_of(found.ordered(lambda row: order[row.id]))
    return path_picture([panel], heading, suffix)


def path_of(
    connection: Connection, walk: Walk, *, layout: str, suffix: str
) -> bytes | str:
    """Draw a walk over the similarities of the documents that it visited.

    The layout is `global`, `sequential` or `windowed`, the suffix `.html`, `.png` or
    `.svg`. Raises `InputError` if no chunk is left, or the documents are too long.
    """
    visited = read_visited(connection, walk)
    if layout != "global":
        panels = _LAYOUTS[layout](walk, visited)
        between = any(panel.arrival is not None for panel in panels)
        said = heading(
            walk, " Beside an arrow between windows: the cosine." if between else ""
        )
    else:
        panels = (global_panel(walk, visited),)
        said = heading(walk, pooling(panels[0].grid))
    return path_picture(panels, said, suffix)

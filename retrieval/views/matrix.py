"""Pictures over similarity matrices: of a document, and of a walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.errors import InputError
from retrieval.views.grid import similarity_grid
from retrieval.views.interactive import matrix_page, path_page
from retrieval.views.layout import Heading, pooling
from retrieval.views.path import global_panel, read_visited, sequential_panels
from retrieval.views.reading import (
    MAX_CHUNKS,
    find_document,
    read_sample,
    segments_of,
)
from retrieval.views.static import matrix_picture, path_picture
from retrieval.views.walks import heading

if TYPE_CHECKING:
    from graph.connection import Connection
    from retrieval.walk import Walk

__all__ = ["matrix_of", "path_of"]


def matrix_of(
    connection: Connection, document: str, *, corpus: str | None, suffix: str
) -> bytes | str:
    """Draw the similarity matrix of a document.

    Args:
        connection: The database.
        document: Title, alias or id.
        corpus: Where to look; None looks everywhere.
        suffix: `.html`, `.png` or `.svg`.

    Raises:
        InputError: If there is no such document, or it has no chunks or too many.
        MissingExtraError: If the extra `view` is not installed.
    """
    found = find_document(connection, document, corpus=corpus)
    if found.chunks > MAX_CHUNKS:
        msg = (
            f"{found.title!r} has {found.chunks} chunks, a matrix is made of "
            f"{MAX_CHUNKS} at most: use knowtrail view graph."
        )
        raise InputError(msg)
    passages = read_sample(connection, [found.id])
    if not passages.rows:
        msg = f"{found.title!r} has no chunks with vectors: ingest it first."
        raise InputError(msg)
    grid = similarity_grid(passages.vectors, segments_of(passages.rows))
    said = Heading(
        title=found.title,
        about=(
            f"How similar its {len(passages.rows)} chunks are to each other, in the "
            f"order of the text.{pooling(grid)}"
        ),
    )
    if suffix != ".html":
        return matrix_picture(grid, said, suffix)
    texts = {(row.document, row.index): row.text for row in passages.rows}
    spans = [grid.span(cell) for cell in range(len(grid.values))]
    return matrix_page(
        grid, [texts[segment.document, first] for segment, first, _ in spans], said
    )


def path_of(
    connection: Connection, walk: Walk, *, layout: str, suffix: str
) -> bytes | str:
    """Draw a walk over the similarities of the documents that it visited.

    Args:
        connection: The database.
        walk: The walk.
        layout: `global` or `sequential`.
        suffix: `.html`, `.png` or `.svg`.

    Raises:
        InputError: If no chunk of the walk is left, or its documents are too long.
        MissingExtraError: If the extra `view` is not installed.
    """
    visited = read_visited(connection, walk)
    if layout == "sequential":
        panels = sequential_panels(walk, visited)
        said = heading(walk)
    else:
        panels = (global_panel(walk, visited),)
        said = heading(walk, pooling(panels[0].grid))
    if suffix == ".html":
        return path_page(panels, said)
    return path_picture(panels, said, suffix)

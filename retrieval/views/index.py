"""A folder with the pictures of a corpus, and one page that shows them all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.cli.rows import counted
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import InputError, StorageError
from knowtrail.graph.files import check_output, disk_errors, write_file
from knowtrail.retrieval.views.labels import plain
from knowtrail.retrieval.views.matrix import matrix_of, path_of
from knowtrail.retrieval.views.network import network_page
from knowtrail.retrieval.views.page import rendered
from knowtrail.retrieval.views.reading import read_documents
from knowtrail.retrieval.views.space import space_of
from knowtrail.retrieval.views.walks import read_walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection

    _Picture = tuple[str, str, str, Callable[[], bytes | str]]
    """A section of the page; a file, what it shows, and what draws it."""

_LOG = logging.getLogger(__name__)
_LIMITS: dict[str, Any] = {"chunks": 3_000, "edges": 2_000, "projection": "pca"}


def write_index(
    connection: Connection,
    corpus: str,
    folder: Path,
    *,
    documents: int,
    walks: int,
    progress: Progress = silent,
) -> Path:
    """Draw a corpus, its latest walks and its documents into a folder; return its page.

    Files are named by kind and number, so that the same corpus fills the same ones
    again. A picture that cannot be made is left out with a warning; where none can,
    that is an `InputError`.
    """
    if not folder.is_dir():
        check_output(folder)
        told = "Cannot make {folder}: {reason}. Choose another place."
        with disk_errors(StorageError, told, folder=folder):
            folder.mkdir()
    pictures = list(_pictures(connection, corpus, documents, walks))
    drawn: dict[str, list[tuple[str, str]]] = {}
    for number, (section, file, title, draw) in enumerate(pictures):
        progress("pictures", number, len(pictures))
        try:
            write_file(folder / file, draw())
            drawn.setdefault(section, []).append((file, plain(title)))
        except InputError as error:
            _LOG.warning("%s is left out: %s", title, error)
    progress("pictures", len(pictures), len(pictures))
    if not drawn:
        msg = f"Nothing of corpus {corpus!r} could be drawn: ingest documents first."
        raise InputError(msg)
    page = folder / "index.html"
    write_file(page, rendered("index.html", title=plain(corpus), sections=drawn))
    return page


def _pictures(
    connection: Connection, corpus: str, documents: int, walks: int
) -> Iterator[_Picture]:
    def space(suffix: str) -> bytes | str:
        return space_of(connection, corpus, None, suffix=suffix, **_LIMITS)

    links, title = statement("retrieval/view_links"), f"Links of {corpus}"
    near = "The corpus in space"
    yield near, "space.png", near, lambda: space(".png")
    yield near, "space.html", "The same, to turn", lambda: space(".html")
    yield (
        near,
        "links.html",
        "Documents with their links and themes",
        lambda: network_page(connection, links, {"corpus": corpus}, title=title),
    )
    rows = connection.read("retrieval/view_traversals", corpus=corpus, limit=walks)
    for number, row in enumerate(rows, start=1):
        walk = read_walk(connection, row["id"]).walk
        yield (
            f"The last {counted(len(rows), 'walk')}",
            f"walk-{number}.png",
            f"{walk.question} ({walk.algorithm}, traversal {row['id']})",
            lambda walk=walk: path_of(  # type: ignore[misc] # bound now
                connection, walk, layout="global", suffix=".png"
            ),
        )
    found = sorted(
        (d for d in read_documents(connection, corpus) if d.chunks),
        key=lambda document: (document.title, document.id),
    )
    for number, document in enumerate(found[:documents], start=1):
        yield (
            f"{min(documents, len(found))} of {len(found)} documents",
            f"document-{number}.png",
            document.title,
            lambda key=document.id: matrix_of(  # type: ignore[misc] # bound now
                connection, key, corpus=corpus, suffix=".png"
            ),
        )

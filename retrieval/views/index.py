"""A folder with the pictures of a corpus, and one page that shows them all."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.cli.rows import counted
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import InputError, StorageError
from knowtrail.graph.files import check_output, write_file
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

_LOG = logging.getLogger(__name__)
_LIMITS: dict[str, Any] = {"chunks": 3_000, "edges": 2_000, "projection": "pca"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """A picture of a section of the page: its file, and what draws it."""

    section: str
    file: str
    title: str
    draw: Callable[[], bytes | str]


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
        try:
            folder.mkdir()
        except OSError as error:
            msg = f"Cannot make {folder}: {error.strerror}. Choose another place."
            raise StorageError(msg) from error
    pictures = list(_pictures(connection, corpus, documents, walks))
    drawn = []
    for number, picture in enumerate(pictures, start=1):
        progress("pictures", number - 1, len(pictures))
        try:
            write_file(folder / picture.file, picture.draw())
            drawn.append(picture)
        except InputError as error:
            _LOG.warning("%s is left out: %s", picture.title, error)
    progress("pictures", len(pictures), len(pictures))
    if not drawn:
        msg = f"Nothing of corpus {corpus!r} could be drawn: ingest documents first."
        raise InputError(msg)
    page = folder / "index.html"
    write_file(page, _page(corpus, drawn))
    return page


def _pictures(
    connection: Connection, corpus: str, documents: int, walks: int
) -> Iterator[_Picture]:
    def space(suffix: str) -> bytes | str:
        return space_of(connection, corpus, None, suffix=suffix, **_LIMITS)

    links, title = statement("retrieval/view_links"), f"Links of {corpus}"
    near = "The corpus in space"
    yield _Picture(
        section=near, file="space.png", title=near, draw=lambda: space(".png")
    )
    yield _Picture(
        section=near,
        file="space.html",
        title="The same, to turn",
        draw=lambda: space(".html"),
    )
    yield _Picture(
        section=near,
        file="links.html",
        title="Documents with their links and themes",
        draw=lambda: network_page(connection, links, {"corpus": corpus}, title=title),
    )
    rows = connection.read("retrieval/view_traversals", corpus=corpus, limit=walks)
    for number, row in enumerate(rows, start=1):
        walk = read_walk(connection, row["id"]).walk
        yield _Picture(
            section=f"The last {counted(len(rows), 'walk')}",
            file=f"walk-{number}.png",
            title=f"{walk.question} ({walk.algorithm}, traversal {row['id']})",
            draw=lambda walk=walk: path_of(  # type: ignore[misc] # bound now
                connection, walk, layout="global", suffix=".png"
            ),
        )
    found = sorted(
        (d for d in read_documents(connection, corpus) if d.chunks),
        key=lambda document: (document.title, document.id),
    )
    for number, document in enumerate(found[:documents], start=1):
        yield _Picture(
            section=f"{min(documents, len(found))} of {len(found)} documents",
            file=f"document-{number}.png",
            title=document.title,
            draw=lambda key=document.id: matrix_of(  # type: ignore[misc] # bound now
                connection, key, corpus=corpus, suffix=".png"
            ),
        )


def _page(corpus: str, pictures: list[_Picture]) -> str:
    sections: dict[str, list[tuple[str, str]]] = {}
    for picture in pictures:
        shown = (picture.file, plain(picture.title))
        sections.setdefault(picture.section, []).append(shown)
    return rendered("index.html", title=plain(corpus), sections=sections)

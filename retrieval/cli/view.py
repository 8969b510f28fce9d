"""`knowtrail view`: pictures of documents, walks and the graph, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import option, output_option
from knowtrail.graph.files import check_output, write_file
from knowtrail.graph.session import open_connection
from knowtrail.retrieval.cli.options import complete_algorithm, told

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.traverse import TraverseResult

_STATIC = (".png", ".svg", ".html")
_PAGE = (".html",)


_WALKED = told("walked", algorithm={"shell_complete": complete_algorithm})


@click.group(cls=NearGroup)
def view() -> None:
    """Draw similarities, walks and the graph; pictures need the extra `view`."""


@view.command()
@click.argument("document")
@option("corpus")
@output_option("knowtrail-matrix.html", ".html, .png or .svg")
@click.pass_obj
def matrix(
    settings: Settings, /, *, document: str, corpus: str | None, output: Path
) -> None:
    """Draw how similar the chunks of DOCUMENT are to each other.

    DOCUMENT is a title, an alias or an id.
    """
    from knowtrail.retrieval.views.matrix import matrix_of

    suffix = check_output(output, _STATIC)
    with open_connection(settings) as connection:
        picture = matrix_of(
            connection, document, corpus=corpus or settings.corpus, suffix=suffix
        )
    _write(output, picture)


@view.command()
@click.argument("question", required=False)
@_WALKED
@told("path")
@output_option("knowtrail-path.html", ".html, .png or .svg")
@click.pass_obj
def path(settings: Settings, /, *, layout: str, output: Path, **asked: Any) -> None:
    """Draw a walk over the similarities of the documents that it visited.

    The walk is that of QUESTION, or a recorded one.
    """
    from knowtrail.retrieval.views.matrix import path_of

    suffix = check_output(output, _STATIC)
    _check_asked(**asked)
    with open_connection(settings) as connection:
        walk = _walk(connection, settings, **asked)
        picture = path_of(connection, walk.walk, layout=layout, suffix=suffix)
    _write(output, picture)


@view.command()
@click.argument("question", required=False)
@_WALKED
@told("graph")
@output_option("knowtrail-graph.html", ".html, or .png or .svg without --cypher")
@click.pass_obj
def graph(
    settings: Settings, /, *, statement: str | None, output: Path, **asked: Any
) -> None:
    """Draw the chunks of a corpus in space, with the walk of QUESTION if given.

    With --cypher, draw the nodes and relationships that a statement returns.
    """
    drawn = {name: asked.pop(name) for name in ("chunks", "edges", "projection")}
    suffix = check_output(output, _PAGE if statement is not None else _STATIC)
    walks = asked["question"] is not None or asked["traversal"] is not None
    if statement is not None and walks:
        msg = "Give --cypher, or a question, or --traversal: one of them."
        raise click.UsageError(msg)
    with open_connection(settings) as connection:
        if statement is not None:
            from knowtrail.retrieval.views.network import network_page

            _write(output, network_page(connection, statement))
            return
        from knowtrail.retrieval.corpora import find_corpus
        from knowtrail.retrieval.views.space import space_of

        walk = None
        if walks:
            _check_asked(**asked)
            walk = _walk(connection, settings, **asked)
            name = walk.walk.corpus
        else:
            name = find_corpus(connection, asked["corpus"] or settings.corpus).name
        picture = space_of(connection, name, walk, suffix=suffix, **drawn)
    _write(output, picture)


@view.command()
@told("index")
@click.pass_obj
def index(
    settings: Settings, /, *, corpus: str | None, output: Path, **limits: int
) -> None:
    """Draw all of a corpus into a folder: space, links, walks, documents, one page."""
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.retrieval.corpora import find_corpus
    from knowtrail.retrieval.views.index import write_index

    with open_connection(settings) as connection, progress_bars() as progress:
        name = find_corpus(connection, corpus or settings.corpus).name
        page = write_index(connection, name, output, progress=progress, **limits)
    click.echo(str(page))


@view.command()
@told("style")
def style(*, bloom: Path | None, grass: Path | None) -> None:
    """Write a Bloom perspective and a Browser style that fit the graph."""
    from knowtrail.retrieval.views.styles import grass_text, perspective_text

    if bloom is None and grass is None:
        msg = "Say what to write: --bloom FILE.json, --grass FILE.grass, or both."
        raise click.UsageError(msg)
    if bloom is not None:
        check_output(bloom, (".json",))
    if grass is not None:
        check_output(grass, (".grass",))
    if bloom is not None:
        _write(bloom, perspective_text())
    if grass is not None:
        _write(grass, grass_text())


@view.command()
@told("uml")
@output_option("knowtrail-uml.svg", ".svg or .html")
def uml(*, schema: Path | None, output: Path, **shades: Any) -> None:
    """Draw the classes of heritage, shaded by how specific they are to a question."""
    from knowtrail.retrieval.specificity.class_scores import diagram

    suffix = check_output(output, (".svg", ".html"))
    _write(output, diagram(schema, suffix=suffix, **shades))


def _check_asked(*, question: str | None, traversal: str | None, **_: Any) -> None:
    """Refuse both and neither of a question and a recorded walk."""
    if (question is None) == (traversal is None):
        msg = "Give one of them: a question, or --traversal ID of a recorded walk."
        raise click.UsageError(msg)


def _walk(
    connection: Connection,
    settings: Settings,
    *,
    question: str | None,
    traversal: str | None,
    algorithm: str,
    corpus: str | None,
) -> TraverseResult:
    from knowtrail.retrieval.traverse import traverse
    from knowtrail.retrieval.views.walks import read_walk

    if traversal is not None:
        return read_walk(connection, traversal)
    return traverse(
        connection,
        question or "",
        algorithm=algorithm,
        corpus=corpus or settings.corpus,
        settings=settings,
        record=False,
    )


def _write(output: Path, picture: bytes | str) -> None:
    write_file(output, picture)
    click.echo(str(output))

"""`knowtrail quickstart`: from nothing to an answer, on a small bundled corpus."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.rows import plain_text
from knowtrail.graph.files import private_folder
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.settings import own_command
from knowtrail.retrieval.cli.options import told

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.walk import Walk

CORPUS = "quickstart"
_TOLD = packaged(__package__, "quickstart.toml")
QUESTION: str = _TOLD["question"]


@click.command()
@told("quickstart", question={"default": QUESTION})
@click.pass_obj
def quickstart(settings: Settings, /, *, question: str, picture: Path | None) -> None:
    """Try everything: start Neo4j, ingest a small corpus, ask, see the walk.

    The server goes on running; the last lines say how to stop it.
    """
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.files import check_output
    from knowtrail.graph.models.embedders import named_embedder
    from knowtrail.graph.session import served
    from knowtrail.retrieval.display import show_walk
    from knowtrail.retrieval.questions import check_question
    from knowtrail.retrieval.traverse import traverse

    check_question(question)
    if picture is None:
        picture = settings.home / "pictures" / "walk.html"
        private_folder(picture.parent)
    check_output(picture, (".html",))
    click.echo(f"Question: {plain_text(question)}\n")
    embedder = named_embedder(settings.embedder, settings=settings)
    with served(settings, stay=True) as pointed, Connection.open(pointed) as connection:
        try:
            _ingest(connection, pointed, embedder)
            result = traverse(
                connection, question, embedder=embedder, corpus=CORPUS, settings=pointed
            )
        except BaseException:  # whatever Ctrl-C became on its way up
            _tell_server(settings, pointed, err=True)
            raise
        show_walk(result.walk, sys.stdout, reasons=False)
        if result.warning:
            click.echo(f"Warning: {result.warning}", err=True)
        _draw(connection, result.walk, picture)
        click.echo(
            f"\nPicture of the walk: {picture.absolute()} (open it in a browser)"
        )
        _tell_server(settings, pointed)
    _tell_next(settings)


def _ingest(connection: Connection, settings: Settings, embedder: Embedder) -> None:
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.ingest.bundled import bundled_source
    from knowtrail.ingest.pipeline import ingest_corpus

    with progress_bars() as progress, bundled_source() as source:
        report = ingest_corpus(
            connection,
            [source],
            corpus=CORPUS,
            embedder=embedder,
            settings=settings,
            progress=progress,
        )
    (row,) = connection.read("corpus/show", name=CORPUS)
    click.echo(
        f"Corpus {CORPUS}: {report.added + report.updated} documents ingested, "
        f"{report.skipped} already there; {row['chunks']} chunks, "
        f"{row['sentences']} sentences, {row['similarIntra'] + row['similarInter']} "
        "similarity edges.\n"
    )


def _draw(connection: Connection, walk: Walk, picture: Path) -> None:
    from knowtrail.graph.files import write_file
    from knowtrail.retrieval.picture import considered_chunks, walk_html

    write_file(picture, walk_html(walk, considered_chunks(connection, walk)))


def _tell_server(settings: Settings, pointed: Settings, *, err: bool = False) -> None:
    click.echo(f"Neo4j runs at {pointed.uri}, user {pointed.username}.", err=err)
    if settings.uri is None:
        click.echo(
            "Its password and how to stop it: "
            f"{own_command(settings.home)} server status",
            err=err,
        )


def _tell_next(settings: Settings) -> None:
    click.echo("\nTry next:")
    for one in _TOLD["try"]:
        own = own_command(settings.home)
        click.echo(f"  {one['shows']}:\n    {own} {one['command']}")

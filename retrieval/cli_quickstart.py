"""`knowtrail quickstart`: from nothing to an answer, on a small bundled corpus."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graph.errors import InputError, StorageError
from retrieval.cli_options import own_command

if TYPE_CHECKING:
    from graph.connection import Connection
    from graph.settings import Settings
    from retrieval.search import SearchResult

__all__ = ["CYPHER_TO_TRY", "quickstart"]

CORPUS = "quickstart"
QUESTION = (
    "How did the man who proposed Jupiter's moons as a clock for sailors explain the "
    "tides?"
)
CYPHER_TO_TRY = (
    "MATCH (d:Document {corpus: 'quickstart'})-[l:LINKS_TO]->(t:Document) "
    "RETURN d.title AS article, collect(t.title) AS linksTo ORDER BY article",
    "MATCH (c:Chunk)-[:FROM_DOCUMENT]->(d:Document {title: 'Tide'}) "
    "MATCH (c)-[s:SIMILAR_TO {scope: 'inter'}]->(o:Chunk)-[:FROM_DOCUMENT]->(e) "
    "RETURN c.text AS chunk, e.title AS similarIn, s.score AS score "
    "ORDER BY score DESC LIMIT 5",
    "MATCH (d:Document {corpus: 'quickstart'})-[:HAS_THEME]->(t:Theme) "
    "RETURN d.title AS article, collect(t.name) AS themes ORDER BY article",
)
"""Statements that the command ends with; each is run by a test."""


@click.command()
@click.option("--question", default=QUESTION, help="Ask something else.")
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("knowtrail-walk.html"),
    show_default=True,
    help="Where the picture of the walk goes.",
)
@click.pass_obj
def quickstart(settings: Settings, /, *, question: str, picture: Path) -> None:
    """Try everything: start Neo4j, ingest a small corpus, ask, see the walk.

    The server goes on running; the last lines say how to stop it.
    """
    from graph.cli_session import served
    from graph.connection import Connection
    from retrieval.display import show_result
    from retrieval.search import check_question

    check_question(question)
    if not picture.absolute().parent.is_dir():
        msg = f"There is no folder {picture.absolute().parent}: choose --picture."
        raise InputError(msg)
    with served(settings, stay=True) as pointed, Connection.open(pointed) as connection:
        try:
            _ingest(connection, pointed)
            result = _ask(connection, pointed, question)
        except BaseException:  # whatever Ctrl-C became on its way up
            _tell_server(settings, pointed, err=True)
            raise
        show_result(result, sys.stdout)
        _draw(connection, result, picture)
        click.echo(
            f"\nPicture of the walk: {picture.absolute()} (open it in a browser)"
        )
        _tell_server(settings, pointed)
    _tell_next(settings)


def _ingest(connection: Connection, settings: Settings) -> None:
    """Ingest the bundled articles; nothing is written the second time."""
    from graph.embedders import load_embedder
    from graph.progress import progress_bars
    from ingest.bundled import bundled_source
    from ingest.pipeline import ingest_corpus

    with progress_bars() as progress, bundled_source() as source:
        report = ingest_corpus(
            connection,
            [source],
            corpus=CORPUS,
            embedder=load_embedder(settings.embedder, settings=settings),
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


def _ask(connection: Connection, settings: Settings, question: str) -> SearchResult:
    """Walk the corpus from the question."""
    from graph.embedders import load_embedder
    from retrieval.search import search

    return search(
        connection,
        load_embedder(settings.embedder, settings=settings),
        question,
        corpus=CORPUS,
        settings=settings,
    )


def _draw(connection: Connection, result: SearchResult, picture: Path) -> None:
    """Write the picture of the walk.

    Raises:
        StorageError: If the file cannot be written.
    """
    from retrieval.picture import considered_chunks, walk_html

    page = walk_html(result.walk, considered_chunks(connection, result.walk))
    begun = picture.with_name(f".{picture.name}.part")
    try:
        begun.write_text(page, encoding="utf-8")
        begun.replace(picture)
    except OSError as error:
        with suppress(OSError):
            begun.unlink(missing_ok=True)
        msg = f"Cannot write the picture {picture}: {error.strerror}. Use --picture."
        raise StorageError(msg) from error


def _tell_server(settings: Settings, pointed: Settings, *, err: bool = False) -> None:
    """Say where the server is, where its password is and how to stop it."""
    click.echo(f"Neo4j runs at {pointed.uri}, user {pointed.username}.", err=err)
    if settings.uri is None:
        click.echo(
            f"Its password and how to stop it: {own_command(settings)} server status",
            err=err,
        )


def _tell_next(settings: Settings) -> None:
    """Print commands to try next."""
    click.echo("\nTry next:")
    click.echo(f'  {own_command(settings)} compare --corpus {CORPUS} "{QUESTION}"')
    for text in CYPHER_TO_TRY:
        click.echo(f'  {own_command(settings)} cypher "{text}"')

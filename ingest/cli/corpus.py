"""`knowtrail corpus`, `knowtrail export`: what is stored, sound, written, deleted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import FOLDER, option, options
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.cli.rows import counted
from knowtrail.graph.session import open_connection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.settings import Settings


@click.group(cls=NearGroup)
def corpus() -> None:
    """List, show, verify and delete corpora; forget documents of one."""


@corpus.command("list")
@json_option
@click.pass_obj
def list_(settings: Settings, /, *, as_json: bool) -> None:
    """List the stored corpora."""
    from knowtrail.graph.settings import own_command
    from knowtrail.ingest.corpus import list_corpora

    with open_connection(settings) as connection:
        rows = list_corpora(connection)
    lines = [f"{row['name']}: {', '.join(_told(row))}" for row in rows]
    if lines or as_json:
        emit(rows, "\n".join(lines), as_json=as_json)
    else:
        own = own_command(settings.home)
        click.echo(f"No corpus is stored. Try: {own} quickstart", err=True)


def _told(row: dict[str, Any]) -> Iterator[str]:
    institutions = counted(row["custodians"], "institution")
    if None in (row["version"], row["status"], row["embedder"]):
        made = "no documents" if row["custodians"] else "not made by an ingest"
        yield f"{institutions}, {made}"
        return
    yield counted(row["documents"], "document")
    if row["custodians"]:
        yield institutions
    yield f"version {row['version']}"
    yield row["status"]
    yield row["embedder"]


@corpus.command()
@click.argument("name")
@click.option("--digest", is_flag=True, help="Work out the digest of the content too.")
@json_option
@click.pass_obj
def show(settings: Settings, /, *, name: str, digest: bool, as_json: bool) -> None:
    """Show what a corpus holds and how it was built."""
    from knowtrail.ingest.corpus import stored_corpus
    from knowtrail.ingest.verify import corpus_digest

    with open_connection(settings) as connection:
        stored_corpus(connection, name)
        (row,) = connection.read("corpus/show", name=name)
        if digest:
            row["digest"] = corpus_digest(connection, name).value
    for derived in ("axes", "axesVersion", "linkState"):
        row["settings"].pop(derived, None)
    # The counts win: `terms` is also the name of a setting.
    lines = {**row["settings"], **row}
    del lines["settings"]
    told = "\n".join(f"{key}: {value}" for key, value in sorted(lines.items()))
    emit(row, told, as_json=as_json)


@corpus.command()
@click.argument("name")
@json_option
@click.pass_obj
def verify(settings: Settings, /, *, name: str, as_json: bool) -> None:
    """Check a corpus: no orphans, no missing vectors, no broken limits."""
    from knowtrail.ingest.verify import verify_corpus

    with open_connection(settings) as connection:
        findings = verify_corpus(connection, name)
    bad = [finding for finding in findings if finding.count]
    lines = [
        f"{finding.count} {finding.check}, such as "
        f"{', '.join(map(str, finding.examples))}"
        for finding in bad
    ]
    sound = f"Corpus {name} is sound: {len(findings)} checks passed."
    emit(findings, "\n".join(lines) or sound, as_json=as_json)
    if bad:
        sys.exit(1)


@corpus.command()
@click.argument("name")
@click.argument("documents", nargs=-1, required=True, metavar="TITLE...")
@options("yes", "json")
@click.pass_obj
def forget(
    settings: Settings,
    /,
    *,
    name: str,
    documents: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Delete documents, and redirects to them, as though they had never been there.

    Name them by title, alias or id; a title that several share means all of them. An
    ingest that reads them again stores them again.
    """
    from knowtrail.ingest.forgetting import forget_documents, named_documents

    with open_connection(settings) as connection:
        titles = [r["title"] for r in named_documents(connection, name, documents)]
        told = f"{counted(len(titles), 'document')} of corpus {name}"
        shown = ", ".join(map(repr, titles))
        if not yes and not click.confirm(f"Forget {told} ({shown})?", err=True):
            sys.exit(1)
        with progress_bars() as progress:
            written = forget_documents(
                connection, name, documents, settings=settings, progress=progress
            )
    record = {"corpus": name, "documents": titles, "written": written}
    done = f"Forgot {told}: {written.nodes_deleted} nodes deleted."
    emit(record, done, as_json=as_json)


@corpus.command()
@click.argument("name")
@option("yes")
@click.pass_obj
def delete(settings: Settings, /, *, name: str, yes: bool) -> None:
    """Delete a corpus with everything in it."""
    from knowtrail.graph.db.corpus_lock import corpus_lock
    from knowtrail.ingest.corpus import check_corpus, delete_corpus

    with open_connection(settings) as connection:
        check_corpus(connection, name)
        if not yes and not click.confirm(f"Delete corpus {name!r}?", err=True):
            sys.exit(1)
        with corpus_lock(settings.home, connection, name):
            written = delete_corpus(connection, name, work=settings.home / "work")
    click.echo(f"Deleted corpus {name}: {written.nodes_deleted} nodes.")


@click.group(cls=NearGroup)
def export() -> None:
    """Write a corpus as files that other programs load."""


@export.command()
@click.argument("folder", type=FOLDER)
@option("corpus", help="Name of the corpus (KNOWTRAIL_CORPUS).")
@json_option
@click.pass_obj
def bulk(
    settings: Settings, /, *, folder: Path, corpus: str | None, as_json: bool
) -> None:
    """Write a corpus as files for `neo4j-admin database import` of a Neo4j elsewhere.

    Texts go, with themes, terms, edges and vectors; walks and results stay. The command
    to run there is printed, and is in FOLDER/import.sh. `knowtrail schema apply` then
    makes constraints and indexes.
    """
    from knowtrail.ingest.bulk.export import export_corpus
    from knowtrail.ingest.corpus import only_corpus, stored_corpus

    with open_connection(settings) as connection, progress_bars() as progress:
        name = only_corpus(connection, corpus or settings.corpus)
        dimensions = stored_corpus(connection, name).dimensions
        command, files = export_corpus(connection, name, folder, progress=progress)
    record = {
        "corpus": name,
        "nodes": files.nodes,
        "relationships": files.relationships,
        "command": command,
        "dimensions": dimensions,
    }
    told = (
        f"Wrote {files.nodes:,} nodes and {files.relationships:,} relationships to "
        f"{folder}. Where that Neo4j is, with it stopped, run\n\n{command}\n\nand with "
        f"it started again: knowtrail schema apply --dimensions {dimensions}"
    )
    emit(record, told, as_json=as_json)

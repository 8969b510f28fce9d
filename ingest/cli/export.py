"""`knowtrail export`: a corpus as files that other programs load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import FOLDER, option

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.settings import Settings


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
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.session import open_connection
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

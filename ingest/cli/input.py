"""What every command that ingests takes: corpus, clean-up, limit, a dry run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import emit, told_by
from knowtrail.graph.cli.options import told_options

if TYPE_CHECKING:
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.records import Source

input_options = told_options("knowtrail.ingest", "input")
"""The options of every command that ingests."""


def corpus_named(
    settings: Settings, corpus: str | None, *, cleanup: str, limit: int | None
) -> str:
    """Return the name of the corpus; refuse a limit that would delete the rest."""
    if limit is not None and cleanup == "full":
        msg = "--limit with --cleanup full would delete what is not read: drop one."
        raise click.UsageError(msg)
    if name := corpus or settings.corpus:
        return name
    raise click.UsageError("Name the corpus: --corpus NAME or KNOWTRAIL_CORPUS.")


def tell_estimate(
    source: Source,
    *,
    corpus: str,
    options: IngestOptions,
    embedder: Embedder | None,
    as_json: bool,
) -> None:
    """Write what an ingest would do, and exit 1 where it would."""
    from knowtrail.graph.models.embedders import embedder_name
    from knowtrail.ingest.estimate import estimate_ingest

    name = None if embedder is None else embedder_name(embedder)
    found = estimate_ingest(source, corpus=corpus, options=options, embedder=name)
    for line in found.failures:
        click.echo(f"Warning: {line}", err=True)
    about = {"source": source, "themes": options.themes, "embedder": name}
    told = told_by(Path(__file__).parent, "estimate.txt", found=found, **about)
    emit(found, told, as_json=as_json, indent=2)
    if found.failures:
        sys.exit(1)

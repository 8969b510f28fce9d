"""What every command that ingests takes: corpus, clean-up, limit, a dry run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.options import told_options

if TYPE_CHECKING:
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.estimate import Estimate
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

    def tell() -> None:
        _tell_counts(source, found, themes=options.themes, embedder=name)

    emit(found, tell, as_json=as_json, indent=2)
    if found.failures:
        sys.exit(1)


def _tell_counts(
    source: Source, found: Estimate, *, themes: str, embedder: str | None
) -> None:
    from knowtrail.graph.cli.rows import counted

    much = "about" if found.documents > found.read else "at least"
    about = "" if found.whole else f"by its first {found.read:,}, {much} "
    click.echo(
        f"Of {source.name} would be ingested: {about}"
        f"{counted(found.documents, 'document')}, {counted(found.chunks, 'chunk')}, "
        f"{counted(found.sentences, 'sentence')}, "
        f"{counted(found.characters, 'character')}"
    )
    reasons = [f"{n:,} {reason}" for reason, n in sorted(found.left_out.items())]
    if found.failed:
        reasons.append(f"{found.failed:,} that cannot be used")
    if reasons:
        click.echo(f"Left out: {', '.join(reasons)}")
    if found.seconds is None or found.megabytes is None:
        takes = f"How long that takes is not known before {embedder} is used"
    else:
        few, small = found.seconds < 10, found.megabytes < 1
        long = "a few seconds" if few else f"about {found.seconds:,.0f} s"
        large = "under 1 MB" if small else f"{found.megabytes:,.0f} MB"
        takes = f"That takes {long} after the start and {large}"
    click.echo(
        f"{takes}. Nothing was stored; what the corpus has already was not looked at, "
        "nor what a cleanup would delete."
    )
    if themes == "llm":
        click.echo("The language model's time for themes is not counted.")

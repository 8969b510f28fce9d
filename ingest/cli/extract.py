"""`knowtrail extract`: what texts say, as SKN or JSON, into the graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit, told_by
from knowtrail.graph.cli.options import told_options
from knowtrail.graph.cli.rows import cell_text, counted
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.models.ollama_client import MOST_CONTEXT
from knowtrail.graph.settings import own_command

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.extraction.batch import ExtractionReport
    from knowtrail.ingest.extraction.stored_knowledge import ExtractionSource

VARIANT_NAMES: tuple[str, ...] = tuple(
    packaged("knowtrail.ingest", "options.toml")["extract"]["variant"]["of"]
)
"""The variants; from the options, so that `--help` loads none of them."""

SHOWN_FAILURES = 5
_HERE = Path(__file__).parent


@click.command()
@told_options(
    "knowtrail.ingest",
    "extract",
    context={"type": click.IntRange(2_048), "default": MOST_CONTEXT},
)
@click.pass_obj
def extract(
    settings: Settings,
    /,
    *,
    corpus: str | None,
    documents: tuple[str, ...],
    unit: Any,
    limit: int | None,
    searches: tuple[str, ...],
    recorded: Path | None,
    recorded_only: bool,
    model_name: str | None,
    context: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Let a language model write down what texts say, as nodes of the graph.

    What is done is skipped, so an interrupted run goes on where it was.
    """
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.db.corpus_lock import corpus_lock
    from knowtrail.graph.errors import InputError
    from knowtrail.graph.models.language_models import load_language_model
    from knowtrail.graph.session import open_connection
    from knowtrail.ingest.corpus import only_corpus
    from knowtrail.ingest.extraction import batch

    chosen = batch.ExtractionOptions(**options)
    if searches and documents:
        msg = "--search and --documents name different sources: give one of them."
        raise InputError(msg)
    model = load_language_model(model_name, settings=settings, context=context)
    found = _searched(searches, recorded, recorded_only=recorded_only)
    with open_connection(settings) as connection:
        name = only_corpus(connection, corpus or settings.corpus)
        with corpus_lock(settings.home, connection, name), progress_bars() as progress:
            sources = (
                _search_sources(found, name)
                if searches
                else batch.stored_sources(connection, name, unit=unit, only=documents)
            )
            report = batch.extract_sources(
                connection,
                sources[:limit],
                corpus=name,
                model=model,
                embedder=_embedder(connection, name, settings),
                options=chosen,
                progress=progress,
            )
    own = own_command(settings.home)
    emit(report.as_dict(), lambda: _show(report, own), as_json=as_json)
    _tell_limits(report, chosen.tokens)


def _embedder(connection: Connection, corpus: str, settings: Settings) -> Embedder:
    from knowtrail.graph.models.embedders import named_embedder
    from knowtrail.graph.models.served import served_embedder
    from knowtrail.ingest.corpus import stored_corpus

    name = stored_corpus(connection, corpus).embedder
    return served_embedder(connection, named_embedder(name, settings=settings))


def _searched(
    searches: tuple[str, ...], recorded: Path | None, *, recorded_only: bool
) -> dict[str, Any]:
    """Return what searches find, or raise; new results are added to the file."""
    from knowtrail.graph.errors import InputError, SourceError
    from knowtrail.ingest.extraction.web import (
        add_recorded,
        read_recorded,
        search_results,
    )

    if recorded_only and recorded is None:
        raise InputError("--recorded-only needs --search-results FILE.")
    known: dict[str, Any] = {}
    if recorded is not None and (recorded_only or recorded.exists()):
        known = dict(read_recorded(recorded))
    found: dict[str, Any] = {}
    failure = None
    for query in dict.fromkeys(searches):
        try:
            results = search_results(query, recorded=known, recorded_only=recorded_only)
        except SourceError as error:
            failure = error
            click.echo(cell_text(f"Failed: {query!r}: {error}"), err=True)
            continue
        found[query] = results
        if recorded is not None and results and query not in known:
            add_recorded(recorded, {query: results})
    if failure is not None and not any(found.values()):
        raise failure
    return found


def _search_sources(found: dict[str, Any], corpus: str) -> list[ExtractionSource]:
    """Return what searches found as sources; those without results are told."""
    from knowtrail.ingest.extraction.batch import search_source

    for query, results in found.items():
        if not results:
            click.echo(f"Nothing was found for {query!r}.", err=True)
    return [
        search_source(query, results, corpus=corpus)
        for query, results in found.items()
        if results
    ]


def _show(report: ExtractionReport, own: str) -> None:
    click.echo(told_by(_HERE, "extraction.txt", report=report))
    about = {"report": report, "own": own, "shown": SHOWN_FAILURES}
    if text := told_by(_HERE, "extraction_doubts.txt", cell_text=cell_text, **about):
        click.echo(text, err=True)


def _tell_limits(report: ExtractionReport, tokens: int) -> None:
    """Say what was not read or had less room; raise if nothing worked."""
    from knowtrail.graph.errors import KnowtrailError

    if text := told_by(_HERE, "extraction_limits.txt", report=report, tokens=tokens):
        click.echo(text, err=True)
    if 0 < report.sources == report.failed + report.failed_before:
        msg = f"Nothing worked: {counted(report.sources, 'extraction')} failed"
        for title, error in report.failures[:1]:
            raise KnowtrailError(f"{msg}. The first: {title}: {error}")
        msg += ", all before: --retry-failed asks again"
        raise KnowtrailError(f"{msg}; knowtrail cypher --saved extraction_failures.")

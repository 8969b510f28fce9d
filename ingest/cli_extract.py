"""`knowtrail extract`: what texts say, as SKN or JSON, into the graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph.rows import cell_text, counted

if TYPE_CHECKING:
    from graph.connection import Connection
    from graph.embedders import Embedder
    from graph.settings import Settings
    from ingest.extraction.running import ExtractionReport
    from ingest.extraction.storing import ExtractionSource

__all__ = ["extract"]

VARIANT_NAMES = (
    "json",
    "json_conf",
    "skn_no_gaps",
    "skn_no_causal",
    "skn_no_risk",
    "skn",
)
"""The variants; here by hand, so that `--help` loads none of them."""

SHOWN_FAILURES = 5


@click.command()
@click.option("--corpus", help="Corpus to read; needed where there are several.")
@click.option(
    "--variant",
    type=click.Choice(VARIANT_NAMES),
    default="skn",
    show_default=True,
    help="How the model writes down what it reads.",
)
@click.option(
    "--documents",
    multiple=True,
    metavar="TITLE",
    help="Title, alias or id of a document to read; repeat for more. Default: all.",
)
@click.option(
    "--unit",
    type=click.Choice(["document", "chunk"]),
    default="document",
    show_default=True,
    help="What is read at a time.",
)
@click.option("--limit", type=click.IntRange(1), help="Read this many and stop.")
@click.option(
    "--search",
    "searches",
    multiple=True,
    metavar="QUERY",
    help="Read what a web search finds instead; repeat for more.",
)
@click.option(
    "--search-results",
    "recorded",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of recorded results: read first, new ones are added.",
)
@click.option("--recorded-only", is_flag=True, help="Never search live.")
@click.option(
    "--question-aware",
    "question",
    metavar="QUESTION",
    help="Tell the model what the knowledge is wanted for.",
)
@click.option(
    "--model",
    "model_name",
    metavar="NAME",
    help="Ollama's model that reads (KNOWTRAIL_LANGUAGE_MODEL).",
)
@click.option(
    "--concurrency",
    type=int,
    default=1,
    show_default=True,
    help="Texts that the model reads at once, 1 to 32.",
)
@click.option(
    "--seconds",
    type=float,
    default=120.0,
    show_default=True,
    help="Time limit of an answer.",
)
@click.option(
    "--tokens",
    type=int,
    default=4096,
    show_default=True,
    help="Tokens of an answer, as far as the context has them.",
)
@click.option("--retry-failed", is_flag=True, help="Try again what failed before.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
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
    as_json: bool,
    **options: Any,
) -> None:
    """Let a language model write down what texts say, as nodes of the graph.

    What is done is skipped, so an interrupted run goes on where it was.
    """
    from graph.cli_session import open_connection
    from graph.errors import InputError
    from graph.language_models import load_language_model
    from graph.progress import progress_bars
    from ingest.corpus import corpus_lock, only_corpus
    from ingest.extraction.running import ExtractionOptions, extract_sources
    from ingest.extraction.sources import stored_sources

    chosen = ExtractionOptions(**options)
    if searches and documents:
        msg = "--search and --documents name different sources: give one of them."
        raise InputError(msg)
    model = load_language_model(model_name, settings=settings)
    found = _searched(searches, recorded, recorded_only=recorded_only)
    with open_connection(settings) as connection:
        name = only_corpus(connection, corpus or settings.corpus)
        with (
            corpus_lock(settings.home, connection, name),
            progress_bars() as progress,
        ):
            sources = (
                _search_sources(found, name)
                if searches
                else stored_sources(connection, name, unit=unit, only=documents)
            )
            report = extract_sources(
                connection,
                sources[:limit],
                corpus=name,
                model=model,
                embedder=_embedder(connection, name, settings),
                options=chosen,
                progress=progress,
            )
    if as_json:
        click.echo(json.dumps(report.as_dict(), ensure_ascii=False))
    else:
        _show(report)


def _embedder(connection: Connection, corpus: str, settings: Settings) -> Embedder:
    """Return the embedder of a corpus, which is loaded at its first text."""
    from graph.embedders import load_embedder
    from ingest.corpus import stored_corpus

    return load_embedder(stored_corpus(connection, corpus).embedder, settings=settings)


def _searched(
    searches: tuple[str, ...], recorded: Path | None, *, recorded_only: bool
) -> dict[str, Any]:
    """Return what searches find; new results are added to the file as they come.

    Raises:
        InputError: If results must be recorded and are not.
    """
    from graph.errors import InputError
    from ingest.extraction.web import add_recorded, read_recorded, search_results

    if recorded_only and recorded is None:
        msg = "--recorded-only needs --search-results FILE."
        raise InputError(msg)
    known: dict[str, Any] = {}
    if recorded is not None and (recorded_only or recorded.exists()):
        known = dict(read_recorded(recorded))
    found: dict[str, Any] = {}
    for query in dict.fromkeys(searches):
        results = search_results(query, recorded=known, recorded_only=recorded_only)
        found[query] = results
        if recorded is not None and results and query not in known:
            add_recorded(recorded, {query: results})
    return found


def _search_sources(found: dict[str, Any], corpus: str) -> list[ExtractionSource]:
    """Return what searches found as sources; those without results are told."""
    from ingest.extraction.sources import search_source

    for query, results in found.items():
        if not results:
            click.echo(f"Nothing was found for {query!r}.", err=True)
    return [
        search_source(query, results, corpus=corpus)
        for query, results in found.items()
        if results
    ]


def _show(report: ExtractionReport) -> None:
    """Write what a run did."""
    click.echo(
        f"{report.variant} by {report.model}: {counted(report.sources, 'source')}, "
        f"{report.skipped} done before, {report.ok} valid, {report.repaired} put "
        f"right, {report.failed} failed."
    )
    if report.ok + report.repaired + report.failed:
        click.echo(
            f"{counted(report.facts, 'fact')}, {report.supported} with a sentence "
            f"that supports them; {report.prompt_tokens:,} + "
            f"{report.completion_tokens:,} tokens in {report.seconds:.1f} s."
        )
    if report.shortened:
        click.echo(
            f"{counted(report.shortened, 'text')} did not fit the model's context: "
            "only the beginning was read.",
            err=True,
        )
    for title, error in report.failures[:SHOWN_FAILURES]:
        click.echo(cell_text(f"Failed: {title}: {error}"), err=True)
    if len(report.failures) > SHOWN_FAILURES:
        click.echo("More: knowtrail cypher --saved extraction_failures", err=True)
    if report.failed:
        click.echo(
            "What failed counts as done: --retry-failed asks for it again.", err=True
        )

"""`knowtrail ingest`: put texts into the graph."""

from __future__ import annotations

import sys
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit, told_by
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import stacked, told_options
from knowtrail.ingest.cli.input import corpus_named, input_options, tell_estimate
from knowtrail.ingest.options import IngestOptions

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.options import Cleanup
    from knowtrail.ingest.ray_engine import RayEngine
    from knowtrail.ingest.records import Source
    from knowtrail.ingest.report import IngestReport

_DEFAULTS = IngestOptions()
_HERE = Path(__file__).parent


@click.group(cls=NearGroup)
def ingest() -> None:
    """Put texts into the graph.

    The same input again writes nothing; an interrupted ingest goes on where it was.
    Dumps, lines and files may be at https://, s3:// and gs://.
    """


_told = partial(told_options, "knowtrail.ingest")
_common = stacked(
    input_options,
    _told(
        "common",
        IngestOptions,
        **{name: {"default": None} for name in ("themes", "terms", "bulk")},
    ),
)
_engine = _told("engine")


@ingest.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@_engine
@_told("dump")
@_common
@click.pass_obj
def dump(
    settings: Settings,
    /,
    *,
    paths: tuple[str, ...],
    namespaces: tuple[int, ...],
    keep_disambiguation: bool,
    **options: Any,
) -> None:
    """Ingest MediaWiki XML dumps (.xml, .bz2, .gz)."""
    from knowtrail.ingest.sources.dump import DumpSource

    source = DumpSource(
        paths, namespaces=namespaces or (0,), keep_disambiguation=keep_disambiguation
    )
    _run(settings, source, reread=source.again, **options)


@ingest.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@_engine
@_common
@click.pass_obj
def jsonl(settings: Settings, /, *, paths: tuple[str, ...], **options: Any) -> None:
    """Ingest JSON lines: id, title, text or sentences, url, metadata.

    A path of - reads standard input.
    """
    from knowtrail.ingest.sources.jsonl import JsonlSource

    source = JsonlSource(paths)
    _run(settings, source, reread=source.again, **options)


@ingest.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@_engine
@_told("files")
@_common
@click.pass_obj
def files(settings: Settings, /, *, paths: tuple[str, ...], **options: Any) -> None:
    """Ingest files, folders or patterns: .txt, .md, .rst, .html, .pdf.

    A folder is read to any depth; what it holds besides is counted. The same files
    again replace those that changed; --cleanup full also deletes those that are gone.
    """
    from knowtrail.ingest.sources.files import FilesSource

    told = {name: options.pop(name) for name in ("encoding", "language")}
    source = FilesSource(paths, **told)
    _run(settings, source, reread=True, **options)


@ingest.command()
@click.argument("titles", nargs=-1)
@_told("wikipedia")
@_common
@click.pass_obj
def wikipedia(settings: Settings, /, *, contact: str | None, **options: Any) -> None:
    """Ingest live Wikipedia articles, by title or by topic."""
    names = ("titles", "topics", "articles_per_topic", "language", "api_url")
    asked = {name: options.pop(name) for name in names}
    if not asked["titles"] and not asked["topics"]:
        raise click.UsageError("Name articles, or give --topic.")
    from knowtrail.ingest.sources.wikipedia import WikipediaSource

    _run(settings, WikipediaSource(contact=contact or "", **asked), **options)


def _run(
    settings: Settings,
    source: Source,
    *,
    corpus: str | None,
    cleanup: Cleanup,
    limit: int | None,
    dry_run: bool,
    as_json: bool,
    bulk: bool | None,
    work: Path | None,
    filters: tuple[str, ...],
    reread: bool = False,
    **parameters: Any,
) -> None:
    """Ingest a source, report, and exit 1 where something could not be used."""
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.db.schema import filter_property
    from knowtrail.graph.models.embedders import named_embedder
    from knowtrail.graph.session import open_connection
    from knowtrail.ingest.bulk.load import load_corpus, takes_bulk_door
    from knowtrail.ingest.pipeline import ingest_corpus
    from knowtrail.ingest.records import Limited, begun

    name = corpus_named(settings, corpus, cleanup=cleanup, limit=limit)
    declared = [*map(filter_property, filters)]
    given = {key: value for key, value in parameters.items() if value is not None}
    engine = _ray_engine(given, work, limit=limit, dry_run=dry_run)
    source = source if limit is None else Limited(source, limit)
    embedder = named_embedder(settings.embedder, settings=settings)
    if dry_run:
        tell = partial(tell_estimate, corpus=name, embedder=embedder, as_json=as_json)
        tell(source, options=replace(_DEFAULTS, **given))
        return
    _check_themes(given.get("themes"), settings)
    with begun([source]) if reread else nullcontext(source.items()):
        pass  # what cannot be read or used is refused before a server is started
    with ExitStack() as stack, progress_bars() as progress:
        connection = stack.enter_context(open_connection(settings))
        run = partial(ingest_corpus, work=None if engine else work)
        if takes_bulk_door(
            connection, [source], corpus=name, settings=settings, work=work, asked=bulk
        ):
            if bulk is None:
                click.echo("A first load of this size takes the bulk door.", err=True)
            run = partial(load_corpus, leave=stack.close, work=work)
        report = run(
            connection,
            [source],
            corpus=name,
            embedder=embedder,
            settings=settings,
            options=_options(connection, name, given),
            cleanup=cleanup,
            progress=progress,
            engine=engine,
            filters=declared,
        )
    _tell(report, as_json=as_json)


def _ray_engine(
    given: dict[str, Any], work: Path | None, *, limit: int | None, dry_run: bool
) -> RayEngine | None:
    """Take the engine from what is given; refuse what does not go with it."""
    names = ("address", "gpus", "batch")
    asked = {n: given.pop(f"ray_{n}") for n in names if f"ray_{n}" in given}
    if given.pop("engine", "local") == "local":
        if asked:
            option = f"ray-{next(iter(asked))}"
            raise click.UsageError(f"--{option} goes with --engine ray alone.")
        return None
    if limit is not None or dry_run:
        option = "--dry-run" if dry_run else "--limit"
        msg = f"{option} does not go with --engine ray: leave one of them out."
        raise click.UsageError(msg)
    from knowtrail.ingest.ray_engine import RayEngine, ray_itself

    ray_itself()
    return RayEngine(work=work, **asked)


def _check_themes(themes: str | None, settings: Settings) -> None:
    """Refuse themes of a language model that is not there, before a corpus is made."""
    if themes == "llm":
        from knowtrail.graph.models.language_models import check_there

        check_there(settings.language_model, settings)


def _options(connection: Any, name: str, given: dict[str, Any]) -> IngestOptions | None:
    if not given:
        return None
    from knowtrail.graph.errors import UnknownCorpusError
    from knowtrail.ingest.corpus import stored_corpus

    try:
        base = stored_corpus(connection, name).options
    except UnknownCorpusError:
        base = _DEFAULTS
    return replace(base, **given)


def _tell(report: IngestReport, *, as_json: bool) -> None:
    """Write the report, and exit 1 where something could not be used."""
    told = told_by(_HERE, "ingest.txt", report=report)
    emit(report.as_dict(), told, as_json=as_json, indent=2)
    for line in report.unclear_links:
        click.echo(f"Warning: {line}", err=True)
    if report.unclear > len(report.unclear_links):
        more = report.unclear - len(report.unclear_links)
        click.echo(f"Warning: so are {more:,} more links", err=True)
    if not report.complete:
        for line in [*report.damage, *report.failures]:
            click.echo(f"Error: {line}", err=True)
        sys.exit(1)

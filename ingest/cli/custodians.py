"""`knowtrail ingest custodians`: heritage institutions from a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import emit, told_by
from knowtrail.graph.cli.options import told_options
from knowtrail.ingest.cli.input import corpus_named, input_options, tell_estimate

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.custodians import CustodianFile, CustodianReport
    from knowtrail.ingest.options import Cleanup

_SHOWN = 20


def _columns(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    columns = {}
    for pair in given:
        field, equals, column = pair.partition("=")
        if not equals or not field or not column:
            msg = f"{pair!r} is no pair: write FIELD=COLUMN, such as name=title."
            raise click.BadParameter(msg)
        columns[field.strip()] = column.strip()
    return columns


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@told_options("knowtrail.ingest", "custodians", columns={"callback": _columns})
@input_options
@click.pass_obj
def custodians(
    settings: Settings,
    /,
    *,
    path: Path | None,
    example: bool,
    corpus: str | None,
    columns: dict[str, str],
    country: str | None,
    guess: bool,
    documents: bool,
    cleanup: Cleanup,
    limit: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Ingest heritage institutions from a CSV or JSON Lines file.

    Each becomes a Custodian with its class and, unless told otherwise, a document.
    """
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.identifiers import country_exists
    from knowtrail.graph.models.embedders import named_embedder
    from knowtrail.graph.session import open_connection
    from knowtrail.ingest.custodians import CustodianSource, ingest_custodians
    from knowtrail.ingest.options import IngestOptions

    name = corpus_named(settings, corpus, cleanup=cleanup, limit=limit)
    if country is not None and not country_exists(country):
        msg = f"--country {country!r} is no code of ISO 3166-1, such as GB."
        raise click.UsageError(msg)
    file = _file(path, columns, example=example, limit=limit)
    embedder = (
        named_embedder(settings.embedder, settings=settings) if documents else None
    )
    if dry_run:
        tell_estimate(
            CustodianSource(
                file, corpus=name, country=country, guess=guess, failures=True
            ),
            corpus=name,
            options=IngestOptions(themes="none"),
            embedder=embedder,
            as_json=as_json,
        )
        return
    with open_connection(settings) as connection, progress_bars() as progress:
        report = ingest_custodians(
            connection,
            file,
            corpus=name,
            settings=settings,
            embedder=embedder,
            country=country,
            guess=guess,
            cleanup=cleanup,
            progress=progress,
        )
    _tell(report, as_json=as_json)


def _file(
    path: Path | None, columns: dict[str, str], *, example: bool, limit: int | None
) -> CustodianFile:
    from knowtrail.ingest.custodians import CustodianFile, bundled_custodians

    if (path is None) != example:
        raise click.UsageError("Give either a file or --example: the one or the other.")
    return CustodianFile(path or bundled_custodians(), columns, limit=limit)


def _tell(report: CustodianReport, *, as_json: bool) -> None:
    """Write the report, and exit 1 where something could not be used."""
    documents = report.documents
    seconds = {**report.seconds, **(documents.seconds if documents else {})}
    about = {"report": report, "shown": _SHOWN, "seconds": seconds}
    told = told_by(Path(__file__).parent, "custodians.txt", **about)
    emit(report.as_dict(), told, as_json=as_json, indent=2)
    if report.failures or (report.documents and not report.documents.complete):
        for line in report.failures:
            click.echo(f"Error: {line}", err=True)
        sys.exit(1)

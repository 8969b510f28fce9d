"""`knowtrail rdf`: the graph as RDF, out, in, and answering SPARQL."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit, emit_rows
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import check_form, told_options
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.session import open_connection

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings

_told = partial(told_options, "knowtrail.graph")
_GRACE = 5.0
"""Seconds after its time limit that a query is stopped by force: it ends by itself, but
for what rdflib computes without asking, and is left the time to close its session."""


@click.group(cls=NearGroup)
def rdf() -> None:
    """Write the graph as RDF, read RDF into it, ask it in SPARQL."""


@rdf.command("export")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@_told("export", form={"default": None})
@click.pass_obj
def export_command(
    settings: Settings,
    /,
    *,
    file: Path,
    form: str | None,
    corpus: str | None,
    without_embeddings: bool,
    base: str,
    as_json: bool,
) -> None:
    """Write the graph to FILE; `-` is standard output.

    FILE ends in .ttl, .nt, .jsonld or .rdf, or --format says what it is. It appears
    when it is whole. The same graph gives the same file.
    """
    from knowtrail.graph.rdf.export import export_rdf, format_of

    to_stdout = str(file) == "-"
    form = form or ("turtle" if to_stdout else format_of(file.name, None))
    with open_connection(settings) as connection, progress_bars() as progress:
        report = export_rdf(
            connection,
            sys.stdout if to_stdout else file,
            format=form,
            embeddings=not without_embeddings,
            corpus=corpus,
            base=base,
            progress=progress,
        )
    left = (
        f"; {report.left_out} that are not mapped left out" if report.left_out else ""
    )
    _tell(
        report,
        f"Wrote {report.triples} triples about {report.nodes} nodes{left}.",
        as_json=as_json and not to_stdout,
    )


@rdf.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@_told("import", form={"default": None})
@click.pass_obj
def import_command(
    settings: Settings, /, *, file: Path, form: str | None, base: str, as_json: bool
) -> None:
    """Store the triples of FILE in the graph.

    A file that is not well-formed changes nothing. The same file a second time changes
    nothing more. IRIs that are not ours become `:Resource` nodes, as neosemantics has
    them.
    """
    from knowtrail.graph.rdf.loading import import_rdf

    with open_connection(settings) as connection, progress_bars() as progress:
        report = import_rdf(
            connection,
            file,
            format=form,
            base=base,
            progress=progress,
            home=settings.home,
        )
    missing = (
        f" Left out {report.missing} relationships to nodes that are not there."
        if report.missing
        else ""
    )
    _tell(
        report,
        f"Read {report.triples} triples: {report.nodes} nodes "
        f"({report.nodes_created} new), {report.relationships} relationships "
        f"({report.relationships_created} new).{missing}",
        as_json=as_json,
    )


def _tell(report: Any, text: str, *, as_json: bool) -> None:
    emit(report, lambda: click.echo(text, err=True), as_json=as_json)


@rdf.command("query")
@click.argument("sparql", metavar="[SPARQL]", required=False)
@_told("query", time_limit={"type": click.FloatRange(0, min_open=True)})
@click.pass_obj
def query_command(
    settings: Settings,
    /,
    *,
    sparql: str | None,
    file: Path | None,
    as_json: bool,
    as_csv: bool,
    wide: bool,
    time_limit: float,
    base: str,
) -> None:
    """Answer a SPARQL query from the graph as it is; nothing can be changed.

    SELECT and ASK give rows, CONSTRUCT and DESCRIBE Turtle. The prefixes schema, skos,
    prov, nif, dqv, rdf, rdfs, xsd, hc (heritage), kt, ktp (properties), ktr
    (relationships) and ktc (classes) are known; tables write IRIs with them.

    \b
    knowtrail rdf query "SELECT ?title { ?d a schema:Article; schema:name ?title }"
    """  # noqa: D301 - click reads the backspace
    check_form(as_json=as_json, as_csv=as_csv)
    text = _query_text(sparql, file)
    from knowtrail.graph.rdf.expressions import stopped_after
    from knowtrail.graph.rdf.store import live_graph

    with open_connection(settings) as connection:
        graph = live_graph(connection, base=base, seconds=time_limit)
        with stopped_after(time_limit + _GRACE):
            _show(graph.query(text), as_json=as_json, as_csv=as_csv, wide=wide)


def _query_text(sparql: str | None, file: Path | None) -> str:
    if (sparql is None) == (file is None):
        msg = 'Give one query, or --file FILE; such as "SELECT * { ?s ?p ?o } LIMIT 9".'
        raise click.UsageError(msg)
    if file is not None:
        try:
            return file.read_text("utf-8")
        except UnicodeDecodeError as error:
            from knowtrail.graph.errors import InputError

            msg = f"{file} is not UTF-8: {error.reason} at byte {error.start}."
            raise InputError(msg) from error
    if sparql == "-":
        return sys.stdin.read()
    return sparql or ""


def _show(result: Any, *, as_json: bool, as_csv: bool, wide: bool) -> None:
    if result.type in {"CONSTRUCT", "DESCRIBE"}:
        graph = result.graph
        if graph is not None:
            form = "json-ld" if as_json else "turtle"
            click.echo(graph.serialize(format=form).rstrip())
        return
    if as_json:
        _write_results(result)
    elif result.type == "ASK":
        click.echo("true" if result.askAnswer else "false")
    else:
        columns = [str(name) for name in result.vars or []]

        def show() -> None:
            from knowtrail.graph.cli.tables import draw_rows

            if drawn := [[_cell(value, result) for value in row] for row in result]:
                draw_rows(columns, drawn, wide=wide, more="--wide")
            else:
                click.echo("No rows.", err=True)

        rows = ([_text(value) for value in row] for row in result)
        emit_rows(columns, rows, show, as_json=False, as_csv=as_csv)


def _write_results(result: Any) -> None:
    """Write rows as they come, in the JSON format of SPARQL results."""
    import json

    from rdflib.plugins.sparql.results.jsonresults import termToJSON

    if result.type == "ASK":
        click.echo(json.dumps({"head": {}, "boolean": bool(result.askAnswer)}))
        return
    names = [str(name) for name in result.vars or []]
    click.echo(f'{{"head": {json.dumps({"vars": names})}, "results": {{"bindings": [')
    separator = ""
    for row in result:
        held = {
            name: termToJSON(result, value)
            for name, value in zip(names, row, strict=True)
            if value is not None
        }
        click.echo(separator + json.dumps(held, ensure_ascii=False), nl=False)
        separator = ",\n"
    click.echo("\n]}}")


def _cell(value: Any, result: Any) -> str:
    from rdflib.term import URIRef

    text = _text(value) or ""
    return result.short(text) if isinstance(value, URIRef) else text


def _text(value: Any) -> str | None:
    return None if value is None else str(value)

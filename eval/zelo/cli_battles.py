"""`knowtrail eval zelo inspect`: the battles of a query, and how consistent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import json_option
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from knowtrail.eval.zelo.inspection import Inspection

_FILE = click.Path(path_type=Path)
_annotation = click.argument("annotation", type=_FILE)
_query = click.option(
    "--query", "query_id", metavar="ID", help="Which query, if several."
)
_documents = click.option(
    "--documents", type=_FILE, help="Queries file, for the order of the documents."
)


@click.command()
@_annotation
@_query
@click.option(
    "--document", "document_id", metavar="ID", help="Its battles, with reasonings."
)
@_documents
@click.option("--report", type=_FILE, help="Write all of it, as one HTML file.")
@json_option
def inspect(
    *,
    annotation: Path,
    query_id: str | None,
    document_id: str | None,
    documents: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Show who fought whom in an ANNOTATION, and whether the judges agree.

    ANNOTATION is an annotated file beside its working folder, that folder, or an
    ai_scores.json. With several queries and none named, they are listed.

    \b
    knowtrail eval zelo inspect annotated.jsonl --query q1 --document d3
    """  # noqa: D301 - click reads the backspace
    from knowtrail.eval.report import draw_table, json_text
    from knowtrail.eval.zelo.inspection import inspected
    from knowtrail.eval.zelo.pages import (
        battles_page,
        battles_table,
        details,
        figures,
        inspection_tables,
        queries_table,
        summary,
    )
    from knowtrail.eval.zelo.scored_pairs import one_judged, read_judged

    if query_id is None and document_id is None and report is None:
        judged = read_judged(annotation, documents=documents)
        if len(judged) > 1:
            found = [inspected(one) for one in judged]
            if as_json:
                click.echo(json_text([figures(one) for one in found]))
            else:
                draw_table(queries_table(found))
            return
    one = inspected(one_judged(annotation, query_id, documents))
    if report is not None:
        from knowtrail.graph.files import check_output, write_file

        check_output(report, (".html",))
        write_file(report, battles_page(one))
    if as_json:
        number = None if document_id is None else _number(one, document_id)
        click.echo(json_text(figures(one) | details(one, number)))
        return
    if document_id is None:
        click.echo(f"{one.judged.query.query}\n\n{summary(one)}")
        for table in inspection_tables(one):
            draw_table(table)
        return
    draw_table(battles_table(one, _number(one, document_id)))


def _number(one: Inspection, document_id: str) -> int:
    """Return the number of a document."""
    for number, document in enumerate(one.judged.documents):
        if document.id == document_id:
            return number
    some = ", ".join(f"{each.id!r:.40}" for each in one.judged.documents[:5])
    msg = (
        f"Query {one.judged.query.id!r:.60} has no document {document_id!r:.60}: there "
        f"are {some}{' ...' if len(one.judged.documents) > 5 else ''}"
    )
    raise InputError(msg + ".")


@click.command(context_settings={"show_default": True})
@_annotation
@_query
@_documents
@click.option(
    "-o",
    "--output",
    type=_FILE,
    default=Path("knowtrail-battles.html"),
    help="File to write; its suffix says the kind: .html, .png or .svg.",
)
def battles(
    *, annotation: Path, query_id: str | None, documents: Path | None, output: Path
) -> None:
    """Draw the battles of a query in an ANNOTATION, in input and in zELO order.

    ANNOTATION is an annotated file beside its working folder, that folder, or an
    ai_scores.json. The .html has every battle with its reasonings besides; without the
    extra view it has all but the picture.
    """
    from knowtrail.eval.zelo.inspection import inspected
    from knowtrail.eval.zelo.scored_pairs import one_judged
    from knowtrail.graph.files import check_output, write_file

    suffix = check_output(output, (".html", ".png", ".svg"))
    one = inspected(one_judged(annotation, query_id, documents))
    if suffix == ".html":
        from knowtrail.eval.zelo.pages import battles_page

        write_file(output, battles_page(one))
    else:
        from knowtrail.eval.zelo.pictures import battles_picture

        write_file(output, battles_picture(one, suffix))
    click.echo(str(output))

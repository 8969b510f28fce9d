"""`knowtrail eval zelo inspect`: the battles of a query, and how consistent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import json_option
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.eval.report import Table
    from knowtrail.eval.zelo.inspection import Inspection

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("annotation", type=_FILE)
@click.option("--query", "query_id", metavar="ID", help="Which query, if several.")
@click.option(
    "--document", "document_id", metavar="ID", help="Its battles, with reasonings."
)
@click.option(
    "--documents", type=_FILE, help="Queries file, for the order of the documents."
)
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
    from knowtrail.eval.zelo.pages import inspection_tables, summary
    from knowtrail.eval.zelo.scored_pairs import one_judged, read_judged

    if query_id is None and document_id is None and report is None:
        judged = read_judged(annotation, documents=documents)
        if len(judged) > 1:
            found = [inspected(one) for one in judged]
            if as_json:
                click.echo(json_text([_figures(one) for one in found]))
            else:
                draw_table(_queries(found))
            return
    one = inspected(one_judged(annotation, query_id, documents))
    if report is not None:
        from knowtrail.eval.zelo.pages import battles_page
        from knowtrail.graph.files import check_output, write_file

        check_output(report, (".html",))
        write_file(report, battles_page(one))
    if as_json:
        click.echo(json_text(_figures(one) | _details(one, document_id)))
        return
    if document_id is None:
        click.echo(f"{one.judged.query.query}\n\n{summary(one)}")
        for table in inspection_tables(one):
            draw_table(table)
        return
    draw_table(_battles(one, _number(one, document_id)))


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


def _queries(found: Sequence[Inspection]) -> Table:
    """Return a table of several queries."""
    from knowtrail.eval.report import Table
    from knowtrail.eval.zelo.pages import shown
    from knowtrail.retrieval.views.labels import cut

    return Table(
        title="Judged queries",
        note="Name one with --query to see its documents and judges.",
        columns=("query", "documents", "battles", "parts", "transitive", "W", "text"),
        rows=[
            (
                one.judged.query.id,
                str(one.battles.n),
                str(len(one.battles.left)),
                str(one.components),
                shown(one.triads.share),
                shown(one.concordance.w),
                cut(one.judged.query.query, 60),
            )
            for one in found
        ],
    )


def _battles(one: Inspection, number: int) -> Table:
    """Return the battles of a document as a table."""
    from knowtrail.eval.report import Table
    from knowtrail.eval.zelo.pages import shown

    return Table(
        title=f"Battles of {one.document(number).id}",
        note="Scores from -1, for the other, to 1, for this one; best others first.",
        columns=("against", "share", "judge", "score", "reasoning"),
        rows=[
            (
                one.document(battle.other).id,
                shown(battle.share),
                said.judge,
                "failed" if said.score is None else f"{said.score:+.2f}",
                said.reasoning,
            )
            for battle in one.fought(number)
            for said in battle.said
        ],
    )


def _figures(one: Inspection) -> dict[str, Any]:
    """Return the figures of a query for JSON."""
    return {
        "query": one.judged.query.id,
        "text": one.judged.query.query,
        "documents": one.battles.n,
        "battles": len(one.battles.left),
        "components": one.components,
        "triads": {"count": one.triads.count, "transitive": one.triads.transitive},
        "kendall_w": _plain(one.concordance.w),
        "krippendorff_alpha": _plain(one.agreement.alpha),
        "unanimous": _plain(one.agreement.unanimous),
        "judges": [
            {
                "name": judge.name,
                "answered": judge.answered,
                "missing": judge.missing,
                "ties": judge.ties,
                "prefers_left": _plain(judge.left),
                "prefers_first": _plain(first),
            }
            for judge, first in zip(one.judges, one.first, strict=True)
        ],
    }


def _details(one: Inspection, document_id: str | None) -> dict[str, Any]:
    """Return the documents of a query for JSON, with the battles of one or of all."""
    wanted = None if document_id is None else _number(one, document_id)
    return {
        "ranking": [
            {
                "document": one.document(number).id,
                "zelo": _plain(one.scores[number]),
                "standard_error": _plain(one.errors[number]),
                "component": int(one.component[number]),
                "battles": [
                    {
                        "against": one.document(battle.other).id,
                        "share": _plain(battle.share),
                        "judges": [
                            {
                                "judge": said.judge,
                                "score": said.score,
                                "reasoning": said.reasoning,
                            }
                            for said in battle.said
                        ],
                    }
                    for battle in one.fought(number)
                ],
            }
            for number in one.order()
            if wanted in {None, number}
        ]
    }


def _plain(value: float | None) -> float | None:
    """Return a number for JSON, null for none."""
    return None if value is None or value != value else float(value)


@click.command()
@click.argument("annotation", type=_FILE)
@click.option("--query", "query_id", metavar="ID", help="Which query, if several.")
@click.option(
    "--documents", type=_FILE, help="Queries file, for the order of the documents."
)
@click.option(
    "-o",
    "--output",
    type=_FILE,
    default=Path("knowtrail-battles.html"),
    show_default=True,
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

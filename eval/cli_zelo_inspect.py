"""`knowtrail eval zelo inspect`: the battles of a query, and how consistent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.report import Table
    from eval.zelo.inspection import Inspection

__all__ = ["inspect"]

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
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
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
    from eval.cli_fields_output import draw_table, json_text
    from eval.zelo.inspection import inspected
    from eval.zelo.judged import one_judged, read_judged

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
        from eval.zelo.battles_page import battles_page
        from retrieval.views.files import check_output, write_file

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
    """Return the number of a document.

    Raises:
        InputError: If the query has none of that id.
    """
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
    from eval.report import Table

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
                _cut(one.judged.query.query, 60),
            )
            for one in found
        ],
    )


def summary(one: Inspection) -> str:
    """Return in a sentence or two what was judged and how consistent it is."""
    n = int((one.component < 0).sum())
    parts = {0: "nothing was judged", 1: "all judged documents are connected"}.get(
        one.components,
        f"they fall into {one.components} parts that cannot be compared",
    )
    lines = [
        f"{_count(one.battles.n, 'document')}, "
        f"{_count(len(one.battles.left), 'battle')}, "
        f"{_count(len(one.judged.judges), 'judge')}; {parts}"
        f"{f'; {n} not judged' if n else ''}.",
        f"Of {_count(one.triads.count, 'triad')} a share of {shown(one.triads.share)} "
        "is transitive. "
        f"Agreement of the judges: Kendall's W {shown(one.concordance.w)}, "
        f"Krippendorff's alpha {shown(one.agreement.alpha)}, unanimous in "
        f"{shown(one.agreement.unanimous)} of the battles that two or more decided.",
    ]
    return "\n".join(lines)


def inspection_tables(one: Inspection) -> list[Table]:
    """Return documents, judges and their agreement as tables."""
    from eval.report import Table

    rows = [
        (
            one.document(number).id,
            shown(one.scores[number]),
            shown(one.errors[number]),
            str(one.degree[number]),
            "-" if one.component[number] < 0 else str(one.component[number] + 1),
            str(number + 1),
            _cut(one.document(number).content, 60),
        )
        for number in one.order()
    ]
    tables = [
        Table(
            title="Documents",
            note="By falling zELO score; a score holds within its part.",
            columns=("document", "zELO", "standard error", "battles", "part", "place",
                     "text"),
            rows=rows,
        ),
        Table(
            title="Judges",
            note=(
                "Shares of the decided answers that prefer the left document, and the "
                "one that was shown first; 0.5 is without bias."
            ),
            columns=("judge", "answered", "missing", "ties", "left", "first",
                     "transitive"),
            rows=[
                (
                    judge.name,
                    str(judge.answered),
                    str(judge.missing),
                    str(judge.ties),
                    shown(judge.left),
                    shown(first),
                    shown(judge.triads.share),
                )
                for judge, first in zip(one.judges, one.first, strict=True)
            ],
        ),
    ]  # fmt: skip
    if one.agreement.pairs:
        names = one.judged.judges
        tables.append(
            Table(
                title="Agreement",
                note="Battles that both decided, and where they name the same side.",
                columns=("judges", "battles", "same side"),
                rows=[
                    (f"{names[a]}, {names[b]}", str(count), shown(share))
                    for (a, b), (count, share) in one.agreement.pairs.items()
                ],
            )
        )
    return tables


def _battles(one: Inspection, number: int) -> Table:
    """Return the battles of a document as a table."""
    from eval.report import Table

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


def shown(value: float | None) -> str:
    """Return a number as people read it, a dash for none."""
    return "-" if value is None or value != value else f"{value:.2f}"


def _plain(value: float | None) -> float | None:
    """Return a number for JSON, null for none."""
    return None if value is None or value != value else float(value)


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text, on one line."""
    from retrieval.views.labels import cut

    return cut(text, most)


def _count(number: int, name: str) -> str:
    """Return a number of things."""
    return f"{number} {name}{'' if number == 1 else 's'}"

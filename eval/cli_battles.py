"""`knowtrail view battles`: who beats whom, drawn."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["battles"]

_FILE = click.Path(path_type=Path)


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
    ai_scores.json. The .html has every battle with its reasonings besides, and needs
    no extra.
    """
    from eval.zelo.inspection import inspected
    from eval.zelo.judged import one_judged
    from retrieval.views.files import check_output, write_file

    suffix = check_output(output, (".html", ".png", ".svg"))
    one = inspected(one_judged(annotation, query_id, documents))
    if suffix == ".html":
        from eval.zelo.battles_page import battles_page

        write_file(output, battles_page(one))
    else:
        from eval.zelo.pictures import battles_picture

        write_file(output, battles_picture(one, suffix))
    click.echo(str(output))

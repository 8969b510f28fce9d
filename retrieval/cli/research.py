"""`knowtrail research`: many walks for one question, and a report of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.rows import plain_text
from knowtrail.graph.settings import own_command
from knowtrail.retrieval.budgets import RESEARCH
from knowtrail.retrieval.cli.options import load_model, told

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.research.report import ResearchReport


@click.command()
@click.argument("question")
@told(
    "research",
    budget={
        "default": RESEARCH.default,
        "help": f"{RESEARCH.meaning[0].upper()}{RESEARCH.meaning[1:]}.",
    },
)
@click.pass_obj
def research(
    settings: Settings,
    /,
    *,
    question: str,
    model_name: str | None,
    report: Path | None,
    approve: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Find out what a corpus says to QUESTION, by many walks, and report it.

    The language model is by default that of KNOWTRAIL_LANGUAGE_MODEL; without any, the
    report is made of stored sentences. A run that was broken off goes on when the same
    question is asked again.
    """
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.errors import StorageError
    from knowtrail.graph.files.whole import check_output
    from knowtrail.graph.session import open_connection
    from knowtrail.retrieval.questions import check_question
    from knowtrail.retrieval.research.run import check_budget
    from knowtrail.retrieval.research.run import research as run

    check_question(question)
    check_budget(asked["budget"])
    if report is not None:
        check_output(report, (".md", ".html"))
    asked["model"] = load_model(model_name, settings)
    asked |= {"corpus": asked["corpus"] or settings.corpus, "settings": settings}
    asked["approve"] = _approved if approve else None
    with open_connection(settings) as connection, progress_bars() as progress:
        found = run(connection, question, progress=progress, **asked)
    told, failure = found.markdown(), None
    if report is not None:
        try:
            _write(report, found)
            told = f"{found.about}\nReport: {report}"
        except StorageError as error:  # what was found at such cost is shown at least
            failure = error
    emit(found.as_dict(), plain_text(told, lines=True), as_json=as_json, indent=2)
    if not as_json:
        click.echo("\nIts claims with their sentences:")
        own = own_command(settings.home)
        click.echo(f"  {own} cypher --saved research_claims -p research={found.id}")
    if failure is not None:
        raise failure


def _write(path: Path, report: ResearchReport) -> None:
    """Write a page, or Markdown with its picture beside it."""
    from knowtrail.graph.files.whole import write_file

    if path.suffix.lower() == ".html":
        write_file(path, report.html())
        return
    picture = path.with_suffix(".walks.svg")
    write_file(picture, report.picture)
    write_file(path, report.markdown(picture.name))


def _approved(plan: Sequence[str]) -> Sequence[str]:
    """Show a plan and return what a person leaves of it."""
    for number, text in enumerate(plan, start=1):
        click.echo(f"{number}. {plain_text(text)}", err=True)
    numbered = {str(number): text for number, text in enumerate(plan, start=1)}

    def kept(said: str) -> list[str]:
        words = said.replace(",", " ").split()
        if [word.lower() for word in words] in (["n"], ["no"]):
            return []
        for word in words:
            if word not in numbered:
                msg = f"{plain_text(word)[:40]} is no number of the plan."
                raise click.BadParameter(msg)
        return [text for number, text in numbered.items() if number not in words]

    said: list[str] = click.prompt(
        "Enter walks for all, numbers leave these out, n stops",
        default="",
        show_default=False,
        value_proc=kept,
        err=True,
    )
    return said

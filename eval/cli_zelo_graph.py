"""`knowtrail eval zelo export` and `import`: candidates out, judgements in."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph.errors import InputError

if TYPE_CHECKING:
    from graph.connection import Connection
    from graph.settings import Settings

__all__ = ["export", "import_"]

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("target", type=_FILE)
@click.option("--corpus", help="Corpus to ask; needed where there are several.")
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    default=("basic_retrieval",),
    show_default=True,
    help="How candidates are found; several take turns.",
)
@click.option(
    "--candidates",
    "count",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Chunks wanted of each algorithm.",
)
@click.option("--questions", type=_FILE, help="Questions, one a line, text or JSON.")
@click.option("--bundled", is_flag=True, help="The questions of the quick start.")
@click.option("--limit", type=click.IntRange(1), help="Take the first so many.")
@click.pass_obj
def export(settings: Settings, /, **given: Any) -> None:
    """Write questions with candidate chunks of a corpus to TARGET, to be judged.

    Without --questions or --bundled, the questions are those that were asked of the
    corpus before.
    """
    from eval.zelo.candidates import candidates
    from graph.cli_session import open_connection
    from graph.progress import progress_bars
    from ingest.corpus import only_corpus
    from retrieval.questions import check_question
    from retrieval.rerank.datasets import write_queries

    if given["questions"] and given["bundled"]:
        raise click.UsageError("Choose one of --questions and --bundled.")
    for algorithm in given["algorithms"]:
        check_question("?", algorithm=algorithm, k=given["count"])
    with open_connection(settings) as connection, progress_bars() as progress:
        corpus = only_corpus(connection, given["corpus"] or settings.corpus)
        found = candidates(
            connection,
            islice(_questions(connection, corpus, given), given["limit"]),
            corpus=corpus,
            algorithms=given["algorithms"],
            count=given["count"],
            settings=settings,
            progress=progress,
        )
        count = write_queries(given["target"], found)
    click.echo(f"{count:,} queries: {given['target']}")


def _questions(connection: Connection, corpus: str, given: dict[str, Any]) -> Any:
    """Return what is asked."""
    from eval.zelo.candidates import (
        bundled_questions,
        questions_of_file,
        stored_questions,
    )

    if given["bundled"]:
        return bundled_questions()
    if given["questions"]:
        return questions_of_file(given["questions"])
    return stored_questions(connection, corpus)


@click.command("import")
@click.argument("annotated", type=_FILE)
@click.option("--corpus", help="Corpus of the chunks; needed where there are several.")
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    help="Working folder of the annotation; ANNOTATED.zelo without it.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.pass_obj
def import_(
    settings: Settings,
    /,
    *,
    annotated: Path,
    corpus: str | None,
    work: Path | None,
    as_json: bool,
) -> None:
    """Put the scores and battles of an annotation into the graph.

    A question's scores take the place of those that it had.
    """
    from dataclasses import asdict

    from eval.zelo.storing import store_annotation
    from graph.cli_session import open_connection
    from ingest.corpus import only_corpus

    if not annotated.exists():
        msg = f"There is no file {annotated}: make one with eval zelo annotate."
        raise InputError(msg)
    with open_connection(settings) as connection:
        name = only_corpus(connection, corpus or settings.corpus)
        done = store_annotation(connection, annotated, corpus=name, folder=work)
    if done.missing:
        click.echo(
            f"{done.missing:,} documents are no chunks of corpus {name!r}.", err=True
        )
    if as_json:
        click.echo(json.dumps(asdict(done)))
        return
    click.echo(
        f"{done.queries:,} questions, {done.scores:,} scores, {done.battles:,} battles"
    )

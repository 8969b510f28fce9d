"""How `knowtrail dataset` says what it has made: files, warnings and a summary."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.cli import options_of, options_told
from knowtrail.eval.generation.contexts import (
    GraphContexts,
    GroupPlan,
    WalkParameters,
    context_groups,
    corpus_passages,
)
from knowtrail.eval.generation.files import (
    FORMATS,
    dataset_questions,
    generated_questions,
    write_dataset,
)
from knowtrail.eval.generation.questions import (
    QuestionOptions,
    chain_writer,
    deepeval_writer,
    generate_questions,
)
from knowtrail.eval.judged import need_deepeval
from knowtrail.eval.models import ModelOptions
from knowtrail.eval.report import json_lines, telling_what_is_kept
from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import FILE, option
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.files import check_output, write_file
from knowtrail.graph.files.journal import State
from knowtrail.graph.session import open_connection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.eval.generation.contexts import ContextGroup, CorpusPassage, Grouped
    from knowtrail.eval.generation.questions import GeneratedQuestions
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings


def write_groups(output: Path, grouped: Grouped, *, as_json: bool) -> None:
    """Write the contexts, one a line."""
    write_file(output, json_lines(map(asdict, grouped.groups)))
    said = f"{len(grouped.groups)} contexts are in {output}."
    emit(_groups(grouped), said, as_json=as_json)


def _groups(grouped: Grouped) -> dict[str, Any]:
    """Return how many contexts there are of each grouping; tell which are missing."""
    for grouping, count in grouped.missing.items():
        click.echo(
            f"Warning: {count} contexts of {grouping} were wanted and not found: the "
            "corpus has too few documents or edges for them.",
            err=True,
        )
    counts = Counter(group.grouping for group in grouped.groups)
    return {"groups": dict(counts), "missing": dict(grouped.missing)}


def write_made(
    output: Path,
    made: GeneratedQuestions,
    grouped: Grouped,
    passages: list[CorpusPassage],
    *,
    as_json: bool,
) -> None:
    """Write questions and passages, and say what came of it."""
    groups = _groups(grouped)
    for failure in made.failures:
        click.echo(
            f"No question of context {failure.group[:8]} ({failure.grouping}), "
            f"{failure.step}: {failure.reason}",
            err=True,
        )
    if not made.questions and not made.failures:
        raise InputError(
            "The corpus has none of the contexts that were wanted, so no question was "
            "asked and no file is written: choose another --grouping, or a corpus of "
            "more and longer documents."
        )
    if not made.questions:
        raise ModelError(
            f"No question came of {len(made.failures)} attempts, so no file is written:"
            " choose a larger --model, or a lower --threshold; --retry-failed asks "
            "again."
        )
    write_dataset(output, generated_questions(made.questions, passages), passages)
    emit(
        {
            "questions": len(made.questions),
            "failures": [asdict(one) for one in made.failures],
            **groups,
            "reused": made.reused,
            "output": str(output),
        },
        f"{len(made.questions)} questions are in {output}; {len(made.failures)} "
        "did not come.",
        as_json=as_json,
    )


def _weights(
    _: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, float]:
    """Return what `NAME=NUMBER` options say; a name alone counts 1."""
    weights: dict[str, float] = {}
    for text in given:
        name, _equals, number = text.partition("=")
        try:
            weights[name.strip()] = float(number) if number else 1.0
        except ValueError as error:
            msg = f"{option.opts[0]} {text}: write NAME or NAME=NUMBER, such as "
            raise click.UsageError(f"{msg}{name}=0.5.") from error
    return weights


_PICTURES = 3


@click.group(cls=NearGroup)
def dataset() -> None:
    """Make and convert data sets of questions."""


@dataset.command()
@click.argument("corpus")
@options_told(
    "generate",
    *(GroupPlan, QuestionOptions, WalkParameters, ModelOptions),
    weights={"callback": _weights},
    evolutions={"callback": _weights},
    pictures={"type": click.Path(path_type=Path, file_okay=False, exists=True)},
)
@click.pass_obj
def generate(settings: Settings, /, corpus: str, **given: Any) -> None:
    """Make questions about CORPUS, with answers and the sentences they rest on.

    Chunks are gathered along the graph's edges, then a language model writes a question
    about them, makes it harder, judges it, and answers it. What it says is kept: an
    interrupted run goes on where it ended.

    \b
    knowtrail dataset generate glaciers --output asked.jsonl --goldens 20
    knowtrail dataset generate glaciers --output contexts.jsonl --groups-only
    """  # noqa: D301 - click reads the backspace
    from knowtrail.retrieval.corpora import corpora, pick_corpus

    output: Path = given["output"]
    check_output(output, [".jsonl"] if given["groups_only"] else FORMATS)
    plan, options, models = _chosen(given)
    with open_connection(settings) as connection, progress_bars() as progress:
        name = pick_corpus(corpora(connection), corpus).name
        source = GraphContexts(connection, name)
        grouped = context_groups(source, plan, progress=progress)
        passages = [] if given["groups_only"] else [*corpus_passages(connection, name)]
        if given["pictures"] is not None:
            _draw(connection, grouped.groups[:_PICTURES], given["pictures"])
    if given["groups_only"]:
        write_groups(output, grouped, as_json=given["as_json"])
        return
    made = _made(settings, grouped.groups, given, options, models)
    write_made(output, made, grouped, passages, as_json=given["as_json"])


def _draw(connection: Connection, groups: Sequence[ContextGroup], folder: Path) -> None:
    from knowtrail.retrieval.views.layout import Heading
    from knowtrail.retrieval.views.matrix import chunks_of

    for number, group in enumerate(groups, start=1):
        said = Heading(
            title=f"Context {number}: {group.grouping}",
            about=(
                f"How similar its {len(group.chunks)} chunks of "
                f"{len(group.documents)} documents are, in the order in which they "
                "were gathered."
            ),
        )
        picture = chunks_of(connection, group.chunks, said, suffix=".png")
        write_file(folder / f"context-{number}.png", picture)


def _chosen(given: dict[str, Any]) -> tuple[GroupPlan, QuestionOptions, ModelOptions]:
    """Return which contexts are wanted, and how questions are made, checked."""
    given = {name: value for name, value in given.items() if value != {}}
    sizes = WalkParameters(**options_of(WalkParameters, given))
    plan = GroupPlan(**options_of(GroupPlan, given), sizes=sizes)
    given["rounds"] = given["evolution_rounds"]
    options = QuestionOptions(**options_of(QuestionOptions, given))
    if given["synthesizer"] == "deepeval" and not given["groups_only"]:
        need_deepeval()
    return plan, options, ModelOptions(**options_of(ModelOptions, given))


def _made(
    settings: Settings,
    groups: tuple[ContextGroup, ...],
    given: dict[str, Any],
    options: QuestionOptions,
    models: ModelOptions,
) -> GeneratedQuestions:
    work: Path = given["work"] or given["output"].with_name(
        f"{given['output'].name}.work"
    )
    make = deepeval_writer if given["synthesizer"] == "deepeval" else chain_writer
    with telling_what_is_kept(work), State(work) as state, progress_bars() as progress:
        writer = make(
            given["model_name"] or settings.language_model,
            critic=given["critic"],
            state=state,
            options=options,
            models=models,
            settings=settings,
        )
        return generate_questions(
            groups,
            writer,
            state=state,
            goldens=given["goldens"],
            per_group=given["goldens_per_context"],
            options=options,
            progress=progress,
        )


@dataset.command()
@click.argument("source", metavar="KIND:FILES")
@click.argument("output", type=FILE)
@option("json")
def convert(source: str, output: Path, *, as_json: bool) -> None:
    """Convert a data set, named as `eval retrieval` names it, to OUTPUT.

    OUTPUT ends in .jsonl (our own form, with the passages beside it), or in .json or
    .csv for DeepEval.

    \b
    knowtrail dataset convert musique:questions.json,corpus.json musique.jsonl
    knowtrail dataset convert jsonl:asked.jsonl,asked.passages.jsonl asked.csv
    """  # noqa: D301 - click reads the backspace
    from knowtrail.eval.datasets import read_specification

    check_output(output, FORMATS)
    read = read_specification(source)
    for problem in read.problems:
        click.echo(f"Warning: {problem.message}", err=True)
    write_dataset(output, dataset_questions(read), read.passages)
    emit(
        {
            "questions": len(read.questions),
            "passages": len(read.passages),
            "problems": len(read.problems),
            "output": str(output),
        },
        f"{len(read.questions)} questions are in {output}.",
        as_json=as_json,
    )

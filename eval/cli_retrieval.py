"""`knowtrail eval retrieval`: ways of finding passages against known gold."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eval.judged import JudgingOptions
    from eval.retrieval.evaluation import EvaluationOptions
    from eval.retrieval.system import System
    from graph.settings import Settings

__all__ = ["retrieval"]

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--dataset",
    "specification",
    required=True,
    metavar="KIND:PATHS",
    help="musique, hotpotqa, 2wiki or jsonl with QUESTIONS,CORPUS; beir:FOLDER; "
    "deepeval:QUESTIONS.",
)
@click.option(
    "--algorithms",
    default="all",
    show_default=True,
    help="all (without a language model), all+llm, or names: dense, bm25, rrf, ...",
)
@click.option(
    "--k",
    "ks",
    default="2,5,10",
    show_default=True,
    help="Places at which rankings are cut.",
)
@click.option(
    "--unit",
    type=click.Choice(["passage", "windows"]),
    default="passage",
    show_default=True,
    help="What a chunk is.",
)
@click.option(
    "--title/--no-title",
    default=True,
    show_default=True,
    help="Whether passages begin with their titles.",
)
@click.option("--window", default=3, show_default=True, help="Sentences in a window.")
@click.option("--stride", default=1, show_default=True, help="From one to the next.")
@click.option("--seed", default=0, show_default=True, help="Of intervals and tests.")
@click.option(
    "--base",
    default="dense",
    show_default=True,
    help="The system that the others are compared with.",
)
@click.option("--halves", is_flag=True, help="Report even and odd questions too.")
@click.option(
    "--contexts",
    type=click.Choice(["groups", "items"]),
    default="groups",
    show_default=True,
    help="With deepeval: a passage for each context, or for each text of one.",
)
@click.option("--limit", type=click.IntRange(1), help="Only the first questions.")
@click.option(
    "--reader",
    type=click.Choice(["auto", "cypher", "snapshot"]),
    default="auto",
    show_default=True,
    help="Where systems read; snapshot makes one where none is current.",
)
@click.option("--model", "model_name", help="Language model of those that ask one.")
@click.option("--answers", help="A model that answers from what was found.")
@click.option("--judge", help="A model that judges those answers (extra deepeval).")
@click.option("--report", type=_PATH, help="Write a page of HTML.")
@click.option(
    "--rankings", type=_PATH, help="Write what was found for each question, as lines."
)
@click.option("--no-store", is_flag=True, help="Do not store the results.")
@click.option("--no-record", is_flag=True, help="Do not store the walks.")
@click.option("--fresh", is_flag=True, help="Forget what an interrupted run left.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.pass_obj
def retrieval(
    settings: Settings,
    /,
    *,
    specification: str,
    algorithms: str,
    limit: int | None,
    model_name: str | None,
    report: Path | None,
    rankings: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure ways of finding passages, with 95 % intervals.

    The passages are ingested once as a corpus of their own, with the embedder in use.
    A run that is interrupted goes on where it was.
    """
    from eval.datasets import read_specification
    from eval.retrieval.evaluation import evaluate_retrieval
    from eval.retrieval.output import as_dict, lines, rankings_of
    from eval.retrieval.report import retrieval_page
    from graph.cli_session import open_connection
    from graph.embedders import load_embedder
    from graph.progress import progress_bars

    _check_place(report)
    _check_place(rankings)
    options = _options(asked)
    _check_base(options.base, algorithms)
    systems = _systems(algorithms, model_name, settings)
    dataset = read_specification(specification, contexts=asked["contexts"])
    dataset = replace(dataset, questions=dataset.questions[:limit])
    embedder = load_embedder(settings.embedder, settings=settings)
    with open_connection(settings) as connection, progress_bars() as progress:
        evaluation = evaluate_retrieval(
            dataset,
            systems,
            connection=connection,
            embedder=embedder,
            settings=settings,
            options=options,
            progress=progress,
        )
    if report is not None:
        _write(report, retrieval_page(evaluation))
        click.echo(f"Report: {report}", err=True)
    if rankings is not None:
        rows = (json.dumps(r, ensure_ascii=False) for r in rankings_of(evaluation))
        _write(rankings, "".join(f"{row}\n" for row in rows))
        click.echo(f"Rankings: {rankings}", err=True)
    if as_json:
        click.echo(json.dumps(as_dict(evaluation), ensure_ascii=False, indent=2))
        return
    for line in lines(evaluation):
        click.echo(line)


def _options(asked: Mapping[str, Any]) -> EvaluationOptions:
    """Return how to measure.

    Args:
        asked: Options of the command by name.

    Raises:
        InputError: If the base is no system.
        UsageError: If a k is no number, or there is a judge and nothing to judge.
    """
    from eval.retrieval.evaluation import EvaluationOptions
    from eval.retrieval.systems import asked_names
    from eval.retrieval.units import Unit
    from graph.errors import InputError

    if asked_names(asked["base"]) != (asked["base"],):
        raise InputError(f"--base {asked['base']!r:.80}: name one system.")
    return EvaluationOptions(
        unit=Unit(
            name=asked["unit"],
            title=asked["title"],
            window=asked["window"],
            stride=asked["stride"],
        ),
        ks=_numbers(asked["ks"]),
        seed=asked["seed"],
        base=asked["base"],
        halves=asked["halves"],
        reader=asked["reader"],
        record=not asked["no_record"],
        resume=not asked["fresh"],
        store=not asked["no_store"],
        judging=_judging(asked["answers"], asked["judge"]),
    )


def _systems(
    algorithms: str, model_name: str | None, settings: Settings
) -> tuple[System, ...]:
    """Return the systems that are asked for, with the model that they need."""
    from eval.retrieval.systems import asked_names, asks_model, systems_of
    from graph.language_models import load_language_model
    from retrieval.cli_options import load_model

    needed = any(asks_model(name) for name in asked_names(algorithms))
    model = load_model(model_name, settings)
    if needed and model is None:
        model = load_language_model(settings=settings)
    return systems_of(algorithms, model=model)


def _judging(answers: str | None, judge: str | None) -> JudgingOptions | None:
    """Return which models answer and judge.

    Raises:
        UsageError: If there is a judge and nothing to judge.
    """
    if answers is None:
        if judge is not None:
            msg = "--judge judges answers: name the model that gives them by --answers."
            raise click.UsageError(msg)
        return None
    from eval.judged import JudgingOptions

    return JudgingOptions(answers=answers, judge=judge)


def _check_base(base: str, algorithms: str) -> None:
    """Check that a base which was asked for is measured.

    Raises:
        UsageError: If it is not; where none was asked for, the first system will do.
    """
    from eval.retrieval.systems import asked_names

    source = click.get_current_context().get_parameter_source("base")
    given = source is not click.core.ParameterSource.DEFAULT
    if given and base not in asked_names(algorithms):
        msg = (
            f"--base {base} is not measured: add it to --algorithms, such as "
            f"--algorithms {base},{algorithms}."
        )
        raise click.UsageError(msg)


def _check_place(path: Path | None) -> None:
    """Check that a report can be written, before there is one.

    Raises:
        InputError: If its folder is missing or may not be written.
    """
    from graph.errors import InputError

    if path is not None and not os.access(path.parent, os.W_OK):
        msg = f"Cannot write {path}: no folder {path.parent} that may be written."
        raise InputError(msg)


def _write(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        StorageError: If it cannot be written.
    """
    from graph.errors import StorageError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"Cannot write {path}: {error.strerror}. Choose another place."
        raise StorageError(msg) from error


def _numbers(text: str) -> tuple[int, ...]:
    """Return numbers with commas between them.

    Raises:
        UsageError: If one is no whole number.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        msg = f"--k is {text!r:.40}: write whole numbers with commas, such as 2,5,10."
        raise click.UsageError(msg) from error

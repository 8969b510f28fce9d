"""`knowtrail eval retrieval`: ways of finding passages against known gold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.cli import options_of, options_told
from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import check_output, write_file
from knowtrail.graph.session import open_connection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowtrail.eval.judged import JudgingOptions
    from knowtrail.eval.retrieval.dataset import System
    from knowtrail.eval.retrieval.evaluation import EvaluationOptions
    from knowtrail.graph.settings import Settings


@click.command()
@options_told("retrieval")
@click.pass_obj
def retrieval(settings: Settings, /, **asked: Any) -> None:
    """Measure ways of finding passages, with 95 % intervals.

    The passages are ingested once as a corpus of their own, with the embedder in use.
    A run that is interrupted goes on where it was. A MODEL is one of Ollama's, or
    openai:NAME or anthropic:NAME, whose keys are in the environment.
    """
    from knowtrail.eval.datasets import read_specification
    from knowtrail.eval.report import json_lines
    from knowtrail.eval.retrieval import output
    from knowtrail.eval.retrieval.evaluation import evaluate_retrieval
    from knowtrail.graph.models.embedders import named_embedder

    if report := asked["report"]:
        check_output(report, (".html",))
    if rankings := asked["rankings"]:
        check_output(rankings)
    options = _options(asked, settings)
    systems = _systems(asked["algorithms"], asked["model_name"], settings)
    dataset = read_specification(asked["specification"], contexts=asked["contexts"])
    dataset = replace(dataset, questions=dataset.questions[: asked["limit"]])
    embedder = named_embedder(settings.embedder, settings=settings)
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
    if report:
        write_file(report, output.retrieval_page(evaluation))
        click.echo(f"Report: {report}", err=True)
    if rankings:
        write_file(rankings, json_lines(output.rankings_of(evaluation)))
        click.echo(f"Rankings: {rankings}", err=True)
    told = "\n".join(output.lines(evaluation))
    emit(output.as_dict(evaluation), told, as_json=asked["as_json"], indent=2)


def _options(asked: Mapping[str, Any], settings: Settings) -> EvaluationOptions:
    from knowtrail.eval.retrieval.dataset import Unit
    from knowtrail.eval.retrieval.evaluation import EvaluationOptions
    from knowtrail.eval.retrieval.systems import asked_names
    from knowtrail.graph.models.language_models import check_there

    if asked_names(asked["base"]) != (asked["base"],):
        raise InputError(f"--base {asked['base']!r:.80}: name one system.")
    algorithms = asked["algorithms"]
    source = click.get_current_context().get_parameter_source("base")
    given = source is not click.core.ParameterSource.DEFAULT
    if given and asked["base"] not in asked_names(algorithms):
        raise click.UsageError(
            f"--base {asked['base']} is not measured: add it to --algorithms, such as "
            f"--algorithms {asked['base']},{algorithms}."
        )
    judging = _judging(asked["answers"], asked["judge"], settings)
    for name in filter(None, (asked["answers"], asked["judge"])):
        check_there(name, settings)
    chosen = {
        **asked,
        "unit": Unit(**options_of(Unit, {**asked, "name": asked["unit"]})),
        "ks": _numbers(asked["ks"]),
        "record": not asked["no_record"],
        "resume": not asked["fresh"],
        "store": not asked["no_store"],
        "judging": judging,
    }
    return EvaluationOptions(**options_of(EvaluationOptions, chosen))


def _systems(
    algorithms: str, model_name: str | None, settings: Settings
) -> tuple[System, ...]:
    from knowtrail.eval.retrieval.systems import asked_names, asks_model, systems_of
    from knowtrail.retrieval.cli.options import load_model

    needed = any(asks_model(name) for name in asked_names(algorithms))
    usual = settings.language_model if needed else None
    model = load_model(model_name or usual, settings)
    return systems_of(algorithms, model=model)


def _judging(
    answers: str | None, judge: str | None, settings: Settings
) -> JudgingOptions | None:
    """Return which models answer and judge, made so that what lacks is told first."""
    if answers is None:
        if judge is not None:
            msg = "--judge judges answers: name the model that gives them by --answers."
            raise click.UsageError(msg)
        return None
    from knowtrail.eval.judged import JudgingOptions
    from knowtrail.eval.models import as_model

    return JudgingOptions(
        answers=as_model(answers, settings=settings),
        judge=None if judge is None else as_model(judge, settings=settings),
    )


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        msg = f"--k is {text!r:.40}: write whole numbers with commas, such as 2,5,10."
        raise click.UsageError(msg) from error

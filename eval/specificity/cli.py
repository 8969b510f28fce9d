"""`knowtrail eval specificity`: answers from templates against labelled questions."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.cli import options_told
from knowtrail.eval.report import plain
from knowtrail.eval.report import told as text_of
from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import file_digest
from knowtrail.graph.session import open_connection
from knowtrail.ingest.keys import camel_cased

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.specificity.judging import Outcome
    from knowtrail.eval.specificity.measures import SpecificityResults
    from knowtrail.graph.settings import Settings


@click.command(context_settings={"show_default": True})
@options_told("specificity")
@click.pass_obj
def specificity(settings: Settings, /, **given: Any) -> None:
    """Measure template answers on labelled questions, with 95 % intervals."""
    if given["experiment"] is not None:
        _experiment(settings, given["experiment"], given)
        return
    live, seed, half = given["live"], given["seed"], given["half"]
    if live and not given["corpus"]:
        msg = "--live needs --corpus: the corpus that the institutions were stored in."
        raise click.UsageError(msg)
    from knowtrail.eval.specificity import judging, measures
    from knowtrail.retrieval.specificity.template_pipeline import PipelineOptions

    path = given["questions"] or judging.bundled_questions(half)
    about = given["custodians"] or judging.institutions_of(half)
    asked = given["corpus"] if live else None
    model = given["model"]
    outcomes = _outcomes(settings, path, about, corpus=asked, model=model)
    metrics = measures.measure(outcomes, seed=seed)
    run = None
    if given["store"]:
        settled = {"live": live, "corpus": asked, "seed": seed, "model": model}
        settled |= {"custodians": about.name, "custodiansDigest": file_digest(about)}
        settled |= {"threshold": PipelineOptions().threshold}
        with open_connection(settings) as connection:
            run = measures.store_outcomes(
                connection, outcomes, metrics, path.stem, settled
            )
    told = {
        "questions": path.name,
        "n": len(outcomes),
        "metrics": plain(metrics),
        "run": run,
        "outcomes": list(map(_plain, outcomes)),
    }
    shown = text_of(
        "specificity/summary.txt",
        outcomes=outcomes,
        metrics=metrics,
        name=path.name,
        run=run,
        failed=outcomes if given["failures"] else (),
        quoted=repr,
    )
    emit(told, shown, as_json=given["as_json"], indent=2)


def _outcomes(
    settings: Settings,
    path: Path,
    about: Path,
    *,
    corpus: str | None,
    model: str | None,
) -> tuple[Outcome, ...]:
    from knowtrail.eval.specificity import judging
    from knowtrail.retrieval.cli.options import load_model
    from knowtrail.retrieval.specificity.live_pipeline import open_pipeline
    from knowtrail.retrieval.specificity.understanding import ByModel

    found, asked = judging.custodians_of(about), judging.load_questions(path)
    loaded = load_model(model, settings)
    reader = None if loaded is None else ByModel(loaded)
    with ExitStack() as stack:
        if corpus is None:
            pipeline = judging.memory_pipeline(found, understanding=reader)
        else:
            connection = stack.enter_context(open_connection(settings))
            pipeline = open_pipeline(
                connection, settings, corpus=corpus, understanding=reader, record=False
            )
        progress = stack.enter_context(progress_bars())
        # What is read once is not measured.
        replace(pipeline, understanding=None).forward(asked[0].question)
        known = judging.key_of(found, corpus)
        outcomes = judging.ask_questions(pipeline, asked, known, progress=progress)
    if reader is not None and reader.useless:
        told = f"{reader.useless} of {len(asked)} questions were read by rules"
        click.echo(f"{told}: what the model said of them was of no use.", err=True)
    return outcomes


def _plain(outcome: Outcome) -> dict[str, Any]:
    told = ("template", "template_right", "ended_right", "answer_right", "status")
    asked, ranks = outcome.question, dict(outcome.ranks)
    about = {"id": asked.id, "question": asked.question, "ranks": ranks}
    return about | camel_cased(outcome, *told)


def _experiment(settings: Settings, path: Path, given: dict[str, Any]) -> None:
    from knowtrail.eval.specificity.measures import (
        FEWEST,
        read_results,
        store_experiment,
    )

    split = given["traffic_split"]
    results = read_results(path, traffic_split=split, name=given["name"])
    dealt, seed = results.experiment, given["seed"]
    if given["live"]:
        _check_turns(settings, results)
    elif results.unchecked:
        click.echo(
            f"{len(results.unchecked)} of {len(results.sessions)} sessions have no "
            f"group in {path.name}: they are taken to be dealt by the name "
            f"{dealt.name!r} and a share of {dealt.traffic_split:g}. --live compares "
            "them with their stored turns.",
            err=True,
        )
    table = results.table(seed=seed)
    run = None
    if given["store"]:
        with open_connection(settings) as connection:
            digest, name = file_digest(path), path.stem
            run = store_experiment(connection, table, dealt, name, digest, seed)
    told = plain(table) | {"run": run}
    shown = text_of("specificity/experiment.txt", table=table, run=run, fewest=FEWEST)
    emit(told, shown, as_json=given["as_json"], indent=2)


def _check_turns(settings: Settings, results: SpecificityResults) -> None:
    with open_connection(settings) as connection:
        rows = connection.read("eval/experiment_groups", sessions=results.sessions)
    stored = {row["session"]: row["groups"] for row in rows}
    for session in results.sessions:
        if session not in stored:
            raise InputError(
                f"Session {session!r} has no turn of an experiment in the graph: name "
                "sessions as their conversations, or leave out --live."
            )
        for group in stored[session]:
            results.check_group(session, group)

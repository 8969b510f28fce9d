"""`knowtrail eval specificity`: answers from templates against labelled questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.report import interval_dict
from knowtrail.graph.cli.answers import json_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.eval.specificity.experiments import (
        ExperimentTable,
        SpecificityResults,
    )
    from knowtrail.eval.specificity.judging import Outcome
    from knowtrail.eval.statistics import Interval
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--half",
    type=click.Choice(["dev", "more", "hard", "test", "fresh"]),
    default="test",
    show_default=True,
    help="Bundled questions: dev, more and hard to tune on, test and fresh to report.",
)
@click.option("--questions", type=_FILE, help="Other labelled questions, JSON lines.")
@click.option(
    "--custodians", type=_FILE, help="What they are about, CSV or JSON lines."
)
@click.option(
    "--live",
    is_flag=True,
    help="Ask the database instead of a copy; of an experiment, compare its turns.",
)
@click.option("--corpus", help="With --live: the corpus of these institutions.")
@click.option("--store", is_flag=True, help="Keep the results in the graph.")
@click.option("--failures", is_flag=True, help="List what went wrong.")
@click.option(
    "--experiment",
    type=_FILE,
    help="Instead: the table of an experiment, from JSON lines of session, quality "
    "and group.",
)
@click.option(
    "--traffic-split",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="With --experiment: share of sessions that were filtered.",
)
@click.option(
    "--name",
    default="specificity",
    show_default=True,
    help="With --experiment: its name, by which sessions were dealt.",
)
@click.option("--seed", default=0, show_default=True, help="Of the intervals.")
@json_option
@click.pass_obj
def specificity(
    settings: Settings,
    /,
    *,
    half: str,
    questions: Path | None,
    custodians: Path | None,
    live: bool,
    corpus: str | None,
    store: bool,
    failures: bool,
    experiment: Path | None,
    traffic_split: float,
    name: str,
    seed: int,
    as_json: bool,
) -> None:
    """Measure template answers on labelled questions, with 95 % intervals."""
    from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment

    if experiment is not None:
        dealt = SpecificityExperiment(traffic_split=traffic_split, name=name)
        _experiment(
            settings,
            experiment,
            dealt,
            live=live,
            store=store,
            seed=seed,
            as_json=as_json,
        )
        return
    if live and not corpus:
        msg = "--live needs --corpus: the corpus that the institutions were stored in."
        raise click.UsageError(msg)
    from knowtrail.eval.specificity.measures import measure
    from knowtrail.eval.specificity.questions import (
        bundled_questions,
        institutions_of,
    )

    path = questions or bundled_questions(half)
    about = custodians or institutions_of(half)
    asked = corpus if live else None
    outcomes = _outcomes(settings, path, about, corpus=asked)
    metrics = measure(outcomes, seed=seed)
    run = None
    if store:
        configuration = {"live": live, "corpus": asked}
        configuration |= {"seed": seed} | _configuration(about)
        run = _store(settings, outcomes, metrics, path.stem, configuration)
    if as_json:
        _write_json(outcomes, metrics, path.name, run)
    else:
        _tell(outcomes, metrics, path.name, run, failures=failures)


def _configuration(custodians: Path) -> dict[str, Any]:
    """Return what was asked about, and the threshold of classes."""
    from knowtrail.graph.files import file_digest
    from knowtrail.retrieval.specificity.template_pipeline import PipelineOptions

    return {
        "custodians": custodians.name,
        "custodiansDigest": file_digest(custodians),
        "threshold": PipelineOptions().threshold,
    }


def _outcomes(
    settings: Settings,
    path: Path,
    about: Path,
    *,
    corpus: str | None,
) -> tuple[Outcome, ...]:
    """Ask the questions, in memory or, where a corpus is named, the database."""
    from contextlib import ExitStack

    from knowtrail.eval.specificity.judging import ask_questions
    from knowtrail.eval.specificity.questions import (
        custodians_of,
        key_of,
        load_questions,
        memory_pipeline,
    )
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.session import open_connection
    from knowtrail.retrieval.specificity.live_pipeline import open_pipeline

    found, asked = custodians_of(about), load_questions(path)
    with ExitStack() as stack:
        if corpus is None:
            pipeline = memory_pipeline(found)
            key = key_of(found)
        else:
            connection = stack.enter_context(open_connection(settings))
            pipeline = open_pipeline(connection, settings, corpus=corpus, record=False)
            key = key_of(found, corpus)
        progress = stack.enter_context(progress_bars())
        pipeline.forward(asked[0].question)  # what is read once is not measured
        return ask_questions(pipeline, asked, key, progress=progress)


def _store(
    settings: Settings,
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, Interval],
    dataset: str,
    configuration: Mapping[str, Any],
) -> str:
    """Keep the results in the graph."""
    from knowtrail.eval.specificity.measures import store_outcomes
    from knowtrail.graph.session import open_connection

    with open_connection(settings) as connection:
        return store_outcomes(
            connection,
            outcomes,
            metrics,
            dataset=dataset,
            configuration=configuration,
        )


def _write_json(
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, Interval],
    name: str,
    run: str | None,
) -> None:
    """Write everything as JSON."""
    told = {
        "questions": name,
        "n": len(outcomes),
        "metrics": {key: interval_dict(value) for key, value in metrics.items()},
        "run": run,
        "outcomes": [
            {
                "id": one.question.id,
                "question": one.question.question,
                "template": one.template,
                "templateRight": one.template_right,
                "endedRight": one.ended_right,
                "answerRight": one.answer_right,
                "status": one.status,
            }
            for one in outcomes
        ],
    }
    click.echo(json.dumps(told, ensure_ascii=False, indent=2))


def _tell(
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, Interval],
    name: str,
    run: str | None,
    *,
    failures: bool,
) -> None:
    """Write the metrics, and what went wrong, for people."""
    click.echo(f"{len(outcomes)} questions of {name}")
    for key, found in metrics.items():
        click.echo(
            f"{key:<20} {found.value:.3f}  [{found.low:.3f}, {found.high:.3f}]  "
            f"n={found.n}"
        )
    if run is not None:
        click.echo(f"Stored as EvalRun {run}")
    for one in outcomes if failures else ():
        if one.wrong_without_notice:
            click.echo(f"{one.question.id} wrong without notice")
        slots = one.slots_right == one.slots_found == one.slots_wanted
        wrong = [
            what
            for what, right in (
                ("template", one.template_right),
                ("slots", slots or one.question.template is None),
                ("ending", one.ended_right),
                ("answer", one.answer_right),
            )
            if not right
        ]
        if wrong:
            click.echo(
                f"{one.question.id} {', '.join(wrong)}: {one.question.question!r} "
                f"taken for {one.template}, wanted {one.question.template} "
                f"({one.status})"
            )


def _experiment(
    settings: Settings,
    path: Path,
    dealt: SpecificityExperiment,
    *,
    live: bool,
    store: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Write the table of an experiment."""
    from dataclasses import asdict

    from knowtrail.eval.specificity.experiments import read_results

    results = read_results(path, traffic_split=dealt.traffic_split, name=dealt.name)
    if live:
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
    run = _store_experiment(settings, table, dealt, path, seed) if store else None
    if as_json:
        told = asdict(table) | {
            "difference": table.difference and interval_dict(table.difference),
            "run": run,
        }
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    for name, value, n in (
        ("control", table.control, table.control_sessions),
        ("treatment", table.treatment, table.treatment_sessions),
    ):
        shown = "-" if value is None else f"{value:.3f}"
        click.echo(f"{name:<10} {shown}  {n} sessions")
    if table.difference is not None:
        found = table.difference
        click.echo(
            f"difference {found.value:+.3f}  [{found.low:+.3f}, {found.high:+.3f}]"
            if found.low == found.low
            else f"difference {found.value:+.3f}, without an interval: {_why(table)}"
        )
    if run is not None:
        click.echo(f"Stored as EvalRun {run}")


def _why(table: ExperimentTable) -> str:
    """Return why a difference has no interval."""
    from knowtrail.eval.specificity.experiments import FEWEST

    if min(table.control_sessions, table.treatment_sessions) < FEWEST:
        return f"each group needs {FEWEST} sessions"
    return "all sessions of each group have the same quality"


def _check_turns(settings: Settings, results: SpecificityResults) -> None:
    """Compare the groups of sessions with those of their stored turns."""
    from knowtrail.eval.specificity.measures import stored_groups
    from knowtrail.graph.errors import InputError
    from knowtrail.graph.session import open_connection

    with open_connection(settings) as connection:
        stored = stored_groups(connection, results.sessions)
    for session in results.sessions:
        if session not in stored:
            msg = (
                f"Session {session!r} has no turn of an experiment in the graph: name "
                "sessions as their conversations, or leave out --live."
            )
            raise InputError(msg)
        for group in stored[session]:
            results.check_group(session, group)


def _store_experiment(
    settings: Settings,
    table: ExperimentTable,
    dealt: SpecificityExperiment,
    path: Path,
    seed: int,
) -> str:
    """Keep the table of an experiment in the graph."""
    from knowtrail.eval.specificity.measures import store_experiment
    from knowtrail.graph.files import file_digest
    from knowtrail.graph.session import open_connection

    with open_connection(settings) as connection:
        return store_experiment(
            connection,
            table,
            experiment=dealt,
            dataset=path.stem,
            key=file_digest(path),
            seed=seed,
        )

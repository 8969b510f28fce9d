"""`knowtrail eval specificity`: answers from templates against labelled questions."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.report import interval_dict
from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import file_digest
from knowtrail.graph.session import open_connection
from knowtrail.ingest.keys import camel_case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.eval.specificity.judging import Outcome
    from knowtrail.eval.specificity.measures import ExperimentTable, SpecificityResults
    from knowtrail.eval.statistics import Interval
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(context_settings={"show_default": True})
@click.option(
    "--half",
    type=click.Choice(["dev", "more", "hard", "test", "fresh"]),
    default="test",
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
@click.option("--model", help="Language model that reads the questions, not rules.")
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
    help="With --experiment: share of sessions that were filtered.",
)
@click.option(
    "--name",
    default="specificity",
    help="With --experiment: its name, by which sessions were dealt.",
)
@click.option("--seed", default=0, help="Of the intervals.")
@json_option
@click.pass_obj
def specificity(
    settings: Settings,
    /,
    *,
    half: str,
    live: bool,
    store: bool,
    experiment: Path | None,
    seed: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Measure template answers on labelled questions, with 95 % intervals."""
    if experiment is not None:
        from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment

        dealt = SpecificityExperiment(
            traffic_split=given["traffic_split"], name=given["name"]
        )
        how = partial(_experiment, live=live, store=store, seed=seed)
        how(settings, experiment, dealt, as_json=as_json)
        return
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
    if store:
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
        "metrics": {key: interval_dict(value) for key, value in metrics.items()},
        "run": run,
        "outcomes": list(map(_plain, outcomes)),
    }
    failures = given["failures"]
    shown = partial(_tell, outcomes, metrics, path.name, run, failures=failures)
    emit(told, shown, as_json=as_json, indent=2)


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
    return {"id": asked.id, "question": asked.question, "ranks": ranks} | {
        camel_case(name): getattr(outcome, name) for name in told
    }


def _tell(
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, Interval],
    name: str,
    run: str | None,
    *,
    failures: bool,
) -> None:
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
        right = {
            "template": one.template_right,
            "slots": slots or one.question.template is None,
            "ending": one.ended_right,
            "answer": one.answer_right,
        }
        if wrong := ", ".join(what for what, is_right in right.items() if not is_right):
            click.echo(
                f"{one.question.id} {wrong}: {one.question.question!r} "
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
    from knowtrail.eval.specificity.measures import read_results, store_experiment

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
    run = None
    if store:
        with open_connection(settings) as connection:
            digest, name = file_digest(path), path.stem
            run = store_experiment(connection, table, dealt, name, digest, seed)
    difference = table.difference and interval_dict(table.difference)
    told = asdict(table) | {"difference": difference, "run": run}
    emit(told, lambda: _tell_table(table, run), as_json=as_json, indent=2)


_ALIKE = "all sessions of each group have the same quality"


def _tell_table(table: ExperimentTable, run: str | None) -> None:
    from knowtrail.eval.specificity.measures import FEWEST

    for name, value, n in table.groups():
        shown = "-" if value is None else f"{value:.3f}"
        click.echo(f"{name:<10} {shown}  {n} sessions")
    if table.difference is not None:
        found = table.difference
        few = min(table.control_sessions, table.treatment_sessions) < FEWEST
        why = f"each group needs {FEWEST} sessions" if few else _ALIKE
        click.echo(
            f"difference {found.value:+.3f}  [{found.low:+.3f}, {found.high:+.3f}]"
            if found.low == found.low
            else f"difference {found.value:+.3f}, without an interval: {why}"
        )
    if run is not None:
        click.echo(f"Stored as EvalRun {run}")


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

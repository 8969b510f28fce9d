"""`knowtrail eval skn`: extraction formats compared by what an agent makes of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.cli import options_of, options_told
from knowtrail.eval.models import ModelOptions
from knowtrail.eval.report import telling_what_is_kept, told
from knowtrail.eval.skn.options import (
    ABLATION_PIPELINES,
    DEFAULT_PIPELINES,
    BenchmarkOptions,
)
from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.errors import KnowtrailError
from knowtrail.graph.files import check_output, write_file
from knowtrail.graph.session import open_connection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowtrail.eval.skn.benchmark import ModelOutcome
    from knowtrail.graph.settings import Settings


@click.command()
@options_told("skn", BenchmarkOptions, ModelOptions)
@click.pass_obj
def skn(settings: Settings, /, **given: Any) -> None:
    """Compare extraction formats by what an agent makes of them.

    Search results are extracted in each format, the same agent answers from each
    extraction, and a judge says how good the answers are. Quality figures need a model
    of 7 billion parameters or more.

    \b
    knowtrail eval skn --recorded-only --model qwen2.5:7b --judge qwen2.5:14b
    knowtrail eval skn --recorded-only --ablation --report report.html
    """  # noqa: D301 - click reads the backspace
    from knowtrail.eval.skn.benchmark import run_models

    options = _options(given)
    if given["report"] is not None:
        check_output(given["report"], [".html"])
    with telling_what_is_kept(given["output"]), progress_bars() as progress:
        outcomes = run_models(
            given["models"] or [settings.language_model],
            judge=given["judge"],
            output=given["output"],
            options=options,
            settings=settings,
            progress=progress,
        )
    _tell(outcomes, given["tokens"])
    if given["report"] is not None:
        _write_report(given["report"], outcomes, given)
    runs: list[dict[str, str]] = [{} for _ in outcomes]
    if not given["no_store"]:
        runs = _store(settings, outcomes, given, options)
    _show(outcomes, runs, as_json=given["as_json"])
    failures = [outcome.failure for outcome in outcomes]
    if None not in failures:
        raise KnowtrailError(f"Nothing worked. {failures[0]}")
    for failure in filter(None, failures):
        click.echo(failure, err=True)


def _options(given: dict[str, Any]) -> BenchmarkOptions:
    if given["ablation"] and given["variants"]:
        raise click.UsageError("--ablation compares all formats: leave --variant out.")
    pipelines = ABLATION_PIPELINES if given["ablation"] else DEFAULT_PIPELINES
    given["pipelines"] = given["variants"] or tuple(pipelines)
    given = given | {"models": ModelOptions(**options_of(ModelOptions, given))}
    return BenchmarkOptions(**options_of(BenchmarkOptions, given))


def _tell(outcomes: Sequence[ModelOutcome], tokens: int) -> None:
    """Say what was asked and what that cost, and where answers had less room."""
    for one in outcomes:
        had = [
            row.get(f"{variant}_extraction_answer_tokens") or tokens
            for row in one.rows
            for variant in one.pipelines
        ]
        said = told("skn/asked.txt", one=one, had=min(had), tokens=tokens)
        click.echo(said, err=True)


def _dataset(given: dict[str, Any]) -> str:
    return "bundled" if given["dataset"] is None else str(given["dataset"].stem)


def _write_report(
    path: Path, outcomes: Sequence[ModelOutcome], given: dict[str, Any]
) -> None:
    from knowtrail.eval.skn.results import benchmark_page

    own = ": questions and search results written for Knowtrail"
    about = {
        "data set": _dataset(given) + (own if given["dataset"] is None else ""),
        "instructions": "published" if given["published"] else "Knowtrail's",
        "samples": str(len(outcomes[0].rows)),
        "models": ", ".join(outcome.model for outcome in outcomes),
        "judge": ", ".join(dict.fromkeys(outcome.judge for outcome in outcomes)),
        "formats": ", ".join(outcomes[0].pipelines),
        "temperature": f"{given['temperature']:g}",
        "answer tokens": f"{given['tokens']:,}",
    }
    title = "Extraction formats compared by what an agent makes of them"
    write_file(path, benchmark_page(outcomes, title=title, about=about))


def _store(
    settings: Settings,
    outcomes: Sequence[ModelOutcome],
    given: dict[str, Any],
    options: BenchmarkOptions,
) -> list[dict[str, str]]:
    from knowtrail.eval.skn.results import store_outcome

    about = _configuration(options, len(outcomes[0].rows))
    with open_connection(settings) as connection:
        return [
            store_outcome(connection, one, dataset=_dataset(given), configuration=about)
            for one in outcomes
        ]


def _configuration(options: BenchmarkOptions, samples: int) -> dict[str, Any]:
    """Return all that may change the numbers of a run."""
    return {
        "samples": samples,
        **asdict(options.models),
        "questionAware": options.question_aware,
        "judgeAbstention": options.judge_abstention,
        "published": options.published,
    }


_TOLD = (
    *("model", "judge", "digest", "judge_digest", "calls", "reused"),
    *("prompt_tokens", "completion_tokens", "folder", "metrics"),
)


def _show(
    outcomes: Sequence[ModelOutcome], runs: Sequence[dict[str, str]], *, as_json: bool
) -> None:
    from knowtrail.eval.skn.metrics import difference_row
    from knowtrail.eval.skn.results import summary_text

    shown = [
        {name: getattr(outcome, name) for name in _TOLD}
        | {
            "runs": stored,
            "comparisons": [difference_row(one) for one in outcome.differences],
        }
        for outcome, stored in zip(outcomes, runs, strict=True)
    ]
    emit(shown, "\n".join(map(summary_text, outcomes)), as_json=as_json)
    for stored in runs:
        for variant, run in stored.items():
            click.echo(f"Run {run} ({variant}) is stored.", err=True)

"""`knowtrail eval fields`: extracted records against gold, field by field."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph.errors import InputError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from eval.cli_fields_extras import Extras
    from eval.fields.files import RecordFile
    from eval.fields.running import FieldsRun, Finished
    from graph.connection import Connection
    from graph.settings import Settings

__all__ = ["fields"]

_FILE = click.Path(path_type=Path)
_THRESHOLDS = (
    "precision",
    "recall",
    "f1",
    "micro_precision",
    "micro_recall",
    "micro_f1",
)
_MISSED = 1
_ROUNDING = 1e-9
"""What a mean of floats may be off: 0.9 of every record is not less than 0.9."""


@click.command()
@click.option("--gold", type=_FILE, required=True, help="Gold records, JSON Lines.")
@click.option("--extracted", type=_FILE, help="Extracted records, in the same order.")
@click.option(
    "--schema", "schema_file", type=_FILE, help="Eval schema; inferred without it."
)
@click.option("--infer-schema", is_flag=True, help="Write a schema to edit, and stop.")
@click.option("--id-field", metavar="KEY", help="Key of each gold record's id.")
@click.option("--report", type=_FILE, help="Write a report, as one HTML file.")
@click.option(
    "--store",
    type=click.Choice(["failures", "all", "none"]),
    is_flag=False,
    flag_value="failures",
    default="none",
    show_default=True,
    help="Fields to keep in the graph; `--store` alone is failures.",
)
@click.option("--dataset", default="", help="Name of the data set in the graph.")
@click.option(
    "--judges-field",
    metavar="KEY",
    help="Key of extracted records with the id of their Extraction node.",
)
@click.option(
    "--fail-under",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Exit 1 where a metric is lower, such as f1=0.9.",
)
@click.option("--compare", type=_FILE, help="Another extraction of the same gold.")
@click.option(
    "--agreement",
    type=_FILE,
    multiple=True,
    help="Another annotator's records; agreement with gold, by field.",
)
@click.option(
    "--against-text",
    type=_FILE,
    multiple=True,
    help="Prompt or training text that gold values might stand in.",
)
@click.option(
    "--shift-from", type=_FILE, help="Older records; fields whose values shifted."
)
@click.option(
    "--judge", metavar="NAME", help="Language model of the comparator `semantic`."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.pass_obj
def fields(settings: Settings, /, **given: Any) -> None:
    """Score extracted records against gold, field by field.

    Files have one JSON object a line; null stands for an extracted record that is
    missing. Nothing is written to a database without --store.

    \b
    knowtrail eval fields --gold gold.jsonl --infer-schema > schema.json
    knowtrail eval fields --gold gold.jsonl --extracted out.jsonl --schema schema.json
    """  # noqa: D301 - click reads the backspace
    from eval.cli_fields_output import json_text
    from eval.fields.files import RecordFile, infer_eval_schema

    limits = _thresholds(given["fail_under"])
    gold = RecordFile.checked(given["gold"])
    if given["infer_schema"]:
        schema = infer_eval_schema(gold, id_field=given["id_field"])
        click.echo(json_text(schema, indent=2))
        return
    if not any(given[name] for name in _ASKS):
        msg = "Give --extracted, or what else is to be done with the gold records."
        raise click.UsageError(msg)
    if not given["extracted"] and (wrong := [n for n in _NEEDS if given[n]]):
        msg = f"--{wrong[0].replace('_', '-')} needs --extracted."
        raise click.UsageError(msg)
    missed = _evaluate(settings, gold, given, limits)
    if missed:
        for line in missed:
            click.echo(f"Error: {line}", err=True)
        sys.exit(_MISSED)


_ASKS = ("extracted", "agreement", "against_text", "shift_from")
_NEEDS = ("report", "compare", "fail_under", "judges_field")


def _thresholds(texts: tuple[str, ...]) -> dict[str, float]:
    """Read `metric=value` pairs."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if name not in _THRESHOLDS or not 0 <= number <= 1:
            msg = (
                f"--fail-under {text!r}: write METRIC=VALUE with a value from 0 to 1; "
                f"metrics are {', '.join(_THRESHOLDS)}."
            )
            raise InputError(msg)
        found[name] = number
    return found


def _evaluate(
    settings: Settings,
    gold: RecordFile,
    given: dict[str, Any],
    limits: dict[str, float],
) -> list[str]:
    """Do what was asked, and return which limits are missed."""
    from eval.cli_fields_extras import Extras
    from eval.fields.report import ReportGatherer

    run, other = _runs(settings, gold, given)
    extras = Extras.checked(gold, given, run.schema)
    gatherer = ReportGatherer() if given["report"] else None
    if given["report"]:
        _writable(given["report"])
    finished = compared = None
    if given["extracted"]:
        with _connected(settings, given["store"]) as connection, _bars() as progress:
            finished = _run(run, connection, gatherer, progress)
            if other is not None:
                compared = _run(other, connection, None, progress)
    found = extras.found(finished, compared)
    if gatherer is not None and finished is not None:
        _write_report(given["report"], run, finished, gatherer, found)
    _show(run, finished, compared, found, as_json=given["as_json"])
    if finished is None:
        return []
    return _missed(finished, limits)


def _missed(finished: Finished, limits: dict[str, float]) -> list[str]:
    """Return which limits are missed; fields without a score miss every limit.

    A run in which nothing could be scored fails without a limit too: its metrics are 1
    only because there is nothing to divide by.
    """
    missed = [
        f"{name} is {finished.intervals[name].value:.4f}, less than {limit:g}."
        for name, limit in limits.items()
        if finished.intervals[name].value < limit - _ROUNDING
    ]
    lost = finished.result.total_batch_errors
    if limits and lost:
        missed.append(f"{lost} fields have no score, which --fail-under cannot judge.")
    if lost and not finished.result.total_fields:
        missed.append(
            f"Nothing was scored: the comparator failed for all {lost} fields, so the "
            "metrics say nothing."
        )
    return missed


def _runs(
    settings: Settings, gold: RecordFile, given: dict[str, Any]
) -> tuple[FieldsRun, FieldsRun | None]:
    """Return the evaluations that are asked for, their files checked."""
    from dataclasses import replace

    from eval.fields.files import (
        RecordFile,
        check_gold,
        infer_eval_schema,
        load_eval_schema,
    )
    from eval.fields.running import FieldsRun

    judge = _register_judge(settings, given)
    schema = (
        infer_eval_schema(gold, id_field=given["id_field"])
        if given["schema_file"] is None
        else load_eval_schema(given["schema_file"])
    )
    check_gold(gold, schema, given["id_field"])
    extracted = gold
    if given["extracted"]:
        extracted = RecordFile.checked(given["extracted"], may_lack=True)
        extracted.paired_with(gold)
    run = FieldsRun(
        gold=gold,
        extracted=extracted,
        schema=schema,
        id_field=given["id_field"],
        dataset=given["dataset"],
        store=given["store"],
        judged_field=given["judges_field"],
        settings={"judge": judge} if judge else {},
        seed=given["seed"],
    )
    if not given["compare"]:
        return run, None
    other = RecordFile.checked(given["compare"], may_lack=True)
    other.paired_with(gold)
    return run, replace(run, extracted=other)


def _register_judge(settings: Settings, given: dict[str, Any]) -> str:
    """Make the comparator `semantic` where a schema names it; return its model.

    Raises:
        InputError: If a model is named that nothing would ask.
    """
    if not _names_semantic(given["schema_file"]):
        if given["judge"]:
            msg = (
                f"--judge {given['judge']!r} would judge nothing: no field of the "
                'schema has "x-eval-compare": "semantic".'
            )
            raise InputError(msg)
        return ""
    from eval.fields.comparators import register
    from eval.fields.judges import ModelJudge
    from eval.fields.semantic import SemanticBatchComparator
    from graph.language_models import load_language_model

    model = load_language_model(given["judge"], settings=settings)
    judge = ModelJudge(model, cache_file=settings.home / "judgements.sqlite")
    register("semantic", SemanticBatchComparator(judge), overwrite=True)
    return model.name


def _names_semantic(path: Path | None) -> bool:
    """Return whether a field of a schema file is judged by its meaning."""
    try:
        waiting = [] if path is None else [json.loads(path.read_text("utf-8-sig"))]
    except (OSError, ValueError, RecursionError):
        return False  # told where the schema is read
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            compare = value.get("x-eval-compare")
            if compare == "semantic" or (
                isinstance(compare, dict) and "semantic" in compare
            ):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


def _run(
    run: FieldsRun, connection: Connection | None, gatherer: Any, progress: Any
) -> Finished:
    """Evaluate; errors name the file."""
    from eval.fields.running import run_fields
    from graph.errors import SourceError

    try:
        return run_fields(
            run, connection=connection, gatherer=gatherer, progress=progress
        )
    except InputError as error:
        msg = f"{run.extracted.path}: {error}"
        raise SourceError(msg) from error


def _connected(
    settings: Settings, store: str
) -> AbstractContextManager[Connection | None]:
    """Return a connection where something is to be stored."""
    if store == "none":
        return nullcontext(None)
    from graph.cli_session import open_connection

    return open_connection(settings)


@contextmanager
def _bars() -> Iterator[Any]:
    """Yield progress bars on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from graph.progress import progress_bars

    with progress_bars() as progress:
        yield progress


def _writable(path: Path) -> None:
    """Check that a report can be written, before the work.

    Raises:
        StorageError: If it cannot.
    """
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        msg = f"The report cannot be written to {path}: {error.strerror}."
        raise StorageError(msg) from error


def _write_report(
    path: Path, run: FieldsRun, finished: Finished, gatherer: Any, found: Extras
) -> None:
    """Write the report."""
    from eval.fields.report import report_page

    facts = {
        "gold": run.gold.path.name,
        "extracted": run.extracted.path.name,
        **({"judge": str(run.settings["judge"])} if run.settings else {}),
        **({"run": finished.run_id} if finished.run_id else {}),
    }
    page = report_page(
        finished.result,
        finished.intervals,
        gatherer,
        title=f"Extraction of {run.dataset or run.gold.path.stem}, field by field",
        facts=facts,
        tables=found.tables(),
    )
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        msg = f"The report cannot be written to {path}: {error.strerror}."
        raise StorageError(msg) from error


def _show(
    run: FieldsRun,
    finished: Finished | None,
    compared: Finished | None,
    found: Extras,
    *,
    as_json: bool,
) -> None:
    """Write what was found."""
    from eval.cli_fields_output import as_dict, draw_run, draw_table, json_text

    if as_json:
        answer = {} if finished is None else as_dict(finished)
        if compared is not None:
            answer["compared"] = as_dict(compared)
        click.echo(json_text(answer | found.as_dict()))
        return
    if finished is not None:
        draw_run(run.extracted.path.name, finished)
    for table in found.tables():
        draw_table(table)
    for one in (finished, compared):
        if one is not None and one.run_id:
            kept = "was stored before" if one.already_stored else "is stored"
            click.echo(f"Run {one.run_id} {kept}.", err=True)

"""How `knowtrail eval fields` shows numbers: tables for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.report import draw_columns, draw_table, json_text
from knowtrail.graph.cli.answers import json_option
from knowtrail.graph.errors import InputError, KnowtrailError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.eval.fields.extras import Answer
    from knowtrail.eval.fields.files import RecordFile
    from knowtrail.eval.fields.postprocessing import Plugin
    from knowtrail.eval.fields.report import ReportGatherer
    from knowtrail.eval.fields.results import RecordResult
    from knowtrail.eval.fields.runs import FieldsRun, Finished
    from knowtrail.eval.fields.scoring import PostProcess
    from knowtrail.eval.report import Table
    from knowtrail.graph.settings import Settings

SHOWN_FIELDS = 25


class RecordRows:
    """Keeps every record as JSON has it: its numbers, and what is not right.

    Attributes:
        rows: One a record, in the order of gold.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.rows: list[dict[str, Any]] = []

    def add(self, record: RecordResult) -> None:
        """Take one record."""
        results = record.field_results
        self.rows.append({
            "id": record.record_id,
            "precision": record.precision,
            "recall": record.recall,
            "f1": record.f1,
            "statuses": dict(Counter(result.status for result in results)),
            "by_position": record.by_position,
            "fields": [
                {
                    "path": one.path,
                    "status": one.status,
                    "score": one.score,
                    "comparator": one.comparator,
                    "gold": one.gold_value,
                    "extracted": one.extracted_value,
                    "reason": one.reason,
                }
                for one in results
                if one.status not in {"match", "skipped"}
            ],
        })


def draw_run(finished: Finished) -> None:
    """Write an evaluation for people: metrics, counts, the worst fields."""
    from knowtrail.eval.fields.report import by_position_text

    result = finished.result
    click.echo(
        f"{finished.name}: {result.total_records} records, {result.total_fields} "
        f"fields, {result.total_omissions} omissions, {result.total_hallucinations} "
        "hallucinations"
    )
    if result.total_batch_errors:
        click.echo(
            f"{result.total_batch_errors} fields have no score: their comparator "
            "failed, as the warnings say.",
            err=True,
        )
    if result.by_position:
        click.echo(
            "Paired by position, as there were too many elements to find what fits "
            f"best: {by_position_text(result.by_position)}.",
            err=True,
        )
    draw_columns(
        ["metric", "value", "from", "to"],
        [
            [metric, f"{one.value:.3f}", _end(one.low), _end(one.high)]
            for metric, one in finished.intervals.items()
        ],
    )
    fields = sorted(
        result.per_schema_path.items(), key=lambda item: (item[1].mean_score, item[0])
    )
    draw_columns(
        ["field", "score", "matches", "mismatches", "omissions", "hallucinations"],
        [
            [
                path or "(the whole record)",
                f"{one.mean_score:.3f}",
                str(one.matches),
                str(one.mismatches),
                str(one.omissions),
                str(one.hallucinations),
            ]
            for path, one in fields[:SHOWN_FIELDS]
        ],
    )
    if len(fields) > SHOWN_FIELDS:
        click.echo(
            f"The worst {SHOWN_FIELDS} of {len(fields)} fields; --json and --report "
            "have more.",
            err=True,
        )


def _end(value: float) -> str:
    """Return an end of an interval; there is none for one record."""
    return f"{value:.3f}" if value == value else "-"


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
@click.option(
    "--gold", type=_FILE, required=True, help="Gold records, JSON Lines or one array."
)
@click.option(
    "--extracted", type=_FILE, help="Extracted records, in gold's order or with ids."
)
@click.option(
    "--schema", "schema_file", type=_FILE, help="Eval schema; inferred without it."
)
@click.option("--infer-schema", is_flag=True, help="Write a schema to edit, and stop.")
@click.option(
    "--id-field",
    metavar="KEY",
    help="Key of each record's id, by which records are paired.",
)
@click.option(
    "--nulls",
    type=click.Choice(["value", "absent"]),
    default="value",
    show_default=True,
    help="Whether null is a value like others, or as if the key were absent.",
)
@click.option(
    "--plugin",
    "plugins",
    type=_FILE,
    multiple=True,
    help="Python file, which is run: it registers comparators and transforms, and may "
    "have a function post_process.",
)
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
@click.option(
    "--compare",
    type=_FILE,
    multiple=True,
    help="Another extraction of the same gold; several times.",
)
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
@json_option
@click.pass_obj
def fields(settings: Settings, /, **given: Any) -> None:
    """Score extracted records against gold, field by field.

    Files have one JSON object a line, or are one JSON array of objects; null stands for
    an extracted record that is missing. Nothing is written to a database without
    --store.

    \b
    knowtrail eval fields --gold gold.jsonl --infer-schema > schema.json
    knowtrail eval fields --gold gold.jsonl --extracted out.jsonl --schema schema.json
    """  # noqa: D301 - click reads the backspace
    from knowtrail.eval.fields.files import RecordFile, infer_eval_schema
    from knowtrail.graph.files import check_output

    limits = _thresholds(given["fail_under"])
    if given["report"]:
        check_output(given["report"], (".html",))
    gold = RecordFile.checked(given["gold"], id_field=given["id_field"])
    if given["infer_schema"]:
        schema = infer_eval_schema(gold, id_field=given["id_field"])
        click.echo(json_text(schema, indent=2))
        return
    if not any(given[name] for name in _ASKS):
        msg = "Give --extracted, or what else is to be done with the gold records."
        raise click.UsageError(msg)
    if not given["extracted"] and (wrong := [n for n in _NEEDS if given[n]]):
        raise click.UsageError(f"--{wrong[0].replace('_', '-')} needs --extracted.")
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
            raise InputError(
                f"--fail-under {text!r}: write METRIC=VALUE with a value from 0 to 1; "
                f"metrics are {', '.join(_THRESHOLDS)}."
            )
        found[name] = number
    return found


def _evaluate(
    settings: Settings,
    gold: RecordFile,
    given: dict[str, Any],
    limits: dict[str, float],
) -> list[str]:
    """Do what was asked, and return which limits are missed."""
    from knowtrail.eval.fields.extras import compared, questions
    from knowtrail.eval.fields.report import ReportGatherer
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.session import open_connection

    stores = given["store"] != "none"
    run, others = _runs(settings, gold, given)
    asked = questions(gold, given, run.schema)
    gatherer = ReportGatherer() if given["report"] else None
    rows = RecordRows() if given["as_json"] else None
    keepers: list[Any] = [keeper for keeper in (gatherer, rows) if keeper]
    done: list[Finished] = []
    if given["extracted"]:
        with (
            open_connection(settings) if stores else nullcontext() as connection,
            progress_bars() as progress,
        ):
            for one in (run, *others):
                found = _run(
                    one,
                    connection=connection,
                    keepers=keepers if one is run else (),
                    by_field=bool(others),
                    progress=progress,
                )
                done.append(found)
    answers = [compared(done[0], done[1:], seed=run.seed)] if others else []
    answers += [question() for question in asked]
    tables = [table for answer in answers for table in answer.tables]
    if gatherer is not None:
        _write_report(given["report"], run, done, gatherer, tables)
    _show(done, rows, answers, tables)
    return _missed(done[0], limits) if done else []


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
) -> tuple[FieldsRun, list[FieldsRun]]:
    """Return the evaluation that is asked for, and its rivals, their files checked."""
    from dataclasses import replace

    from knowtrail.eval.fields.files import (
        RecordFile,
        check_gold,
        infer_eval_schema,
        load_eval_schema,
    )
    from knowtrail.eval.fields.postprocessing import load_plugin
    from knowtrail.eval.fields.runs import FieldsRun

    plugins = [load_plugin(path) for path in given["plugins"]]
    judge = _register_judge(settings, given)
    schema = (
        infer_eval_schema(gold, id_field=given["id_field"])
        if given["schema_file"] is None
        else load_eval_schema(given["schema_file"])
    )
    check_gold(gold, schema, given["id_field"])
    if "properties" in schema and given["id_field"]:
        # What pairs the records is no field of theirs unless the schema says so.
        skipped = {"type": "string", "x-eval-skip": True}
        schema["properties"].setdefault(given["id_field"], skipped)
    extracted, *others = [
        RecordFile.checked(path, may_lack=True, id_field=given["id_field"]).paired_with(
            gold, id_field=given["id_field"]
        )
        for path in (given["extracted"], *given["compare"])
        if path
    ] or [gold]
    nulls = given["nulls"]
    run = FieldsRun(
        gold=gold,
        extracted=extracted,
        schema=schema,
        id_field=given["id_field"],
        dataset=given["dataset"],
        store=given["store"],
        judged_field=given["judges_field"],
        settings={
            **({"judge": judge} if judge else {}),
            **({"nulls": nulls} if nulls != "value" else {}),
            **({"plugins": [one.digest for one in plugins]} if plugins else {}),
        },
        seed=given["seed"],
        post_process=_post_process(plugins, nulls),
    )
    return run, [replace(run, extracted=other) for other in others]


def _post_process(plugins: list[Plugin], nulls: str) -> PostProcess | None:
    """Return what changes the results of each record, in turn."""
    from functools import partial

    from knowtrail.eval.fields.postprocessing import (
        NullHandling,
        in_turn,
        reclassify_nulls,
    )

    steps = [plugin.post_process for plugin in plugins if plugin.post_process]
    if nulls == "absent":
        steps.insert(0, partial(reclassify_nulls, config=NullHandling()))
    return in_turn(steps)


def _register_judge(settings: Settings, given: dict[str, Any]) -> str:
    """Make the comparator `semantic` where a schema names it; return its model."""
    if not _names_semantic(given["schema_file"]):
        if given["judge"]:
            raise InputError(
                f"--judge {given['judge']!r} would judge nothing: no field of the "
                'schema has "x-eval-compare": "semantic".'
            )
        return ""
    from knowtrail.eval.fields.comparators import register
    from knowtrail.eval.fields.judges import ModelJudge, SemanticBatchComparator
    from knowtrail.graph.models.language_models import check_there, load_language_model

    if given["judge"]:
        check_there(given["judge"], settings)
    model = load_language_model(given["judge"], settings=settings)
    judge = ModelJudge(model, cache_file=settings.home / "judgements.sqlite")
    register("semantic", SemanticBatchComparator(judge), overwrite=True)
    return model.name


def _names_semantic(path: Path | None) -> bool:
    """Return whether a field of a schema file is judged by its meaning."""
    from knowtrail.eval.fields.files import objects_in

    try:
        schema = None if path is None else json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False  # told where the schema is read
    compared = (one.get("x-eval-compare") for one in objects_in(schema))
    return any(
        how == "semantic" or (isinstance(how, dict) and "semantic" in how)
        for how in compared
    )


def _run(run: FieldsRun, **how: Any) -> Finished:
    """Evaluate; errors name the file."""
    from knowtrail.eval.fields.runs import run_fields
    from knowtrail.graph.errors import SourceError

    try:
        return run_fields(run, **how)
    except InputError as error:
        raise SourceError(f"{run.extracted.path}: {error}") from error
    except Exception as error:
        if isinstance(error, KnowtrailError | OSError) or "plugins" not in run.settings:
            raise
        told = [f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]
        msg = f"{run.extracted.path}: a plugin raised {', '.join(told)}."
        raise InputError(msg) from error


def _write_report(
    path: Path,
    run: FieldsRun,
    done: Sequence[Finished],
    gatherer: ReportGatherer,
    tables: Sequence[Table],
) -> None:
    """Write the report."""
    from knowtrail.eval.fields.report import report_page
    from knowtrail.graph.files import write_file

    facts = {
        "gold": run.gold.path.name,
        "extracted": done[0].name,
        "compared with": ", ".join(one.name for one in done[1:]),
        "judge": run.settings.get("judge"),
        "nulls": run.settings.get("nulls"),
        "run": done[0].run_id,
    }
    page = report_page(
        done[0].result,
        done[0].intervals,
        gatherer,
        title=f"Extraction of {run.dataset or run.gold.path.stem}, field by field",
        facts={name: str(value) for name, value in facts.items() if value},
        tables=tables,
    )
    write_file(path, page)


def _show(
    done: Sequence[Finished],
    rows: RecordRows | None,
    answers: Sequence[Answer],
    tables: Sequence[Table],
) -> None:
    """Write what was found, as JSON where rows are kept for it."""
    from knowtrail.eval.fields.extras import as_dict

    if rows is not None:
        answer = as_dict(done[0]) | {"record_results": rows.rows} if done else {}
        click.echo(json_text(answer | {one.name: one.value for one in answers}))
        return
    for one in done[:1]:
        draw_run(one)
    for table in tables:
        draw_table(table)
    for one in done:
        if one.run_id:
            kept = " in place of an earlier one" if one.replaces else ""
            click.echo(f"Run {one.run_id} is stored{kept}.", err=True)

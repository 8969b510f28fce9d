"""How `knowtrail eval fields` shows numbers: tables for people, JSON for machines."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.cli import options_told
from knowtrail.eval.fields.comparators import register
from knowtrail.eval.fields.judges import ModelJudge, SemanticBatchComparator
from knowtrail.eval.fields.records import (
    RecordFile,
    check_gold,
    eval_schema,
    infer_eval_schema,
    objects_in,
    read_schema,
)
from knowtrail.eval.fields.report import ReportGatherer, by_position_text, report_page
from knowtrail.eval.fields.results import (
    NullHandling,
    in_turn,
    load_plugin,
    reclassify_nulls,
)
from knowtrail.eval.report import Table, draw_columns, draw_tables, table, told
from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.errors import InputError, KnowtrailError, SourceError
from knowtrail.graph.files import check_output, write_file
from knowtrail.graph.session import open_connection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from knowtrail.eval.fields.results import RecordResult
    from knowtrail.eval.fields.runs import FieldsRun, Finished
    from knowtrail.eval.fields.scoring import PostProcess
    from knowtrail.graph.settings import Settings

SHOWN_FIELDS = 25


def record_row(record: RecordResult) -> dict[str, Any]:
    """Return a record as JSON has it: its numbers, and what is not right."""
    from knowtrail.eval.fields.runs import stored_record

    return {
        "id": record.record_id,
        "precision": record.precision,
        "recall": record.recall,
        "f1": record.f1,
        "statuses": dict(Counter(result.status for result in record.field_results)),
        "by_position": record.by_position,
        "fields": [asdict(one) for one in stored_record(record).fields],
    }


def draw_run(finished: Finished) -> None:
    """Write an evaluation for people: metrics, counts, the worst fields."""
    result = finished.result
    click.echo(
        f"{finished.name}: {result.total_records} records, {result.total_fields} "
        f"fields, {result.total_omissions} omissions, {result.total_hallucinations} "
        "hallucinations"
    )
    placed = by_position_text(result.by_position)
    if doubts := told("fields/doubts.txt", result=result, by_position=placed):
        click.echo(doubts, err=True)
    fields = sorted(
        result.per_schema_path.items(), key=lambda item: (item[1].mean_score, item[0])
    )
    for name, rows in (
        ("metrics", finished.intervals.items()),
        ("fields", fields[:SHOWN_FIELDS]),
    ):
        drawn = table(name, rows)
        draw_columns(drawn.columns, drawn.rows)
    if len(fields) > SHOWN_FIELDS:
        click.echo(
            f"The worst {SHOWN_FIELDS} of {len(fields)} fields; --json and --report "
            "have more.",
            err=True,
        )


_ROUNDING = 1e-9
"""What a mean of floats may be off: 0.9 of every record is not less than 0.9."""


@click.command()
@options_told("fields")
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
    limits = _thresholds(given["fail_under"])
    if given["report"]:
        check_output(given["report"], (".html",))
    gold = RecordFile.checked(given["gold"], id_field=given["id_field"])
    if given["infer_schema"]:
        emit(infer_eval_schema(gold), "", as_json=True, indent=2)
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
        sys.exit(1)


_ASKS = ("extracted", "agreement", "against_text", "shift_from")
_NEEDS = ("report", "compare", "fail_under", "judges_field")


def _thresholds(texts: tuple[str, ...]) -> dict[str, float]:
    from knowtrail.eval.fields.runs import METRICS

    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if name not in METRICS or not 0 <= number <= 1:
            raise InputError(
                f"--fail-under {text!r}: write METRIC=VALUE with a value from 0 to 1; "
                f"metrics are {', '.join(METRICS)}."
            )
        found[name] = number
    return found


def _evaluate(
    settings: Settings,
    gold: RecordFile,
    given: dict[str, Any],
    limits: dict[str, float],
) -> list[str]:
    from knowtrail.eval.fields.runs import as_dict, compared, questions

    stores = given["store"] != "none"
    run, others = _runs(settings, gold, given)
    asked = questions(gold, given, run.schema)
    gatherer = ReportGatherer() if given["report"] else None
    rows: list[dict[str, Any]] = []
    keepers: list[Callable[[RecordResult], object]] = []
    if gatherer is not None:
        keepers.append(gatherer.add)
    if given["as_json"]:
        keepers.append(lambda record: rows.append(record_row(record)))
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
    tables = [one for _, _, told in answers for one in told]
    if gatherer is not None:
        _write_report(given["report"], run, done, gatherer, tables)
    answer = as_dict(done[0]) | {"record_results": rows} if done else {}
    answer |= {name: value for name, value, _ in answers}
    emit(answer, partial(_show, done, tables), as_json=given["as_json"])
    return _missed(done[0], limits) if done else []


def _missed(finished: Finished, limits: dict[str, float]) -> list[str]:
    """Return which limits are missed; what has no score misses every one."""
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
    from knowtrail.eval.fields.runs import FieldsRun

    plugins = [load_plugin(path) for path in given["plugin"]]
    path = given["schema"]
    written = {} if path is None else read_schema(path)
    judge = _register_judge(settings, given["judge"], written)
    schema = eval_schema(path, written) if path else infer_eval_schema(gold)
    check_gold(gold, schema)
    if "properties" in schema and given["id_field"]:
        # What pairs the records is no field of theirs unless the schema says so.
        skipped = {"type": "string", "x-eval-skip": True}
        schema["properties"].setdefault(given["id_field"], skipped)
    extracted, *others = [
        RecordFile.checked(path, may_lack=True, id_field=given["id_field"]).paired_with(
            gold
        )
        for path in (given["extracted"], *given["compare"])
        if path
    ] or [gold]
    nulls = given["nulls"]
    steps: list[PostProcess] = [step for _, step in plugins if step is not None]
    if nulls == "absent":
        steps.insert(0, partial(reclassify_nulls, config=NullHandling()))
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
            **({"plugins": [digest for digest, _ in plugins]} if plugins else {}),
        },
        seed=given["seed"],
        post_process=in_turn(steps),
    )
    return run, [replace(run, extracted=other) for other in others]


def _register_judge(
    settings: Settings, judge_name: str | None, schema: dict[str, Any]
) -> str:
    """Make the comparator `semantic` where a schema names it; return its model."""
    from knowtrail.graph.models.language_models import check_there, load_language_model

    compared = [one.get("x-eval-compare") for one in objects_in(schema)]
    if not any(
        how == "semantic" or (isinstance(how, dict) and "semantic" in how)
        for how in compared
    ):
        if judge_name:
            raise InputError(
                f"--judge {judge_name!r} would judge nothing: no field of the "
                'schema has "x-eval-compare": "semantic".'
            )
        return ""
    if judge_name:
        check_there(judge_name, settings)
    model = load_language_model(judge_name, settings=settings)
    judge = ModelJudge(model, cache_file=settings.home / "judgements.sqlite")
    register("semantic", SemanticBatchComparator(judge), overwrite=True)
    return model.name


def _run(run: FieldsRun, **how: Any) -> Finished:
    from knowtrail.eval.fields.runs import run_fields

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


def _show(done: Sequence[Finished], tables: Sequence[Table]) -> None:
    for one in done[:1]:
        draw_run(one)
    draw_tables(tables)
    for one in done:
        if one.run_id:
            kept = " in place of an earlier one" if one.replaces else ""
            click.echo(f"Run {one.run_id} is stored{kept}.", err=True)

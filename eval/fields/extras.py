"""What `knowtrail eval fields` answers beside the scores: four further questions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from knowtrail.eval.differences import corrected_differences
from knowtrail.eval.fields.agreement import annotator_agreement
from knowtrail.eval.fields.contamination import TextIndex, contamination
from knowtrail.eval.fields.files import RecordFile
from knowtrail.eval.fields.runs import compare_fields, compare_runs
from knowtrail.eval.fields.schema import parse_eval_schema
from knowtrail.eval.fields.shift import shifts
from knowtrail.eval.report import Table, interval_dict
from knowtrail.graph.files import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.differences import Difference
    from knowtrail.eval.fields.runs import Finished
    from knowtrail.eval.statistics import Comparison

WHOLE = "(the whole record)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer: its name and value as JSON has it, and its tables for people."""

    name: str
    value: list[dict[str, Any]]
    tables: list[Table]


def questions(
    gold: RecordFile, given: dict[str, Any], schema: dict[str, Any]
) -> list[Callable[[], Answer]]:
    """Return what a command asks, its files checked: each is called for its answer.

    Raises:
        SourceError: If a file cannot be read.
        InputError: If an annotator has another number of records.
    """
    id_field = given["id_field"]
    asked: list[Callable[[], Answer]] = []
    if given["agreement"]:
        annotators = [
            RecordFile.checked(path, may_lack=True, id_field=id_field).paired_with(
                gold, id_field=id_field
            )
            for path in given["agreement"]
        ]
        asked.append(partial(_agreement, [gold, *annotators], schema))
    if given["against_text"]:
        for path in given["against_text"]:
            next(read_lines(path), None)
        asked.append(partial(_contamination, gold, given["against_text"]))
    if given["shift_from"]:
        older = RecordFile.checked(given["shift_from"], may_lack=True)
        newer = given["extracted"]
        asked.append(
            partial(
                _shift,
                older,
                RecordFile.checked(newer, may_lack=True) if newer else gold,
            )
        )
    return asked


def _table(
    title: str,
    note: str,
    found: Sequence[Any],
    columns: dict[str, Callable[[Any], object]],
) -> Table:
    """Return results as a table; a field without a path is the whole record."""
    return Table(
        title=title,
        note=note,
        columns=("field", *columns),
        rows=[
            [one.field or WHOLE, *(str(cell(one)) for cell in columns.values())]
            for one in found
        ],
    )


def _agreement(files: Sequence[RecordFile], schema: dict[str, Any]) -> Answer:
    """Return how well annotators agree."""
    records = zip(*(file.records() for file in files), strict=True)
    found = annotator_agreement(parse_eval_schema(schema), records)
    table = _table(
        "Agreement of annotators",
        f"Gold and {len(files) - 1} more, over the alignment of the schema; - is not "
        "defined.",
        found,
        {
            "units": lambda one: one.units,
            "agreed": lambda one: _known(one.agreed),
            "Cohen": lambda one: _known(one.cohen),
            "Fleiss": lambda one: _known(one.fleiss),
            "alpha": lambda one: _known(one.alpha),
            "alpha of numbers": lambda one: _known(one.alpha_interval),
        },
    )
    return Answer(name="agreement", value=list(map(asdict, found)), tables=[table])


def _contamination(gold: RecordFile, texts: Sequence[Path]) -> Answer:
    """Return how much of gold stands in texts."""
    lines = chain.from_iterable(read_lines(path) for path in texts)
    found = contamination(gold.records(), TextIndex(text for _, text in lines))
    table = _table(
        "Gold values in the text",
        "Share of values that stand there whole, and of their runs of words; short "
        "values may stand there by chance.",
        found,
        {
            "values": lambda one: one.values,
            "verbatim": lambda one: f"{one.verbatim:.3f}",
            "overlap": lambda one: f"{one.overlap:.3f}",
            "words": lambda one: f"{one.mean_words:.1f}",
            "longest": lambda one: one.examples[0] if one.examples else "-",
        },
    )
    return Answer(name="contamination", value=list(map(asdict, found)), tables=[table])


def _shift(older: RecordFile, newer: RecordFile) -> Answer:
    """Return which fields have other values than before."""
    found = shifts(older.records(), newer.records())
    table = _table(
        "Shift of values",
        f"{newer.path.name} against older records; p corrected by Benjamini-Hochberg.",
        found,
        {
            "of": lambda one: one.aspect,
            "test": lambda one: one.test,
            "before": lambda one: one.before,
            "after": lambda one: one.after,
            "p": lambda one: f"{one.adjusted:.3g}",
            "shifted": lambda one: "yes" if one.shifted else "no",
        },
    )
    value = [asdict(one) | {"statistic": _finite(one.statistic)} for one in found]
    return Answer(name="shift", value=value, tables=[table])


def compared(first: Finished, others: Sequence[Finished], *, seed: int) -> Answer:
    """Compare other extractions of the same gold with the first, in all and by field.

    All p-values of one metric, and all of fields, are corrected together.
    """
    runs = [compare_runs(first.numbers, one.numbers, seed=seed) for one in others]
    fields = [compare_fields(first.numbers, one.numbers, seed=seed) for one in others]
    value, tables = [], []
    for one, by_metric, by_field in zip(
        others, _corrected(runs), _corrected(fields, metric="score"), strict=True
    ):
        value.append(
            as_dict(one)
            | {
                "comparison": _comparison_dict(by_metric),
                "comparison_by_field": _comparison_dict(by_field),
            }
        )
        plain = {name.replace("_", " "): found for name, found in by_metric.items()}
        tables += [
            _differences(one.name, "metric", plain),
            _differences(one.name, "field", dict(sorted(by_field.items(), key=_apart))),
        ]
    return Answer(name="compared", value=value, tables=tables)


def _corrected(
    found: Sequence[Mapping[str, Comparison]], *, metric: str = ""
) -> list[dict[str, Difference]]:
    """Return comparisons of several rivals by name; `metric` is that of all names."""
    tests = [
        (name, "", metric or name, one) for each in found for name, one in each.items()
    ]
    corrected = iter(corrected_differences(tests))
    return [{name: next(corrected) for name in each} for each in found]


def _differences(name: str, kind: str, found: Mapping[str, Difference]) -> Table:
    """Return how another extraction differs from the first."""
    by, family = "", "all extractions, metric by metric"
    if kind == "field":
        by, family = ", by field", "all fields of all extractions"
    return Table(
        title=f"Compared with {name}{by}",
        note=f"{name} minus the first over the same records, with the 95% interval of "
        f"the difference; p by swapping the two, corrected by Holm for {family}.",
        columns=(kind, "first", "other", "difference", "from", "to", "p"),
        rows=[
            (
                label or WHOLE,
                f"{one.found.first:.3f}",
                f"{one.found.second:.3f}",
                f"{one.found.difference.value:+.3f}",
                _known(one.found.difference.low, "+"),
                _known(one.found.difference.high, "+"),
                f"{one.p_value:.3g}",
            )
            for label, one in found.items()
        ],
    )


def _apart(item: tuple[str, Difference]) -> tuple[float, str]:
    """Return what puts the fields that differ most first."""
    return -abs(item[1].found.difference.value), item[0]


def _known(value: float | None, sign: str = "") -> str:
    """Return a number, - where it is not defined."""
    return "-" if value is None or value != value else f"{value:{sign}.3f}"


def _finite(value: float) -> float | None:
    """Return a number as JSON can say it; an infinite odds ratio is null."""
    return value if value - value == 0 else None


def _comparison_dict(found: Mapping[str, Difference]) -> dict[str, dict[str, Any]]:
    """Return comparisons, with their corrected p-values, for JSON."""
    return {
        name: {
            "first": one.found.first,
            "second": one.found.second,
            "difference": interval_dict(one.found.difference),
            "p_value": one.found.p_value,
            "adjusted": one.p_value,
        }
        for name, one in found.items()
    }


def as_dict(finished: Finished) -> dict[str, Any]:
    """Return an evaluation for JSON."""
    result = finished.result
    return {
        "file": finished.name,
        "run": finished.run_id,
        "records": result.total_records,
        "fields": result.total_fields,
        "omissions": result.total_omissions,
        "hallucinations": result.total_hallucinations,
        "batch_errors": result.total_batch_errors,
        "by_position": result.by_position,
        "metrics": {
            name: interval_dict(interval)
            for name, interval in finished.intervals.items()
        },
        "per_field": {
            path: asdict(field) for path, field in result.per_schema_path.items()
        },
    }

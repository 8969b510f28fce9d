"""What `knowtrail eval fields` answers beside the scores: four further questions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from knowtrail.eval.report import Table, interval_dict
from knowtrail.graph.files import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.differences import Difference
    from knowtrail.eval.fields.agreement import FieldAgreement
    from knowtrail.eval.fields.contamination import FieldContamination
    from knowtrail.eval.fields.files import RecordFile
    from knowtrail.eval.fields.runs import FieldNumbers, Finished
    from knowtrail.eval.fields.shift import FieldShift
    from knowtrail.eval.statistics import Comparison


@dataclass(slots=True)
class Rival:
    """Another extraction of the same gold, evaluated.

    Attributes:
        name: Its file.
        finished: Its evaluation.
        numbers: Its fields, record by record.
        comparison: Metric to the difference from the first extraction.
        fields: The same of the scores of fields.
    """

    name: str
    finished: Finished
    numbers: FieldNumbers
    comparison: dict[str, Difference] = field(default_factory=dict)
    fields: dict[str, Difference] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Extras:
    """The questions, and what was found.

    Attributes:
        gold: The gold records.
        schema: The eval schema.
        annotators: Records of further annotators.
        texts: Prompts or training texts.
        older: Records to compare the distribution of values with.
        seed: Seed of the comparison.
        newer: The records that may have shifted: the extracted ones, or gold.
        rivals: Other extractions, compared with the first.
        agreement: Agreement by field.
        contamination: Contamination by field.
        shift: Tests by field.
    """

    gold: RecordFile
    schema: dict[str, Any]
    annotators: Sequence[RecordFile] = ()
    texts: Sequence[Path] = ()
    older: RecordFile | None = None
    newer: RecordFile | None = None
    seed: int = 0
    rivals: Sequence[Rival] = ()
    agreement: Sequence[FieldAgreement] = ()
    contamination: Sequence[FieldContamination] = ()
    shift: Sequence[FieldShift] = ()

    @classmethod
    def checked(
        cls, gold: RecordFile, given: dict[str, Any], schema: dict[str, Any]
    ) -> Extras:
        """Return the questions that a command asks, their files checked.

        Raises:
            SourceError: If a file cannot be read.
            InputError: If an annotator has another number of records.
        """
        from knowtrail.eval.fields.files import RecordFile

        id_field = given["id_field"]
        annotators = [
            RecordFile.checked(path, may_lack=True, id_field=id_field).paired_with(
                gold, id_field=id_field
            )
            for path in given["agreement"]
        ]
        older = newer = None
        if given["shift_from"]:
            older = RecordFile.checked(given["shift_from"], may_lack=True)
            newer = gold
            if given["extracted"]:
                newer = RecordFile.checked(given["extracted"], may_lack=True)
        for path in given["against_text"]:
            next(read_lines(path), None)
        return cls(
            gold=gold,
            schema=schema,
            annotators=annotators,
            texts=given["against_text"],
            older=older,
            newer=newer,
            seed=given["seed"],
        )

    def compare(
        self, first: Finished, numbers: Sequence[FieldNumbers], rivals: Sequence[Rival]
    ) -> None:
        """Compare other extractions with the first."""
        from knowtrail.eval.fields.runs import compare_fields, compare_runs

        self.rivals = rivals
        runs = [
            compare_runs(first.numbers, rival.finished.numbers, seed=self.seed)
            for rival in rivals
        ]
        fields = [
            compare_fields(numbers[0], rival.numbers, seed=self.seed)
            for rival in rivals
        ]
        for rival, by_metric, by_field in zip(
            rivals, _corrected(runs), _corrected(fields, metric="score"), strict=True
        ):
            rival.comparison, rival.fields = by_metric, by_field

    @property
    def rival_names(self) -> str:
        """The files of the rivals."""
        return ", ".join(rival.name for rival in self.rivals)

    def found(self) -> Extras:
        """Answer the other questions, and return this object."""
        if self.annotators:
            from knowtrail.eval.fields.agreement import annotator_agreement
            from knowtrail.eval.fields.schema import parse_eval_schema

            files = (self.gold, *self.annotators)
            self.agreement = annotator_agreement(
                parse_eval_schema(self.schema),
                zip(*(file.records() for file in files), strict=True),
            )
        if self.texts:
            from knowtrail.eval.fields.contamination import TextIndex, contamination

            texts = chain.from_iterable(read_lines(path) for path in self.texts)
            index = TextIndex(text for _, text in texts)
            self.contamination = contamination(self.gold.records(), index)
        if self.older is not None and self.newer is not None:
            from knowtrail.eval.fields.shift import shifts

            self.shift = shifts(self.older.records(), self.newer.records())
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return what was found, for JSON."""
        answers: dict[str, Any] = {}
        if self.rivals:
            answers["compared"] = [
                as_dict(rival.name, rival.finished)
                | {
                    "comparison": comparison_dict(rival.comparison),
                    "comparison_by_field": comparison_dict(rival.fields),
                }
                for rival in self.rivals
            ]
        if self.annotators:
            answers["agreement"] = [asdict(one) for one in self.agreement]
        if self.texts:
            answers["contamination"] = [asdict(one) for one in self.contamination]
        if self.older is not None:
            answers["shift"] = [
                asdict(one) | {"statistic": _finite(one.statistic)}
                for one in self.shift
            ]
        return answers

    def tables(self) -> list[Table]:
        """Return what was found, for people."""
        made = (
            (self.annotators, self._agreement_table),
            (self.texts, self._contamination_table),
            (self.older, self._shift_table),
        )
        tables = [table for rival in self.rivals for table in _rival_tables(rival)]
        return [*tables, *(table() for asked, table in made if asked)]

    def _agreement_table(self) -> Table:
        return Table(
            title="Agreement of annotators",
            note=f"Gold and {len(self.annotators)} more, over the alignment of the "
            "schema; - is not defined.",
            columns=(
                "field",
                "units",
                "agreed",
                "Cohen",
                "Fleiss",
                "alpha",
                "alpha of numbers",
            ),
            rows=[
                (
                    one.field or "(the whole record)",
                    str(one.units),
                    f"{one.agreed:.3f}",
                    _known(one.cohen),
                    _known(one.fleiss),
                    _known(one.alpha),
                    _known(one.alpha_interval),
                )
                for one in self.agreement
            ],
        )

    def _contamination_table(self) -> Table:
        return Table(
            title="Gold values in the text",
            note="Share of values that stand there whole, and of their runs of words; "
            "short values may stand there by chance.",
            columns=("field", "values", "verbatim", "overlap", "words", "longest"),
            rows=[
                (
                    one.field or "(the whole record)",
                    str(one.values),
                    f"{one.verbatim:.3f}",
                    f"{one.overlap:.3f}",
                    f"{one.mean_words:.1f}",
                    one.examples[0] if one.examples else "-",
                )
                for one in self.contamination
            ],
        )

    def _shift_table(self) -> Table:
        name = "" if self.newer is None else self.newer.path.name
        return Table(
            title="Shift of values",
            note=f"{name} against older records; p corrected by Benjamini-Hochberg.",
            columns=("field", "of", "test", "before", "after", "p", "shifted"),
            rows=[
                (
                    one.field or "(the whole record)",
                    one.aspect,
                    one.test,
                    str(one.before),
                    str(one.after),
                    f"{one.adjusted:.3g}",
                    "yes" if one.shifted else "no",
                )
                for one in self.shift
            ],
        )


def _corrected(
    found: Sequence[Mapping[str, Comparison]], *, metric: str = ""
) -> list[dict[str, Difference]]:
    """Return comparisons of several rivals by name; `metric` is that of all names."""
    from knowtrail.eval.differences import corrected_differences

    tests = [
        (name, "", metric or name, one) for each in found for name, one in each.items()
    ]
    corrected = iter(corrected_differences(tests))
    return [{name: next(corrected) for name in each} for each in found]


def _rival_tables(rival: Rival) -> list[Table]:
    """Return how another extraction differs from the first, in all and by field."""
    note = (
        f"{rival.name} minus the first over the same records, with the 95% interval of "
        "the difference; p by swapping the two, corrected by Holm for"
    )
    return [
        Table(
            title=title,
            note=f"{note} {family}.",
            columns=(kind, "first", "other", "difference", "from", "to", "p"),
            rows=[
                (
                    label or "(the whole record)",
                    f"{one.found.first:.3f}",
                    f"{one.found.second:.3f}",
                    f"{one.found.difference.value:+.3f}",
                    _signed(one.found.difference.low),
                    _signed(one.found.difference.high),
                    f"{one.p_value:.3g}",
                )
                for label, one in rows
            ],
        )
        for title, kind, family, rows in (
            (
                f"Compared with {rival.name}",
                "metric",
                "all extractions, metric by metric",
                [(n.replace("_", " "), found) for n, found in rival.comparison.items()],
            ),
            (
                f"Compared with {rival.name}, by field",
                "field",
                "all fields of all extractions",
                sorted(rival.fields.items(), key=_apart),
            ),
        )
    ]


def _apart(item: tuple[str, Difference]) -> tuple[float, str]:
    """Return what puts the fields that differ most first."""
    return -abs(item[1].found.difference.value), item[0]


def _signed(value: float) -> str:
    """Return an end of a difference; there is none for one record."""
    return f"{value:+.3f}" if value == value else "-"


def _known(value: float | None) -> str:
    """Return a coefficient, - where it is not defined."""
    return "-" if value is None else f"{value:.3f}"


def _finite(value: float) -> float | None:
    """Return a number as JSON can say it; an infinite odds ratio is null."""
    return value if value - value == 0 else None


def comparison_dict(found: Mapping[str, Difference]) -> dict[str, dict[str, Any]]:
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


def as_dict(name: str, finished: Finished) -> dict[str, Any]:
    """Return an evaluation for JSON."""
    result = finished.result
    return {
        "file": name,
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

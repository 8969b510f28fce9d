"""What `knowtrail eval fields` answers beside the scores: four further questions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from graph.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from eval.fields.agreement import FieldAgreement
    from eval.fields.contamination import FieldContamination
    from eval.fields.files import RecordFile
    from eval.fields.report import Table
    from eval.fields.running import Finished
    from eval.fields.shift import FieldShift
    from eval.statistics import Comparison

__all__ = ["Extras"]


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
        comparison: Metric to the comparison of two systems and its corrected p-value.
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
    comparison: dict[str, tuple[Comparison, float]] = field(default_factory=dict)
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
        from eval.fields.files import RecordFile

        annotators = [RecordFile.checked(p, may_lack=True) for p in given["agreement"]]
        for annotator in annotators:
            annotator.paired_with(gold)
        older = newer = None
        if given["shift_from"]:
            older = RecordFile.checked(given["shift_from"], may_lack=True)
            newer = gold
            if given["extracted"]:
                newer = RecordFile.checked(given["extracted"], may_lack=True)
        for path in given["against_text"]:
            next(_lines(path), None)
        return cls(
            gold=gold,
            schema=schema,
            annotators=annotators,
            texts=given["against_text"],
            older=older,
            newer=newer,
            seed=given["seed"],
        )

    def found(self, finished: Finished | None, compared: Finished | None) -> Extras:
        """Answer the questions, and return this object."""
        if finished is not None and compared is not None:
            from eval.fields.summary import compare_runs

            self.comparison = compare_runs(
                finished.numbers, compared.numbers, seed=self.seed
            )
        if self.annotators:
            from eval.fields.agreement import annotator_agreement
            from eval.fields.parsing import parse_eval_schema

            files = (self.gold, *self.annotators)
            self.agreement = annotator_agreement(
                parse_eval_schema(self.schema),
                zip(*(file.records() for file in files), strict=True),
            )
        if self.texts:
            from eval.fields.contamination import TextIndex, contamination

            index = TextIndex(line for path in self.texts for line in _lines(path))
            self.contamination = contamination(self.gold.records(), index)
        if self.older is not None and self.newer is not None:
            from eval.fields.shift import shifts

            self.shift = shifts(self.older.records(), self.newer.records())
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return what was found, for JSON."""
        from eval.cli_fields_output import interval_dict

        answers: dict[str, Any] = {}
        if self.comparison:
            answers["comparison"] = {
                name: {
                    "first": one.first,
                    "second": one.second,
                    "difference": interval_dict(one.difference),
                    "p_value": one.p_value,
                    "adjusted": adjusted,
                }
                for name, (one, adjusted) in self.comparison.items()
            }
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
            (self.comparison, self._comparison_table),
            (self.annotators, self._agreement_table),
            (self.texts, self._contamination_table),
            (self.older, self._shift_table),
        )
        return [table() for asked, table in made if asked]

    def _comparison_table(self) -> Table:
        from eval.fields.report import Table

        return Table(
            title="The other extraction",
            note="Second minus first over the same records, with the 95% interval of "
            "the difference; p by swapping the two, corrected by Holm.",
            columns=("metric", "first", "second", "difference", "from", "to", "p"),
            rows=[
                (
                    name.replace("_", " "),
                    f"{one.first:.3f}",
                    f"{one.second:.3f}",
                    f"{one.difference.value:+.3f}",
                    _signed(one.difference.low),
                    _signed(one.difference.high),
                    f"{adjusted:.3g}",
                )
                for name, (one, adjusted) in self.comparison.items()
            ],
        )

    def _agreement_table(self) -> Table:
        from eval.fields.report import Table

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
        from eval.fields.report import Table

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
        from eval.fields.report import Table

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


def _signed(value: float) -> str:
    """Return an end of a difference; there is none for one record."""
    return f"{value:+.3f}" if value == value else "-"


def _known(value: float | None) -> str:
    """Return a coefficient, - where it is not defined."""
    return "-" if value is None else f"{value:.3f}"


def _finite(value: float) -> float | None:
    """Return a number as JSON can say it; an infinite odds ratio is null."""
    return value if value - value == 0 else None


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file.

    Raises:
        SourceError: If it cannot be read as UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from file
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}."
        raise SourceError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} cannot be read as UTF-8 text: {error}."
        raise SourceError(msg) from error

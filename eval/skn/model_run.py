"""One model's benchmark: from search results to metrics and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval.skn.comparing import compare_pipelines
from eval.skn.judging import judge_row
from eval.skn.scoring import calculate_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from eval.skn.comparing import Difference
    from eval.skn.models import Respondent
    from eval.skn.options import BenchmarkOptions
    from eval.skn.phases import Phases
    from eval.skn.result_files import ResultFiles
    from eval.skn.samples import Sample
    from eval.skn.searching import Found
    from graph.progress import Progress

__all__ = ["ModelOutcome", "ModelRun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutcome:
    """What a benchmark of one model gave.

    Attributes:
        model: Name of the model.
        judge: Name of the model that judged.
        pipelines: The formats.
        rows: The detailed results, a row for each sample.
        metrics: As in `metrics.json`.
        differences: Formats compared with each other.
        folder: Where its files are.
        reused: How many results were known already.
        added: How many are new.
    """

    model: str
    judge: str
    pipelines: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    metrics: dict[str, Any]
    differences: tuple[Difference, ...]
    folder: Path
    reused: int
    added: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRun:
    """The phases after the search, for one model.

    Attributes:
        who: Extractor and agent.
        judge: Who judges.
        options: How the benchmark is run.
        phases: Asks, or takes what is finished.
        samples: The samples.
        found: Their search results.
        files: Where results are written.
        progress: Is told of every call.
        stage: What stands before the name of a phase.
    """

    who: Respondent
    judge: Respondent
    options: BenchmarkOptions
    phases: Phases
    samples: Sequence[Sample]
    found: Sequence[Found]
    files: ResultFiles
    progress: Progress
    stage: str

    def outcome(self) -> ModelOutcome:
        """Run the phases; each one's file is written when it is done."""
        state, pipelines = self.phases.state, self.options.pipelines
        before = (state.reused, state.added)
        rows = [_row(s, f) for s, f in zip(self.samples, self.found, strict=True)]
        self.files.search_results(self.samples, self.found)
        self._each("Extracting", rows, self._extract)
        self.files.extractions(rows, pipelines)
        self._each("Reasoning", rows, self._reason)
        self.files.agent_responses(rows, pipelines)
        self._each("Judging", rows, self._judge)
        for row in rows:
            for variant in pipelines:
                del row[f"{variant}_context"]
        metrics = calculate_metrics(rows, list(pipelines))
        differences = compare_pipelines(rows, pipelines)
        outcome = ModelOutcome(
            model=self.who.name,
            judge=self.judge.name,
            pipelines=pipelines,
            rows=tuple(rows),
            metrics=metrics,
            differences=differences,
            folder=self.files.folder,
            reused=state.reused - before[0],
            added=state.added - before[1],
        )
        self.files.evaluation(outcome)
        return outcome

    def _each(
        self,
        stage: str,
        rows: Sequence[dict[str, Any]],
        do: Callable[[Sample, dict[str, Any], str], None],
    ) -> None:
        """Do something for each sample and format."""
        total = len(rows) * len(self.options.pipelines)
        done = 0
        for sample, row in zip(self.samples, rows, strict=True):
            for variant in self.options.pipelines:
                do(sample, row, variant)
                done += 1
                self.progress(f"{self.stage}{stage}", done, total)

    def _extract(self, sample: Sample, row: dict[str, Any], variant: str) -> None:
        """Add an extraction to a row."""
        made = self.phases.extraction(self.who, sample, variant, row["raw_text"])
        row[f"{variant}_context"] = made["context"]
        row[f"{variant}_tokens_est"] = made["tokens_est"]
        row[f"{variant}_extraction_time_s"] = made.get("seconds", 0.0)
        for name in _KEPT:
            row[f"{variant}_extraction_{name}"] = made.get(name)
        _add_tokens(row, f"{variant}_extraction", made)

    def _reason(self, sample: Sample, row: dict[str, Any], variant: str) -> None:
        """Add an answer to a row."""
        made = self.phases.reasoning(self.who, sample, row[f"{variant}_context"])
        for name in ("answer", "confidence", "reasoning"):
            row[f"{variant}_{name}"] = made["value"][name]
        row[f"{variant}_reasoning_time_s"] = made["seconds"]
        row[f"{variant}_reasoning_error"] = made["error"]
        _add_tokens(row, f"{variant}_reasoning", made)

    def _judge(self, sample: Sample, row: dict[str, Any], variant: str) -> None:
        """Add verdicts to a row."""
        judge_row(
            row,
            variant,
            lambda name, answer, beside: self.phases.verdict(
                name, self.judge, answer, beside, sample=sample
            ),
            abstention=self.options.judge_abstention,
        )


_KEPT = (
    "status",
    "error",
    "repairs",
    "prompt_hash",
    "attempts",
    "raw",
    "source_characters",
    "read_characters",
)
"""What a row keeps of an extraction."""


def _row(sample: Sample, found: Found) -> dict[str, Any]:
    """Return the beginning of a row."""
    return {
        "id": sample.id,
        "category": sample.category,
        "question": sample.question,
        "raw_text": found.raw_text,
        "ground_truth": sample.ground_truth,
        "answerable": sample.answerable,
        "search_time_s": found.seconds,
        "search_error": found.error,
    }


def _add_tokens(row: dict[str, Any], name: str, made: dict[str, Any]) -> None:
    """Add what the server counted."""
    for kind in ("prompt_tokens", "completion_tokens"):
        row[f"{name}_{kind}"] = made.get(kind)

"""What a benchmark of extraction formats compares, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003  (the command line reads the types)

from knowtrail.eval.models import ModelOptions
from knowtrail.eval.skn.samples import RESULTS
from knowtrail.graph.errors import InputError, check_ranges
from knowtrail.ingest.cli.extract import VARIANT_NAMES

DEFAULT_PIPELINES = ["json", "skn"]
ABLATION_PIPELINES = list(VARIANT_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOptions:
    """How a benchmark is run.

    Attributes:
        dataset: File of samples; None takes the bundled one.
        pipelines: Formats, the baseline first.
        search_results: File of recorded search results; None searches the web.
        recorded_only: Whether the web is left alone; without a file, the results
            written for the bundled samples are taken.
        published: Whether agent and judges are told what those of the published
            benchmark are: nothing about answers that are missing.
        concurrency: Calls of models side by side, 1 to 32.
    """

    dataset: Path | None = None
    limit: int | None = None
    pipelines: tuple[str, ...] = tuple(DEFAULT_PIPELINES)
    search_results: Path | None = None
    recorded_only: bool = False
    results: int = RESULTS
    question_aware: bool = False
    judge_abstention: bool = False
    published: bool = False
    retry_failed: bool = False
    concurrency: int = 1
    models: ModelOptions = field(default_factory=ModelOptions)

    def __post_init__(self) -> None:
        unknown = [v for v in self.pipelines if v not in ABLATION_PIPELINES]
        if unknown or not self.pipelines:
            named = unknown[0] if unknown else ""
            msg = f"No format {named!r}: use {', '.join(ABLATION_PIPELINES)}."
            raise InputError(msg)
        if len(set(self.pipelines)) < len(self.pipelines):
            raise InputError(f"A format is named twice: {', '.join(self.pipelines)}.")
        if self.published and (self.question_aware or self.judge_abstention):
            raise InputError(
                "The published benchmark tells the extractor no question and has no "
                "judge of refusals: leave out published, or these two."
            )
        check_ranges(
            results=(self.results, 1, 50),
            concurrency=(self.concurrency, 1, 32),
            limit=(1 if self.limit is None else self.limit, 1, 1_000_000),
        )

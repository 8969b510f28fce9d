"""How a benchmark is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eval.skn.extractors import ABLATION_PIPELINES, DEFAULT_PIPELINES
from eval.skn.models import ModelOptions
from eval.skn.searching import RESULTS
from graph.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BenchmarkOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOptions:
    """How a benchmark is run; the defaults are those of the published one.

    Attributes:
        dataset: File of samples; None takes the bundled one.
        limit: How many samples, from the first; None takes all.
        pipelines: Formats, the baseline first.
        search_results: File of recorded search results; None searches the web.
        recorded_only: Whether the web is left alone; without a file, the recorded
            results of the bundled samples are taken.
        results: How many results of a search.
        question_aware: Whether the extractor is told the question.
        judge_abstention: Whether a judge says what refuses to answer.
        retry_failed: Whether what failed in an earlier run is asked for again.
        models: How models are asked.
    """

    dataset: Path | None = None
    limit: int | None = None
    pipelines: tuple[str, ...] = tuple(DEFAULT_PIPELINES)
    search_results: Path | None = None
    recorded_only: bool = False
    results: int = RESULTS
    question_aware: bool = False
    judge_abstention: bool = False
    retry_failed: bool = False
    models: ModelOptions = field(default_factory=ModelOptions)

    def __post_init__(self) -> None:
        """Check what can be checked.

        Raises:
            InputError: If a format is unknown or named twice, or a number is no good.
        """
        unknown = [v for v in self.pipelines if v not in ABLATION_PIPELINES]
        if unknown or not self.pipelines:
            named = unknown[0] if unknown else ""
            msg = f"No format {named!r}: use {', '.join(ABLATION_PIPELINES)}."
            raise InputError(msg)
        if len(set(self.pipelines)) < len(self.pipelines):
            msg = f"A format is named twice: {', '.join(self.pipelines)}."
            raise InputError(msg)
        if not 1 <= self.results <= 50:
            msg = f"{self.results} search results: choose 1 to 50."
            raise InputError(msg)
        if self.limit is not None and self.limit < 1:
            msg = f"A limit of {self.limit} samples: choose 1 or more."
            raise InputError(msg)

"""The benchmark: the same search results in several formats, the same agent for all."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.skn.checking import check_models
from eval.skn.comparing import compare_pipelines
from eval.skn.extractors import ABLATION_PIPELINES, DEFAULT_PIPELINES
from eval.skn.judging import judge_row
from eval.skn.models import DEFAULT_MODEL, ModelOptions, Respondent, as_model
from eval.skn.phases import Phases
from eval.skn.result_files import ResultFiles
from eval.skn.samples import bundled_samples, bundled_search_results, load_samples
from eval.skn.scoring import calculate_metrics
from eval.skn.searching import RESULTS, load_search_results
from eval.skn.state import State
from graph.errors import InputError
from graph.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from eval.skn.comparing import Difference
    from eval.skn.samples import Sample
    from eval.skn.searching import Found
    from graph.language_models import LanguageModel
    from graph.progress import Progress
    from graph.settings import Settings

__all__ = ["BenchmarkOptions", "ModelOutcome", "run_benchmark", "run_models"]

_LOG = logging.getLogger(__name__)


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


def run_benchmark(
    dataset_path: str | Path | None = None,
    output_dir: str | Path = "results",
    model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL,
    ablation: bool = False,
    *,
    judge: str | BaseChatModel | LanguageModel | None = None,
    options: BenchmarkOptions | None = None,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Compare extraction formats by what an agent makes of them.

    What is finished is kept in the output folder: after an interruption, the same call
    goes on where it stopped.

    Args:
        dataset_path: JSON list of samples; None takes the bundled ones.
        output_dir: Folder of the result files.
        model: Extractor and agent: name of an Ollama model, or any LangChain chat
            model.
        ablation: Whether all six formats are compared, instead of `json` and `skn`.
        judge: The model that judges; None takes the same one.
        options: Everything else.
        settings: Where Ollama answers; None takes the environment's.
        progress: Is told of every sample.

    Returns:
        The metrics, as in `metrics.json`.

    Raises:
        InputError: If data set, search results or options cannot be used.
        ModelError: If a model's server is down, or has no such model.
        StorageError: If a file cannot be written; what is finished is kept.
    """
    options = options or BenchmarkOptions()
    if dataset_path is not None:
        options = replace(options, dataset=Path(dataset_path))
    if ablation:
        options = replace(options, pipelines=tuple(ABLATION_PIPELINES))
    (outcome,) = run_models(
        [model],
        judge=judge,
        output=Path(output_dir),
        options=options,
        settings=settings,
        progress=progress,
    )
    return outcome.metrics


def run_models(
    models: Sequence[str | BaseChatModel | LanguageModel],
    *,
    output: Path,
    judge: str | BaseChatModel | LanguageModel | None = None,
    options: BenchmarkOptions | None = None,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> tuple[ModelOutcome, ...]:
    """Run the benchmark for several models on the same search results.

    Args:
        models: Extractors and agents, one after the other.
        output: Folder of the result files; several models have a folder in it each.
        judge: The model that judges them all; None lets each judge itself.
        options: How the benchmark is run.
        settings: Where Ollama answers.
        progress: Is told of every sample.

    Raises:
        InputError: As `run_benchmark`; also for a model that is named twice.
        ModelError: As `run_benchmark`.
        StorageError: As `run_benchmark`.
    """
    options = options or BenchmarkOptions()
    respondents = [_respondent(model, options, settings) for model in models]
    names = [who.name for who in respondents]
    if not names or len(set(names)) < len(names):
        msg = f"Name each model once, and at least one: {', '.join(names) or 'none'}."
        raise InputError(msg)
    jury = None if judge is None else _respondent(judge, options, settings)
    samples = load_samples(options.dataset, limit=options.limit)
    recorded = _recorded(options)
    asked = [m for m in (*models, judge) if isinstance(m, str)]
    with State(output) as state:
        phases = Phases(
            state=state,
            recorded=recorded,
            recorded_only=options.recorded_only,
            results=options.results,
            question_aware=options.question_aware,
            retry_failed=options.retry_failed,
            before_calls=lambda: check_models(asked, settings=settings),
        )
        found = _search(samples, phases, progress)
        return tuple(
            _Run(
                who=who,
                judge=jury or who,
                options=options,
                phases=phases,
                samples=samples,
                found=found,
                files=ResultFiles(output if len(names) == 1 else _folder(output, who)),
                progress=progress,
                stage=f"{who.name}: " if len(names) > 1 else "",
            ).outcome()
            for who in respondents
        )


def _respondent(
    model: str | BaseChatModel | LanguageModel,
    options: BenchmarkOptions,
    settings: Settings | None,
) -> Respondent:
    """Return a model with the options of the benchmark."""
    return Respondent(model=as_model(model, settings=settings), options=options.models)


def _folder(output: Path, who: Respondent) -> Path:
    """Return the folder of one model of several."""
    return output / (re.sub(r"[^\w.-]+", "-", who.name).strip(".-") or "model")


def _recorded(options: BenchmarkOptions) -> dict[str, Found]:
    """Return the recorded search results that are asked for."""
    file = options.search_results
    if file is None and options.recorded_only:
        bundled = options.dataset is None or (
            options.dataset.resolve() == bundled_samples().resolve()
        )
        if not bundled:
            msg = "--recorded-only with a data set of your own needs --search-results."
            raise InputError(msg)
        file = bundled_search_results()
    return {} if file is None else load_search_results(file)


def _search(
    samples: Sequence[Sample], phases: Phases, progress: Progress
) -> tuple[Found, ...]:
    """Run the first phase, which is the same for all models."""
    found = []
    for done, sample in enumerate(samples, start=1):
        found.append(phases.search(sample))
        progress("Searching", done, len(samples))
    if empty := sum(not one.raw_text.strip() for one in found):
        _LOG.warning(
            "%d of %d searches found nothing: the agent has nothing to go by there.",
            empty,
            len(found),
        )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
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

    def _each(self, stage: str, rows: Sequence[dict[str, Any]], do: Any) -> None:
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

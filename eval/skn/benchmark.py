"""The benchmark: the same search results in several formats, the same agent for all."""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.skn.checking import check_models
from eval.skn.extractors import ABLATION_PIPELINES
from eval.skn.model_run import ModelRun
from eval.skn.models import DEFAULT_MODEL, Respondent, as_model
from eval.skn.options import BenchmarkOptions
from eval.skn.phases import Phases
from eval.skn.result_files import ResultFiles
from eval.skn.samples import bundled_samples, bundled_search_results, load_samples
from eval.skn.searching import load_search_results
from eval.skn.state import State
from graph.errors import InputError
from graph.progress import silent
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from eval.skn.model_run import ModelOutcome
    from eval.skn.samples import Sample
    from eval.skn.searching import Found
    from graph.language_models import LanguageModel
    from graph.progress import Progress
    from graph.settings import Settings

__all__ = ["run_benchmark", "run_models"]

_LOG = logging.getLogger(__name__)


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
            ModelRun(
                who=who,
                judge=jury or who,
                options=options,
                phases=phases,
                samples=samples,
                found=found,
                files=ResultFiles(folder),
                progress=progress,
                stage=f"{who.name}: " if len(names) > 1 else "",
            ).outcome()
            for who, folder in zip(respondents, _folders(output, names), strict=True)
        )


def _respondent(
    model: str | BaseChatModel | LanguageModel,
    options: BenchmarkOptions,
    settings: Settings | None,
) -> Respondent:
    """Return a model with the options of the benchmark."""
    return Respondent(model=as_model(model, settings=settings), options=options.models)


def _folders(output: Path, names: Sequence[str]) -> list[Path]:
    """Return the folder of each model: one of its own where there are several.

    Names that differ only in what no folder can have get a part of their key.
    """
    if len(names) == 1:
        return [output]
    plain = [re.sub(r"[^\w.-]+", "-", n).strip(".-") or "model" for n in names]
    same = Counter(one.casefold() for one in plain)
    return [
        output / (f"{one}-{content_key(name)[:8]}" if same[one.casefold()] > 1 else one)
        for name, one in zip(names, plain, strict=True)
    ]


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

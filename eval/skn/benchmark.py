"""The benchmark: the same search results in several formats, the same agent for all."""

from __future__ import annotations

import logging
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.eval.models import DEFAULT_MODEL, ModelLike, Respondent, respondent
from knowtrail.eval.skn.metrics import calculate_metrics, compare_pipelines, is_usable
from knowtrail.eval.skn.options import ABLATION_PIPELINES, BenchmarkOptions
from knowtrail.eval.skn.phases import KEPT, SPENT, TOKENS, Phases, judge_row, no_reply
from knowtrail.eval.skn.results import (
    write_extractions,
    write_outcome,
    write_responses,
    write_search_results,
)
from knowtrail.eval.skn.samples import (
    BUNDLED_SAMPLES,
    BUNDLED_SEARCH_RESULTS,
    load_samples,
    load_search_results,
)
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import InputError, KnowtrailError, ModelError
from knowtrail.graph.files.journal import State
from knowtrail.graph.models.ollama_client import CONNECT_SECONDS, client_options
from knowtrail.graph.models.providers import provider_of
from knowtrail.graph.settings import Settings
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.eval.skn.samples import Found, Sample
    from knowtrail.eval.statistics import Difference


def check_models(
    names: Sequence[str], *, settings: Settings | None = None
) -> dict[str, str | None]:
    """Check that Ollama has models, so that a run does not end at its second model."""
    import httpx

    whose = dict.fromkeys(provider_of(name) for name in names)
    wanted = [model for provider, model in whose if provider is None]
    if not wanted:
        return {}
    url = (settings or Settings.from_env()).ollama_url.rstrip("/")
    pulls = " and ".join(f"`ollama pull {name}`" for name in wanted)
    unusable = httpx.HTTPError, httpx.InvalidURL, LookupError, TypeError, ValueError
    try:
        answer = httpx.get(
            f"{url}/api/tags", timeout=CONNECT_SECONDS, **client_options(url)
        )
        answer.raise_for_status()
        listed = answer.json()["models"]
        there = {
            str(model["name"]).removesuffix(":latest"): model.get("digest")
            for model in listed
        }
    except unusable as error:
        msg = f"No answer from Ollama at {url}: run `ollama serve` and {pulls}."
        raise ModelError(msg) from error
    for name in wanted:
        if name.removesuffix(":latest") not in there:
            told = f"Ollama at {url} has no model {name!r}: run `ollama pull {name}`."
            raise ModelError(told)
    return {name: there[name.removesuffix(":latest")] for name in wanted}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutcome:
    """What a benchmark of one model gave; `reused` were known already, or shared."""

    model: str
    judge: str
    pipelines: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    metrics: dict[str, Any]
    differences: tuple[Difference, ...]
    folder: Path
    reused: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    digest: str | None = None
    judge_digest: str | None = None

    @property
    def failure(self) -> str | None:
        """Say why nothing of it can be used; None where something can."""
        each = [(row, v) for row in self.rows for v in self.pipelines]
        if not any(is_usable(row, v) for row, v in each):
            reasons = [row[f"{v}_extraction_error"] for row, v in each]
            what = f"none of {len(each)} extractions can be used"
        elif all(row[f"{v}_reasoning_error"] for row, v in each):
            reasons = [row[f"{v}_reasoning_error"] for row, v in each]
            what = f"none of {len(each)} answers can be used"
        else:
            said = [one for row, v in each for one in row[f"{v}_judges"].values()]
            reasons = [one["error"] for one in said]
            if not all(reasons):
                return None
            what = f"none of {len(said)} judges gave a verdict"
        why = next((f": {reason}" for reason in reasons if reason), "")
        return f"Of {self.model}, {what}{why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRun:
    """The phases after the search, for one model."""

    who: Respondent
    judge: Respondent
    options: BenchmarkOptions
    phases: Phases
    samples: Sequence[tuple[Sample, dict[str, Any]]]
    folder: Path
    progress: Progress

    def outcome(self) -> ModelOutcome:
        """Run the phases; each one's file is written when it is done."""
        state, pipelines = self.phases.state, self.options.pipelines
        reused, before = state.reused, self.phases.spent.copy()
        rows = [row for _, row in self.samples]
        write_search_results(self.folder, rows)
        self._each("Extracting", self._extract)
        write_extractions(self.folder, rows, pipelines)
        self._each("Reasoning", self._reason)
        write_responses(self.folder, rows, pipelines)
        self._each("Judging", self._judge)
        for row in rows:
            for variant in pipelines:
                del row[f"{variant}_context"]
        outcome = ModelOutcome(
            model=self.who.name,
            judge=self.judge.name,
            pipelines=pipelines,
            rows=tuple(rows),
            metrics=calculate_metrics(rows, list(pipelines)),
            differences=compare_pipelines(rows, pipelines),
            folder=self.folder,
            reused=state.reused - reused,
            digest=self.who.digest,
            judge_digest=self.judge.digest,
            **{name: self.phases.spent[name] - before[name] for name in SPENT},
        )
        write_outcome(outcome)
        return outcome

    def _each(self, stage: str, do: Callable[..., dict[str, Any]]) -> None:
        jobs = [
            (sample, row, variant)
            for sample, row in self.samples
            for variant in self.options.pipelines
        ]
        pool = ThreadPoolExecutor(self.options.concurrency, "knowtrail-skn")
        # Alone, a call is made in this thread, which Ctrl-C ends at once.
        asked: Iterator[dict[str, Any]] = (do(*job) for job in jobs)
        try:
            if self.options.concurrency > 1:
                asked = pool.map(do, *zip(*jobs, strict=True))
            for done, (new, (_, row, variant)) in enumerate(
                zip(asked, jobs, strict=True), start=1
            ):
                row |= {f"{variant}_{name}": value for name, value in new.items()}
                self.progress(stage, done, len(jobs))
        finally:
            pool.shutdown(cancel_futures=True)

    def _extract(
        self, sample: Sample, row: dict[str, Any], variant: str
    ) -> dict[str, Any]:
        made = self.phases.extraction(self.who, sample, variant, row["raw_text"])
        return {
            "context": made["context"],
            "tokens_est": made["tokens_est"],
            "extraction_time_s": made.get("seconds", 0.0),
            **{f"extraction_{n}": made.get(n) for n in KEPT if n != "seconds"},
            "extraction_repairs": made.get("repairs"),
        }

    def _reason(
        self, sample: Sample, row: dict[str, Any], variant: str
    ) -> dict[str, Any]:
        made = self.phases.reasoning(self.who, sample, row[f"{variant}_context"])
        names = ("error", "raw", "attempts", *TOKENS)
        return {
            **(made["value"] or no_reply() | {"confidence": None}),
            "reasoning_time_s": made["seconds"],
            **{f"reasoning_{name}": made[name] for name in names},
        }

    def _judge(
        self, sample: Sample, row: dict[str, Any], variant: str
    ) -> dict[str, Any]:
        judged, verdict = dict(row), partial(self.phases.verdict, self.judge, sample)
        judge_row(judged, variant, verdict, abstention=self.options.judge_abstention)
        new = judged.keys() - row.keys()
        return {n.removeprefix(f"{variant}_"): judged[n] for n in judged if n in new}


def _row(sample: Sample, found: Found) -> dict[str, Any]:
    return {
        **asdict(sample),
        "raw_text": found.raw_text,
        "search_time_s": found.seconds,
        "search_error": found.error,
        "search_failed": found.failed,
    }


_LOG = logging.getLogger(__name__)


def run_benchmark(
    dataset_path: str | Path | None = None,
    output_dir: str | Path = "results",
    model: ModelLike = DEFAULT_MODEL,
    ablation: bool = False,
    *,
    judge: ModelLike | None = None,
    options: BenchmarkOptions | None = None,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Compare extraction formats by what an agent makes of them; return the metrics.

    What is finished is kept in the output folder: after an interruption, the same call
    goes on where it stopped.

    Args:
        dataset_path: JSON list of samples; None takes the bundled ones.
        output_dir: Folder of the result files.
        model: Extractor and agent: name of a model, or any LangChain chat model.
        ablation: Whether all six formats are compared, instead of `json` and `skn`.
        judge: The model that judges; None takes the same one.
        options: Everything else.
        settings: Where Ollama answers; None takes the environment's.
        progress: Is told of every sample.

    Raises:
        InputError: If data set, search results or options cannot be used.
        KnowtrailError: If every search failed.
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
    models: Sequence[ModelLike],
    *,
    output: Path,
    judge: ModelLike | None = None,
    options: BenchmarkOptions | None = None,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> tuple[ModelOutcome, ...]:
    """Run the benchmark for several models, one after the other, on the same searches.

    Several models have a folder each in that of the output. Without a judge each judges
    itself. Raises as `run_benchmark` does.
    """
    options = options or BenchmarkOptions()
    who_is = partial(respondent, options=options.models, settings=settings)
    respondents = [who_is(model) for model in models]
    names = [who.name for who in respondents]
    if not names or len(set(names)) < len(names):
        msg = f"Name each model once, and at least one: {', '.join(names) or 'none'}."
        raise InputError(msg)
    jury = None if judge is None else who_is(judge)
    samples = load_samples(options.dataset, limit=options.limit)
    recorded = _recorded(options)
    with State(output) as state:
        digests, problem = _digests([*models, judge], state, settings)
        respondents = [replace(w, digest=digests.get(w.name)) for w in respondents]
        jury = jury and replace(jury, digest=digests.get(jury.name))
        phases = Phases(
            state=state, options=options, recorded=recorded, problem=problem
        )
        found = _search(samples, phases, progress)
        outcomes = []
        for who, folder in zip(respondents, _folders(output, names), strict=True):
            named = f"{who.name}: " if len(names) > 1 else ""
            run = ModelRun(
                who=who,
                judge=jury or who,
                options=options,
                phases=phases,
                samples=[(s, _row(s, f)) for s, f in zip(samples, found, strict=True)],
                folder=folder,
                progress=lambda stage, *done, before=named: progress(
                    f"{before}{stage}", *done
                ),
            )
            outcomes.append(run.outcome())
    return tuple(outcomes)


def _digests(
    models: Sequence[Any], state: State, settings: Settings | None
) -> tuple[dict[str, str | None], ModelError | None]:
    """Return Ollama's digests, or the last run's and why it does not answer."""
    names = [model for model in models if isinstance(model, str)]
    keys = {name.strip(): content_key("digest", name.strip()) for name in names}
    known = {name: (state.get(key) or {}).get("digest") for name, key in keys.items()}
    try:
        found = check_models(names, settings=settings)
    except ModelError as error:
        return known, error
    for name, digest in found.items():
        if digest is not None and digest != known[name]:
            state.put(keys[name], {"digest": digest}, model=name)
    return found, None


def _folders(output: Path, names: Sequence[str]) -> list[Path]:
    """Return the folder of each model: one of its own where there are several."""
    if len(names) == 1:
        return [output]
    plain = [re.sub(r"[^\w.-]+", "-", n).strip(".-") or "model" for n in names]
    same = Counter(one.casefold() for one in plain)
    return [
        output / (f"{one}-{content_key(name)[:8]}" if same[one.casefold()] > 1 else one)
        for name, one in zip(names, plain, strict=True)
    ]


def _recorded(options: BenchmarkOptions) -> dict[str, Found]:
    file = options.search_results
    if file is None and options.recorded_only:
        bundled = options.dataset is None or (
            options.dataset.resolve() == BUNDLED_SAMPLES.resolve()
        )
        if not bundled:
            msg = "--recorded-only with a data set of your own needs --search-results."
            raise InputError(msg)
        file = BUNDLED_SEARCH_RESULTS
    return {} if file is None else load_search_results(file)


def _search(
    samples: Sequence[Sample], phases: Phases, progress: Progress
) -> tuple[Found, ...]:
    found = []
    for done, sample in enumerate(samples, start=1):
        found.append(phases.search(sample))
        progress("Searching", done, len(samples))
    failed = [one.error for one in found if one.failed]
    if failed and len(failed) == len(found):
        raise KnowtrailError(f"All {len(failed)} searches failed. {failed[0]}")
    empty = sum(not one.raw_text.strip() for one in found) - len(failed)
    for count, what in ((len(failed), "failed"), (empty, "found nothing")):
        if count:
            _LOG.warning(
                "%d of %d searches %s: the agent has nothing to go by there.",
                count,
                len(found),
                what,
            )
    return tuple(found)

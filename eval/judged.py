"""Answers from what was retrieved, compared word by word, and judged by a model.

A model answers from the sentences of a ranking, or its first passages. Words are
compared as SQuAD and MuSiQue do: in lower case, without punctuation, without the
articles a, an and the, with single spaces. A judge works through DeepEval: each case
has metric objects of its own, and a score is read from the object that measured that
case, so that no case can show another's. A judge that breaks off leaves what it has
judged; the next run goes on with the very call that failed.
"""

from __future__ import annotations

import asyncio
import io
import logging
import math
import re
import string
from collections import Counter
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from knowtrail.eval.models import (
    TEXTS,
    ModelLike,
    ModelOptions,
    Respondent,
    ask,
    is_refusal,
    respondent,
)
from knowtrail.eval.report import told
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.extras import extra
from knowtrail.graph.files.journal import State
from knowtrail.graph.models.prompts import estimated_tokens, marked
from knowtrail.graph.models.requests import object_form
from knowtrail.graph.settings import Settings, keep_deepeval_quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.retrieval.dataset import Passage, RetrievalDataset
    from knowtrail.eval.retrieval.evaluation import SystemResult

_LOG = logging.getLogger(__name__)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_answer(text: str) -> str:
    """Return an answer in the form that answers are compared in."""
    lowered = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", lowered).split())


def exact_match(answer: str, expected: Iterable[str]) -> float:
    """Return 1 where an answer is one of those expected, else 0."""
    said = normalised_answer(answer)
    return float(any(said == normalised_answer(one) for one in expected))


def token_f1(answer: str, expected: Iterable[str]) -> float:
    """Return the best F1 of an answer's words with those expected, from 0 to 1.

    Two answers of which one has no words left are worth 1 if both are so, else 0.
    """
    said = normalised_answer(answer).split()
    return max(
        (_f1(said, normalised_answer(one).split()) for one in expected), default=0.0
    )


def _f1(said: list[str], right: list[str]) -> float:
    if not said or not right:
        return float(said == right)
    shared = sum((Counter(said) & Counter(right)).values())
    return 2 * shared / (len(said) + len(right))


class UselessAnswerError(InputError):
    """A model's answer was not of the form that DeepEval asked for, twice."""


@contextmanager
def quiet_deepeval() -> Iterator[None]:
    """Import DeepEval so that it sends and shows nothing while it works."""
    # It draws its progress on standard output, which is for data, and says there at
    # its import that it writes no files.
    with redirect_stdout(io.StringIO()):
        need_deepeval()
        loggers = [logging.getLogger(name) for name in ("deepeval", "httpx")]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def need_deepeval() -> None:
    """Import DeepEval, quiet and sending nothing, or say that it is missing."""
    keep_deepeval_quiet()
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    try:
        with extra("deepeval", "What DeepEval judges or writes"):
            import deepeval  # noqa: F401 - must be there
    finally:
        logging.disable(before)


def deepeval_model(who: Respondent) -> Any:
    """Return a model as DeepEval takes one; two useless answers end a question."""
    with quiet_deepeval():
        from deepeval.models import DeepEvalBaseLLM

    class Bridged(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]
        """A chat model that DeepEval can ask."""

        def load_model(self, *_: Any, **__: Any) -> Any:
            return who.model

        def get_model_name(self, *_: Any, **__: Any) -> str:
            return who.name

        def generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            return _formed(who, prompt, schema)

        async def a_generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            return await asyncio.to_thread(_formed, who, prompt, schema)

    return Bridged(who.name)


def _formed(who: Respondent, prompt: str, schema: Any) -> Any:
    if schema is None:
        reply = who.reply("", prompt, schema=None)
        if reply.error or not reply.text.strip():
            raise UselessAnswerError(reply.error or "The model said nothing.")
        return reply.text
    answer = ask(who, "", prompt, schema=schema.model_json_schema())
    if answer.value is None:
        raise UselessAnswerError(answer.error or "no answer came")
    try:
        return schema.model_validate(answer.value)
    except ValueError as error:
        raise UselessAnswerError(" ".join(str(error).split())[:300]) from error


JUDGED_MEASURES = (
    "contextual_precision",
    "contextual_recall",
    "answer_relevancy",
    "faithfulness",
)
"""What a model judges, each from 0 to 1."""

ANSWER_MEASURES = ("exact_match", "f1")
"""What is compared word by word, each from 0 to 1."""

PASS_THRESHOLD = 0.5
"""A case passes where all four of the judged measures are at least this."""

_NEED_EXPECTED = {"contextual_precision", "contextual_recall"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRecord:
    """One case; without an expected answer nobody knows it."""

    id: str
    question: str
    answer: str | None
    expected: str | None = None
    aliases: tuple[str, ...] = ()
    retrieved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """What came of one case, measure by measure, each from 0 to 1.

    One that is missing was not measured, as `errors` say; `doubts` tell of values for
    which the judge did not give one verdict on each thing. `passed` is None where one
    is missing.
    """

    id: str
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)
    passed: bool | None = None

    def as_values(self) -> dict[str, float]:
        """Return its measures with `passed` as 0 or 1, where that is known."""
        known = {} if self.passed is None else {"passed": float(self.passed)}
        return {**self.values, **known}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of the cases that were reached; `stopped` is why the rest was not."""

    answers: tuple[JudgedAnswer, ...]
    stopped: str = ""


def word_measures(record: JudgedRecord) -> dict[str, float]:
    """Return exact match and F1 of a case; nothing where no answer is expected."""
    if record.expected is None:
        return {}
    expected = (record.expected, *record.aliases)
    answer = record.answer or ""
    return {
        "exact_match": exact_match(answer, expected),
        "f1": token_f1(answer, expected),
    }


def judge_answers(
    records: Sequence[JudgedRecord],
    *,
    model: Respondent,
    progress: Progress = silent,
    stage: str = "judging",
) -> Judged:
    """Judge cases one after the other; what the judge says is kept before it is used.

    A case for which nothing was retrieved has 0 throughout. Where no answer came
    although there was something to answer from, what needs one is left out, with the
    reason. A case passes where all judged measures reach `PASS_THRESHOLD`. Where the
    judge breaks off, `stopped` says why; calling again with the same state goes on.
    """
    asked = partial(_asked, model=deepeval_model(model))
    answers: list[JudgedAnswer] = []
    for place, record in enumerate(records):
        progress(stage, place, len(records))
        try:
            answers.append(_judged(record, asked))
        except ModelError as error:
            return Judged(answers=tuple(answers), stopped=str(error))
    progress(stage, len(records), len(records))
    return Judged(answers=tuple(answers))


def _judged(
    record: JudgedRecord, asked: Callable[[str, JudgedRecord], _Measured]
) -> JudgedAnswer:
    found = {name: _measured(name, record, asked) for name in JUDGED_MEASURES}
    known = {name: one.value for name, one in found.items() if one.value is not None}
    whole = len(known) == len(JUDGED_MEASURES)
    return JudgedAnswer(
        id=record.id,
        values=word_measures(record) | known,
        errors={n: one.told for n, one in found.items() if n not in known},
        doubts={n: found[n].doubt for n in known if found[n].doubt},
        passed=min(known.values()) >= PASS_THRESHOLD if whole else None,
    )


def _measured(
    name: str, record: JudgedRecord, asked: Callable[[str, JudgedRecord], _Measured]
) -> _Measured:
    if name in _NEED_EXPECTED and record.expected is None:
        return _Measured(told="no answer is expected")
    if not record.retrieved:
        return _Measured(value=0.0, told="nothing was retrieved")
    if name not in _NEED_EXPECTED and not record.answer:
        return _Measured(told="no answer came")
    try:
        return asked(name, record)
    except (UselessAnswerError, ModelError) as error:
        if isinstance(error, ModelError) and not is_refusal(error):
            raise
        _LOG.info("No %s of case %s: %s", name, record.id, error)
        return _Measured(told=str(error))


def _asked(name: str, record: JudgedRecord, *, model: Any) -> _Measured:
    with quiet_deepeval():
        import deepeval.metrics
        from deepeval.test_case import LLMTestCase

        kind = f"{name.title().replace('_', '')}Metric"
        metric: Any = getattr(deepeval.metrics, kind)(
            threshold=PASS_THRESHOLD,
            model=model,
            include_reason=False,
            async_mode=False,
        )
        case = LLMTestCase(
            input=record.question,
            actual_output=record.answer or "",
            expected_output=record.expected,
            retrieval_context=list(record.retrieved),
        )
        metric.measure(case, _show_indicator=False)
    score = metric.score
    if not isinstance(score, int | float) or not math.isfinite(score):
        return _Measured(told=f"the judge's verdicts give {score!r}, no number")
    return _Measured(
        value=min(1.0, max(0.0, float(score))), doubt=_doubt(name, metric, record)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """A measure of a case, or None and what is told about it."""

    value: float | None = None
    told: str = ""
    doubt: str = ""


def _doubt(name: str, metric: Any, record: JudgedRecord) -> str:
    """Return what is wrong with the number of verdicts, empty where it is right."""
    judged = {
        "contextual_precision": list(record.retrieved),
        "answer_relevancy": getattr(metric, "statements", None),
        "faithfulness": getattr(metric, "claims", None),
    }.get(name)
    verdicts = getattr(metric, "verdicts", None)
    if judged is None or verdicts is None or len(judged) == len(verdicts):
        return ""
    return f"{len(verdicts)} verdicts on {len(judged)} things"


_SYSTEM: str = TEXTS["judged"]["system"]
_SCHEMA = object_form(answer={"type": "string", "minLength": 1, "maxLength": 1_200})
ROOM = 600


def _answered(
    who: Respondent, question: str, texts: Sequence[str]
) -> tuple[str | None, int]:
    """Return a short answer, None where none came, and how many texts it is from."""
    shown = _fitting(who, question, texts)
    if not shown:
        return None, 0
    lines = [f"[{number}] {text}" for number, text in enumerate(shown, start=1)]
    block = marked("texts", "\n".join(lines))[1]
    asked = marked("question", question)[1]
    try:
        answer = ask(who, _SYSTEM, f"{block}\n{asked}", schema=_SCHEMA)
    except ModelError as error:
        if not is_refusal(error):
            raise
        return None, len(shown)
    said = answer.value["answer"] if answer.value else ""
    return " ".join(said.split()) or None, len(shown)


def _fitting(who: Respondent, question: str, texts: Sequence[str]) -> list[str]:
    """Return the first texts that fit the model, each on one line."""
    lines = [" ".join(text.split()) for text in texts]
    limit = who.model.prompt_tokens
    if limit is None:
        return lines
    room = limit - ROOM - estimated_tokens(question)
    kept = []
    for line in lines:
        room -= estimated_tokens(line) + 4
        if room < 0:
            break
        kept.append(line)
    if len(kept) < len(lines):
        _LOG.info("%s is shown %d of %d texts.", who.name, len(kept), len(lines))
    return kept


FOLDER = "judged"
PASSAGES = 5
"""Passages that are read where a system returns no sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """Who answers and who judges: names such as `openai:gpt-4.1`, or chat models.

    Without a judge there are exact match and F1 alone.
    """

    answers: ModelLike
    judge: ModelLike | None = None
    models: ModelOptions = field(default_factory=ModelOptions)

    def __post_init__(self) -> None:
        if self.judge is not None:
            need_deepeval()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedResults:
    """Results with the measures of answers; `answers` by system and question id."""

    results: tuple[SystemResult, ...]
    measures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stopped: str = ""
    models: Mapping[str, Any] = field(default_factory=dict)


def judged_measure_names(*, judge: bool) -> tuple[str, ...]:
    """Return the names of the measures that the stage adds."""
    return (*ANSWER_MEASURES, *((*JUDGED_MEASURES, "passed") if judge else ()))


def judge_results(
    results: Sequence[SystemResult],
    *,
    dataset: RetrievalDataset,
    options: JudgingOptions,
    settings: Settings,
    progress: Progress = silent,
) -> JudgedResults:
    """Have questions answered from what systems returned, and the answers judged.

    What the models say is kept in the home folder; the same run later asks nothing
    twice. Where a model breaks off, what was measured so far is in the values, and a
    note says what to do; the figures then rest on fewer questions.
    """
    if not any(question.answer for question in dataset.questions):
        raise InputError(
            f"No question of {dataset.name} has an answer to compare with: leave "
            "--answers and --judge out."
        )
    folder = settings.home / FOLDER / dataset.checksum
    with State(folder) as state:
        stage = _Stage(dataset, options, settings, state, progress)
        judged = tuple(stage.system(result) for result in results)
    return JudgedResults(
        results=judged,
        measures=judged_measure_names(judge=options.judge is not None),
        notes=tuple(stage.notes(folder)),
        answers=stage.answers,
        stopped=stage.stopped,
        models=stage.models,
    )


class _Stage:
    def __init__(
        self,
        dataset: RetrievalDataset,
        options: JudgingOptions,
        settings: Settings,
        state: State,
        progress: Progress,
    ) -> None:
        self._texts = {passage.id: _text(passage) for passage in dataset.passages}
        self._progress = progress
        who = partial(
            respondent, options=options.models, settings=settings, state=state
        )
        self.who = who(options.answers)
        self.judge = None if options.judge is None else who(options.judge)
        self.answers: dict[str, dict[str, str]] = {}
        self.stopped = ""
        self.unanswered = 0
        self.unjudged: Counter[str] = Counter()
        self.doubtful: Counter[str] = Counter()

    @property
    def models(self) -> dict[str, Any]:
        return {
            "answers": self.who.name,
            "judge": None if self.judge is None else self.judge.name,
            **asdict(self.who.options),
        }

    def system(self, result: SystemResult) -> SystemResult:
        records = self._records(result)
        values = {record.id: word_measures(record) for record in records}
        if self.judge is not None and not self.stopped:
            judged = judge_answers(
                records,
                model=self.judge,
                progress=self._progress,
                stage=f"judging {result.name}",
            )
            self.stopped = judged.stopped
            for answer in judged.answers:
                values[answer.id] = answer.as_values()
                self.unjudged.update([*answer.errors])
                self.doubtful.update([*answer.doubts])
        rows = [
            {**row, **values.get(question.id, {})}
            for question, row in zip(result.questions, result.values, strict=True)
        ]
        return replace(result, values=tuple(rows))

    def _records(self, result: SystemResult) -> list[JudgedRecord]:
        records: list[JudgedRecord] = []
        given = self.answers.setdefault(result.name, {})
        pairs = list(zip(result.questions, result.rankings, strict=True))
        for place, (question, ranking) in enumerate(pairs):
            if self.stopped:
                break
            self._progress(f"answering {result.name}", place, len(pairs))
            texts = tuple(sentence.text for sentence in ranking.sentences) or tuple(
                self._texts[document.id] for document in ranking.documents[:PASSAGES]
            )
            try:
                answer, shown = _answered(self.who, question.text, texts)
            except ModelError as error:
                self.stopped = str(error)
                break
            self.unanswered += answer is None and bool(texts)
            if answer is not None:
                given[question.id] = answer
            records.append(
                JudgedRecord(
                    id=question.id,
                    question=question.text,
                    answer=answer,
                    expected=question.answer or None,
                    aliases=question.aliases,
                    retrieved=texts[:shown] if shown else texts,
                )
            )
        return records

    def notes(self, folder: Path) -> list[str]:
        return told(
            "judged.txt",
            stage=self,
            folder=folder,
            passages=PASSAGES,
            threshold=PASS_THRESHOLD,
            version=version("deepeval") if self.judge else "",
        ).splitlines()


def _text(passage: Passage) -> str:
    """Return a passage as it is read: after its title, unless it begins with it."""
    if not passage.title or passage.text.startswith(passage.title):
        return passage.text
    return f"{passage.title}: {passage.text}"

"""Answers judged by a language model through DeepEval, and compared word by word.

Each case has metric objects of its own, and a score is read from the object that
measured that case, so that no case can show another's. A judge that breaks off leaves
what it has judged; the next run goes on with the very call that failed.
"""

from __future__ import annotations

import asyncio
import io
import logging
import math
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from knowtrail.eval.judged.exact import exact_match, token_f1
from knowtrail.eval.models import ask, is_refusal
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.extras import extra
from knowtrail.graph.settings import keep_deepeval_quiet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowtrail.eval.models import KeptRespondent, Respondent
    from knowtrail.graph.cli.progress import Progress


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


def deepeval_version() -> str:
    """Return the version of DeepEval, whose prompts are part of what it finds."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("deepeval")
    except PackageNotFoundError:
        return "none"


def deepeval_model(who: Respondent) -> Any:
    """Return a model as DeepEval's metrics and synthesizer take one.

    An answer is held to the form that DeepEval asks for, and asked for once more where
    it is of another; a second one of no use ends the question or metric.
    """
    with quiet_deepeval():
        from deepeval.models import DeepEvalBaseLLM

    class Bridged(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]
        """A chat model that DeepEval can ask."""

        def load_model(self, *_: Any, **__: Any) -> Any:
            return who.model

        def get_model_name(self, *_: Any, **__: Any) -> str:
            return who.name

        def generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            return _answered(who, prompt, schema)

        async def a_generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            return await asyncio.to_thread(_answered, who, prompt, schema)

    return Bridged(who.name)


def _answered(who: Respondent, prompt: str, schema: Any) -> Any:
    """Return an answer as an object of DeepEval's, or as text."""
    if schema is None:
        reply = who.reply("", prompt, schema=None)
        if reply.error or not reply.text.strip():
            raise UselessAnswerError(reply.error or "The model said nothing.")
        return reply.text
    form = schema.model_json_schema()
    answer = ask(who, "", prompt, schema=form)
    if answer.value is None:
        msg = answer.error or "no answer came"
        raise UselessAnswerError(msg)
    try:
        return schema.model_validate(answer.value)
    except ValueError as error:
        raise UselessAnswerError(" ".join(str(error).split())[:300]) from error


_LOG = logging.getLogger(__name__)

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
_CLASSES = {
    "contextual_precision": "ContextualPrecisionMetric",
    "contextual_recall": "ContextualRecallMetric",
    "answer_relevancy": "AnswerRelevancyMetric",
    "faithfulness": "FaithfulnessMetric",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRecord:
    """One case.

    Attributes:
        answer: What was answered; None where no answer came.
        expected: The right answer; None where nobody knows it.
        retrieved: The texts that were found, best first.
    """

    id: str
    question: str
    answer: str | None
    expected: str | None = None
    aliases: tuple[str, ...] = ()
    retrieved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """What came of one case.

    Attributes:
        values: Measure -> value from 0 to 1; one that is missing was not measured.
        errors: Measure -> why it was not measured.
        reasons: Measure -> what the judge says about it, where it was asked to.
        doubts: Measure -> why its value, which is DeepEval's, is doubtful: the judge
            did not give one verdict on each thing that it was to judge.
        passed: Whether all four judged measures are high enough; None where one is
            missing.
    """

    id: str
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)
    passed: bool | None = None

    def as_values(self) -> dict[str, float]:
        """Return its measures with `passed` as 0 or 1, where that is known."""
        known = {} if self.passed is None else {"passed": float(self.passed)}
        return {**self.values, **known}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of all cases.

    Attributes:
        answers: One for each case that was reached, in order.
        stopped: Why the rest was not; empty where all were.
    """

    answers: tuple[JudgedAnswer, ...]
    stopped: str = ""

    def values(self) -> dict[str, dict[str, float]]:
        """Return the measures of each case by its id."""
        return {one.id: one.as_values() for one in self.answers}


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
    model: KeptRespondent,
    measures: Sequence[str] = JUDGED_MEASURES,
    threshold: float = PASS_THRESHOLD,
    reasons: bool = False,
    progress: Progress = silent,
    stage: str = "judging",
) -> Judged:
    """Judge cases one after the other; what the judge says is kept before it is used.

    A case for which nothing was retrieved has 0 throughout. Where no answer came
    although there was something to answer from, what needs one is left out, with the
    reason. A case passes where all judged measures reach the threshold; reasons cost
    one call more for each measure. Where the judge breaks off, `stopped` says why;
    calling again with the same state goes on.

    Raises:
        InputError: If a measure is unknown, or the threshold is no share.
        MissingExtraError: If the extra `deepeval` is not installed.
    """
    unknown = [name for name in measures if name not in JUDGED_MEASURES]
    if unknown:
        msg = f"No measure {unknown[0]!r}: use {', '.join(JUDGED_MEASURES)}."
        raise InputError(msg)
    if not 0 <= threshold <= 1:
        msg = f"The threshold is {threshold:g}: give a number from 0 to 1."
        raise InputError(msg)
    judge = _Judge(model, tuple(measures), threshold, reasons=reasons)
    answers: list[JudgedAnswer] = []
    for place, record in enumerate(records):
        progress(stage, place, len(records))
        try:
            answers.append(judge.judged(record))
        except ModelError as error:
            return Judged(answers=tuple(answers), stopped=str(error))
    progress(stage, len(records), len(records))
    return Judged(answers=tuple(answers))


class _Judge:
    """DeepEval's metrics with a judge of ours."""

    def __init__(
        self,
        who: KeptRespondent,
        measures: tuple[str, ...],
        threshold: float,
        *,
        reasons: bool,
    ) -> None:
        self._model = deepeval_model(who)
        self._measures = measures
        self._threshold = threshold
        self._reasons = reasons

    def judged(self, record: JudgedRecord) -> JudgedAnswer:
        """Return what comes of a case."""
        found = {name: self._measured(name, record) for name in self._measures}
        known = {
            name: one.value for name, one in found.items() if one.value is not None
        }
        whole = len(known) == len(JUDGED_MEASURES)
        return JudgedAnswer(
            id=record.id,
            values=word_measures(record) | known,
            errors={n: one.told for n, one in found.items() if n not in known},
            reasons={n: found[n].told for n in known if found[n].told},
            doubts={n: found[n].doubt for n in known if found[n].doubt},
            passed=min(known.values()) >= self._threshold if whole else None,
        )

    def _measured(self, name: str, record: JudgedRecord) -> _Measured:
        """Return a measure of a case, or why there is none."""
        if name in _NEED_EXPECTED and record.expected is None:
            return _Measured(told="no answer is expected")
        if not record.retrieved:
            return _Measured(value=0.0, told="nothing was retrieved")
        if name not in _NEED_EXPECTED and not record.answer:
            return _Measured(told="no answer came")
        try:
            return self._asked(name, record)
        except UselessAnswerError as error:
            _LOG.info("No %s of case %s: %s", name, record.id, error)
            return _Measured(told=str(error))
        except ModelError as error:
            if not is_refusal(error):
                raise
            return _Measured(told=str(error))

    def _asked(self, name: str, record: JudgedRecord) -> _Measured:
        """Have DeepEval measure a case with an object made for it alone."""
        with quiet_deepeval():
            import deepeval.metrics
            from deepeval.test_case import LLMTestCase

            metric: Any = getattr(deepeval.metrics, _CLASSES[name])(
                threshold=self._threshold,
                model=self._model,
                include_reason=self._reasons,
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
            told = f"the judge's verdicts give {score!r}, no number"
            return _Measured(told=told)
        return _Measured(
            value=min(1.0, max(0.0, float(score))),
            told=str(metric.reason or ""),
            doubt=_doubt(name, metric, record),
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

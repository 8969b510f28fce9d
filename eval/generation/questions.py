"""Questions of contexts, by our own prompts or by DeepEval's Synthesizer.

Ours are draft, evolve, critique and answer. Questions are asked for one after the
other; an interrupted run goes on.
"""

from __future__ import annotations

import logging
import random
import re
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

from knowtrail.eval.generation.contexts import (
    ContextGroup,
    ContextSentence,
    check_weights,
)
from knowtrail.eval.judged import UselessAnswerError, deepeval_model, quiet_deepeval
from knowtrail.eval.models import (
    TEXTS,
    ModelLike,
    ModelOptions,
    Respondent,
    ask,
    is_refusal,
    respondent,
)
from knowtrail.graph.errors import InputError, ModelError, check_ranges
from knowtrail.graph.models.prompts import estimated_tokens, marked
from knowtrail.graph.models.requests import object_form
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.answers import known_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.files.journal import State
    from knowtrail.graph.settings import Settings

EVOLUTIONS = ("reasoning", "multi-context", "comparative")
"""How a question may be made harder."""

DEFAULT_EVOLUTIONS = {"reasoning": 0.4, "multi-context": 0.4, "comparative": 0.2}
"""Evolution -> its share, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOptions:
    """How questions are made; the defaults are those of the published data sets.

    Attributes:
        rounds: How often a question is evolved; 0 for never.
        threshold: Quality, from 0 to 1, that the critic must see in a question.
        retries: How often the critic looks at a question and has it written anew.
        retry_failed: Whether what failed in an earlier run is tried again.
    """

    evolutions: Mapping[str, float] = field(
        default_factory=lambda: dict(DEFAULT_EVOLUTIONS)
    )
    rounds: int = 1
    threshold: float = 0.8
    retries: int = 5
    retry_failed: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_weights(self.evolutions, EVOLUTIONS, "evolution")
        check_ranges(
            threshold=(self.threshold, 0, 1),
            rounds=(self.rounds, 0, 5),
            retries=(self.retries, 1, 20),
        )


def evolution_plan(count: int, options: QuestionOptions) -> list[tuple[str, ...]]:
    """Return the evolutions of so many questions; the shares hold exactly."""
    chance = random.Random(f"evolutions:{options.seed}")  # noqa: S311 - no secret
    parts = _nearest(count * options.rounds, options.evolutions)
    kinds = [name for name, part in parts.items() for _ in range(part)]
    chance.shuffle(kinds)
    return [tuple(kinds[i :: max(count, 1)][: options.rounds]) for i in range(count)]


def _nearest(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Divide a number by weights: what is left goes to the largest remainders."""
    total = sum(weights.values())
    exact = {name: count * weight / total for name, weight in weights.items()}
    parts = {name: int(part) for name, part in exact.items()}
    by_rest = sorted(exact, key=lambda name: parts[name] - exact[name])
    for name in by_rest[: count - sum(parts.values())]:
        parts[name] += 1
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedQuestion:
    """A question, its answer, what it rests on; the quality is from 0 to 1."""

    id: str
    question: str
    answer: str
    group: ContextGroup
    gold: tuple[ContextSentence, ...]
    evolutions: tuple[str, ...] = ()
    quality: float | None = None
    synthesizer: str = "chain"
    model: str = ""

    def metadata(self) -> dict[str, Any]:
        """Return what is known of how it was made, as JSON values."""
        return {
            "grouping": self.group.grouping,
            "group": self.group.id,
            "chunks": list(self.group.chunks),
            "documents": list(self.group.documents),
            "context_sentences": [s.id for s in self.group.sentences],
            "gold_sentences": [s.id for s in self.gold],
            "evolutions": list(self.evolutions),
            "quality": self.quality,
            "synthesizer": self.synthesizer,
            "model": self.model,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFailure:
    """A question that did not come; `step` is where it ended, such as `critique`."""

    group: str
    grouping: str
    number: int
    step: str
    reason: str


PROMPT_VERSION = "1"
"""Changes with the prompts, so that answers to others are not taken for theirs."""

_TOLD = TEXTS["generation"]
_QUESTION = object_form(question={"type": "string", "minLength": 8, "maxLength": 600})
_CRITIQUE = object_form(
    feedback={"type": "string", "maxLength": 600},
    score={"type": "number", "minimum": 0, "maximum": 1},
)


def _answer_form(given: int) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": given}
    return object_form(
        answerable={"type": "boolean"},
        answer={"type": "string", "maxLength": 1_200},
        sentences={"type": "array", "items": number, "maxItems": given},
    )


def _block(name: str, text: str) -> str:
    return marked(name, text)[1]


def _about(lines: Sequence[str], question: str = "") -> str:
    """Return what a prompt begins with: sentences, and a question about them."""
    given = f"These are the sentences:\n{_block('sentences', chr(10).join(lines))}"
    if not question:
        return given
    return f"{given}\nThis is a question about them:\n{_block('question', question)}"


_TALKS_OF_TEXT = re.compile(
    r"\b(?:the|these|this|given|provided|above)\s+"
    r"(?:\w+\s+)?(?:text|context|passages?|sentences?|excerpts?)\b",
    re.IGNORECASE,
)
ROOM = 900
"""Tokens that a prompt needs beside sentences."""


class ChainError(InputError):
    """A question did not come of a context."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(reason)
        self.step = step


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainWriter:
    """Our own chain of prompts."""

    who: Respondent
    critic: Respondent
    options: QuestionOptions

    @property
    def made_by(self) -> tuple[str, str]:
        """Return what asks, and its version."""
        return "chain", PROMPT_VERSION

    @property
    def key(self) -> str:
        """Return what changes with model, prompts or options."""
        asked = (self.who.key, self.critic.key, f"{self.options.threshold:g}")
        return content_key(*self.made_by, *asked, self.options.retries)

    def again(self, take: int) -> Self:
        """Return a writer whose models are asked for another answer."""
        who, critic = (replace(one, take=take) for one in (self.who, self.critic))
        return replace(self, who=who, critic=critic)

    def write(
        self, group: ContextGroup, evolutions: Sequence[str], others: Sequence[str]
    ) -> GeneratedQuestion:
        """Return another question about a context than those asked already."""
        lines = _lines(group, self.who)
        prompt = f"{_about(lines)}\nWrite one question that they answer."
        if others:
            asked = _block("questions", "\n".join(others))
            prompt = f"{prompt}\nAsk something else than these:\n{asked}"
        question = self._question("draft", prompt)
        for evolution in evolutions:
            about, rule = _about(lines, question), _TOLD["evolutions"][evolution]
            prompt = _TOLD["evolve"].format(about=about, rule=rule)
            question = self._question("evolve", prompt)
        question, quality = self._critiqued(question, lines)
        if question in others:
            raise ChainError("critique", f"{question!r} was asked already")
        prompt = _TOLD["answer"].format(
            about=_about(lines), question=_block("question", question)
        )
        said = self._asked("answer", prompt, _answer_form(len(lines)))
        text = " ".join(said["answer"].split())
        numbers = sorted(set(said["sentences"]))
        if not said["answerable"] or not text:
            raise ChainError("answer", f"the context does not answer {question!r}")
        if not numbers:
            raise ChainError("answer", f"the answer {text!r} rests on no sentence")
        return GeneratedQuestion(
            id=content_key("question", group.id, question),
            question=question,
            answer=text,
            group=group,
            gold=tuple(group.sentences[number - 1] for number in numbers),
            evolutions=tuple(evolutions),
            quality=quality,
            synthesizer="chain",
            model=self.who.name,
        )

    def _asked(
        self,
        step: str,
        prompt: str,
        schema: dict[str, Any],
        who: Respondent | None = None,
    ) -> dict[str, Any]:
        answer = ask(who or self.who, _TOLD["system"], prompt, schema=schema)
        if answer.value is None:
            raise ChainError(step, answer.error or "no answer came")
        return answer.value

    def _question(self, step: str, prompt: str) -> str:
        value = self._asked(step, prompt, _QUESTION)["question"]
        question = " ".join(value.split())
        if len(question) < 8:
            raise ChainError(step, f"{question!r} is no question")
        return question

    def _critiqued(self, question: str, lines: Sequence[str]) -> tuple[str, float]:
        """Return a question that the critic is content with, and the score."""
        best = 0.0
        for number in range(1, self.options.retries + 1):
            if talk := _TALKS_OF_TEXT.search(question):
                score, feedback = 0.0, f"It speaks of {talk[0]!r}: name the thing."
            else:
                prompt = _TOLD["critique"].format(question=_block("question", question))
                said = self._asked("critique", prompt, _CRITIQUE, self.critic)
                score, feedback = float(said["score"]), said["feedback"]
            if score >= self.options.threshold:
                return question, score
            best = max(best, score)
            if number < self.options.retries:
                prompt = _TOLD["rewrite"].format(
                    about=_about(lines, question), feedback=_block("feedback", feedback)
                )
                question = self._question("rewrite", prompt)
        raise ChainError(
            "critique",
            f"the critic's best score of {self.options.retries} is {best:.2f}, below "
            f"{self.options.threshold:g}: {question!r}",
        )


def chain_writer(
    model: ModelLike,
    *,
    critic: ModelLike | None = None,
    state: State,
    options: QuestionOptions | None = None,
    models: ModelOptions | None = None,
    settings: Settings | None = None,
) -> ChainWriter:
    """Return a writer that needs nothing but chat models; without a critic, but one."""
    how = models or ModelOptions()
    who = respondent(model, options=how, settings=settings, state=state)
    judge = who
    if critic is not None:
        judge = respondent(critic, options=how, settings=settings, state=state)
    return ChainWriter(who=who, critic=judge, options=options or QuestionOptions())


def _lines(group: ContextGroup, who: Respondent) -> tuple[str, ...]:
    """Return numbered sentences under their titles; all of them must fit."""
    titles = dict(zip(group.documents, group.titles, strict=True))
    lines = tuple(
        f"[{number}] ({titles[s.document]}) {' '.join(s.text.split())}"
        for number, s in enumerate(group.sentences, start=1)
    )
    limit = who.model.prompt_tokens
    if limit is not None and sum(map(estimated_tokens, lines)) + ROOM > limit:
        raise ChainError(
            "draft",
            f"its {len(lines)} sentences do not fit the {limit} tokens of {who.name}: "
            "make smaller contexts, or choose another model",
        )
    return lines


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedQuestions:
    """What came of a run; `reused` counts what was known from an earlier one."""

    questions: tuple[GeneratedQuestion, ...]
    failures: tuple[QuestionFailure, ...]
    reused: int = 0


def generate_questions(
    groups: Sequence[ContextGroup],
    writer: ChainWriter,
    *,
    state: State,
    goldens: int | None = None,
    per_group: int = 1,
    options: QuestionOptions | None = None,
    progress: Progress | None = None,
) -> GeneratedQuestions:
    """Ask for questions about contexts, at most `goldens`, or `per_group` of each.

    Each question, and each failure, is kept as soon as it is there; the same call with
    the same state takes up where another ended. A context that yields no question does
    not end the run.
    """
    options = options or QuestionOptions()
    total = len(groups) * per_group
    total = total if goldens is None else min(goldens, total)
    plan = evolution_plan(total, options)
    run = _Run(writer=writer, state=state, options=options)
    # Every context gets its first question before any gets its second.
    for number in range(total):
        round_, place = divmod(number, len(groups))
        run.question(groups[place], round_, plan[number])
        if progress is not None:
            progress("asking questions", number + 1, total)
    return GeneratedQuestions(
        questions=tuple(run.questions), failures=tuple(run.failures), reused=run.reused
    )


@dataclass(slots=True, kw_only=True)
class _Run:
    writer: ChainWriter
    state: State
    options: QuestionOptions
    questions: list[GeneratedQuestion] = field(default_factory=list)
    failures: list[QuestionFailure] = field(default_factory=list)
    reused: int = 0

    def question(
        self, group: ContextGroup, number: int, evolutions: tuple[str, ...]
    ) -> None:
        others = [q.question for q in self.questions if q.group.id == group.id]
        key = content_key(
            "golden", self.writer.key, group.id, number, *evolutions, *others
        )
        known: dict[str, Any] | None = self.state.get(key)
        failed = known and (known["failure"] or self._repeats(known["question"]))
        if known is not None and not (failed and self.options.retry_failed):
            self.reused += 1
        else:
            take = known["take"] + 1 if known else 0
            known = {"take": take, "failure": None, "question": None}
            try:
                writer = self.writer.again(take)
                known["question"] = _row(writer.write(group, evolutions, others))
            except ChainError as error:
                known["failure"] = _failure(group, number, error.step, str(error))
            except ModelError as error:
                if not is_refusal(error):
                    raise
                known["failure"] = _failure(group, number, "model", str(error))
            self.state.put(key, known, group=group.id)
        failure = known["failure"]
        if failure is None and self._repeats(known["question"]):
            reason = f"{known['question']['question']!r} was asked already"
            failure = _failure(group, number, "answer", reason)
        if failure:
            self.failures.append(QuestionFailure(**failure))
        else:
            self.questions.append(_question(known["question"], group))

    def _repeats(self, question: dict[str, Any]) -> bool:
        """Return whether another context of this run has led to a question."""
        asked = {_folded(one.question) for one in self.questions}
        return _folded(question["question"]) in asked


def _failure(
    group: ContextGroup, number: int, step: str, reason: str
) -> dict[str, Any]:
    _LOG.info("No question of context %s (%s): %s", group.id, step, reason)
    about = {"group": group.id, "grouping": group.grouping, "number": number}
    return {**about, "step": step, "reason": reason}


def _folded(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip(" ?.!")


def _row(question: GeneratedQuestion) -> dict[str, Any]:
    """Return a question as it is kept: without its context, which is known."""
    names = ("id", "question", "answer", "quality", "synthesizer", "model")
    return {name: getattr(question, name) for name in names} | {
        "gold": [s.id for s in question.gold],
        "evolutions": list(question.evolutions),
    }


def _question(row: dict[str, Any], group: ContextGroup) -> GeneratedQuestion:
    gold = set(row["gold"])
    return GeneratedQuestion(**{
        **row,
        "group": group,
        "gold": tuple(s for s in group.sentences if s.id in gold),
        "evolutions": tuple(row["evolutions"]),
    })


LONGEST_CONTEXT = 8_000
"""Characters that the synthesizer is shown."""

_DEEPEVAL_NAMES = {
    "reasoning": "Reasoning",
    "multi-context": "Multi-context",
    "comparative": "Comparative",
}


def deepeval_writer(model: ModelLike, **given: Any) -> ChainWriter:
    """Return a writer that asks DeepEval's Synthesizer; takes what `chain_writer` does.

    Each question has the evolutions that the plan gives it, so that a seed repeats
    them: DeepEval's own choice is at random. A question below the critic's threshold at
    the last look is left out, which DeepEval would keep. Its gold is the whole context,
    since DeepEval does not say what an answer rests on.
    """
    chain = chain_writer(model, **given)
    with quiet_deepeval():
        return _DeepEvalWriter(
            who=chain.who, critic=chain.critic, options=chain.options
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeepEvalWriter(ChainWriter):
    @property
    def made_by(self) -> tuple[str, str]:
        return "deepeval", version("deepeval")

    def write(
        self, group: ContextGroup, evolutions: Sequence[str], others: Sequence[str]
    ) -> GeneratedQuestion:
        # The synthesizer cannot be told what was asked already: a further question
        # about the same context is a further take.
        asked = self.again(self.who.take + len(others))
        try:
            golden = asked._golden(group, evolutions)
        except UselessAnswerError as error:
            raise ChainError("synthesizer", str(error)) from error
        question = " ".join(str(golden.input or "").split())
        answer = " ".join(str(golden.expected_output or "").split())
        told = golden.additional_metadata or {}
        quality = known_share(told.get("synthetic_input_quality"))
        if quality is None or quality < self.options.threshold:
            said = "no number" if quality is None else f"{quality:g}"
            reason = f"the critic's last score is {said}: {question!r}"
            raise ChainError("critique", reason)
        if len(question) < 8 or not answer or question in others:
            step = "answer"
            raise ChainError(step, f"no new question with an answer came: {question!r}")
        return GeneratedQuestion(
            id=content_key("question", group.id, question),
            question=question,
            answer=answer,
            group=group,
            gold=group.sentences,
            evolutions=_evolutions(golden),
            quality=quality,
            synthesizer=" ".join(self.made_by),
            model=self.who.name,
        )

    def _golden(self, group: ContextGroup, evolutions: Sequence[str]) -> Any:
        """Return DeepEval's golden, its evolutions one after the other."""
        with quiet_deepeval():
            from deepeval.synthesizer import Evolution, Synthesizer
            from deepeval.synthesizer.config import EvolutionConfig, FiltrationConfig

            kinds = sorted({_DEEPEVAL_NAMES[name] for name in evolutions})
            synthesizer = Synthesizer(
                model=deepeval_model(self.who),
                async_mode=False,
                filtration_config=FiltrationConfig(
                    synthetic_input_quality_threshold=self.options.threshold,
                    max_quality_retries=self.options.retries,
                    critic_model=deepeval_model(self.critic),
                ),
                evolution_config=EvolutionConfig(
                    num_evolutions=len(evolutions),
                    evolutions={Evolution(kind): 1 / len(kinds) for kind in kinds},
                ),
            )
            goldens = synthesizer.generate_goldens_from_contexts(
                contexts=[_context(group)],
                include_expected_output=True,
                max_goldens_per_context=1,
                _send_data=False,
            )
        if not goldens:
            raise ChainError("synthesizer", "the synthesizer gave no question")
        return goldens[0]


def _evolutions(golden: Any) -> tuple[str, ...]:
    """Return the evolutions that DeepEval says it used, by our names."""
    ours = {theirs: name for name, theirs in _DEEPEVAL_NAMES.items()}
    used = (golden.additional_metadata or {}).get("evolutions") or []
    return tuple(ours.get(str(getattr(one, "value", one)), str(one)) for one in used)


def _context(group: ContextGroup) -> list[str]:
    kept: list[str] = []
    room = LONGEST_CONTEXT
    for passage in group.passages():
        if passage := passage[:room]:
            kept.append(passage)
        room -= len(passage)
    return kept

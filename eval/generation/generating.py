"""Questions of contexts, one after the other; an interrupted run goes on."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from knowtrail.eval.generation.chain import (
    PROMPT_VERSION,
    ChainError,
    GeneratedQuestion,
    QuestionFailure,
    QuestionOptions,
    chain_question,
    evolution_plan,
)
from knowtrail.eval.models import KeptRespondent, ModelOptions, as_model, is_refusal
from knowtrail.graph.errors import ModelError
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from knowtrail.eval.generation.contexts import ContextGroup
    from knowtrail.eval.models import State
    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings

_LOG = logging.getLogger(__name__)


class Writer(Protocol):
    """What makes a question of a context."""

    @property
    def key(self) -> str:
        """Return what changes with whatever changes the questions."""
        ...

    def write(
        self,
        group: ContextGroup,
        *,
        evolutions: Sequence[str],
        others: Sequence[str],
        take: int,
    ) -> GeneratedQuestion:
        """Return a question about a context.

        Args:
            group: The context.
            evolutions: How the question is made harder.
            others: Questions that were asked about it already.
            take: 0, or how often this question has failed before.

        Raises:
            ChainError: If none comes of it.
            ModelError: If the model's server is down or refuses.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedQuestions:
    """What came of a run.

    Attributes:
        questions: Those that came, in the order of their contexts.
        reused: How many of both were known from an earlier run.
    """

    questions: tuple[GeneratedQuestion, ...]
    failures: tuple[QuestionFailure, ...]
    reused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainWriter:
    """Our own chain of prompts."""

    who: KeptRespondent
    critic: KeptRespondent
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

    def write(
        self,
        group: ContextGroup,
        *,
        evolutions: Sequence[str],
        others: Sequence[str],
        take: int,
    ) -> GeneratedQuestion:
        """Return a question about a context."""
        return chain_question(
            group,
            who=replace(self.who, take=take),
            critic=replace(self.critic, take=take),
            options=self.options,
            evolutions=evolutions,
            others=others,
        )


def chain_writer(
    model: str | BaseChatModel | LanguageModel,
    *,
    critic: str | BaseChatModel | LanguageModel | None = None,
    state: State,
    options: QuestionOptions | None = None,
    models: ModelOptions | None = None,
    settings: Settings | None = None,
) -> ChainWriter:
    """Return a writer that needs nothing but a chat model.

    Args:
        model: Name of a model, or any LangChain chat model.
        critic: Who judges the questions; None is the same model.
        state: Where what models say is kept.
        options: Threshold and retries.
        models: How models are asked.
        settings: Where Ollama answers; None takes the environment's.
    """
    models = models or ModelOptions()
    who = KeptRespondent(
        model=as_model(model, settings=settings), options=models, state=state
    )
    judge = who
    if critic is not None:
        judge = replace(who, model=as_model(critic, settings=settings))
    return ChainWriter(who=who, critic=judge, options=options or QuestionOptions())


def generate_questions(
    groups: Sequence[ContextGroup],
    writer: Writer,
    *,
    state: State,
    goldens: int | None = None,
    per_group: int = 1,
    options: QuestionOptions | None = None,
    progress: Progress | None = None,
) -> GeneratedQuestions:
    """Ask for questions about contexts.

    Each question, and each failure, is kept as soon as it is there; the same call with
    the same state takes up where another ended. A context that yields no question does
    not end the run.

    Args:
        groups: The contexts.
        writer: What makes questions.
        state: What is finished.
        goldens: Questions wanted at most; None for `per_group` of each context.
        per_group: Questions asked about one context.
        options: Evolutions, and whether to try failed ones again.
        progress: Told of each question.

    Raises:
        ModelError: If the model's server is down; what is finished is kept.
        StorageError: If a result cannot be kept.
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
        questions=tuple(run.questions),
        failures=tuple(run.failures),
        reused=run.reused,
    )


@dataclass(slots=True, kw_only=True)
class _Run:
    """The questions so far."""

    writer: Writer
    state: State
    options: QuestionOptions
    questions: list[GeneratedQuestion] = field(default_factory=list)
    failures: list[QuestionFailure] = field(default_factory=list)
    reused: int = 0

    def question(
        self, group: ContextGroup, number: int, evolutions: tuple[str, ...]
    ) -> None:
        """Take a question from the state, or ask for it and keep it."""
        others = [q.question for q in self.questions if q.group.id == group.id]
        key = content_key(
            "golden", self.writer.key, group.id, number, *evolutions, *others
        )
        known: dict[str, Any] | None = self.state.get(key)
        take = known["take"] + 1 if known else 0
        # Whether a question was asked already hangs on the others of this run, so that
        # it is seen anew each time and not kept.
        failed = known and (known["failure"] or self._repeated(known, group, number))
        if known is not None and not (failed and self.options.retry_failed):
            self.reused += 1
        else:
            known = self._made(group, number, evolutions, others, take)
            self.state.put(key, known, group=group.id)
        if known["failure"]:
            self.failures.append(QuestionFailure(**known["failure"]))
        elif repeated := self._repeated(known, group, number):
            self.failures.append(repeated)
        else:
            self.questions.append(_question(known["question"], group))

    def _made(
        self,
        group: ContextGroup,
        number: int,
        evolutions: tuple[str, ...],
        others: Sequence[str],
        take: int,
    ) -> dict[str, Any]:
        """Return a question or why there is none, as it is kept."""
        try:
            made = self.writer.write(
                group, evolutions=evolutions, others=others, take=take
            )
        except ChainError as error:
            step, reason = error.step, str(error)
        except ModelError as error:
            if not is_refusal(error):
                raise
            step, reason = "model", str(error)
        else:
            return {"take": take, "failure": None, "question": _row(made)}
        failure = _failure(group, number, step, reason)
        return {"take": take, "failure": asdict(failure), "question": None}

    def _repeated(
        self, known: dict[str, Any], group: ContextGroup, number: int
    ) -> QuestionFailure | None:
        """Return a failure where another context has led to a question already.

        It would count twice.
        """
        if known["failure"]:
            return None
        asked = known["question"]["question"]
        if all(_folded(asked) != _folded(q.question) for q in self.questions):
            return None
        return _failure(group, number, "answer", f"{asked!r} was asked already")


def _failure(group: ContextGroup, *told: Any) -> QuestionFailure:
    """Return why a context has no question, by number, step and reason; tell it."""
    number, step, reason = told
    _LOG.info("No question of context %s (%s): %s", group.id, step, reason)
    return QuestionFailure(
        group=group.id,
        grouping=group.grouping,
        number=number,
        step=step,
        reason=reason,
    )


def _folded(question: str) -> str:
    """Return a question in the form that questions are compared in."""
    return " ".join(question.casefold().split()).rstrip(" ?.!")


def _row(question: GeneratedQuestion) -> dict[str, Any]:
    """Return a question as it is kept: without its context, which is known."""
    names = ("id", "question", "answer", "quality", "synthesizer", "model")
    return {name: getattr(question, name) for name in names} | {
        "gold": [s.id for s in question.gold],
        "evolutions": list(question.evolutions),
    }


def _question(row: dict[str, Any], group: ContextGroup) -> GeneratedQuestion:
    """Return a kept question."""
    gold = set(row["gold"])
    return GeneratedQuestion(**{
        **row,
        "group": group,
        "gold": tuple(s for s in group.sentences if s.id in gold),
        "evolutions": tuple(row["evolutions"]),
    })

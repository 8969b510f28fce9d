"""Our own way from a context to a question: draft, evolve, critique, answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval.generation.options import GeneratedQuestion
from eval.generation.prompts import (
    CRITIQUE,
    SYSTEM,
    answer_prompt,
    answer_schema,
    critique_prompt,
    draft_prompt,
    evolve_prompt,
    question_schema,
    rewrite_prompt,
)
from eval.skn.calls import ask
from graph.errors import InputError
from graph.prompts import estimated_tokens
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.generation.contexts import ContextGroup
    from eval.generation.options import QuestionOptions
    from eval.skn.models import Respondent

__all__ = ["ChainError", "chain_question"]

_SPACES = re.compile(r"\s+")
_TALKS_OF_TEXT = re.compile(
    r"\b(?:the|these|this|given|provided|above)\s+"
    r"(?:\w+\s+)?(?:text|context|passages?|sentences?|excerpts?)\b",
    re.IGNORECASE,
)
ROOM = 900
"""Tokens that a prompt needs beside sentences."""


class ChainError(InputError):
    """A question did not come of a context.

    Attributes:
        step: Where it ended.
    """

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(reason)
        self.step = step


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chain:
    """One context and who is asked about it."""

    who: Respondent
    critic: Respondent
    options: QuestionOptions
    lines: tuple[str, ...]

    def asked(
        self,
        step: str,
        prompt: str,
        schema: dict[str, Any],
        *,
        critic: bool = False,
    ) -> dict[str, Any]:
        """Return an object that a model answered, of the form asked for."""
        who = self.critic if critic else self.who
        answer = ask(who, SYSTEM, prompt, schema=schema)
        if answer.value is None:
            raise ChainError(step, answer.error or "no answer came")
        return answer.value

    def question(self, step: str, prompt: str) -> str:
        """Return a question that the model wrote."""
        value = self.asked(step, prompt, question_schema())["question"]
        question = _SPACES.sub(" ", value).strip()
        if len(question) < 8:
            raise ChainError(step, f"{question!r} is no question")
        return question

    def critiqued(self, question: str) -> tuple[str, float]:
        """Return a question that the critic is content with, and the score."""
        best = 0.0
        for number in range(1, self.options.retries + 1):
            if talk := _TALKS_OF_TEXT.search(question):
                score, feedback = 0.0, f"It speaks of {talk[0]!r}: name the thing."
            else:
                prompt = critique_prompt(question)
                said = self.asked("critique", prompt, CRITIQUE, critic=True)
                score, feedback = float(said["score"]), said["feedback"]
            if score >= self.options.threshold:
                return question, score
            best = max(best, score)
            if number < self.options.retries:
                prompt = rewrite_prompt(self.lines, question, feedback)
                question = self.question("rewrite", prompt)
        reason = (
            f"the critic's best score of {self.options.retries} is {best:.2f}, below "
            f"{self.options.threshold:g}: {question!r}"
        )
        raise ChainError("critique", reason)


def chain_question(
    group: ContextGroup,
    *,
    who: Respondent,
    critic: Respondent,
    options: QuestionOptions,
    evolutions: Sequence[str],
    others: Sequence[str] = (),
) -> GeneratedQuestion:
    """Make one question of a context.

    Args:
        group: The context.
        who: Who writes and answers.
        critic: Who judges what is written.
        options: Threshold and retries.
        evolutions: How the question is made harder, one after the other.
        others: Questions that were asked about the context already.

    Returns:
        The question. Its gold sentences are those that the answer was said to rest
        on.

    Raises:
        ChainError: If an answer was of no use after two attempts, the critic is not
            content, or the context does not answer the question.
        ModelError: If the model's server is down or refuses.
    """
    lines = _lines(group, who)
    chain = _Chain(who=who, critic=critic, options=options, lines=lines)
    question = chain.question("draft", draft_prompt(lines, others))
    for evolution in evolutions:
        question = chain.question("evolve", evolve_prompt(lines, question, evolution))
    question, quality = chain.critiqued(question)
    if question in others:
        raise ChainError("critique", f"{question!r} was asked already")
    prompt = answer_prompt(lines, question)
    said = chain.asked("answer", prompt, answer_schema(len(lines)))
    text = _SPACES.sub(" ", said["answer"]).strip()
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
        model=who.name,
    )


def _lines(group: ContextGroup, who: Respondent) -> tuple[str, ...]:
    """Return numbered sentences under their titles; all of them must fit."""
    titles = dict(zip(group.documents, group.titles, strict=True))
    lines = tuple(
        f"[{number}] ({titles[s.document]}) {_SPACES.sub(' ', s.text).strip()}"
        for number, s in enumerate(group.sentences, start=1)
    )
    limit = who.model.prompt_tokens
    if limit is not None and sum(map(estimated_tokens, lines)) + ROOM > limit:
        reason = (
            f"its {len(lines)} sentences do not fit the {limit} tokens of {who.name}: "
            "make smaller contexts, or choose another model"
        )
        raise ChainError("draft", reason)
    return lines

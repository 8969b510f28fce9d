"""Asking a pipeline labelled questions, conversations turn by turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eval.specificity.judging import judge
from graph.progress import silent
from retrieval.specificity.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eval.specificity.judging import Key, Outcome
    from eval.specificity.questions import Question
    from graph.progress import Progress
    from retrieval.specificity.pipeline import TemplatePipeline

__all__ = ["ask_questions"]


def ask_questions(
    pipeline: TemplatePipeline,
    questions: Sequence[Question],
    key: Key,
    *,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress = silent,
) -> tuple[Outcome, ...]:
    """Ask every question and judge what comes of it.

    Questions of one conversation follow each other; each is asked with what the
    pipeline itself made of those before it, right or wrong.

    Args:
        pipeline: What is measured.
        questions: With their labels.
        key: What the institutions of its graph are.
        clock: Tells seconds.
        progress: Told of each question.
    """
    outcomes = []
    current, said = None, Conversation()
    for done, question in enumerate(questions, start=1):
        if question.conversation is None or question.conversation != current:
            said = Conversation()
        current = question.conversation
        begin = clock()
        result = pipeline.forward(question.question, conversation=said)
        seconds = clock() - begin
        said = result.conversation
        outcomes.append(judge(question, result, key, seconds=seconds))
        progress("questions", done, len(questions))
    return tuple(outcomes)

"""Answers from what was retrieved, and what a language model thinks of them."""

from __future__ import annotations

from knowtrail.eval.judged.exact import exact_match, normalised_answer, token_f1
from knowtrail.eval.judged.judging import (
    ANSWER_MEASURES,
    JUDGED_MEASURES,
    PASS_THRESHOLD,
    Judged,
    JudgedAnswer,
    JudgedRecord,
    judge_answers,
    word_measures,
)
from knowtrail.eval.judged.stage import (
    GivenAnswer,
    JudgedResults,
    JudgingOptions,
    answer_question,
    judge_results,
    judged_measure_names,
)

__all__ = [
    "ANSWER_MEASURES",
    "JUDGED_MEASURES",
    "PASS_THRESHOLD",
    "GivenAnswer",
    "Judged",
    "JudgedAnswer",
    "JudgedRecord",
    "JudgedResults",
    "JudgingOptions",
    "answer_question",
    "exact_match",
    "judge_answers",
    "judge_results",
    "judged_measure_names",
    "normalised_answer",
    "token_f1",
    "word_measures",
]

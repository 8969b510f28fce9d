"""Verdicts on the rows of a benchmark; one that is missing counts as the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.skn.abstention import abstains
from eval.skn.judges import JUDGES, judge_answer
from eval.skn.metrics import normalized_hallucination
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eval.skn.models import Respondent

__all__ = ["NOTHING_TO_JUDGE", "asking", "is_judged", "judge_row"]

NOTHING_TO_JUDGE = "the agent gave no answer"


def asking(who: Respondent) -> Callable[[str, str, str], dict[str, Any]]:
    """Return a function that asks a model for verdicts.

    Args:
        who: The judge.
    """

    def verdict(name: str, answer: str, beside: str) -> dict[str, Any]:
        return judge_answer(JUDGES[name], who, answer, beside).as_dict()

    return verdict


def is_judged(row: dict[str, Any], variant: str) -> bool:
    """Return whether a row has all verdicts on a variant."""
    return all(
        f"{variant}_{name}" in row
        for name in ("correct", "hallucination", "groundedness", "abstained")
    )


def judge_row(
    row: dict[str, Any],
    variant: str,
    verdict: Callable[[str, str, str], dict[str, Any]],
    *,
    abstention: bool = False,
) -> None:
    """Add the verdicts on one answer to its row.

    A judge that fails says so under `<variant>_judges`, and its verdict is the worst
    there is: wrong, made up, not grounded. An answer that did not come is judged so.

    Args:
        row: With `raw_text`, `ground_truth`, `answerable` and `<variant>_answer`.
        variant: Whose answer is judged.
        verdict: Takes judge, answer and what it is compared with; returns an `Answer`
            as a dict.
        abstention: Whether a judge says what refuses to answer, instead of phrases.

    Raises:
        InputError: If the row lacks something.
        ModelError: If the judge's server is down or refuses.
    """
    answer = str(_given(row, f"{variant}_answer"))
    source = str(_given(row, "raw_text"))
    asked: dict[str, dict[str, Any]] = {}

    def ask(name: str, beside: str) -> dict[str, Any] | None:
        if answer.strip():
            asked[name] = verdict(name, answer, beside)
        else:
            asked[name] = {"value": None, "error": NOTHING_TO_JUDGE}
        value: dict[str, Any] | None = asked[name]["value"]
        return value

    row[f"{variant}_correct"] = None
    if row.get("answerable", True):
        value = ask("accuracy", str(_given(row, "ground_truth")))
        row[f"{variant}_correct"] = value is not None and value["correct"]
    row[f"{variant}_hallucination"] = _hallucination(ask("hallucination", source))
    row[f"{variant}_groundedness"] = ask("groundedness", source) or {
        "groundedness_score": 0.0,
        "unsupported_fraction": 1.0,
    }
    by_phrase = abstains(answer)
    row[f"{variant}_abstained"] = by_phrase
    if abstention:
        value = ask("abstention", str(_given(row, "question")))
        row[f"{variant}_abstained_by_phrase"] = by_phrase
        # Of a refusal the worst that can be said depends on the question.
        row[f"{variant}_abstained"] = (
            bool(row.get("answerable", True)) if value is None else value["abstained"]
        )
    row[f"{variant}_judges"] = {
        name: {key: said[key] for key in _KEPT if key in said}
        for name, said in asked.items()
    }


_KEPT = ("error", "prompt_tokens", "completion_tokens", "seconds", "attempts")


def _given(row: dict[str, Any], name: str) -> Any:
    """Return what a row has."""
    if row.get(name) is None:
        msg = f"The row {row.get('id')!r} has no {name!r}: it cannot be judged."
        raise InputError(msg)
    return row[name]


def _hallucination(value: dict[str, Any] | None) -> dict[str, Any]:
    """Return a verdict with the share of claims that are made up."""
    if value is None:
        return {
            "hallucination_detected": True,
            "hallucination_severity": 1.0,
            "total_claims": 1,
            "fabricated_claims": [],
            "normalized_hallucination": 1.0,
        }
    total = max(value["total_claims"], 1)
    share = normalized_hallucination(len(value["fabricated_claims"]), total)
    return {**value, "total_claims": total, "normalized_hallucination": share}

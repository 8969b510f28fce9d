"""Verdicts become metrics; those that are missing are the worst, never dropped."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.models import Respondent, as_model
from knowtrail.eval.skn import calculate_metrics
from knowtrail.eval.skn.metrics import compare_pipelines, difference_row
from knowtrail.eval.skn.phases import JUDGES, judge_answer, judge_row, verdict_of
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.eval.skn.conftest import Scripted

SOUND = {
    "hallucination_detected": True,
    "hallucination_severity": 0.5,
    "total_claims": 4,
    "fabricated_claims": ["a"],
}


def row(number: int = 1, **more: Any) -> dict[str, Any]:
    """Return a row with an answer of one pipeline."""
    return {
        "id": number,
        "category": "diagnostic",
        "question": "Why?",
        "raw_text": "The cache is full.",
        "ground_truth": "The cache is full.",
        "answerable": True,
        "json_answer": "The cache is full.",
        "json_confidence": 0.9,
        **more,
    }


def test_rows_are_judged_and_measured(scripted: Callable[..., Scripted]) -> None:
    """Verdicts are added to the rows, and metrics have the published names."""
    model = scripted(hallucination=SOUND)
    rows = [row(1), row(2, json_confidence=0.5)]

    metrics = calculate_metrics(rows, ["json"], model)

    found = metrics["json"]
    assert (found["accuracy"], found["accuracy_ci"]["ci_low"]) == (1.0, 0.1581)
    assert found["ece"] == pytest.approx(0.3)
    assert (found["avg_confidence"], found["confidence_when_correct"]) == (0.7, 0.7)
    assert found["confidence_when_wrong"] is None
    assert (found["hallucination_rate"], found["hallucination_severity"]) == (1, 0.5)
    assert found["normalized_hallucination"] == 0.25
    assert (found["groundedness"], found["unsupported_fraction"]) == (0.8, 0.2)
    assert found["judge_failure_rate"] == 0
    assert rows[0]["json_correct"] is True
    assert rows[0]["json_hallucination"]["normalized_hallucination"] == 0.25
    assert metrics["efficiency"] == {}


def test_rows_with_verdicts_are_not_judged_again(
    scripted: Callable[..., Scripted],
) -> None:
    """Metrics of finished rows need no model; pipelines are found in the rows."""
    rows = [row()]
    calculate_metrics(rows, ["json"], scripted())

    again = calculate_metrics(rows, model=scripted(accuracy=RuntimeError("asked")))

    assert list(again) == ["json", "efficiency"]


@pytest.mark.parametrize(
    ("judge", "answer"),
    [
        ("accuracy", {"correct": "true"}),
        ("accuracy", {"correct": 1}),
        ("accuracy", "yes"),
        ("hallucination", {**SOUND, "hallucination_severity": "high"}),
        ("hallucination", {**SOUND, "hallucination_severity": 7}),
        ("hallucination", {**SOUND, "fabricated_claims": "many"}),
        (
            "hallucination",
            {**SOUND, "total_claims": 0, "fabricated_claims": ["a", "b"]},
        ),
        ("hallucination", {**SOUND, "hallucination_detected": False}),
        ("groundedness", {"groundedness_score": 1}),
        ("groundedness", {"groundedness_score": 1.2, "unsupported_fraction": 0}),
        *(
            ("groundedness", {"groundedness_score": odd, "unsupported_fraction": 0})
            for odd in (float("nan"), float("inf"))
        ),
        ("abstention", {"abstained": "no"}),
    ],
)
def test_a_verdict_that_is_none_fails(
    scripted: Callable[..., Scripted], judge: str, answer: Any
) -> None:
    """Words for truth values, numbers out of range, contradictions: no verdict."""
    model = scripted(**{judge: answer})

    found = judge_answer(JUDGES[judge], Respondent(model=as_model(model)), "a", "b")

    assert found.value is None
    assert found.error
    assert found.attempts == 2


def test_failed_judges_count_as_the_worst(scripted: Callable[..., Scripted]) -> None:
    """No verdict is wrong, made up and not grounded; its rate is a metric."""
    model = scripted(accuracy="?", hallucination="?", groundedness="?")

    found = calculate_metrics([row()], ["json"], model)["json"]

    assert (found["accuracy"], found["hallucination_rate"]) == (0, 1)
    assert (found["normalized_hallucination"], found["hallucination_severity"]) == (
        1,
        1,
    )
    assert (found["groundedness"], found["unsupported_fraction"]) == (0, 1)
    assert found["judge_failure_rate"] == 1
    assert found["judge_failures"] == {
        "accuracy": 1,
        "hallucination": 1,
        "groundedness": 1,
    }


def test_metrics_of_what_was_judged_stand_beside(
    scripted: Callable[..., Scripted],
) -> None:
    """One failed judge of two halves accuracy, but not that of the judged."""
    model = scripted(accuracy=["?", "?", {"correct": True}])

    found = calculate_metrics([row(1), row(2)], ["json"], model)["json"]

    assert found["accuracy"] == 0.5
    assert found["judged_only"]["accuracy"] == 1.0
    assert found["judge_failure_rate"] == pytest.approx(1 / 6, abs=1e-4)


def test_an_answer_that_did_not_come_is_not_judged(
    scripted: Callable[..., Scripted],
) -> None:
    """It counts as the worst, but not as a failure of the judge."""
    model = scripted()

    found = calculate_metrics([row(json_answer="")], ["json"], model)["json"]

    assert model.asked == []
    assert (found["accuracy"], found["hallucination_rate"]) == (0, 1)
    assert found["judge_failure_rate"] is None


def test_unanswerable_samples_have_no_accuracy(
    scripted: Callable[..., Scripted],
) -> None:
    """They are judged for claims and refusal alone."""
    model = scripted()
    rows = [row(answerable=False, json_answer="There is no information.")]

    found = calculate_metrics(rows, ["json"], model)["json"]

    assert rows[0]["json_correct"] is None
    assert "accuracy" not in model.kinds()
    assert (found["accuracy"], found["ece"], found["abstention_f1"]) == (None, None, 1)
    assert found["judged_only"]["accuracy"] is None


@pytest.mark.parametrize(
    ("said", "abstained"), [({"abstained": False}, False), ("?", True)]
)
def test_a_judge_can_say_what_refuses(
    scripted: Callable[..., Scripted], said: Any, abstained: bool
) -> None:
    """The phrase is kept beside; a failed judge says the worst of the two."""
    one = row(json_answer="The flag is not available by default.")

    judge_row(
        one,
        "json",
        partial(verdict_of, Respondent(model=as_model(scripted(abstention=said)))),
        abstention=True,
    )

    assert one["json_abstained_by_phrase"] is True
    assert one["json_abstained"] is abstained


@pytest.mark.parametrize("missing", ["raw_text", "ground_truth", "json_answer"])
def test_rows_that_lack_something_are_told(
    scripted: Callable[..., Scripted], missing: str
) -> None:
    """A row without an answer or a source cannot be judged."""
    with pytest.raises(InputError, match=missing):
        calculate_metrics([row(**{missing: None})], ["json"], scripted())


def test_no_rows_are_told() -> None:
    """There is nothing to measure."""
    with pytest.raises(InputError, match="no rows"):
        calculate_metrics([])


def judged(corrects: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield verdicts of a pipeline, one for each letter: y is correct."""
    for letter in corrects:
        yield {
            f"{name}_answer": "a",
            f"{name}_confidence": 0.8,
            f"{name}_correct": letter == "y",
            f"{name}_hallucination": {
                "hallucination_detected": False,
                "hallucination_severity": 0.0,
                "total_claims": 1,
                "fabricated_claims": [],
                "normalized_hallucination": 0.0,
            },
            f"{name}_groundedness": {
                "groundedness_score": 0.5,
                "unsupported_fraction": 0.5,
            },
            f"{name}_abstained": False,
            f"{name}_tokens_est": 100 if name == "json" else 40,
        }


def rows_of(**pipelines: str) -> list[dict[str, Any]]:
    """Return judged rows of several pipelines."""
    each = [list(judged(letters, name)) for name, letters in pipelines.items()]
    return [
        {"id": n, "category": "ab"[n % 2], "answerable": True, "raw_text": "x"}
        | {key: value for part in parts for key, value in part.items()}
        for n, parts in enumerate(zip(*each, strict=True))
    ]


def _compared(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return how skn differs from json, by metric."""
    found = map(difference_row, compare_pipelines(rows, ["json", "skn"]))
    return {row["metric"]: row for row in found}


def test_formats_are_compared_on_the_same_samples() -> None:
    """Twelve gains of twelve are no chance; equal metrics are."""
    rows = rows_of(json="n" * 12, skn="y" * 12)

    found = _compared(rows)

    accuracy = found["accuracy"]
    ends = accuracy["low"], accuracy["high"]
    assert (accuracy["difference"], *ends) == (1.0, 0.4707, 1.0)
    assert accuracy["p_value"] == pytest.approx(2 / 2**12, abs=1e-4)
    assert accuracy["p_corrected"] == accuracy["p_value"]
    assert (accuracy["better"], found["groundedness"]["better"]) == ("skn", "")
    assert found["ece"]["better"] == "skn"
    assert found["groundedness"]["p_value"] == 1


def test_ablated_formats_are_compared_with_the_whole() -> None:
    """Each with the baseline, and each with full SKN, no pair twice."""
    rows = rows_of(json="yn", skn_no_gaps="ny", skn="yy")

    pairs = {(o.base, o.name) for o in compare_pipelines(rows, list(_names(rows)))}

    assert pairs == {("json", "skn_no_gaps"), ("json", "skn"), ("skn", "skn_no_gaps")}


def _names(rows: list[dict[str, Any]]) -> Iterator[str]:
    for key in rows[0]:
        if key.endswith("_answer"):
            yield key.removesuffix("_answer")


def test_categories_have_their_own_metrics() -> None:
    """Every category has its count, its values and their intervals."""
    rows = rows_of(json="yyny", skn="nnnn")

    found = calculate_metrics(rows)["json"]["by_category"]

    assert list(found) == ["a", "b"]
    assert (found["a"]["n"], found["a"]["accuracy"], found["b"]["accuracy"]) == (
        2,
        0.5,
        1,
    )
    assert found["a"]["accuracy_ci"]["ci_low"] == 0


@pytest.mark.parametrize(
    ("claims", "share"), [(["a"], 0.5), ([], 0.0), ("a long text", 0.5), (None, 0.0)]
)
def test_rows_of_other_programs_are_measured(claims: Any, share: float) -> None:
    """A verdict without its share has it worked out; a text is one claim."""
    (one,) = rows_of(json="y")
    del one["json_hallucination"]["normalized_hallucination"]
    one["json_hallucination"] |= {"fabricated_claims": claims, "total_claims": 2}

    assert calculate_metrics([one])["json"]["normalized_hallucination"] == share


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("json_correct", "false", "'false' is neither true nor false"),
        ("json_abstained", "no", "'no' is neither true nor false"),
        ("answerable", "false", "'false' is neither true nor false"),
        ("json_confidence", "high", "'high'"),
        ("json_confidence", float("nan"), "nan is no finite number"),
        ("json_groundedness", {"unsupported_fraction": 0}, "groundedness_score"),
        ("json_hallucination", "none", "row 0 on 'json'"),
    ],
)
def test_verdicts_that_are_none_are_told(name: str, value: Any, told: str) -> None:
    """The word "false" is not true, whoever wrote the row."""
    (one,) = rows_of(json="y")

    with pytest.raises(InputError, match=told):
        calculate_metrics([one | {name: value}])


def test_judged_rows_need_no_source() -> None:
    """Rows of other programs may leave the search results out."""
    (one,) = rows_of(json="y")
    del one["raw_text"]

    assert calculate_metrics([one])["json"]["empty_search_rate"] == 0


def test_tokens_are_set_against_each_other() -> None:
    """SKN's tokens as a share of JSON's."""
    metrics = calculate_metrics(rows_of(json="y", skn="y"))

    assert metrics["efficiency"] == {"token_ratio_skn_vs_json": 0.4, "token_ratio_n": 1}
    json.dumps(metrics, allow_nan=False)


def test_what_is_undefined_is_nothing() -> None:
    """Where every sample has an answer, refusing is neither measured nor tested."""
    rows = rows_of(json="yn" * 6, skn="y" * 12)
    for one in rows:
        one["json_abstained"] = True

    found = calculate_metrics(rows)["json"]
    tested = {one.metric for one in compare_pipelines(rows, ["json", "skn"])}

    for name in ("abstention_precision", "abstention_recall", "abstention_f1"):
        assert found[name] is found[f"{name}_ci"] is None
        assert found["by_category"]["a"][name] is None
    assert len(tested) == 5
    assert "abstention_f1" not in tested


def test_formats_are_compared_where_both_extractions_can_be_used() -> None:
    """An empty context is no saving, and what is answered from it no success."""
    rows = rows_of(json="nnny", skn="yyyn")
    for one in rows[:3]:
        one |= {"skn_extraction_status": "failed", "skn_tokens_est": 1}

    metrics = calculate_metrics(rows)
    found = _compared(rows)

    assert metrics["skn"]["avg_context_tokens"] == 40
    assert (metrics["skn"]["n"], metrics["skn"]["usable_extractions"]) == (4, 1)
    assert metrics["efficiency"] == {"token_ratio_skn_vs_json": 0.4, "token_ratio_n": 1}
    assert (found["accuracy"]["n"], found["accuracy"]["better"]) == (1, "json")
    rows[3]["skn_extraction_status"] = "empty"
    nothing = calculate_metrics(rows)
    assert nothing["skn"]["avg_context_tokens"] is None
    assert nothing["efficiency"] == {
        "token_ratio_skn_vs_json": None,
        "token_ratio_n": 0,
    }
    assert compare_pipelines(rows, ["json", "skn"]) == ()


def test_an_answer_without_confidence_is_not_calibrated() -> None:
    """Wrong at confidence 0 would be perfect: pairs without both are left out."""
    rows = rows_of(json="ynnn", skn="ynnn")
    for one in rows[1:]:
        one["json_confidence"] = None

    found = calculate_metrics(rows)["json"]
    ece = _compared(rows)["ece"]

    assert (found["ece"], found["accuracy"]) == (0.2, 0.25)
    assert (found["avg_confidence"], found["confidence_when_wrong"]) == (0.8, None)
    assert (ece["n"], ece["first_value"], ece["second_value"]) == (1, 0.2, 0.2)

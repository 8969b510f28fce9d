"""The figures of the questions that templates are tuned on do not fall."""

from __future__ import annotations

from knowtrail.eval.specificity.judging import (
    ask_questions,
    bundled_questions,
    custodians_of,
    key_of,
    load_questions,
    memory_pipeline,
)
from knowtrail.eval.specificity.measures import measure
from knowtrail.ingest.custodians import bundled_custodians


def test_development_questions_keep_their_figures() -> None:
    """Words alone reach the aims of templates, slots and answers."""
    custodians = custodians_of(bundled_custodians())
    asked = load_questions(bundled_questions("dev"))
    pipeline = memory_pipeline(custodians)

    found = measure(ask_questions(pipeline, asked, key_of(custodians)), resamples=9)

    assert found["template_accuracy"].value >= 0.95
    assert found["slot_f1"].value >= 0.95
    assert found["answer_accuracy"].value >= 0.9

"""Exact match and F1 of answers."""

from __future__ import annotations

import pytest

from knowtrail.eval.judged import (
    JudgedRecord,
    exact_match,
    normalised_answer,
    token_f1,
    word_measures,
)


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("The Beatles", "beatles"),
        ("  U.S.  Open ", "us open"),
        ("A Theory of an Answer", "theory of answer"),
        ("theatre", "theatre"),
        ("the", ""),
    ],
)
def test_answers_are_compared_without_articles_and_points(
    text: str, normalised: str
) -> None:
    """Case, punctuation, articles and spaces do not count."""
    assert normalised_answer(text) == normalised


def test_an_alias_will_do() -> None:
    """The best of all expected answers counts."""
    assert exact_match("USA", ["United States", "U.S.A."]) == 1.0
    assert exact_match("America", ["United States", "U.S.A."]) == 0.0


@pytest.mark.parametrize(
    ("answer", "expected", "f1"),
    [
        ("Paris, France", ["Paris"], 2 / 3),
        ("Paris", ["London", "Paris"], 1.0),
        ("Berlin", ["Paris"], 0.0),
        ("the", ["a"], 1.0),
        ("", ["Paris"], 0.0),
        ("no no", ["no"], 2 / 3),
    ],
)
def test_f1_counts_words(answer: str, expected: list[str], f1: float) -> None:
    """Words count as often as they occur in both."""
    assert token_f1(answer, expected) == pytest.approx(f1)


def test_no_answer_is_wrong_and_no_expected_answer_is_no_measure() -> None:
    """What nobody knows is not measured."""
    known = JudgedRecord(id="a", question="?", answer=None, expected="Paris")
    unknown = JudgedRecord(id="b", question="?", answer="Paris")

    assert word_measures(known) == {"exact_match": 0.0, "f1": 0.0}
    assert word_measures(unknown) == {}

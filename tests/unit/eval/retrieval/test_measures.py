"""What a ranking is worth, computed by hand."""

from __future__ import annotations

import math

import pytest

from knowtrail.eval.retrieval.dataset import RetrievalQuestion
from knowtrail.eval.retrieval.evaluation import measure_names, measure_rankings
from tests.rankings import question, ranking


def test_standard_measures_are_those_computed_by_hand() -> None:
    """Gold at places 1 and 4 of four, one gold passage missing."""
    asked = question("q", "ash", "<elm>", "yew")

    (found,) = measure_rankings(
        [asked], [ranking("ash", "birch", "cedar", "<elm>")], ks=(1, 4, 10)
    )

    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx({
        "recall@1": 1 / 3,
        "recall@4": 2 / 3,
        "recall@10": 2 / 3,
        "precision@1": 1,
        "precision@4": 1 / 2,
        "precision@10": 1 / 5,
        "ndcg@1": 1,
        "ndcg@4": (1 + 1 / math.log2(5)) / ideal,
        "ndcg@10": (1 + 1 / math.log2(5)) / ideal,
        "mrr": 1,
        "all_recall@1": 0,
        "all_recall@4": 0,
        "all_recall@10": 0,
    })


def test_all_recall_needs_all_of_the_gold() -> None:
    """It is 1 from the place on where the last of it stands."""
    (found,) = measure_rankings(
        [question("q", "ash", "cedar")], [ranking("ash", "birch", "cedar")], ks=(2, 3)
    )

    assert (found["all_recall@2"], found["all_recall@3"]) == (0, 1)


def test_a_system_that_finds_nothing_has_zeros() -> None:
    """Beside one that finds something, and alone."""
    asked = [question("a", "ash"), question("b", "ash")]

    one, two = measure_rankings(asked, [ranking(), ranking("ash")], ks=(5,))
    (alone,) = measure_rankings(asked[:1], [ranking()], ks=(5,))

    assert one == alone
    assert set(one.values()) == {0.0}
    assert two["recall@5"] == 1


def test_grades_count_in_ndcg() -> None:
    """The better passage first is the ideal order."""
    graded = RetrievalQuestion(
        id="q", text="?", gold_documents=("ash", "birch"), grades={"ash": 1, "birch": 3}
    )

    good, bad = measure_rankings(
        [graded, graded], [ranking("birch", "ash"), ranking("ash", "birch")], ks=(2,)
    )

    assert good["ndcg@2"] == pytest.approx(1)
    assert bad["ndcg@2"] < 1
    assert bad["recall@2"] == 1


def test_sentences_and_chunks_are_measured_where_gold_names_them() -> None:
    """One of two gold sentences is returned; its chunk touches both."""
    asked = question("q", "ash", sentences=2)

    (found,) = measure_rankings([asked], [ranking("ash", "birch")], ks=(2,))

    assert found["sentence_precision"] == 0.5
    assert found["sentence_recall"] == 0.5
    assert found["sentence_f1"] == 0.5
    assert found["chunk_recall@2"] == 1
    assert found["chunk_precision@2"] == 0.5


def test_names_are_those_of_the_values() -> None:
    """Every measure that is named is computed, and no other."""
    asked = question("q", "ash", sentences=1)

    (found,) = measure_rankings([asked], [ranking("ash")], ks=(2, 5))

    assert set(measure_names((2, 5), sentences=True)) == set(found)

"""Metrics of rankings against ground truth."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.eval.zelo.metrics import (
    accuracy,
    benchmark_accuracy,
    benchmark_ndcg,
    grades,
    ndcg,
    recall,
    recall_at_k,
    standard_measures,
    two_scores,
)
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.rerank.base import BaseReranker
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Query,
    write_annotated,
)

if TYPE_CHECKING:
    from pathlib import Path


def _query(name: str, scores: dict[str, float]) -> AnnotatedQueryDocuments:
    """Return a query with scored documents."""
    documents = tuple(
        AnnotatedDocument(id=key, content="text", score=value)
        for key, value in scores.items()
    )
    return AnnotatedQueryDocuments(query=Query(id=name, query="?"), documents=documents)


TRUTH = [_query("q", {"a": 3.0, "b": 1.0, "c": 0.0, "d": -1.0})]
WRONG = [_query("q", {"d": 4.0, "c": 3.0, "b": 2.0, "a": 1.0})]

_SCORES = st.lists(st.floats(-50, 50), min_size=2, max_size=8, unique=True)


@given(_SCORES)
def test_the_true_order_is_perfect(scores: list[float]) -> None:
    """A ranking with the truth's own scores has 1 everywhere."""
    truth = np.array(scores)

    assert ndcg(truth, truth) == pytest.approx(1)
    assert accuracy(truth, truth) == 1
    assert recall(truth, truth, 2) == 1


@given(_SCORES, st.randoms(use_true_random=False))
def test_metrics_lie_between_0_and_1(scores: list[float], random: object) -> None:
    """Whatever the ranking says."""
    truth = np.array(scores)
    test = np.array(random.sample(scores, len(scores)))  # type: ignore[attr-defined]

    values = [ndcg(truth, test), accuracy(truth, test), recall(truth, test, 3)]

    assert all(0 <= value <= 1 + 1e-12 for value in values)


def test_the_first_argument_is_the_truth() -> None:
    """Turned round, the gain is that of the other's scores."""
    forth, back = benchmark_ndcg(TRUTH, WRONG), benchmark_ndcg(WRONG, TRUTH)

    gain = np.exp([3.0, 1.0, 0.0, -1.0])
    discount = np.log2([2, 3, 4, 5])
    expected = (gain[::-1] / discount).sum() / (gain / discount).sum()
    assert forth == pytest.approx([expected])
    assert back != pytest.approx(forth)


def test_the_limit_takes_the_first_documents_of_the_ranking() -> None:
    """In file order, not those that it ranks highest."""
    ranking = [_query("q", {"b": 0.0, "c": 1.0, "a": 9.0})]

    assert benchmark_accuracy(TRUTH, ranking, document_limit=2) == [0.0]
    assert benchmark_accuracy(TRUTH, ranking) == pytest.approx([2 / 3])


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_is_refused(limit: int) -> None:
    """All documents are asked for by None."""
    with pytest.raises(InputError, match="None for all"):
        benchmark_ndcg(TRUTH, TRUTH, document_limit=limit)


def test_what_the_truth_lacks_is_an_error() -> None:
    """A document or a query without a true score cannot be judged."""
    with pytest.raises(InputError, match="Document 'x' of query 'q'"):
        benchmark_ndcg(TRUTH, [_query("q", {"x": 1.0})])
    with pytest.raises(InputError, match="Query 'other'"):
        benchmark_ndcg(TRUTH, [_query("other", {"a": 1.0})])


def test_what_the_truth_lacks_may_be_passed_over() -> None:
    """It is counted."""
    ranking = [_query("other", {"a": 1.0}), _query("q", {"x": 2.0, "a": 1.0})]

    (found,) = two_scores(TRUTH, ranking, skip_unjudged=True)

    assert found.documents == ("a",)
    assert found.unjudged == 1


def test_equal_scores_rank_the_later_document_higher() -> None:
    """The rule is the published one."""
    truth, test = np.array([0.0, 5.0]), np.array([1.0, 1.0])

    assert recall(truth, test, 1) == 1.0
    assert recall(truth[::-1], test, 1) == 0.0


def test_equal_scores_are_wrong_or_half_right() -> None:
    """Half right means that saying nothing is as good as chance."""
    truth, test = np.array([0.0, 1.0, 1.0]), np.zeros(3)

    assert accuracy(truth, test) == 0.0
    assert accuracy(truth, test, ties="half") == 0.5
    with pytest.raises(InputError, match="'half'"):
        accuracy(truth, test, ties="third")  # type: ignore[arg-type]


def test_what_is_not_defined_is_nan() -> None:
    """No documents, one document, no pair that differs."""
    one, none = np.array([2.0]), np.zeros(0)

    assert np.isnan([
        ndcg(none, none),
        recall(none, none, 1),
        accuracy(none, none),
    ]).all()
    assert np.isnan(accuracy(one, one))
    assert ndcg(one, one) == 1.0
    assert np.isnan(accuracy(np.zeros(3), np.arange(3.0), ties="half"))


def test_recall_of_fewer_documents_than_wanted_stays_below_1() -> None:
    """It is divided by how many were wanted."""
    truth = np.array([3.0, 2.0, 1.0])

    assert recall(truth, truth, 5) == pytest.approx(0.6)
    with pytest.raises(InputError, match="1 or more"):
        recall(truth, truth, 0)


def test_great_scores_do_not_overflow() -> None:
    """Only differences of true scores matter."""
    truth = np.array([1000.0, 999.0, -1000.0])

    assert ndcg(truth, truth[::-1]) == pytest.approx(ndcg(truth - 1000, truth[::-1]))


def test_files_are_benchmarked_as_their_queries(tmp_path: Path) -> None:
    """Paths are read; there is one number a query of the ranking."""
    write_annotated(tmp_path / "truth.jsonl", TRUTH)
    write_annotated(tmp_path / "ranking.jsonl", WRONG)
    files = tmp_path / "truth.jsonl", tmp_path / "ranking.jsonl"

    assert benchmark_ndcg(*files) == benchmark_ndcg(TRUTH, WRONG)
    assert recall_at_k(*files, 1) == [0.0]
    assert recall_at_k(*files, 4, 1) == [1.0]


def test_grades_are_whole_numbers_or_a_threshold() -> None:
    """Grades of people stay; zELO scores above the mean are relevant."""
    assert grades(np.array([0.0, 2.0, 1.0]), threshold=None).tolist() == [0, 2, 1]
    assert grades(np.array([0.5, -2.0, 1.0]), threshold=0).tolist() == [1, 0, 1]
    assert grades(np.array([0.0, 2.0]), threshold=2).tolist() == [0, 0]


def test_a_data_set_has_grades_or_a_threshold_never_both() -> None:
    """One score that is no grade makes the scores of all queries scores."""
    whole = _query("whole", {"a": 3.0, "b": 0.0, "c": 1.0})
    other = _query("other", {"a": 2.5, "b": 0.0, "c": 1.0})
    ranking = {"a": 0.2, "b": 0.1, "c": 0.9}

    def measured(*truth: AnnotatedQueryDocuments) -> list[float]:
        test = [_query(one.query.id, ranking) for one in truth]
        return standard_measures(two_scores(truth, test), ("nDCG@10",))["nDCG@10"]

    alone, mixed = measured(whole), measured(whole, other)

    assert alone == [pytest.approx(0.7967, abs=1e-4)]
    assert mixed == [1.0, 1.0]


def test_standard_measures_are_those_of_the_library() -> None:
    """The relevant document stands second; one query has none."""
    truth = [_query("q", {"a": 1.0, "b": 0.0}), _query("p", {"a": 0.0})]
    test = [_query("q", {"a": 0.1, "b": 0.9}), _query("p", {"a": 0.0})]

    found = standard_measures(list(two_scores(truth, test)), ("RR", "nDCG@10"))

    assert found["RR"][0] == 0.5
    assert found["nDCG@10"][0] == pytest.approx(1 / np.log2(3))
    assert np.isnan([found["RR"][1], found["nDCG@10"][1]]).all()


def test_an_unknown_measure_is_refused() -> None:
    """Its name is in the message."""
    with pytest.raises(InputError, match="Fame"):
        standard_measures([], ("Fame@3",))


def test_the_package_has_the_published_names() -> None:
    """They are had from where an annotation is had."""
    package = import_module("knowtrail.eval.zelo")

    for one in (benchmark_accuracy, benchmark_ndcg, recall_at_k, BaseReranker):
        assert getattr(package, one.__name__) is one

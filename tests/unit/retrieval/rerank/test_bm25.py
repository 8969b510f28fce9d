"""BM25 of a few documents, and the words it counts."""

from __future__ import annotations

import logging
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.algorithms.auto_words import forms, stems
from knowtrail.retrieval.rerank import checked_scores
from knowtrail.retrieval.rerank.bm25 import (
    Bm25Reranker,
    bm25_of_words,
    bm25_scores,
    words,
)
from tests.cases import each


def test_scores_are_those_of_the_formula() -> None:
    """Lucene's idf and the usual saturation, worked out by hand."""
    documents = ["red red fox", "blue fox", "a blue whale swims"]
    k1, b, mean = 1.5, 0.75, 3.0
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 / (2 + k1 * (1 - b + b * 3 / mean))

    scores = bm25_scores("red", documents)

    assert scores == pytest.approx([expected, 0, 0], rel=1e-12)


def test_rare_words_count_more_than_common_ones() -> None:
    """What every document has tells little."""
    documents = ["the owl", "the fox", "the the dog"]

    scores = bm25_scores("the owl", documents)

    assert scores.index(max(scores)) == 0


@pytest.mark.parametrize("query", ["", "?!", "zebra"])
def test_a_query_without_a_known_word_gives_zeros(query: str) -> None:
    """Nothing in common is no error."""
    assert bm25_scores(query, ["fox", "dog"]) == [0.0, 0.0]


def test_documents_without_words_get_zero() -> None:
    """Empty text and punctuation are documents too."""
    assert bm25_scores("fox", ["", "...", "fox"])[:2] == [0.0, 0.0]


def test_no_document_has_a_word() -> None:
    """All texts may be empty."""
    assert checked_scores(Bm25Reranker(), "fox", ["", " "]) == [0.0, 0.0]


@given(
    st.lists(st.sampled_from(["princess", "sing", "song", "runs"]), max_size=4),
    st.lists(
        st.lists(
            st.sampled_from([
                "princes",
                "princess",
                "sings",
                "singing",
                "song",
                "run",
                "a",
            ])
        ),
        max_size=4,
    ),
)
def test_forms_count_as_their_words(
    question: list[str], corpus: list[list[str]]
) -> None:
    """Scores are those of texts in which each form is written as its word.

    The forms of "princes", the stem of "princess", are of a word that is not asked.
    """
    asked = stems(" ".join(question))
    known = forms(asked)
    written = [[known.get(word, word) for word in text] for text in corpus]

    scores = bm25_of_words(asked, corpus, forms=known)

    assert scores == bm25_of_words(asked, written)


@given(st.text(max_size=30), st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_any_text_is_scored_alike_twice_and_equal_texts_equally(
    query: str, documents: list[str]
) -> None:
    """Scores are finite, at least 0, and depend on nothing but the texts."""
    doubled = [*documents, documents[0]]

    scores = checked_scores(Bm25Reranker(), query, doubled)

    assert scores == checked_scores(Bm25Reranker(), query, doubled)
    assert min(scores) >= 0
    assert scores[0] == scores[-1]


def test_nothing_is_logged_unless_all_is(caplog: pytest.LogCaptureFixture) -> None:
    """The package would tell of every call on standard error."""
    caplog.set_level(logging.INFO)

    bm25_scores("fox", ["a fox"])

    assert caplog.records == []


@pytest.mark.parametrize(("k1", "b"), [(-1, 0.5), (1, 2), (math.nan, 0), (math.inf, 0)])
def test_numbers_out_of_range_are_refused(k1: float, b: float) -> None:
    """The message says what range there is."""
    with pytest.raises(InputError, match="give k1 from 0"):
        Bm25Reranker(k1=k1, b=b)


@each(
    ("text", "expected"),
    [
        ("The fox's 2 dens", ["the", "fox", "s", "2", "dens"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("\uff37\uff49\uff44\uff45 \ufb01ne", ["wide", "fine"]),
        ("e\u0301te\u0301", ["été"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("東京タワー2024年", ["東京", "京タ", "タワ", "ワー", "2024", "年"]),
        ("snake_case", ["snake", "case"]),
        ("", []),
    ],
)
def test_words_of_many_languages(text: str, expected: list[str]) -> None:
    """Case, width and composition make no difference; marks stay with their letter."""
    assert words(text) == expected

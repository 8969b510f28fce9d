"""Key phrases: ranked as the real KeyBERT ranks them, with our embedders behind it."""

# ruff: noqa: RUF001 - other alphabets are meant

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.bundled import articles
from knowtrail.ingest.themes import (
    THEMES,
    WORDS,
    KeyphraseThemes,
    _stop_words,
    candidate_phrases,
    clean_themes,
    distinct,
    first_words,
)

TEXT = (
    "A glacier is a persistent body of dense ice that moves under its own weight. "
    "Glacier ice forms where the accumulation of snow exceeds its ablation. Valley "
    "glaciers carve fjords. Ice sheets cover Antarctica and Greenland. The ice of a "
    "glacier flows downhill, and glacier retreat raises the sea level. Sea level rise "
    "threatens coasts. Moraines are ridges of rock that a glacier leaves behind."
)
SOURCE = KeyphraseThemes(HashEmbedder())


def test_five_different_phrases_of_the_text() -> None:
    """Themes are phrases that occur, without common words."""
    found = SOURCE.themes("Glacier", TEXT, language="en")

    assert len(found) == 5
    assert all(theme in f"glacier {TEXT.lower()}" for theme in found)
    assert not {"the", "a", "is", "of"} & {w for theme in found for w in theme.split()}


@pytest.mark.thorough
def test_ranking_is_that_of_keybert(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real KeyBERT, given the same candidates, names the same themes."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from keybert import KeyBERT
    from keybert.backend import BaseEmbedder
    from sklearn.feature_extraction.text import CountVectorizer

    class _Backend(BaseEmbedder):
        def embed(self, documents: list[str], verbose: bool = False) -> np.ndarray:
            texts = [str(text) for text in documents]
            return np.asarray(HashEmbedder().embed_array(texts), np.float64)

    peer = KeyBERT(model=_Backend())

    def of_peer(title: str, text: str) -> list[str]:
        beginning = f"{title}.\n{first_words(text, WORDS)}"
        candidates = candidate_phrases(beginning, language="en")
        found = peer.extract_keywords(
            beginning,
            vectorizer=CountVectorizer(analyzer=lambda _: candidates),
            use_mmr=True,
            diversity=0.3,
            top_n=3 * THEMES,
        )
        ranked = [p for p, _ in sorted(found, key=lambda pair: (-pair[1], pair[0]))]
        return clean_themes(distinct(ranked, THEMES))

    texts = [(str(row["title"]), str(row["text"])) for row in articles()]

    wanted = {title: of_peer(title, text) for title, text in texts}

    assert len(wanted) > 10
    assert wanted == {
        title: SOURCE.themes(title, text, language="en") for title, text in texts
    }


def test_stop_words_are_those_of_scikit_learn() -> None:
    """The list that travels with the package is the one it was taken from."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    assert _stop_words("en") == ENGLISH_STOP_WORDS


def test_themes_do_not_depend_on_other_documents() -> None:
    """The same document gives the same themes in another order and instance."""
    first = SOURCE.themes("Glacier", TEXT, language="en")
    SOURCE.themes(
        "Sea", "The sea is salt water. Waves move over the sea.", language="en"
    )

    again = KeyphraseThemes(HashEmbedder()).themes("Glacier", TEXT, language="en")

    assert SOURCE.themes("Glacier", TEXT, language="en") == first == again


def test_bulgarian_themes() -> None:
    """Without a list of stop words short words stand for them."""
    text = (
        "Рила е планина в България. Рилският манастир е основан през десети век. "
        "Манастирът е културен паметник. Планината е най-високата на Балканите."
    )

    found = SOURCE.themes("Рила", text, language="bg")

    assert len(found) == 5
    assert not {"е", "в", "на", "през"} & set(found)


@pytest.mark.parametrize(
    ("title", "text", "count"),
    [("", "", 0), ("Glacier", "", 1), ("", "Ice.", 1), ("!", "... 12 34", 0)],
)
def test_short_text_has_fewer_themes(title: str, text: str, count: int) -> None:
    """Nothing is made up where there is nothing to say."""
    assert len(SOURCE.themes(title, text, language="en")) == count


@pytest.mark.thorough
@given(
    st.text(max_size=40), st.text(max_size=300), st.sampled_from(["en", "bg", "", "x-"])
)
def test_odd_texts_never_fail(title: str, text: str, language: str) -> None:
    """Whatever the text, there are up to five clean, different names."""
    found = SOURCE.themes(title, text, language=language)

    assert len(found) <= 5
    assert found == clean_themes(found)


class _Broken:
    """Gives vectors that no ranking can use."""

    def __init__(self, value: float) -> None:
        self._value = value

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[self._value] * 4 for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf"), 1.0])
def test_useless_vectors_leave_the_order_of_the_text(value: float) -> None:
    """Ties are broken by the text of the phrases, and nothing fails."""
    found = KeyphraseThemes(_Broken(value)).themes("Glacier", TEXT, language="en")

    assert len(found) == 5
    assert found == KeyphraseThemes(_Broken(value)).themes(
        "Glacier", TEXT, language="en"
    )

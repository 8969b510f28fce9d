"""Five themes a document, from its title and first 500 words.

Themes are named in lower case, as they are compared, so that the name of a theme that
several documents share does not depend on which of them came first.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graph.errors import SettingsError
from graph.settings import keep_litellm_local
from ingest._phrases import candidate_phrases, distinct, first_words
from ingest.keys import normalise_name

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from graph.embedders import Embedder
    from graph.settings import Settings

__all__ = [
    "THEMES",
    "WORDS",
    "KeyphraseThemes",
    "NoThemes",
    "ThemeSource",
    "clean_themes",
    "theme_source",
]

_LOG = logging.getLogger(__name__)

THEMES = 5
WORDS = 500
MAX_THEME = 60
_LETTER = re.compile(r"[^\W\d_]")


class ThemeSource(Protocol):
    """Something that names what a document is about."""

    @property
    def name(self) -> str:
        """Return the name that is recorded on the corpus."""
        ...

    def themes(self, title: str, text: str, *, language: str) -> list[str]:
        """Return up to five different themes in lower case, the best first.

        Raises:
            ModelError: If a model that is needed does not answer.
        """
        ...


class NoThemes:
    """Names no themes."""

    name = "none"

    def themes(self, title: str, text: str, *, language: str) -> list[str]:
        """Return nothing."""
        return []


class KeyphraseThemes:
    """Key phrases of the text itself, ranked by KeyBERT with the corpus's embedder.

    The thirty most frequent phrases are embedded, and those nearest to the beginning
    of the document are taken that differ from each other. The same document gives the
    same themes whatever is ingested beside it.
    """

    name = "keyphrases"

    def __init__(self, embedder: Embedder, *, diversity: float = 0.3) -> None:
        """Take the model; nothing is loaded yet.

        Args:
            embedder: The model; only `embed_documents` (or `embed_array`) is called.
            diversity: 0 ranks by nearness alone, 1 by difference alone.
        """
        self._embedder = embedder
        self._diversity = diversity
        self._model: Any = None

    def themes(self, title: str, text: str, *, language: str) -> list[str]:
        """Return up to five phrases; fewer where the text has fewer."""
        beginning = f"{title}.\n{first_words(text, WORDS)}"
        candidates = candidate_phrases(beginning, language=language)
        if len(candidates) > 1:
            candidates = self._ranked(beginning, candidates)
        return clean_themes(distinct(candidates, THEMES))

    def _ranked(self, text: str, candidates: list[str]) -> list[str]:
        """Order candidates by nearness to the text, near repetitions left out."""
        from sklearn.feature_extraction.text import CountVectorizer

        if self._model is None:
            self._model = _keybert(self._embedder)
        found = self._model.extract_keywords(
            text,
            vectorizer=CountVectorizer(analyzer=lambda _: candidates),
            use_mmr=True,
            diversity=self._diversity,
            top_n=3 * THEMES,
        )
        return [p for p, _ in sorted(found, key=lambda pair: (-pair[1], pair[0]))]


def _keybert(embedder: Embedder) -> Any:
    """Return KeyBERT with the given model behind it."""
    keep_litellm_local()
    from keybert import KeyBERT
    from keybert.backend import BaseEmbedder

    class _Backend(BaseEmbedder):  # type: ignore[misc]
        """Lets KeyBERT embed with any of our embedders."""

        def embed(self, documents: Any, verbose: bool = False) -> npt.NDArray[Any]:
            encode: Callable[[list[str]], Any] = getattr(
                embedder, "embed_array", embedder.embed_documents
            )
            vectors = np.asarray(encode([str(text) for text in documents]), np.float64)
            return np.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)

    return KeyBERT(model=_Backend())


def clean_themes(themes: list[str]) -> list[str]:
    """Return names fit to be stored: each once, with a letter, at most five."""
    names = (normalise_name(re.sub(r"[\x00-\x1f\x7f]", " ", t)) for t in themes)
    usable = (n for n in names if _LETTER.search(n) and len(n) <= MAX_THEME)
    return list(dict.fromkeys(usable))[:THEMES]


def theme_source(kind: str, embedder: Embedder, settings: Settings) -> ThemeSource:
    """Return the theme source of a name.

    Args:
        kind: `keyphrases`, `llm` or `none`.
        embedder: The corpus's model, for key phrases.
        settings: Which language model answers, and where, for `llm`.

    Raises:
        SettingsError: For another name.
        MissingExtraError: For `llm` without the extra of that name.
    """
    if kind == "keyphrases":
        return KeyphraseThemes(embedder)
    if kind == "none":
        return NoThemes()
    if kind == "llm":
        from ingest.llm_themes import LlmThemes

        return LlmThemes(settings.language_model, settings.ollama_url)
    msg = f"Unknown source of themes {kind!r}: use keyphrases, llm or none."
    raise SettingsError(msg)

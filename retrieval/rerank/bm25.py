"""BM25: words that a document shares with the query, the rare ones more.

How rare a word is, and how long a usual document, is taken from the documents that are
scored together; so one document alone gets a number that says little, and the numbers
of two calls are not comparable.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.rerank.base import LocalReranker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings

_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
    "]+"
)
"""Scripts that put no spaces between words."""

K1 = 1.5
B = 0.75


def words(text: str) -> list[str]:
    """Return the words of a text, in its order and as often as they come.

    Case and the ways of writing one character (such as wide Latin letters) make no
    difference. A word is a run of letters, digits and the marks that belong to them. In
    scripts without spaces between words, each two neighbouring characters are one, as
    is usual for searching them.
    """
    spaced = unicodedata.normalize("NFKC", text).casefold().translate(_SPACED)
    if spaced.isascii() or _UNSPACED.search(spaced) is None:
        return spaced.split()
    return [part for word in spaced.split() for part in _parts(word)]


class _Spaced(dict[int, int]):
    """Code of a character -> itself in letters, digits and their marks, else space."""

    # Filled as characters come.

    def __missing__(self, code: int) -> int:
        """Look a character up, the first time it comes."""
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else ord(" ")
        return self[code]


_SPACED = _Spaced()


def _parts(word: str) -> list[str]:
    """Return a word, or the pairs of characters of its unspaced runs."""
    found: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if word[end : run.start()]:
            found.append(word[end : run.start()])
        found += _pairs(run[0])
        end = run.end()
    if word[end:]:
        found.append(word[end:])
    return found


def _pairs(run: str) -> list[str]:
    """Return each two neighbouring characters; one alone is itself."""
    if len(run) == 1:
        return [run]
    return [run[place : place + 2] for place in range(len(run) - 1)]


class Bm25Reranker(LocalReranker):
    """BM25 over the candidates; needs no model.

    With `k1`, 0 or more, a word that comes again counts more; `b`, from 0 to 1, is how
    much long documents are held back.
    """

    name = "bm25"

    def __init__(self, *, k1: float = K1, b: float = B) -> None:
        if not (0 <= k1 < float("inf") and 0 <= b <= 1):
            msg = f"BM25 with k1={k1}, b={b}: give k1 from 0 and b from 0 to 1."
            raise InputError(msg)
        self._k1 = k1
        self._b = b

    @property
    def fingerprint(self) -> str:
        """Return the name with the numbers."""
        return f"{self.name} {self._k1} {self._b}"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the BM25 of each document; 0 where it shares no word."""
        return bm25_scores(query, documents, k1=self._k1, b=self._b)


def bm25_scores(
    query: str, documents: Sequence[str], *, k1: float = K1, b: float = B
) -> list[float]:
    """Return the BM25 of each document among these, 0 where no word is shared."""
    return bm25_of_words(words(query), list(map(words, documents)), k1=k1, b=b)


def bm25_of_words(
    query: Sequence[str],
    corpus: Sequence[Sequence[str]],
    *,
    k1: float = K1,
    b: float = B,
    forms: Mapping[str, str] | None = None,
) -> list[float]:
    """Return the BM25 of each document among these, all as words: Lucene's form.

    With `forms`, form -> word of the query, these alone count, each as its word.
    """
    lengths = np.array(list(map(len, corpus)), dtype=np.float64)
    counts = {word: np.zeros(len(corpus)) for word in query}
    word_of = dict(zip(query, query, strict=True)) if forms is None else forms
    asked = frozenset(form for form, word in word_of.items() if word in counts)
    for place, text in enumerate(corpus):
        for form in asked.intersection(text):
            counts[word_of[form]][place] += text.count(form)
    scores = np.zeros(len(corpus))
    for count in map(counts.__getitem__, query if lengths.any() else ()):
        having = np.count_nonzero(count)
        rare = math.log(1 + (len(corpus) - having + 0.5) / (having + 0.5))
        held = k1 * (1 - b + b * lengths / lengths.mean())
        share = np.divide(
            count, held + count, where=count > 0, out=np.zeros_like(count)
        )
        scores += rare * share
    found: list[float] = scores.tolist()
    return found


def load(
    what: str, *, settings: Settings | None, embedder: Embedder | None
) -> Bm25Reranker:
    """Return the reranker, see `knowtrail.retrieval.rerank.base.load_reranker`."""
    return Bm25Reranker()

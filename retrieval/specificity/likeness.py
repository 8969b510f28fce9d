"""How alike masked questions are by their words and parts of words."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from retrieval.specificity.words import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    Array = npt.NDArray[np.float32]

__all__ = ["MASK", "WordLikeness"]

MASK = re.compile(r"\{([a-z_]+)\}")
"""What stands in an example for a value: the name of its slot in braces."""


class WordLikeness:
    """Cosines of texts by their words, pairs of words and parts of words.

    A feature counts the less the more texts have it.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        """Take the texts that others are compared with."""
        bags = [_features(text) for text in texts]
        names = sorted({name for bag in bags for name in bag})
        self._place = {name: n for n, name in enumerate(names)}
        counts = np.zeros((len(names), len(texts)), dtype=np.float32)
        for column, bag in enumerate(bags):
            for name, count in bag.items():
                counts[self._place[name], column] = count
        seen = np.count_nonzero(counts, axis=1)
        self._weight = (np.log((1 + len(texts)) / (1 + seen)) + 1).astype(np.float32)
        self._unseen = float(math.log(1 + len(texts)) + 1)
        weighted = counts * self._weight[:, None]
        self._rows = weighted / np.linalg.norm(weighted, axis=0)

    def likeness(self, text: str) -> Array:
        """Return the cosine of a text with each of the texts."""
        bag = _features(text)
        known = [(self._place[n], c) for n, c in bag.items() if n in self._place]
        unseen = sum(
            (0.5 * c * self._unseen) ** 2
            for n, c in bag.items()
            if n not in self._place
        )
        if not known:
            return np.zeros(self._rows.shape[1], dtype=np.float32)
        places = np.fromiter((place for place, _ in known), dtype=np.intp)
        values = np.fromiter((count for _, count in known), dtype=np.float32)
        values *= self._weight[places]
        norm = math.sqrt(float(values @ values) + unseen)
        found: Array = (values @ self._rows[places]) / np.float32(norm)
        return found


def _features(text: str) -> dict[str, float]:
    """Return the features of a masked text with their counts."""
    words: list[str] = []
    at = 0
    for match in MASK.finditer(text):
        words += [token.form for token in tokens_of(text[at : match.start()])]
        words.append(f"<{match[1]}>")
        at = match.end()
    words += [token.form for token in tokens_of(text[at:])]
    found: dict[str, float] = {}
    for name, weight in _weighted(words):
        found[name] = found.get(name, 0.0) + weight
    return found


def _weighted(words: Sequence[str]) -> Iterable[tuple[str, float]]:
    """Yield words, pairs of words, and parts of words with their weights."""
    ends = ["^", *words, "$"]
    for a, b in pairwise(ends):
        yield f"{a} {b}", 0.6
    for word in words:
        yield word, 1.0
        if word[0] == "<":
            continue
        marked = f"^{word}$"
        for n in range(len(marked) - 3):
            yield f"#{marked[n : n + 4]}", 0.25

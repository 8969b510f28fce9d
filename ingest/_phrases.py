"""Candidate phrases of a text: runs of words that could name what it is about."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["candidate_phrases", "distinct", "first_words"]

MAX_WORDS = 3
_LONGEST = 60
_WORD = re.compile(r"\w+(?:['\u2019\-]\w+)*")
_POSSESSIVE = re.compile(r"['\u2019]s?\Z")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
)
_WEIGHTS = {1: 1.0, 2: 1.8, 3: 1.9}
"""Longer phrases are rarer and say more; a count alone would give single words."""


def first_words(text: str, count: int) -> str:
    """Return the beginning of a text up to its `count`-th word.

    Scripts without spaces count three characters as a word.
    """
    words = 0
    for found in re.finditer(r"\S+", text):
        words += max(1, len(_UNSPACED.findall(found.group())) // 3)
        if words >= count:
            return text[: min(found.end(), found.start() + 3 * count + 100)]
    return text


@cache
def _stop_words(language: str) -> frozenset[str]:
    """Return words that begin, end or join no phrase."""
    if language != "en":
        return frozenset()
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def candidate_phrases(text: str, *, language: str, limit: int = 30) -> list[str]:
    """Return the most frequent phrases of one to three words, in lower case.

    A phrase crosses no punctuation and no stop word. English stop words are
    scikit-learn's; in other languages, for which there is no list as well kept, words
    of up to three letters stand for them. A phrase that occurs only inside a longer
    one that was counted twice is left out. Equal counts are ordered by first place.

    Args:
        text: A title and the beginning of a text.
        language: BCP 47 code.
        limit: Number of phrases to return at most.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for run in _runs(text, language.partition("-")[0].lower()):
        for size in range(1, MAX_WORDS + 1):
            counts.update(tuple(run[i : i + size]) for i in range(len(run) - size + 1))
    inside = {
        part
        for phrase, count in counts.items()
        if count > 1
        for part in _parts(phrase)
        if counts[part] == count
    }
    ranked = sorted(
        (phrase for phrase in counts if phrase not in inside),
        key=lambda phrase: -counts[phrase] * _WEIGHTS[len(phrase)],
    )
    phrases = (" ".join(phrase) for phrase in ranked)
    return [phrase for phrase in phrases if len(phrase) <= _LONGEST][:limit]


def _parts(phrase: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the shorter phrases inside a phrase."""
    for size in range(1, len(phrase)):
        for start in range(len(phrase) - size + 1):
            yield phrase[start : start + size]


def _runs(text: str, language: str) -> Iterator[list[str]]:
    """Yield runs of neighbouring words that may stand in a phrase."""
    stop = _stop_words(language)
    least = 3 if stop else 4
    run: list[str] = []
    end = 0
    for found in _WORD.finditer(text.casefold()):
        gap = found.string[end : found.start()]
        if gap.strip(" \u00a0") or "\n" in gap:
            yield run
            run = []
        end = found.end()
        word = _POSSESSIVE.sub("", found.group())
        shortest = 2 if _UNSPACED.search(word) else least
        if word in stop or len(word) < shortest or not word[0].isalpha():
            yield run
            run = []
        else:
            run.append(word)
    yield run


def distinct(phrases: Sequence[str], count: int) -> list[str]:
    """Return the first phrases that do not repeat each other's words.

    Words are compared by their beginnings, so that plurals count as repetitions.
    Where too few are left, phrases that share a word but not all words follow.
    """
    chosen: list[str] = []
    for most in (0.0, 0.5):
        for phrase in phrases:
            if len(chosen) < count and phrase not in chosen:
                shared = max((_overlap(phrase, other) for other in chosen), default=0.0)
                if shared <= most:
                    chosen.append(phrase)
    return chosen


def _overlap(one: str, other: str) -> float:
    """Return the share of the shorter phrase's words that the other one has too."""
    first, second = (re.split(r"[\s\-]+", phrase) for phrase in (one, other))
    if len(second) < len(first):
        first, second = second, first
    shared = sum(any(_akin(word, match) for match in second) for word in first)
    return shared / len(first)


def _akin(one: str, other: str) -> bool:
    """Say whether two words begin alike for more than half of the longer one."""
    longest = max(len(one), len(other))
    alike = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    return one == other or alike >= max(4, 0.55 * longest)

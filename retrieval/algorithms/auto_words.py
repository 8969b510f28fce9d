"""Words of questions and chunks, and the names that a question may hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from knowtrail.ingest.names import MOST_WORDS, is_nameable, name_key, names_in, words_of
from knowtrail.ingest.terms import TermFinder, title_names
from knowtrail.retrieval.rerank.bm25 import words

_LONGEST = 200
"""Words of a question that names are looked for in."""
_ENDINGS = ("ings", "ing", "ies", "edly", "ed", "es", "s", "ly")
_LANGUAGES = ("EN_PLUS", "DUTCH", "GERMAN", "FRENCH", "SPANISH", "ITALIAN")
_RUNS = re.compile(r"[^\W_]+")
_LEAST = 3
"""Letters that must be left of a word without its ending."""


def possible_names(question: str) -> tuple[str, ...]:
    """Return every run of a question's first 200 words that could be a name, sorted."""
    found = words_of(question)[:_LONGEST]
    runs = (
        found[start : start + size]
        for start in range(len(found))
        for size in range(1, min(2 * MOST_WORDS, len(found) - start) + 1)
    )
    return tuple(sorted({name_key(run) for run in runs if is_nameable(run)}))


def question_names(question: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in a question, the longest from the left, sorted."""
    return tuple(sorted(set(TermFinder(names).find(question))))


def unknown_names(question: str, names: Iterable[str]) -> dict[str, str]:
    """Return what a question surely writes as a name and no known name is or shares.

    By the form in which names are compared, as it is written there.
    """
    known = [f" {name} " for name in question_names(question, names)]
    found = {
        name_key(words): name.label
        for name in names_in(question)
        if name.certain and is_nameable(words := words_of(name.label))
    }
    return {
        name: found[name]
        for name in sorted(found)
        if not any(f" {name} " in one or one in f" {name} " for one in known)
    }


@lru_cache(maxsize=50_000)
def title_key(title: str) -> str:
    """Return the name that a title stands for; empty where it is none."""
    return next(iter(title_names([title])), "")


@lru_cache(maxsize=5_000)
def names_within(title: str) -> frozenset[str]:
    """Return every shorter run of a title's words that could be a name."""
    return frozenset(possible_names(title)).difference([title])


def stems(text: str) -> list[str]:
    """Return the words of a text without the commonest English endings.

    That is so little of English that it does other languages no harm.
    """
    return [_stem(word) for word in words(text)]


def content_stems(question: str) -> list[str]:
    """Return the stems of a question's words, without the function words."""
    return list(map(_stem, content_words(question)))


def content_words(question: str) -> list[str]:
    """Return a question's words without the function words.

    The function words are those of the language that most of the question is in, of
    the lists that the package bm25s has; all words are kept where nothing else is left.
    """
    from bm25s import stopwords  # type: ignore[import-untyped]

    asked = words(question)
    lists = [frozenset(getattr(stopwords, f"STOPWORDS_{name}")) for name in _LANGUAGES]
    function = max(lists, key=lambda one: sum(word in one for word in asked))
    return [word for word in asked if word not in function] or asked


def forms(asked: Iterable[str]) -> dict[str, str]:
    """Return every word that may have one of some stems, with the stem that it has."""
    found = (stem + ending for stem in asked for ending in ("", *_ENDINGS))
    return {word: _stem(word) for word in found}


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    """Return a word without its ending, if enough is left of it."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word[: -len(ending)]
    return word


def as_written(name: str, text: str) -> str:
    """Return a name as a text writes it, or as it is where the text differs more."""
    words = name.split()
    pattern = r"[\W_]+".join(map(re.escape, words))
    if found := re.search(rf"\b{pattern}\b", text, re.IGNORECASE):
        return " ".join(found.group().split())
    places = [
        (folded, *span) for run in _RUNS.finditer(text) for folded, span in _folded(run)
    ]
    for at in range(len(places) - len(words) + 1):
        here = places[at : at + len(words)]
        if [folded for folded, _, _ in here] == words:
            return " ".join(text[here[0][1] : here[-1][2]].split())
    return name


def _folded(run: re.Match[str]) -> list[tuple[str, tuple[int, int]]]:
    """Return the words of a run of letters as names are compared, with their places."""
    # In scripts without spaces each letter is a word.
    words = words_of(run.group())
    start, end = run.span()
    if len(words) == end - start:
        return [(word, (start + n, start + n + 1)) for n, word in enumerate(words)]
    return [(word, (start, end)) for word in words]

"""Which terms texts have, worked out at once from all of them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from knowtrail.ingest.terms import NameTally, TermFinder, counted_names, title_names


class Term(NamedTuple):
    """A term as people write it, and how many texts name it."""

    label: str
    chunks: int


class TermIndex(NamedTuple):
    """Terms by name, and for each text the names of its terms, sorted."""

    terms: dict[str, Term]
    names: dict[str, tuple[str, ...]]


def find_terms(texts, titles):
    """Return the terms of (id, text) pairs: a title, or a chosen name of two texts."""
    tally = NameTally()
    for _, text in texts:
        tally.add(counted_names([text]))
    titled = title_names(titles)
    labels = tally.chosen() | titled
    finder = TermFinder(labels)
    found = {key: set(finder.find(text)) for key, text in texts}
    counts = Counter(name for names in found.values() for name in names)
    terms = {
        name: Term(labels[name], counts[name])
        for name in sorted(labels)
        if counts[name] > 1 or (name in titled and counts[name])
    }
    return TermIndex(
        terms, {key: tuple(sorted(n & terms.keys())) for key, n in found.items()}
    )

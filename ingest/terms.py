"""Terms: the names that connect the passages of a corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.names import words_of
from ingest.tally import NameTally, title_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Term", "TermFinder", "TermIndex", "find_terms"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A name of a corpus.

    Attributes:
        name: The words it is compared by, joined with spaces; its key.
        label: As people write it.
        chunks: How many chunks name it, in whatever case.
    """

    name: str
    label: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TermIndex:
    """The terms of a corpus and where they are named.

    Attributes:
        terms: Terms by name, sorted by name.
        names: For each text, in the order given, the names of its terms, sorted.
    """

    terms: Mapping[str, Term]
    names: Mapping[str, tuple[str, ...]]


class TermFinder:
    """Finds known names in texts: whole words in any case, the longest from the left.

    Args:
        names: Names as `name_key` makes them.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        longest: defaultdict[str, int] = defaultdict(int)
        for name in self._names:
            first, _, rest = name.partition(" ")
            longest[first] = max(longest[first], 1 + bool(rest) + rest.count(" "))
        self._longest = dict(longest)

    def find(self, text: str) -> list[str]:
        """Return the names in a text, in order, each as often as it stands there."""
        words = words_of(text)
        names, longest = self._names, self._longest
        found: list[str] = []
        free = 0
        for place, word in enumerate(words):
            if place < free or word not in longest:
                continue
            for size in range(longest[word], 1, -1):
                name = " ".join(words[place : place + size])
                if name in names:
                    found.append(name)
                    free = place + size
                    break
            else:
                if word in names:
                    found.append(word)
        return found


def find_terms(texts: Iterable[tuple[str, str]], titles: Iterable[str]) -> TermIndex:
    """Return the terms of texts and which of them each text names.

    A term is a title or a name that `NameTally` chooses, and stands in a text.

    Args:
        texts: (id, text) pairs.
        titles: Titles and aliases, as people write them.

    Returns:
        The same for any order of texts and titles.
    """
    pairs = list(texts)
    with NameTally() as tally:
        for _, text in pairs:
            tally.add(text)
        labels = tally.chosen() | title_names(titles)
    return _indexed(pairs, labels)


def _indexed(pairs: Sequence[tuple[str, str]], labels: Mapping[str, str]) -> TermIndex:
    """Find the names in the texts and count them."""
    finder = TermFinder(labels)
    names = {key: tuple(sorted(set(finder.find(text)))) for key, text in pairs}
    counts = Counter(name for found in names.values() for name in found)
    terms = {
        name: Term(name=name, label=labels[name], chunks=counts[name])
        for name in sorted(labels)
        if counts[name]
    }
    return TermIndex(terms=terms, names=names)

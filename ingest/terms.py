"""Terms: the names that connect the passages of a corpus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from knowtrail.ingest.names import words_of
from knowtrail.ingest.tally import NameTally, counted_names, title_names

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

TERM_RULES = 2
"""Raised when the same texts would give other terms."""
MOST_LINKED = 100
"""Chunks that any term may be linked from, however small the corpus."""
LINKED_SHARE = 20
"""A term of more than one in so many chunks tells passages apart too little."""


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


def is_term(*, chunks: int, titled: bool) -> bool:
    """Say whether a name connects anything: two chunks, or a document by its title."""
    return chunks > 1 or (titled and chunks > 0)


def is_linked(*, chunks: int, total: int) -> bool:
    """Say whether a term is linked from its chunks, or only kept with its count.

    Args:
        chunks: Chunks that name it.
        total: Chunks of the corpus.
    """
    return chunks <= MOST_LINKED or chunks * LINKED_SHARE <= total


def segments(chunks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pieces that the ends of overlapping chunks cut a text into.

    With the usual windows these are its sentences.

    Args:
        chunks: Start and end of each chunk.
    """
    bounds = sorted({place for span in chunks for place in span})
    return list(pairwise(bounds))


def names_of_chunks(
    text: str, chunks: Sequence[tuple[int, int]], finder: TermFinder
) -> list[set[str]]:
    """Return the names in each chunk of a text; none reaches over a chunk's end.

    Args:
        text: The text of a document.
        chunks: Start and end of each chunk, both rising.
        finder: Finds the names.
    """
    pieces = segments(chunks)
    found = [finder.find(text[start:end]) for start, end in pieces]
    starts = [start for start, _ in pieces]
    out = []
    for start, end in chunks:
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        out.append(set(chain.from_iterable(found[first:last])))
    return out


def find_terms(texts: Iterable[tuple[str, str]], titles: Iterable[str]) -> TermIndex:
    """Return the terms of texts and which of them each text names.

    A term is a title in any text, or a name that `NameTally` chooses in two texts.
    Terms of many texts are among them: `is_linked` says which an ingest links.

    Args:
        texts: (id, text) pairs.
        titles: Titles and aliases, as people write them.

    Returns:
        The same for any order of texts and titles.
    """
    pairs = list(texts)
    tally = NameTally()
    for _, text in pairs:
        tally.add(counted_names([text]))
    chosen = tally.chosen()
    titled = title_names(titles)
    return _indexed(pairs, chosen | titled, titled)


def _indexed(
    pairs: Sequence[tuple[str, str]], labels: Mapping[str, str], titled: Container[str]
) -> TermIndex:
    """Find the names in the texts and count them."""
    finder = TermFinder(labels)
    names = {key: set(finder.find(text)) for key, text in pairs}
    counts = Counter(name for found in names.values() for name in found)
    terms = {
        name: Term(name=name, label=labels[name], chunks=counts[name])
        for name in sorted(labels)
        if is_term(chunks=counts[name], titled=name in titled)
    }
    return TermIndex(
        terms=terms,
        names={
            key: tuple(sorted(found & terms.keys())) for key, found in names.items()
        },
    )

"""Terms: the names that connect the passages of a corpus, counted and found."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise
from operator import itemgetter
from pathlib import Path

from knowtrail.ingest.names import (
    is_nameable,
    name_key,
    names_in,
    small_words,
    words_of,
)

TERM_RULES = 2
"""Raised when the same texts would give other terms."""
MOST_LINKED = 100
"""Chunks that any term may be linked from, however small the corpus."""
LINKED_SHARE = 20
"""A term of more than one in so many chunks tells passages apart too little."""
_HELD = 200_000
"""Names or words counted in memory before they go to disk."""
_PARENTHESES = re.compile(r"\s*\([^()]*\)\s*\Z")
_TABLES = Path(__file__).with_name("terms.sql").read_text("utf-8")
_CHOICE = """
SELECT names.key, names.label, names.seen, names.sure, small.seen
FROM {} LEFT JOIN small ON small.word = names.key
ORDER BY names.key, names.seen DESC, names.label
"""
_ALL, _TOUCHED = (
    _CHOICE.format("names"),
    _CHOICE.format("touched JOIN names USING (key)"),
)

Names = tuple["Mapping[str, tuple[int, int]]", "Mapping[str, int]"]
"""Label -> texts it is in, and those where it is certain; small word -> texts."""


class TermFinder:
    """Finds known names: whole words in any case, the longest from the left."""

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


def segments(chunks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pieces that the ends of overlapping chunks cut a text into.

    With the usual windows these are its sentences.
    """
    return list(pairwise(sorted({place for span in chunks for place in span})))


def names_of_chunks(
    text: str, chunks: Sequence[tuple[int, int]], finder: TermFinder
) -> list[set[str]]:
    """Return the names in each chunk of a text; none reaches over a chunk's end.

    Chunks are (start, end), both rising.
    """
    pieces = segments(chunks)
    found = [finder.find(text[start:end]) for start, end in pieces]
    starts = [start for start, _ in pieces]
    out = []
    for start, end in chunks:
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        out.append(set(chain.from_iterable(found[first:last])))
    return out


def counted_names(texts: Iterable[str]) -> Names:
    """Count the names and the words without a capital, each once a text."""
    labels: defaultdict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    small: Counter[str] = Counter()
    for text in texts:
        certain: dict[str, bool] = {}
        for name in names_in(text):
            certain[name.label] = name.certain or certain.get(name.label, False)
        for label, sure in certain.items():
            seen, before = labels[label]
            labels[label] = seen + 1, before + sure
        small.update(small_words(text))
    return dict(labels), small


class NameTally:
    """Counts names over any number of texts; the order of these does not matter.

    A name becomes a term where it stands in at least two texts, in one of them not at
    the beginning of a sentence; a single word, where it is written with a capital
    inside sentences at least as often as without. Memory is bounded. The database
    keeps the counts, and, if they are noted, the keys of which these change.
    """

    def __init__(
        self, database: sqlite3.Connection | None = None, *, noting: bool = False
    ) -> None:
        self._database = database or sqlite3.connect("")
        self._noting = noting
        self._database.executescript(_TABLES)
        self._labels: Counter[str] = Counter()
        self._sure: Counter[str] = Counter()
        self._small: Counter[str] = Counter()

    def add(self, names: Names, times: int = 1) -> None:
        """Count what some texts have; -1 takes away what was counted before."""
        labels, small = names
        for label, (seen, sure) in labels.items():
            self._labels[label] += times * seen
            self._sure[label] += times * sure
        for word, seen in small.items():
            self._small[word] += times * seen
        if len(self._labels) > _HELD or len(self._small) > _HELD:
            self.flush()

    def chosen(self, *, touched: bool = False) -> dict[str, str]:
        """Return the names that became terms, by key, each as it is mostly written."""
        self.flush()
        chosen = {}
        rows = self._database.execute(_TOUCHED if touched else _ALL)
        for key, grouped in groupby(rows, itemgetter(0)):
            forms = list(grouped)
            seen, sure = (sum(row[column] for row in forms) for column in (2, 3))
            _, label, _, _, small = forms[0]
            if seen > 1 and sure >= max(1, small or 0) and is_nameable(key.split()):
                chosen[key] = label
        return chosen

    def flush(self) -> None:
        """Add the counts to those on disk."""
        names = [
            (label, name_key(words_of(label)), seen, self._sure[label])
            for label, seen in self._labels.items()
        ]
        self._database.executemany(
            "INSERT INTO names VALUES (?, ?, ?, ?) ON CONFLICT (label) DO UPDATE "
            "SET seen = seen + excluded.seen, sure = sure + excluded.sure",
            names,
        )
        self._database.executemany(
            "INSERT INTO small VALUES (?, ?) ON CONFLICT (word) DO UPDATE "
            "SET seen = seen + excluded.seen",
            self._small.items(),
        )
        if self._noting:
            self._database.executemany(
                "INSERT OR IGNORE INTO touched VALUES (?)",
                [*((row[1],) for row in names), *((word,) for word in self._small)],
            )
        for counts in (self._labels, self._sure, self._small):
            counts.clear()


def title_names(titles: Iterable[str]) -> dict[str, str]:
    """Return the names that titles stand for, by key.

    What stands in parentheses at the end tells namesakes apart and is no part of the
    name. Of titles with one key the first in order gives the label.
    """
    names: dict[str, str] = {}
    for title in sorted(titles, reverse=True):
        label = _PARENTHESES.sub("", title) or title
        words = words_of(label)
        if is_nameable(words):
            names[name_key(words)] = label
    return names

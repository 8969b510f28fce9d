"""Contamination: how much of the gold values stands in a prompt or training text.

Values and text are compared as words: letters and digits without case and without
punctuation. A value of n words or more is looked up by its runs of n words, a shorter
one as a whole. A short value such as a year may well stand in a text by chance; how
many words the values of a field have is told beside the share, so that one can judge.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from knowtrail.eval.fields.paths import leaves
from knowtrail.graph.errors import InputError

WORDS = 5
"""Length of the runs of words that are looked up."""
_EXAMPLES = 5
_EXAMPLE_LENGTH = 80
_WORD = re.compile(r"\w+")


def _words(text: str) -> Iterator[str]:
    normal = unicodedata.normalize("NFKC", text).casefold()
    return (found[0] for found in _WORD.finditer(normal))


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldContamination:
    """How much of one field's gold values stands in the text.

    `verbatim` is the share of values of which all runs stand there, `overlap` the mean
    share of a value's runs.
    """

    field: str
    values: int
    verbatim: float
    overlap: float
    mean_words: float
    examples: tuple[str, ...]


class TextIndex:
    """Runs of one to n words of a text, as hashes; memory grows with the text."""

    def __init__(self, lines: Iterable[str], *, words: int = WORDS) -> None:
        if not 1 <= words <= 20:
            msg = f"Runs of {words} words cannot be looked up: choose 1 to 20."
            raise InputError(msg)
        self.words = words
        self._runs: set[int] = set()
        recent: deque[str] = deque(maxlen=words)
        for line in lines:
            for word in _words(line):
                recent.append(word)
                run = tuple(recent)
                self._runs.update(hash(run[start:]) for start in range(len(run)))

    def share(self, words: list[str]) -> float:
        """Return the share of a value's runs that stand in the text."""
        length = min(self.words, len(words))
        runs = [
            hash(tuple(words[start : start + length]))
            for start in range(len(words) - length + 1)
        ]
        return sum(run in self._runs for run in runs) / len(runs)


@dataclass(slots=True)
class _Sums:
    values: int = 0
    verbatim: int = 0
    overlap: float = 0.0
    words: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, text: str, share: float, words: int) -> None:
        self.values += 1
        self.overlap += share
        self.words += words
        if share == 1.0:
            self.verbatim += 1
            shown = text[:_EXAMPLE_LENGTH]
            if shown not in self.examples:
                self.examples.append(shown)
                self.examples.sort(key=lambda example: (-len(example), example))
                del self.examples[_EXAMPLES:]


def contamination(
    gold: Iterable[Any], text: TextIndex
) -> tuple[FieldContamination, ...]:
    """Return how much of each field stands in a text, the largest share first."""
    fields: dict[str, _Sums] = {}
    for record in gold:
        for path, value in leaves(record):
            if value is None or isinstance(value, bool):
                continue
            shown = str(value)
            if words := list(_words(shown)):
                sums = fields.setdefault(path, _Sums())
                sums.add(shown, text.share(words), len(words))
    found = [
        FieldContamination(
            field=path,
            values=sums.values,
            verbatim=sums.verbatim / sums.values,
            overlap=sums.overlap / sums.values,
            mean_words=sums.words / sums.values,
            examples=tuple(sums.examples),
        )
        for path, sums in fields.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.overlap, one.field)))

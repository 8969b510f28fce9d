"""How often names are written in the texts of a corpus, and which become terms."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Self

from knowtrail.graph.errors import StorageError
from knowtrail.ingest.names import (
    is_nameable,
    name_key,
    names_in,
    small_words,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_HELD = 200_000
"""Names or words counted in memory before they go to disk."""
_PARENTHESES = re.compile(r"\s*\([^()]*\)\s*\Z")
_ROWS = """
SELECT names.key, names.label, names.seen, names.sure, small.seen
FROM names LEFT JOIN small ON small.word = names.key
ORDER BY names.key, names.seen DESC, names.label
"""


class NameTally:
    """Counts names over any number of texts; the order of these does not matter.

    A name becomes a term where it stands in at least two texts, in one of them not at
    the beginning of a sentence; a single word, where it is written with a capital
    inside sentences at least as often as without. Memory is bounded: counts go to a
    temporary file that ends with the process.
    """

    def __enter__(self) -> Self:
        """Open a database without a name."""
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute(
            "CREATE TABLE names (label TEXT PRIMARY KEY, key TEXT, seen INT, sure INT)"
            " WITHOUT ROWID"
        )
        self._database.execute(
            "CREATE TABLE small (word TEXT PRIMARY KEY, seen INT) WITHOUT ROWID"
        )
        self._seen: Counter[str] = Counter()
        self._sure: Counter[str] = Counter()
        self._small: Counter[str] = Counter()
        return self

    def __exit__(self, *_: object) -> None:
        """Close and so delete it."""
        self._database.close()

    def add(self, text: str) -> None:
        """Count the names and the words without a capital of one text, each once."""
        certain: dict[str, bool] = {}
        for name in names_in(text):
            certain[name.label] = name.certain or certain.get(name.label, False)
        self._seen.update(certain)
        self._sure.update(label for label, sure in certain.items() if sure)
        self._small.update(small_words(text))
        if len(self._seen) > _HELD or len(self._small) > _HELD:
            self._spill()

    def chosen(self) -> dict[str, str]:
        """Return the names that became terms, by key, each as it is mostly written."""
        self._spill()
        chosen = {}
        for key, forms in groupby(self._database.execute(_ROWS), itemgetter(0)):
            rows = list(forms)
            seen, sure = (sum(row[column] for row in rows) for column in (2, 3))
            _, label, _, _, small = rows[0]
            if seen > 1 and sure >= max(1, small or 0) and is_nameable(key.split()):
                chosen[key] = label
        return chosen

    def _spill(self) -> None:
        """Add the counts to those on disk."""
        names = [
            (label, name_key(words_of(label)), seen, self._sure[label])
            for label, seen in self._seen.items()
        ]
        try:
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
        except sqlite3.OperationalError as error:
            msg = f"No space for temporary files ({error}): free some or set TMPDIR."
            raise StorageError(msg) from error
        for counts in (self._seen, self._sure, self._small):
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

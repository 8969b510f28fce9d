"""Identifiers derived from content and place, so that a second run finds its own."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import unicodedata
from functools import lru_cache
from typing import Any, Self

from knowtrail.graph.errors import StorageError

_SPACES = re.compile(r"[\s_]+")


def content_key(*parts: str | int) -> str:
    """Return a 128-bit key of the parts, as 32 hexadecimal digits.

    Parts are length-prefixed, so that ("ab", "c") and ("a", "bc") differ.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


@lru_cache(maxsize=1_000)  # walks name all their steps so
def camel_case(name: str) -> str:
    """Return a name of Python as properties are called: `type_rule` is `typeRule`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def camel_cased(thing: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a thing by their names as JSON has them."""
    return {camel_case(name): getattr(thing, name) for name in names}


LONGEST_TITLE = 500
"""Characters of a title that are compared: an index holds no value of any length."""


def normalise_title(title: str, *, fragment: bool = False) -> str:
    """Return a page title in the form that links are compared in.

    Underscores and runs of white space become one space, a leading colon and, of the
    target of a link, a `fragment` (`#...`) go, the first letter becomes upper case, as
    MediaWiki does; what is behind `LONGEST_TITLE` characters is left out.
    """
    title = unicodedata.normalize("NFC", title.split("#", 1)[0] if fragment else title)
    title = _SPACES.sub(" ", title).strip().removeprefix(":").strip()
    return (title[:1].upper() + title[1:])[:LONGEST_TITLE]


def title_keys(title: str) -> list[str]:
    """Return the keys that a title may have, its own last.

    An earlier version cut titles at `#`.
    """
    return sorted({normalise_title(title, fragment=cut) for cut in (False, True)})


def page_key(key: str) -> str:
    """Return the key of the page into which a key leads, itself where it has no `#`."""
    return key.partition("#")[0].rstrip()


def document_key(identity: str) -> str:
    """Return a document's id as the target of a link."""
    return f"#{identity}"


def normalise_name(name: str) -> str:
    """Return a theme or category name in the form that names are compared in."""
    return _SPACES.sub(" ", unicodedata.normalize("NFC", name)).strip().casefold()


class Seen:
    """Keys met in this run, on disk so that memory stays bounded."""

    def __enter__(self) -> Self:
        """Open a database without a name: it goes with the process."""
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute("CREATE TABLE seen (id TEXT PRIMARY KEY) WITHOUT ROWID")
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, key: str) -> bool:
        """Take note of a key; return whether it is new, or raise `StorageError`."""
        try:
            cursor = self._database.execute(
                "INSERT OR IGNORE INTO seen VALUES (?)", (key,)
            )
        except sqlite3.OperationalError as error:
            msg = f"No space for temporary files ({error}): free some or set TMPDIR."
            raise StorageError(msg) from error
        return cursor.rowcount == 1

    def __contains__(self, key: str) -> bool:
        row = self._database.execute("SELECT 1 FROM seen WHERE id = ?", (key,))
        return row.fetchone() is not None

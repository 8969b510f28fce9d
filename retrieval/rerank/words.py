"""Words of a text in any language, for counting: no stemming and no stop words."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["words"]

_ASCII = re.compile(r"[a-z0-9]+")
_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
    "]+"
)
"""Scripts that put no spaces between words."""


def words(text: str) -> list[str]:
    """Return the words of a text, in its order and as often as they come.

    Case and the ways of writing one character (such as wide Latin letters) make no
    difference. A word is a run of letters, digits and the marks that belong to them. In
    scripts without spaces between words, each two neighbouring characters are one, as
    is usual for searching them.

    Args:
        text: Any text.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return _ASCII.findall(folded)
    spaced = folded.translate(_SPACED)
    if _UNSPACED.search(spaced) is None:
        return spaced.split()
    return [part for word in spaced.split() for part in _parts(word)]


class _Spaced(dict[int, int]):
    """Code of a character -> itself in letters, digits and marks on them, else space.

    Filled as characters come.
    """

    def __missing__(self, code: int) -> int:
        """Look a character up, the first time it comes."""
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else ord(" ")
        return self[code]


_SPACED = _Spaced()


def _parts(word: str) -> list[str]:
    """Return a word, or the pairs of characters of its unspaced runs."""
    found: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if word[end : run.start()]:
            found.append(word[end : run.start()])
        found += _pairs(run[0])
        end = run.end()
    if word[end:]:
        found.append(word[end:])
    return found


def _pairs(run: str) -> list[str]:
    """Return each two neighbouring characters; one alone is itself."""
    if len(run) == 1:
        return [run]
    return [run[place : place + 2] for place in range(len(run) - 1)]

"""Texts in the form that names are compared in, and the words of type letters."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from retrieval.specificity.yaml_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Token",
    "TypeWords",
    "data_file",
    "normal",
    "tokens_of",
    "type_words",
    "word_list",
]

_WORD = re.compile(r"[^\W_]+(?:['\u2019](?=s\b)s)?")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "`": "'"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word of a question.

    Attributes:
        form: The word without case, accents and a possessive `'s`.
        text: As it was written.
        start: Where it begins.
        end: Where it ends.
    """

    form: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeWords:
    """The words for institution types.

    Attributes:
        letters: Normal form of a word -> letters that it stands for.
        generic: Normal forms of words for any institution.
        classes: Letter -> class name.
        shown: Letter -> language -> (one, many), the words for answers.
    """

    letters: Mapping[str, str]
    generic: frozenset[str]
    classes: Mapping[str, str]
    shown: Mapping[str, Mapping[str, tuple[str, str]]]


def tokens_of(text: str) -> list[Token]:
    """Return the words of a text, in order."""
    found = []
    for match in _WORD.finditer(text.translate(_APOSTROPHES)):
        word = match.group().removesuffix("'s")
        start = match.start()
        found.append(
            Token(form=_plain(word), text=word, start=start, end=start + len(word))
        )
    return found


def normal(text: str) -> str:
    """Return a text in the form that names are compared in.

    Case, accents, punctuation and a possessive `'s` make no difference.
    """
    return " ".join(token.form for token in tokens_of(text))


@lru_cache(maxsize=4096)
def _plain(word: str) -> str:
    """Return a word in lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=8)
def data_file(name: str) -> Any:
    """Return the value of a YAML file of this package's data, read once."""
    place = resources.files("retrieval.specificity").joinpath("data", name)
    with resources.as_file(place) as path:
        return read_lines(path).value


def word_list(name: str) -> frozenset[str]:
    """Return a list of small words; see `data/words.yaml`."""
    return frozenset(data_file("words.yaml")[name])


@lru_cache(maxsize=1)
def type_words() -> TypeWords:
    """Return the words for institution types, read once."""
    given = data_file("types.yaml")
    letters: dict[str, str] = {}
    classes: dict[str, str] = {}
    shown: dict[str, dict[str, tuple[str, str]]] = {}
    for letter, words in given["types"].items():
        classes[letter] = words["class"]
        shown[letter] = {
            language: (words[language][0], words[language][1])
            for language in ("en", "nl")
        }
        for language in ("en", "nl"):
            for word in words[language]:
                known = letters.get(normal(word), "")
                if letter not in known:
                    letters[normal(word)] = known + letter
    generic = frozenset(normal(w) for ws in given["generic"].values() for w in ws)
    return TypeWords(letters=letters, generic=generic, classes=classes, shown=shown)

"""Words of questions: their normal form, those of institution types, and the language.

Words that questions are made of are apart from what they name and what they are about:
whatever is left of a question is what it is about, or a name that nobody knows.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.specificity.query_templates import NONE, load_templates
from knowtrail.retrieval.specificity.yaml_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    place = resources.files("knowtrail.retrieval.specificity").joinpath("data", name)
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


NEAR = 88.0
"""How near a misspelt word must be, of 100."""


@lru_cache(maxsize=1)
def _asking_words() -> frozenset[str]:
    """Return the words of the examples that a query answers, and small words."""
    found: set[str] = set()
    for template in load_templates().values():
        for texts in template.examples.values() if template.id != NONE else ():
            for text in texts:
                found |= {token.form for token in tokens_of(_bare(text))}
    for name, words in data_file("words.yaml").items():
        if name not in {"beginnings", "beyond", "meaning"}:
            found |= {str(word) for word in words}
    types = type_words()
    for form in (*types.letters, *types.generic):
        found |= set(form.split())
    return frozenset(found)


def is_asking(form: str) -> bool:
    """Return whether a word, in its normal form, is one that questions are made of."""
    return form in _asking_words() or form.isdigit()


@lru_cache(maxsize=4096)
def spelling_of(form: str) -> str | None:
    """Return the asking word that a misspelt one stands for, None without one."""
    if form in _asking_words():
        return form
    if len(form) < 5 or any(c.isdigit() for c in form):
        return None
    from rapidfuzz import fuzz, process

    near = process.extractOne(
        form,
        [w for w in _asking_words() if len(w) > 3 and w[0] == form[0]],
        scorer=fuzz.ratio,
        score_cutoff=NEAR,
    )
    return None if near is None else str(near[0])


def _bare(text: str) -> str:
    """Return an example without its slots."""
    parts = [
        piece.partition("}")[2] if "}" in piece else piece for piece in text.split("{")
    ]
    return " ".join(parts)


_DUTCH = word_list("dutch")
_ENGLISH = word_list("english")


def language_of(question: str, default: str = "en") -> str:
    """Return `nl` or `en`."""
    forms = [token.form for token in tokens_of(question)]
    dutch = sum(f in _DUTCH for f in forms)
    english = sum(f in _ENGLISH for f in forms)
    if dutch == english:
        return default
    return "nl" if dutch > english else "en"

"""Words of questions: their normal form, those of institution types, and the language.

Words that questions are made of are apart from what they name and what they are about:
whatever is left of a question is what it is about, or a name that nobody knows.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.specificity.query_templates import load_templates
from knowtrail.retrieval.specificity.yaml_lines import DATA, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from knowtrail.retrieval.specificity.gazetteer import Entry

PLACES = frozenset({"city", "region", "country"})
_WORD = re.compile(r"([^\W_]+)(?:'s\b)?")
_PART = re.compile(r"<<([\w.]+)>>")
_SLOT = re.compile(r"\{[^{}]*\}")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "`": "'"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word of a question; its form has no case, accents and possessive `'s`."""

    form: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something that a question names.

    Attributes:
        kind: A slot type, or `generic` for a word for any institution.
        value: What it stands for; empty where that is unknown or ambiguous.
        options: What it can stand for, the most likely first.
        score: How well it is spelt, 100 for exactly.
        relation: Of a date or a budget: how it is compared, such as `before`.
        foreign: Whether an amount is in another currency than euro.
        lead: Where the words begin that exclude it; -1 where none do.
        around: Where the words begin and end that say how it is compared.
        within: Region or country that tells a town from others of its name.
    """

    kind: str
    value: str
    text: str
    start: int
    end: int
    options: tuple[Entry, ...] = ()
    score: float = 100.0
    relation: str = "in"
    foreign: bool = False
    lead: int = -1
    around: tuple[int, int] = (0, 0)
    within: Mention | None = None

    @property
    def about(self) -> str:
        """Return where the place is that it stands for; empty if unknown."""
        return next((o.about for o in self.options if o.value == self.value), "")

    def as_kind(self, kind: str) -> str | None:
        """Return the value where the mention is read as one of a kind."""
        if self.kind == kind:
            return self.value or None
        return next((o.value for o in self.options if o.kind == kind), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeWords:
    """Words for institution types by normal form, and words for answers by letter."""

    letters: Mapping[str, str]
    generic: frozenset[str]
    shown: Mapping[str, Mapping[str, tuple[str, str]]]


def tokens_of(text: str) -> list[Token]:
    """Return the words of a text, in order."""
    return [
        Token(form=_plain(m[1]), text=m[1], start=m.start(), end=m.end(1))
        for m in _WORD.finditer(text.translate(_APOSTROPHES))
    ]


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with blanks in some places."""
    for start, end in spans:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def normal(text: str) -> str:
    """Return a text in the form that names are compared in.

    Case, accents, punctuation and a possessive `'s` make no difference.
    """
    return _plain(" ".join(_WORD.findall(text.translate(_APOSTROPHES))))


def _plain(words: str) -> str:
    if words.isascii():
        return words.lower()
    decomposed = unicodedata.normalize("NFKD", words.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=16)
def data_file(name: str) -> Any:
    """Return the value of a YAML file of this package's data, read once."""
    return read_lines(DATA / name).value


def said_in(language: str) -> Any:
    """Return what answers say in a language; see `data/phrases.yaml`."""
    return data_file("phrases.yaml")[language]


def word_list(name: str) -> frozenset[str]:
    """Return a list of small words; see `data/words.yaml`."""
    return frozenset(data_file("words.yaml")[name])


def patterns_of(module: str, **given: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of a module, with others given; see `data/patterns.yaml`."""
    known = data_file("words.yaml") | data_file("quantities.yaml") | given

    def named(part: re.Match[str]) -> str:
        found: Any = known
        for step in part[1].split("."):
            keys = "|".join(sorted(found, key=len, reverse=True))
            found = keys if step == "keys" else found[step]
        return whole(found)

    def whole(found: Any) -> str:
        if isinstance(found, str):
            return _PART.sub(named, found)
        if isinstance(found, dict):
            return "|".join(f"(?P<{name}>{whole(one)})" for name, one in found.items())
        return "|".join(whole(one).replace(" ", r"\s+(?:\w+\s+)?") for one in found)

    texts = data_file("patterns.yaml")[module]
    for name, text in texts.items():
        known[name] = whole(text)
    return {name: re.compile(known[name], re.IGNORECASE) for name in texts}


@lru_cache(maxsize=1)
def type_words() -> TypeWords:
    """Return the words for institution types, read once."""
    given = data_file("types.yaml")
    letters: dict[str, str] = {}
    shown: dict[str, dict[str, tuple[str, str]]] = {}
    for letter, words in given["types"].items():
        shown[letter] = {}
        for language in ("en", "nl"):
            shown[letter][language] = words[language][0], words[language][1]
            for word in words[language]:
                known = letters.get(normal(word), "")
                if letter not in known:
                    letters[normal(word)] = known + letter
    generic = frozenset(normal(w) for ws in given["generic"].values() for w in ws)
    return TypeWords(letters=letters, generic=generic, shown=shown)


NEAR = 88.0
"""How near a misspelt word must be, of 100."""


@lru_cache(maxsize=1)
def _asking_words() -> frozenset[str]:
    found: set[str] = set()
    for template in load_templates().values():
        for texts in template.examples.values() if template.variants else ():
            for text in texts:
                found |= {token.form for token in tokens_of(_SLOT.sub(" ", text))}
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

    known = [w for w in _asking_words() if len(w) > 3 and w[0] == form[0]]
    near = process.extractOne(form, known, scorer=fuzz.ratio, score_cutoff=NEAR)
    return None if near is None else str(near[0])


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

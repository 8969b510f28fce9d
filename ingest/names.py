"""Names written in a text: capitalised phrases, and the words they are compared by.

No list of names and no model: what is read is how people write. A phrase is a run of
words with a capital letter and of numbers after them, joined over white space, a
hyphen, an apostrophe, the full stop of an initial, an ampersand, and over articles and
genitive prepositions between two capitals (`University of the Arts`). Scripts without
capitals have none; titles stand for them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

MOST_WORDS = 8
"""Words of the longest name: longer runs of capitals are headings and lists."""
_MOST_BYTES = 1_000
"""Of a name: an index of Neo4j holds 8,000 of it and the corpus' name together."""
_LEAST_LETTERS = 3
_SMALL_WORDS = (
    "of the de la le les du des del della dello dei di da das do dos "
    "van von vom der den dem ter ten zu zum zur af av al el bin ibn na на от"
)
"""Articles and the prepositions that make a genitive, in languages with capitals.

Only what joins a name to the name it belongs to; conjunctions join two names.
"""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff"
)
"""Scripts written without spaces, and Hangul, whose particles follow without one."""
_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0640\u064b-\u065f\u0670]+"
)
"""Accents, and the vowel signs that Hebrew and Arabic texts may leave out."""
_LETTERS = str.maketrans({
    "\u0131": "i", "\u0142": "l", "\u00f8": "o", "\u0111": "d", "\u00f0": "d",
    "\u00e6": "ae", "\u0153": "oe",
})  # fmt: skip
"""Letters that people without them on their keyboard write like this."""
_LAST_CODE_POINT = 0x1FFFF


@dataclass(frozen=True, slots=True)
class Name:
    """A phrase that is written like a name.

    It is certain where its capital does not come from the beginning of a sentence;
    white space in the label is made single spaces.
    """

    label: str
    certain: bool


def words_of(text: str) -> list[str]:
    """Return the words of a text as names are compared: no case, accents, punctuation.

    Letters of scripts without spaces are words of their own, so that a name is found
    inside a run of them.
    """
    return _spaced(_folded(text)).split()


def small_words(text: str) -> set[str]:
    """Return the words of a text that stand there without a capital, folded."""
    words = _spaced(unicodedata.normalize("NFKC", text)).split()
    return set(_folded(" ".join(filter(str.islower, words))).split())


def _folded(text: str) -> str:
    """Return a text without case and accents (`Dvo\u0159\u00e1k` is `dvorak`)."""
    if text.isascii():
        return text.casefold()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFKC", bare).translate(_LETTERS)


def _spaced(text: str) -> str:
    """Return a text with nothing but spaces between its words."""
    breaks, unspaced = _splitters()
    if not text.isascii():
        text = unspaced.sub(r" \g<0> ", text)
    return breaks.sub(" ", text)


def name_key(words: list[str]) -> str:
    """Return the one string that stands for these words of a name."""
    return " ".join(words)


def is_nameable(words: list[str]) -> bool:
    """Say whether words are enough to be looked for: not too short, not too many."""
    letters = sum(map(len, words))
    least = 2 if words and re.match(f"[{_UNSPACED}]", words[0]) else _LEAST_LETTERS
    fits = len(name_key(words).encode()) <= _MOST_BYTES
    return letters >= least and len(words) <= 2 * MOST_WORDS and fits


def names_in(text: str) -> Iterator[Name]:
    """Yield the phrases of a text that are written like names, in order.

    A phrase at the beginning of a sentence is uncertain, since any word has a capital
    there; without its first word it is certain. The English article is left out at the
    beginning, where it comes and goes. A text all in capitals has no names. Letters of
    scripts without spaces end a phrase.
    """
    if text.isupper() and all(char.isupper() for char in text if char.isalpha()):
        return
    if not text.isascii():
        text = _splitters()[1].sub("|", text)
    for found in _phrase().finditer(text):
        phrase = found.group()
        words = phrase.split()
        if words[0] == "The" and len(words) > 1:
            yield Name(_label(words[1:]), certain=True)
            continue
        if len(words) > MOST_WORDS:
            continue
        initial = _begins(text, found.start())
        yield Name(_label(words), not initial)
        if initial and (rest := _phrase().search(phrase, len(words[0]))):
            yield Name(_label(rest.group().split()), certain=True)


def _label(words: list[str]) -> str:
    """Return a phrase without what its writer's grammar put at its end."""
    return _ENDING.sub("", " ".join(words))


_ENDING = re.compile(r"(?:['\u2019]s?|(?<=\w\w)\.)\Z")
_BEFORE = re.compile(
    r"(?:\A|[.!?:;\u2026\n])[\s\"'\u2018\u201c\u201e\u00ab(\[*\u2013\u2014-]*\Z"
)
_LOOK_BACK = 12


def _begins(text: str, start: int) -> bool:
    """Say whether a sentence may begin at `start`."""
    return _BEFORE.search(text, max(0, start - _LOOK_BACK), start) is not None


@cache
def _characters(*categories: str) -> str:
    """Return the characters of Unicode categories, for a class of a pattern."""
    ranges: list[list[int]] = []
    for code in range(_LAST_CODE_POINT):
        if unicodedata.category(chr(code)) in categories:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in ranges)


@cache
def _splitters() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what stands between words, and letters that are words of their own."""
    marks = _characters("Mn", "Mc")
    return (re.compile(f"(?:[^\\w{marks}]|_)+"), re.compile(f"[{_UNSPACED}][{marks}]*"))


@cache
def _phrase() -> re.Pattern[str]:
    upper, lower = _characters("Lu", "Lt"), _characters("Ll")
    letter = rf"\w{_characters('Mn', 'Mc')}"
    small = "|".join(_SMALL_WORDS.split())
    word = rf"(?<![{letter}])[{letter}]*[{upper}][{letter}]*"
    possessive = rf"['\u2019]s(?![{letter}])"
    inner = rf"(?:(?!{possessive})['\u2019\u02bc.\-\u2010\u2011&][{letter}]+)*"
    stop = rf"(?<=\b[{upper}])\.|(?<=\b[{upper}][{lower}])\.|(?<=\.[{upper}])\."
    name = rf"{word}{inner}(?:{stop})?"
    space = r"[^\S\n]+"
    joined = rf"(?:{space}(?:(?:{small}){space}){{1,2}}|{space}(?:&{space})?)"
    return re.compile(rf"{name}(?:{joined}{name}|{space}\d+(?![{letter}]))*")

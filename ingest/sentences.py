"""Sentence boundaries in many languages, as offsets into the text.

The boundaries come from `sentencex` (Wikimedia's segmenter). What is mended here are
list markers standing alone ("1." + "a wheel"), breaks before a lower-case word ("9 в.
пр. н. е. от траки"), a sentence in parentheses run into the next one, and breaks after
abbreviations that it does not know (`tests/unit/ingest/abbreviations.json` has them).
One that often ends sentences, as "etc." and "oz.", is none before a capital. How it
compares with other splitters is in `benchmarks/sentence_splitters.py`.
"""

# ruff: noqa: RUF001, RUF002 - other alphabets are what this module is about

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from knowtrail.graph.errors import InputError
from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.records import Span

MAX_SENTENCE = 1_000
"""Longest sentence in characters: about what a model of 256 tokens still reads."""

_BREAK = re.compile(
    r"[\u2029\f]"
    r"|\n[^\S\n]*\n"
    r"|\n(?=[^\S\n]*(?:[-*+•‣◦]|\(?\d{1,3}[.)])[^\S\n])"
)
"""A blank line, a page or paragraph separator, a line that begins a list item."""

_LONGEST_ABBREVIATION = 20
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?=[-_]|\Z)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_READABLE = re.compile(r"[^\W_]")
_MARKER = re.compile(r"[(\[]?(?:\d{1,3}|[^\W\d_]|[ivxlIVXL]{2,5})[.)\]]+")
_WORD = re.compile(r"[\"'“„«‘(\[]*(\w+)")
_IN_PARENTHESES = re.compile(r"\([^()]{2,}[.!?…]\)\s+(?=[\"'“„«‘]?([^\W_]))")
_LAST_WORD = re.compile(r"(?:^|[\s(\[\"'“„«‘])([^\W\d_][\w.-]*)\.$")
_INITIALS = re.compile(r"(?:^|[\s(])(?:[^\W\d_]\.){2,}$")
_JOINED_NAMES = re.compile(r"\b(?!J\.-C)[A-Z]\.-[A-Z]\.$")
"""Initials as of J.-J. Rousseau, but not those of Christ after a year."""
_NUMBER = re.compile(r"\d|[B-HJ-Z]\b|[IVXLC]{2,}\b")
_WORD_OR_NUMBER = re.compile(r"[AI]\b")
_ORDINAL = re.compile(r"(?:^|\s)\d{1,4}\.$")
_HOUR = re.compile(r"\b[ap]\.m\.$", re.IGNORECASE)
_ZONE = re.compile(r"(?:Eastern|Central|Mountain|Pacific|GMT|UTC|[ECMP][SD]T)\b")
_COUNTED = re.compile(
    r"(?:Jahrhundert|Jahrtausend|Jh\b|Lebensjahr|Geburtstag|Auflage|Armee|Bezirk|"
    r"Kapitel|Platz|Bundestag)"
)
"""What ordinals stand before in German, besides months."""
_CLAUSE = re.compile(r"(?<=[;:,—–])\s+|(?<=[，；：、،؛])\s*|(?<=[.!?…])\s+")
_SPACE = re.compile(r"\s+")
_WIDE_STOP = re.compile(r"[^\S\x00-\x7f](?=\.)")
"""White space beyond ASCII before a stop: behind an initial, sentencex fails on it."""


@cache
def _words(group: str, code: str = "") -> frozenset[str]:
    """Return words of the table, of a language where it has several: English, else."""
    # Those of `before_names` have no sentence behind them, those of `before_numbers`
    # none before a number; `begins` are first words of English sentences.
    words: Any = packaged("knowtrail.ingest", "sentences.toml")[group]
    return frozenset((words.get(code, words["en"]) if code else words).split())


def split_sentences(text: str, *, language: str = "en") -> list[Span]:
    """Return the sentences of a text as spans, in order.

    Spans do not overlap, have no white space at either end and together cover every
    character that is not white space. A blank line ends a sentence, and so does the
    beginning of a list item; a single line break does not. A span without a letter
    or digit is joined to the sentence before it (after it, at the beginning), so a
    text of nothing but punctuation is one span. No span is longer than
    `MAX_SENTENCE`: longer sentences are cut at a clause, else at white space, else
    between characters. English rules apply to a language that is not known.
    """
    readable = _SURROGATE.sub("\ufffd", text)
    match = _LANGUAGE.match(language.strip())
    code = match.group().lower() if match else "en"
    spans = [
        part
        for start, end in _paragraphs(readable)
        for sentence in _sentences(readable, start, end, code)
        for part in _cut(readable, sentence)
    ]
    return [Span(start, end) for start, end in _absorb(readable, spans)]


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _BREAK.finditer(text):
        yield start, found.start()
        start = found.end()
    yield start, len(text)


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    return start + left, max(start + left, start + len(piece.rstrip()))


def _sentences(text: str, start: int, end: int, code: str) -> list[tuple[int, int]]:
    import sentencex

    start, end = _strip(text, start, end)
    if start == end:
        return []
    try:
        bounds = sentencex.get_sentence_boundaries(
            code, _WIDE_STOP.sub(" ", text[start:end])
        )
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust, which is no Exception
            raise
        msg = f"No sentences are found in {text[start:end][:80]!r}: {error}."
        raise InputError(msg) from error
    cuts = [start, *(start + bound["end_index"] for bound in bounds[:-1]), end]
    spans: list[tuple[int, int]] = []
    for left, right in pairwise(cuts):
        span = _strip(text, left, right)
        if span[0] == span[1]:
            continue
        if spans and (
            _belongs(text, spans[-1], span)
            or _is_abbreviated(text, spans[-1], span, code)
        ):
            span = (spans.pop()[0], span[1])
        spans.append(span)
    return [part for span in spans for part in _after_parentheses(text, span)]


def _belongs(text: str, before: tuple[int, int], span: tuple[int, int]) -> bool:
    """Say whether a span only continues the one before it."""
    if _MARKER.fullmatch(text, *before):
        return True
    word = _WORD.match(text, *span)
    return word is not None and word[1][0].islower() and word[1] == word[1].lower()


def _is_abbreviated(
    text: str, before: tuple[int, int], span: tuple[int, int], code: str
) -> bool:
    """Say whether the full stop before a span is that of an abbreviation."""
    if before[1] == span[0] and text[span[0]] in "-‐":
        return True
    if text[before[1] - 1] != ".":
        return False
    end = text[max(before[0], before[1] - _LONGEST_ABBREVIATION) : before[1]]
    rest = text[span[0] : span[0] + _LONGEST_ABBREVIATION]
    found = _LAST_WORD.search(end)
    word = found[1].rsplit("-", 1)[-1] if found else ""
    if word in _words("before_names", code) or _JOINED_NAMES.search(end):
        return True
    if word.lower() in _words("before_numbers", code):
        is_name = word[0].isupper() and _WORD_OR_NUMBER.match(rest)
        return bool(_NUMBER.match(rest) or is_name)
    if _HOUR.search(end):
        return _ZONE.match(rest) is not None
    if code == "de" and _ORDINAL.search(end):
        return _COUNTED.match(rest) is not None
    begins = _WORD.match(rest)
    initials = code == "en" and _INITIALS.search(end) is not None
    return initials and begins is not None and begins[1] not in _words("begins")


def _after_parentheses(text: str, span: tuple[int, int]) -> list[tuple[int, int]]:
    """Part a leading sentence in parentheses from the sentence that follows it."""
    found = _IN_PARENTHESES.match(text, *span) if text[span[0]] == "(" else None
    if found is None or found[1].islower():
        return [span]
    return [_strip(text, span[0], found.end()), (found.end(), span[1])]


def _cut(text: str, span: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a sentence, none longer than `MAX_SENTENCE`."""
    start, end = span
    while (length := end - start) > MAX_SENTENCE:
        goal = length // math.ceil(length / MAX_SENTENCE)
        cut = _cut_place(text, start, start + goal)
        yield _strip(text, start, cut)
        start, end = _strip(text, cut, end)
    yield start, end


def _cut_place(text: str, start: int, goal: int) -> int:
    """Return the best place to cut near `goal`, at most `MAX_SENTENCE` on."""
    first, last = (start + goal) // 2, start + MAX_SENTENCE
    for pattern in (_CLAUSE, _SPACE):
        places = [found.end() for found in pattern.finditer(text, first, last)]
        if places := [place for place in places if first < place]:
            return min(places, key=lambda place: abs(place - goal))
    for place in range(goal, first, -1):
        joins = (
            unicodedata.combining(text[place])
            or "\u200d" in text[place - 1 : place + 1]
        )
        if not joins:
            return place
    return goal


def _absorb(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans without a letter or digit to a neighbour, within the length limit."""
    joined: list[tuple[int, int]] = []
    for span in spans:
        if joined:
            before = joined[-1]
            mute = not (
                _READABLE.search(text, *span) and _READABLE.search(text, *before)
            )
            if mute and span[1] - before[0] <= MAX_SENTENCE:
                joined[-1] = (before[0], span[1])
                continue
        joined.append(span)
    return joined

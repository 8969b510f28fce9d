"""Confidences as models write them: numbers, percentages, fractions, words."""

from __future__ import annotations

import math
import re
import unicodedata

from knowtrail.graph.files.packaged import packaged

WORDS: dict[str, float] = packaged(__package__, "words.toml")["confidences"]
"""Word -> the number that it is taken for."""

_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?")
_RANGE = re.compile(
    rf"({_NUMBER.pattern})\s*(?:-|\u2013|\u2014|to)\s*({_NUMBER.pattern})"
)
_FRACTION = re.compile(rf"({_NUMBER.pattern})\s*(?:/|of|out of)\s*(\d+)")
_LABEL = re.compile(r"^(?:(?:confidence|conf|strength|score)\s*[:=]?|[cs]\s*[:=])\s*")


def read_confidence(value: object) -> tuple[float | None, str | None]:
    """Return what a confidence means, from 0 to 1, and what was put right.

    Percentages, tenths, fractions, ranges, decimal commas and words are understood;
    a number just outside is moved to the nearer end. Anything else means nothing.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        number, shown = _as_float(value), f"{value!r:.40}"
    elif isinstance(value, str):
        text = unicodedata.normalize("NFKC", value).strip().casefold()
        number, shown = _meant(text), repr(value[:40])
        if _NUMBER.fullmatch(text) and 0 <= number <= 1:
            return number, None
    else:
        return None, f"{value!r:.40} is no number: left out"
    if isinstance(value, int | float) and 0 <= number <= 1:
        return abs(number), None
    inside = _inside(number)
    if inside is None:
        return None, f"{shown} means nothing from 0 to 1: left out"
    return inside, f"{shown} taken for {inside:g}"


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _meant(text: str) -> float:
    """Return the number that a text means, NaN where it means none."""
    text = _LABEL.sub("", text).strip(" ,;()[]<>\"'~\u2248").rstrip(" .")
    text = re.sub(r"(?<=\d),(?=\d)", ".", text).replace("\N{MINUS SIGN}", "-")
    if text in WORDS:
        return WORDS[text]
    if text.endswith("%"):
        return _plain(text[:-1].strip()) / 100
    if found := _FRACTION.fullmatch(text):
        whole = float(found[2])
        return float(found[1]) / whole if whole else math.nan
    if found := _RANGE.fullmatch(text):
        ends = float(found[1]), float(found[2])
        return math.nan if ends == (0, 1) else sum(ends) / 2
    return _plain(text)


def _plain(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def _inside(number: float) -> float | None:
    """Return a number moved into 0 to 1, None where it would be a guess."""
    if 0 <= number <= 1:
        return abs(number)
    if -1 <= number < 0:
        return 0.0
    if 1 < number < 2:
        return 1.0
    if 2 <= number <= 10:
        return number / 10
    return number / 100 if 10 < number <= 100 else None

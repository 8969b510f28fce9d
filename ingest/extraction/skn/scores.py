"""The end of a line, where a number in brackets should be, and texts in quotes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.extraction.numbers import read_confidence
from ingest.extraction.skn.characters import mapped

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Ending", "split_score", "unquoted"]

_BRACKETS = re.compile(r"[\[(<{]([^\[\](){}<>]{0,40})[\])>}]\s*[.,;]?\s*$")
_NESTED = re.compile(r"\[\s*<([^<>\[\]]{0,40})>\s*\]\s*$")
_OPEN = re.compile(r"[\[(](\d?\.\d+|\d*\.?|[01]?)\s*$")
_LABELLED = re.compile(
    r"[-|,;:\s](?:confidence|conf|strength)\s*[:=]\s*([\w.%,/]+)\s*$", re.IGNORECASE
)
_TRAILING = re.compile(r"(?<=[\"'\s|:])(\d?\.\d+|[01]|\d{1,3}\s*%)\s*$")
_DECIMAL = re.compile(r"\d?\.\d+")
_ESCAPE = re.compile(r"\\([\"'\\/])")
_STRICT = re.compile(r"\s*\[(?:0(?:\.\d*)?|1(?:\.0*)?|\.\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A line without its number, and the number.

    Attributes:
        rest: What stands before.
        score: The number from 0 to 1; None where there is none.
    """

    rest: str
    score: float | None


def split_score(line: str, tell: Callable[[str, str], None]) -> Ending:
    """Take the number off the end of a line.

    Args:
        line: What a model wrote.
        tell: Given code and message of what is put right.
    """
    plain = mapped(line)
    for pattern in (_NESTED, _BRACKETS, _LABELLED, _TRAILING, _OPEN):
        found = pattern.search(plain)
        if found is None:
            continue
        inside = found[1].strip()
        score, said = read_confidence(inside)
        if pattern is _OPEN and not _DECIMAL.fullmatch(inside):
            score, said = None, f"{found[0]!r} is cut: left out"
        if score is None and pattern in {_LABELLED, _TRAILING}:
            continue
        if score is None and inside and not _is_template(inside) and _is_text(plain):
            continue
        if said:
            tell("confidence", said)
        elif not _STRICT.fullmatch(line[found.start() :].rstrip()):
            tell("confidence", f"{found[0].strip()[:40]!r} taken for [{inside}]")
        return Ending(rest=line[: found.start()].rstrip(), score=score)
    tell("confidence", "there is no number at the end")
    return Ending(rest=line.rstrip(), score=None)


def _is_template(inside: str) -> bool:
    """Say whether brackets hold the words of the form instead of a number."""
    return "confidence" in inside.casefold() or "strength" in inside.casefold()


def _is_text(plain: str) -> bool:
    """Say whether the brackets at the end may be part of an unquoted text."""
    return not plain.rstrip(" .,;)>}]")[:-1].rstrip().endswith('"') and '"' not in plain


def unquoted(text: str, tell: Callable[[str, str], None], *, wanted: bool) -> str:
    """Return the text between the quotes of a piece of a line.

    Args:
        text: What a model wrote where a text belongs.
        tell: Given code and message of what is put right.
        wanted: Whether there should be quotes.
    """
    text = text.strip()
    plain = mapped(text)
    first, last = plain[:1], plain[-1:]
    if first not in {'"', "'"} or len(plain) < 2 or plain[1:].find(first) < 0:
        if first == '"':
            tell("quotes", "the closing quote is missing")
            return _decoded(text[1:], lambda *_: None)
        if wanted:
            tell("quotes", "there are no quotes")
        return text
    if last != first:
        end = plain.rindex(first)
        if not wanted:
            return text
        tell("quotes", f"{text[end + 1 :].strip()[:40]!r} after the quotes left out")
        text, plain = text[: end + 1], plain[: end + 1]
    if text[0] != '"' or text[-1] != '"':
        tell("quotes", f"quotes {text[0]}{text[-1]} taken for straight double ones")
    inner = text[1:-1]
    return inner if text[0] == "'" else _decoded(inner, tell)


def _decoded(inner: str, tell: Callable[[str, str], None]) -> str:
    """Return what stands between quotes, escapes resolved as in JSON."""
    try:
        return str(json.loads(f'"{inner}"'))
    except ValueError:
        tell("quotes", "quotes or escapes inside the text")
        lenient = _ESCAPE.sub(r"\1", inner)
        return lenient.replace("\\n", "\n").replace("\\t", "\t")

"""The lines about source and risk, put right where models get them wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.extraction.numbers import read_confidence
from ingest.extraction.skn.blocks import LEVELS, SknRisk, SknSource
from ingest.extraction.skn.characters import mapped
from ingest.extraction.skn.scores import unquoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.extraction.skn.blocks import Level

    Tell = Callable[[str, str], None]

__all__ = ["has_key", "read_risk", "read_source"]

_CHOICE = re.compile(
    r"<[^<>|]*\|[^<>]*>|<domain>|\b(?:high|medium|low)(?:\|(?:high|medium|low))+"
)
_KEY = re.compile(
    r"(?<![^\W_])(domain|fresh(?:ness)?|reliab(?:ility|le)|misdirection|"
    r"missing[\s_-]?context)[*_]*\s*[:=]\s*",
    re.IGNORECASE,
)
_AROUND = " \t|,;*_(-"
"""What may stand between the parts of a line."""

_NEAR: dict[str, Level] = {
    "very high": "high",
    "recent": "high",
    "current": "high",
    "new": "high",
    "fresh": "high",
    "moderate": "medium",
    "mid": "medium",
    "med": "medium",
    "average": "medium",
    "very low": "low",
    "old": "low",
    "outdated": "low",
    "stale": "low",
    "none": "low",
    "minimal": "low",
    "h": "high",
    "m": "medium",
    "l": "low",
}


def read_source(text: str, tell: Tell) -> SknSource | None:
    """Return what is said of the source, None where nothing is.

    Args:
        text: What stands after `@src`.
        tell: Given code and message of what is put right.
    """
    domain, found = _fields(text, tell)
    domain = _trimmed(found.get("domai", domain))
    domain = unquoted(domain, tell, wanted=False)
    domain = domain.strip("<>? ")
    freshness = _level("freshness", found.get("fresh"), tell)
    reliability = None
    if "relia" in found:
        reliability, said = read_confidence(_trimmed(found["relia"]))
        if said:
            tell("reliability", said)
    if not any(char.isalnum() for char in domain):
        if freshness is None and reliability is None:
            return None
        tell("domain", "there is no field: taken for unknown")
        domain = "unknown"
    return SknSource(domain=domain, freshness=freshness, reliability=reliability)


def read_risk(text: str, tell: Tell) -> SknRisk | None:
    """Return the risk, None where nothing is said of it.

    Args:
        text: What stands after `@risk`.
        tell: Given code and message of what is put right.
    """
    _, found = _fields(text, tell)
    misdirection = _level("misdirection", found.get("misdi"), tell)
    missing_context = _level("missing_context", found.get("missi"), tell)
    if misdirection is None and missing_context is None:
        return None
    return SknRisk(misdirection=misdirection, missing_context=missing_context)


def has_key(text: str) -> bool:
    """Say whether a field of knowledge holds what belongs after it.

    Args:
        text: What was read as the domain.
    """
    return _KEY.search(mapped(text)) is not None


def _trimmed(text: str) -> str:
    """Return a text without what may stand between the parts of a line."""
    plain = mapped(text)
    begin = len(plain) - len(plain.lstrip(_AROUND))
    return text[begin : len(plain.rstrip(_AROUND))]


def _fields(text: str, tell: Tell) -> tuple[str, dict[str, str]]:
    """Return what stands before the first key, and the values by their keys."""
    text = _CHOICE.sub(lambda found: "?".ljust(len(found[0])), text)
    plain = mapped(text)
    keys = list(_KEY.finditer(plain))
    first = text[: keys[0].start()] if keys else text
    found: dict[str, str] = {}
    ends = [*(key.start() for key in keys), len(text)][1:]
    for key, end in zip(keys, ends, strict=True):
        name = key[1].casefold()[:5]
        if name in found:
            tell("repeated", f"{key[1]} is said twice: the first counts")
            continue
        found[name] = text[key.end() : end]
    return first.split("|")[0] if "|" in first else first, found


def _level(what: str, value: str | None, tell: Tell) -> Level | None:
    """Return a level, None where there is none."""
    if value is None:
        return None
    text = mapped(value).strip(f"{_AROUND}.<>)[]\"'")
    for level in LEVELS:
        if text == level:
            return level
        if text.casefold() == level:
            tell("level", f"{what} {text!r} taken for {level}")
            return level
    known = _NEAR.get(text.casefold())
    if known is None:
        number, _ = read_confidence(text)
        known = None if number is None else _of_number(number)
    shown = known or "nothing"
    tell("level", f"{what} {text[:40]!r} taken for {shown}")
    return known


def _of_number(number: float) -> Level:
    """Return the level of a number from 0 to 1."""
    if number >= 2 / 3:
        return "high"
    return "medium" if number >= 1 / 3 else "low"

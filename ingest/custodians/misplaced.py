"""Values that stand in a column they do not belong to, as when cells have moved.

A region is none if it is the word for a kind of institution, an address on the web, a
number or the name of a country, or if the file has the same value more often as the
kind of body that runs institutions. The other way round a body is none if the file has
it more often as a region. Such values are left out and reported; a country is used as
what it is, and an address on the web as the website where the row has no other.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Misplaced", "moved_address", "state_of", "web_address"]

_MOST = 20_000
"""Different values of a column that are counted."""

_KIND = re.compile(
    r"\b(?:museums?|librar(?:y|ies)|archives?|galler(?:y|ies)|institut(?:e|es|ions?)|"
    r"organi[sz]ations?|education|government|musea|bibliothe(?:ek|ken)|archie(?:f|ven))"
    r"\b",
    re.IGNORECASE,
)
_WEB = re.compile(
    r"(?:https?://|www\.)[^\s<>\"]+|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?:/[^\s<>\"]*)?",
    re.IGNORECASE,
)
_STATES = {
    "uk": "GB",
    "united kingdom": "GB",
    "great britain": "GB",
    "ireland": "IE",
    "republic of ireland": "IE",
    "isle of man": "IM",
    "jersey": "JE",
    "guernsey": "GG",
}
_NUMBER = re.compile(r"[-+\d.,\s]+(?:[eE][-+]?\d+)?")


class Misplaced:
    """What the columns of a file tell of where its values belong."""

    def __init__(self) -> None:
        """Begin without any."""
        self._regions: Counter[str] = Counter()
        self._bodies: Counter[str] = Counter()

    def learn(self, region: str, body: str) -> None:
        """Take note of a row.

        Args:
            region: Its region, or nothing.
            body: The kind of body that runs the institution, or nothing.
        """
        for text, held in ((region, self._regions), (body, self._bodies)):
            key = _key(text)
            if key and (key in held or len(held) < _MOST):
                held[key] += 1

    def region_problem(self, text: str) -> str | None:
        """Return why a text is no region, None if nothing says so.

        Args:
            text: What the column of regions has, or nothing.
        """
        key = _key(text)
        if not key:
            return None
        if self._bodies[key] > self._regions[key]:
            return "the file has it as the kind of body that runs institutions"
        if _KIND.search(text):
            return "that is a kind of institution"
        return _no_name(text)

    def body_problem(self, text: str) -> str | None:
        """Return why a text is no kind of body, None if nothing says so.

        Args:
            text: What the column of bodies has, or nothing.
        """
        key = _key(text)
        if not key:
            return None
        if self._regions[key] > self._bodies[key]:
            return "the file has it as a region"
        return _no_name(text)


def state_of(region: str) -> str | None:
    """Return the ISO 3166-1 code where a British list has a state as region.

    Args:
        region: What the column of regions has.
    """
    return _STATES.get(_key(region))


def web_address(text: str) -> str | None:
    """Return the address on the web that a text is, or has first among others.

    Args:
        text: What the column of websites has.

    Returns:
        The text itself if it is one word that may be one; None for a text without any,
        an address of mail included.
    """
    words = text.split()
    if len(words) == 1 and _WEB.search(text) and ("://" in text or "@" not in text):
        return text
    bare = (word.rstrip(".,;)") for word in words)
    return next((word for word in bare if _WEB.fullmatch(word)), None)


def moved_address(row: Mapping[str, str]) -> tuple[str, str] | None:
    """Return column and value of the only cell that is an address on the web.

    Args:
        row: Column -> text.
    """
    found = [
        (column, text.strip())
        for column, text in row.items()
        if re.match(r"https?://|www\.", text.strip(), re.IGNORECASE)
        and len(text.split()) == 1
    ]
    return found[0] if len(found) == 1 else None


def _no_name(text: str) -> str | None:
    """Return why a text cannot be a name."""
    if _WEB.fullmatch(text.strip()):
        return "that is an address on the web"
    if _NUMBER.fullmatch(text):
        return "that is a number"
    return None


def _key(text: str) -> str:
    """Return a text as it is compared."""
    return " ".join(text.split()).casefold()

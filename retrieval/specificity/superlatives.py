"""How many are asked for: `the 5 oldest`, `the first three`, `is the oldest`."""

from __future__ import annotations

import re
from functools import lru_cache

from retrieval.specificity.words import data_file

__all__ = ["NEWEST", "OLDEST", "asked_limit", "is_number_of"]

NEWEST = (
    r"newest|youngest|latest|kortst\w*|shortest|most recent\w*|recentst?e?"
    r"|nieuwst\w*|jongst\w*"
    r"|recent\w*|laatst?e? (?:opgericht|gesticht)\w*"
    r"|last (?:founded|established)"
    r"|het laatst|founded last|last to (?:be founded|open)"
)
OLDEST = r"oldest|earliest|oudst\w*|vroegst\w*|first|eerst\w*|longest|langst\w*"
_SUPERLATIVE = f"(?:{NEWEST}|{OLDEST})"
_COUNTS = {
    "two": 2, "twee": 2, "three": 3, "drie": 3, "four": 4, "vier": 4, "five": 5,
    "vijf": 5, "six": 6, "zes": 6, "seven": 7, "zeven": 7, "eight": 8, "acht": 8,
    "nine": 9, "negen": 9, "ten": 10, "tien": 10, "twenty": 20, "twintig": 20,
}  # fmt: skip
_NUMBER = rf"(?P<{{}}>\d{{{{1,4}}}}|{'|'.join(_COUNTS)})"
_TIME = r"(?!\s+(?:years?|decades?|centur\w+|months?|jaar|jaren|eeuw\w*|maand\w*)\b)"
_LIMIT = re.compile(
    rf"\b(?:top[ -]?)?{_NUMBER.format('before')}\s+{_SUPERLATIVE}\b"
    rf"|\b{_SUPERLATIVE}\s+{_NUMBER.format('after')}\b(?!\s*[-/]?\s*\d){_TIME}"
    rf"|\btop[ -]?{_NUMBER.format('top')}\b"
)
_OF_THEM = r"(?:of (?:them|those|these)|daarvan|ervan|hiervan|van (?:die|deze|hen))"
_ASKED = r"(?:which|what|welke?)"
_PLURAL = re.compile(r"(?:[^us]s|[^l]en|musea|arboreta)$", re.IGNORECASE)
_TOP = re.compile(r"\btop[ -]?$", re.IGNORECASE)
_ENDS_SO = re.compile(rf"\b{_SUPERLATIVE}\s+$", re.IGNORECASE)
_BEGINS_SO = re.compile(rf"\s+{_SUPERLATIVE}\b", re.IGNORECASE)
_GOES_ON = re.compile(r"\s+[^\W\d_]{3,}")
_COUNTING = re.compile(
    r"(?:^|\b(?:the|de|het|me|us|my|mij|ons|are|were|zijn|waren|list|show|give|find|name"
    r"|geef|toon|noem|zoek|which|what|welke|wat))\W*$",
    re.IGNORECASE,
)


def asked_limit(question: str) -> str | None:
    """Return how many are asked for; one by `is the oldest`, None where not said."""
    text = question.casefold()
    if found := _LIMIT.search(text):
        word = found["before"] or found["after"] or found["top"]
        number = _COUNTS.get(word) or int(word)
        if not (found["after"] and number > 999):  # `founded first, 1850`
            return str(number) if number else None
    if _one(text):
        return "1"
    single = re.search(r"\b(?:is|was|what's|welk|heeft|has)\b", text)
    many = re.search(r"\b(?:are|were|zijn|welke|geef|list|toon|show|waren)\b", text)
    if single and not many and re.search(rf"\b{_SUPERLATIVE}\b", text):
        return "1"
    return None


def _one(text: str) -> bool:
    """Return whether a text speaks of one: `oldest museum`, `the newest of them`."""
    nouns = _singulars()
    return bool(
        re.search(rf"\b{_SUPERLATIVE}\s+(?:\w+\s+)?(?:{nouns})\b", text)
        or re.search(
            rf"\b(?:which|what|welke?)\s+(?:{nouns})\b.*\b{_SUPERLATIVE}\b", text
        )
        or (
            re.search(rf"\b{_SUPERLATIVE}\s+{_OF_THEM}\b", text)
            and not re.search(r"\b(?:are|were|zijn|waren)\b", text)
        )
    )


@lru_cache(maxsize=1)
def _singulars() -> str:
    """Return a pattern of the words for one institution, in both languages."""
    given = data_file("types.yaml")
    lists = [w[x] for w in given["types"].values() for x in ("en", "nl")]
    words = {
        word.casefold()
        for found in lists
        for word in found[::2]
        if not _PLURAL.search(word)
    }
    words |= {"institution", "instelling", "organisation", "organisatie", "one"}
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def is_number_of(text: str, start: int, end: int) -> bool:
    """Return whether a number says how many, as in `top 999` or `the 999 oldest`.

    Args:
        text: A question.
        start: Where the number begins.
        end: Where it ends.
    """
    before, after = text[:start], text[end:]
    if _TOP.search(before):
        return True
    if _ENDS_SO.search(before) and end - start < len("1000"):
        return bool(_GOES_ON.match(after))
    return bool(_BEGINS_SO.match(after) and _COUNTING.search(before))

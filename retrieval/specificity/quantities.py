"""Numbers in Dutch and English questions: years, money, identifiers, and how many."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from knowtrail.retrieval.specificity.vocabulary import data_file

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def _is_number_of(text: str, start: int, end: int) -> bool:
    """Return whether a number says how many, as in `top 999` or `the 999 oldest`."""
    before, after = text[:start], text[end:]
    if _TOP.search(before):
        return True
    if _ENDS_SO.search(before) and end - start < len("1000"):
        return bool(_GOES_ON.match(after))
    return bool(_BEGINS_SO.match(after) and _COUNTING.search(before))


_SCALES = {
    "k": 3,
    "thousand": 3,
    "duizend": 3,
    "ton": 5,
    "m": 6,
    "mln": 6,
    "mio": 6,
    "mn": 6,
    "million": 6,
    "millions": 6,
    "miljoen": 6,
    "bn": 9,
    "billion": 9,
    "miljard": 9,
    "mld": 9,
}
_LARGE = frozenset({"million", "miljoen", "mln", "miljard"})
_TENS = {
    "20": ("twenties", "twintig"),
    "30": ("thirties", "dertig"),
    "40": ("forties", "veertig"),
    "50": ("fifties", "vijftig"),
    "60": ("sixties", "zestig"),
    "70": ("seventies", "zeventig"),
    "80": ("eighties", "tachtig"),
    "90": ("nineties", "negentig"),
}
_NUMBERS: dict[str, int | Decimal] = {
    "one": 1,
    "a": 1,
    "een": 1,
    "\u00e9\u00e9n": 1,
    "two": 2,
    "twee": 2,
    "three": 3,
    "drie": 3,
    "four": 4,
    "vier": 4,
    "five": 5,
    "vijf": 5,
    "six": 6,
    "zes": 6,
    "seven": 7,
    "zeven": 7,
    "eight": 8,
    "acht": 8,
    "nine": 9,
    "negen": 9,
    "ten": 10,
    "tien": 10,
    "twenty": 20,
    "twintig": 20,
    "fifty": 50,
    "vijftig": 50,
    "hundred": 100,
    "a hundred": 100,
    "honderd": 100,
    "half a": Decimal("0.5"),
    "half": Decimal("0.5"),
    "een half": Decimal("0.5"),
    "anderhalf": Decimal("1.5"),
    "one and a half": Decimal("1.5"),
}
_NUMBER_WORDS = "|".join(sorted(map(re.escape, _NUMBERS), key=len, reverse=True))
_AMOUNT = re.compile(
    r"(?P<before>\u20ac|\$|\u00a3|\b(?:eur|usd|gbp)\b)?\s*"
    r"(?:(?<!\d)(?<!\de)(?<!\de[+-])(?P<digits>\d[\d.,\u00a0' ]*\d|\d)(?!\d|e[+-]?\d)"
    rf"|\b(?P<word>{_NUMBER_WORDS})\b)"
    rf"\s*(?:(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})\b)?\s*"
    r"(?P<after>\u20ac|\$|\u00a3|\b(?:euros?|eur|usd|gbp|dollars?|pounds?|ponden"
    r"|pond)\b)?",
    re.IGNORECASE,
)
_SHARED = re.compile(r"\s*(?:and|en|to|tot|or|of|-|\u2013)\s*", re.IGNORECASE)
_BARE = re.compile(r"(?<![\w.,])(\d[\d.,]*\d)(?![.,]?\w)")
_MONEY_CUE = re.compile(
    r"budget|begroting|\bspend|spending|funding|\bgeven\b.*\buit\b|besteden|uitgeven"
    r"|inkomsten|income|revenue|per jaar|a year|per year|yearly|annual|jaarlijks"
    r"|\b(?:under|over|above|below|more than|less than|at least|at most|meer dan|boven"
    r"|minder dan|onder|minstens|hoogstens)\s+\W*\d[\d.,]*\s*(?:k|m|mln|bn|mio)\b",
    re.IGNORECASE,
)
_FOREIGN = re.compile(r"\$|\u00a3|usd|gbp|dollar|pound|pond", re.IGNORECASE)
_CENTURY = re.compile(
    r"\b(?:(\d{1,2})(?:st|nd|rd|th|e|de|ste)|"
    r"(sixteenth|seventeenth|eighteenth|nineteenth|twentieth|twenty-first|"
    r"zestiende|zeventiende|achttiende|negentiende|twintigste|eenentwintigste))"
    r"[ -](?:century|centuries|eeuw)\b",
    re.IGNORECASE,
)
_CENTURIES = {
    "sixteenth": 16,
    "zestiende": 16,
    "seventeenth": 17,
    "zeventiende": 17,
    "eighteenth": 18,
    "achttiende": 18,
    "nineteenth": 19,
    "negentiende": 19,
    "twentieth": 20,
    "twintigste": 20,
    "twenty-first": 21,
    "eenentwintigste": 21,
}
_DATE = re.compile(
    r"\b(?:\d{1,2}[ ./-](?:\d{1,2}|[a-z]{3,9})[ ./-])?"
    r"(?P<year>1[0-9]{3}|20[0-9]{2}|[5-9]\d{2})"
    r"(?P<decade>(?:s|'s|er jaren)\b)?(?:-\d{2}-\d{2})?(?![\d.,]*\d)",
    re.IGNORECASE,
)
_DECADE = re.compile(
    r"\bjaren\s+(?:['\u2019]?(?P<after>[1-9]0)(?:'?s)?(?!\d)|(?P<dutch>"
    + "|".join(dutch for _, dutch in _TENS.values())
    + r")\b)|(?:\bthe\s+['\u2019]?|['\u2019])(?P<short>[1-9]0)'?s\b"
    r"|\b(?:the\s+)?(?P<word>"
    + "|".join(english for english, _ in _TENS.values())
    + r")\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\b(?:between|from|tussen|van)\s*$", re.IGNORECASE)
_FILLER = (
    r"(?:\s+(?:in|the|de|het|year|jaar|het jaar|the year|and including|en met|around"
    r"|rond"
    r"|circa|about|ongeveer|end of|begin(?:ning)? of|eind(?:e)?(?: van)?"
    r"|begin van))*\s*$"
)
_UNTIL = re.compile(
    r"\b(?:until|up to|tot en met|t/m|by|(?:no|not) later than|niet later dan|uiterlijk"
    r"|(?:in|on) or before|in of voor|at the latest in|op zijn laatst in"
    r"|niet (?:\w+ )?na|not (?:\w+ )?after)" + _FILLER,
    re.IGNORECASE,
)
_SINCE = re.compile(
    r"\b(?:since|sinds|vanaf|from|(?:no|not) earlier than|niet eerder dan"
    r"|op zijn vroegst"
    r"|(?:in|on) or after|in of na|as of|niet (?:\w+ )?v(?:oo|\u00f3\u00f3)r"
    r"|not (?:\w+ )?before)" + _FILLER,
    re.IGNORECASE,
)
_OR = re.compile(r"\b(?:or|of)\b", re.IGNORECASE)
_FROM = re.compile(r"\bfrom(?:\s+the)?\s*$", re.IGNORECASE)
_BEFORE = re.compile(
    r"\b(?:before|v(?:oo|\u00f3\u00f3)r|earlier than|older than|ouder (?:\w+ )?dan"
    r"|eerder (?:\w+ )?dan"
    r"|prior to|tot|predat(?:e|es|ing)|pre)" + _FILLER + r"|\bpre-$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(?:after|na|later than|later (?:\w+ )?dan|newer than|nieuwer (?:\w+ )?dan"
    r"|younger than"
    r"|jonger (?:\w+ )?dan|more recent than|recenter dan|past|post)"
    + _FILLER
    + r"|\bpost-$",
    re.IGNORECASE,
)
_OR_EARLIER = re.compile(
    r"\s*(?:,\s*)?(?:or|of|en|and)\s+(?:earlier|before|older|eerder|daarvoor|ouder)\b"
    r"(?!\s+(?:the\s+|than\s+|dan\s+)?(?:year\s+)?\d)",
    re.IGNORECASE,
)
_OR_LATER = re.compile(
    r"\s*(?:,\s*)?(?:(?:or|of|en|and)\s+(?:later|after|newer|since|daarna|nieuwer"
    r"|jonger)"
    r"|onwards?|and onwards?)\b"
    r"(?!\s+(?:the\s+|than\s+|dan\s+)?(?:year\s+)?\d)",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"(?<![\w-])(?:[A-Za-z]{2}|O|OCLC|EUR|oclc|o)-[A-Za-z0-9][A-Za-z0-9:/-]*[A-Za-z0-9]"
    r"|(?<![\w-])[A-Z]{2}-[A-Z0-9](?![\w-])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A quantity or code in a text.

    Attributes:
        value: A year or range of years, an amount in euro, or an identifier.
        start: Where it begins.
        end: Where it ends.
        foreign: Whether an amount is in another currency than euro.
        relation: Of a year: `in`, `before`, `after`, `since` or `until`.
    """

    value: str
    start: int
    end: int
    foreign: bool = False
    relation: str = "in"


def amounts(text: str) -> list[Found]:
    """Return the amounts of money in a text, as decimal numbers.

    A number is one where a currency or a scale such as `million` stands beside it, or
    where the text speaks of a budget and it is no year.
    """
    cue = _MONEY_CUE.search(text)
    found = []
    matches = list(_AMOUNT.finditer(text))
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        currency = match["before"] or match["after"]
        scale = match["scale"]
        if following and not (scale or currency):
            between = text[match.end() : following.start()]
            if _SHARED.fullmatch(between):  # `1 and 2 million`
                scale, currency = following["scale"], following["after"]
        number = _number(match["digits"], match["word"])
        if number is not None and number >= 1000:  # `500,000 and 2 million`
            scale = match["scale"]
        if number is None or (match["word"] and not scale):
            continue
        year = not scale and not currency and 1000 <= number <= 2100
        spoken = bool(cue) and (bool(scale) or not year)
        if not currency and not spoken and scale not in _LARGE:
            continue
        whole = number * Decimal(10) ** _SCALES.get((scale or "").casefold(), 0)
        start, end = match.span()
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        shown = format(whole.quantize(Decimal("0.01")), "f").rstrip("0").rstrip(".")
        foreign = bool(currency and _FOREIGN.search(currency))
        found.append(Found(value=shown, start=start, end=end, foreign=foreign))
    return found


def in_euro(text: str) -> str:
    """Return a text that goes on about budgets with `euro` behind a bare number.

    A number that can be a year stays one, and a small one may be no amount at all.
    """
    if amounts(text) or years(text):
        return text
    match = _BARE.search(text)
    number = _number(match[1], None) if match else None
    if match is None or number is None or number < 1000:
        return text
    return f"{text[: match.end()]} euro{text[match.end() :]}"


def _number(digits: str | None, word: str | None) -> Decimal | None:
    """Return a number as people write it: groups of three, or a decimal sign."""
    if word is not None:
        return Decimal(_NUMBERS[word.casefold()])
    if digits is None:
        return None
    bare = re.sub(r"[\u00a0' ]", "", digits).strip(".,")
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d{1,2})?", bare):
        tail = re.search(r"[.,](\d{1,2})$", bare)
        head = bare[: tail.start()] if tail else bare
        whole = re.sub(r"[.,]", "", head)
        return Decimal(f"{whole}.{tail[1]}" if tail else whole)
    if re.fullmatch(r"\d+(?:[.,]\d+)?", bare) and len(bare) <= 18:
        return Decimal(bare.replace(",", "."))
    return None


def years(text: str) -> list[Found]:
    """Return the years in a text, with `before` and the like as relation.

    A century or decade is its first and last year, such as `1801/1900`, and so is
    `between 1800 and 1850`.
    """
    plain: list[tuple[int, int, int, int]] = []
    for match in _CENTURY.finditer(text):
        number = int(match[1]) if match[1] else _CENTURIES[match[2].casefold()]
        if 5 <= number <= 21:
            plain.append((*match.span(), 100 * number - 99, 100 * number))
    for match in _DECADE.finditer(text):
        first = 1900 + _tens(match)
        plain.append((*match.span(), first, first + 9))
    for match in _DATE.finditer(text):
        if _is_number_of(text, *match.span()):
            continue
        first = int(match["year"])
        last = first + 9 if match["decade"] and first % 10 == 0 else first
        plain.append((*match.span(), first, last))
    plain.sort()
    found: list[Found] = []
    skip = -1
    for n, (start, end, first, last) in enumerate(plain):
        if n == skip:
            continue
        before, relation = text[:start], "in"
        value = str(first) if first == last else f"{first}/{last}"
        following = plain[n + 1] if n + 1 < len(plain) else None
        if (
            following
            and _BETWEEN.search(before)
            and re.fullmatch(
                r"\s*(?:and|en|to|tot|until|-|\u2013|t/m|tot en met)\s*",
                text[end : following[0]],
            )
        ):
            value = f"{first}/{following[3]}"
            end, skip = following[1], n + 1
        else:
            relation = _relation(before, text[end:])
            if relation == "since" and first != last and _FROM.search(before):
                relation = "in"
        found.append(Found(value=value, start=start, end=end, relation=relation))
    return _narrowed(found, text)


def _narrowed(found: list[Found], text: str) -> list[Found]:
    """Return years in which `after 1850 and before 1900` is 1851/1899, both times.

    Two ends that leave nothing between them, or that stand beside an `or`, stay.
    """
    if len(found) != 2 or _OR.search(text[found[0].end : found[1].start]):
        return found
    low, high = 0, 0
    for one in found:
        first, _, last = one.value.partition("/")
        if one.relation in {"after", "since"}:
            low = int(first) if one.relation == "since" else int(last or first) + 1
        elif one.relation in {"before", "until"}:
            high = int(last or first) if one.relation == "until" else int(first) - 1
    if not 0 < low <= high:
        return found
    return [replace(one, value=f"{low}/{high}", relation="in") for one in found]


def _tens(match: re.Match[str]) -> int:
    """Return the tens of a decade that is named without its century."""
    if digits := match["after"] or match["short"]:
        return int(digits)
    said = (match["dutch"] or match["word"]).casefold()
    return next(int(tens) for tens, words in _TENS.items() if said in words)


def _relation(before: str, after: str) -> str:
    """Return what the words beside a year say of it."""
    if _OR_EARLIER.match(after):
        return "until"
    if _OR_LATER.match(after):
        return "since"
    tests = (("until", _UNTIL), ("since", _SINCE), ("before", _BEFORE))
    for relation, test in (*tests, ("after", _AFTER)):
        if test.search(before):
            return relation
    return "in"


def identifiers(text: str, known: frozenset[str] = frozenset()) -> list[Found]:
    """Return what looks like an ISIL or a GHCID."""
    found = []
    for match in _IDENTIFIER.finditer(text):
        word = match.group()
        prefix, _, rest = word.partition("-")
        looks = prefix.isupper() and (
            any(c.isdigit() or c.isupper() for c in rest) or "-" in rest
        )
        if word.casefold() in known or (looks and len(word) >= 4):
            found.append(Found(value=word, start=match.start(), end=match.end()))
    return found


_RANGE = re.compile(
    r"\b(?:between|from|tussen|van)(?:\s+(?:the|de))?\s*$", re.IGNORECASE
)
_TO = re.compile(r"\s*(?:to|tot|tot en met|t/m|-|\u2013)\s*", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|en)(?:\s+(?:the|de))?\s*", re.IGNORECASE)


def ranged(text: str, found: Sequence[Found]) -> list[Found]:
    """Return amounts in which `between 1 and 2 million` is one, `1000000/2000000`."""
    joined: list[Found] = []
    for one in found:
        last = joined[-1] if joined else None
        opening = None if last is None else _RANGE.search(text[: last.start])
        between = "" if last is None else text[last.end : one.start]
        low = Decimal(last.value) if last and "/" not in last.value else None
        if (
            last is not None
            and low is not None
            and low <= Decimal(one.value)
            and (_TO.fullmatch(between) or (opening and _AND.fullmatch(between)))
        ):
            joined[-1] = replace(
                one,
                value=f"{last.value}/{one.value}",
                start=opening.start() if opening else last.start,
                foreign=one.foreign or last.foreign,
            )
        else:
            joined.append(one)
    return joined

"""Numbers in Dutch and English questions: years, money, identifiers, orders.

Numbers in words are read by `text2num`; how they are compared is a small
closed grammar of operators (`data/quantities.yaml`), which a negator turns around.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from knowtrail.retrieval.specificity.vocabulary import (
    Mention,
    blanked,
    data_file,
    language_of,
    patterns_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_DATA = data_file("quantities.yaml")
_TYPES = data_file("types.yaml")["types"].values()
_PLURAL = re.compile(r"(?:[^us]s|[^l]en|musea|arboreta)$", re.IGNORECASE)
_SINGULARS = {"institution", "instelling", "organisation", "organisatie", "one"} | {
    word.casefold()
    for words in _TYPES
    for word in (*words["en"][::2], *words["nl"][::2])
    if not _PLURAL.search(word)
}
_P = patterns_of("quantities", singulars="|".join(map(re.escape, _SINGULARS)))
CALENDAR = frozenset({*_DATA["months"], *_DATA["days"]})
"""Months, days and seasons, in their normal form."""

READ = 90.0
"""Score of a date that is not taken as it is said: around a year, the later first."""

_ABOUT = 10  # years before and after the one that is asked for around

OPPOSITE: dict[str, str] = _DATA["opposite"]
"""Operator -> what it is where it is negated."""

DATES: dict[str, str] = _DATA["dates"]
AMOUNTS: dict[str, str] = _DATA["amounts"]

_PROTECTED = frozenset({"een", "\u00e9\u00e9n", "one", "a", "first", "eerste", "eerst"})
_RUN = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+){0,3}")


class Digits:
    """A text in which numbers in words are digits; `places` are those in the other."""

    def __init__(self, text: str) -> None:
        language = language_of(text)
        self.text = ""
        self.places: list[int] = []
        at = 0
        while at < len(text):
            run = None if at and text[at - 1].isalnum() else _RUN.match(text, at)
            number = _numeral(run[0], language) if run else None
            piece, size = number or (text[at], 1)
            self.text += piece
            self.places += [at] * len(piece)
            at += size
        self.places.append(len(text))


@lru_cache(maxsize=4096)
def _numeral(run: str, language: str) -> tuple[str, int] | None:
    """Return the digits that the longest beginning of words means, and its length."""
    # Scales such as `million` stay words, and so do `one` and `first`, which say more.
    from text_to_num import alpha2digit

    for end in [m.end() for m in re.finditer(r"[^\W\d_]+", run)][::-1]:
        words, tail = run[:end].casefold(), ""
        if {*re.split(r"[ -]", words)} & (_PROTECTED | _DATA["scales"].keys()):
            continue
        if words.endswith("ties"):  # the sixties
            words, tail = f"{words[:-3]}y", "s"
        said = alpha2digit(words, language, threshold=0)
        if re.fullmatch(r"\d+(?:st|nd|rd|th|e|de|ste)?", said):
            return said + tail, end
    return None


def is_number(form: str) -> bool:
    """Return whether a word is a number, in digits or in words of either language."""
    said = form.isalpha() and any(_numeral(form, one) for one in ("en", "nl"))
    return form.isdigit() or said


class _Compared(NamedTuple):
    """How a quantity is compared, and where the words beside it say so."""

    begin: int
    end: int
    operator: str = ""
    excluded: bool = False


def _operator(text: str, start: int, end: int) -> _Compared:
    before = text[:start]
    if found := _P["suffix"].match(text, end):
        return _Compared(start, found.end(), str(found.lastgroup))
    if found := _P["operator"].search(before):
        name = next(op for op in _DATA["operators"] if found[op])
        name = OPPOSITE.get(name, "eq") if found["not"] else name
        return _Compared(found.start(), end, name)
    found = _P["not_in"].search(before)
    return _Compared(found.start() if found else start, end, excluded=bool(found))


def years(text: str) -> list[Mention]:
    """Return the years in a text, with `before` and the like as relation.

    A century or decade is its first and last year, such as `1801/1900`, and so is
    `between 1800 and 1850`.
    """
    view = Digits(text)
    spans, found = _spans(view.text), list[Mention]()
    while spans:
        start, end, first, last = spans.pop(0)
        value, score = str(first) if first == last else f"{first}/{last}", 100.0
        opening = _P["range"].search(view.text[:start])
        between = view.text[end : spans[0][0]] if opening and spans else None
        joined = between is not None and _joins(between, opening)
        if joined:
            _, end, low, high = spans.pop(0)
            value = f"{first}/{high}"
            if first > high:
                value, score = f"{low}/{last}", READ
        compared = _operator(view.text, start, end)
        about = _P["about"].search(view.text[:start])
        if about and not compared.operator and "/" not in value:
            start, value, score = (
                about.start(),
                f"{first - _ABOUT}/{last + _ABOUT}",
                READ,
            )
            compared = compared._replace(begin=min(start, compared.begin))
        plain = not compared.excluded and (joined or compared.operator == "ge")
        if opening and "/" in value and plain:  # `from the 1950s`, `between 1 and 2`
            compared = _Compared(opening.start(), end, "eq")
        excluded = _P["not_in"].search(view.text[:start]) if "/" in value else None
        if excluded:  # `not from the 1950s`
            compared = _Compared(excluded.start(), end, excluded=True)
        relation = DATES[compared.operator or "eq"]
        given = {"kind": "date", "value": value, "relation": relation, "score": score}
        found.append(_quantity(text, view, (start, end), compared, **given))
    return _narrowed(found, text)


def _joins(between: str, opening: re.Match[str] | None) -> bool:
    """Return whether what stands between two quantities makes them one range."""
    both = opening and _P["and"].fullmatch(between)
    return bool(both or _P["to"].fullmatch(between))


def _quantity(
    text: str, view: Digits, span: tuple[int, int], compared: _Compared, **given: Any
) -> Mention:
    start, end = (view.places[at] for at in span)
    around = view.places[compared.begin], view.places[compared.end]
    lead = around[0] if compared.excluded else -1
    given |= {"text": text[start:end], "around": around, "lead": lead}
    return Mention(start=start, end=end, **given)


def _spans(text: str) -> list[tuple[int, int, int, int]]:
    found: list[tuple[int, int, int, int]] = []
    for match in _P["century"].finditer(text):
        last = 100 * int(match[1])
        found += [(*match.span(), last - 99, last)] if 500 <= last <= 2100 else []
    for match in _P["decade"].finditer(text):
        first = 1900 + int(match[1] or match[2])
        found.append((*match.span(), first, first + 9))
    for match in _P["date"].finditer(text):
        if not _is_number_of(text, *match.span()):
            first = int(match["year"])
            last = first + 9 if match["decade"] and first % 10 == 0 else first
            found.append((*match.span(), first, last))
    return sorted(found)


def _narrowed(found: list[Mention], text: str) -> list[Mention]:
    """Return years in which `after 1850 and before 1900` is 1851/1899, both times."""
    # Two ends that leave nothing between them, or that stand beside an `or`, stay.
    if len(found) != 2 or _P["or"].search(text[found[0].end : found[1].start]):
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


_SCALES = {name: int(power) for name, power in _DATA["scales"].items()}
_LARGE = frozenset({"million", "miljoen", "mln", "miljard"})


def amounts(text: str) -> list[Mention]:
    """Return the amounts of money in a text, as decimal numbers.

    A number is one where a currency or a scale such as `million` stands beside it, or
    where the text speaks of a budget and it is no year.
    """
    view = Digits(text)
    cue = _P["money"].search(view.text)
    found = []
    matches = list(_P["amount"].finditer(view.text))
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        currency, scale = match["before"] or match["after"], match["scale"]
        if following and not (scale or currency):
            between = view.text[match.end() : following.start()]
            if _P["shared"].fullmatch(between):  # `1 and 2 million`
                scale, currency = following["scale"], following["after"]
        number = read_number(match["digits"], match["word"])
        if number is not None and number >= 1000:  # `500,000 and 2 million`
            scale = match["scale"]
        if number is None or (match["word"] and not scale):
            continue
        spoken = bool(cue) and (bool(scale) or number > 2100)
        if not currency and not spoken and scale not in _LARGE:
            continue
        whole = number * Decimal(10) ** _SCALES.get((scale or "").casefold(), 0)
        piece = match[0]
        start = match.start() + len(piece) - len(piece.lstrip())
        end = match.end() - len(piece) + len(piece.rstrip())
        compared = _operator(view.text, start, end)
        shown = format(whole.quantize(Decimal("0.01")), "f").rstrip("0").rstrip(".")
        foreign = bool(currency and _P["foreign"].search(currency))
        relation = AMOUNTS.get(compared.operator, "")
        given = {"kind": "budget", "value": shown, "relation": relation}
        span = start, end
        found.append(_quantity(text, view, span, compared, foreign=foreign, **given))
    return found


def ranged(text: str, found: Sequence[Mention]) -> list[Mention]:
    """Return amounts in which `between 1 and 2 million` is one, `1000000/2000000`."""
    joined: list[Mention] = []
    for one in found:
        last = joined[-1] if joined else one
        opening = _P["range"].search(text[: last.start])
        whole = last is one or "/" in last.value
        if whole or not _joins(text[last.end : one.start], opening):
            joined.append(one)
            continue
        start = opening.start() if opening else last.start
        low, high = sorted((last.value, one.value), key=Decimal)
        joined[-1] = replace(
            one,
            value=f"{low}/{high}",
            score=100.0 if low == last.value else READ,
            text=text[start : one.end],
            start=start,
            foreign=one.foreign or last.foreign,
            relation="between",
            lead=last.lead,
            around=(min(last.around[0], last.start), one.end),
        )
    return joined


def in_euro(text: str) -> str:
    """Return a text that goes on about budgets with `euro` behind a bare number.

    A number that can be a year stays one, and a small one may be no amount at all.
    """
    match = _P["bare"].search(text)
    number = read_number(match[1]) if match else None
    if match is None or number is None or number < 1000 or amounts(text) or years(text):
        return text
    return f"{text[: match.end()]} euro{text[match.end() :]}"


def read_number(digits: str | None, word: str | None = None) -> Decimal | None:
    """Return a number as people write it: groups of three, or a decimal sign."""
    if word is not None:
        return Decimal(_DATA["halves"][word.casefold()])
    bare = re.sub(r"[\u00a0' ]", "", digits or "").strip(".,")
    if grouped := re.fullmatch(r"(\d{1,3}(?:[.,]\d{3})+)(?:[.,](\d{1,2}))?", bare):
        return Decimal(re.sub(r"[.,]", "", grouped[1]) + f".{grouped[2] or 0}")
    if re.fullmatch(r"\d+(?:[.,]\d+)?", bare) and len(bare) <= 18:
        return Decimal(bare.replace(",", "."))
    return None


def identifiers(text: str, known: Collection[str] = ()) -> list[Mention]:
    """Return what looks like an ISIL or a GHCID.

    Those that are known, in lower case, are taken in any case; others only where they
    begin with capitals and are more than a word.
    """
    found = []
    for match in _P["identifier"].finditer(text):
        word = match.group()
        prefix, _, rest = word.partition("-")
        looks = prefix.isupper() and (
            any(c.isdigit() or c.isupper() for c in rest) or "-" in rest
        )
        if word.casefold() in known or (looks and len(word) >= 4):
            start, end = match.span()
            found.append(
                Mention(kind="identifier", value=word, text=word, start=start, end=end)
            )
    return found


_MOST = {by: _P[by] for by in _DATA["orders"]}
"""Order -> words that name the first in it."""

_MORE = {by: _P[f"more_{by}"] for by in _MOST}
"""Order -> words that only compare two."""

_WHOLE = {name: _P[name] for name in ("mean", "sum")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """In which order institutions are asked for, and which of them.

    By `oldest`, `newest`, `richest` or `poorest`; so many, None for all, after skipping
    others: one for the second.
    """

    by: str
    limit: int | None = None
    skip: int = 0


def asked_order(question: str, mentions: Sequence[Mention] = ()) -> Order | None:
    """Return the order that a question asks for; None without one.

    Between the names of two institutions, a word such as `older` is one; words in a
    name are none.
    """
    names = [m for m in mentions if m.kind == "name"]
    text = Digits(blanked(question, ((m.start, m.end) for m in names))).text
    said = {by: first for by, words in _MOST.items() if (first := words.search(text))}
    found = sorted(said, key=lambda by: _precedence(by, said[by]))
    if len(names) > 1:
        found = [by for by in _MORE if _MORE[by].search(text)] + found
        found.sort(key=lambda by: by in {"oldest", "newest"})
    if not found:
        return None
    if rank := _P["rank"].search(text):
        after, nth = rank["after"] or "", int(rank["nth"] or 2)
        skip = int(after) if after.isdigit() else nth - 1
        return Order(by=found[0], limit=1, skip=skip)
    limit = asked_limit(text)
    return Order(by=found[0], limit=None if limit is None else int(limit))


def _precedence(by: str, said: re.Match[str]) -> tuple[bool, bool, int, int]:
    """Return what puts an order of a text before others: money, then `oldest first`."""
    # Then that which is said first, and of those the longest.
    later = not _P["first_of"].search(said[0])
    return by in {"oldest", "newest"}, later, said.start(), -len(said[0])


def order_spans(
    question: str, taken: Collection[str] | None = None, *, compared: bool = False
) -> list[tuple[int, int]]:
    """Return where words stand that say in which order, how many, or add up.

    Of what is taken, slots and their values; None for all of them.
    """
    view = Digits(question)
    ranked = taken is not None and "skip" in taken  # which says its order, too
    orders = () if ranked else _MOST.items()
    named = [("limit", _P["limit"]), ("skip", _P["rank"]), *orders, *_WHOLE.items()]
    patterns = [words for name, words in named if taken is None or name in taken]
    patterns += _MORE.values() if compared else ()
    return [
        (view.places[found.start()], view.places[found.end()])
        for pattern in patterns
        for number, found in enumerate(pattern.finditer(view.text))
        if taken is None or _is_taken(pattern, found, number, taken)
    ]


def _is_taken(
    pattern: re.Pattern[str], found: re.Match[str], number: int, taken: Collection[str]
) -> bool:
    """Return whether words are of what is taken, and no second time after `number`."""
    if pattern is _P["limit"]:
        others = (words for by, words in _MOST.items() if by not in taken)
        if any(words.search(found[0]) for words in others):
            return False
        if not {*filter(None, found.groups())} & {*taken}:
            return False  # `the top 3` after the oldest one
    # `The oldest and the second oldest` are two orders, `by age, oldest first` is one.
    return not number or bool(_P["first_of"].search(found[0]))


@lru_cache(maxsize=4096)
def is_ordering(form: str) -> bool:
    """Return whether a word names the first in an order, alone or with `budget`."""
    said = form, f"{form} budget"
    return any(words.fullmatch(one) for words in _MOST.values() for one in said)


def asked_limit(question: str) -> str | None:
    """Return how many are asked for; one by `is the oldest`, None where not said."""
    text = Digits(question).text
    if found := _P["limit"].search(text):
        number = int(found["before"] or found["after"] or found["top"] or found["with"])
        return str(number) if number else None
    one = _P["one"].search(text) and not (
        _P["one_of_them"].search(text) and _P["many"].search(text)
    )
    single = _P["single"].search(text) and not _P["many"].search(text)
    return "1" if one or (single and _P["first"].search(text)) else None


def _is_number_of(text: str, start: int, end: int) -> bool:
    """Return whether a number says how many, as in `top 999` or `the 999 oldest`."""
    for found in _P["limit"].finditer(text):
        behind = found["after"] and re.match(r"\s+[^\W\d_]{3,}", text[end:])
        if found.start() <= start and end <= found.end() and not found["with"]:
            return bool(found["top"] or behind or _P["counting"].search(text[:start]))
    return False


def asked_aggregate(question: str) -> str | None:
    """Return `sum` or `mean` where a question asks for one of budgets."""
    if not _P["spending"].search(question):
        return None
    return next((n for n, words in _WHOLE.items() if words.search(question)), None)

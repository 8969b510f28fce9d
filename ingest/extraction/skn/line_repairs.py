"""Single lines of SKN, put right where models get them wrong.

Characters that stand for marks of the language are mapped one to one, so that places in
the mapped line are places in the line.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.extraction.numbers import read_confidence
from knowtrail.ingest.extraction.skn.notation import (
    LEVELS,
    SYMBOLS,
    SknFact,
    SknLink,
    SknRisk,
    SknSource,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from knowtrail.ingest.extraction.skn.notation import Level, Priority

    Tell = Callable[[str, str], None]

ARROW = "\N{RIGHTWARDS ARROW}"
"""What every arrow becomes that is one character."""


def meant(kind: str) -> dict[str, Any]:
    """Return what models write, in lower case, and what of a kind they mean by it."""
    table = packaged("knowtrail.ingest.extraction", "words.toml")["meant"][kind]
    return {word: meaning for meaning, words in table.items() for word in words}


_TABLE = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | meant("mark")
)
"""Wide letters and signs are those of ASCII, others stand for marks."""


def mapped(line: str) -> str:
    """Return a line of the same length in which marks are those of the language."""
    return line.translate(_TABLE)


BRACKETED = (
    r"[\[(]\s*(?:0?\.\d+|[01](?:\.\d*)?|\d{1,3}\s*%|(?:very )?(?:high|low)|medium|"
    r"strong|weak)\s*[\])]"
)
"""A pattern of numbers in brackets that are surely meant for confidences."""

_QUOTED_TAIL = re.compile(
    rf"(?<=[\"'])\s*({BRACKETED})\s*([^\s\"](?:[^\"]{{0,200}}|.{{0,200}}[^\])\s]))\s*$",
    re.IGNORECASE,
)
_TAIL = re.compile(
    rf"(?<=\s)({BRACKETED})\s*([\[(][^\[\](){{}}\"]{{1,80}}[\])])\s*[.,;]?\s*$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"(?<=\s)(\[(?:0?\.\d+|1\.0+)\])\s+([^\[\]\"]{2,80})$")

_BRACKETS = re.compile(
    r"[*_`]{0,3}[\[(<{]([^\[\](){}<>]{0,40})[\])>}][*_`]{0,3}\s*[.,;]?\s*$"
)
_NESTED = re.compile(r"[\[(<{]\s*[\[(<{]([^\[\](){}<>]{0,40})[\])>}]\s*[\])>}]\s*$")
_OPEN = re.compile(r"[\[(](\d?\.\d+|\d*\.?|[01]?)\s*$")
_LABELLED = re.compile(
    r"[-|,;:\s](?:confidence|conf|strength)\s*[:=]\s*([\w.%,/]+)\s*$", re.IGNORECASE
)
_TRAILING = re.compile(r"(?<=[\"'\s|:])(\d?\.\d+|[01]|\d{1,3}\s*%)\s*$")
_DECIMAL = re.compile(r"\d?\.\d+")
_ESCAPE = re.compile(r"\\([\"'\\/])")
_STRICT = re.compile(r"\s*\[(?:0(?:\.\d*)?|1(?:\.0*)?|\.\d+)\]")


def _split_score(line: str, tell: Tell) -> tuple[str, float | None]:
    """Return a line without its number, and that from 0 to 1, None for none."""
    plain = mapped(line)
    tails = (each.search(plain) for each in (_QUOTED_TAIL, _TAIL, _WORDS))
    if tail := next(filter(None, tails), None):
        left = line[tail.start(2) :].strip()
        if len(left.strip(" .,;|")) > 1:
            tell("after", f"{left[:40]!r} after the number left out")
        line = line[: tail.end(1)]
        plain = plain[: tail.end(1)]
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
        maybe_text = pattern is _BRACKETS and inside and not _is_template(inside)
        if score is None and maybe_text and _is_text(plain):
            continue
        if said:
            tell("confidence", said)
        elif not _STRICT.fullmatch(line[found.start() :].rstrip()):
            tell("confidence", f"{found[0].strip()[:40]!r} taken for [{inside}]")
        rest = line[: found.start()].rstrip()
        if pattern in {_LABELLED, _TRAILING}:
            rest = rest.rstrip(" \t:,;|-")
        return rest, score
    tell("confidence", "there is no number at the end")
    return line.rstrip(), None


def _is_template(inside: str) -> bool:
    return "confidence" in inside.casefold() or "strength" in inside.casefold()


def _is_text(plain: str) -> bool:
    """Say whether the brackets at the end may be part of an unquoted text."""
    return not plain.rstrip(" .,;)>}]")[:-1].rstrip().endswith('"') and '"' not in plain


def _unquoted(text: str, tell: Tell, *, wanted: bool) -> str:
    text = text.strip()
    bare = text.strip("*_`")
    if bare != text and (wanted or mapped(bare)[:1] in {'"', "'"}):
        tell("quotes", "marks around the text left out")
        text = bare.strip()
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
        tell("after", f"{text[end + 1 :].strip()[:40]!r} after the quotes left out")
        text, plain = text[: end + 1], plain[: end + 1]
    if text[0] != '"' or text[-1] != '"':
        tell("quotes", f"quotes {text[0]}{text[-1]} taken for straight double ones")
    inner = text[1:-1]
    return inner if text[0] == "'" else _decoded(inner, tell)


def _decoded(inner: str, tell: Tell) -> str:
    """Return what stands between quotes, escapes resolved as in JSON."""
    try:
        return str(json.loads(f'"{inner}"'))
    except ValueError:
        tell("quotes", "quotes or escapes inside the text")
        return _ESCAPE.sub(r"\1", inner).replace("\\n", "\n").replace("\\t", "\t")


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


_NEAR: dict[str, Level] = meant("level")


def read_source(text: str, tell: Tell) -> SknSource | None:
    """Return what is said of the source, None where nothing is."""
    domain, found = _fields(text, tell)
    domain = _trimmed(found.get("domai", domain))
    domain = _unquoted(domain, tell, wanted=False)
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
    """Return the risk, None where nothing is said of it."""
    _, found = _fields(text, tell)
    misdirection = _level("misdirection", found.get("misdi"), tell)
    missing_context = _level("missing_context", found.get("missi"), tell)
    if misdirection is None and missing_context is None:
        return None
    return SknRisk(misdirection=misdirection, missing_context=missing_context)


def has_key(text: str) -> bool:
    """Say whether a field of knowledge holds what belongs after it."""
    return _KEY.search(mapped(text)) is not None


def _trimmed(text: str) -> str:
    plain = mapped(text)
    begin = len(plain) - len(plain.lstrip(_AROUND))
    return text[begin : len(plain.rstrip(_AROUND))]


def _fields(text: str, tell: Tell) -> tuple[str, dict[str, str]]:
    """Return what stands before the first key, and the values by their keys."""
    text = _CHOICE.sub(lambda found: "?".ljust(len(found[0])), text)
    keys = list(_KEY.finditer(mapped(text)))
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
    if number >= 2 / 3:
        return "high"
    return "medium" if number >= 1 / 3 else "low"


_QUOTED = "\x00"
"""What stands for each character of a text in quotes."""

_NEXT_FACT = re.compile(
    rf"(?<=[\])'{_QUOTED}])\s*[,;|]?\s*(?=[!.~?]\s*['{_QUOTED}])|"
    rf"(?<=[\])])\s*(?:[,;|]\s*(?=['{_QUOTED}])|[,;|]?\s*(?=[*-]\s*['{_QUOTED}]))|"
    r"(?<=[\])])\s*[,;|]?\s+(?=[!~.]\s+\S)"
)
"""What stands between two facts on a line."""

_LEAD = re.compile(r"\s*(?:[*+>#-]|\d{1,3}[.)])?\s*")
"""What may stand before the first fact."""

_AFTER_LINK = re.compile(rf"(?<=\s){BRACKETED}\s*[,;|]?\s*(?=\S)", re.IGNORECASE)
"""The number of a link with something after it."""

_SYMBOL = re.compile(
    r"\s*(?:(?:[*+>-]|\d{1,3}[.)])\s+(?=[!.~?]))?([!.~?*+>#=:;,^%$&-]{1,3}|\d{1,3}[.)])"
    r"(?=\s|\")\s*"
)
_WORD = re.compile(
    r"\s*(?:[*+>-]\s+)?[\[(]?(critical|important|high|supporting|detail|medium|"
    r"uncertain|inferred|implied|low)[\])]?\s*[:\-]\s*",
    re.IGNORECASE,
)
_WORD_PRIORITY: dict[str, Priority] = meant("priority")
_STRANGE: dict[str, Priority] = {"!": "critical", "~": "uncertain", "?": "uncertain"}
_ARROW = re.compile(
    r"\s*(?:(?P<both><[-=]{1,3}>|[\u2194\u21d4\u27f7\u27fa\u21c4\u21cc])|"
    r"(?P<back><[-=]{1,3}(?![->])|[\u2190\u21d0\u27f5\u27f8])|"
    rf"(?P<on>[-=]{{1,3}}>+|{ARROW}))\s*"
)
_VERBS = re.compile(r"\s+(?:causes|leads to|results in|triggers)\s+", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[*+>-]|\d{1,3}[.)])\s+")
_NONE = re.compile(r"[\s(*-]*(?:none|n/?a|nothing|no gaps?)[\s).]*", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"<?(?:critical fact(?: from source)?|supporting detail|what is missing|cause|"
    r"effect|"
    r"uncertain (?:or implied statement|/ inferred claim)|"
    r"information missing from the source)>?",
    re.IGNORECASE,
)


def fact_parts(line: str) -> list[tuple[int, str]]:
    """Return the facts of a line, mostly one, each with where it begins."""
    plain = _hidden(mapped(line))
    between = _NEXT_FACT.finditer(plain)
    return _cut(line, [b for b in between if not _LEAD.fullmatch(plain, 0, b.start())])


def _cut(line: str, between: Iterable[re.Match[str]]) -> list[tuple[int, str]]:
    spans = [found.span() for found in between]
    starts = [0, *(end for _, end in spans)]
    ends = [*(begin for begin, _ in spans), len(line)]
    return [(b, line[b:e]) for b, e in zip(starts, ends, strict=True)]


def read_fact(line: str, tell: Tell) -> SknFact | None:
    """Return the fact of a line, None where it says nothing."""
    priority, rest = _priority(line, tell)
    rest, confidence = _split_score(rest, tell)
    text = _unquoted(rest, tell, wanted=True)
    if _left_out(text, tell):
        return None
    return SknFact(text=text, priority=priority, confidence=confidence)


def is_nothing(text: str) -> bool:
    """Say whether a text says nothing: mere marks, `none`, words of the form."""
    return not any(char.isalnum() for char in text) or bool(
        _TEMPLATE.fullmatch(text.strip()) or _NONE.fullmatch(mapped(text))
    )


def _left_out(text: str, tell: Tell) -> bool:
    nothing = is_nothing(text)
    if nothing:
        tell("empty", f"{text[:40]!r} says nothing: left out")
    return nothing


def _priority(line: str, tell: Tell) -> tuple[Priority, str]:
    plain = mapped(line)
    if found := _WORD.match(plain):
        known = _WORD_PRIORITY.get(found[1].casefold(), "supporting")
        tell("symbol", f"{found[0].strip()!r} taken for {known}")
        return known, line[found.end() :]
    if found := _SYMBOL.match(plain):
        symbol, rest = found[1], line[found.end() :]
        written = line[found.start(1) : found.end(1)]
        if written in SYMBOLS and found.start(1) == len(line) - len(line.lstrip()):
            return SYMBOLS[written], rest
        bare = SYMBOLS.get(symbol.strip("*"))
        known = bare or _STRANGE.get(symbol[0], "supporting")
        tell("symbol", f"{written!r} taken for {known}")
        return known, rest
    for symbol, known in SYMBOLS.items():
        if plain.lstrip().startswith(symbol):
            tell("symbol", f"no space after {symbol!r}")
            return known, line.lstrip()[1:]
    tell("symbol", "there is no symbol: taken for supporting")
    return "supporting", line


def link_parts(line: str) -> list[tuple[int, str]]:
    """Return the links of a line that have numbers of their own, with their places.

    One that begins with an arrow goes on from the effect before it.
    """
    plain = _hidden(mapped(line))
    parts: list[tuple[int, str]] = []
    begin = 0
    for found in _AFTER_LINK.finditer(plain):
        rest = plain[found.end() :]
        if _ARROW.search(plain[begin : found.start()]) and _ARROW.search(rest):
            parts.append((begin, line[begin : found.end()].rstrip(" \t,;|")))
            begin = found.end()
    parts.append((begin, line[begin:]))
    parts = [
        (place + start, piece)
        for place, part in parts
        for start, piece in _by_marks(part)
    ]
    for number, (place, part) in enumerate(parts):
        if number and _ARROW.match(mapped(part)):
            before = parts[number - 1][1]
            end = list(_ARROW.finditer(_hidden(mapped(before))))[-1].end()
            effect = _split_score(before[end:], lambda *_: None)[0]
            parts[number] = (place, f"{effect} {part}")
    return parts


def _by_marks(part: str) -> list[tuple[int, str]]:
    plain = _hidden(mapped(part))
    for mark in (";", ","):
        pieces = _cut(part, re.finditer(rf"\s*{mark}\s*", plain))
        if len(pieces) > 1 and all(
            _ARROW.search(plain[b : b + len(text)]) for b, text in pieces
        ):
            return pieces
    return [(0, part)]


def read_links(line: str, tell: Tell) -> list[SknLink]:
    """Return the links of a line; a chain of arrows has several."""
    rest, strength = _split_score(_without_bullet(line, tell), tell)
    parts, ways = _sides(rest, tell)
    texts = [_unquoted(part, tell, wanted=False).strip(" *_`") for part in parts]
    if len(texts) < 2 or any(_left_out(text, tell) for text in texts):
        tell("dropped", f"{line.strip()[:40]!r} has no cause and effect: left out")
        return []
    if len(texts) > 2:
        tell("chain", f"a chain of {len(texts)} taken for {len(texts) - 1} links")
    pairs: list[tuple[str, str]] = []
    for (left, right), way in zip(pairwise(texts), ways, strict=True):
        pairs += [(left, right)] if way != "back" else []
        pairs += [(right, left)] if way != "on" else []
    return [
        SknLink(cause=cause, effect=effect, strength=strength)
        for cause, effect in pairs
    ]


def _sides(text: str, tell: Tell) -> tuple[list[str], list[str]]:
    plain = _hidden(mapped(text))
    found = list(_ARROW.finditer(plain))
    ways = [str(arrow.lastgroup) for arrow in found]
    if not found:
        found = list(_VERBS.finditer(plain))
        ways = ["on"] * len(found)
    for arrow in found:
        if (written := text[arrow.start() : arrow.end()].strip()) != "->":
            tell("arrow", f"{written!r} taken for an arrow")
    return [piece for _, piece in _cut(text, found)], ways


def _hidden(plain: str) -> str:
    """Return a text of the same length without what stands in quotes."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: _QUOTED * len(found[0]), plain)


def _without_bullet(line: str, tell: Tell) -> str:
    if found := _BULLET.match(mapped(line)):
        tell("symbol", f"{found[0].strip()!r} before a link left out")
        return line[found.end() :]
    return line


def read_gap(line: str, tell: Tell) -> str | None:
    """Return the gap of a line, None where it says nothing."""
    found = _BULLET.match(mapped(line))
    if _NONE.fullmatch(mapped(line), found.end() if found else 0):
        tell("empty", f"{line.strip()[:40]!r} says nothing: left out")
        return None
    if found is None:
        tell("symbol", "there is no '-' before a gap")
    elif line[: found.end()].strip() != "-":
        tell("symbol", f"{line[: found.end()].strip()!r} taken for '-'")
    text = _unquoted(line[found.end() if found else 0 :], tell, wanted=False)
    return None if _left_out(text, tell) else text

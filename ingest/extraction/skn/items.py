"""Facts, links and gaps of single lines, put right where models get them wrong."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from ingest.extraction.skn.blocks import SYMBOLS, SknFact, SknLink
from ingest.extraction.skn.characters import ARROW, mapped
from ingest.extraction.skn.scores import split_score, unquoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.extraction.skn.blocks import Priority

    Tell = Callable[[str, str], None]

__all__ = ["is_nothing", "read_facts", "read_gap", "read_links"]

_STRICT_FACT = re.compile(
    r'\s*[!.~]\s*"(?:[^"\\]|\\.)*"\s*\[(?:0(?:\.\d*)?|1(?:\.0*)?|\.\d+)\]\s*'
)
_SYMBOL = re.compile(
    r"\s*(?:(?:[*+>-]|\d{1,3}[.)])\s+(?=[!.~?]))?([!.~?*+>#=:;,^%$&-]{1,3}|\d{1,3}[.)])"
    r"(?=\s|\")\s*"
)
_WORD = re.compile(
    r"\s*(?:[*+>-]\s+)?[\[(]?(critical|important|high|supporting|detail|medium|"
    r"uncertain|inferred|implied|low)[\])]?\s*[:\-]\s*",
    re.IGNORECASE,
)
_WORD_PRIORITY: dict[str, Priority] = {
    "critical": "critical",
    "important": "critical",
    "high": "critical",
    "uncertain": "uncertain",
    "inferred": "uncertain",
    "implied": "uncertain",
    "low": "uncertain",
}
_STRANGE: dict[str, Priority] = {"!": "critical", "~": "uncertain", "?": "uncertain"}
_ARROWS = re.compile(rf"\s*(?:[-=]{{1,3}}>|{ARROW})\s*")
_BACK = re.compile(r"\s*<[-=]{1,2}(?![->])\s*|\s*\N{LEFTWARDS ARROW}\s*")
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


def read_facts(line: str, tell: Tell) -> list[SknFact]:
    """Return the facts of a line, mostly one.

    Args:
        line: A line of the section, or several where a text goes on.
        tell: Given code and message of what is put right.
    """
    parts = [found[0] for found in _STRICT_FACT.finditer(line)]
    if len(parts) > 1 and "".join(parts) == line:
        tell("one_line", f"{len(parts)} facts on one line taken apart")
    else:
        parts = [line]
    facts = [_fact(part, tell) for part in parts]
    return [fact for fact in facts if fact is not None]


def _fact(line: str, tell: Tell) -> SknFact | None:
    """Return the fact of a line, None where it says nothing."""
    priority, rest = _priority(line, tell)
    ending = split_score(rest, tell)
    text = unquoted(ending.rest, tell, wanted=True)
    if _left_out(text, tell):
        return None
    return SknFact(text=text, priority=priority, confidence=ending.score)


def is_nothing(text: str) -> bool:
    """Say whether a text says nothing: mere marks, `none`, words of the form.

    Args:
        text: A fact, a gap, a cause or an effect.
    """
    return not any(char.isalnum() for char in text) or bool(
        _TEMPLATE.fullmatch(text.strip()) or _NONE.fullmatch(mapped(text))
    )


def _left_out(text: str, tell: Tell) -> bool:
    """Say whether a text says nothing, and tell that it is left out."""
    nothing = is_nothing(text)
    if nothing:
        tell("empty", f"{text[:40]!r} says nothing: left out")
    return nothing


def _priority(line: str, tell: Tell) -> tuple[Priority, str]:
    """Return the priority of a fact and the line without its symbol."""
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
        known = SYMBOLS.get(symbol) or _STRANGE.get(symbol[0], "supporting")
        tell("symbol", f"{written!r} taken for {known}")
        return known, rest
    for symbol, known in SYMBOLS.items():
        if plain.lstrip().startswith(symbol):
            tell("symbol", f"no space after {symbol!r}")
            return known, line.lstrip()[1:]
    tell("symbol", "there is no symbol: taken for supporting")
    return "supporting", line


def read_links(line: str, tell: Tell) -> list[SknLink]:
    """Return the links of a line; a chain of arrows has several.

    Args:
        line: A line of the section.
        tell: Given code and message of what is put right.
    """
    ending = split_score(_without_bullet(line, tell), tell)
    parts = _sides(ending.rest, tell)
    texts = [unquoted(part, tell, wanted=False).strip(" *_`") for part in parts]
    if len(texts) < 2 or any(_left_out(text, tell) for text in texts):
        tell("dropped", f"{line.strip()[:40]!r} has no cause and effect: left out")
        return []
    if len(texts) > 2:
        tell("chain", f"a chain of {len(texts)} taken for {len(texts) - 1} links")
    return [
        SknLink(cause=cause, effect=effect, strength=ending.score)
        for cause, effect in pairwise(texts)
    ]


def _sides(text: str, tell: Tell) -> list[str]:
    """Return what stands between the arrows of a line, causes first."""
    plain = _hidden(mapped(text))
    for pattern, code in ((_ARROWS, "arrow"), (_BACK, "arrow"), (_VERBS, "arrow")):
        places = [found.span() for found in pattern.finditer(plain)]
        if not places:
            continue
        for begin, end in places:
            if text[begin:end].strip() != "->":
                tell(code, f"{text[begin:end].strip()!r} taken for an arrow")
        starts = [0, *(end for _, end in places)]
        ends = [*(begin for begin, _ in places), len(text)]
        sides = [text[b:e] for b, e in zip(starts, ends, strict=True)]
        return sides[::-1] if pattern is _BACK else sides
    return [text]


def _hidden(plain: str) -> str:
    """Return a text of the same length without what stands in quotes."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: "\x00" * len(found[0]), plain)


def _without_bullet(line: str, tell: Tell) -> str:
    """Return a line without a bullet or number before it."""
    if found := _BULLET.match(mapped(line)):
        tell("symbol", f"{found[0].strip()!r} before a link left out")
        return line[found.end() :]
    return line


def read_gap(line: str, tell: Tell) -> str | None:
    """Return the gap of a line, None where it says nothing.

    Args:
        line: A line of the section.
        tell: Given code and message of what is put right.
    """
    found = _BULLET.match(mapped(line))
    if _NONE.fullmatch(mapped(line), found.end() if found else 0):
        tell("empty", f"{line.strip()[:40]!r} says nothing: left out")
        return None
    if found is None:
        tell("symbol", "there is no '-' before a gap")
    elif line[: found.end()].strip() != "-":
        tell("symbol", f"{line[: found.end()].strip()!r} taken for '-'")
    text = unquoted(line[found.end() if found else 0 :], tell, wanted=False)
    return None if _left_out(text, tell) else text

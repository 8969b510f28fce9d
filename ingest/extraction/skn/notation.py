"""What an SKN block says, as typed objects; the strict reader, and the one writer.

Objects are valid once they exist. A part that the model left out is None: nothing is
made up in its place. What is written, reads back the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, astuple, dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, cast

from knowtrail.graph.errors import InputError
from knowtrail.graph.files.packaged import packaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lark import Lark, Token, Tree, UnexpectedInput

Level = Literal["high", "medium", "low"]
LEVELS: tuple[Level, ...] = ("high", "medium", "low")

Priority = Literal["critical", "supporting", "uncertain"]
SYMBOLS: Mapping[str, Priority] = {"!": "critical", ".": "supporting", "~": "uncertain"}
"""Symbol before a fact -> its priority."""


_LOST = frozenset({"after", "dropped", "text_around", "too_many"})
"""Codes of repairs that leave out what may be knowledge."""


class SknError(InputError):
    """A text is not an SKN block, or an object cannot be part of one.

    Attributes:
        line: Line of the text where it went wrong, 1 first; 0 for objects.
        column: Column in that line, 1 first; 0 for objects.
    """

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(f"{place}{message}")
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Something in an answer that was put right.

    Attributes:
        line: Line of the answer, 1 first; 0 where it concerns the whole.
        code: Kind of repair, such as `arrow`.
        column: Column where the item begins, 1 first; 0 where it concerns a whole line.
    """

    line: int
    code: str
    message: str
    column: int = 0

    def __str__(self) -> str:
        column = f", column {self.column}" if self.column else ""
        place = f"line {self.line}{column}: " if self.line else ""
        return f"{place}{self.message} ({self.code})"

    @property
    def lost(self) -> bool:
        """Say whether something was not understood and left out."""
        return self.code in _LOST


@dataclass(frozen=True, slots=True, kw_only=True)
class SknSource:
    """What the text is: its field, how fresh and how reliable it is (0 to 1)."""

    domain: str
    freshness: Level | None = None
    reliability: float | None = None

    def __post_init__(self) -> None:
        _check_text("domain", self.domain)
        _check_level("freshness", self.freshness)
        _check_number("reliability", self.reliability)


@dataclass(frozen=True, slots=True, kw_only=True)
class SknFact:
    """A statement of the text with how sure it is (0 to 1)."""

    text: str
    priority: Priority
    confidence: float | None = None

    def __post_init__(self) -> None:
        _check_text("fact", self.text)
        if self.priority not in SYMBOLS.values():
            msg = f"Priority {self.priority!r}: use {', '.join(SYMBOLS.values())}."
            raise SknError(msg)
        _check_number("confidence", self.confidence)

    @property
    def symbol(self) -> str:
        """Return the symbol that is written before it."""
        return next(s for s, name in SYMBOLS.items() if name == self.priority)


@dataclass(frozen=True, slots=True, kw_only=True)
class SknLink:
    """A cause and its effect, with the strength of the link (0 to 1)."""

    cause: str
    effect: str
    strength: float | None = None

    def __post_init__(self) -> None:
        _check_text("cause", self.cause)
        _check_text("effect", self.effect)
        _check_number("strength", self.strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class SknRisk:
    """How likely the text misleads, and how likely it lacks what matters."""

    misdirection: Level | None = None
    missing_context: Level | None = None

    def __post_init__(self) -> None:
        _check_level("misdirection", self.misdirection)
        _check_level("missing_context", self.missing_context)
        if self.misdirection is None and self.missing_context is None:
            msg = "A risk without misdirection and missing_context: leave it out."
            raise SknError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class SknBlock:
    """What an extraction says.

    Attributes:
        facts: Statements, the most important first.
    """

    source: SknSource | None = None
    facts: tuple[SknFact, ...] = ()
    causal: tuple[SknLink, ...] = ()
    gaps: tuple[str, ...] = ()
    risk: SknRisk | None = None

    def __post_init__(self) -> None:
        for gap in self.gaps:
            _check_text("gap", gap)

    @property
    def is_empty(self) -> bool:
        """Say whether it has neither facts nor links nor gaps."""
        return not (self.facts or self.causal or self.gaps)


def _check_text(what: str, text: str) -> None:
    if not text.strip():
        raise SknError(f"The {what} is {text!r}: write something, or leave it out.")


def _check_level(what: str, level: str | None) -> None:
    if level is not None and level not in LEVELS:
        raise SknError(f"The {what} is {level!r}: use {', '.join(LEVELS)}.")


def _check_number(what: str, value: float | None) -> None:
    if value is not None and not 0 <= value <= 1:
        raise SknError(f"The {what} is {value!r}: use a number from 0 to 1.")


SHOWN = 40
_NAMES: dict[str, str] = packaged("knowtrail.ingest.extraction", "words.toml")[
    "terminals"
]


def parse(text: str, *, sections: Iterable[str] | None = None) -> SknBlock:
    """Read a block that keeps to the grammar.

    Args:
        text: The block with nothing before or after it.
        sections: What a variant has: these must be there, others must not; None for
            any.

    Raises:
        SknError: If it does not; with line and column, and what would do.
    """
    block = _block(_tree(text))
    if sections is not None:
        check_sections(block, sections)
    return block


def check_sections(block: SknBlock, sections: Iterable[str]) -> None:
    """Refuse a block that has not what a variant has, or more.

    Args:
        block: What was read.
        sections: Names without the `@`; `src` and `risk` must be whole, `facts` not
            empty, as any text says something.

    Raises:
        SknError: Naming the first section that is wrong.
    """
    wanted = set(sections)
    parts = {
        "src": block.source,
        "facts": block.facts,
        "causal": block.causal,
        "gaps": block.gaps,
        "risk": block.risk,
    }
    for name, part in parts.items():
        if part and name not in wanted:
            raise SknError(f"There is a section @{name}: leave it out.")
        if isinstance(part, tuple):
            whole = bool(part) or name != "facts"
        else:
            whole = is_whole(part)
        if name in wanted and not whole:
            msg = f"The section @{name} is missing or not whole: write all of it."
            raise SknError(msg)


def is_whole(part: SknSource | SknRisk | None) -> bool:
    """Return whether a source or a risk is there and lacks nothing."""
    return part is not None and None not in astuple(part)


@cache
def _grammar() -> Lark:
    from lark import Lark

    text = (resources.files(__package__) / "grammar.lark").read_text("utf-8")
    return Lark(text, parser="lalr", propagate_positions=True)


def _tree(text: str) -> Tree[Token]:
    from lark import UnexpectedInput

    reader = _grammar().parse_interactive(text)
    try:
        for _ in reader.iter_parse():
            pass
        return cast("Tree[Token]", reader.feed_eof())  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        line, column, found = error.line, error.column, _found(text, error)
    expected = _expected(reader.accepts())  # type: ignore[no-untyped-call]
    if not found:
        line, column = _end(text)
    msg = f"Found {found or 'the end'}, not {expected}."
    raise SknError(msg, line=line, column=column)


def _found(text: str, error: UnexpectedInput) -> str:
    """Return what stands where the grammar was left, empty at the end."""
    position = error.pos_in_stream
    if position is None or getattr(error, "token", "?") == "":
        return ""
    rest = text[position:].split("\n", 1)[0]
    return repr(rest[:SHOWN]) if rest else "the end of the line"


def _end(text: str) -> tuple[int, int]:
    lines = text.split("\n")
    return len(lines), len(lines[-1]) + 1


def _expected(names: Iterable[str] | None) -> str:
    terminals = {t.name: t.pattern.value for t in _grammar().terminals}
    told = sorted({
        _NAMES.get(name) or repr(terminals.get(name, name)) for name in names or ()
    })
    return " or ".join(told) or "that"


def _block(tree: Tree[Token]) -> SknBlock:
    """Return what a tree says; a part that is optional and not there is None in it."""
    sections: list[Any] = tree.children
    source, facts, causal, gaps, risk = (
        None if section is None else section.children for section in sections
    )
    return SknBlock(
        source=source and _source(*source),
        facts=tuple(
            SknFact(priority=SYMBOLS[mark], text=_text(text), confidence=_number(sure))
            for mark, text, sure in (fact.children for fact in facts or ())
        ),
        causal=tuple(
            SknLink(
                cause=_text(cause), effect=_text(effect), strength=_number(strength)
            )
            for cause, effect, strength in (link.children for link in causal or ())
        ),
        gaps=tuple(_text(*gap.children) for gap in gaps or ()),
        risk=SknRisk(misdirection=_level(risk[0]), missing_context=_level(risk[1]))
        if risk and any(risk)
        else None,
    )


def _source(domain: Token, fresh: Level | None, reliability: Token | None) -> SknSource:
    return SknSource(
        domain=_text(domain), freshness=_level(fresh), reliability=_number(reliability)
    )


def _level(token: Level | None) -> Level | None:
    return None if token is None else cast("Level", str(token))


def _text(token: Token) -> str:
    text = json.loads(token) if token.type == "STRING" else str(token).strip()
    if not text.strip():
        msg = "There is nothing between the quotes."
        raise SknError(msg, line=token.line or 0, column=token.column or 0)
    return str(text)


def _number(token: Token | None) -> float | None:
    if token is None:
        return None
    value = float(token)
    if value > 1:
        msg = f"The number {token} is above 1."
        raise SknError(msg, line=token.line or 0, column=token.column or 0)
    return value


_BARE = re.compile(
    r"""[^\W_](?:[^\x00-\x1f\x7f-\x9f\u2028\u2029"|\[\]<>\\-]|-+(?![->]))*"""
)


def write(block: SknBlock) -> str:
    """Return the canonical text of a block, without a line end after it.

    Text stands in quotes wherever it could be taken for something else; empty
    sections are left out. `parse(write(block)) == block`.
    """
    return "\n".join(_lines(block))


def _lines(block: SknBlock) -> Iterator[str]:
    yield "[SKN]"
    if block.source is not None:
        source = block.source
        said = _labelled(fresh=source.freshness, reliability=source.reliability)
        yield " | ".join([f"@src {_plain_or_quoted(source.domain)}", *said])
    if block.facts:
        yield "@facts"
        for fact in block.facts:
            yield f"  {fact.symbol} {_quoted(fact.text)}{_bracketed(fact.confidence)}"
    if block.causal:
        yield "@causal"
        for link in block.causal:
            pair = f"{_plain_or_quoted(link.cause)} -> {_plain_or_quoted(link.effect)}"
            yield f"  {pair}{_bracketed(link.strength)}"
    if block.gaps:
        yield "@gaps"
        for gap in block.gaps:
            yield f"  - {_plain_or_quoted(gap)}"
    if block.risk is not None:
        yield f"@risk {' | '.join(_labelled(**asdict(block.risk)))}"
    yield "[/SKN]"


def _labelled(**values: str | float | None) -> list[str]:
    return [
        f"{name}:{value if isinstance(value, str) else _shortest(value)}"
        for name, value in values.items()
        if value is not None
    ]


def _plain_or_quoted(text: str) -> str:
    if _BARE.fullmatch(text) and text == text.strip():
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _bracketed(value: float | None) -> str:
    return "" if value is None else f" [{_shortest(value)}]"


def _shortest(value: float) -> str:
    return repr(abs(float(value)))

"""The strict reader of SKN: a grammar, and errors with line and column."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

from ingest.extraction.skn.blocks import (
    SYMBOLS,
    SknBlock,
    SknError,
    SknFact,
    SknLink,
    SknRisk,
    SknSource,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lark import Lark, Token, Tree, UnexpectedInput

    from ingest.extraction.skn.blocks import Level

__all__ = ["check_sections", "parse"]

SHOWN = 40
_NAMES = {
    "BARE": "a text",
    "LSQB": "'[number]'",
    "NUMBER": "a number from 0 to 1",
    "STRING": "a text in quotes",
    "SYMBOL": "'!', '.' or '~'",
    "LEVEL": "high, medium or low",
    "_NL": "the end of the line",
    "$END": "the end",
}


def parse(text: str, *, sections: Iterable[str] | None = None) -> SknBlock:
    """Read a block that keeps to the grammar.

    Args:
        text: The block with nothing before or after it.
        sections: What a variant has: these must be there, others must not; None for
            any.

    Returns:
        What the block says.

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
    for name, there, whole in _state(block):
        if there and name not in wanted:
            msg = f"There is a section @{name}: leave it out."
            raise SknError(msg)
        if name in wanted and not whole:
            msg = f"The section @{name} is missing or not whole: write all of it."
            raise SknError(msg)


def _state(block: SknBlock) -> list[tuple[str, bool, bool]]:
    """Return name, whether it is there, whether nothing is lacking, by section."""
    source, risk = block.source, block.risk
    return [
        (
            "src",
            source is not None,
            source is not None and None not in {source.freshness, source.reliability},
        ),
        ("facts", bool(block.facts), bool(block.facts)),
        ("causal", bool(block.causal), True),
        ("gaps", bool(block.gaps), True),
        (
            "risk",
            risk is not None,
            risk is not None and None not in {risk.misdirection, risk.missing_context},
        ),
    ]


@cache
def _grammar() -> Lark:
    """Return the parser, made once."""
    from lark import Lark

    text = (resources.files(__package__) / "grammar.lark").read_text("utf-8")
    return Lark(text, parser="lalr", propagate_positions=True)


def _tree(text: str) -> Tree[Token]:
    """Return the tree of a text.

    Raises:
        SknError: Where the text leaves the grammar.
    """
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
    """Return line and column after the last character."""
    lines = text.split("\n")
    return len(lines), len(lines[-1]) + 1


def _expected(names: Iterable[str] | None) -> str:
    """Return what would have done, as people read it."""
    terminals = {t.name: t.pattern.value for t in _grammar().terminals}
    told = sorted({
        _NAMES.get(name) or repr(terminals.get(name, name)) for name in names or ()
    })
    return " or ".join(told) or "that"


def _block(tree: Any) -> SknBlock:
    """Return what a tree says."""
    parts: dict[str, Any] = {}
    for section in tree.children:
        match section.data:
            case "source":
                parts["source"] = _source(section.children)
            case "facts":
                parts["facts"] = tuple(_fact(f.children) for f in section.children)
            case "causal":
                parts["causal"] = tuple(_link(e.children) for e in section.children)
            case "gaps":
                parts["gaps"] = tuple(_text(g.children[0]) for g in section.children)
            case "risk":
                parts["risk"] = _risk(section.children)
    return SknBlock(**parts)


def _source(children: list[Any]) -> SknSource:
    """Return what is said of the source."""
    found = {child.type: child for child in children[1:]}
    return SknSource(
        domain=_text(children[0]),
        freshness=_level(found.get("LEVEL")),
        reliability=_number(found["NUMBER"]) if "NUMBER" in found else None,
    )


def _risk(children: list[Any]) -> SknRisk | None:
    """Return the risk, None where nothing is said of it."""
    levels = {str(part.data): _level(part.children[0]) for part in children}
    return SknRisk(**levels) if levels else None


def _level(token: Token | None) -> Level | None:
    """Return a level, None where there is none."""
    return None if token is None else cast("Level", str(token))


def _fact(children: list[Any]) -> SknFact:
    """Return a fact."""
    return SknFact(
        priority=SYMBOLS[str(children[0])],
        text=_text(children[1]),
        confidence=_score(children[2:]),
    )


def _link(children: list[Any]) -> SknLink:
    """Return a cause with its effect."""
    cause, effect = children[:2]
    return SknLink(
        cause=_text(cause), effect=_text(effect), strength=_score(children[2:])
    )


def _text(token: Token) -> str:
    """Return the text of a token, in quotes or not.

    Raises:
        SknError: If it has no visible character.
    """
    text = json.loads(token) if token.type == "STRING" else str(token).strip()
    if not text.strip():
        msg = "There is nothing between the quotes."
        raise SknError(msg, line=token.line or 0, column=token.column or 0)
    return str(text)


def _score(children: list[Any]) -> float | None:
    """Return the number in brackets, None where there is none."""
    return _number(children[0].children[0]) if children else None


def _number(token: Token) -> float:
    """Return a number.

    Raises:
        SknError: If it is above 1.
    """
    value = float(token)
    if value > 1:
        msg = f"The number {token} is above 1."
        raise SknError(msg, line=token.line or 0, column=token.column or 0)
    return value

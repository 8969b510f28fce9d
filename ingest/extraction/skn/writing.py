"""The one way in which a block is written: what is written, reads back the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.extraction.skn.blocks import SknBlock, SknRisk, SknSource

__all__ = ["write"]

_BARE = re.compile(
    r"""[^\W_](?:[^\x00-\x1f\x7f-\x9f\u2028\u2029"|\[\]<>\\-]|-+(?![->]))*"""
)


def write(block: SknBlock) -> str:
    """Return the canonical text of a block, without a line end after it.

    Text stands in quotes wherever it could be taken for something else; empty
    sections are left out. `parse(write(block)) == block`.

    Args:
        block: What is written.
    """
    return "\n".join(_lines(block))


def _lines(block: SknBlock) -> Iterator[str]:
    """Yield the lines of a block."""
    yield "[SKN]"
    if block.source is not None:
        yield _source(block.source)
    if block.facts:
        yield "@facts"
        for fact in block.facts:
            yield f"  {fact.symbol} {_quoted(fact.text)}{_score(fact.confidence)}"
    if block.causal:
        yield "@causal"
        for link in block.causal:
            pair = f"{_text(link.cause)} -> {_text(link.effect)}"
            yield f"  {pair}{_score(link.strength)}"
    if block.gaps:
        yield "@gaps"
        for gap in block.gaps:
            yield f"  - {_text(gap)}"
    if block.risk is not None:
        yield _risk(block.risk)
    yield "[/SKN]"


def _source(source: SknSource) -> str:
    """Return the line about the source."""
    parts = [f"@src {_text(source.domain)}"]
    if source.freshness is not None:
        parts.append(f"fresh:{source.freshness}")
    if source.reliability is not None:
        parts.append(f"reliability:{_number(source.reliability)}")
    return " | ".join(parts)


def _risk(risk: SknRisk) -> str:
    """Return the line about risk."""
    parts = []
    if risk.misdirection is not None:
        parts.append(f"misdirection:{risk.misdirection}")
    if risk.missing_context is not None:
        parts.append(f"missing_context:{risk.missing_context}")
    return f"@risk {' | '.join(parts)}"


def _text(text: str) -> str:
    """Return a text as it is, in quotes where it could be taken for something else."""
    if _BARE.fullmatch(text) and text == text.strip():
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    """Return a text in quotes, as in JSON."""
    return json.dumps(text, ensure_ascii=False)


def _score(value: float | None) -> str:
    """Return a number in brackets with a space before, nothing for None."""
    return "" if value is None else f" [{_number(value)}]"


def _number(value: float) -> str:
    """Return a number from 0 to 1 in its shortest form."""
    return repr(abs(float(value)))

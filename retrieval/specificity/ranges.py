"""Amounts that are two ends of one range: `between 1 and 2 million`."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.quantities import Found

__all__ = ["ranged"]

_RANGE = re.compile(
    r"\b(?:between|from|tussen|van)(?:\s+(?:the|de))?\s*$", re.IGNORECASE
)
_TO = re.compile(r"\s*(?:to|tot|tot en met|t/m|-|\u2013)\s*", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|en)(?:\s+(?:the|de))?\s*", re.IGNORECASE)


def ranged(text: str, found: Sequence[Found]) -> list[Found]:
    """Return amounts in which `between 1 and 2 million` is one, `1000000/2000000`.

    Args:
        text: Where they stand.
        found: Amounts in their order.
    """
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

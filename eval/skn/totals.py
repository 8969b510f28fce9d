"""How many tokens a benchmark took, as the servers counted them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["token_totals"]


def token_totals(
    rows: Sequence[dict[str, Any]], pipelines: Sequence[str]
) -> tuple[int, int]:
    """Return the tokens of all prompts and of all answers.

    Args:
        rows: Detailed results.
        pipelines: The formats.
    """
    totals = []
    for kind in ("prompt_tokens", "completion_tokens"):
        counts = [
            row.get(f"{v}_{phase}_{kind}")
            for row in rows
            for v in pipelines
            for phase in ("extraction", "reasoning")
        ]
        counts += [
            said.get(kind)
            for row in rows
            for v in pipelines
            for said in row.get(f"{v}_judges", {}).values()
        ]
        totals.append(sum(count or 0 for count in counts))
    return totals[0], totals[1]

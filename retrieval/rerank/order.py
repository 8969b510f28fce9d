"""The order that scores give, the same for every user of a reranker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["best_first"]


def best_first(scores: Sequence[float], ids: Sequence[str | None]) -> list[int]:
    """Return places by falling score.

    Equal scores go by id, so that the order never depends on what came first; those
    without an id follow in the order in which they came.

    Args:
        scores: Finite numbers.
        ids: One for each, None where there is none.
    """
    return sorted(
        range(len(scores)),
        key=lambda place: (-scores[place], ids[place] is None, ids[place] or "", place),
    )

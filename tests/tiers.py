"""How much is tested: what a change must pass, or with `--all` everything there is."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from hypothesis import is_hypothesis_test

if TYPE_CHECKING:
    import pytest

ALL = "--all"
REST = "--rest"

_everything = False


def choose(everything: bool) -> None:
    """Set the tier, before any test is collected."""
    global _everything
    _everything = everything


def amount(first: int, everything: int) -> int:
    """Return how many examples the chosen tier tries.

    Only tests ask, in their own text or a decorator, so that `same_in_both` can tell.
    """
    return everything if _everything else first


def same_in_both(test: pytest.Function, first_line: str) -> bool:
    """Return whether the first tier has this very test, with no fewer examples.

    Args:
        test: A test of the second tier.
        first_line: The Neo4j line that the first tier has.
    """
    spec = getattr(test, "callspec", None)
    line = spec.params.get("neo4j_line", first_line) if spec else first_line
    return (
        line == first_line
        and test.get_closest_marker("thorough") is None
        and not is_hypothesis_test(test.function)
        and "amount(" not in inspect.getsource(test.function)
    )

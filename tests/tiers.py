"""How much is tested: what a change must pass, or with `--all` everything there is."""

from __future__ import annotations

ALL = "--all"

_everything = False


def choose(everything: bool) -> None:
    """Set the tier, before any test is collected."""
    global _everything
    _everything = everything


def amount(first: int, everything: int) -> int:
    """Return how many examples the chosen tier tries."""
    return everything if _everything else first

"""What holds for every name under which schemas can use a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.fields.errors import ArgumentError
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["check_registration"]


def check_registration(
    kind: str,
    name: str,
    fn: object,
    *,
    built_in: Container[str],
    taken: Container[str],
    remedy: str,
) -> None:
    """Refuse a name or a function that cannot be registered.

    Args:
        kind: What is registered, in the singular.
        name: What schemas would call it.
        fn: What would be called.
        built_in: Names that nobody may take.
        taken: Names that were registered before and may not be replaced.
        remedy: What to do where the name is taken.

    Raises:
        ArgumentError: If it cannot be called, or the name is no text.
        InputError: If the name is taken.
    """
    if not callable(fn):
        msg = f"The {kind} {name!r} must be callable: it is {fn!r}."
        raise ArgumentError(msg)
    if not isinstance(name, str) or not name:
        msg = f"The {kind}'s name {name!r} must be text that is not empty."
        raise ArgumentError(msg)
    if name in built_in:
        msg = f"Cannot overwrite built-in {kind} {name!r}: take another name."
        raise InputError(msg)
    if name in taken:
        msg = f"{kind.capitalize()} {name!r} is already registered: {remedy}."
        raise InputError(msg)

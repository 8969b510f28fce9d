"""The systems that can be measured, by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from eval.retrieval.dense import DenseSystem
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eval.retrieval.system import System
    from graph.language_models import LanguageModel

__all__ = ["system_names", "systems_of"]

_PLAIN: dict[str, Callable[[], System]] = {"dense": DenseSystem}


def system_names(*, llm: bool = True) -> tuple[str, ...]:
    """Return the names of all systems in the order of a table.

    Args:
        llm: Whether those that ask a language model are among them.
    """
    return tuple(_PLAIN)


def systems_of(asked: str, *, model: LanguageModel | None = None) -> tuple[System, ...]:
    """Return the systems that are asked for.

    Args:
        asked: `all` for those without a language model, `all+llm` for all, or names
            with commas between them.
        model: The language model, for systems that ask one.

    Raises:
        InputError: If there is no such system, or one is named twice.
    """
    if asked in {"all", "all+llm"}:
        names = system_names(llm=asked == "all+llm")
    else:
        names = tuple(name.strip() for name in asked.split(",") if name.strip())
    if not names or len(set(names)) < len(names):
        raise InputError(f"The systems are {asked!r:.200}: name each once, or 'all'.")
    return tuple(_system(name, model) for name in names)


def _system(name: str, model: LanguageModel | None) -> System:
    """Return the system of a name."""
    if name in _PLAIN:
        return _PLAIN[name]()
    known = system_names()
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    msg = f"No system {name!r:.80}: {hint}There are all, all+llm, {', '.join(known)}."
    raise InputError(msg)

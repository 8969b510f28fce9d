"""The systems that can be measured, by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from eval.retrieval.dense import DenseSystem
from eval.retrieval.expansion import ExpansionSystem
from eval.retrieval.fusion import FusionSystem
from eval.retrieval.lexical import Bm25System
from eval.retrieval.walks import (
    PUBLISHED,
    OrderedWalkSystem,
    PublishedWalkSystem,
    WalkSystem,
)
from graph.errors import InputError
from retrieval.algorithms import ALGORITHMS, DETERMINISTIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from eval.retrieval.system import System
    from graph.language_models import LanguageModel

__all__ = ["asked_names", "asks_model", "system_names", "systems_of"]

_PLAIN: dict[str, Callable[[], System]] = {
    DenseSystem.name: DenseSystem,
    Bm25System.name: Bm25System,
    FusionSystem.name: FusionSystem,
    ExpansionSystem.name: ExpansionSystem,
}
_ORDERED = ("auto",)
"""Algorithms that rank by themselves; the others are the seven that were published."""


def system_names(*, llm: bool = True) -> tuple[str, ...]:
    """Return the names of all systems in the order of a table.

    Args:
        llm: Whether those that ask a language model are among them.
    """
    known = [name for name in ALGORITHMS if llm or name in DETERMINISTIC]
    ordered = [name for name in _ORDERED if name in known]
    walks = [name for name in known if name not in _ORDERED]
    return (*_PLAIN, *ordered, *walks, *(f"{name}{PUBLISHED}" for name in walks))


def asks_model(name: str) -> bool:
    """Return whether a system asks a language model.

    Args:
        name: Its name.
    """
    algorithm = name.removesuffix(PUBLISHED)
    return algorithm in ALGORITHMS and algorithm not in DETERMINISTIC


def asked_names(asked: str) -> tuple[str, ...]:
    """Return the names of the systems that are asked for.

    Args:
        asked: `all` for those without a language model, `all+llm` for all, or names
            with commas between them.

    Raises:
        InputError: If there is no such system, or one is named twice.
    """
    if asked in {"all", "all+llm"}:
        return system_names(llm=asked == "all+llm")
    names = tuple(name.strip() for name in asked.split(",") if name.strip())
    if not names or len(set(names)) < len(names):
        raise InputError(f"The systems are {asked!r:.200}: name each once, or 'all'.")
    known = system_names()
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}? " if near else ""
            msg = (
                f"No system {name!r:.80}: {hint}There are all, all+llm, "
                f"{', '.join(known)}."
            )
            raise InputError(msg)
    return names


def systems_of(asked: str, *, model: LanguageModel | None = None) -> tuple[System, ...]:
    """Return the systems that are asked for.

    Args:
        asked: As for `asked_names`.
        model: The language model, for systems that ask one.

    Raises:
        InputError: As `asked_names` raises, or if a system asks a model and there is
            none.
    """
    names = asked_names(asked)
    if model is None and (asking := [name for name in names if asks_model(name)]):
        raise InputError(f"{asking[0]} asks a language model: name one with --model.")
    return tuple(_system(name, model) for name in names)


def _system(name: str, model: LanguageModel | None) -> System:
    """Return the system of a name that is known."""
    if name in _PLAIN:
        return _PLAIN[name]()
    given = model if asks_model(name) else None
    if name.endswith(PUBLISHED):
        return PublishedWalkSystem(name.removesuffix(PUBLISHED), model=given)
    if name in _ORDERED:
        return OrderedWalkSystem(name, model=given)
    return WalkSystem(name, model=given)

"""`knowtrail eval`: measurements, each loaded when it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import click

from knowtrail.graph.cli.groups import LazyGroup
from knowtrail.graph.cli.options import FILE, FOLDER, MODELS, option, stacked
from knowtrail.graph.files.packaged import packaged

_COMMANDS = {
    "fields": "Extracted records against gold, by field.",
    "retrieval": "Ways of finding passages, against known gold.",
    "skn": "Extraction formats, by what an agent makes of them.",
    "specificity": "Template answers on labelled questions of heritage.",
    "zelo": "Relevance judged in pairs; rerankers against it.",
}
"""Command, in the module `cli` of the package of its name -> one line for the list."""

_KINDS: dict[str, dict[str, Any]] = {
    "amount": {"type": click.FloatRange(0)},
    "count": {"type": click.IntRange(1)},
    "file": {"type": FILE},
    "flag": {"is_flag": True},
    "folder": {"type": FOLDER},
    "number": {"type": float},
    "path": {"type": click.Path(path_type=Path)},
    "share": {"type": click.FloatRange(0, 1)},
    "there": {"type": click.Path(exists=True, dir_okay=False, path_type=Path)},
}


@click.group(
    "eval",
    cls=LazyGroup,
    commands_at={
        name: (f"knowtrail.eval.{name}.cli:{name}", line)
        for name, line in _COMMANDS.items()
    },
)
def evaluation() -> None:
    """Measure extraction and retrieval, and keep the results in the graph."""


def options_of(kind: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a dataclass takes of the options that a command was given."""
    return {one.name: given[one.name] for one in fields(kind) if one.name in given}


def options_told(
    command: str, *kinds: Any, **own: dict[str, Any]
) -> Callable[[Any], Any]:
    """Return the options of a command that `options.toml` tells; see there.

    `kinds` are classes of options, `own` has attributes that no file can tell.
    """
    known = {
        one.name: one.default
        for kind in kinds
        for one in fields(kind)
        if one.default is not MISSING
    }
    listed = packaged("knowtrail.eval", "options.toml")[command]
    return stacked(
        *(_option(name, told, known, own.get(name)) for name, told in listed.items())
    )


def _option(
    name: str, told: Any, known: dict[str, Any], own: dict[str, Any] | None
) -> Callable[[Any], Any]:
    about = {"help": told} if isinstance(told, str) else dict(told)
    if "help" in about:
        about["help"] = about["help"].replace("{models}", MODELS)
    if shared := about.pop("shared", None):
        return option(shared, **about)
    flags = about.pop("flags", [f"--{name.replace('_', '-')}"])
    if name in known and "is" not in about:
        default = about.setdefault("default", known[name])
        if isinstance(default, bool):
            about["is_flag"] = True
            flags = [f"{flags[0]}/--no-{flags[0][2:]}"] if default else flags
    about = _KINDS.get(about.pop("is", ""), {}) | about | (own or {})
    if values := about.pop("of", None):
        about = {"default": values[0]} | about | {"type": click.Choice(values)}
    return click.option(*flags, name, **about)

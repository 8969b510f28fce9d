"""`knowtrail eval`: measurements, each loaded when it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from knowtrail.graph.cli.groups import LazyGroup
from knowtrail.graph.cli.options import stacked

_COMMANDS = {
    "fields": "Extracted records against gold, by field.",
    "retrieval": "Ways of finding passages, against known gold.",
    "skn": "Extraction formats, by what an agent makes of them.",
    "specificity": "Template answers on labelled questions of heritage.",
    "zelo": "Relevance judged in pairs; rerankers against it.",
}
"""Command, in the module `cli` of the package of its name -> one line for the list."""

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(1)


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


def alike(**attributes: Any) -> Callable[..., Callable[[Any], Any]]:
    """Return what makes a decorator of options that share attributes: name -> help."""
    return lambda **helps: stacked(
        *(
            click.option(f"--{name.replace('_', '-')}", help=text, **attributes)
            for name, text in helps.items()
        )
    )


flags = alike(is_flag=True)
files = alike(type=PATH)
several_files = alike(type=PATH, multiple=True)
names = alike(metavar="NAME")
counts = alike(type=COUNT)


def options_from(kind: Any, **helps: str) -> Callable[[Any], Any]:
    """Return a decorator with options for fields of a dataclass, and their defaults."""
    defaults = {one.name: one.default for one in fields(kind)}
    made = []
    for name, text in helps.items():
        flag, default = f"--{name.replace('_', '-')}", defaults[name]
        if default is True:
            negative = f"no-{flag[2:]}"
            flag += f"/--{negative}"
        is_flag = isinstance(default, bool) or None
        made.append(click.option(flag, default=default, is_flag=is_flag, help=text))
    return stacked(*made)

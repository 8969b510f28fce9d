"""`knowtrail eval`: measurements, each loaded when it is called."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any

import click

from knowtrail.graph.cli.groups import LazyGroup
from knowtrail.graph.cli.options import told_options

_COMMANDS = {
    "fields": "Extracted records against gold, by field.",
    "retrieval": "Ways of finding passages, against known gold.",
    "skn": "Extraction formats, by what an agent makes of them.",
    "specificity": "Template answers on labelled questions of heritage.",
    "zelo": "Relevance judged in pairs; rerankers against it.",
}
"""Command, in the module `cli` of the package of its name -> one line for the list."""


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


options_told = partial(told_options, "knowtrail.eval")
"""Return the options of a command that `eval/options.toml` tells."""

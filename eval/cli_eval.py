"""`knowtrail eval`: measurements, each loaded when it is called."""

from __future__ import annotations

import click

from graph.lazy_group import LazyGroup

__all__ = ["evaluation"]

_COMMANDS = {
    "fields": ("eval.cli_fields:fields", "Extracted records against gold, by field."),
    "retrieval": (
        "eval.cli_retrieval:retrieval",
        "Ways of finding passages, against known gold.",
    ),
    "skn": ("eval.cli_skn:skn", "Extraction formats, by what an agent makes of them."),
    "specificity": (
        "eval.cli_specificity:specificity",
        "Template answers on labelled questions of heritage.",
    ),
    "zelo": ("eval.cli_zelo:zelo", "Relevance judged in pairs; rerankers against it."),
}
"""Command -> (where it lives, one line for the list)."""


@click.group("eval", cls=LazyGroup, commands_at=_COMMANDS)
def evaluation() -> None:
    """Measure extraction and retrieval, and keep the results in the graph."""

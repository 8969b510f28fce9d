"""`knowtrail eval zelo`: relevance judged in pairs, each command loaded when called."""

from __future__ import annotations

import click

from graph.lazy_group import LazyGroup

__all__ = ["zelo"]

_COMMANDS = {
    "export": ("eval.cli_zelo_graph:export", "Queries with candidates of a corpus."),
    "annotate": ("eval.cli_zelo_annotate:annotate", "Judge pairs, fit scores."),
    "benchmark": (
        "eval.cli_zelo_benchmark:benchmark",
        "Measure rerankers against annotated queries.",
    ),
    "inspect": (
        "eval.cli_zelo_inspect:inspect",
        "Battles, scores and reasonings of an annotation.",
    ),
    "rerank": ("eval.cli_zelo_rerank:rerank", "Rank queries by a reranker."),
    "train": ("eval.cli_zelo_rerank:train", "Fit a reranker to annotated queries."),
    "import": ("eval.cli_zelo_graph:import_", "Put judgements into the graph."),
    "judges": ("eval.cli_zelo_annotate:judges", "Write the judges' configuration."),
}
"""Command -> (where it lives, one line for the list)."""


@click.group(cls=LazyGroup, commands_at=_COMMANDS)
def zelo() -> None:
    """Judge the relevance of documents in pairs, and measure rerankers by it."""

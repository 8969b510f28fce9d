"""`knowtrail eval zelo`: relevance judged in pairs, each command loaded when called."""

from __future__ import annotations

from importlib import import_module

import click

__all__ = ["zelo"]

_COMMANDS = {
    "export": ("eval.cli_zelo_graph:export", "Queries with candidates of a corpus."),
    "annotate": ("eval.cli_zelo_annotate:annotate", "Judge pairs, fit scores."),
    "benchmark": (
        "eval.cli_zelo_benchmark:benchmark",
        "Measure rerankers against annotated queries.",
    ),
    "inspect": (
        "eval.cli_zelo_benchmark:inspect",
        "Battles, scores and reasonings of an annotation.",
    ),
    "rerank": ("eval.cli_zelo_rerank:rerank", "Rank queries by a reranker."),
    "train": ("eval.cli_zelo_rerank:train", "Fit a reranker to annotated queries."),
    "import": ("eval.cli_zelo_graph:import_", "Put judgements into the graph."),
    "judges": ("eval.cli_zelo_annotate:judges", "Write the judges' configuration."),
}
"""Command -> (where it lives, one line for the list)."""


class _LazyGroup(click.Group):
    """A group that imports a sub-command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None where there is no such command."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup)
def zelo() -> None:
    """Judge the relevance of documents in pairs, and measure rerankers by it."""

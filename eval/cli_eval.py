"""`knowtrail eval`: measurements, each loaded when it is called."""

from __future__ import annotations

from importlib import import_module

import click

__all__ = ["evaluation"]

_COMMANDS = {
    "fields": ("eval.cli_fields:fields", "Extracted records against gold, by field."),
    "skn": ("eval.cli_skn:skn", "Extraction formats, by what an agent makes of them."),
    "specificity": (
        "eval.cli_specificity:specificity",
        "Template answers on labelled questions of heritage.",
    ),
    "zelo": ("eval.cli_zelo:zelo", "Relevance judged in pairs; rerankers against it."),
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


@click.group("eval", cls=_LazyGroup)
def evaluation() -> None:
    """Measure extraction and retrieval, and keep the results in the graph."""

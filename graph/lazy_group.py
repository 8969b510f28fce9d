"""Groups of commands: they know near names, and import a command when called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LazyGroup", "NearGroup"]


class NearGroup(click.Group):
    """A group that names a near command where one is misspelt."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; suggest a near name where there is none.

        Raises:
            UsageError: If there is no such command.
        """
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0].casefold(), names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            msg = f"No command {args[0]!r}.{hint} See {ctx.command_path} --help."
            raise click.UsageError(msg, ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(NearGroup):
    """A group whose list and help cost no import of what it holds.

    Args:
        commands_at: Command -> (where it lives as `module:attribute`, one line for the
            list), in the order of the list.
        added: Command that is a group -> where further sub-commands of it live, those
            of layers above its own.
    """

    def __init__(
        self,
        *args: Any,
        commands_at: Mapping[str, tuple[str, str]],
        added: Mapping[str, tuple[str, ...]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._commands_at = commands_at
        self._added = added or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self._commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None where there is no such command."""
        if cmd_name not in self._commands_at:
            return None
        command = _imported(self._commands_at[cmd_name][0])
        if isinstance(command, click.Group):
            for place in self._added.get(cmd_name, ()):
                command.add_command(_imported(place))
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([
                (name, text) for name, (_, text) in self._commands_at.items()
            ])


def _imported(place: str) -> click.Command:
    """Import a command, given as `module:attribute`."""
    module, _, attribute = place.partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command

"""Groups of commands: they know near names, and import a command when called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.errors import near_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from click.shell_completion import CompletionItem

_WHOLE = 1_000
"""More characters than a summary has: none is cut."""


class NearGroup(click.Group):
    """A group that names a near command where one is misspelt."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, with a span of it; suggest a near name if there is none."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            hint = near_name(args[0].casefold(), names, " Did you mean {!r}?")
            msg = f"No command {args[0]!r}.{hint} See {ctx.command_path} --help."
            raise click.UsageError(msg, ctx)
        found = super().resolve_command(ctx, args)
        # An SDK that could tell of it is there before: else nothing is imported for it.
        if "opentelemetry" in sys.modules and not ctx.resilient_parsing:
            from knowtrail.graph.telemetry import span

            ctx.with_resource(span("command", command=f"{ctx.command_path} {found[0]}"))
        return found

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands under their headings, with whole summaries."""
        lines = dict(self.summaries(ctx))
        for heading, names in self.sections(ctx).items():
            with formatter.section(heading):
                formatter.write_dl([(name, lines[name]) for name in names])

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the headings of the list with the commands below each."""
        return {"Commands": self.list_commands(ctx)}

    def summaries(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Yield the commands, each with one line about it."""
        for name in self.list_commands(ctx):
            if command := self.get_command(ctx, name):
                yield name, command.get_short_help_str(limit=_WHOLE)


class LazyGroup(NearGroup):
    """A group whose list and help cost no import of what it holds.

    `commands_at`: command -> (where it lives as `module:attribute`, one line for the
    list); `under`: heading -> its commands; `added`: command that is a group -> where
    further sub-commands of it live, in layers above its own.
    """

    def __init__(
        self,
        *args: Any,
        commands_at: Mapping[str, tuple[str, str]],
        under: Mapping[str, Sequence[str]] | None = None,
        added: Mapping[str, tuple[str, ...]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._commands_at = commands_at
        self._under = under
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

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that a shell may go on with, without importing any."""
        from click.shell_completion import CompletionItem

        return [
            *click.Command.shell_complete(self, ctx, incomplete),
            *(
                CompletionItem(name, help=text)
                for name, text in self.summaries(ctx)
                if name.startswith(incomplete)
            ),
        ]

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the headings of the list with the commands below each."""
        return self._under or super().sections(ctx)

    def summaries(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Yield the commands, each with one line about it, without importing any."""
        for name, (_, text) in self._commands_at.items():
            yield name, text


def _imported(place: str) -> click.Command:
    module, _, attribute = place.partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command

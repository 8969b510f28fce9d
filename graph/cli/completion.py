"""`knowtrail completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

_KINDS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(_KINDS)))
@click.pass_context
def completion(ctx: click.Context, /, *, shell: str) -> None:
    """Print what a shell needs to complete commands and options by Tab.

    \b
    In ~/.bashrc:                  eval "$(knowtrail completion bash)"
    In ~/.zshrc, after compinit:   eval "$(knowtrail completion zsh)"
    In ~/.config/fish/config.fish: knowtrail completion fish | source

    It completes knowtrail where that is on the path: in a checkout, for instance, after
    source .venv/bin/activate.
    """  # noqa: D301 - click reads the backspace
    root = ctx.find_root().command
    click.echo(_KINDS[shell](root, {}, "knowtrail", "_KNOWTRAIL_COMPLETE").source())

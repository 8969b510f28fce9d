"""`knowtrail serve`: the procedures over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import socket

    from graph.settings import Settings
    from retrieval.serve.guard import Rules

__all__ = ["serve"]


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; another than loopback needs a key.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=7475,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the key that clients must show (KNOWTRAIL_SERVE_KEY).",
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name under which clients may reach this server; may be repeated.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Calls that run at once; four times as many wait, more are refused.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0.1, 3_600),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for one call, after which it is stopped.",
)
@click.pass_obj
def serve(
    settings: Settings,
    /,
    *,
    host: str,
    port: int,
    key_file: Path | None,
    hosts: tuple[str, ...],
    concurrency: int,
    time_limit: float,
) -> None:
    """Answer procedures over HTTP: JSON, CSV for LOAD CSV, and a page that shows them.

    Stops on Ctrl-C. Bound elsewhere than to this machine, it needs a key; where none is
    given, one is made and kept in the home folder.
    """
    import asyncio
    import logging

    from graph.cli_session import served
    from graph.errors import MissingExtraError

    try:
        from retrieval.serve.running import Limits, is_loopback, listen
        from retrieval.serve.running import serve as answer
    except ModuleNotFoundError as error:
        if error.name not in {"fastapi", "starlette", "uvicorn"}:
            raise
        msg = "Serving needs an extra: pip install 'knowtrail[serve]'."
        raise MissingExtraError(msg) from error
    logging.getLogger("retrieval.serve").setLevel(logging.INFO)
    with listen(host, port) as bound:
        rules = _rules(settings, key_file, hosts, near=is_loopback(host))
        with served(settings) as pointed:
            asyncio.run(
                answer(
                    pointed,
                    bound,
                    rules=rules,
                    limits=Limits(places=concurrency, seconds=time_limit),
                    started=lambda: click.echo(
                        f"Knowtrail answers at {_address(bound)} (Ctrl-C stops it)."
                    ),
                )
            )
    click.echo("Stopped.", err=True)


def _rules(
    settings: Settings, key_file: Path | None, hosts: tuple[str, ...], *, near: bool
) -> Rules:
    """Return who may ask."""
    from retrieval.serve.guard import LOOPBACK_NAMES, Rules
    from retrieval.serve.keys import check_key, read_key, stored_key

    key = None
    if key_file is not None:
        key = read_key(key_file)
    elif settings.serve_key is not None:
        key = check_key(settings.serve_key, "KNOWTRAIL_SERVE_KEY")
    elif not near:
        key, path = stored_key(settings.home)
        click.echo(f"Clients must show the key in {path}.", err=True)
    named = frozenset(name.lower().rstrip(".") for name in hosts)
    if near:
        return Rules(key=key, hosts=LOOPBACK_NAMES | named)
    return Rules(key=key, hosts=LOOPBACK_NAMES | named if named else None)


def _address(bound: socket.socket) -> str:
    """Return the URL of a socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

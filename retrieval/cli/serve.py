"""`knowtrail serve`: the procedures over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.options import options
from knowtrail.graph.extras import extra

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.serve.guard import Rules


@click.command()
@options("host", "port", "key-file", "allowed-host")
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

    from knowtrail.graph.db.driver import is_loopback
    from knowtrail.graph.session import served

    with extra("serve", "Serving"):
        from knowtrail.retrieval.serve.http_server import Limits, listen
        from knowtrail.retrieval.serve.http_server import serve as answer
    logging.getLogger("knowtrail.retrieval.serve").setLevel(logging.INFO)
    with listen(host, port) as bound:
        rules = rules_of(settings, key_file, hosts, near=is_loopback(host))
        with served(settings) as pointed:
            asyncio.run(
                answer(
                    pointed,
                    bound,
                    rules=rules,
                    limits=Limits(places=concurrency, seconds=time_limit),
                    started=lambda: click.echo(
                        f"Knowtrail answers at {address_of(bound)} (Ctrl-C stops it)."
                    ),
                )
            )
    click.echo("Stopped.", err=True)


def rules_of(
    settings: Settings, key_file: Path | None, hosts: tuple[str, ...], *, near: bool
) -> Rules:
    """Return who may ask."""
    from knowtrail.retrieval.serve.guard import (
        LOOPBACK_NAMES,
        Rules,
        check_key,
        read_keys,
        stored_keys,
    )

    keys = {}
    if key_file is not None:
        keys = read_keys(key_file)
    elif settings.serve_key is not None:
        keys[""] = check_key(settings.serve_key, "KNOWTRAIL_SERVE_KEY")
    elif not near:
        keys, path = stored_keys(settings.home)
        click.echo(f"Clients must show the key in {path}.", err=True)
    named = frozenset(name.lower().rstrip(".") for name in hosts)
    if near:
        return Rules(keys=keys, hosts=LOOPBACK_NAMES | named)
    return Rules(keys=keys, hosts=LOOPBACK_NAMES | named if named else None)


def address_of(bound: socket.socket) -> str:
    """Return the URL of a socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

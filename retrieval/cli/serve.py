"""`knowtrail serve`, `explore` and `mcp`: procedures over HTTP, tools for agents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.extras import extra
from knowtrail.retrieval.cli.options import told

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.serve.guard import Rules


_SERVING = told("serve", time_limit={"type": click.FloatRange(0.1, 3_600)})


@click.command()
@_SERVING
@click.pass_obj
def serve(settings: Settings, /, **asked: Any) -> None:
    """Answer procedures over HTTP: JSON, CSV for LOAD CSV, and the explorer for people.

    Stops on Ctrl-C. Bound elsewhere than to this machine, it needs a key; where none is
    given, one is made and kept in the home folder.
    """
    _serve(settings, "Knowtrail answers at {} (Ctrl-C stops it).", **asked)


@click.command()
@_SERVING
@told("explore")
@click.pass_obj
def explore(settings: Settings, /, *, browser: bool, **asked: Any) -> None:
    """Look at corpora, walks and documents in the browser.

    This is `knowtrail serve` with its page opened; it stops on Ctrl-C.
    """
    said = "The explorer is at {}/explore/ (Ctrl-C stops it)."
    _serve(settings, said, browser=browser, **asked)


def _serve(
    settings: Settings, said: str, *, concurrency: int, time_limit: float, **asked: Any
) -> None:
    import logging

    with extra("serve", "Serving"):
        from knowtrail.retrieval.serve.http_server import serve as answer
    logging.getLogger("knowtrail.retrieval.serve").setLevel(logging.INFO)
    answering = partial(answer, places=concurrency, seconds=time_limit)
    _over_http(settings, said, answering, **asked)


def _over_http(
    settings: Settings,
    said: str,
    answer: Callable[..., Coroutine[Any, Any, None]],
    *,
    browser: bool = False,
    host: str,
    port: int,
    key_file: Path | None,
    hosts: tuple[str, ...],
    rate: int | None = None,
) -> None:
    """Let something answer on a port until Ctrl-C."""
    import asyncio
    from dataclasses import replace

    from knowtrail.graph.db.driver import is_loopback
    from knowtrail.graph.session import served
    from knowtrail.retrieval.serve.http_server import listen

    def started() -> None:
        click.echo(said.format(address_of(bound)))
        if browser:
            click.launch(f"{address_of(bound)}/explore/")

    with listen(host, port) as bound:
        rules = rules_of(settings, key_file, hosts, near=is_loopback(host))
        rules = replace(rules, per_minute=rate)
        with served(settings) as pointed:
            asyncio.run(answer(pointed, bound, rules=rules, started=started))
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


@click.command()
@told("mcp")
@click.pass_obj
def mcp(
    settings: Settings, /, *, corpus: str | None, write: bool, http: bool, **asked: Any
) -> None:
    """Give agents tools: search, walk, read, follow the graph, read Cypher.

    Speaks MCP over standard input and output, as desktop clients start it; with --http
    at /mcp, guarded as `serve` is.
    """
    import asyncio
    import signal
    from dataclasses import replace

    from knowtrail.graph.session import served

    with extra("mcp", "The server for agents"):
        from knowtrail.retrieval.mcp.server import serve_http, serve_stdio
    settings = replace(settings, corpus=corpus or settings.corpus)
    if http:
        said = "Knowtrail's tools answer at {}/mcp (Ctrl-C stops)."
        _over_http(settings, said, partial(serve_http, write=write), **asked)
        return
    with served(settings) as pointed:
        # A thread reads standard input, and would hold a process that tidies up.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        asyncio.run(serve_stdio(pointed, write=write))

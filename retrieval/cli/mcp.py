"""`knowtrail mcp`: tools for agents over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.options import option
from knowtrail.graph.extras import extra
from knowtrail.retrieval.cli.serve import address_of, rules_of

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.settings import Settings

_OVER = "With --http: "


@click.command()
@option("corpus", help="Corpus that is asked where a call names none.")
@click.option("--write", is_flag=True, help="Let agents store and forget documents.")
@click.option("--http", is_flag=True, help="Answer over HTTP in place of stdio.")
@option("host", help=f"{_OVER}address to listen on; another than loopback needs a key.")
@option("port", default=7476, help=f"{_OVER}port to listen on; 0 takes a free one.")
@option("key-file", help=f"{_OVER}file with the key that clients must show.")
@option("allowed-host", help=f"{_OVER}name of this server for clients; repeatable.")
@click.pass_obj
def mcp(
    settings: Settings,
    /,
    *,
    corpus: str | None,
    write: bool,
    http: bool,
    host: str,
    port: int,
    key_file: Path | None,
    hosts: tuple[str, ...],
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
        from knowtrail.retrieval.mcp.server import serve_stdio
    settings = replace(settings, corpus=corpus or settings.corpus)
    with served(settings) as pointed:
        if not http:
            # A thread reads standard input, and would hold a process that tidies up.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            asyncio.run(serve_stdio(pointed, write=write))
            return
        from knowtrail.graph.db.driver import is_loopback
        from knowtrail.retrieval.mcp.server import serve_http
        from knowtrail.retrieval.serve.http_server import listen

        with listen(host, port) as bound:
            rules = rules_of(settings, key_file, hosts, near=is_loopback(host))
            said = (
                f"Knowtrail's tools answer at {address_of(bound)}/mcp (Ctrl-C stops)."
            )
            asyncio.run(
                serve_http(
                    pointed,
                    bound,
                    rules=rules,
                    write=write,
                    started=lambda: click.echo(said),
                )
            )
    click.echo("Stopped.", err=True)

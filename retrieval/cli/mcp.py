"""`knowtrail mcp`: tools for agents over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowtrail.graph.extras import extra
from knowtrail.retrieval.cli.serve import address_of, rules_of

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings


@click.command()
@click.option("--corpus", help="Corpus that is asked where a call names none.")
@click.option("--write", is_flag=True, help="Let agents store and forget documents.")
@click.option("--http", is_flag=True, help="Answer over HTTP in place of stdio.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="With --http: address to listen on; another than loopback needs a key.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=7476,
    show_default=True,
    help="With --http: port to listen on; 0 takes a free one.",
)
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --http: file with the key that clients must show.",
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="With --http: name under which clients reach this server; repeatable.",
)
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
    from dataclasses import replace

    from knowtrail.graph.session import served

    with extra("mcp", "The server for agents"):
        from knowtrail.retrieval.mcp.server import serve_stdio
    settings = replace(settings, corpus=corpus or settings.corpus)
    with served(settings) as pointed:
        if not http:
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

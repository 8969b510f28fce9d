"""`knowtrail server`: the managed local Neo4j server."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import option, options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.server import ServerInfo
    from knowtrail.graph.settings import Settings

_HOME = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the server (KNOWTRAIL_HOME).",
)
_NEO4J = click.option(
    "--neo4j", "version", help="Neo4j version, such as 2026.08.1 or 5.26.30."
)


@click.group(cls=NearGroup)
def server() -> None:
    """Install, start, stop and look at the managed local Neo4j server."""


@server.command()
@_HOME
@_NEO4J
@json_option
@click.pass_obj
def install(
    settings: Settings, *, home: Path | None, version: str | None, as_json: bool
) -> None:
    """Fetch Neo4j once, so that it starts without network from then on."""
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.server import install_server

    with progress_bars() as progress:
        folder = install_server(
            _home(settings, home), version or settings.neo4j_version, progress=progress
        )
    record = {"version": folder.name, "folder": str(folder)}
    emit(record, f"Neo4j {folder.name} is installed in {folder}.", as_json=as_json)


@server.command()
@_HOME
@_NEO4J
@option(
    "port",
    type=click.IntRange(1, 65535),
    default=None,
    help="Loopback port of Bolt; without it the last one, 7687, or a free one.",
)
@json_option
@click.pass_obj
def start(
    settings: Settings,
    *,
    home: Path | None,
    version: str | None,
    port: int | None,
    as_json: bool,
) -> None:
    """Start the server and leave it running."""
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.server import join_server

    folder = _home(settings, home)
    with progress_bars() as progress:
        lease = join_server(
            folder,
            version=version or settings.neo4j_version,
            port=port,
            stay=True,
            heap=settings.heap,
            page_cache=settings.page_cache,
            load_csv=settings.load_csv,
            progress=progress,
        )
    lease.close()
    _say_running(lease.info, as_json=as_json)


@server.command()
@_HOME
@json_option
@click.pass_obj
def stop(settings: Settings, *, home: Path | None, as_json: bool) -> None:
    """Stop the server cleanly."""
    from knowtrail.graph.server import stop_server

    folder = _home(settings, home)
    stopped = stop_server(folder)
    text = "Stopped the server" if stopped else "No server was running"
    emit({"stopped": stopped}, f"{text} of {folder}.", as_json=as_json)


@server.command()
@_HOME
@json_option
@click.pass_context
def status(ctx: click.Context, *, home: Path | None, as_json: bool) -> None:
    """Say whether the server runs; exits 1 where it does not."""
    from knowtrail.graph.server import server_status

    folder = _home(ctx.obj, home)
    info = server_status(folder)
    if info is not None:
        _say_running(info, as_json=as_json)
        return
    text = f"No server runs in {folder}. To start one: {_command('start', folder)}"
    emit({"running": False, "home": str(folder)}, text, as_json=as_json)
    ctx.exit(1)


@server.command()
@_HOME
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many of the last lines.",
)
@json_option
@click.pass_obj
def logs(settings: Settings, *, home: Path | None, lines: int, as_json: bool) -> None:
    """Show the end of the server's log."""
    from knowtrail.graph.server import read_log

    found = read_log(_home(settings, home), lines)
    emit({"lines": found}, "\n".join(found) or "The log is empty.", as_json=as_json)


@server.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_HOME
@json_option
@click.pass_obj
def dump(settings: Settings, *, file: Path, home: Path | None, as_json: bool) -> None:
    """Write all that is stored into one file; the server is stopped meanwhile."""
    from knowtrail.graph.server.loading import dump_store

    folder = _home(settings, home)
    with _stopped(settings, folder):
        dump_store(folder, file)
    size = file.stat().st_size
    emit(
        {"file": str(file), "bytes": size},
        f"Wrote {size / 1e6:,.1f} MB to {file}.",
        as_json=as_json,
    )


@server.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_HOME
@options("yes", "json")
@click.pass_obj
def load(
    settings: Settings, *, file: Path, home: Path | None, yes: bool, as_json: bool
) -> None:
    """Put what `server dump` wrote in the place of all that is stored."""
    from knowtrail.graph.server.folder import ServerFolder
    from knowtrail.graph.server.loading import load_store

    folder = _home(settings, home)
    if not yes:
        asked = f"Replace all that is stored in {folder} by {file}?"
        click.confirm(asked, abort=True, err=True)
    if not (ServerFolder(folder).root / "conf").is_dir():
        _joined(settings, folder, stays=False)
    with _stopped(settings, folder):
        load_store(folder, file)
    told = f"Loaded {file} into {folder}."
    emit({"file": str(file), "home": str(folder)}, told, as_json=as_json)


@contextmanager
def _stopped(settings: Settings, home: Path) -> Iterator[None]:
    """Hold a server stopped; one that was started to stay is started again."""
    from knowtrail.graph.server.loading import stopped_server

    stays = False
    try:
        with stopped_server(home) as stays:
            yield
    finally:
        if stays:
            _joined(settings, home, stays=True)


def _joined(settings: Settings, home: Path, *, stays: bool) -> None:
    """Start a server; one that is not to stay stops again."""
    from knowtrail.graph.session import served

    with served(replace(settings, home=home, uri=None), stay=stays):
        pass


def _home(settings: Settings, home: Path | None) -> Path:
    """Return the folder to work on, an option of the sub-command first."""
    return settings.home if home is None else home.expanduser().absolute()


def _command(name: str, home: Path) -> str:
    from knowtrail.graph.settings import own_command

    return f"{own_command(home)} server {name}"


def _say_running(info: ServerInfo, *, as_json: bool) -> None:
    """Print where a server is, without its password."""
    from knowtrail.graph.server.folder import ServerFolder

    password_file = ServerFolder(info.home).password_file
    record = {
        "running": True,
        "uri": info.uri,
        "username": info.username,
        "passwordFile": str(password_file),
        "version": info.version,
        "pid": info.pid,
        "stays": info.stays,
        "home": str(info.home),
        "log": str(info.log),
    }
    until = (
        f"Stop it:   {_command('stop', info.home)}"
        if info.stays
        else "It stops when the last command that uses it has ended."
    )
    lines = [
        f"Neo4j {info.version} runs at {info.uri} (process {info.pid}).",
        f"User:      {info.username}",
        f"Password:  in {password_file}",
        f"Log:       {info.log}",
        until,
    ]
    emit(record, "\n".join(lines), as_json=as_json)

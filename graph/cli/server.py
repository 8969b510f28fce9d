"""`knowtrail server`: the managed local Neo4j server."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import emit, json_option, told_by
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import FILE, option, options, told_options
from knowtrail.graph.session import joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.server.folder import ServerInfo
    from knowtrail.graph.settings import Settings

_told = partial(told_options, "knowtrail.graph")
_HOME = _told(
    "home",
    home={
        "callback": lambda ctx, _, home: (home or ctx.obj.home).expanduser().absolute()
    },
)
_NEO4J = _told("neo4j")


@click.group(cls=NearGroup)
def server() -> None:
    """Install, start, stop and look at the managed local Neo4j server."""


@server.command()
@_HOME
@_NEO4J
@json_option
@click.pass_obj
def install(
    settings: Settings, *, home: Path, version: str | None, as_json: bool
) -> None:
    """Fetch Neo4j once, so that it starts without network from then on."""
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.server.install import install_server

    with progress_bars() as progress:
        folder = install_server(
            home, version or settings.neo4j_version, progress=progress
        )
    record = {"version": folder.name, "folder": str(folder)}
    emit(record, f"Neo4j {folder.name} is installed in {folder}.", as_json=as_json)


@server.command()
@_HOME
@_NEO4J
@option(
    "port",
    range=(1, 65535),
    default=None,
    help="Loopback port of Bolt; without it the last one, 7687, or a free one.",
)
@json_option
@click.pass_obj
def start(
    settings: Settings,
    *,
    home: Path,
    version: str | None,
    port: int | None,
    as_json: bool,
) -> None:
    """Start the server and leave it running."""
    wanted = version or settings.neo4j_version
    settings = replace(settings, home=home, neo4j_version=wanted)
    with joined(settings, stay=True, port=port) as lease:
        info = lease.info
    _say_running(info, as_json=as_json)


@server.command()
@_HOME
@json_option
@click.pass_obj
def stop(settings: Settings, *, home: Path, as_json: bool) -> None:
    """Stop the server cleanly."""
    from knowtrail.graph.server.folder import stop_server

    stopped = stop_server(home)
    text = "Stopped the server" if stopped else "No server was running"
    emit({"stopped": stopped}, f"{text} of {home}.", as_json=as_json)


@server.command()
@_HOME
@json_option
@click.pass_context
def status(ctx: click.Context, *, home: Path, as_json: bool) -> None:
    """Say whether the server runs; exits 1 where it does not."""
    from knowtrail.graph.server.folder import server_status

    info = server_status(home)
    if info is not None:
        _say_running(info, as_json=as_json)
        return
    text = f"No server runs in {home}. To start one: {_command('start', home)}"
    emit({"running": False, "home": str(home)}, text, as_json=as_json)
    ctx.exit(1)


@server.command()
@_HOME
@_told("logs")
@json_option
@click.pass_obj
def logs(settings: Settings, *, home: Path, lines: int, as_json: bool) -> None:
    """Show the end of the server's log."""
    from knowtrail.graph.server.folder import read_log

    found = read_log(home, lines)
    emit({"lines": found}, "\n".join(found) or "The log is empty.", as_json=as_json)


@server.command()
@click.argument("file", type=FILE)
@_HOME
@json_option
@click.pass_obj
def dump(settings: Settings, *, file: Path, home: Path, as_json: bool) -> None:
    """Write all that is stored into one file; the server is stopped meanwhile."""
    from knowtrail.graph.server.loading import check_dump, dump_store

    check_dump(file)
    with _stopped(settings, home):
        dump_store(home, file)
    size = file.stat().st_size
    emit(
        {"file": str(file), "bytes": size},
        f"Wrote {size / 1e6:,.1f} MB to {file}.",
        as_json=as_json,
    )


@server.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_HOME
@options("yes", "json")
@click.pass_obj
def load(
    settings: Settings, *, file: Path, home: Path, yes: bool, as_json: bool
) -> None:
    """Put what `server dump` wrote in the place of all that is stored."""
    from knowtrail.graph.server.folder import ServerFolder
    from knowtrail.graph.server.loading import load_store

    if not yes:
        asked = f"Replace all that is stored in {home} by {file}?"
        click.confirm(asked, abort=True, err=True)
    if not (ServerFolder(home).root / "conf").is_dir():
        joined(replace(settings, home=home)).close()
    with _stopped(settings, home):
        load_store(home, file)
    told = f"Loaded {file} into {home}."
    emit({"file": str(file), "home": str(home)}, told, as_json=as_json)


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
            joined(replace(settings, home=home), stay=True).close()


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
    about = {"password_file": password_file, "stop": _command("stop", info.home)}
    told = told_by(Path(__file__).parent, "running.txt", info=info, **about)
    emit(record, told, as_json=as_json)

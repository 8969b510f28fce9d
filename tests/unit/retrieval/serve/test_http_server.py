"""The server's socket and connections, and how it starts."""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from knowtrail.graph.cli.root import main
from knowtrail.graph.db.driver import is_loopback
from knowtrail.graph.errors import PortInUseError, SettingsError
from knowtrail.graph.extras import installing
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.cli.serve import rules_of
from knowtrail.retrieval.serve import http_server
from knowtrail.retrieval.serve.app import create_app
from knowtrail.retrieval.serve.guard import LOOPBACK_NAMES
from knowtrail.retrieval.serve.http_server import PatientProtocol, listen
from tests.cases import each

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

    from tests.unit.retrieval.serve.conftest import Steered

KEY = "0123456789abcdef-KEY"


@each(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("192.168.1.5", False),
        ("graph.example", False),
    ],
)
def test_loopback_is_told_from_the_rest(host: str, loopback: bool) -> None:
    """A name that is not known to be this machine's alone counts as elsewhere."""
    assert is_loopback(host) is loopback


def test_free_port_is_taken() -> None:
    """Port 0 gives one."""
    with listen("127.0.0.1", 0) as bound:
        assert bound.getsockname()[1] > 0


def test_taken_port_is_one_clear_error() -> None:
    """The message has the port and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"Port {port} .* --port"):
            listen("127.0.0.1", port)


def test_address_of_another_machine_is_refused() -> None:
    """A documentation address is nobody's."""
    with pytest.raises(SettingsError, match=r"Cannot listen on '203\.0\.113\.1'"):
        listen("203.0.113.1", 0)


def test_loopback_needs_no_key(tmp_path: Path) -> None:
    """Neither is one made."""
    rules = rules_of(Settings.from_env(env={}, home=tmp_path), None, (), near=True)

    assert (rules.keys, rules.hosts) == ({}, LOOPBACK_NAMES)
    assert list(tmp_path.iterdir()) == []


def test_key_is_made_for_other_addresses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its place is told, not the key."""
    rules = rules_of(Settings.from_env(env={}, home=tmp_path), None, (), near=False)

    told = capsys.readouterr().err
    assert rules.keys == {"": (tmp_path / "serve.key").read_text("utf-8").strip()}
    assert rules.hosts is None
    assert str(tmp_path / "serve.key") in told
    assert rules.keys[""] not in told


def test_file_wins_over_setting(tmp_path: Path) -> None:
    """And the setting over none, on loopback too."""
    (tmp_path / "key").write_text(KEY, "utf-8")
    settings = Settings.from_env(env={"KNOWTRAIL_SERVE_KEY": "setting-" + KEY})

    rules = rules_of(settings, tmp_path / "key", ("Graph.example",), near=True)
    without = rules_of(settings, None, ("Graph.example",), near=False)

    assert (rules.keys, without.keys) == ({"": KEY}, {"": "setting-" + KEY})
    assert "graph.example" in (rules.hosts or ())
    assert "graph.example" in (without.hosts or ())
    assert KEY not in repr(settings)


def test_missing_extra_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Somebody who installed the bare package is told what to install."""
    for name in [n for n in sys.modules if n.startswith("knowtrail.retrieval.serve.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    with pytest.raises(SystemExit) as ended:
        main([f"--home={tmp_path}", "serve", "--port", "0"])

    assert ended.value.code == 1
    assert installing("knowtrail[serve]") in capsys.readouterr().err


HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
TIME = 10.0


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer every request after longer than a head may take."""
    await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def _serving(app: Any) -> AsyncIterator[int]:
    """Yield the port of a server as `serve` sets one up."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        limit_concurrency=http_server.MOST_CONNECTIONS,
    )
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as bound:
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[bound])
        yield bound.getsockname()[1]
        await server.shutdown(sockets=[bound])


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """Return the port of a server with room for three and little patience."""
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 3)
    async with _serving(_answer) as port:
        yield port


@pytest.mark.enable_socket
@pytest.mark.parametrize("said", [b"", HEAD[:20], HEAD + HEAD[:20]])
async def test_half_heads_are_cut_off(port: int, said: bytes) -> None:
    """Silence, half a head, and half a head after a request end the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    try:
        async with asyncio.timeout(TIME):
            got = await reader.read(15)
            while got and await reader.read(1000):
                pass
    except ConnectionResetError:
        got = b"" if said != HEAD + HEAD[:20] else b"HTTP/1.1 200 OK"
    writer.close()

    assert got == (b"HTTP/1.1 200 OK" if HEAD in said else b"")


SIZE = [(b"content-length", b"10000000")]


async def _much(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer every request with more than a connection holds unread."""
    await send({"type": "http.response.start", "status": 200, "headers": SIZE})
    await send({"type": "http.response.body", "body": bytes(10_000_000)})


@pytest.mark.enable_socket
async def test_a_caller_that_does_not_read_is_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it asked for is not held for ever; one that reads gets all."""
    monkeypatch.setattr(http_server, "WRITE_SECONDS", 0.5)
    async with _serving(_much) as port, asyncio.timeout(TIME):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):  # slower in all than one may be that reads nothing
            writer.write(HEAD)
            await reader.readuntil(b"\r\n\r\n")
            for _ in range(10):
                await reader.readexactly(1_000_000)
                await asyncio.sleep(0.15)
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD)
        writer.transport.pause_reading()
        await asyncio.sleep(2.5)
        writer.transport.resume_reading()
        unread = 0
        with suppress(ConnectionResetError):
            while got := await reader.read(1_000_000):
                unread += len(got)
        writer.close()

    assert unread < 10_000_000


@pytest.mark.enable_socket
async def test_silent_connections_keep_nobody_out(port: int) -> None:
    """With as many silent connections as there is room for, requests are answered."""
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(6)]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HEAD)
    async with asyncio.timeout(TIME):
        answer = await reader.readline()
    for _, one in (*silent, (reader, writer)):
        one.close()

    assert answer == b"HTTP/1.1 200 OK\r\n"


@pytest.mark.enable_socket
@pytest.mark.parametrize("said", [b"", HEAD[:20]])
async def test_health_is_told_beside_as_many_silent_ones_as_there_is_room_for(
    backend: Steered, said: bytes
) -> None:
    """A watcher is answered at every tenth of 300 that say nothing whole."""
    silent, answers = [], []
    async with _serving(create_app(backend)) as port, asyncio.timeout(TIME):
        for number in range(http_server.MOST_CONNECTIONS * 3 // 2):
            silent.append(await asyncio.open_connection("127.0.0.1", port))
            silent[-1][1].write(said)
            if number % 10 == 9:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(HEAD)
                answers.append(await reader.readline())
                writer.close()
        for _, one in silent:
            one.close()

    assert len(answers) == 30
    assert set(answers) == {b"HTTP/1.1 200 OK\r\n"}

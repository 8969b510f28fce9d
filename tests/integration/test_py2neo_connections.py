"""Connections that are encrypted, and connections that break, on a real server."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from knowtrail.graph.errors import UnavailableError
from knowtrail.graph.py2neo import (
    ConnectionUnavailable,
    Graph,
    Node,
    ServiceUnavailable,
    WriteServiceUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration


class Relay:
    """Passes bytes between a port of its own and the server, until it is cut.

    Args:
        target: Host and port of the server.
        tls: How to encrypt its own side; None for plain bytes.
    """

    def __init__(self, target: tuple[str, int], tls: ssl.SSLContext | None = None):
        self._target = target
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._up = True
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Return the port that it listens on."""
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        """Take connections until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if not self._up:
                    client.close()
                    continue
                threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        """Connect a client with the server."""
        with contextlib.suppress(OSError):
            if self._tls is not None:
                client = self._tls.wrap_socket(client, server_side=True)
            server = socket.create_connection(self._target)
            self._open += [client, server]
            for pair in ((client, server), (server, client)):
                threading.Thread(target=_copy, args=pair, daemon=True).start()
            if not self._up:
                _end(client)
                _end(server)

    def cut(self) -> None:
        """Break every connection, and let new ones break at once."""
        self._up = False
        for end in self._open:
            _end(end)
        self._open.clear()

    def mend(self) -> None:
        """Let new connections live."""
        self._up = True

    def close(self) -> None:
        """Break everything and stop to listen."""
        self.cut()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until either side ends, and then end both."""
    with contextlib.suppress(OSError, ValueError), source:
        while data := source.recv(65536):
            target.sendall(data)
        _end(source)
    _end(target)


def _end(connection: socket.socket) -> None:
    """End a connection, also for the thread that is waiting for its bytes."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _target(server: Settings) -> tuple[str, int]:
    """Return host and port of the server."""
    parts = urlsplit(str(server.uri))
    return parts.hostname or "127.0.0.1", parts.port or 7687


@pytest.fixture
def relay(server: Settings) -> Iterator[Relay]:
    """Yield a relay that speaks plainly."""
    made = Relay(_target(server))
    yield made
    made.close()


@pytest.fixture
def secure_relay(server: Settings, tmp_path: Path) -> Iterator[Relay]:
    """Yield a relay that speaks TLS, with a certificate that nobody signed."""
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem "
        "-days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    )
    try:
        subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl: apt install openssl")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    made = Relay(_target(server), tls)
    yield made
    made.close()


def _opened(server: Settings, address: str, **settings: Any) -> Graph:
    """Open a graph at another address of the server."""
    return Graph(address, auth=(server.username, server.password), **settings)


def test_encrypted_connections(secure_relay: Relay, server: Settings) -> None:
    """Statements go through TLS where the scheme or a setting asks for it."""
    port = secure_relay.port
    with _opened(server, f"bolt+ssc://localhost:{port}").service as service:
        assert service.default_graph.evaluate("RETURN 1") == 1
    plain = f"bolt://localhost:{port}"
    with _opened(server, plain, secure=True, verify=False).service as service:
        assert service.uri.startswith("bolt+ssc://")
        assert service.default_graph.evaluate("RETURN 2") == 2


def test_certificates_are_verified(secure_relay: Relay, server: Settings) -> None:
    """`bolt+s` refuses a certificate that nobody signed, plain Bolt finds no Bolt."""
    for scheme in ("bolt+s", "neo4j+s", "bolt"):
        with pytest.raises(ConnectionUnavailable, match="does not answer"):
            _opened(server, f"{scheme}://localhost:{secure_relay.port}")


def test_a_server_that_goes_away_is_said(
    relay: Relay, server: Settings, graph: Graph
) -> None:
    """What was under way is lost and local again; later the graph works again."""
    away = _opened(server, f"bolt://127.0.0.1:{relay.port}")
    with away.service:
        node = Node("Person", name="Alice")
        tx = away.begin()
        tx.create(node)
        relay.cut()
        with pytest.raises(UnavailableError) as caught:
            tx.run("RETURN 1")
        assert isinstance(caught.value, ServiceUnavailable)
        assert tx.finished()
        assert (node.identity, node.graph) == (None, None)
        with pytest.raises(ServiceUnavailable):
            away.run("RETURN 1")
        relay.mend()
        away.create(node)
        assert away.exists(node)
    assert len(graph.nodes) == 1


def test_a_server_that_refuses_is_not_tried_again(
    relay: Relay, server: Settings
) -> None:
    """Work that the driver may try again ends at once where this machine refuses."""
    away = _opened(server, f"bolt://localhost:{relay.port}")
    with away.service:
        relay.close()
        began = time.monotonic()
        with pytest.raises(WriteServiceUnavailable, match="does not answer"):
            away.update("RETURN 1")
        with pytest.raises(ServiceUnavailable, match="does not answer"):
            away.query("RETURN 1")
        with pytest.raises(ServiceUnavailable, match="does not answer"):
            away.create(Node("Person"))
        assert time.monotonic() - began < 15


def test_a_commit_that_is_not_answered_is_said(relay: Relay, server: Settings) -> None:
    """Nobody knows whether it took effect, so it is an error."""
    away = _opened(server, f"bolt://127.0.0.1:{relay.port}")
    with away.service:
        tx = away.begin()
        tx.run("RETURN 1")
        relay.cut()
        with pytest.raises(UnavailableError):
            tx.commit()
        assert tx.finished()


def test_a_block_keeps_its_own_error(relay: Relay, server: Settings) -> None:
    """A roll-back that finds no server does not hide why there was one."""
    away = _opened(server, f"bolt://127.0.0.1:{relay.port}")
    with away.service, pytest.raises(KeyError, match="mine"):
        _fail_alone(away, relay)


def _fail_alone(graph: Graph, relay: Relay) -> None:
    """Fail in a block, after the server went away."""
    with graph.begin() as tx:
        tx.run("RETURN 1")
        relay.cut()
        msg = "mine"
        raise KeyError(msg)

"""A network that is slow, silent or cut, between two that talk over TCP."""

from __future__ import annotations

import selectors
import socket
import struct
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

RESET = struct.pack("ii", 1, 0)
"""Lingering for no time: closing a socket resets the connection."""
PATIENCE = b"connection.recv_timeout_seconds"
"""What the server tells a driver: how long to wait for it, 120 s by default."""


class Proxy:
    """What happens to connections that go through it; may be changed at any time.

    Attributes:
        port: Where it listens, on this machine.
        delay: Seconds before each piece is passed on.
        silent: Whether nothing is passed on any more, though connections stay.
        cut_after: Bytes of answers after which a connection is cut; None for never.
        silent_after: Bytes of answers after which nothing more comes of a connection.
        patience: Seconds that drivers are told to wait for an answer, below 128.
        chance: Cuts each connection after 8 to 60 pieces of answers, where it is given.
        connections: How many came.
        cuts: How many were cut.
        context: Whose certificate clients are shown, where they speak TLS.
    """

    def __init__(
        self, host: str, port: int, context: ssl.SSLContext | None = None
    ) -> None:
        self.context = context
        self.delay = 0.0
        self.silent = False
        self.cut_after: int | None = None
        self.silent_after: int | None = None
        self.patience = 120
        self.chance: Random | None = None
        self.connections = self.cuts = 0
        self._target = (host, port)
        self._ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.2)
        self.port: int = self._listener.getsockname()[1]

    def run(self) -> None:
        """Pass connections on until the end."""
        while not self._ended.is_set():
            with suppress(TimeoutError):
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._pass, args=(client,), daemon=True).start()
        self._listener.close()

    def end(self) -> None:
        """Cut everything."""
        self._ended.set()

    def _pass(self, client: socket.socket) -> None:
        if self.context is not None:
            try:
                client = self.context.wrap_socket(client, server_side=True)
            except OSError:  # the client does not trust it
                return
        passed = 0
        pieces = None if self.chance is None else self.chance.randint(8, 60)
        with client, socket.create_connection(self._target) as server:
            with selectors.DefaultSelector() as both, suppress(OSError):
                both.register(client, selectors.EVENT_READ, server)
                both.register(server, selectors.EVENT_READ, client)
                while not self._ended.is_set():
                    mute = self.silent_after is not None and passed > self.silent_after
                    if self.silent or mute:
                        time.sleep(0.05)
                        continue
                    for key, _ in both.select(0.1):
                        data = key.fileobj.recv(65536)  # type: ignore[union-attr]
                        time.sleep(self.delay)
                        if key.fileobj is server:
                            data = data.replace(
                                PATIENCE + bytes([120]),
                                PATIENCE + bytes([self.patience]),
                            )
                            passed += len(data)
                            pieces = None if pieces is None else pieces - 1
                        if not data:
                            return
                        full = self.cut_after is not None and passed > self.cut_after
                        if full or pieces == 0:
                            self.cuts += 1
                            return
                        key.data.sendall(data)
            for end in (client, server):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


@contextmanager
def proxied(
    host: str, port: int, context: ssl.SSLContext | None = None
) -> Iterator[Proxy]:
    """Yield a proxy before an address; with a context it speaks TLS."""
    proxy = Proxy(host, port, context)
    thread = threading.Thread(target=proxy.run)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.end()
        thread.join()


def self_signed(folder: Path, host: str) -> tuple[ssl.SSLContext, Path]:
    """Return what shows a certificate of a host, and its file, which vouches for it."""
    import ssl
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    now = datetime.now(UTC)
    certificate = (
        x509
        .CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    form = serialization.Encoding.PEM
    shown = certificate.public_bytes(form)
    secret = key.private_bytes(
        form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(shown)
    (folder / "both.pem").write_bytes(secret + shown)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context, path

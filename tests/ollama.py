"""A real Ollama server with a small model, and one that says what tests tell it."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODEL = "parrot:1b"
SMALL_MODEL = "smollm2:135m"


def need_small_model(url: str) -> None:
    """Skip without an Ollama server that has the small model, fail under CI.

    Args:
        url: Where the server answers.
    """
    reason = ""
    try:
        tags = httpx.get(f"{url}/api/tags", timeout=5, trust_env=False).json()
        if SMALL_MODEL not in {model["name"] for model in tags["models"]}:
            reason = f"{url} has no {SMALL_MODEL}: ollama pull {SMALL_MODEL}"
    except httpx.HTTPError as error:
        reason = f"no Ollama at {url}: install it, ollama serve: {error}"
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


@dataclass
class Parrot:
    """What the server says, and what happened to it.

    Attributes:
        url: Where it answers.
        pieces: The pieces of its answer.
        answers: Gives the answer to a request's body; None for `pieces`.
        pause: Seconds before each piece.
        context: The context length that it tells of its model.
        requests: The bodies of the requests so far.
        given_up: Set when a client leaves before the end of an answer.
    """

    url: str = ""
    pieces: list[str] = field(default_factory=list)
    pause: float = 0.0
    context: int = 4_096
    answers: Callable[[dict[str, Any]], str] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    given_up: threading.Event = field(default_factory=threading.Event)

    def says(self, *pieces: str, pause: float = 0.0) -> None:
        """Set the next answers."""
        self.pieces, self.pause, self.answers = list(pieces), pause, None
        self.requests.clear()
        self.given_up.clear()


@contextmanager
def parrot_server() -> Iterator[Parrot]:
    """Yield a running server; it knows one model."""
    parrot = Parrot()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = asked["model"] == MODEL
            if self.path == "/api/show" and known:
                self.send_response(200)
                self.end_headers()
                told = {"bird.context_length": parrot.context, "bird.wings": 2}
                self.wfile.write(json.dumps({"model_info": told}).encode())
                return
            parrot.requests.append(asked)
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/x-ndjson")
            self.end_headers()
            if not known:
                self.wfile.write(b'{"error": "model not found"}')
                return
            try:
                given = parrot.answers
                for piece in parrot.pieces if given is None else [given(asked)]:
                    time.sleep(parrot.pause)
                    self._send({"content": piece}, done=False)
                self._send({"content": ""}, done=True)
            except OSError:
                parrot.given_up.set()

        def _send(self, message: dict[str, str], *, done: bool) -> None:
            row = {
                "model": MODEL,
                "message": {"role": "assistant", **message},
                "done": done,
                **({"done_reason": "stop"} if done else {}),
            }
            self.wfile.write(json.dumps(row).encode() + b"\n")
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    parrot.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield parrot
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

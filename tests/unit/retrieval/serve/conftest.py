"""The real application over a backend that tests steer, reached without a network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from knowtrail.retrieval.serve.app import create_app

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

Client = httpx.AsyncClient


class Steered:
    """A backend that answers with what a test gave it, and keeps what it was asked."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.pieces: list[str | dict[str, Any] | Exception] = []
        self.error: Exception | None = None
        self.wait = 0.0
        self.asked: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.running = 0
        self.most = 0
        self.cancelled = 0
        self.parts = {"database": "ok", "corpus": "ok", "model": "ok"}
        self.stored: dict[str, dict[str, str | None]] = {}

    async def call(
        self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Wait, then answer or fail."""
        self.asked.append((name, dict(arguments), dict(options)))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.wait)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        if self.error is not None:
            raise self.error
        return self.rows

    async def stream(
        self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> AsyncGenerator[str | dict[str, Any]]:
        """Give one piece after the other."""
        self.asked.append((name, dict(arguments), dict(options)))
        for piece in self.pieces:
            await asyncio.sleep(self.wait)
            if isinstance(piece, Exception):
                raise piece
            yield piece

    @property
    def corpus(self) -> str | None:
        """Name no corpus."""
        return None

    async def read(
        self, text: str, params: Mapping[str, Any], *, limit: int
    ) -> tuple[tuple[str, ...], list[list[Any]]]:
        """Answer with what was asked, a row for each of three."""
        self.asked.append((text, dict(params), {"limit": limit}))
        return ("n",), [[n] for n in range(3)][:limit]

    async def question(self, query_id: str) -> dict[str, str | None] | None:
        """Return a question that a test stored."""
        return self.stored.get(query_id)

    async def readiness(self) -> dict[str, str]:
        """Say what a test set."""
        return self.parts


@pytest.fixture
def backend() -> Steered:
    """Return a backend that answers with no rows."""
    return Steered()


@pytest.fixture
def client(backend: Steered) -> Callable[..., Client]:
    """Return a function that makes a client of an application with some limits."""

    def make(*, headers: dict[str, str] | None = None, **limits: Any) -> Client:
        return Client(
            transport=httpx.ASGITransport(create_app(backend, **limits)),
            base_url="http://127.0.0.1:7475",
            headers=headers,
        )

    return make

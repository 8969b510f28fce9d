"""LangChain's client for Ollama, made so that each request has a limit of its own."""

from __future__ import annotations

import socket
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from knowtrail.graph.extras import extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from langchain_core.messages import BaseMessage
    from langchain_ollama import ChatOllama

CONTEXT_TOKENS = 4_096
"""Prompt and answer together, of short requests; Ollama loads a model anew for more."""

MOST_CONTEXT = 32_768
"""Of long texts, unless another limit is given: the memory of a model grows with it."""

ANSWER_TOKENS = 512
CONNECT_SECONDS = 10.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_LIMIT: ContextVar[float | None] = ContextVar("seconds of a request", default=None)


def ollama_chat(name: str, url: str) -> ChatOllama:
    """Return LangChain's client for a model."""
    with extra("llm", "A language model of Ollama"):
        from langchain_ollama import ChatOllama
    return ChatOllama(
        model=name,
        base_url=url,
        temperature=0,
        num_ctx=CONTEXT_TOKENS,
        num_predict=ANSWER_TOKENS,
        client_kwargs={"timeout": None, **client_options(url)},
        sync_client_kwargs={"event_hooks": {"request": [_set_limit]}},
    )


def is_absent(url: str) -> bool:
    """Return whether the address is of this machine and nothing listens there.

    It spares LangChain's client, whose import takes longer than a whole question.
    """
    parts = urlsplit(url)
    if parts.hostname not in _LOOPBACK:
        return False
    usual = 443 if parts.scheme == "https" else 80
    try:
        socket.create_connection((parts.hostname, parts.port or usual), 1.0).close()
    except OSError:
        return True
    return False


def client_options(url: str) -> dict[str, Any]:
    """Return how clients are made: past a proxy where the server is on this machine."""
    return {
        "trust_env": urlsplit(url).hostname not in _LOOPBACK,
        "headers": {"Connection": "close"},  # nothing would close it later
    }


def offered_context(name: str, url: str, most: int) -> int:
    """Return the tokens of prompt and answer that a model can be given, but not more.

    Of a model that tells none it is the usual 4,096.

    Raises:
        ConnectionError: If no server answers.
        ollama.ResponseError: If the server has no such model.
    """
    from ollama import Client

    client = Client(host=url, timeout=CONNECT_SECONDS, **client_options(url))
    told = client.show(name).modelinfo or {}
    lengths = [
        value
        for key, value in told.items()
        if key.endswith(".context_length") and isinstance(value, int) and value > 0
    ]
    return min(most, *lengths) if lengths else min(most, CONTEXT_TOKENS)


def _set_limit(request: httpx.Request) -> None:
    """Give a request the time limit of its call; a client's holds for all requests."""
    seconds = _LIMIT.get()
    request.extensions["timeout"] = {
        "connect": CONNECT_SECONDS
        if seconds is None
        else min(CONNECT_SECONDS, seconds),
        "read": seconds,
        "write": seconds,
        "pool": seconds,
    }


def limited(chunks: Iterator[BaseMessage], seconds: float) -> BaseMessage | None:
    """Return the first chunk; the request is made with it, and with the limit."""
    token = _LIMIT.set(seconds)
    try:
        return next(chunks, None)
    finally:
        _LIMIT.reset(token)

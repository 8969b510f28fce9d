"""LangChain's client for Ollama, made so that each request has a limit of its own."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from graph.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from langchain_core.messages import BaseMessage
    from langchain_ollama import ChatOllama

__all__ = ["ANSWER_TOKENS", "CONTEXT_TOKENS", "limited", "ollama_chat"]

CONTEXT_TOKENS = 4_096
"""Prompt and answer together; never changed, as Ollama would load the model anew."""

ANSWER_TOKENS = 512
CONNECT_SECONDS = 10.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_LIMIT: ContextVar[float | None] = ContextVar("seconds of a request", default=None)


def ollama_chat(name: str, url: str) -> ChatOllama:
    """Return LangChain's client for a model.

    Args:
        name: Model as Ollama calls it.
        url: Where Ollama answers.

    Raises:
        MissingExtraError: If the extra `llm` is not installed.
    """
    try:
        from langchain_ollama import ChatOllama
    except ImportError as error:
        msg = "A language model needs an extra: pip install 'knowtrail[llm]'."
        raise MissingExtraError(msg) from error
    return ChatOllama(
        model=name,
        base_url=url,
        temperature=0,
        num_ctx=CONTEXT_TOKENS,
        num_predict=ANSWER_TOKENS,
        client_kwargs={
            "timeout": None,
            "trust_env": urlsplit(url).hostname not in _LOOPBACK,
            "headers": {"Connection": "close"},  # nothing would close it later
        },
        sync_client_kwargs={"event_hooks": {"request": [_set_limit]}},
    )


def _set_limit(request: httpx.Request) -> None:
    """Give a request the time limit of the call that makes it.

    The limit of a client holds for all its requests; this is how each has its own.
    """
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
    """Return the first chunk; the request is made with it, and with the limit.

    Args:
        chunks: An answer that has not been asked for yet.
        seconds: Time limit of each reading.
    """
    token = _LIMIT.set(seconds)
    try:
        return next(chunks, None)
    finally:
        _LIMIT.reset(token)

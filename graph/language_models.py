"""Language models: any LangChain chat model behind four calls, Ollama by default.

What a model answers is text that has not been checked. A schema sees to its form where
the model can be held to one; its sense, and numeric ranges, are for the caller to
check. Text of documents goes into a prompt between marks that it cannot close, see
`graph.prompts.marked`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from graph.errors import InputError, MissingExtraError, ModelError
from graph.prompts import estimated_tokens
from graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator, Mapping

    import httpx
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_ollama import ChatOllama

__all__ = [
    "CONTEXT_TOKENS",
    "LanguageModel",
    "ModelReply",
    "load_language_model",
]

_LOG = logging.getLogger(__name__)
CONTEXT_TOKENS = 4_096
"""Prompt and answer together; never changed, as Ollama would load the model anew."""

ANSWER_TOKENS = 512
CONNECT_SECONDS = 10.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_LIMIT: ContextVar[float | None] = ContextVar("seconds of a request", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a model said, or why it is of no use.

    Attributes:
        text: The answer as it came, empty where none did.
        prompt_tokens: Tokens of the prompt as the model counted them.
        completion_tokens: Tokens of the answer.
        error: Why the answer is missing or cut; None where it is whole.
        late: Whether it is cut because the time was over.
    """

    text: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None
    late: bool = False


class LanguageModel:
    """A chat model with time limits and an estimate of what fits its context.

    Calls of several threads may run side by side, as far as the chat model's may.

    Attributes:
        name: What results say they were made by.
        prompt_tokens: Tokens that a prompt may have by `estimated_tokens`; None for no
            limit.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        *,
        name: str | None = None,
        prompt_tokens: int | None = None,
        where: str = "",
    ) -> None:
        """Wrap a chat model, which is not asked anything yet.

        Args:
            chat: Any LangChain chat model.
            name: Its name; None takes what the chat model calls itself.
            prompt_tokens: Tokens that a prompt may have; None for no limit.
            where: Its address, for messages.
        """
        self._chat = chat
        self.name = name or _own_name(chat)
        self.prompt_tokens = prompt_tokens
        self._where = where
        self._is_ollama = type(chat).__name__ == "ChatOllama"

    def reply(
        self,
        prompt: str,
        *,
        schema: Mapping[str, Any] | None = None,
        seconds: float = 60.0,
        seed: int | None = None,
    ) -> ModelReply:
        """Return the whole answer; a late or broken one is told in `error`.

        Args:
            prompt: What is asked.
            schema: JSON schema that the answer is held to; where the model has no
                such thing, it is told the schema.
            seconds: Time limit. A model that stops in the middle of an answer may
                take up to twice as long.
            seed: For another answer than the most likely one, where the model (as
                Ollama's) can be told.

        Raises:
            ModelError: If the model's server is down or refuses.
        """
        if (refusal := self._refusal(prompt)) is not None:
            return ModelReply(error=refusal)
        whole: BaseMessage | None = None
        try:
            for chunk in self._chunks(prompt, schema, seconds, seed):
                whole = _joined(whole, chunk)
        except TimeoutError as error:
            return replace(_reply(whole), error=str(error), late=True)
        return _reply(whole)

    async def areply(
        self,
        prompt: str,
        *,
        schema: Mapping[str, Any] | None = None,
        seconds: float = 60.0,
        seed: int | None = None,
    ) -> ModelReply:
        """Do as `reply` does, without blocking; the time limit is exact."""
        if (refusal := self._refusal(prompt)) is not None:
            return ModelReply(error=refusal)
        whole: BaseMessage | None = None
        try:
            async for chunk in self._achunks(prompt, schema, seconds, seed):
                whole = _joined(whole, chunk)
        except TimeoutError as error:
            return replace(_reply(whole), error=str(error), late=True)
        return _reply(whole)

    def stream(
        self,
        prompt: str,
        *,
        schema: Mapping[str, Any] | None = None,
        seconds: float = 60.0,
    ) -> Generator[str]:
        """Yield the answer piece by piece, each as soon as the model gives it.

        Closing the iterator ends the request. Takes the arguments of `reply`.

        Raises:
            ModelError: If the model is down, refuses or takes too long.
            InputError: If the prompt is too long for the model.
        """
        if (refusal := self._refusal(prompt)) is not None:
            raise InputError(refusal)
        try:
            for chunk in self._chunks(prompt, schema, seconds, None):
                if text := str(chunk.text):
                    yield text
        except TimeoutError as error:
            raise ModelError(str(error)) from error

    async def astream(
        self,
        prompt: str,
        *,
        schema: Mapping[str, Any] | None = None,
        seconds: float = 60.0,
    ) -> AsyncGenerator[str]:
        """Do as `stream` does, without blocking; the time limit is exact."""
        if (refusal := self._refusal(prompt)) is not None:
            raise InputError(refusal)
        try:
            async with aclosing(self._achunks(prompt, schema, seconds, None)) as chunks:
                async for chunk in chunks:
                    if text := str(chunk.text):
                        yield text
        except TimeoutError as error:
            raise ModelError(str(error)) from error

    def _refusal(self, prompt: str) -> str | None:
        """Say why a prompt is not sent: a model would cut it without a word."""
        tokens = estimated_tokens(prompt)
        if self.prompt_tokens is None or tokens <= self.prompt_tokens:
            return None
        return (
            f"The prompt has about {tokens} tokens, {self.name!r} takes "
            f"{self.prompt_tokens}: give it less text."
        )

    def _chunks(
        self,
        prompt: str,
        schema: Mapping[str, Any] | None,
        seconds: float,
        seed: int | None,
    ) -> Generator[BaseMessage]:
        """Yield the answer's chunks until the time is over."""
        prompt, options = self._call(prompt, schema, seed)
        end = time.monotonic() + seconds
        with self._translated(seconds):
            chunks = self._chat.stream(prompt, **options)
            chunk = _limited(chunks, seconds)
            while chunk is not None:
                yield chunk
                if time.monotonic() > end:
                    raise TimeoutError
                chunk = next(chunks, None)

    async def _achunks(
        self,
        prompt: str,
        schema: Mapping[str, Any] | None,
        seconds: float,
        seed: int | None,
    ) -> AsyncGenerator[BaseMessage]:
        """Yield the answer's chunks until the time is over."""
        prompt, options = self._call(prompt, schema, seed)
        end = time.monotonic() + seconds
        with self._translated(seconds):
            chunks = self._chat.astream(prompt, **options)
            try:
                while True:
                    async with asyncio.timeout(max(0.0, end - time.monotonic())):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return
                    yield chunk
            finally:
                await chunks.aclose()  # type: ignore[attr-defined]

    def _call(
        self, prompt: str, schema: Mapping[str, Any] | None, seed: int | None
    ) -> tuple[str, dict[str, Any]]:
        """Return prompt and options of one request."""
        prompt = prompt.encode("utf-8", "replace").decode("utf-8")
        options: dict[str, Any] = {}
        if schema is not None and self._is_ollama:
            options["format"] = dict(schema)
        elif schema is not None:
            prompt += f"\nAnswer with JSON that fits this schema: {json.dumps(schema)}"
        if seed is not None and self._is_ollama:
            # These take the place of all others, and another context would make
            # Ollama load the model anew.
            options["options"] = {
                "temperature": 0.5,
                "seed": seed,
                "num_ctx": CONTEXT_TOKENS,
                "num_predict": ANSWER_TOKENS,
            }
        return prompt, options

    @contextmanager
    def _translated(self, seconds: float) -> Iterator[None]:
        """Turn what clients raise into a `TimeoutError` or a `ModelError`."""
        import httpx

        what = f"the language model {self.name!r}"
        what += f" at {self._where}" if self._where else ""
        try:
            yield
        except (TimeoutError, httpx.ReadTimeout, httpx.WriteTimeout) as error:
            msg = f"No answer from {what} in {seconds:g} seconds: use a smaller model."
            raise TimeoutError(msg) from error
        except Exception as error:  # clients of other models raise what they like
            raise ModelError(self._told(what, error)) from error

    def _told(self, what: str, error: Exception) -> str:
        """Return one line about an error, with what to do."""
        import httpx

        if not self._is_ollama:
            return f"An error from {what}: {' '.join(str(error).split())[:300]}."
        from ollama import ResponseError

        if isinstance(error, ConnectionError | httpx.TransportError):
            return (
                f"No answer from {what}: start it with `ollama serve` and "
                f"`ollama pull {self.name}`."
            )
        if isinstance(error, ResponseError) and error.status_code == 404:
            return (
                f"Ollama at {self._where} has no model {self.name!r}: "
                f"run `ollama pull {self.name}`."
            )
        reason = error.error if isinstance(error, ResponseError) else error
        said = " ".join(str(reason).split())[:300]
        return f"An error from {what}: {said}. Look at Ollama's log."


def load_language_model(
    name: str | None = None, *, settings: Settings | None = None
) -> LanguageModel:
    """Return a model that Ollama runs; it is asked nothing yet.

    Args:
        name: Model as Ollama calls it; None takes that of the settings.
        settings: Where Ollama answers; None takes the environment's.

    Raises:
        MissingExtraError: If the extra `llm` is not installed.
    """
    settings = settings or Settings.from_env()
    name = name or settings.language_model
    return LanguageModel(
        _ollama(name, settings.ollama_url),
        name=name,
        prompt_tokens=CONTEXT_TOKENS - ANSWER_TOKENS,
        where=settings.ollama_url,
    )


def _ollama(name: str, url: str) -> ChatOllama:
    """Return LangChain's client for a model."""
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


def _limited(chunks: Iterator[BaseMessage], seconds: float) -> BaseMessage | None:
    """Return the first chunk; the request is made with it, and with the limit."""
    token = _LIMIT.set(seconds)
    try:
        return next(chunks, None)
    finally:
        _LIMIT.reset(token)


def _own_name(chat: BaseChatModel) -> str:
    """Return what a chat model calls its model, or itself."""
    names = [getattr(chat, attribute, None) for attribute in ("model", "model_name")]
    return next((n for n in names if isinstance(n, str) and n), type(chat).__name__)


def _joined(whole: BaseMessage | None, chunk: BaseMessage) -> BaseMessage:
    """Return an answer with one chunk more."""
    joined: BaseMessage = chunk if whole is None else whole + chunk  # type: ignore[assignment]
    return joined


def _reply(message: BaseMessage | None) -> ModelReply:
    """Return a message as a reply."""
    if message is None:
        return ModelReply(error="The model gave no answer.")
    error = None
    if message.response_metadata.get("done_reason") == "length":
        error = f"The answer was cut at {ANSWER_TOKENS} tokens."
    usage = getattr(message, "usage_metadata", None) or {}
    return ModelReply(
        text=str(message.text),
        prompt_tokens=usage.get("input_tokens"),
        completion_tokens=usage.get("output_tokens"),
        error=error,
    )

"""Language models: any LangChain chat model behind four calls, Ollama by default.

What a model answers is text that has not been checked. A schema sees to its form where
the model can be held to one; its sense, and numeric ranges, are for the caller to
check. Text of documents goes into a prompt between marks that it cannot close, see
`graph.prompts.marked`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graph.errors import InputError, ModelError
from graph.model_requests import ModelRequest
from graph.ollama_client import ANSWER_TOKENS, CONTEXT_TOKENS, limited, ollama_chat
from graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

    from graph.model_requests import AnswerForm

__all__ = [
    "CONTEXT_TOKENS",
    "LanguageModel",
    "ModelReply",
    "load_language_model",
]

_CUT = {"length", "max_tokens", "MAX_TOKENS"}
"""What models call the end of an answer that had no room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a model said, or why it is of no use.

    Attributes:
        text: The answer as it came, empty where none did.
        prompt_tokens: Tokens of the prompt as the model counted them.
        completion_tokens: Tokens of the answer.
        error: Why the answer is missing or cut; None where it is whole.
        late: Whether it is cut because the time was over.
        cut: Whether it is cut because it had no more room.
    """

    text: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None
    late: bool = False
    cut: bool = False


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
        schema: AnswerForm = None,
        seconds: float = 60.0,
        seed: int | None = None,
        tokens: int | None = None,
        temperature: float | None = None,
        system: str | None = None,
    ) -> ModelReply:
        """Return the whole answer; a late or broken one is told in `error`.

        Args:
            prompt: What is asked.
            schema: JSON schema that the answer is held to, or `json` for any JSON;
                where the model has no such thing, it is told the schema.
            seconds: Time limit. A model that stops in the middle of an answer may
                take up to twice as long.
            seed: For another answer than the most likely one, where the model (as
                Ollama's) can be told.
            tokens: Tokens that the answer may have, where the model can be told; None
                for the usual 512. An answer gets no more than the prompt leaves.
            temperature: How far the answer may stray, where the model can be told.
            system: What is said to the model before the prompt.

        Raises:
            ModelError: If the model's server is down or refuses.
        """
        request = ModelRequest(
            prompt=prompt,
            system=system,
            schema=schema,
            seed=seed,
            tokens=tokens,
            temperature=temperature,
        )
        if (refusal := self._refusal(request)) is not None:
            return ModelReply(error=refusal)
        whole: BaseMessage | None = None
        try:
            for chunk in self._chunks(request, seconds):
                whole = _joined(whole, chunk)
        except TimeoutError as error:
            return replace(_reply(whole), error=str(error), late=True)
        return _reply(whole)

    async def areply(
        self,
        prompt: str,
        *,
        schema: AnswerForm = None,
        seconds: float = 60.0,
        seed: int | None = None,
        tokens: int | None = None,
        temperature: float | None = None,
        system: str | None = None,
    ) -> ModelReply:
        """Do as `reply` does, without blocking; the time limit is exact."""
        request = ModelRequest(
            prompt=prompt,
            system=system,
            schema=schema,
            seed=seed,
            tokens=tokens,
            temperature=temperature,
        )
        if (refusal := self._refusal(request)) is not None:
            return ModelReply(error=refusal)
        whole: BaseMessage | None = None
        try:
            async for chunk in self._achunks(request, seconds):
                whole = _joined(whole, chunk)
        except TimeoutError as error:
            return replace(_reply(whole), error=str(error), late=True)
        return _reply(whole)

    def stream(
        self,
        prompt: str,
        *,
        schema: AnswerForm = None,
        seconds: float = 60.0,
    ) -> Generator[str]:
        """Yield the answer piece by piece, each as soon as the model gives it.

        Closing the iterator ends the request. Takes the arguments of `reply`.

        Raises:
            ModelError: If the model is down, refuses or takes too long.
            InputError: If the prompt is too long for the model.
        """
        request = ModelRequest(prompt=prompt, schema=schema)
        if (refusal := self._refusal(request)) is not None:
            raise InputError(refusal)
        try:
            for chunk in self._chunks(request, seconds):
                if text := str(chunk.text):
                    yield text
        except TimeoutError as error:
            raise ModelError(str(error)) from error

    async def astream(
        self,
        prompt: str,
        *,
        schema: AnswerForm = None,
        seconds: float = 60.0,
    ) -> AsyncGenerator[str]:
        """Do as `stream` does, without blocking; the time limit is exact."""
        request = ModelRequest(prompt=prompt, schema=schema)
        if (refusal := self._refusal(request)) is not None:
            raise InputError(refusal)
        try:
            async with aclosing(self._achunks(request, seconds)) as chunks:
                async for chunk in chunks:
                    if text := str(chunk.text):
                        yield text
        except TimeoutError as error:
            raise ModelError(str(error)) from error

    def _refusal(self, request: ModelRequest) -> str | None:
        """Say why a prompt is not sent: a model would cut it without a word."""
        tokens = request.prompt_tokens
        if self.prompt_tokens is None or tokens <= self.prompt_tokens:
            return None
        return (
            f"The prompt has about {tokens} tokens, {self.name!r} takes "
            f"{self.prompt_tokens}: give it less text."
        )

    def _chunks(self, request: ModelRequest, seconds: float) -> Generator[BaseMessage]:
        """Yield the answer's chunks until the time is over."""
        messages = request.messages(is_ollama=self._is_ollama)
        options = request.options(is_ollama=self._is_ollama)
        end = time.monotonic() + seconds
        with self._translated(seconds):
            chunks = self._chat.stream(messages, **options)
            chunk = limited(chunks, seconds)
            while chunk is not None:
                yield chunk
                if time.monotonic() > end:
                    raise TimeoutError
                chunk = next(chunks, None)

    async def _achunks(
        self, request: ModelRequest, seconds: float
    ) -> AsyncGenerator[BaseMessage]:
        """Yield the answer's chunks until the time is over."""
        messages = request.messages(is_ollama=self._is_ollama)
        options = request.options(is_ollama=self._is_ollama)
        end = time.monotonic() + seconds
        with self._translated(seconds):
            chunks = self._chat.astream(messages, **options)
            try:
                while True:
                    async with asyncio.timeout(max(0.0, end - time.monotonic())):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return
                    yield chunk
            finally:
                await chunks.aclose()  # type: ignore[attr-defined]

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
        ollama_chat(name, settings.ollama_url),
        name=name,
        prompt_tokens=CONTEXT_TOKENS - ANSWER_TOKENS,
        where=settings.ollama_url,
    )


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
    told = message.response_metadata
    cut = any(told.get(f"{of}_reason") in _CUT for of in ("done", "finish", "stop"))
    usage = getattr(message, "usage_metadata", None) or {}
    return ModelReply(
        text=str(message.text),
        prompt_tokens=usage.get("input_tokens"),
        completion_tokens=usage.get("output_tokens"),
        error="The answer was cut: it had no more room." if cut else None,
        cut=cut,
    )

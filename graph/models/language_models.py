"""Language models: any LangChain chat model behind four calls, by name or as it is.

What a model answers is text that has not been checked. A schema sees to its form where
the model can be held to one; its sense, and numeric ranges, are for the caller to
check. Text of documents goes into a prompt between marks that it cannot close, see
`knowtrail.graph.models.prompts.marked`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Unpack

from knowtrail.graph.blocking import apieces, at_once, each_at_once
from knowtrail.graph.errors import InputError, MissingExtraError, ModelError
from knowtrail.graph.models.faults import is_late, pause_before, reason_of, status_of
from knowtrail.graph.models.ollama_client import (
    ANSWER_TOKENS,
    CONNECT_SECONDS,
    CONTEXT_TOKENS,
    is_absent,
    limited,
    offered_context,
    ollama_chat,
)
from knowtrail.graph.models.providers import address_of, provider_of, without_keys
from knowtrail.graph.models.requests import ModelRequest
from knowtrail.graph.settings import DEFAULT_LANGUAGE_MODEL, Settings
from knowtrail.graph.telemetry import each_within, span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterator

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

    from knowtrail.graph.models.providers import Provider
    from knowtrail.graph.models.requests import AnswerForm, AnswerWishes

_THERE = 3.0
_LOG = logging.getLogger(__name__)
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\s*```\s*", re.DOTALL)
_CUT = {"length", "max_tokens", "MAX_TOKENS"}
"""What models call the end of an answer that had no room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a model said, or why it is of no use.

    `error` tells why the answer is missing or cut: because the time was over (`late`),
    or because it had no more room (`cut`).
    """

    text: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None
    late: bool = False
    cut: bool = False


class LanguageModel:
    """A chat model with time limits and an estimate of what fits its context.

    Calls of several threads may run side by side, as far as the chat model's may. A
    server that is busy is asked again, as often and as late as the time limit allows.

    Attributes:
        name: What results say they were made by.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        *,
        name: str | None = None,
        prompt_tokens: int | None = None,
        where: str = "",
        offered: Callable[[], int] | None = None,
        provider: Provider | None = None,
    ) -> None:
        """Wrap a chat model, which is not asked anything yet.

        `prompt_tokens` is what a prompt may have, None for no limit; `offered` tells
        the tokens of prompt and answer together, asked when they are needed, in its
        place. `where` is the address, for messages.
        """
        self._chat = chat
        self.name = name or _own_name(chat)
        self._context = None if prompt_tokens is None else prompt_tokens + ANSWER_TOKENS
        self._offered = offered
        self._where = where
        self._provider = provider if provider and provider.package else None
        self._is_named = provider is not None
        self._is_ollama = type(chat).__name__ == "ChatOllama"
        self._takes_temperature = True

    @property
    def context_tokens(self) -> int | None:
        """Return tokens of prompt and answer, None for no limit; or `ModelError`."""
        if (offered := self._offered) is not None:
            with self._translated(CONNECT_SECONDS):
                self._context = offered()
            self._offered = None
        return self._context

    @property
    def prompt_tokens(self) -> int | None:
        """Return the tokens that a prompt may have; None for no limit."""
        context = self.context_tokens
        return None if context is None else context - ANSWER_TOKENS

    def room(self, tokens: int) -> tuple[int | None, int]:
        """Return the tokens of the prompt (None for no limit), and of the answer.

        The answer has what it asks for, and no more than half of the context.
        """
        context = self.context_tokens
        if context is None:
            return None, tokens
        answer = min(tokens, context // 2)
        return context - max(answer, ANSWER_TOKENS), answer

    def reply(
        self, prompt: str, *, seconds: float = 60.0, **wishes: Unpack[AnswerWishes]
    ) -> ModelReply:
        """Return the whole answer; a late or broken one is told in `error`.

        A model that stops in the middle of an answer may take up to twice its time.

        Raises:
            ModelError: If the model's server is down or refuses.
        """
        request = self._request(prompt=prompt, **wishes)
        return at_once(self._whole(request, apieces(self._chunks, request, seconds)))

    async def areply(
        self, prompt: str, *, seconds: float = 60.0, **wishes: Unpack[AnswerWishes]
    ) -> ModelReply:
        """Do as `reply` does, without blocking; the time limit is exact."""
        request = self._request(prompt=prompt, **wishes)
        return await self._whole(request, self._achunks(request, seconds))

    async def _whole(
        self, request: ModelRequest, chunks: AsyncGenerator[BaseMessage]
    ) -> ModelReply:
        """Return chunks as a reply, with what ended them too early."""
        whole: BaseMessage | None = None
        told: dict[str, Any] = {}
        try:
            with span("model", model=self.name):
                async for chunk in chunks:
                    whole = chunk if whole is None else whole + chunk  # type: ignore[assignment]
        except (InputError, TimeoutError) as error:
            told = {"error": str(error), "late": isinstance(error, TimeoutError)}
        reply = _reply(whole)
        # A model named as no Ollama's is only told the schema, and fences the JSON.
        fenced = _FENCED.fullmatch(reply.text)
        if fenced and request.schema is not None and self._is_named:
            told["text"] = fenced[1]
        return replace(reply, **told)

    def stream(
        self, prompt: str, *, schema: AnswerForm = None, seconds: float = 60.0
    ) -> Generator[str]:
        """Yield the answer piece by piece, each as soon as the model gives it.

        Closing the iterator ends the request. Takes the arguments of `reply`.

        Raises:
            ModelError: If the model is down, refuses or takes too long.
            InputError: If the prompt is too long for the model.
        """
        request = self._request(prompt=prompt, schema=schema)
        return each_at_once(self._texts(apieces(self._chunks, request, seconds)))

    def astream(
        self, prompt: str, *, schema: AnswerForm = None, seconds: float = 60.0
    ) -> AsyncGenerator[str]:
        """Do as `stream` does, without blocking; the time limit is exact."""
        request = self._request(prompt=prompt, schema=schema)
        return self._texts(self._achunks(request, seconds))

    async def _texts(self, chunks: AsyncGenerator[BaseMessage]) -> AsyncGenerator[str]:
        pieces = each_within(span("model", model=self.name), chunks)
        try:
            async with aclosing(pieces):
                async for chunk in pieces:
                    if text := str(chunk.text):
                        yield text
        except TimeoutError as error:
            raise ModelError(str(error)) from error

    def _request(self, **given: Any) -> ModelRequest:
        context = self.context_tokens if self._is_ollama else None
        return ModelRequest(**given, context=context or CONTEXT_TOKENS)

    def _messages(self, request: ModelRequest) -> str | list[tuple[str, str]]:
        """Return what is sent; what is too long a model would cut without a word."""
        tokens = request.prompt_tokens
        if self.prompt_tokens is not None and tokens > self.prompt_tokens:
            raise InputError(
                f"The prompt has about {tokens} tokens, {self.name!r} takes "
                f"{self.prompt_tokens}: give it less text."
            )
        return request.messages(is_ollama=self._is_ollama)

    def _chunks(self, request: ModelRequest, seconds: float) -> Generator[BaseMessage]:
        messages = self._messages(request)
        end = time.monotonic() + seconds
        with self._translated(seconds):
            for attempt in count(1):
                left = max(0.0, end - time.monotonic())
                chunks = self._chat.stream(messages, **self._options(request, left))
                try:
                    chunk = limited(chunks, left)
                    break
                except Exception as error:
                    time.sleep(self._pause(error, attempt, end))
            while chunk is not None:
                yield chunk
                if time.monotonic() > end:
                    raise TimeoutError
                chunk = next(chunks, None)

    async def _achunks(
        self, request: ModelRequest, seconds: float
    ) -> AsyncGenerator[BaseMessage]:
        messages = self._messages(request)
        end = time.monotonic() + seconds
        with self._translated(seconds):
            for attempt in count(1):
                left = max(0.0, end - time.monotonic())
                chunks = self._chat.astream(messages, **self._options(request, left))
                try:
                    async with asyncio.timeout(left):
                        chunk = await anext(chunks, None)
                    break
                except Exception as error:
                    await asyncio.sleep(self._pause(error, attempt, end))
            async with aclosing(chunks):  # type: ignore[type-var]
                while chunk is not None:
                    yield chunk
                    async with asyncio.timeout(max(0.0, end - time.monotonic())):
                        chunk = await anext(chunks, None)

    def _options(self, request: ModelRequest, seconds: float) -> dict[str, Any]:
        """Return the options of a call; a foreign model is asked as it was made."""
        if self._provider is None:
            return request.options(is_ollama=self._is_ollama)
        options = request.provider_options(seconds)
        if not self._takes_temperature:
            options.pop("temperature")
        return options

    def _pause(self, error: Exception, attempt: int, end: float) -> float:
        """Return after how many seconds to ask again; raise what asking cannot mend."""
        refused = status_of(error) == 400 and "temperature" in str(error)
        if refused and self._provider is not None and self._takes_temperature:
            # As models that reason do.
            _LOG.info("%s is asked at its own temperature.", self.name)
            self._takes_temperature = False
            return 0.0
        pause = pause_before(attempt, error, end - time.monotonic())
        if pause is None:
            raise error
        _LOG.info("%s is busy: asked again in %g s.", self.name, pause)
        return pause

    @contextmanager
    def _translated(self, seconds: float) -> Iterator[None]:
        """Turn what clients raise into a `TimeoutError` or a `ModelError`."""
        what = f"the language model {self.name!r}"
        what += f" at {self._where}" if self._where else ""
        try:
            yield
        except Exception as error:  # clients of models raise what they like
            if is_late(error):
                msg = f"No answer from {what} in {seconds:g} seconds: "
                raise TimeoutError(msg + "use a smaller model.") from error
            raise ModelError(self._told(what, error)) from error

    def _told(self, what: str, error: Exception) -> str:
        import httpx

        if self._provider is not None:
            address = self.name.rpartition("@")[2] if "@http" in self.name else ""
            return _told_by(self._provider, address, what, error)
        if not self._is_ollama:
            return f"An error from {what}: {_line(str(error))}."
        from ollama import ResponseError

        if isinstance(error, ConnectionError | httpx.TransportError):
            return _not_started(what, self.name)
        if isinstance(error, ResponseError) and error.status_code == 404:
            return _not_pulled(self._where, self.name)
        reason = error.error if isinstance(error, ResponseError) else error
        return f"An error from {what}: {_line(str(reason))}. Look at Ollama's log."


def load_language_model(
    name: str | None = None,
    *,
    settings: Settings | None = None,
    context: int | None = None,
) -> LanguageModel:
    """Return a model, which is asked nothing yet.

    It is named as Ollama calls it, `PROVIDER:MODEL`, such as `openai:gpt-4.1`, or
    `langchain:CLASS:MODEL`. `context` is the most tokens of prompt and answer together,
    where the model offers as many; None for the usual 4,096.

    Raises:
        InputError: If the name means nothing, or the provider's models can only judge.
        MissingExtraError: If the extra `llm`, or that of the provider, is missing.
        SettingsError: If the environment has no key for the provider.
    """
    settings = settings or Settings.from_env()
    provider, model = provider_of(settings.language_model if name is None else name)
    if provider is not None:
        if not provider.is_streamed:
            raise InputError(
                f"{provider.name}:{model} judges pairs (eval zelo) and nothing else: "
                "name a model of Ollama's, openai:MODEL or anthropic:MODEL."
            )
        named = f"{provider.name}:{model}"
        return LanguageModel(provider.chat(model), name=named, provider=provider)
    return LanguageModel(
        ollama_chat(model, settings.ollama_url),
        name=model,
        prompt_tokens=CONTEXT_TOKENS - ANSWER_TOKENS,
        where=settings.ollama_url,
        offered=None
        if context is None
        else partial(offered_context, model, settings.ollama_url, context),
    )


def check_there(name: str, settings: Settings) -> None:
    """Refuse a model that is not there, in a second, before anything is loaded for it.

    Ollama is asked for the model; of another server only whether it answers at all.
    """
    import httpx

    provider, model = provider_of(name)
    try:
        if provider is None:
            show = f"{settings.ollama_url.rstrip('/')}/api/show"
            if httpx.post(show, json={"model": model}, timeout=_THERE).is_client_error:
                raise ModelError(_not_pulled(settings.ollama_url, model))
        elif address := address_of(name):
            httpx.head(address, timeout=_THERE)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        what = f"the language model {name!r}"
        if provider is not None:
            raise ModelError(_told_by(provider, address or "", what, error)) from error
        what += f" at {settings.ollama_url}"
        raise ModelError(_not_started(what, model)) from error
    except httpx.HTTPError as error:
        _LOG.debug("%s: %s", name, error)


def model_at_hand(settings: Settings | None = None) -> LanguageModel | None:
    """Return the model of the settings; None where none is named and none is there."""
    settings = settings or Settings.from_env()
    if settings.language_model != DEFAULT_LANGUAGE_MODEL:
        return load_language_model(settings=settings)
    if is_absent(settings.ollama_url):
        return None
    try:
        model = load_language_model(settings=settings, context=CONTEXT_TOKENS)
        return model if model.context_tokens else None
    except (MissingExtraError, ModelError):
        return None


def _not_started(what: str, model: str) -> str:
    told = f"No answer from {what}: start it with `ollama serve` and"
    return f"{told} `ollama pull {model}`."


def _not_pulled(where: str | None, model: str) -> str:
    return f"Ollama at {where} has no model {model!r}: run `ollama pull {model}`."


def _told_by(provider: Provider, address: str, what: str, error: Exception) -> str:
    """Return one line about an error of a provider's server, with what to do."""
    status, said = status_of(error), _line(reason_of(error))
    keys = " or ".join(provider.keys)
    address = address or " or ".join(provider.addresses[:1])
    told = {
        None: f"No answer from {what} ({said}): look at the network and at {address}.",
        401: f"{what} refuses the key ({said}): look at {keys}.",
        403: f"{what} refuses the key ({said}): look at {keys}.",
        404: f"{what} is not there ({said}): look at its name and at {address}.",
        429: f"{what} takes no more requests ({said}): wait, or look at your account.",
    }.get(status, f"An error from {what} ({status}): {said}.")
    return told[0].upper() + told[1:]


def _line(text: str) -> str:
    """Return a text on one line, without keys and without its last full stop."""
    return " ".join(without_keys(text).split())[:300].rstrip(".")


def _own_name(chat: BaseChatModel) -> str:
    names = [getattr(chat, attribute, None) for attribute in ("model", "model_name")]
    return next((n for n in names if isinstance(n, str) and n), type(chat).__name__)


def _reply(message: BaseMessage | None) -> ModelReply:
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

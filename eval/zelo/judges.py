"""Judges: language models, rerankers and functions; by name those of a configuration.

    load_judges(["bm25", "embedding", "ollama:qwen2.5:7b", "openai"])

A reranker scores all candidates of a query once; its judgement on two is the difference
of their scores, squashed into [-1, 1] by tanh. Which one it prefers is certain; by how
much depends on the scale, which is why a fit by votes (the default) looks at the sign
alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import threading
import time
import tomllib
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from knowtrail.eval.models import TEXTS, parse_json_reply
from knowtrail.eval.zelo.judgements import Answer, Judge, Matchup, Price, usable_score
from knowtrail.graph.errors import InputError, KnowtrailError, ModelError, SettingsError
from knowtrail.graph.files import disk_errors
from knowtrail.graph.models.faults import fault_of, retry_after
from knowtrail.graph.models.language_models import (
    LanguageModel,
    ModelReply,
    load_language_model,
)
from knowtrail.graph.models.prompts import (
    estimated_tokens,
    fitting,
    marked,
    whole_characters,
)
from knowtrail.graph.models.providers import PROVIDERS, without_keys
from knowtrail.graph.models.requests import object_form
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.rerank.base import RERANKERS, BaseReranker, load_reranker
from knowtrail.retrieval.rerank.order import achecked_scores, reranker_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from langchain_core.language_models import BaseChatModel

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.retrieval.rerank.datasets import Document, Query


class Pace:
    """Spaces requests evenly, so that neither they nor their tokens are too many."""

    def __init__(
        self,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._next = 0.0

    async def turn(self, tokens: int) -> None:
        """Wait until a request with so many tokens may be sent."""
        now = time.monotonic()
        begin = max(now, self._next)
        self._next = begin + self.seconds(tokens)
        if begin > now:
            await asyncio.sleep(begin - now)

    def seconds(self, tokens: float) -> float:
        """Return for how long a request with so many tokens takes the allowance."""
        return max(self._request, self._token * tokens)

    def pause(self, seconds: float) -> None:
        """Let no further request begin for a while."""
        self._next = max(self._next, time.monotonic() + seconds)


_TOLD = TEXTS["zelo"]
SCHEMA: dict[str, Any] = {
    **_TOLD["schema"],
    **object_form(**_TOLD["properties"]),
    "additionalProperties": False,
}
_TEMPLATE: str = _TOLD["template"]
REMINDER: str = _TOLD["reminder"]
PROMPT_VERSION = hashlib.blake2b(
    (_TEMPLATE + json.dumps(SCHEMA)).encode(), digest_size=6
).hexdigest()
"""Changes with the prompt, so that answers to another one are not reused."""

_OVERHEAD = 150
_LONGEST_REASONING = 20_000


def judge_prompt(matchup: Matchup, prompt_tokens: int) -> tuple[str, bool]:
    """Return the prompt about two documents, and whether one was shortened."""
    room = max(200, prompt_tokens - estimated_tokens(_TEMPLATE) - _OVERHEAD)
    query = fitting(matchup.query.query, room // 4)
    first, second = _text(matchup.left), _text(matchup.right)
    left = room - estimated_tokens(query)
    one, two = estimated_tokens(first), estimated_tokens(second)
    half = left // 2
    share_one = max(half, left - two)
    share_two = max(half, left - min(one, share_one))
    short = (fitting(first, share_one), fitting(second, share_two))
    names = ("query", "document-a", "document-b")
    marks, texts = zip(*map(marked, names, (query, *short)), strict=True)
    prompt = _TEMPLATE.format(
        query=marks[0], first=marks[1], second=marks[2], texts="\n\n".join(texts)
    )
    cut = short != (first, second) or query != matchup.query.query
    return whole_characters(prompt), cut


def _text(document: Document) -> str:
    if not document.metadata:
        return document.content
    known = json.dumps(document.metadata, ensure_ascii=False, default=str)
    return f"Metadata: {known}\nContent: {document.content}"


def read_answer(value: object) -> tuple[float | None, str, str | None]:
    """Return score, reasoning and error of an answer."""
    if isinstance(value, str):
        with suppress(InputError):
            value = parse_json_reply(value)
    if not isinstance(value, dict):
        return None, "", f"The answer is no JSON object: {str(value)[:100]!r}."
    reasoning = value.get("reasoning")
    said = whole_characters(reasoning) if isinstance(reasoning, str) else ""
    score, error = usable_score(value.get("score"))
    return score, said[:_LONGEST_REASONING], error


_LOG = logging.getLogger(__name__)

GIVEN_UP_AFTER = 10
"""Judgements in a row without an answer after which a judge is given up."""

NEVER_THERE = 3
"""The same for one that never answered."""
_ANSWERS = 2


@dataclass(kw_only=True, eq=False, repr=False)
class ChatJudge:
    """A chat model that is shown two documents and answers with a score.

    Where no answer came (too many requests, a failure of the server, no connection, a
    time limit), it is asked again after a pause that doubles. An answer without a score
    in [-1, 1] is asked for once more; then the judgement has failed. A refused key or
    an unknown model is an error, and so is a model that does not answer ten times in a
    row, or three times at the beginning. Its client does not try again by itself.

    Attributes:
        fingerprint: Tells its answers from those of another model, by default by the
            name; prompt and its length are added.
        prompt_tokens: Documents are shortened so that the prompt has no more.
        structured: Further arguments of the model's `with_structured_output`.
        schema: The form of an answer in the provider's dialect.
        advice: What to do where it cannot be asked.
    """

    model: BaseChatModel | LanguageModel = field(kw_only=False)
    name: str
    fingerprint: str = ""
    concurrency: int = 4
    pace: Pace = field(default_factory=Pace)
    prompt_tokens: int = 16_000
    answer_tokens: int = 300
    seconds: float = 60.0
    tries: int = 4
    pause: float = 0.5
    price: Price | None = None
    structured: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] = field(default_factory=lambda: SCHEMA)
    advice: str = "Look at its name, its key and its provider's status."

    def __post_init__(self) -> None:
        limit = isinstance(self.model, LanguageModel) and self.model.prompt_tokens
        if limit:
            self.prompt_tokens = min(self.prompt_tokens, limit - _REMINDED)
        known = f"{self.fingerprint or self.name}:{self.prompt_tokens}"
        self.fingerprint = f"{known}:{PROMPT_VERSION}"
        self._silent, self._patience = 0, NEVER_THERE

    def expected(self, matchup: Matchup) -> tuple[int, int]:
        """Return the tokens of a prompt, on the safe side, and of an answer."""
        prompt, _ = judge_prompt(matchup, self.prompt_tokens)
        return estimated_tokens(prompt), self.answer_tokens

    async def judge(self, matchup: Matchup) -> Answer:
        """Ask the model about two documents, in this order."""
        prompt, shortened = judge_prompt(matchup, self.prompt_tokens)
        asked, answer = prompt, Answer(shortened=shortened)
        for _ in range(_ANSWERS):
            reply = await self._replied(asked)
            sent, received = answer.prompt_tokens, answer.completion_tokens
            if isinstance(reply, str):
                return replace(answer, reasoning="", error=reply, came=sent > 0)
            score, reasoning, error = read_answer(reply.text)
            answer = replace(
                answer,
                score=score,
                reasoning=reasoning,
                error=error,
                prompt_tokens=sent + (reply.prompt_tokens or estimated_tokens(asked)),
                completion_tokens=received
                + (reply.completion_tokens or estimated_tokens(reply.text)),
            )
            if score is not None:
                break
            asked = prompt + REMINDER.format(why=error)
        return answer

    async def _replied(self, prompt: str) -> ModelReply | str:
        tokens = estimated_tokens(prompt) + self.answer_tokens
        error: Exception
        for attempt in range(self.tries):
            await self.pace.turn(tokens)
            try:
                async with asyncio.timeout(self.seconds):
                    reply = await self._asked(prompt)
            except Exception as raised:  # clients of models raise what they like
                error = raised
            else:
                self._silent, self._patience = 0, GIVEN_UP_AFTER
                return reply
            fault = fault_of(error)
            if fault == "fatal":
                raise ModelError(self._told(error)) from error
            if fault == "refused":
                break
            _LOG.info("No answer of %s, attempt %d: %s", self.name, attempt + 1, error)
            if attempt + 1 < self.tries:
                self.pace.pause(retry_after(error) or 0.0)
                await asyncio.sleep(self.pause * 2**attempt)
        self._silent += 1
        if self._silent >= self._patience:
            often = f"It did not answer {self._silent} times in a row."
            raise ModelError(f"{self._told(error)} {often}") from error
        return f"{type(error).__name__}: {_line(error)}"

    async def _asked(self, prompt: str) -> ModelReply:
        if isinstance(self.model, LanguageModel):
            reply = await self.model.areply(prompt, schema=SCHEMA, seconds=self.seconds)
            if reply.late:
                raise TimeoutError(reply.error)
            return reply
        return await _in_thread(lambda: self._invoked(prompt))

    def _invoked(self, prompt: str) -> ModelReply:
        """Ask a LangChain chat model, for an object where it can be held to one."""
        chat = self.model
        try:
            runnable = chat.with_structured_output(  # type: ignore[union-attr]
                dict(self.schema), include_raw=True, **self.structured
            )
        except NotImplementedError:
            return _reply(chat.invoke(prompt))  # type: ignore[union-attr]
        found: Any = runnable.invoke(prompt)
        reply, parsed = _reply(found.get("raw")), found.get("parsed")
        return replace(reply, text=json.dumps(parsed)) if parsed else reply

    def _told(self, error: Exception) -> str:
        said = f"Judge {self.name!r} cannot be asked: {_line(error)}. {self.advice}"
        return f"{said.rstrip()} What was answered is kept."


_REMINDED = estimated_tokens(REMINDER) + 100


async def _in_thread(call: Callable[[], ModelReply]) -> ModelReply:
    """Make a call in a thread of its own, which the end of the program leaves."""
    # Clients keep connections of the loop that they were first used in, and some cannot
    # be awaited at all; in threads, each works in any loop.
    done: Future[ModelReply] = Future()
    done.set_running_or_notify_cancel()

    def work() -> None:
        try:
            done.set_result(call())
        except Exception as error:  # clients of models raise what they like
            done.set_exception(error)

    threading.Thread(target=work, name="knowtrail-judge", daemon=True).start()
    return await asyncio.wrap_future(done)


def _reply(message: Any) -> ModelReply:
    usage = getattr(message, "usage_metadata", None) or {}
    return ModelReply(
        text=str(getattr(message, "text", "")),
        prompt_tokens=usage.get("input_tokens"),
        completion_tokens=usage.get("output_tokens"),
    )


def _line(error: Exception) -> str:
    said = " ".join(without_keys(str(error)).split())
    return said[:300].rstrip(".") or type(error).__name__


SCALES = {"embedding": 0.1, "bm25": 2.0, "cross-encoder": 2.0}
"""Difference of scores that counts as clear (tanh 1 = 0.76), by kind of reranker."""

_REMEMBERED = 64
_FREE = Price()


def squashed(difference: float, scale: float) -> float:
    """Return a difference of scores in [-1, 1]; equal scores give 0."""
    return math.tanh(difference / scale)


@dataclass(eq=False)
class FunctionJudge:
    """A function that says which of two documents answers a query better.

    It takes the query and two documents, and returns a score in [-1, 1], below 0 for
    the first one; None is a failure, and so is an exception. It is called in the loop.
    """

    name: str
    function: Callable[[Query, Document, Document], float | None]
    fingerprint: str = field(default="", kw_only=True)
    concurrency: int = field(default=1, init=False)
    price: Price | None = field(default_factory=Price, init=False)

    def __post_init__(self) -> None:
        self.fingerprint = self.fingerprint or f"function:{self.name}"

    async def judge(self, matchup: Matchup) -> Answer:
        """Ask the function; where it raises, the judgement fails, to be made again."""
        try:
            score = self.function(matchup.query, matchup.left, matchup.right)
            return Answer(score=None if score is None else float(score))
        except KnowtrailError:
            raise
        except Exception as error:  # functions are anybody's, and one pair is one pair
            return Answer(error=f"{type(error).__name__}: {error}", came=False)

    def expected(self, matchup: Matchup) -> tuple[int, int]:
        """Return no tokens."""
        return 0, 0


class RerankerJudge:
    """A reranker as a judge; the candidates of a query are scored once together."""

    def __init__(
        self,
        reranker: BaseReranker,
        *,
        name: str | None = None,
        price: Price | None = _FREE,
    ) -> None:
        self.name = name or reranker_name(reranker)
        self._scale = SCALES.get(reranker_name(reranker).partition(":")[0], 1.0)
        self.fingerprint = f"reranker:{reranker.fingerprint}:{self._scale:g}"
        self.concurrency = 256
        self.price = price
        self._reranker = reranker
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scoring = asyncio.Semaphore()
        self._known: dict[tuple[str, ...], asyncio.Task[dict[str, float]]] = {}

    async def judge(self, matchup: Matchup) -> Answer:
        """Compare the scores of two documents."""
        scores = await self._scores(matchup)
        left, right = scores[matchup.left.id], scores[matchup.right.id]
        return Answer(
            score=squashed(right - left, self._scale),
            reasoning=f"{self.name} scores A {left:.4g} and B {right:.4g}.",
        )

    def expected(self, matchup: Matchup) -> tuple[int, int]:
        """Return no tokens."""
        return 0, 0

    async def _scores(self, matchup: Matchup) -> dict[str, float]:
        if self._loop is not asyncio.get_running_loop():
            self._loop = asyncio.get_running_loop()
            self._scoring = asyncio.Semaphore(max(1, self._reranker.concurrency))
            self._known.clear()
        texts = (text for d in _candidates(matchup) for text in (d.id, d.content))
        key = (matchup.query.query, *texts)
        if key not in self._known:
            while len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = asyncio.ensure_future(self._scored(matchup))
        return await asyncio.shield(self._known[key])

    async def _scored(self, matchup: Matchup) -> dict[str, float]:
        documents = _candidates(matchup)
        async with self._scoring:
            scores = await achecked_scores(
                self._reranker,
                matchup.query.query,
                [document.content for document in documents],
            )
        return {d.id: s for d, s in zip(documents, scores, strict=True)}


def _candidates(matchup: Matchup) -> tuple[Document, ...]:
    return matchup.candidates or (matchup.left, matchup.right)


KINDS = (*PROVIDERS, "ollama", "reranker")
"""Providers of judges."""

_Name = Annotated[str, Field(pattern=r"^[\w.:/-]{1,80}$")]


class _Checked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Above = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Text = Annotated[str, Field(pattern=r"\S")]


class JudgeSettings(_Checked):
    """One judge of the configuration; documents are shortened to `prompt_tokens`."""

    provider: str = Field(pattern=f"^({'|'.join(KINDS)})$")
    model: _Text
    temperature: _Amount | None = None
    concurrency: PositiveInt = 4
    requests_per_minute: _Above | None = None
    tokens_per_minute: _Above | None = None
    prompt_tokens: PositiveInt = 16_000
    answer_tokens: PositiveInt = 300
    seconds: _Above = 60.0
    tries: PositiveInt = 4
    base_url: _Text | None = None


class _PriceSettings(_Checked):
    prompt: _Amount
    completion: _Amount


class JudgeFile(_Checked):
    """A configuration of judges; those of `default` are asked where none is named."""

    default: list[str] | None = None
    judges: dict[_Name, JudgeSettings] = {}
    prices: dict[str, _PriceSettings] = {}

    def of_provider(self, provider: str, model: str) -> JudgeSettings:
        """Return settings of a model without a name, like another's of its provider."""
        for settings in self.judges.values():
            if settings.provider == provider:
                return settings.model_copy(update={"model": model})
        return JudgeSettings(provider=provider, model=model)

    def price(self, settings: JudgeSettings) -> Price | None:
        """Return the price of a judge, None where it is not known."""
        if settings.provider == "ollama":
            return Price()
        price = self.prices.get(settings.model)
        return None if price is None else Price(**price.model_dump())


def bundled_text() -> str:
    """Return the configuration that is used where none is named."""
    file = resources.files("knowtrail.eval.zelo").joinpath("judges.toml")
    return file.read_text("utf-8")


def read_judge_file(path: Path | None = None) -> JudgeFile:
    """Read a configuration of judges, the bundled one where none is named."""
    where = "the bundled judges" if path is None else str(path)
    try:
        with disk_errors(
            SettingsError, "{where} cannot be read: {reason}.", where=where
        ):
            text = bundled_text() if path is None else path.read_text("utf-8-sig")
        found = JudgeFile.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{where} is not TOML: {error}.") from error
    except ValidationError as error:
        raise SettingsError(f"{where}: {_first_line(error)}") from error
    default = list(found.judges) if found.default is None else found.default
    if not found.judges.keys() >= set(default):
        msg = f"{where}: default is {default!r}: name judges of the file."
        raise SettingsError(msg)
    return found.model_copy(update={"default": default})


def _first_line(error: ValidationError) -> str:
    """Return what is wrong first with a configuration, and what to write."""
    first = error.errors(include_url=False)[0]
    *_, key = place = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r} at {'.'.join(place)}: see eval zelo judges."
    value = None if first["type"] == "missing" else first["input"]
    return f"{'.'.join(place)} is {repr(value)[:80]}: {first['msg']}."


_ASKED = {"concurrency", "prompt_tokens", "answer_tokens", "seconds", "tries"}
"""Settings of a judge that a chat model takes as they are."""
_STRUCTURED: dict[str, dict[str, Any]] = {
    "openai": {"method": "json_schema", "strict": True},
    "google": {"method": "json_schema"},
}
_DIALECTS: dict[str, dict[str, Any]] = {
    # Its client sends properties in any order, and it answers in the order they have.
    "google": {**SCHEMA, "propertyOrdering": list(SCHEMA["properties"])}
}
_OFFLINE = "--judge bm25 --judge embedding"


def load_judges(
    names: Sequence[str] = (),
    *,
    file: Path | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
) -> tuple[Judge, ...]:
    """Return judges by name; none is asked anything yet.

    Args:
        names: Names of the configuration, `PROVIDER:MODEL` such as
            `ollama:qwen2.5:7b`, or rerankers such as `bm25`, `embedding` and
            `cross-encoder:MODEL`; none takes the default of the configuration.
        file: A configuration; None takes the bundled one.
        settings: Where Ollama and embedders are found; None takes the environment's.
        embedder: The model of `embedding`; None loads that of the settings.
    """
    known = read_judge_file(file)
    settings = settings or Settings.from_env()
    return tuple(
        _judge(name, known, settings, embedder) for name in names or known.default or ()
    )


def _judge(
    name: str, known: JudgeFile, settings: Settings, embedder: Embedder | None
) -> Judge:
    if name in known.judges:
        chosen = known.judges[name]
    else:
        provider, _, model = name.partition(":")
        if provider in KINDS and model:
            chosen = known.of_provider(provider, model)
        elif provider in RERANKERS:
            chosen = known.of_provider("reranker", name)
        else:
            raise InputError(
                f"Unknown judge {name[:80]!r}: name one of {', '.join(known.judges)}, "
                "bm25, embedding or cross-encoder:MODEL, or write PROVIDER:MODEL, "
                "such as ollama:qwen2.5:7b."
            )
    if chosen.provider == "reranker":
        reranker = load_reranker(chosen.model, settings=settings, embedder=embedder)
        paid = chosen.model.startswith("zeroentropy")
        return RerankerJudge(reranker, name=name, price=None if paid else Price())
    return _chat(name, chosen, known.price(chosen), settings)


def _chat(
    name: str, chosen: JudgeSettings, price: Price | None, settings: Settings
) -> Judge:
    if chosen.provider in {"ollama", "langchain"}:
        named = f"{chosen.provider}:{chosen.model}"
        model: Any = load_language_model(named, settings=settings)
        advice = ""  # its errors say what to do
    else:
        provider = PROVIDERS[chosen.provider]
        model = provider.chat(
            chosen.model,
            temperature=chosen.temperature,
            seconds=chosen.seconds,
            base_url=chosen.base_url,
            otherwise=f", or judge offline with {_OFFLINE}",
        )
        keys = " or ".join(provider.keys)
        advice = f"Look at its model, {chosen.model!r}, and at {keys}."
    return ChatJudge(
        model,
        name=name,
        fingerprint=f"{chosen.provider}:{chosen.model}:{chosen.temperature}",
        pace=Pace(
            requests_per_minute=chosen.requests_per_minute,
            tokens_per_minute=chosen.tokens_per_minute,
        ),
        price=price,
        structured=_STRUCTURED.get(chosen.provider, {}),
        schema=_DIALECTS.get(chosen.provider, SCHEMA),
        advice=advice,
        **chosen.model_dump(include=_ASKED),
    )

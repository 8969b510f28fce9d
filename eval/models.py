"""Language models as evaluations ask them: patiently, for an object, each thing once.

What a model said is on the disk before its result is used, so that an interrupted run,
a crash or a full disk costs at most the call under way. JSON is read leniently, then
held to a schema strictly, and asked for once more after a bad answer.
"""

from __future__ import annotations

import json
import logging
import re
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tenacity import (
    Retrying,
    before_sleep_log,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
)

from knowtrail.graph.errors import InputError, ModelError, check_ranges
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.models.faults import BUSY, status_of
from knowtrail.graph.models.language_models import (
    LanguageModel,
    ModelReply,
    load_language_model,
)
from knowtrail.graph.models.ollama_client import MOST_CONTEXT
from knowtrail.graph.models.prompts import estimated_tokens, fitting, whole_characters
from knowtrail.graph.models.requests import total_counted
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.language_models import BaseChatModel

    from knowtrail.graph.files.journal import State
    from knowtrail.graph.models.requests import AnswerForm
    from knowtrail.graph.settings import Settings

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
ModelLike: TypeAlias = "str | BaseChatModel | LanguageModel"
"""A model by its name, or any chat model of LangChain."""

TEXTS = packaged("knowtrail.eval", "texts.toml")
"""Part of the evaluations -> what models are told there, and people beside it."""
DEFAULT_MODEL = "qwen2.5:7b"
TRIES = 3
BASE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How models are asked; the defaults are those of the published benchmark.

    At temperature 0 an answer is the same every time. `tokens` are the most of an
    answer, `seconds` its time limit, `context` the most tokens of prompt and answer
    together.
    """

    temperature: float = 0.0
    tokens: int = 4_096
    seconds: float = 120.0
    context: int = MOST_CONTEXT

    def __post_init__(self) -> None:
        check_ranges(
            temperature=(self.temperature, 0, 2),
            tokens=(self.tokens, 16, 1_000_000),
            context=(self.context, 2_048, 100_000_000),
            seconds=(self.seconds, 0.001, 86_400),
        )


def as_model(
    model: ModelLike, *, settings: Settings | None = None, context: int = MOST_CONTEXT
) -> LanguageModel:
    """Return a model that can be asked; it is asked nothing yet."""
    if isinstance(model, LanguageModel):
        return model
    if isinstance(model, str):
        return load_language_model(model, settings=settings, context=context)
    if not hasattr(model, "stream"):
        msg = f"A {type(model).__name__} is no model: give a name or a chat model."
        raise InputError(msg)
    return LanguageModel(model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Respondent:
    """A model with the way in which it is asked.

    Attributes:
        digest: What Ollama calls the model's content, as a tag may be pulled anew.
        take: Another number asks again for what was answered; where the model can be
            told (as Ollama's), it is told to answer otherwise.
        state: What it said before: it is asked each thing once, and whatever it says is
            kept, paid as it is. A late answer, or none at all, is not kept: it is asked
            for again in the next run. None asks anew each time.
    """

    model: LanguageModel
    options: ModelOptions = ModelOptions()
    digest: str | None = None
    take: int = 0
    state: State | None = None

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self.model.name

    @property
    def key(self) -> str:
        """Return a key of the model and of what changes its answers."""
        options = self.options
        content = () if self.digest is None else (self.digest,)
        return content_key(
            *("respondent", self.name, f"{options.temperature:g}"),
            *(options.tokens, options.context, *content),
        )

    def reply(self, system: str, prompt: str, *, schema: AnswerForm) -> ModelReply:
        """Return an answer, asked for `patiently`, or what the state has."""
        key = content_key("reply", self.key, system, prompt, repr(schema), self.take)
        if self.state is not None and (known := self.state.get(key)) is not None:
            return ModelReply(**known)
        options, take = self.options, self.take
        reply = patiently(
            lambda: self.model.reply(
                prompt,
                system=system or None,
                schema=schema,
                seconds=options.seconds,
                tokens=options.tokens,
                temperature=None if take else options.temperature,
                seed=take or None,
            )
        )
        if self.state is not None and reply.text and not reply.late:
            self.state.put(key, asdict(reply), model=self.name)
        return reply


def respondent(
    model: ModelLike,
    *,
    options: ModelOptions,
    settings: Settings | None = None,
    state: State | None = None,
) -> Respondent:
    """Return who answers, by a model's name or the model; it is asked nothing yet."""
    asked = as_model(model, settings=settings, context=options.context)
    return Respondent(model=asked, options=options, state=state)


def patiently(
    call: Callable[[], T], *, sleep: Callable[[float], None] | None = None
) -> T:
    """Call a model; where no answer comes wait 2 s, then 4 s; raise a refusal."""
    return Retrying(
        retry=retry_if_exception(_may_pass),
        stop=stop_after_attempt(TRIES),
        wait=wait_exponential(multiplier=BASE_SECONDS),
        sleep=sleep or time.sleep,
        before_sleep=before_sleep_log(_LOG, logging.WARNING),
        reraise=True,
    )(call)


def _may_pass(error: BaseException) -> bool:
    """Return whether a model's server is away, or too busy, and may come back."""
    if not isinstance(error, ModelError):
        return False
    status = status_of(error)
    return status is None or status >= 500 or status in BUSY


def call_llm(
    system: str,
    user_message: str,
    model: ModelLike = DEFAULT_MODEL,
    json_mode: bool = False,
) -> str:
    """Return what a model, by name or any LangChain chat model, says to a message."""
    asked = Respondent(model=as_model(model))
    reply = asked.reply(system, user_message, schema="json" if json_mode else None)
    if not reply.text and reply.error:
        raise ModelError(reply.error)
    return reply.text.strip()


_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL | re.IGNORECASE)


def parse_json_reply(raw: str) -> Any:
    """Return the JSON value that a model's answer holds."""
    text = whole_characters(raw).strip()
    fenced = _FENCE.search(text)
    first, last = text.find("{"), text.rfind("}")
    tried = [text]
    tried += [fenced[1].strip()] if fenced else []
    tried += [text[first : last + 1]] if 0 <= first < last else []
    for candidate in tried:
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    msg = f"The answer is not JSON: {text[:80]!r}. Answer with one JSON object."
    raise InputError(msg)


def checked_reply(raw: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object in a model's answer, exactly of the form of a JSON schema.

    NaN and infinities are no numbers. The error says where it does not fit, for the
    model.
    """
    from jsonschema import Draft202012Validator

    value = parse_json_reply(raw)
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as problem:
        msg = "the answer: NaN and infinities are no numbers; write one from 0 to 1."
        raise InputError(msg) from problem
    found = Draft202012Validator(schema).iter_errors(value)
    if (error := min(found, key=str, default=None)) is not None:
        where = ".".join(str(part) for part in error.absolute_path) or "the answer"
        raise InputError(f"{where}: {error.message[:200]}")
    answer: dict[str, Any] = value
    return answer


ATTEMPTS = 2
_ROOM = 128
MESSAGE_TOKENS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model said to one request, all attempts together; None for no value."""

    value: dict[str, Any] | None
    raw: str = ""
    error: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    attempts: int = 1


def ask(
    who: Respondent,
    system: str,
    prompt: str,
    *,
    schema: Mapping[str, Any],
    check: Callable[[dict[str, Any]], None] | None = None,
) -> Answer:
    """Ask for an object; a bad answer is asked for once more, unless it is late."""
    start, value, error = time.monotonic(), None, ""
    replies: list[ModelReply] = []
    while len(replies) < ATTEMPTS:
        again = f"\nYour last answer was refused: {error}" if error else ""
        reply = who.reply(system, prompt + again, schema=schema)
        replies.append(reply)
        try:
            value = checked_reply(reply.text, schema)
            if check is not None:
                check(value)
            error = ""
            break
        except InputError as problem:
            value, error = None, reply.error or str(problem)
        if reply.late:
            break
    return Answer(
        value=value,
        raw=replies[-1].text,
        error=error or None,
        prompt_tokens=total_counted(one.prompt_tokens for one in replies),
        completion_tokens=total_counted(one.completion_tokens for one in replies),
        seconds=time.monotonic() - start,
        attempts=len(replies),
    )


def fitted(who: Respondent, text: str, *rest: str) -> str:
    """Return as much of a text as a prompt with the rest of it has room for."""
    limit = who.model.prompt_tokens
    if limit is None:
        return text
    taken = sum(estimated_tokens(other) for other in rest)
    room = max(0, limit - taken - _ROOM - MESSAGE_TOKENS)
    kept = fitting(text, room)
    if len(kept) < len(text):
        _LOG.warning(
            "%s is shown %d of %d characters: its context has no more room.",
            who.name,
            len(kept),
            len(text),
        )
    return kept


_OF_ONE_PROMPT = {400, 413, 422}


def is_refusal(error: BaseException) -> bool:
    """Return whether a model refuses one prompt, but may well answer another."""
    return status_of(error) in _OF_ONE_PROMPT

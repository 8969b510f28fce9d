"""Language models as evaluations ask them: patiently, for an object, each thing once.

What a model said is on the disk before its result is used, so that an interrupted run,
a crash or a full disk costs at most the call under way.

JSON is read leniently, then held to a schema strictly, and asked for
once more after a bad answer.
"""

from __future__ import annotations

import json
import logging
import re
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from knowtrail.eval.journal import LineJournal
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.models.faults import BUSY, status_of
from knowtrail.graph.models.language_models import (
    LanguageModel,
    ModelReply,
    load_language_model,
)
from knowtrail.graph.models.ollama_client import MOST_CONTEXT
from knowtrail.graph.models.prompts import estimated_tokens, fitting, whole_characters
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from langchain_core.language_models import BaseChatModel

    from knowtrail.graph.models.requests import AnswerForm
    from knowtrail.graph.settings import Settings

_LOG = logging.getLogger(__name__)
STATE_FILE = "state.jsonl"


class State(LineJournal):
    """Finished calls by key, in a folder; see `LineJournal`.

    Attributes:
        path: The file.
        reused: How many results were taken from an earlier run.
        added: How many are new.
    """

    def __init__(self, folder: Path) -> None:
        """Open the state of an output folder, which is made where it is missing.

        Raises:
            InputError: If another run is using the folder.
            StorageError: If it cannot be written.
        """
        super().__init__(folder / STATE_FILE)
        self.reused = self.added = 0
        self._known: dict[str, Any] = {}
        self.read(self._take)

    def _take(self, _: int, row: Any) -> None:
        self._known[row["key"]] = row["value"]

    def get(self, key: str) -> Any:
        """Return what is known under a key, or None."""
        found = self._known.get(key)
        with self._guard:
            self.reused += found is not None
        return found

    def put(self, key: str, value: Any, **about: Any) -> None:
        """Keep a result.

        Raises:
            StorageError: If it cannot be written; all that was kept before stays.
        """
        self.append({"key": key, **about, "value": value})
        with self._guard:
            self._known[key] = value
            self.added += 1


T = TypeVar("T")

DEFAULT_MODEL = "qwen2.5:7b"
TRIES = 3
BASE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How models are asked; the defaults are those of the published benchmark.

    Attributes:
        temperature: 0 gives the same answer every time.
        tokens: Most tokens of an answer.
        seconds: Time limit of an answer.
        context: Most tokens of prompt and answer together, where Ollama's model offers
            as many.
    """

    temperature: float = 0.0
    tokens: int = 4_096
    seconds: float = 120.0
    context: int = MOST_CONTEXT

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            InputError: If one is out of range.
        """
        if not 0 <= self.temperature <= 2:
            msg = f"The temperature is {self.temperature:g}: choose one from 0 to 2."
            raise InputError(msg)
        if not 16 <= self.tokens <= 1_000_000:
            msg = f"An answer of {self.tokens} tokens: choose 16 to 1,000,000."
            raise InputError(msg)
        if self.context < 2_048:
            msg = f"A context of {self.context} tokens: choose 2,048 or more."
            raise InputError(msg)
        if not 0 < self.seconds <= 86_400:
            msg = f"A time limit of {self.seconds:g} seconds: choose up to 86,400."
            raise InputError(msg)


def as_model(
    model: str | BaseChatModel | LanguageModel,
    *,
    settings: Settings | None = None,
    context: int = MOST_CONTEXT,
) -> LanguageModel:
    """Return a model that can be asked; it is asked nothing yet.

    Raises:
        InputError: If it is neither.
        MissingExtraError: If the extra `llm`, or that of the provider, is missing.
        SettingsError: If the environment has no key for the provider.
    """
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
        model: The model.
        options: Temperature, answer tokens, time limit.
        digest: What Ollama calls the model's content, as a tag may be pulled anew.
        take: Another number asks again for what was answered; where the model can be
            told (as Ollama's), it is told to answer otherwise.
    """

    model: LanguageModel
    options: ModelOptions = ModelOptions()
    digest: str | None = None
    take: int = 0

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
        """Return an answer; where the server is away, wait 2 s, then 4 s, and try on.

        Raises:
            ModelError: If the server is down after three tries, or refuses.
        """
        return self._asked(system, prompt, schema)

    def _asked(self, system: str, prompt: str, schema: AnswerForm) -> ModelReply:
        """Return an answer of the model; another take is another seed."""
        options, take = self.options, self.take
        return patiently(
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


def patiently(
    call: Callable[[], T],
    *,
    tries: int = TRIES,
    sleep: Callable[[float], None] | None = None,
) -> T:
    """Call a model; where its server does not answer, wait 2 s, then 4 s, and try on.

    Raises:
        ModelError: The last one, or at once where the server refuses the request, as
            it does for a model that it does not have.
    """
    wait = sleep or time.sleep
    for number in range(1, tries):
        try:
            return call()
        except ModelError as error:
            status = status_of(error)
            if status is not None and status < 500 and status not in BUSY:
                raise
            pause = BASE_SECONDS**number
            _LOG.warning("%s Trying again in %g s.", error, pause)
            wait(pause)
    return call()


def call_llm(
    system: str,
    user_message: str,
    model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL,
    json_mode: bool = False,
) -> str:
    """Return what a model says to a message, stripped.

    Args:
        system: Instructions.
        user_message: What is asked.
        model: Name of a model, or any LangChain chat model.
        json_mode: Whether the answer is held to be a JSON object.

    Raises:
        ModelError: If the model's server is down after three tries, refuses, or does
            not answer in time.
    """
    asked = Respondent(model=as_model(model))
    reply = asked.reply(system, user_message, schema="json" if json_mode else None)
    if not reply.text and reply.error:
        raise ModelError(reply.error)
    return reply.text.strip()


_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL | re.IGNORECASE)


def parse_json_reply(raw: str) -> Any:
    """Return the JSON value that a model's answer holds.

    Raises:
        InputError: If there is no JSON in it.
    """
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
    """Return the object in a model's answer, exactly of the form asked for.

    Args:
        raw: The whole answer.
        schema: JSON schema of an object. Truth values are `true` and `false`, not
            words; NaN and infinities are no numbers.

    Raises:
        InputError: If it is no JSON or does not fit; the message says where, for the
            model.
    """
    from jsonschema import Draft202012Validator

    value = parse_json_reply(raw)
    if not _all_finite(value):
        msg = "the answer: NaN and infinities are no numbers; write one from 0 to 1."
        raise InputError(msg)
    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=str)
    if errors:
        error = errors[0]
        where = ".".join(str(part) for part in error.absolute_path) or "the answer"
        raise InputError(f"{where}: {error.message[:200]}")
    answer: dict[str, Any] = value
    return answer


def _all_finite(value: Any) -> bool:
    """Return whether all numbers of a value are numbers of JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


ATTEMPTS = 2
_ROOM = 128
MESSAGE_TOKENS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model said to one request, all attempts together.

    Attributes:
        value: The object that was asked for; None where none came.
        raw: The last answer as it came.
        error: Why there is no value; None where there is one.
        prompt_tokens: Tokens of all prompts, as the server counts them.
        completion_tokens: Tokens of all answers.
        seconds: Time taken.
        attempts: How often it was asked.
    """

    value: dict[str, Any] | None
    raw: str = ""
    error: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    attempts: int = 1

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def _total(counts: Iterable[int | None]) -> int | None:
    """Return the sum of what a server counted, None where it counted nothing."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def ask(
    who: Respondent,
    system: str,
    prompt: str,
    *,
    schema: Mapping[str, Any],
    check: Callable[[dict[str, Any]], None] | None = None,
) -> Answer:
    """Ask for an object; a bad answer is asked for once more, told what is wrong.

    After a late answer there is no other.

    Raises:
        ModelError: If the model's server is down after all tries, or refuses.
    """
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
        prompt_tokens=_total(one.prompt_tokens for one in replies),
        completion_tokens=_total(one.completion_tokens for one in replies),
        seconds=time.monotonic() - start,
        attempts=len(replies),
    )


def fitted(who: Respondent, text: str, *rest: str) -> str:
    """Return as much of a text as a prompt has room for.

    Args:
        who: The model's limit is kept to; one without takes everything.
        text: Source or context, cut at its end.
        *rest: Everything else in the prompt; marks and a second attempt's message have
            a reserve.
    """
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRespondent(Respondent):
    """A model that is asked each thing once; whatever it says is kept, paid as it is.

    A late answer, or none at all, is not kept: it is asked for again in the next run.

    Attributes:
        state: What it said before.
    """

    state: State

    def reply(self, system: str, prompt: str, *, schema: AnswerForm) -> ModelReply:
        """Return an answer, the one that is kept where there is one.

        Raises:
            ModelError: If the server is down after three tries, or refuses.
            StorageError: If the answer cannot be kept.
        """
        key = content_key("reply", self.key, system, prompt, repr(schema), self.take)
        known = self.state.get(key)
        if known is not None:
            return ModelReply(**known)
        reply = self._asked(system, prompt, schema)
        if reply.text and not reply.late:
            self.state.put(key, asdict(reply), model=self.name)
        return reply


def is_refusal(error: BaseException) -> bool:
    """Return whether a model refuses one prompt, but may well answer another."""
    return status_of(error) in _OF_ONE_PROMPT

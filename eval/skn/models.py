"""Models of a benchmark: named ones that Ollama runs, or any LangChain chat model."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from graph.errors import InputError, ModelError
from graph.language_models import LanguageModel, load_language_model
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.language_models import BaseChatModel

    from graph.language_models import ModelReply
    from graph.model_requests import AnswerForm
    from graph.settings import Settings

__all__ = [
    "DEFAULT_MODEL",
    "ModelOptions",
    "Respondent",
    "as_model",
    "call_llm",
    "patiently",
]

T = TypeVar("T")
_LOG = logging.getLogger(__name__)

DEFAULT_MODEL = "qwen2.5:7b"
TRIES = 3
BASE_SECONDS = 2.0
_REFUSED = range(400, 500)
_BUSY = {408, 425, 429}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How models are asked; the defaults are those of the published benchmark.

    Attributes:
        temperature: 0 gives the same answer every time.
        tokens: Most tokens of an answer.
        seconds: Time limit of an answer.
    """

    temperature: float = 0.0
    tokens: int = 4_096
    seconds: float = 120.0

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
        if not 0 < self.seconds <= 86_400:
            msg = f"A time limit of {self.seconds:g} seconds: choose up to 86,400."
            raise InputError(msg)


def as_model(
    model: str | BaseChatModel | LanguageModel,
    *,
    settings: Settings | None = None,
) -> LanguageModel:
    """Return a model that can be asked; it is asked nothing yet.

    Args:
        model: Name of an Ollama model, or a chat model with options of its own.
        settings: Where Ollama answers; None takes the environment's.

    Raises:
        InputError: If it is neither.
        MissingExtraError: If the extra `llm` is not installed.
    """
    if isinstance(model, LanguageModel):
        return model
    if isinstance(model, str):
        if not model.strip():
            msg = "The model has no name: give one such as 'qwen2.5:7b'."
            raise InputError(msg)
        return load_language_model(model.strip(), settings=settings)
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
    """

    model: LanguageModel
    options: ModelOptions = ModelOptions()

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self.model.name

    @property
    def key(self) -> str:
        """Return a key of the model and of what changes its answers."""
        options = self.options
        return content_key(
            "respondent", self.name, f"{options.temperature:g}", options.tokens
        )

    def reply(self, system: str, prompt: str, *, schema: AnswerForm) -> ModelReply:
        """Return an answer; where the server is away, wait 2 s, then 4 s, and try on.

        Args:
            system: Instructions.
            prompt: What is asked.
            schema: The form of the answer.

        Raises:
            ModelError: If the server is down after three tries, or refuses.
        """
        return patiently(
            lambda: self.model.reply(
                prompt,
                system=system or None,
                schema=schema,
                seconds=self.options.seconds,
                tokens=self.options.tokens,
                temperature=self.options.temperature,
            )
        )


def patiently(
    call: Callable[[], T],
    *,
    tries: int = TRIES,
    sleep: Callable[[float], None] | None = None,
) -> T:
    """Call a model; where its server does not answer, wait 2 s, then 4 s, and try on.

    Args:
        call: Asks the model.
        tries: How often at most.
        sleep: Waits; for tests.

    Raises:
        ModelError: The last one, or at once where the server refuses the request, as
            it does for a model that it does not have.
    """
    wait = sleep or time.sleep
    for number in range(1, tries):
        try:
            return call()
        except ModelError as error:
            if _is_refusal(error):
                raise
            pause = BASE_SECONDS**number
            _LOG.warning("%s Trying again in %g s.", error, pause)
            wait(pause)
    return call()


def _is_refusal(error: ModelError) -> bool:
    """Return whether asking again would give the same error."""
    status = getattr(error.__cause__, "status_code", None)
    return isinstance(status, int) and status in _REFUSED and status not in _BUSY


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
        model: Name of an Ollama model, or any LangChain chat model.
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

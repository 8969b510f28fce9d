"""One request to a language model: what is said to it, and how it may answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict

from knowtrail.graph.models.ollama_client import ANSWER_TOKENS, CONTEXT_TOKENS
from knowtrail.graph.models.prompts import estimated_tokens

AnswerForm: TypeAlias = "Mapping[str, Any] | Literal['json'] | None"
"""A JSON schema, `json` for any JSON, None for text."""


def object_form(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def total_counted(counts: Iterable[int | None]) -> int | None:
    """Return the sum of what a server counted, None where it counted nothing."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class AnswerWishes(TypedDict, total=False):
    """How a model may answer, where it can be told.

    Attributes:
        schema: JSON schema that the answer is held to, or `json` for any JSON; where
            the model has no such thing, it is told the schema.
        seed: For another answer than the most likely one.
        tokens: Tokens that the answer may have; None for the usual 512. An answer gets
            no more than the prompt leaves.
        temperature: How far the answer may stray; None for 0, or 0.5 with a seed.
        system: What is said to the model before the prompt.
    """

    schema: AnswerForm
    seed: int | None
    tokens: int | None
    temperature: float | None
    system: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a model is asked; `context` is tokens of prompt and answer together."""

    prompt: str
    system: str | None = None
    schema: AnswerForm = None
    seed: int | None = None
    tokens: int | None = None
    temperature: float | None = None
    context: int = CONTEXT_TOKENS

    @property
    def prompt_tokens(self) -> int:
        """Return how many tokens the request has at most, by the estimate."""
        return estimated_tokens(self.prompt) + estimated_tokens(self.system or "")

    @property
    def answer_tokens(self) -> int:
        """Return how many tokens the answer may have in Ollama's context."""
        if self.tokens is None:
            return ANSWER_TOKENS
        room = max(self.context - self.prompt_tokens, ANSWER_TOKENS)
        return min(self.tokens, room)

    def messages(self, *, is_ollama: bool) -> str | list[tuple[str, str]]:
        """Return what is sent; other models than Ollama's are told the schema."""
        prompt = _sendable(self.prompt)
        if self.schema == "json" and not is_ollama:
            prompt += "\nAnswer with one JSON object and nothing else."
        elif self.schema is not None and not is_ollama:
            schema = json.dumps(self.schema)
            prompt += f"\nAnswer with JSON that fits this schema: {schema}"
        if self.system is None:
            return prompt
        return [("system", _sendable(self.system)), ("human", prompt)]

    def options(self, *, is_ollama: bool) -> dict[str, Any]:
        """Return the options of a call of Ollama's; foreign models take none."""
        if not is_ollama:
            return {}
        options: dict[str, Any] = {}
        if self.schema is not None:
            options["format"] = (
                self.schema if isinstance(self.schema, str) else dict(self.schema)
            )
        given = (self.seed, self.tokens, self.temperature) != (None, None, None)
        if given or self.context != CONTEXT_TOKENS:
            # These take the place of all others, and another context would make
            # Ollama load the model anew.
            options["options"] = {
                "temperature": self._heat,
                "num_ctx": self.context,
                "num_predict": self.answer_tokens,
                **({} if self.seed is None else {"seed": self.seed}),
            }
        return options

    def provider_options(self, seconds: float) -> dict[str, Any]:
        """Return the options of a call of a provider's, by LangChain's names."""
        tokens = {} if self.tokens is None else {"max_tokens": self.tokens}
        return {"timeout": seconds, "temperature": self._heat, **tokens}

    @property
    def _heat(self) -> float:
        if self.temperature is not None:
            return self.temperature
        return 0.0 if self.seed is None else 0.5


def _sendable(text: str) -> str:
    """Return a text without halves of characters, which no request can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")

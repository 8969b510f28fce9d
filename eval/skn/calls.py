"""Asking a model for an object, and once more after a bad answer."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from eval.skn.replies import checked_reply
from graph.errors import InputError
from graph.prompts import estimated_tokens, fitting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eval.skn.models import Respondent
    from graph.language_models import ModelReply

__all__ = ["Answer", "ask", "fitted"]

_LOG = logging.getLogger(__name__)
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


@dataclass(slots=True)
class _Spent:
    """What a request has cost so far."""

    start: float = field(default_factory=time.monotonic)
    prompt: int | None = None
    completion: int | None = None

    def add(self, reply: ModelReply) -> None:
        """Add an attempt; what the server does not count stays unknown."""
        if reply.prompt_tokens is not None:
            self.prompt = (self.prompt or 0) + reply.prompt_tokens
        if reply.completion_tokens is not None:
            self.completion = (self.completion or 0) + reply.completion_tokens


def ask(
    who: Respondent,
    system: str,
    prompt: str,
    *,
    schema: Mapping[str, Any],
    check: Callable[[dict[str, Any]], None] | None = None,
) -> Answer:
    """Ask for an object; a bad answer is asked for once more, told what is wrong.

    Args:
        who: The model.
        system: Instructions.
        prompt: What is asked.
        schema: JSON schema of the object, which the answer is held to.
        check: Raises `InputError` where the object makes no sense.

    Returns:
        The object, or why there is none; after a late answer there is no other.

    Raises:
        ModelError: If the model's server is down after all tries, or refuses.
    """
    spent, error, raw = _Spent(), "", ""
    for attempt in range(1, ATTEMPTS + 1):
        again = f"\nYour last answer was refused: {error}" if error else ""
        reply = who.reply(system, prompt + again, schema=schema)
        spent.add(reply)
        raw = reply.text
        try:
            value = checked_reply(raw, schema)
            if check is not None:
                check(value)
            return _answer(spent, attempt, value=value, raw=raw)
        except InputError as problem:
            error = reply.error or str(problem)
        if reply.late:
            break
    return _answer(spent, attempt, value=None, raw=raw, error=error)


def _answer(spent: _Spent, attempts: int, **said: Any) -> Answer:
    """Return an answer with what it cost."""
    return Answer(
        **said,
        prompt_tokens=spent.prompt,
        completion_tokens=spent.completion,
        seconds=time.monotonic() - spent.start,
        attempts=attempts,
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

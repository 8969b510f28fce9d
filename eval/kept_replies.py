"""Models whose answers are on disk before anything is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eval.skn.models import Respondent, patiently
from graph.language_models import ModelReply
from ingest.keys import content_key

if TYPE_CHECKING:
    from eval.skn.state import State
    from graph.model_requests import AnswerForm

__all__ = ["KeptRespondent", "is_refusal"]

_OF_ONE_PROMPT = {400, 413, 422}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRespondent(Respondent):
    """A model that is asked each thing once; whatever it says is kept, paid as it is.

    A late answer, or none at all, is not kept: it is asked for again in the next run.

    Attributes:
        state: What it said before.
        take: Another number asks again for what was kept; where the model can be told
            (as Ollama's), it is told to answer otherwise.
    """

    state: State
    take: int = 0

    def reply(self, system: str, prompt: str, *, schema: AnswerForm) -> ModelReply:
        """Return an answer, the one that is kept where there is one.

        Args:
            system: Instructions.
            prompt: What is asked.
            schema: The form of the answer.

        Raises:
            ModelError: If the server is down after three tries, or refuses.
            StorageError: If the answer cannot be kept.
        """
        key = content_key("reply", self.key, system, prompt, repr(schema), self.take)
        known = self.state.get(key)
        if known is not None:
            return ModelReply(**known)
        options = self.options
        reply = patiently(
            lambda: self.model.reply(
                prompt,
                system=system or None,
                schema=schema,
                seconds=options.seconds,
                tokens=options.tokens,
                temperature=options.temperature if not self.take else None,
                seed=self.take or None,
            )
        )
        if reply.text and not reply.late:
            row = {
                "text": reply.text,
                "prompt_tokens": reply.prompt_tokens,
                "completion_tokens": reply.completion_tokens,
                "error": reply.error,
                "cut": reply.cut,
            }
            self.state.put(key, row, model=self.name)
        return reply


def is_refusal(error: BaseException) -> bool:
    """Return whether a model refuses one prompt, but may well answer another.

    Args:
        error: What asking it raised.
    """
    status = getattr(error.__cause__, "status_code", None)
    return status in _OF_ONE_PROMPT

"""What an extraction gave, whether it can be used or not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ingest.extraction.skn.blocks import Repair, SknBlock

__all__ = ["Extracted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a model made of a text.

    Attributes:
        variant: Name of the variant.
        model: Name of the model.
        status: `ok` (the answer was valid), `repaired` or `failed`.
        raw: The last answer as it came; empty where there was none.
        value: What it says, by grammar or schema; None where it failed.
        repairs: What was put right.
        error: Why it failed; None where it did not.
        prompt_tokens: Tokens of all prompts as the model counted them; None where it
            did not.
        completion_tokens: Tokens of all answers.
        seconds: Time that the model took, all attempts together.
        prompt_hash: Key of the instructions, without the text.
        answer_tokens: Tokens that each answer might have.
        attempts: How often the model was asked.
        source_characters: Length of the text that was given.
        read_characters: How much of it the model was shown.
    """

    variant: str
    model: str
    status: Literal["ok", "repaired", "failed"]
    raw: str
    value: SknBlock | dict[str, Any] | None
    repairs: tuple[Repair, ...] = ()
    error: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    prompt_hash: str = ""
    answer_tokens: int | None = None
    attempts: int = 0
    source_characters: int = 0
    read_characters: int = 0

    @property
    def text(self) -> str:
        """Return it as it is put into a prompt; empty where it failed."""
        if self.value is None:
            return ""
        if isinstance(self.value, dict):
            return json.dumps(self.value, ensure_ascii=False, indent=2)
        from ingest.extraction.skn.writing import write

        return write(self.value)

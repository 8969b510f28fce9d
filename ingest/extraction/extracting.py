"""One extraction: a text, a variant, a model; asked once more where it is no good."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from graph.errors import InputError
from graph.ollama_client import ANSWER_TOKENS
from graph.prompts import whole_characters
from ingest.extraction.json_form import read_json
from ingest.extraction.prompts import extraction_prompt, prompt_hash
from ingest.extraction.readable import unreadable
from ingest.extraction.results import Extracted
from ingest.extraction.skn.blocks import Repair
from ingest.extraction.skn.parsing import parse
from ingest.extraction.skn.repairing import parse_forgiving
from ingest.extraction.skn.writing import write
from ingest.extraction.variants import variant_of

if TYPE_CHECKING:
    from graph.language_models import LanguageModel, ModelReply
    from ingest.extraction.prompts import ExtractionPrompt
    from ingest.extraction.skn.blocks import SknBlock
    from ingest.extraction.variants import Variant

__all__ = ["extract_text"]

ATTEMPTS = 2
ROOM_FOR_ANSWER = 1_024
"""Tokens of the context that no text takes from the answer."""


def extract_text(
    text: str,
    *,
    variant: str,
    model: LanguageModel,
    question: str | None = None,
    seconds: float = 120.0,
    tokens: int = 4_096,
    temperature: float = 0.0,
) -> Extracted:
    """Let a model write down what a text says.

    An answer that cannot be used is asked for once more with what is wrong with it;
    if the second is no better the extraction has failed, and says why. A text that is
    too long for the model is shortened, see `read_characters`.

    Args:
        text: What is read: of any length, from anywhere. No text can end its marks in
            the prompt, and whatever the model answers is valid or has failed.
        variant: How the answer is written, see `VARIANTS`.
        model: Who reads.
        question: What the knowledge is wanted for; None for no question.
        seconds: Time limit of each answer. A late answer is not asked for again.
        tokens: Tokens that an answer may have, as far as the context has them.
        temperature: How far the first answer may stray, where the model can be told.

    Returns:
        What came of it; never raises for a bad answer.

    Raises:
        InputError: If there is no such variant, or the question is too long.
        ModelError: If the model's server is down or has no such model.
    """
    wanted = variant_of(variant)
    whole = whole_characters(text)
    result = Extracted(
        variant=wanted.name,
        model=model.name,
        status="failed",
        raw="",
        value=None,
        prompt_hash=prompt_hash(wanted, question),
        answer_tokens=tokens,
        source_characters=len(text),
    )
    if problem := unreadable(whole):
        return replace(result, error=problem)
    prompt = extraction_prompt(
        whole, variant=wanted, question=question, tokens=_room(model, tokens)
    )
    result = replace(result, read_characters=prompt.read_characters)
    limits = {"seconds": seconds, "temperature": temperature}
    return _attempted(result, prompt, model=model, tokens=tokens, **limits)


def _attempted(
    result: Extracted,
    prompt: ExtractionPrompt,
    *,
    model: LanguageModel,
    tokens: int,
    **limits: float,
) -> Extracted:
    """Return the extraction after one answer, or two where the first is no good."""
    begin = time.monotonic()
    for attempt in range(1, ATTEMPTS + 1):
        reply = _asked(model, prompt, result.error, tokens=tokens, **limits)
        result = _judged(result, reply, variant_of(result.variant))
        result = replace(result, attempts=attempt, seconds=time.monotonic() - begin)
        if result.value is not None or reply.late:
            break
    return result


def _room(model: LanguageModel, tokens: int) -> int | None:
    """Return how many tokens the request may have, None for no limit."""
    if model.prompt_tokens is None:
        return None
    return model.prompt_tokens - max(0, min(tokens, ROOM_FOR_ANSWER) - ANSWER_TOKENS)


def _asked(
    model: LanguageModel,
    prompt: ExtractionPrompt,
    problem: str | None,
    *,
    seconds: float,
    tokens: int,
    temperature: float,
) -> ModelReply:
    """Ask, for the second time with what was wrong with the first answer."""
    text = prompt.text
    if problem:
        text += (
            f"\nYour last answer could not be used. {problem[:300]} Answer again in "
            "the form that is asked for, and with nothing else."
        )
    return model.reply(
        text,
        schema=prompt.schema,
        seconds=seconds,
        tokens=tokens,
        seed=1 if problem else None,
        temperature=None if problem else temperature,
    )


def _judged(before: Extracted, reply: ModelReply, variant: Variant) -> Extracted:
    """Return the extraction after one answer more."""
    result = replace(
        before,
        raw=reply.text,
        prompt_tokens=_sum(before.prompt_tokens, reply.prompt_tokens),
        completion_tokens=_sum(before.completion_tokens, reply.completion_tokens),
    )
    if not reply.text.strip():
        return replace(result, error=reply.error or "The model gave no answer.")
    try:
        read = _read(reply.text, variant)
    except InputError as error:
        also = f" {reply.error}" if reply.error else ""
        return replace(result, error=f"{error}{also}")
    repairs = read.repairs
    if reply.error:
        repairs = (Repair(line=0, code="cut", message=reply.error), *repairs)
    return replace(
        result,
        status="repaired" if repairs else "ok",
        value=read.value,
        repairs=repairs,
        error=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """An answer that can be used."""

    value: SknBlock | dict[str, Any]
    repairs: tuple[Repair, ...]


def _read(answer: str, variant: Variant) -> _Read:
    """Read an answer.

    Raises:
        InputError: If it cannot be used; says what is wrong with it.
    """
    if variant.form == "json":
        found, repairs = read_json(answer, variant)
        return _Read(value=found, repairs=repairs)
    block, repairs = parse_forgiving(
        whole_characters(answer), sections=variant.sections
    )
    written = write(block)
    if (whole := whole_characters(written)) != written:
        block = parse(whole)
    return _Read(value=block, repairs=repairs)


def _sum(first: int | None, second: int | None) -> int | None:
    """Return a sum of what is known, None where nothing is."""
    if first is None or second is None:
        return first if second is None else second
    return first + second

"""One extraction: a text, a variant, a model; asked once more where it is no good.

A long text is read in passages of whole sentences, each on its own, and what they say
is merged. Equal facts, links and claims (compared without case and white space) become
one with the largest number; of a fact, also the highest priority stays. The source has
the first domain that a passage names, the least freshness and the least reliability;
the risks are the highest. A gap goes where all its words of four letters or more are in
one fact of another passage. Of an entity the first type stays, and of an attribute the
first value.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from knowtrail.graph.errors import InputError
from knowtrail.graph.models.prompts import fitting, whole_characters
from knowtrail.graph.models.requests import total_counted
from knowtrail.ingest.extraction.json_answers import read_json
from knowtrail.ingest.extraction.skn.notation import (
    LEVELS,
    SYMBOLS,
    Repair,
    SknBlock,
    SknFact,
    SknLink,
    SknRisk,
    SknSource,
    parse,
    write,
)
from knowtrail.ingest.extraction.skn.repairs import parse_forgiving
from knowtrail.ingest.extraction.variants import (
    answer_schema,
    extraction_prompt,
    prompt_hash,
    text_room,
    variant_of,
)
from knowtrail.ingest.keys import normalise_name
from knowtrail.ingest.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.graph.models.language_models import LanguageModel, ModelReply
    from knowtrail.ingest.extraction.skn.notation import Level
    from knowtrail.ingest.extraction.variants import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a model made of a text.

    Attributes:
        status: `ok` (the answer was valid), `repaired`, `partial` (of a long text,
            what some passages say) or `failed`.
        raw: The last answer as it came, of each passage; empty where there was none.
        value: What it says, by grammar or schema; None where it failed.
        error: Why it, or a passage, failed; None where none did.
        prompt_tokens: Tokens of all prompts as the model counted them; None where it
            did not.
        seconds: Time that the model took, all attempts together.
        prompt_hash: Key of the instructions, without the text.
        answer_tokens: Tokens that each answer might have; a short context has fewer
            than were asked for.
        read_characters: How much of it is in passages whose answers could be used.
    """

    variant: str
    model: str
    status: Literal["ok", "repaired", "partial", "failed"]
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
    passages: int = 1

    @property
    def not_understood(self) -> int:
        """Return how many pieces of the answer were not understood and left out."""
        return sum(repair.lost for repair in self.repairs)

    @property
    def text(self) -> str:
        """Return it as it is put into a prompt; empty where it failed."""
        if self.value is None:
            return ""
        if isinstance(self.value, dict):
            return json.dumps(self.value, ensure_ascii=False, indent=2)
        return write(self.value)


_PRIORITIES = tuple(SYMBOLS.values())
_WORD = re.compile(r"\w+")


def merged(parts: Sequence[Extracted]) -> Extracted:
    """Return the extraction of a text from those of its passages, in order."""
    if len(parts) == 1:
        return parts[0]
    used = [part for part in parts if part.value is not None]
    failed = [n for n, part in enumerate(parts, start=1) if part.value is None]
    values: list[Any] = [part.value for part in used]
    error = None
    if failed:
        error = f"Passage {failed[0]} of {len(parts)}: {parts[failed[0] - 1].error}"
        if len(failed) > 1:
            error += f" ({len(failed)} passages failed.)"
    return replace(
        parts[0],
        status=_status(parts),
        raw="\n\n".join(part.raw for part in parts),
        value=_value(values) if values else None,
        repairs=tuple(
            replace(repair, message=f"passage {number}: {repair.message}")
            for number, part in enumerate(parts, start=1)
            for repair in part.repairs
        ),
        error=error,
        prompt_tokens=total_counted(part.prompt_tokens for part in parts),
        completion_tokens=total_counted(part.completion_tokens for part in parts),
        seconds=sum(part.seconds for part in parts),
        attempts=sum(part.attempts for part in parts),
        read_characters=sum(part.read_characters for part in used),
        passages=len(parts),
    )


def _status(parts: Sequence[Extracted]) -> Any:
    said = {part.status for part in parts}
    if "failed" in said:
        return "failed" if said == {"failed"} else "partial"
    return "repaired" if "repaired" in said else "ok"


def _value(values: Sequence[Any]) -> SknBlock | dict[str, Any]:
    if isinstance(values[0], SknBlock):
        return _block(values)
    claims: dict[str, dict[str, Any]] = {}
    for claim in (claim for value in values for claim in value["claims"]):
        known = claims.setdefault(normalise_name(claim["statement"]), dict(claim))
        if "confidence" in claim:
            known["confidence"] = _largest(known["confidence"], claim["confidence"])
    entities: dict[str, dict[str, Any]] = {}
    for entity in (entity for value in values for entity in value["entities"]):
        known = entities.setdefault(normalise_name(entity["name"]), dict(entity))
        known["attributes"] = entity["attributes"] | known["attributes"]
    links = {
        tuple(normalise_name(text) for text in link.values()): link
        for value in reversed(values)
        for link in reversed(value["relationships"])
    }
    return {
        "entities": list(entities.values()),
        "relationships": list(reversed(links.values())),
        "claims": list(claims.values()),
    }


def _block(blocks: Sequence[SknBlock]) -> SknBlock:
    facts: dict[str, SknFact] = {}
    links: dict[tuple[str, str], SknLink] = {}
    for fact in (fact for block in blocks for fact in block.facts):
        known = facts.setdefault(normalise_name(fact.text), fact)
        facts[normalise_name(fact.text)] = replace(
            known,
            priority=min(known.priority, fact.priority, key=_PRIORITIES.index),
            confidence=_largest(known.confidence, fact.confidence),
        )
    for link in (link for block in blocks for link in block.causal):
        ends = normalise_name(link.cause), normalise_name(link.effect)
        known_link = links.setdefault(ends, link)
        strength = _largest(known_link.strength, link.strength)
        links[ends] = replace(known_link, strength=strength)
    return SknBlock(
        source=_source([block.source for block in blocks if block.source]),
        facts=tuple(
            sorted(facts.values(), key=lambda fact: _PRIORITIES.index(fact.priority))
        ),
        causal=tuple(links.values()),
        gaps=_gaps(blocks),
        risk=_risk([block.risk for block in blocks if block.risk]),
    )


def _gaps(blocks: Sequence[SknBlock]) -> tuple[str, ...]:
    """Return the gaps that no fact of another passage fills, each once."""
    said = [[_words(fact.text) for fact in block.facts] for block in blocks]
    open_: dict[str, str] = {}
    for place, block in enumerate(blocks):
        others = [one for at, facts in enumerate(said) if at != place for one in facts]
        for gap in block.gaps:
            if not any(_words(gap) <= words for words in others):
                open_.setdefault(normalise_name(gap), gap)
    return tuple(open_.values())


def _words(text: str) -> set[str]:
    """Return the words of four letters or more, all where there are none."""
    words = _WORD.findall(normalise_name(text))
    return {word for word in words if len(word) > 3} or set(words)


def _source(sources: Sequence[SknSource]) -> SknSource | None:
    if not sources:
        return None
    known = [s.reliability for s in sources if s.reliability is not None]
    return SknSource(
        domain=sources[0].domain,
        freshness=_level([s.freshness for s in sources], last=True),
        reliability=min(known, default=None),
    )


def _risk(risks: Sequence[SknRisk]) -> SknRisk | None:
    if not risks:
        return None
    return SknRisk(
        misdirection=_level([risk.misdirection for risk in risks]),
        missing_context=_level([risk.missing_context for risk in risks]),
    )


def _level(levels: Sequence[Level | None], *, last: bool = False) -> Level | None:
    """Return the highest of some levels, or the lowest; None where none is known."""
    known = [level for level in LEVELS if level in levels]
    return known[-1 if last else 0] if known else None


def _largest(first: float | None, second: float | None) -> float | None:
    known = [number for number in (first, second) if number is not None]
    return max(known, default=None)


def passages(text: str, tokens: int) -> list[str]:
    """Return a text in passages that end where a sentence ends.

    Together they are the whole text, without overlap. A sentence that has no room in
    a passage is cut between two characters.

    Example:
        >>> passages("Ice is cold. Fire is hot.", 5)
        ['Ice is cold. ', 'Fire is hot.']
    """
    if len(fitting(text[: 3 * tokens + 1], tokens)) == len(text):
        return [text]
    return list(_cut(text, tokens))


def _cut(text: str, tokens: int) -> Iterator[str]:
    """Yield passages, each with as many sentences as it has room for."""
    starts = [span.start for span in split_sentences(text)]
    place = begin = 0
    while begin < len(text):
        end = begin + len(fitting(text[begin : begin + 3 * tokens + 1], tokens))
        if end < len(text):
            while place < len(starts) and starts[place] <= end:
                place += 1
            last = starts[place - 1] if place else 0
            end = last if last > begin else end
        yield text[begin:end]
        begin = end


SAMPLE = 20_000
MOST_STRANGE = 0.1
"""Share of characters that no text has above which it is taken for binary."""


def unreadable(text: str) -> str:
    """Say why a text is not worth a model's time, empty if it is."""
    sample = text[:SAMPLE]
    if not text.strip():
        return "The text is empty: there is nothing to read."
    strange = sum(not c.isprintable() and not c.isspace() for c in sample)
    strange += sample.count("\N{REPLACEMENT CHARACTER}")
    if strange > MOST_STRANGE * len(sample):
        return (
            f"The text is not readable: {strange} of its first {len(sample)} "
            "characters are none. Is it a picture or an archive?"
        )
    return ""


ATTEMPTS = 2


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
    """Let a model write down what a text says; never raises for a bad answer.

    An answer that cannot be used is asked for once more with what is wrong with it; if
    the second is no better the extraction has failed, and says why. A text that is too
    long for the model's context is read in passages of whole sentences, and what they
    say is merged, see `knowtrail.ingest.extraction.text_extraction`. No text can end
    its marks in the prompt.

    `variant` is one of `VARIANTS`, `question` what the knowledge is wanted for. Each
    answer has a limit of `seconds`, and a late one is not asked for again; it may have
    so many `tokens`, and half of the context at most, see `answer_tokens`.
    `temperature` is how far the first answer may stray, where the model can be told.

    Raises:
        InputError: If there is no such variant, or the question is too long.
        ModelError: If the model's server is down or has no such model.
    """
    wanted = variant_of(variant)
    whole = whole_characters(text)
    room, answer = model.room(tokens)
    result = Extracted(
        variant=wanted.name,
        model=model.name,
        status="failed",
        raw="",
        value=None,
        prompt_hash=prompt_hash(wanted, question),
        answer_tokens=answer,
        source_characters=len(text),
    )
    if problem := unreadable(whole):
        return replace(result, error=problem)
    pieces = passages(whole, text_room(wanted, question, room))
    parts = []
    for number, piece in enumerate(pieces, start=1):
        part = _attempted(
            result,
            extraction_prompt(wanted, piece, question, (number, len(pieces))),
            model,
            seconds=seconds,
            temperature=temperature,
        )
        read = 0 if part.value is None else len(piece)
        parts.append(replace(part, read_characters=read))
    return merged(parts)


def _attempted(
    result: Extracted,
    prompt: str,
    model: LanguageModel,
    *,
    seconds: float,
    temperature: float,
) -> Extracted:
    """Return the extraction after one answer, or two where the first is no good.

    The second is asked for with what was wrong with the first.
    """
    begin, variant = time.monotonic(), variant_of(result.variant)
    for attempt in range(1, ATTEMPTS + 1):
        problem, told = result.error, ""
        if problem:
            told = (
                f"\nYour last answer could not be used. {problem[:300]} Answer again "
                "in the form that is asked for, and with nothing else."
            )
        reply = model.reply(
            prompt + told,
            schema=answer_schema(variant),
            seconds=seconds,
            tokens=result.answer_tokens,
            seed=1 if problem else None,
            temperature=None if problem else temperature,
        )
        result = _judged(result, reply, variant)
        result = replace(result, attempts=attempt, seconds=time.monotonic() - begin)
        if result.value is not None or reply.late:
            break
    return result


def _judged(before: Extracted, reply: ModelReply, variant: Variant) -> Extracted:
    result = replace(
        before,
        raw=reply.text,
        prompt_tokens=total_counted((before.prompt_tokens, reply.prompt_tokens)),
        completion_tokens=total_counted((
            before.completion_tokens,
            reply.completion_tokens,
        )),
    )
    if not reply.text.strip():
        return replace(result, error=reply.error or "The model gave no answer.")
    try:
        value, repairs = _read(reply.text, variant)
    except InputError as error:
        also = f" {reply.error}" if reply.error else ""
        return replace(result, error=f"{error}{also}")
    if reply.error:
        repairs = (Repair(line=0, code="cut", message=reply.error), *repairs)
    return replace(
        result,
        status="repaired" if repairs else "ok",
        value=value,
        repairs=repairs,
        error=None,
    )


def _read(
    answer: str, variant: Variant
) -> tuple[SknBlock | dict[str, Any], tuple[Repair, ...]]:
    if variant.form == "json":
        return read_json(answer, variant)
    block, repairs = parse_forgiving(
        whole_characters(answer), sections=variant.sections
    )
    written = write(block)
    if (whole := whole_characters(written)) != written:
        block = parse(whole)
    return block, repairs

"""The four phases for one sample: search, extraction, reasoning, evaluation.

Each takes what is finished from the state; what is new is kept there before it is
used. A result that failed is kept too, and asked for again only on request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eval.skn.agent import AGENT_HASH, context_text, no_reply, reason
from eval.skn.extractors import empty_extraction
from eval.skn.judges import JUDGES, judge_answer
from eval.skn.metrics import token_estimate
from eval.skn.searching import RESULTS, Found, searched
from ingest.extraction import extract_text, variant_of
from ingest.extraction.prompts import prompt_hash
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eval.skn.models import Respondent
    from eval.skn.samples import Sample
    from eval.skn.state import State

__all__ = ["Phases"]


def _nothing() -> None:
    """Do nothing before the first call."""


@dataclass(slots=True, kw_only=True)
class Phases:
    """Runs the phases of a benchmark for one sample at a time.

    Attributes:
        state: What is finished.
        recorded: Recorded search results.
        recorded_only: Whether the web is left alone.
        results: How many search results are taken of the web.
        question_aware: Whether the extractor is told the question.
        retry_failed: Whether results that failed are asked for again.
        before_calls: Called once, before a model or the web is asked for the first
            time.
    """

    state: State
    recorded: Mapping[str, Found] = field(default_factory=dict)
    recorded_only: bool = False
    results: int = RESULTS
    question_aware: bool = False
    retry_failed: bool = False
    before_calls: Callable[[], None] = _nothing
    _asked: bool = False

    def _kept(
        self, key: str, make: Callable[[], dict[str, Any]], **about: Any
    ) -> dict[str, Any]:
        """Return a finished result, or make it and keep it."""
        known: dict[str, Any] | None = self.state.get(key)
        if known is not None and not (self.retry_failed and known.get("error")):
            return known
        made = make()
        self.state.put(key, made, **about)
        return made

    def _first_call(self) -> None:
        """Let the caller check its models, once."""
        if not self._asked:
            self._asked = True
            self.before_calls()

    def search(self, sample: Sample) -> Found:
        """Return the search results of a sample; where there are none, keep nothing.

        Args:
            sample: Whose question is searched for.

        Raises:
            InputError: If there is no recorded result and the web is left alone.
            MissingExtraError: If the web is asked and the extra `search` is missing.
        """
        key = content_key("search", sample.question, self.results)
        live = not self.recorded_only and not self._is_recorded(sample)
        if live and (known := self.state.get(key)) is not None:
            return Found.from_dict(known)
        if live:
            self._first_call()
        found = searched(
            sample,
            self.recorded,
            recorded_only=self.recorded_only,
            count=self.results,
        )
        if live and found.error is None:
            self.state.put(key, found.as_dict(), phase="search", sample=sample.id)
        return found

    def _is_recorded(self, sample: Sample) -> bool:
        return sample.question in self.recorded or f"id:{sample.id}" in self.recorded

    def extraction(
        self, who: Respondent, sample: Sample, variant: str, raw_text: str
    ) -> dict[str, Any]:
        """Return an extraction: `context` for the agent, status, tokens and time.

        Args:
            who: The extractor's model.
            sample: Whose search results they are.
            variant: Name of the format.
            raw_text: The search results.

        Raises:
            ModelError: If the model's server is down or refuses.
        """
        question = sample.question if self.question_aware else None
        if not raw_text.strip():
            return _as_record(variant, status="empty")
        key = content_key(
            "extraction", who.key, prompt_hash(variant_of(variant), question), raw_text
        )
        return self._kept(
            key,
            lambda: self._extract(who, variant, raw_text, question),
            phase="extraction",
            sample=sample.id,
            model=who.name,
            variant=variant,
        )

    def _extract(
        self, who: Respondent, variant: str, raw_text: str, question: str | None
    ) -> dict[str, Any]:
        """Ask for an extraction."""
        from eval.skn.models import patiently

        self._first_call()
        extracted = patiently(
            lambda: extract_text(
                raw_text,
                variant=variant,
                model=who.model,
                question=question,
                seconds=who.options.seconds,
                tokens=who.options.tokens,
                temperature=who.options.temperature,
            )
        )
        value = extracted.value
        return _as_record(
            variant,
            status=extracted.status,
            context=value if isinstance(value, dict) else extracted.text,
            raw=extracted.raw,
            error=extracted.error,
            repairs=[f"{one.code}: {one.message}" for one in extracted.repairs],
            prompt_tokens=extracted.prompt_tokens,
            completion_tokens=extracted.completion_tokens,
            seconds=extracted.seconds,
            attempts=extracted.attempts,
            prompt_hash=extracted.prompt_hash,
            source_characters=extracted.source_characters,
            read_characters=extracted.read_characters,
        )

    def reasoning(
        self, who: Respondent, sample: Sample, context: str | dict[str, Any]
    ) -> dict[str, Any]:
        """Return the agent's answer, with what it cost.

        Args:
            who: The agent's model.
            sample: What is asked.
            context: An extraction.

        Raises:
            ModelError: If the model's server is down or refuses.
        """
        text = context_text(context)
        key = content_key("reasoning", who.key, AGENT_HASH, sample.question, text)

        def make() -> dict[str, Any]:
            self._first_call()
            made = reason(who, text, sample.question).as_dict()
            return {**made, "value": made["value"] or no_reply()}

        return self._kept(
            key, make, phase="reasoning", sample=sample.id, model=who.name
        )

    def verdict(
        self, name: str, who: Respondent, answer: str, beside: str, *, sample: Sample
    ) -> dict[str, Any]:
        """Return a judge's verdict, `value` None where there is none.

        Args:
            name: Which judge.
            who: Its model.
            answer: What is judged.
            beside: What it is compared with.
            sample: What was asked.

        Raises:
            ModelError: If the model's server is down or refuses.
        """
        judge = JUDGES[name]
        key = content_key("verdict", name, who.key, judge.prompt_hash, answer, beside)

        def make() -> dict[str, Any]:
            self._first_call()
            return judge_answer(judge, who, answer, beside).as_dict()

        return self._kept(
            key, make, phase="evaluation", sample=sample.id, judge=name, model=who.name
        )


def _as_record(variant: str, **about: Any) -> dict[str, Any]:
    """Return an extraction as JSON values; one that failed has an empty context."""
    context = about.pop("context", None) or empty_extraction(variant)
    return {
        **about,
        "context": context,
        "tokens_est": token_estimate(context_text(context)),
    }

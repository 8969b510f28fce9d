"""The steps that one question takes through a pipeline."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graph.errors import ModelError, QueryTimeoutError
from retrieval.specificity.answering import answer_prompt, build_context, model_answer
from retrieval.specificity.apart import told_apart
from retrieval.specificity.conversation import context_boosts
from retrieval.specificity.counting import total_of
from retrieval.specificity.cues import intents_of
from retrieval.specificity.doubts import doubt_text
from retrieval.specificity.execution import execute, first_of, in_order, summed
from retrieval.specificity.instantiation import missing_slots
from retrieval.specificity.limiting import limited
from retrieval.specificity.phrases import (
    SHOWN,
    Asked,
    asking_for,
    fixed_text,
    plain_answer,
    unmeasured_text,
)
from retrieval.specificity.results import PipelineResult
from retrieval.specificity.slots import Doubt, Slots
from retrieval.specificity.templates import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from retrieval.specificity.conversation import Conversation
    from retrieval.specificity.execution import Execution
    from retrieval.specificity.experiment import Group
    from retrieval.specificity.instantiation import Instantiated
    from retrieval.specificity.pipeline import TemplatePipeline
    from retrieval.specificity.results import Status
    from retrieval.specificity.templates import Template

__all__ = ["Run"]

_MEASURES = frozenset({
    "date",
    "date_relation",
    "order",
    "limit",
    "budget",
    "comparison",
})
"""Slots that say of what time or budget an institution must be."""


@dataclass(slots=True, kw_only=True)
class Run:
    """One question on its way; `known` collects what the steps give."""

    pipeline: TemplatePipeline
    question: str
    language: str
    before: Conversation
    known: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        """Note how long a step takes."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = time.perf_counter() - begin

    def result(self, k: int) -> PipelineResult:
        """Take every step that the question comes to."""
        if (refusal := self.understood()) is not None:
            return refusal
        template = self.pipeline.templates[self.known["classification"].template_id]
        self.pipeline.count_classified(template.id)
        with self._timed("slots"):
            slots = self.pipeline.extractor.extract(
                self.known["resolution"].question, template, self.known["mentions"]
            )
            self.known["slots"] = slots
            self.known["notes"] = tuple(
                doubt_text(d, self.language) for d in slots.doubts
            )
            missing = missing_slots(template, slots.values)
            self.known["missing"] = missing
        if template.id != NONE and missing:
            return self._asking(template, missing)
        failed = self._queried(template) if template.id != NONE else None
        self._retrieved(template, k)
        if failed is not None:
            return self.end("failed", fixed_text("failed", self.language, failed))
        if template.id == NONE and not self.known.get("chunks"):
            return self.end(NONE, fixed_text("none", self.language))
        return self._answered(template)

    def understood(self) -> PipelineResult | None:
        """Resolve, filter and classify; return a result where that ends it."""
        pipeline = self.pipeline
        with self._timed("resolve"):
            resolution = pipeline.resolver.resolve(
                self.question, self.before, language=self.language
            )
            self.known["resolution"] = resolution
            mentions = pipeline.finder.find(resolution.question)
            self.known["mentions"] = mentions
        if resolution.follow_up and self._elsewhere():
            return self.end("irrelevant", fixed_text("irrelevant", self.language))
        if resolution.lost:
            if resolution.candidates:
                which = ", ".join(resolution.candidates)
                return self.end("lost", fixed_text("which", self.language, which))
            if resolution.strange:
                words = " ".join(resolution.strange)
                said = fixed_text("strange", self.language, words)
                return self.end("lost", said)
            return self.end("lost", fixed_text("lost", self.language))
        with self._timed("filter"):
            relevance = pipeline.filter.check(resolution.question, mentions)
            self.known["relevance"] = relevance
        if not relevance.relevant:
            return self.end("irrelevant", fixed_text("irrelevant", self.language))
        with self._timed("classify"):
            classification = pipeline.classifier.classify(
                resolution.question, mentions, language=self.language
            )
            self.known["classification"] = classification
        return None

    def _elsewhere(self) -> bool:
        """Return whether a follow-up, as it was asked, is about another field."""
        mentions = self.pipeline.finder.find(self.question)
        return self.pipeline.filter.check(self.question, mentions).elsewhere

    def _asking(self, template: Template, missing: tuple[str, ...]) -> PipelineResult:
        """Ask for the slots that have no value."""
        asked = [
            f"{name}:two" if template.each and "|" in name else name for name in missing
        ]
        beside = {"also", "only"}
        doubtful = {d.slot for d in self.known["slots"].doubts if d.kind not in beside}
        notes = [
            doubt_text(d, self.language)
            for d in self.known["slots"].doubts
            if d.slot in doubtful and d.kind not in beside
        ]
        self.known["notes"] = ()
        request = asking_for(asked, self.language)
        return self.end("missing", " ".join([*notes, request]))

    def _queried(self, template: Template) -> str | None:
        """Run the query; return why it was ended, None where it was not."""
        slots: Slots = self.known["slots"]
        with self._timed("instantiate"):
            query = self._instantiated(template, slots.values)
            self.known["instantiated"] = query
        with self._timed("query"):
            try:
                found = self._executed(query, rows=self.pipeline.options.rows)
            except QueryTimeoutError as error:
                return str(error)
        if len(query.runs) > 1:
            found = summed(found)
        if len(query.runs) > 1 and not template.each:
            found = in_order(found, newest=slots.first().get("order") == "newest")
        limit = slots.first().get("limit")
        if limit is not None and len(found.rows) > int(limit):
            found = first_of(found, int(limit))
        self.known["execution"] = found
        if not any(found.column("count") or found.rows):
            self._hint(slots)
        if not found.rows and template.intent in {"date", "budget"}:
            self.known["unmeasured"] = self._unmeasured(template, slots)
        self._counted(query, found)
        return None

    def _hint(self, slots: Slots) -> None:
        """Note towns whose longer names may be meant, where nothing was found."""
        gazetteer = self.pipeline.finder.gazetteer
        city = slots.first().get("city", "")
        if longer := gazetteer.longer_names("city", city):
            doubt = Doubt(kind="longer", slot="city", text=city, candidates=longer)
            text = doubt_text(doubt, self.language)
            self.known["notes"] = (*self.known["notes"], text)

    def _unmeasured(self, template: Template, slots: Slots) -> bool:
        """Return whether nothing that was asked for has any date, or any budget."""
        given = {n: v for n, v in slots.values.items() if n not in _MEASURES}
        if "budget" in template.slots:
            given |= {"budget": "-999999999999", "comparison": "at_least"}
        query = self._instantiated(template, given)
        with self._timed("measured"):
            try:
                return not self._executed(query, rows=1).rows
            except QueryTimeoutError:
                return False

    def _instantiated(
        self, template: Template, values: Mapping[str, str | tuple[str, ...]]
    ) -> Instantiated:
        """Return a template with values, over the institutions that are asked for."""
        pipeline = self.pipeline
        query = pipeline.instantiator.instantiate(
            template, values, pipeline.finder.gazetteer.meant
        )
        if pipeline.options.corpus is None:
            return query
        return limited(query, pipeline.options.corpus, base=pipeline.options.base)

    def _executed(self, query: Instantiated, *, rows: int) -> Execution:
        """Run a query.

        Raises:
            QueryTimeoutError: If it takes longer than it may.
        """
        options = self.pipeline.options
        return execute(
            self.pipeline.graph,
            query,
            base=options.base,
            seconds=options.query_seconds,
            rows=rows,
        )

    def _counted(self, query: Instantiated, found: Execution) -> None:
        """Count what was found, where that is asked or not all of it is fetched."""
        question = self.known["resolution"].question
        counted = "count" in intents_of(question, self.known["mentions"])
        if "count" in found.columns or not (counted or found.cut):
            return
        options = self.pipeline.options
        with self._timed("count"):
            self.known["counted"] = counted
            self.known["total"] = total_of(
                self.pipeline.graph,
                query,
                found,
                base=options.base,
                seconds=options.query_seconds,
            )

    def _retrieved(self, template: Template, k: int) -> None:
        """Score classes, filter them, and search chunks of those that are kept."""
        pipeline = self.pipeline
        with self._timed("classes"):
            context = pipeline.mapper.map(template.id, self.known["slots"].first())
            scores = pipeline.scores.get_all_scores(context)
            boosts = context_boosts(self.before)
            classes = pipeline.class_filter.filter(scores, boosts)
            group = self._group()
            self.known |= {
                "context_template": context,
                "boosts": boosts,
                "classes": classes,
                "group": group,
            }
        restricted = group != "control"  # whose questions are not filtered
        if restricted:
            pipeline.count_filtered(context, len(scores), len(classes.kept))
        if pipeline.search is None:
            return
        with self._timed("search"):
            chunks = pipeline.search.search(
                self.known["resolution"].question,
                classes.names if restricted else None,
                k=k,
            )
            all_scores = {**classes.kept, **classes.dropped}
            ranked = pipeline.ranker.rank(chunks, all_scores if restricted else {})
            self.known["chunks"] = ranked

    def _group(self) -> Group | None:
        """Return the group of the session."""
        if self.pipeline.experiment is None or self.before.id is None:
            return None
        return self.pipeline.experiment.group(self.before.id)

    def _answered(self, template: Template) -> PipelineResult:
        """Answer from rows and chunks."""
        found = self.known.get("execution")
        chunks = self.known.get("chunks", ())
        context = build_context(found, chunks)
        self.known["context"] = context
        plain = self._plain(template)
        if self.pipeline.model is None:
            return self.end("answered" if found else NONE, plain)
        with self._timed("answer"):
            prompt = answer_prompt(
                self.known["resolution"].question,
                context,
                self.before,
                language=self.language,
            )
            try:
                answer = model_answer(
                    self.pipeline.model,
                    prompt,
                    seconds=self.pipeline.options.answer_seconds,
                )
            except ModelError as error:
                self.known["notes"] = (*self.known["notes"], str(error))
                return self.end("answered" if found else NONE, plain)
        self.known["model"] = self.pipeline.model.name
        return self.end("answered", answer)

    def _plain(self, template: Template) -> str:
        """Return the answer in fixed words."""
        found = self.known.get("execution")
        if found is None:
            return fixed_text("none", self.language)
        slots: Slots = self.known["slots"]
        if not found.rows or not any(found.column("count") or (1,)):
            for doubt in slots.doubts:
                if doubt.kind == "unrecorded":
                    return self._only_told(doubt)
        if self.known.get("unmeasured"):
            return unmeasured_text(template, slots.values, self.language)
        options = self.pipeline.options
        apart = told_apart(
            self.pipeline.graph,
            found,
            language=self.language,
            shown=SHOWN,
            base=options.base,
            seconds=options.query_seconds,
        )
        asked = Asked(
            counted=self.known.get("counted", False),
            total=self.known.get("total"),
            apart=apart,
        )
        return plain_answer(
            template.id, found, slots.values, self.language, asked=asked
        )

    def _only_told(self, doubt: Doubt) -> str:
        """Return a doubt as the answer, and no longer as a note beside it."""
        text = doubt_text(doubt, self.language)
        self.known["notes"] = tuple(n for n in self.known["notes"] if n != text)
        return text

    def end(self, status: Status, answer: str) -> PipelineResult:
        """Return the result with all that is known."""
        return PipelineResult(
            question=self.question,
            language=self.language,
            status=status,
            answer=answer,
            conversation=self.before,
            **{"slots": Slots(), **self.known},
        )

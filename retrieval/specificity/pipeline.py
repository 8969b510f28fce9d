"""From a question to an answer, through a SPARQL template and classes of heritage."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from graph.errors import InputError, ModelError, QueryTimeoutError
from retrieval.specificity.answering import answer_prompt, build_context, model_answer
from retrieval.specificity.caching import CachedScores
from retrieval.specificity.classifying import EmbeddingTemplateClassifier
from retrieval.specificity.conversation import Conversation, PastTurn, context_boosts
from retrieval.specificity.execution import DEFAULT_BASE, SECONDS, execute
from retrieval.specificity.instantiation import TemplateInstantiator, missing_slots
from retrieval.specificity.language import language_of
from retrieval.specificity.lookup import load_lookup
from retrieval.specificity.mapping import SPARQLToContextMapper
from retrieval.specificity.mentions import MentionFinder
from retrieval.specificity.phrases import (
    asking_for,
    doubt_text,
    fixed_text,
    plain_answer,
)
from retrieval.specificity.ranking import ClassFilter, SpecificityRanker
from retrieval.specificity.relevance import FykeFilter
from retrieval.specificity.resolver import ConversationContextResolver
from retrieval.specificity.results import PipelineResult
from retrieval.specificity.slots import SlotExtractor, Slots
from retrieval.specificity.templates import LANGUAGES, NONE, load_templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdflib import Graph

    from graph.connection import Connection
    from graph.language_models import LanguageModel
    from retrieval.specificity.chunks import ChunkSearch
    from retrieval.specificity.classifying import TemplateClassifier
    from retrieval.specificity.experiment import Group, SpecificityExperiment
    from retrieval.specificity.gazetteer import Gazetteer
    from retrieval.specificity.lookup import ScoreSource
    from retrieval.specificity.monitoring import SpecificityMetrics
    from retrieval.specificity.results import Status
    from retrieval.specificity.templates import Template

__all__ = ["PipelineOptions", "TemplatePipeline"]

LONGEST_QUESTION = 2_000
ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """Limits of a pipeline.

    Attributes:
        base: Where the IRIs of the graph begin.
        threshold: Score that a class must have.
        query_seconds: Time limit of the queries of one question.
        answer_seconds: Time that a language model has.
        rows: Rows of a query at most.
    """

    base: str = DEFAULT_BASE
    threshold: float = 0.5
    query_seconds: float = SECONDS
    answer_seconds: float = ANSWER_SECONDS
    rows: int = 1_000


class TemplatePipeline:
    """Answers questions by templates; each step can be replaced.

    Safe to share between threads as far as the graph and the models are.
    """

    def __init__(
        self,
        graph: Graph,
        gazetteer: Gazetteer,
        *,
        templates: Mapping[str, Template] | None = None,
        classifier: TemplateClassifier | None = None,
        scores: ScoreSource | None = None,
        search: ChunkSearch | None = None,
        ranker: SpecificityRanker | None = None,
        model: LanguageModel | None = None,
        store: Connection | None = None,
        metrics: SpecificityMetrics | None = None,
        experiment: SpecificityExperiment | None = None,
        options: PipelineOptions | None = None,
    ) -> None:
        """Put a pipeline together.

        Args:
            graph: Any rdflib graph, in memory or live over Neo4j.
            gazetteer: The names of that graph.
            templates: By id; None takes those that come with the product.
            classifier: None compares words, without an embedder.
            scores: Of classes; None reads the schema that comes with the product.
            search: Of chunks; None searches none.
            ranker: Of chunks.
            model: Writes answers; None answers in fixed words.
            store: Where turns are stored; None stores none.
            metrics: Counts; None counts nothing.
            experiment: Which sessions are filtered; None filters all.
            options: Limits.
        """
        self.options = options or PipelineOptions()
        self.graph = graph
        self.templates = dict(load_templates() if templates is None else templates)
        self.finder = MentionFinder(gazetteer)
        self.resolver = ConversationContextResolver(self.finder)
        self.filter = FykeFilter()
        self.classifier = classifier or EmbeddingTemplateClassifier(self.templates)
        self.extractor = SlotExtractor(self.finder)
        self.instantiator = TemplateInstantiator()
        self.mapper = SPARQLToContextMapper()
        self.scores = CachedScores(load_lookup() if scores is None else scores)
        self.class_filter = ClassFilter(self.options.threshold)
        self.ranker = ranker or SpecificityRanker()
        self.search = search
        self.model = model
        self.experiment = experiment
        self._store = store
        self._metrics = metrics

    def forward(
        self,
        question: str,
        *,
        language: str | None = None,
        conversation: Conversation | str | None = None,
        k: int = 10,
    ) -> PipelineResult:
        """Answer a question, and return every step on the way.

        Args:
            question: What is asked, at most 2,000 characters.
            language: `en` or `nl`; None tells it by the question's words.
            conversation: What was said before, or the name of a stored conversation,
                which the turn is added to.
            k: Chunks at most.

        Raises:
            InputError: If the question is empty or too long, the language is another,
                `k` is no good, or a conversation is named and nothing is stored.
            DatabaseError: If the database fails.
        """
        _check(question, language, k)
        before = self._conversation(conversation)
        spoken = language or language_of(
            question, before.turns[-1].language if before.turns else "en"
        )
        run = _Run(pipeline=self, question=question, language=spoken, before=before)
        result = run.result(k)
        result = replace(
            result, conversation=before.with_turn(_turn(result)), seconds=run.seconds
        )
        if self._store is None or before.id is None:
            return result
        from retrieval.specificity.storing import store_turn

        return replace(result, turn_id=store_turn(self._store, result, before=before))

    __call__ = forward

    def _conversation(self, given: Conversation | str | None) -> Conversation:
        """Return what was said before."""
        if given is None:
            return Conversation()
        if not isinstance(given, str):
            return given
        if self._store is None:
            msg = f"Conversation {given[:80]!r} is named, but nothing is stored."
            raise InputError(msg)
        from retrieval.specificity.storing import read_conversation

        return read_conversation(self._store, given)

    def count_classified(self, template_id: str) -> None:
        """Count a question of a template."""
        if self._metrics is not None:
            self._metrics.classified(template_id)

    def count_filtered(self, context: str, before: int, after: int) -> None:
        """Count a filter of classes."""
        if self._metrics is not None:
            self._metrics.filtered(
                context, before=before, after=after, threshold=self.options.threshold
            )


@dataclass(slots=True, kw_only=True)
class _Run:
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
        if (refusal := self._understood()) is not None:
            return refusal
        template = self.pipeline.templates[self.known["classification"].template_id]
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
            return self._end("failed", fixed_text("failed", self.language, failed))
        if template.id == NONE and not self.known.get("chunks"):
            return self._end(NONE, fixed_text("none", self.language))
        return self._answered(template)

    def _understood(self) -> PipelineResult | None:
        """Resolve, filter and classify; return a result where that ends it."""
        pipeline = self.pipeline
        with self._timed("resolve"):
            resolution = pipeline.resolver.resolve(
                self.question, self.before, language=self.language
            )
            self.known["resolution"] = resolution
            mentions = pipeline.finder.find(resolution.question)
            self.known["mentions"] = mentions
        if resolution.lost:
            key, values = "lost", ()
            if resolution.candidates:
                key, values = "which", (", ".join(resolution.candidates),)
            return self._end("lost", fixed_text(key, self.language, *values))
        with self._timed("filter"):
            relevance = pipeline.filter.check(resolution.question, mentions)
            self.known["relevance"] = relevance
        if not relevance.relevant:
            return self._end("irrelevant", fixed_text("irrelevant", self.language))
        with self._timed("classify"):
            classification = pipeline.classifier.classify(
                resolution.question, mentions, language=self.language
            )
            self.known["classification"] = classification
        pipeline.count_classified(classification.template_id)
        return None

    def _asking(self, template: Template, missing: tuple[str, ...]) -> PipelineResult:
        """Ask for the slots that have no value."""
        asked = [
            f"{name}:two" if template.each and "|" in name else name for name in missing
        ]
        doubtful = {d.slot for d in self.known["slots"].doubts if d.kind != "also"}
        notes = [
            doubt_text(d, self.language)
            for d in self.known["slots"].doubts
            if d.slot in doubtful and d.kind != "also"
        ]
        self.known["notes"] = ()
        request = asking_for(asked, self.language)
        return self._end("missing", " ".join([*notes, request]))

    def _queried(self, template: Template) -> str | None:
        """Run the query; return why it was ended, None where it was not."""
        pipeline = self.pipeline
        slots: Slots = self.known["slots"]
        with self._timed("instantiate"):
            query = pipeline.instantiator.instantiate(template, slots.values)
            self.known["instantiated"] = query
        with self._timed("query"):
            try:
                found = execute(
                    pipeline.graph,
                    query,
                    base=pipeline.options.base,
                    seconds=pipeline.options.query_seconds,
                    rows=pipeline.options.rows,
                )
            except QueryTimeoutError as error:
                return str(error)
        limit = slots.first().get("limit")
        if limit is not None and len(found.rows) > int(limit):
            found = replace(found, rows=found.rows[: int(limit)], cut=False)
        self.known["execution"] = found
        return None

    def _retrieved(self, template: Template, k: int) -> None:
        """Score classes, filter them, and search chunks of those that are kept."""
        pipeline = self.pipeline
        with self._timed("classes"):
            context = pipeline.mapper.map(template.id, self.known["slots"].first())
            scores = pipeline.scores.get_all_scores(context)
            boosts = context_boosts(self.before)
            classes = pipeline.class_filter.filter(scores, boosts)
            self.known |= {
                "context_template": context,
                "boosts": boosts,
                "classes": classes,
                "group": self._group(),
            }
        pipeline.count_filtered(context, len(scores), len(classes.kept))
        if pipeline.search is None:
            return
        with self._timed("search"):
            restricted = self.known["group"] != "control"
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
            return self._end("answered" if found else NONE, plain)
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
                return self._end("answered" if found else NONE, plain)
        self.known["model"] = self.pipeline.model.name
        return self._end("answered", answer)

    def _plain(self, template: Template) -> str:
        """Return the answer in fixed words."""
        found = self.known.get("execution")
        if found is None:
            return fixed_text("none", self.language)
        return plain_answer(
            template.id, found, self.known["slots"].values, self.language
        )

    def _end(self, status: Status, answer: str) -> PipelineResult:
        """Return the result with all that is known."""
        return PipelineResult(
            question=self.question,
            language=self.language,
            status=status,
            answer=answer,
            conversation=self.before,
            **{"slots": Slots(), **self.known},
        )


def _turn(result: PipelineResult) -> PastTurn:
    """Return a result as a turn that later ones build on."""
    found = result.execution.column("name") if result.execution else ()
    names = tuple(dict.fromkeys(str(name) for name in found))[:10]
    return PastTurn(
        question=result.question,
        resolved=result.resolution.question,
        language=result.language,
        template_id=result.template_id,
        slots=result.slots.values,
        classes=result.relevant_classes,
        names=names,
        answer=result.answer,
    )


def _check(question: str, language: str | None, k: int) -> None:
    """Refuse what cannot be answered.

    Raises:
        InputError: If something is no good; says what.
    """
    if not question.strip():
        msg = "The question is empty: ask something."
        raise InputError(msg)
    if len(question) > LONGEST_QUESTION:
        msg = (
            f"The question has {len(question)} characters: the most is "
            f"{LONGEST_QUESTION}."
        )
        raise InputError(msg)
    if language is not None and language not in LANGUAGES:
        msg = f"The language is {language!r}: use one of {', '.join(LANGUAGES)}."
        raise InputError(msg)
    if isinstance(k, bool) or not 1 <= k <= 1_000:
        msg = f"k is {k!r}: give a number from 1 to 1000."
        raise InputError(msg)

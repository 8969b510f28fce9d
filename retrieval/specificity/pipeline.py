"""From a question to an answer, through a SPARQL template and classes of heritage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graph.errors import InputError
from retrieval.specificity.caching import CachedScores
from retrieval.specificity.classifying import EmbeddingTemplateClassifier
from retrieval.specificity.conversation import Conversation, PastTurn
from retrieval.specificity.execution import DEFAULT_BASE, SECONDS
from retrieval.specificity.instantiation import TemplateInstantiator
from retrieval.specificity.language import language_of
from retrieval.specificity.lookup import load_lookup
from retrieval.specificity.mapping import SPARQLToContextMapper
from retrieval.specificity.mentions import MentionFinder
from retrieval.specificity.ranking import ClassFilter, SpecificityRanker
from retrieval.specificity.relevance import FykeFilter
from retrieval.specificity.resolver import ConversationContextResolver
from retrieval.specificity.slots import SlotExtractor
from retrieval.specificity.steps import Run
from retrieval.specificity.templates import LANGUAGES, NONE, load_templates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdflib import Graph

    from graph.connection import Connection
    from graph.language_models import LanguageModel
    from retrieval.specificity.chunks import ChunkSearch
    from retrieval.specificity.classifying import TemplateClassifier
    from retrieval.specificity.experiment import SpecificityExperiment
    from retrieval.specificity.gazetteer import Gazetteer
    from retrieval.specificity.lookup import ScoreSource
    from retrieval.specificity.monitoring import SpecificityMetrics
    from retrieval.specificity.results import PipelineResult
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
        corpus: Only institutions of this corpus are found; None finds all.
    """

    base: str = DEFAULT_BASE
    threshold: float = 0.5
    query_seconds: float = SECONDS
    answer_seconds: float = ANSWER_SECONDS
    rows: int = 1_000
    corpus: str | None = None


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
        run = Run(
            pipeline=self,
            question=question,
            language=language or _language(question, before),
            before=before,
        )
        result = run.result(k)
        result = replace(
            result, conversation=before.with_turn(_turn(result)), seconds=run.seconds
        )
        if self._store is None or before.id is None:
            return result
        from retrieval.specificity.storing import store_turn

        return replace(result, turn_id=store_turn(self._store, result, before=before))

    __call__ = forward

    def understand(
        self,
        question: str,
        *,
        language: str | None = None,
        conversation: Conversation | str | None = None,
    ) -> PipelineResult:
        """Resolve, filter and classify a question; nothing is run, counted or stored.

        Takes the arguments of `forward`. The status is `none` where it would go on.
        """
        _check(question, language, 1)
        before = self._conversation(conversation)
        run = Run(
            pipeline=self,
            question=question,
            language=language or _language(question, before),
            before=before,
        )
        return run.understood() or run.end(NONE, "")

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


def _language(question: str, before: Conversation) -> str:
    """Return the language of a question; that of the turn before where it is open."""
    last = before.turns[-1].language if before.turns else "en"
    return language_of(question, last)


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

"""From a question to an answer, through a SPARQL template and classes of heritage."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from knowtrail.graph.errors import InputError, ModelError, QueryTimeoutError
from knowtrail.retrieval.specificity.accounting import left_out
from knowtrail.retrieval.specificity.class_scores import (
    CachedScores,
    ClassFilter,
    SPARQLToContextMapper,
    SpecificityRanker,
    load_lookup,
)
from knowtrail.retrieval.specificity.classifier import TrainedTemplateClassifier
from knowtrail.retrieval.specificity.conversation import (
    Conversation,
    PastTurn,
    context_boosts,
)
from knowtrail.retrieval.specificity.cues import FykeFilter, counts
from knowtrail.retrieval.specificity.execution import (
    DEFAULT_BASE,
    SECONDS,
    execute,
    first_of,
    in_order,
    summed,
)
from knowtrail.retrieval.specificity.institutions import (
    Limits,
    limited,
    narrowed,
    paired,
    told_apart,
    total_of,
)
from knowtrail.retrieval.specificity.mention import MentionFinder, without_excluded
from knowtrail.retrieval.specificity.phrases import (
    SHOWN,
    Asked,
    answer_prompt,
    asking_for,
    build_context,
    doubt_text,
    fixed_text,
    joined,
    model_answer,
    plain_answer,
    unmeasured_text,
)
from knowtrail.retrieval.specificity.query_templates import (
    LANGUAGES,
    NONE,
    TemplateInstantiator,
    load_templates,
    missing_slots,
)
from knowtrail.retrieval.specificity.resolver import ConversationContextResolver
from knowtrail.retrieval.specificity.slots import Doubt, SlotExtractor, Slots
from knowtrail.retrieval.specificity.vocabulary import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rdflib import Graph

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.specificity.class_scores import (
        ContextTemplate,
        FilteredClasses,
        RankedChunk,
        ScoreSource,
    )
    from knowtrail.retrieval.specificity.classifier import (
        Classification,
        TemplateClassifier,
    )
    from knowtrail.retrieval.specificity.cues import Relevance
    from knowtrail.retrieval.specificity.execution import Execution
    from knowtrail.retrieval.specificity.gazetteer import Gazetteer
    from knowtrail.retrieval.specificity.live_pipeline import ChunkSearch
    from knowtrail.retrieval.specificity.mention import Mention
    from knowtrail.retrieval.specificity.monitoring import (
        Group,
        SpecificityExperiment,
        SpecificityMetrics,
    )
    from knowtrail.retrieval.specificity.query_templates import Instantiated, Template
    from knowtrail.retrieval.specificity.resolver import Resolution

Status: TypeAlias = Literal[
    "answered", "irrelevant", "none", "lost", "missing", "failed"
]
"""`answered`; `irrelevant` to heritage; `none`: no template; `lost`: a follow-up to
nothing; `missing`: a slot has no value; `failed`: the query was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """Every result on the way from a question to its answer.

    A step that was not reached is None or empty.

    Attributes:
        question: As it was asked.
        language: `en` or `nl`.
        status: How it ended.
        answer: What is said to the user.
        resolution: The question standing alone.
        mentions: What it names.
        relevance: Whether it is about heritage.
        classification: Its template with a confidence.
        slots: Values and doubts.
        missing: Slots that are asked for, by name.
        asked: The question without what it excludes.
        excluded: Types, places and dates that it excludes.
        added: Dates, budgets and places that hold beside the slots of the template.
        left_out: Words of the question that the query does not take into account.
        instantiated: The queries with what their variables are bound to.
        execution: Their rows.
        counted: Whether the question asks for the number of what rows list.
        total: How many institutions there are, where that is asked or there are more
            than rows; None otherwise, or where it cannot be told.
        unmeasured: Whether nothing was found because nothing there has any date, or
            any budget.
        context_template: By which classes are scored.
        boosts: What the conversation adds to the scores of classes.
        classes: Classes kept and dropped, with their scores.
        chunks: Found among the kept classes, ranked.
        context: What the answer rests on, as a model is told it.
        notes: What the user should know beside the answer.
        group: Of the experiment; None where there is none.
        model: What wrote the answer; None for a plain one.
        conversation: With this turn.
        turn_id: Where the turn is stored; None where it is not.
        seconds: How long each step took, by name.
    """

    question: str
    language: str
    status: Status
    answer: str
    resolution: Resolution
    mentions: tuple[Mention, ...] = ()
    relevance: Relevance | None = None
    classification: Classification | None = None
    slots: Slots
    missing: tuple[str, ...] = ()
    asked: str = ""
    excluded: tuple[Mention, ...] = ()
    added: tuple[Mention, ...] = ()
    left_out: tuple[str, ...] = ()
    instantiated: Instantiated | None = None
    execution: Execution | None = None
    counted: bool = False
    total: int | None = None
    unmeasured: bool = False
    context_template: ContextTemplate | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)
    classes: FilteredClasses | None = None
    chunks: tuple[RankedChunk, ...] = ()
    context: str = ""
    notes: tuple[str, ...] = ()
    group: Group | None = None
    model: str | None = None
    conversation: Conversation
    turn_id: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def template_id(self) -> str:
        """Return the template; `none` where it came to none."""
        return (
            "none" if self.classification is None else self.classification.template_id
        )

    @property
    def relevant_classes(self) -> tuple[str, ...]:
        """Return the names of the classes that were kept."""
        return () if self.classes is None else self.classes.names

    @property
    def names(self) -> tuple[str, ...]:
        """Return the first ten institutions of the rows."""
        found = self.execution.column("name") if self.execution else ()
        return tuple(dict.fromkeys(str(name) for name in found))[:10]

    def as_dict(self) -> dict[str, Any]:
        """Return what matters to a caller as JSON values with camelCase names."""
        found = self.execution
        return {
            "question": self.question,
            "resolved": self.resolution.question,
            "language": self.language,
            "route": "templates",
            "status": self.status,
            "answer": self.answer,
            "notes": list(self.notes),
            "template": self.template_id,
            "confidence": (
                None if self.classification is None else self.classification.confidence
            ),
            "slots": {
                n: v if isinstance(v, str) else list(v)
                for n, v in self.slots.values.items()
            },
            "missing": list(self.missing),
            "excluded": [m.text for m in self.excluded],
            "leftOut": list(self.left_out),
            "columns": [] if found is None else list(found.columns),
            "rows": [] if found is None else [list(row) for row in found.rows],
            "total": self.total,
            "contextTemplate": self.context_template,
            "classes": {} if self.classes is None else dict(self.classes.kept),
            "chunks": [
                {
                    "chunkId": c.chunk_id,
                    "title": c.title,
                    "className": c.class_name,
                    "score": c.score,
                    "similarity": c.similarity,
                    "specificity": c.specificity,
                }
                for c in self.chunks
            ],
            "model": self.model,
            "conversation": self.conversation.id,
            "turn": self.turn_id,
        }


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
    strict: bool = False
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
        missing = self.fill(template)
        if self.known["excluded"] and (missing or self._unasked(template)):
            taken = replace(self.known["classification"], template_id=NONE)
            self.known["classification"] = taken
            return self.end(NONE, fixed_text("none", self.language))
        if template.id != NONE and missing:
            return self._asking(template, missing)
        left = "', '".join(self.known["left_out"])
        if left and self.strict:
            return self.end(NONE, fixed_text("strict", self.language, left))
        failed = self._queried(template) if template.id != NONE else None
        self._retrieved(template, k)
        if failed is not None:
            return self.end("failed", fixed_text("failed", self.language, failed))
        if template.id == NONE and not self.known.get("chunks"):
            return self.end(NONE, fixed_text("none", self.language))
        result = self._answered(template)
        told = [fixed_text("left", self.language, left)] if left else []
        if out := joined([m.text for m in self.known["excluded"]], self.language):
            told.append(fixed_text("without", self.language, out))
        return replace(result, answer=" ".join([*told, result.answer]))

    def _unasked(self, template: Template) -> bool:
        """Return whether a template counts what a question wants to be listed."""
        counted = counts(self.known["asked"], self.known["mentions"])
        return template.intent == "count" and not counted

    def fill(self, template: Template) -> tuple[str, ...]:
        """Fill the slots, account for every word; return which slots are missing."""
        question, mentions = self.known["asked"], self.known["mentions"]
        with self._timed("slots"):
            slots = self.pipeline.extractor.extract(question, template, mentions)
            missing = missing_slots(template, slots.values)
        gazetteer = self.pipeline.finder.gazetteer
        added = _added(template, mentions)
        self.known |= {
            "slots": slots,
            "notes": tuple(doubt_text(d, self.language) for d in slots.doubts),
            "missing": missing,
            "added": added,
            "left_out": ()
            if template.id == NONE
            else (
                *self.known["resolution"].left_out,
                *left_out(question, mentions, template, slots, gazetteer, added),
            ),
        }
        return missing

    def understood(self) -> PipelineResult | None:
        """Resolve, filter and classify; return a result where that ends it."""
        pipeline = self.pipeline
        with self._timed("resolve"):
            resolution = pipeline.resolver.resolve(
                self.question, self.before, language=self.language
            )
            self.known["resolution"] = resolution
            asked, excluded = without_excluded(
                resolution.question, pipeline.finder.find_all(resolution.question)
            )
            mentions = pipeline.finder.find(asked)
            self.known |= {"asked": asked, "mentions": mentions, "excluded": excluded}
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
            relevance = pipeline.filter.check(asked, mentions)
            self.known["relevance"] = relevance
        if not relevance.relevant:
            return self.end("irrelevant", fixed_text("irrelevant", self.language))
        with self._timed("classify"):
            classification = pipeline.classifier.classify(
                asked, mentions, language=self.language
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
        values = slots.first()
        if len(query.runs) > 1 and "name" in found.columns:
            found = in_order(found, values.get("order"))
        limit, skip = int(values.get("limit", 0)), int(values.get("skip", 0))
        if limit and (skip or len(found.rows) > limit):
            found = first_of(found, limit, skip)
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
        if not template.each:
            query = paired(query, self.known["mentions"])
        limits = Limits(excluded=self.known["excluded"], added=self.known["added"])
        if limits.excluded or limits.added:
            meant = pipeline.finder.gazetteer.meant
            query = narrowed(query, limits, meant, base=pipeline.options.base)
        if pipeline.options.corpus is None:
            return query
        return limited(query, pipeline.options.corpus, base=pipeline.options.base)

    def _executed(self, query: Instantiated, *, rows: int) -> Execution:
        """Run a query."""
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
        question = self.known["asked"]
        counted = counts(question, self.known["mentions"])
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
        if self.pipeline.experiment is None or self.before.key is None:
            return None
        return self.pipeline.experiment.group(self.before.key)

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
            question=self.known["asked"],
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
            classifier: None takes the one that is trained on examples.
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
        self.classifier = classifier or TrainedTemplateClassifier(self.templates)
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
        strict: bool = False,
    ) -> PipelineResult:
        """Answer a question, and return every step on the way.

        Args:
            question: What is asked, at most 2,000 characters.
            language: `en` or `nl`; None tells it by the question's words.
            conversation: What was said before, or the name of a stored conversation,
                which the turn is added to.
            k: Chunks at most.
            strict: Whether a question with words that the query does not take into
                account is refused; else the answer begins with them.

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
            strict=strict,
        )
        result = run.result(k)
        result = replace(
            result, conversation=before.with_turn(_turn(result)), seconds=run.seconds
        )
        if self._store is None or before.id is None:
            return result
        from knowtrail.retrieval.specificity.conversation import store_turn

        return replace(result, turn_id=store_turn(self._store, result, before=before))

    __call__ = forward

    def understand(
        self,
        question: str,
        *,
        language: str | None = None,
        conversation: Conversation | str | None = None,
    ) -> PipelineResult:
        """Resolve, classify and account for a question; nothing is run or stored.

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
        if (refusal := run.understood()) is not None:
            return refusal
        run.fill(self.templates[run.known["classification"].template_id])
        return run.end(NONE, "")

    def _conversation(self, given: Conversation | str | None) -> Conversation:
        """Return what was said before."""
        if given is None:
            return Conversation()
        if not isinstance(given, str):
            return given
        if self._store is None:
            msg = f"Conversation {given[:80]!r} is named, but nothing is stored."
            raise InputError(msg)
        from knowtrail.retrieval.specificity.conversation import read_conversation

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


def _added(template: Template, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return what a query heeds, though its template has no slot for it."""
    if template.id == NONE or template.intent in {"name", "identifier"}:
        return ()
    types = {slot.type for slot in template.slots.values()}
    if "name" in types:
        return ()
    measures = [m for m in mentions if m.kind in {"date", "budget"} - types]
    within = [m.within for m in mentions if m.within is not None]
    return (*(m for m in measures if not m.foreign), *within)


def _language(question: str, before: Conversation) -> str:
    """Return the language of a question; that of the turn before where it is open."""
    last = before.turns[-1].language if before.turns else "en"
    return language_of(question, last)


def _turn(result: PipelineResult) -> PastTurn:
    """Return a result as a turn that later ones build on."""
    return PastTurn(
        question=result.question,
        resolved=result.resolution.question,
        language=result.language,
        template_id=result.template_id,
        slots=result.slots.values,
        classes=result.relevant_classes,
        names=result.names,
        answer=result.answer,
    )


def _check(question: str, language: str | None, k: int) -> None:
    """Refuse what cannot be answered."""
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
        msg = f"k is {str(k)[:80]}: give a number from 1 to 1000."
        raise InputError(msg)

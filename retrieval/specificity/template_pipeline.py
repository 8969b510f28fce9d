"""From a question to an answer, through a SPARQL template and classes of heritage."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from knowtrail.graph.errors import (
    InputError,
    KnowtrailError,
    ModelError,
    QueryTimeoutError,
    check_ranges,
)
from knowtrail.ingest.keys import camel_cased
from knowtrail.retrieval.specificity import institutions, phrases
from knowtrail.retrieval.specificity.class_scores import (
    FILTERED,
    CachedScores,
    ClassFilter,
    ContextTemplate,
    FilteredClasses,
    RankedChunk,
    ScoreSource,
    SPARQLToContextMapper,
    SpecificityRanker,
    load_lookup,
)
from knowtrail.retrieval.specificity.classifier import (
    Classification,
    TemplateClassifier,
    TrainedTemplateClassifier,
)
from knowtrail.retrieval.specificity.conversation import (
    NAMES,
    Conversation,
    PastTurn,
    context_boosts,
    read_conversation,
    store_turn,
)
from knowtrail.retrieval.specificity.cues import Account, Relevance
from knowtrail.retrieval.specificity.execution import (
    MOST_ROWS,
    SECONDS,
    Execution,
    execute,
    first_of,
    in_order,
    summed,
)
from knowtrail.retrieval.specificity.mention import MentionFinder
from knowtrail.retrieval.specificity.quantities import asked_order
from knowtrail.retrieval.specificity.query_templates import (
    LANGUAGES,
    NONE,
    Instantiated,
    Template,
    TemplateInstantiator,
    each_of,
    load_templates,
    missing_slots,
)
from knowtrail.retrieval.specificity.slots import Doubt, SlotExtractor, Slots
from knowtrail.retrieval.specificity.understanding import (
    Rules,
    Understanding,
    Understood,
    as_read,
)
from knowtrail.retrieval.specificity.vocabulary import Mention, language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rdflib import Graph

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.specificity.gazetteer import Gazetteer
    from knowtrail.retrieval.specificity.institutions import Nearby, Vicinity
    from knowtrail.retrieval.specificity.live_pipeline import ChunkSearch
    from knowtrail.retrieval.specificity.monitoring import (
        Group,
        SpecificityExperiment,
        SpecificityMetrics,
    )
    from knowtrail.retrieval.specificity.query_templates import SlotValues
    from knowtrail.retrieval.specificity.resolver import Resolution

Status: TypeAlias = Literal[
    "answered", "irrelevant", "none", "lost", "missing", "failed"
]
"""`answered`; `irrelevant` to heritage; `none`: no template; `lost`: a follow-up to
nothing; `missing`: a slot has no value; `failed`: the query was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """Every result on the way from a question to its answer.

    A step that was not reached is None or empty. `asked` is the question without what
    it excludes; `added` holds beside the slots of the template; `left_out` are words
    that the query does not take into account; `counted` is whether the number of what
    rows list is asked for, `total` that number, where it is asked or there are more
    than rows, None where it cannot be told; `unmeasured` is whether nothing was found
    because nothing there has any date, or any budget; `boosts` is what the conversation
    adds to the scores of classes. The group is that of an experiment; the model what
    wrote the answer, None for a plain one; the conversation has this turn.
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
        return self.classification.template_id if self.classification else NONE

    @property
    def relevant_classes(self) -> tuple[str, ...]:
        """Return the names of the classes that were kept."""
        return () if self.classes is None else self.classes.names

    @property
    def cited(self) -> tuple[RankedChunk, ...]:
        """Return the passages that the answer is, where no template fits."""
        told = self.execution is None and self.model is None and self.status == NONE
        return self.chunks[: phrases.PASSAGES] if told else ()

    @property
    def told(self) -> list[str]:
        """Return what the answer begins with: words not heeded, and exclusions."""
        left = "', '".join(self.left_out)
        told = [phrases.fixed_text("left", self.language, left)] if left else []
        if out := phrases.joined([m.text for m in self.excluded], self.language):
            told.append(phrases.fixed_text("without", self.language, out))
        return told

    @property
    def names(self) -> tuple[str, ...]:
        """Return the first ten institutions of the rows."""
        found = self.execution.column("name") if self.execution else ()
        return tuple(dict.fromkeys(str(name) for name in found))[:NAMES]

    def as_dict(self) -> dict[str, Any]:
        """Return what matters to a caller as JSON values with camelCase names."""
        found, taken = self.execution, self.classification
        return {
            "question": self.question,
            "resolved": self.resolution.question,
            "language": self.language,
            "route": "templates",
            "status": self.status,
            "answer": self.answer,
            "notes": list(self.notes),
            "template": self.template_id,
            "confidence": taken.confidence if taken else None,
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
                camel_cased(c, *_CHUNK) | {"sentenceIds": list(c.sentence_ids)}
                for c in self.chunks
            ],
            "citation": [i for c in self.cited for i in c.sentence_ids],
            "model": self.model,
            "conversation": self.conversation.id,
            "turn": self.turn_id,
        }


_CHUNK = ("chunk_id", "title", "class_name", "score", "similarity", "specificity")
_SEEN = ("resolution", "asked", "mentions", "excluded", "relevance", "notes")
_MEASURES = {"date", "date_relation", "order", "limit", "budget", "comparison"}
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
    vicinity: Vicinity | None = None
    unheeded: tuple[str, ...] = ()
    seen: Understood = field(init=False)

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = time.perf_counter() - begin

    def _said(self, key: str, *values: object) -> str:
        return phrases.fixed_text(key, self.language, *values)

    def _note(self, text: str) -> None:
        self.known["notes"] = (*self.known["notes"], text)

    def result(self, k: int, *, strict: bool) -> PipelineResult:
        """Take every step that the question comes to."""
        if (refusal := self.understood()) is not None:
            return refusal
        template = self.pipeline.templates[self.known["classification"].template_id]
        if self.pipeline.metrics is not None:
            self.pipeline.metrics.classified(template.id)
        missing = self.fill(template)
        unasked = template.intent == "count" and not self.known["counted"]
        if self.seen.excluded and (missing or unasked):
            taken = replace(self.known["classification"], template_id=NONE)
            self.known |= {"classification": taken, "left_out": ()}
            template = self.pipeline.templates[NONE]
        alone = (d.text for d in self.known["slots"].doubts if d.kind == "only")
        left = "', '".join(self.known["left_out"] or self.unheeded or alone)
        if left and strict:
            return self.end(NONE, self._said("strict", left))
        if template.id != NONE and missing:
            asking = self._asking(template, missing)
            return replace(asking, answer=" ".join([*asking.told, asking.answer]))
        failed = self._queried(template) if template.id != NONE else None
        self._retrieved(template, k)
        if failed is not None:
            return self.end("failed", self._said("failed", failed))
        result = self._answered(template)
        if template.id == NONE:
            return result
        return replace(result, answer=" ".join([*result.told, result.answer]))

    def fill(self, template: Template) -> tuple[str, ...]:
        """Fill the slots, account for every word; return which slots are missing."""
        with self._timed("slots"):
            read = self._accounted(self.seen, template)
        notes = self.seen.notes
        if self.seen.by_rules is not None:
            rules = self._accounted(self.seen.by_rules)
            self.unheeded = rules.left_out
            if str(rules) != str(read):
                notes += (self._said("by_both", read, rules),)
        self.seen = replace(self.seen, notes=notes)
        doubts = (phrases.doubt_text(d, self.language) for d in read.slots.doubts)
        missing = missing_slots(template, read.slots.values)
        self.known |= {
            "counted": read.counted,
            "slots": read.slots,
            "notes": (*notes, *doubts),
            "missing": missing,
            "added": read.added,
            "left_out": read.left_out,
        }
        return missing

    def _accounted(self, seen: Understood, template: Template | None = None) -> Account:
        """Return a reading with its slots and the words that it leaves out."""
        pipeline, taken = self.pipeline, seen.classification
        if template is None:
            template = pipeline.templates[taken.template_id if taken else NONE]
        slots = pipeline.extractor.extract(seen.asked, template, seen.mentions)
        if seen.ordered is not None:
            slots = as_read(slots, template, seen)
        if self.vicinity is not None:
            km = self.vicinity.km
            distance = {"distance": f"{round(km, 1 if km >= 1 else 3):g}"}
            slots = replace(slots, values={**slots.values, **distance})
        added = _added(template, seen.mentions)
        read = Account(template=template, seen=seen, slots=slots, added=added)
        if template.id == NONE:
            return read
        return replace(read, left_out=read.words_left(pipeline.finder.gazetteer))

    def understood(self) -> PipelineResult | None:
        """Resolve, filter and classify; return a result where that ends it."""
        pipeline = self.pipeline
        with self._timed("understand"):
            seen = self.seen = pipeline.understand_by(
                self.question, self.before, language=self.language, rules=pipeline.rules
            )
        resolution, relevance = seen.resolution, seen.relevance
        elsewhere = relevance.elsewhere and resolution.follow_up
        if elsewhere or not (relevance.relevant or resolution.lost):
            return self.end("irrelevant", self._said("irrelevant"))
        if resolution.lost:
            said = ", ".join(resolution.candidates) or " ".join(resolution.strange)
            key = "which" if resolution.candidates else "strange" if said else "lost"
            return self.end("lost", self._said(key, said))
        near = self._near() if seen.ordered is None else None
        self.known["classification"] = near or seen.classification
        return None

    def _near(self) -> Classification | None:
        """Take the template of what is near a town, if it takes all that is asked."""
        # Otherwise the question stays as it is, and the words for `near` are told.
        nearby, seen = self.pipeline.nearby, self.seen
        asked = institutions.asked_distance(seen.asked, seen.mentions)
        if nearby is None or asked is None or seen.excluded:
            return None
        mentions = self.pipeline.finder.find(asked[0])
        towns = [m for m in mentions if m.kind == "city" and m.value]
        others = {m.kind for m in mentions} - {"city", "institution_type", "generic"}
        if len(towns) != 1 or others or asked_order(asked[0]):
            return None
        classify = self.pipeline.rules.classifier.classify
        taken = classify(asked[0], mentions, language=self.language)
        if self.pipeline.templates[taken.template_id].intent in {"list", "count"}:
            self.vicinity = nearby.of_town(towns[0], asked[1])
        if self.vicinity is None:
            return None
        self.seen = replace(seen, asked=asked[0], mentions=mentions)
        return replace(taken, template_id=institutions.NEAR)

    def _asking(self, template: Template, missing: tuple[str, ...]) -> PipelineResult:
        notes = [
            phrases.doubt_text(d, self.language)
            for d in self.known["slots"].doubts
            if d.kind not in {"also", "only"}
        ]
        self.known["notes"] = self.seen.notes
        request = phrases.asking_for(missing, self.language, each=bool(template.each))
        return self.end("missing", " ".join([*notes, request]))

    def _queried(self, template: Template) -> str | None:
        slots: Slots = self.known["slots"]
        if self.vicinity is not None and (nearby := self.pipeline.nearby) is not None:
            self._found_near(nearby, self.vicinity, slots)
            return None
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
        if len(found.rows) > (most := self.pipeline.options.rows):
            found = replace(found, rows=found.rows[:most], cut=True)
        self.known["execution"] = found
        if not any(found.column("count") or found.rows):
            city = values.get("city", "")  # a town of a longer name may be meant
            if longer := self.pipeline.finder.gazetteer.longer_names("city", city):
                doubt = Doubt("longer", "city", city, longer)
                self._note(phrases.doubt_text(doubt, self.language))
        if (by := values.get("order")) and "limit" not in values and found.rows:
            kind = "budget" if by in {"richest", "poorest"} else "date"
            self._note(self._said(f"unranked_{kind}"))
        empty = not (found.rows or self.seen.excluded or self.known["added"])
        if empty and template.intent in {"date", "budget"}:
            self.known["unmeasured"] = self._unmeasured(template, slots)
        self._counted(query, found)
        return None

    def _found_near(self, nearby: Nearby, vicinity: Vicinity, slots: Slots) -> None:
        types = each_of(slots.values, "institution_type")
        with self._timed("query"):
            found = nearby.found(vicinity, types)
            lacking, whole = nearby.unplaced(types)
        total = len(found.rows) if self.known["counted"] and not found.cut else None
        self.known |= {"execution": found, "total": total}
        if lacking:
            what = phrases.things(slots.values, self.language, whole)
            self._note(self._said("unplaced", lacking, whole, what))

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

    def _instantiated(self, template: Template, values: SlotValues) -> Instantiated:
        pipeline = self.pipeline
        meant = pipeline.finder.gazetteer.meant
        query = pipeline.instantiator.instantiate(template, values, meant)
        if not template.each:
            query = institutions.paired(query, self.seen.mentions)
        return institutions.narrowed(
            query,
            meant,
            excluded=self.seen.excluded,
            added=self.known["added"],
            corpus=pipeline.options.corpus,
        )

    def _executed(self, query: Instantiated, rows: int = MOST_ROWS) -> Execution:
        seconds = self.pipeline.options.query_seconds
        return execute(self.pipeline.graph, query, seconds=seconds, rows=rows)

    def _counted(self, query: Instantiated, found: Execution) -> None:
        """Count what was found, where that is asked or not all of it is fetched."""
        if "count" in found.columns or not (self.known["counted"] or found.cut):
            return
        with self._timed("count"):
            self.known["total"] = institutions.total_of(query, found, self._executed)

    def _retrieved(self, template: Template, k: int) -> None:
        pipeline = self.pipeline
        with self._timed("classes"):
            context = pipeline.mapper.map(template.id, self.known["slots"].first())
            scores = pipeline.cached_scores.get_all_scores(context)
            boosts = context_boosts(self.before)
            classes = pipeline.class_filter.filter(scores, boosts)
            dealt, key = pipeline.experiment, self.before.key
            group = dealt.group(key) if dealt and key is not None else None
            self.known |= {
                "context_template": context,
                "boosts": boosts,
                "classes": classes,
                "group": group,
            }
        heeded = None if group == "control" else classes
        filtered = context in FILTERED
        if heeded and filtered and pipeline.metrics is not None:
            pipeline.metrics.filtered(context, heeded)
        beside = pipeline.options.chunks or template.id == NONE
        if pipeline.search is None or not beside:
            return
        with self._timed("search"):
            try:
                self.known["chunks"] = pipeline.ranked_chunks(
                    self.seen.resolution.question, heeded, filtered=filtered, k=k
                )
            except KnowtrailError as error:
                if template.id != NONE:
                    raise
                self._note(str(error))

    def _answered(self, template: Template) -> PipelineResult:
        found = self.known.get("execution")
        chunks = self.known.get("chunks", ())
        self.known["context"] = context = phrases.build_context(found, chunks)
        plain: tuple[Status, str] = "answered" if found else NONE, self._plain(template)
        if self.pipeline.model is None:
            return self.end(*plain)
        with self._timed("answer"):
            try:
                answer = phrases.model_answer(
                    self.pipeline.model,
                    self.seen.resolution.question,
                    context,
                    self.before,
                    language=self.language,
                    seconds=self.pipeline.options.answer_seconds,
                )
            except ModelError as error:
                self._note(str(error))
                return self.end(*plain)
        self.known["model"] = self.pipeline.model.name
        return self.end("answered", answer)

    def _plain(self, template: Template) -> str:
        found, language = self.known.get("execution"), self.language
        if found is None:
            return phrases.passages(self.known.get("chunks", ()), language)
        slots, asked = self.known["slots"], self.seen.asked
        if not found.rows or not any(found.column("count") or (1,)):
            for doubt in (d for d in slots.doubts if d.kind == "unrecorded"):
                text, notes = phrases.doubt_text(doubt, language), self.known["notes"]
                self.known["notes"] = tuple(n for n in notes if n != text)
                return text  # as the answer, and no longer as a note beside it
        apart = institutions.told_apart(found, self._executed, language=language)
        kind = "budget" if template.intent == "budget" else "date"
        return phrases.plain_answer(
            found,
            slots.values,
            language,
            template_id=template.id,
            asked=phrases.asked_columns(asked),
            unmeasured=kind if self.known.get("unmeasured") else "",
            counted=self.known["counted"],
            total=self.known.get("total"),
            apart=apart,
            beside=[
                asked[slice(*m.around)] or m.text
                for m in self.known["added"]
                if m.kind in {"date", "budget"}
            ],
        )

    def end(self, status: Status, answer: str) -> PipelineResult:
        """Return the result with all that is known."""
        seen = {name: getattr(self.seen, name) for name in _SEEN}
        return PipelineResult(
            question=self.question,
            language=self.language,
            status=status,
            answer=answer,
            conversation=self.before,
            **{"slots": Slots(), **seen, **self.known},
        )


LONGEST_QUESTION = 2_000
ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """Limits of a pipeline, times in seconds.

    Only institutions of the corpus are found, None finds all; `chunks` is whether they
    are searched where a template fits, too.
    """

    threshold: float = 0.5
    query_seconds: float = SECONDS
    answer_seconds: float = ANSWER_SECONDS
    rows: int = MOST_ROWS
    corpus: str | None = None
    chunks: bool = True


@dataclass(eq=False)
class TemplatePipeline:
    """Answers questions by templates; each step can be replaced.

    Safe to share between threads as far as the graph (any of rdflib's, in memory or
    live over Neo4j) and the models are. Without a classifier, the trained one is taken,
    without scores the schema that comes with the product; without an understanding,
    rules understand; without a search no chunks are searched, without `nearby` that
    word is left out of account; without a model answers are in fixed words; without a
    store no turn is stored.
    """

    graph: Graph
    gazetteer: Gazetteer
    _: KW_ONLY
    templates: Mapping[str, Template] = field(default_factory=load_templates)
    classifier: TemplateClassifier | None = None
    understanding: Understanding | None = None
    scores: ScoreSource | None = None
    search: ChunkSearch | None = None
    nearby: Nearby | None = None
    ranker: SpecificityRanker = field(default_factory=SpecificityRanker)
    model: LanguageModel | None = None
    store: Connection | None = None
    metrics: SpecificityMetrics | None = None
    experiment: SpecificityExperiment | None = None
    options: PipelineOptions = field(default_factory=PipelineOptions)

    def __post_init__(self) -> None:
        self.finder = MentionFinder(self.gazetteer)
        classifier = self.classifier or TrainedTemplateClassifier(self.templates)
        self.rules = Rules(self.finder, self.templates, classifier)
        self.understand_by = (self.understanding or self.rules).understand
        self.extractor = SlotExtractor(self.finder)
        self.instantiator = TemplateInstantiator()
        self.mapper = SPARQLToContextMapper()
        self.cached_scores = CachedScores(self.scores or load_lookup())
        self.class_filter = ClassFilter(self.options.threshold)
        self.nearby = self.nearby if institutions.NEAR in self.templates else None

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
        run = self._begun(question, language, conversation, k=k)
        before, result = run.before, run.result(k, strict=strict)
        turn = PastTurn(
            question=question,
            resolved=result.resolution.question,
            language=result.language,
            template_id=result.template_id,
            slots=result.slots.values,
            classes=result.relevant_classes,
            names=result.names,
            answer=result.answer,
        )
        after = replace(before, turns=(*before.turns, turn))
        result = replace(result, conversation=after, seconds=run.seconds)
        if self.store is None or before.id is None:
            return result
        return replace(result, turn_id=store_turn(self.store, result, before=before))

    __call__ = forward

    async def aforward(self, question: str, **asked: Any) -> PipelineResult:
        """Do as `forward` does, in a thread."""
        return await asyncio.to_thread(self.forward, question, **asked)

    def ranked_chunks(
        self,
        question: str,
        classes: FilteredClasses | None,
        *,
        filtered: bool,
        k: int = 10,
    ) -> tuple[RankedChunk, ...]:
        """Return at most k chunks, best first; without a search none.

        They are of the kept classes alone if `filtered`, and ranked by likeness and
        the scores of classes. Without classes they are the nearest of all.
        """
        if self.search is None:
            return ()
        scores = {} if classes is None else {**classes.kept, **classes.dropped}
        names = classes.names if classes and filtered else tuple(scores) or None
        return self.ranker.rank(self.search.search(question, names, k=k), scores)

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
        run = self._begun(question, language, conversation)
        if (refusal := run.understood()) is not None:
            return refusal
        run.fill(self.templates[run.known["classification"].template_id])
        return run.end(NONE, "")

    def _begun(
        self,
        question: str,
        language: str | None,
        conversation: Conversation | str | None,
        *,
        k: int = 1,
    ) -> Run:
        _check(question, language, k)
        if isinstance(conversation, str):
            if self.store is None:
                named = conversation[:80]
                msg = f"Conversation {named!r} is named, but nothing is stored."
                raise InputError(msg)
            conversation = read_conversation(self.store, conversation)
        before = conversation or Conversation()
        last = before.turns[-1].language if before.turns else "en"
        told = language or language_of(self.finder.unnamed(question), last)
        return Run(pipeline=self, question=question, language=told, before=before)


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


def _check(question: str, language: str | None, k: int) -> None:
    if not question.strip():
        raise InputError("The question is empty: ask something.")
    if len(question) > LONGEST_QUESTION:
        raise InputError(
            f"The question has {len(question)} characters: the most is "
            f"{LONGEST_QUESTION}."
        )
    if language is not None and language not in LANGUAGES:
        msg = f"The language is {language!r}: use one of {', '.join(LANGUAGES)}."
        raise InputError(msg)
    check_ranges(k=(k, 1, 1_000))

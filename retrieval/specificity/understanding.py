"""How a question is understood: by rules, or by one structured answer of a model.

A model says a template, and for each thing that a question names the words that name
it, what they stand for, and whether it is left out. Nothing of that is believed: words
must stand in the question, values in the gazetteer or the template file, and whatever
the rules read otherwise is told. Words that neither takes are told, too.
"""

from __future__ import annotations

import json
import re
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, Field, ValidationError, create_model

from knowtrail.graph.errors import ModelError
from knowtrail.graph.models.prompts import fitting, marked
from knowtrail.retrieval.specificity.classifier import (
    THRESHOLD,
    Classification,
    TemplateClassifier,
)
from knowtrail.retrieval.specificity.cues import FykeFilter, Relevance, content
from knowtrail.retrieval.specificity.institutions import asked_distance
from knowtrail.retrieval.specificity.mention import (
    WHOLE,
    MentionFinder,
    Taken,
    exclusion,
    mention_of,
    named_mention,
)
from knowtrail.retrieval.specificity.phrases import HISTORY, fixed_text, wording
from knowtrail.retrieval.specificity.quantities import AMOUNTS, DATES, order_spans
from knowtrail.retrieval.specificity.query_templates import NONE, SLOT_TYPES, Template
from knowtrail.retrieval.specificity.resolver import (
    ConversationContextResolver,
    Resolution,
    plain_wording,
)
from knowtrail.retrieval.specificity.vocabulary import (
    PLACES,
    Mention,
    blanked,
    normal,
    type_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.specificity.conversation import Conversation
    from knowtrail.retrieval.specificity.slots import Slots

TOKENS = 900
"""Tokens that a reading may have."""

_ORDERED = ("order", "limit", "skip", "aggregate")
_EXCLUDABLE = frozenset({"institution_type", "name", "date", *PLACES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What a question asks, as far as that could be told.

    `asked` is the whole question without what it leaves out. `ordered` is what it says
    of order, number and sum, by slot; None where the words of `asked` say that.
    `left_out` are words that were understood as nothing; there is no classification
    where the question is lost, or not about heritage. `by_rules` is what the rules
    understand, where something else does.
    """

    resolution: Resolution
    asked: str
    mentions: tuple[Mention, ...]
    excluded: tuple[Mention, ...] = ()
    relevance: Relevance
    classification: Classification | None = None
    ordered: Mapping[str, str] | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    by_rules: Understood | None = None


@runtime_checkable
class Understanding(Protocol):
    """Tells what a question asks."""

    def understand(
        self, question: str, before: Conversation, *, language: str, rules: Rules
    ) -> Understood:
        """Return what a question asks; `rules` know the names and the templates."""
        ...


@dataclass(eq=False)
class Rules:
    """Understands by a trained classifier, a gazetteer and a grammar."""

    finder: MentionFinder
    templates: Mapping[str, Template]
    classifier: TemplateClassifier

    def __post_init__(self) -> None:
        self.resolver = ConversationContextResolver(self.finder)
        self.filter = FykeFilter()

    def understand(
        self,
        question: str,
        before: Conversation,
        *,
        language: str,
        rules: Rules | None = None,
    ) -> Understood:
        """Return what a question asks; see `Understanding`."""
        resolution = self.resolver.resolve(question, before, language=language)
        asked, mentions, excluded = self.finder.parted(resolution.question)
        relevance = self.filter.check(asked, mentions)
        if resolution.follow_up:  # what is about another field is so as it was asked
            own = self.filter.check(question, self.finder.find(question))
            relevance = own if own.elsewhere else relevance
        classification = None
        if relevance.relevant and not resolution.lost:
            classify = self.classifier.classify
            classification = classify(asked, mentions, language=language)
        return Understood(
            resolution=resolution,
            asked=asked,
            mentions=mentions,
            excluded=excluded,
            relevance=relevance,
            classification=classification,
        )


_Text = Annotated[str, Field(max_length=300)]
KINDS = (*SLOT_TYPES[:8], *_ORDERED)
"""What a model may name."""

_RELATIONS = ("", "between", *DATES.values(), *AMOUNTS.values())


class Item(BaseModel, frozen=True, coerce_numbers_to_str=True):
    """Something that a question names: its words, and what they stand for."""

    kind: Literal[KINDS]  # type: ignore[valid-type]
    words: _Text
    value: _Text
    relation: Literal[_RELATIONS] = ""  # type: ignore[valid-type]
    exclude: bool = False


class Reading(BaseModel, frozen=True):
    """What a model says of a question; `whole` is a follow-up that stands alone."""

    template_id: str
    confidence: float = Field(ge=0, le=1)
    follow_up: bool = False
    whole: Annotated[str, Field(max_length=2_000)] = ""
    items: Annotated[list[Item], Field(max_length=30)] = []

    def classification(self, threshold: float, by: str) -> Classification:
        """Return the template, which is `none` below a threshold."""
        sure = self.confidence >= threshold
        return Classification(
            template_id=self.template_id if sure else NONE,
            confidence=self.confidence,
            scores=((self.template_id, self.confidence),),
            by=by,
        )


def reading_form(templates: Mapping[str, Template]) -> type[Reading]:
    """Return the form of a reading, in which a template is one of these."""
    ids: Any = Literal[tuple(t.id for t in offered(templates))]
    return create_model("Reading", __base__=Reading, template_id=(ids, ...))


def offered(templates: Mapping[str, Template]) -> list[Template]:
    """Return the templates that a model may say; rules alone measure distances."""
    return [t for t in templates.values() if t.intent != "near"]


def instructions(templates: Mapping[str, Template]) -> str:
    """Return what a model is told of its task."""
    types = type_words().shown
    return wording("reading.jinja").render(types=types, offered=offered(templates))


def said_before(before: Conversation) -> list[dict[str, str]]:
    """Return the last turns of a conversation, as a model is told them."""
    return [
        {"question": turn.resolved, "answer": fitting(turn.answer, 150)}
        for turn in before.turns[-HISTORY:]
    ]


@dataclass(eq=False)
class ByModel:
    """Understands by one structured answer of a language model, which is checked.

    Where the model gives none that can be used, the rules understand the question, and
    a note says so, and `useless` counts it. They also tell distances.
    """

    model: LanguageModel
    _: KW_ONLY
    seconds: float = 60.0
    threshold: float = THRESHOLD
    by: str = field(default="model", init=False)
    useless: int = field(default=0, init=False)
    _last: tuple[object, Reading] | None = field(default=None, init=False)

    def understand(
        self, question: str, before: Conversation, *, language: str, rules: Rules
    ) -> Understood:
        """Return what a question asks; see `Understanding`."""
        plain = plain_wording(question)
        own = rules.understand(question, before, language=language)
        if asked_distance(plain, rules.finder.find(plain)):
            return own
        key, last = (plain, before.turns, language, id(rules)), self._last
        try:
            if last is None or last[0] != key:
                last = key, self.read(plain, before, language, rules.templates)
                self._last = last
            checked = _Checked(last[1], plain, before, rules, own)
            return checked.understood(language, self.threshold, self.by)
        except (ModelError, ValueError) as error:
            reason, self.useless = _reason(error), self.useless + 1
        return replace(own, notes=(fixed_text("by_rules", language, reason),))

    def read(
        self,
        question: str,
        before: Conversation,
        language: str,
        templates: Mapping[str, Template],
    ) -> Reading:
        """Return what the model says; `ModelError` or `ValueError` if it is no use."""
        mark, asked = marked("question", question)
        history = marked("conversation", json.dumps(said_before(before)))[1]
        told = f"The question is between <{mark}> marks. Answer with JSON."
        form = reading_form(templates)
        reply = self.model.reply(
            "\n".join([instructions(templates), history, told, asked]),
            schema=form.model_json_schema(),
            seconds=self.seconds,
            tokens=TOKENS,
        )
        if reply.error is not None:
            raise ModelError(reply.error)
        return form.model_validate_json(reply.text)


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error).rstrip(".")
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "its answer"
    return f"{where} is {str(first['input'])[:60]!r}"


@dataclass
class _Checked:
    """A reading against the question, the gazetteer and what the rules read."""

    reading: Reading
    question: str
    before: Conversation
    rules: Rules
    own: Understood

    def understood(self, language: str, threshold: float, by: str) -> Understood:
        reading, finder = self.reading, self.rules.finder
        resolution = self._resolution()
        text = resolution.question
        said = [i for i in reading.items if _place(i.words, text)]
        out = self._taken([i for i in said if i.exclude], text, finder.find_all(text))
        excluded = [m for m in out if m.kind in _EXCLUDABLE and m.value]
        asked = _without(text, excluded)
        own = finder.find(asked)
        mentions = self._taken([i for i in said if not i.exclude], asked, own)
        ordered: dict[str, str] = {
            i.kind: i.value.casefold() for i in said if i.kind in _ORDERED
        }
        classification = reading.classification(threshold, by)
        template = self.rules.templates.get(classification.template_id)
        if template is None:
            raise ModelError(f"there is no template {classification.template_id!r}")
        unsaid = [i.words for i in reading.items if i not in said]
        notes = [fixed_text("unsaid", language, words) for words in unsaid]
        sure = template.id != NONE
        return Understood(
            resolution=resolution,
            asked=asked,
            mentions=mentions,
            excluded=tuple(excluded),
            relevance=Relevance(relevant=True)
            if sure
            else self.rules.filter.check(text, own),
            classification=classification,
            ordered=ordered,
            left_out=tuple(_untaken(own, mentions, template)),
            notes=tuple(notes),
            by_rules=self.own,
        )

    def _resolution(self) -> Resolution:
        """Return the question standing alone, if all its words were said somewhere."""
        own = self.own.resolution
        if own.follow_up and not self.reading.follow_up:
            raise ModelError("it takes what builds on a question for a whole one")
        plain, last = self.question, self.before.last
        if last is None or not self.reading.follow_up:
            return own
        whole, find = self.reading.whole.strip(), self.rules.finder.find
        said = normal(" ".join([plain, last.resolved, *last.names])).split()
        words = [*content(whole), *(whole[slice(*span)] for span in order_spans(whole))]
        words += [m.text for m in find(whole) if m.kind != "generic"]
        if not whole or not {*normal(" ".join(words)).split()} <= {*said}:
            raise ModelError(f"it says what was not said: {whole[:80]!r}")
        return Resolution(
            question=whole,
            follow_up=True,
            antecedent=last.resolved,
            said=plain,
            mentions=find(plain),
        )

    def _taken(
        self, items: Sequence[Item], text: str, own: Sequence[Mention]
    ) -> tuple[Mention, ...]:
        """Return what is read in a text, as the rules have it where they agree."""
        taken = Taken()
        for item in items:
            place = _place(item.words, text)
            if item.kind in _ORDERED or place is None:
                continue
            around = [m for m in own if m.start < place[1] and place[0] < m.end]
            same = next((m for m in around if self._agree(item, m)), None)
            if same is None:
                place = _place(item.value, text, *place) or place
                whole = all((m.start, m.end) == place for m in around)
                if not (whole or item.kind == "name"):
                    continue  # it would hide what the rules read there
                same = self._read(item, text, place)
            if same is not None:
                taken.add(same)
        return taken.in_order()

    def _agree(self, item: Item, mention: Mention) -> bool:
        """Return whether the rules read the same in the same words."""
        if item.kind != mention.kind:
            return False
        if item.kind in {"date", "budget"}:
            plain = mention.relation in {_relation(item), item.relation}
            return plain and mention.value == item.value.strip()
        form = normal(item.value)
        known = {e.value for e in self.rules.finder.gazetteer.entries.get(form, ())}
        own = {mention.value, *(option.value for option in mention.options)}
        return bool(known & own) or form in map(normal, {*own, mention.text})

    def _read(self, item: Item, text: str, place: tuple[int, int]) -> Mention | None:
        """Return what only the model reads; None where the files do not know it."""
        gazetteer, kind = self.rules.finder.gazetteer, item.kind
        value, relation = item.value.strip(), _relation(item)
        if kind in {"date", "budget"}:
            fits = _YEARS if kind == "date" else _EURO
            relations = DATES if kind == "date" else {**AMOUNTS, "": "between"}
            half = kind == "budget" and ("/" in value) != (relation == "between")
            if half or relation not in relations.values() or not fits.fullmatch(value):
                return None
            return mention_of(kind, value, text, *place, relation=relation)
        if kind == "identifier":
            known = gazetteer.identifiers.get(value.casefold())
            return mention_of(kind, known, text, *place) if known else None
        if kind == "institution_type":
            words = type_words()
            letter = words.letters.get(normal(value), value.upper())[:1]
            if letter not in words.shown:
                return None
            return mention_of(kind, letter, text, *place, score=WHOLE)
        forms = (normal(value), normal(text[slice(*place)]))
        options = next(filter(None, map(gazetteer.entries.get, forms)), ())
        if kind == "name":  # no town of that name
            options = tuple(o for o in options if o.kind == kind)
        kinds = ("name",) if kind == "name" else ("city", "region", "country")
        options = options or self.rules.finder.nearest(value, kinds)[0]
        if not options:
            return mention_of(kind, "", text, *place, score=0.0)
        best = tuple(sorted(options, key=lambda o: o.kind != kind))
        return named_mention(text, *place, best, score=WHOLE)


_YEARS = re.compile(r"-?\d{1,4}(?:/-?\d{1,4})?")
_EURO = re.compile(r"\d{1,15}(?:\.\d{1,2})?(?:/\d{1,15}(?:\.\d{1,2})?)?")


def _place(
    words: str, text: str, start: int = 0, end: int | None = None
) -> tuple[int, int] | None:
    """Return where words stand in a text, in any case; None where they do not."""
    pattern = re.compile(
        rf"(?<!\w){re.escape(words.strip()) or '(?!)'}(?!\w)", re.IGNORECASE
    )
    found = pattern.search(text, start, len(text) if end is None else end)
    return found.span() if found else None


def _relation(item: Item) -> str:
    if item.kind == "date":
        return "in" if item.relation in {"", "between", "equal"} else item.relation
    return item.relation or "equal"


def _without(text: str, excluded: Sequence[Mention]) -> str:
    """Return a text with blanks for what it excludes, and for the words that do."""
    for m in excluded:
        start = exclusion(text, m)[0]
        text = blanked(text, [(m.start if start < 0 else start, m.end)])
    return text


def _untaken(
    own: Sequence[Mention], taken: Sequence[Mention], template: Template
) -> Iterator[str]:
    """Yield what the rules read and the model did not, but for types beside a name."""
    named = {slot.type for slot in template.slots.values()} & {"name", "identifier"}
    for m in own:
        covered = any(t.start < m.end and m.start < t.end for t in taken)
        typed = m.kind == "institution_type" and named
        if not (covered or typed or m.kind == "generic"):
            yield m.text


def as_read(slots: Slots, template: Template, seen: Understood) -> Slots:
    """Return slots with the order, number and sum that were read; rules read none."""
    fits = {
        name: value
        for name, value in (seen.ordered or {}).items()
        if (slot := template.slots.get(name)) is not None
        and (
            value in slot.values or (slot.type == "number" and _NUMBER.fullmatch(value))
        )
    }
    rest = {n: v for n, v in slots.values.items() if n not in _ORDERED}
    values = {n: (rest | fits)[n] for n in template.slots if n in rest | fits}
    return replace(slots, values=values)


_NUMBER = re.compile(r"[1-9]\d{0,3}")

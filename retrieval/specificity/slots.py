"""Slot values of a question for a template, and what is doubtful about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowtrail.retrieval.specificity.mention import MentionFinder, asked_name
from knowtrail.retrieval.specificity.quantities import asked_aggregate, asked_order
from knowtrail.retrieval.specificity.query_templates import Slot, Template, each_of
from knowtrail.retrieval.specificity.vocabulary import Mention, normal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.specificity.gazetteer import Entry

SlotValues = dict[str, "str | tuple[str, ...]"]
PLACES = ("city", "region", "country")
SHOWN = 10
"""Candidates that are told at most."""

LIKE = 75.0
"""How like an unknown place a name must be to be asked about, of 100."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something about a slot value that the user should know.

    Attributes:
        kind: `typo` (read as another spelling), `also` (could be another kind of
            place), `several` (several places have that name), `ambiguous` (no value
            taken), `unknown` (nobody knows that name), `only` (of several the
            candidates alone are asked for), `parts` (a region is taken as the
            candidates that lie in it), `unrecorded` (no institution is said to be in
            it), `spelt` (written in the ways of the candidates), `regionless` (so many
            of the country have no region) or `currency`.
        candidates: What it can be, the most likely first.
    """

    kind: str
    slot: str
    text: str
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Slot values of a question by name, without defaults, and what is not certain."""

    values: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()

    def first(self) -> dict[str, str]:
        """Return one value a slot."""
        return {n: v if isinstance(v, str) else v[0] for n, v in self.values.items()}


class SlotExtractor:
    """Fills the slots of a template from what a question names."""

    def __init__(self, finder: MentionFinder) -> None:
        self._finder = finder

    def extract(
        self, question: str, template: Template, mentions: Sequence[Mention]
    ) -> Slots:
        """Return the slot values of a question."""
        return _Filling(self._finder, question, template, mentions).slots()


@dataclass(slots=True)
class _Filling:
    """The slots of one question while they are filled, and what is doubtful."""

    finder: MentionFinder
    question: str
    template: Template
    mentions: Sequence[Mention]
    doubts: list[Doubt] = field(default_factory=list)

    def slots(self) -> Slots:
        slots, values = self.template.slots, dict[str, str | tuple[str, ...]]()
        for slot in slots.values():
            if slot.type not in PLACES and (value := self._value(slot)):
                values[slot.name] = value
        values |= self._places()
        for m in self.mentions:
            if m.kind in {"date", "budget"}:
                self._typo(m, m.kind, m.value.replace("/", "-"))
        ordered = {name: values[name] for name in slots if name in values}
        return Slots(values=ordered, doubts=tuple(dict.fromkeys(self.doubts)))

    def _doubt(
        self, kind: str, slot: str, text: str, candidates: Sequence[str] = ()
    ) -> None:
        self.doubts.append(Doubt(kind, slot, text, tuple(candidates)))

    def _typo(self, mention: Mention, slot: str, value: str) -> None:
        if mention.score < 100:
            self._doubt("typo", slot, mention.text, (value,))

    def _value(self, slot: Slot) -> str | tuple[str, ...] | None:
        question, mentions = self.question, self.mentions
        of_kind = [m for m in mentions if m.kind == slot.type]
        if slot.type == "choice":
            return _choice(slot, question, mentions)
        if slot.type == "number":
            order = asked_order(question, mentions)
            number = order and (order.skip if slot.name == "skip" else order.limit)
            return str(number) if number else None
        if slot.type == "name":
            if not self.template.each:
                return self._name(question, of_kind)
            names = [self._name(m.text, [m]) for m in of_kind]
            return tuple(dict.fromkeys(filter(None, names)))
        if slot.type == "institution_type":
            letters = tuple(dict.fromkeys(m.value for m in of_kind))
            for m in of_kind:
                self._typo(m, slot.name, m.value)
            if self.template.each:  # places are compared by one type
                for m in of_kind:
                    if m.value != letters[0]:
                        self._doubt("only", slot.name, m.text, letters[:1])
                letters = letters[:1]
            return letters[0] if len(letters) == 1 else letters or None
        if slot.type == "budget" and of_kind and of_kind[0].foreign:
            self._doubt("currency", slot.name, of_kind[0].text)
            return None
        for m in of_kind:
            first = of_kind[0]
            if (m.value, m.relation) != (first.value, first.relation):
                self._doubt("only", slot.name, m.text, (first.text,))
        return of_kind[0].value if of_kind else None

    def _places(self) -> SlotValues:
        # Several places of one kind are all taken. Of several kinds, the smallest is
        # taken, unless the template asks for each; what is left out is told.
        each = self.template.each
        wanted = [n for n, s in self.template.slots.items() if s.type in PLACES]
        values: dict[str, list[str]] = {}
        unfit: list[Mention] = []
        for mention in self.mentions if wanted else ():
            if mention.kind not in (*PLACES, "place"):
                continue
            own = mention.kind in wanted or len(wanted) > 1
            kind = mention.kind if own else wanted[0]
            kind = "city" if kind == "place" else kind
            value = mention.as_kind(kind)
            if value is None and mention.kind in PLACES and mention.kind != kind:
                unfit.append(mention)
                continue
            self._place(mention, kind, value)
            if not value and not mention.options:
                value = mention.text  # nobody knows it, and nothing will be found
            if value and kind in wanted:
                values.setdefault(kind, []).append(value)
        for mention in () if values else unfit:
            self._place(mention, wanted[0], None)
        left = [(m.kind, m.value or m.text) for m in unfit]
        taken: SlotValues = {}
        for kind, found in sorted(values.items(), key=lambda v: PLACES.index(v[0])):
            names = tuple(dict.fromkeys(found))
            if taken and not each:
                left += [(kind, name) for name in names]
            else:
                taken[kind] = names if kind in each or len(names) > 1 else names[0]
        for kind, name in dict.fromkeys(left) if taken else ():
            self._doubt("only", kind, name, each_of(taken, next(iter(taken))))
        return taken

    def _place(self, mention: Mention, kind: str, value: str | None) -> None:
        """Note what is doubtful about a place."""
        gazetteer, options = self.finder.gazetteer, mention.options
        same = [o for o in options if o.kind == kind]
        if not mention.value and not options:
            near, _ = self.finder.nearest(mention.text, PLACES, cutoff=LIKE)
            self._doubt("unknown", kind, mention.text, _shown(near))
        elif not value:
            told = "ambiguous" if same else "unknown"
            self._doubt(told, kind, mention.text, _shown(same or options))
        else:
            self._typo(mention, kind, value)
            if others := [o for o in options if o.kind in PLACES and o.kind != kind]:
                self._doubt("also", kind, mention.text, _shown(others))
            if spelt := gazetteer.spellings.get(kind, {}).get(value):
                self._doubt("spelt", kind, value, spelt)
            if kind == "region":
                self._recorded(value)
            about = next((o.about for o in same if o.value == value), "")
            if "; " in about and mention.within is None:
                where = [f"{value} ({place})" for place in about.split("; ")]
                self._doubt("several", kind, value, where)

    def _recorded(self, region: str) -> None:
        gazetteer, coded = self.finder.gazetteer, region[2:3] == "-"
        parts = gazetteer.parts.get(region, ())
        others = gazetteer.uncoded.get(region[:2], ())
        entries = gazetteer.entries.get(normal(region), ())
        about = next((e.about for e in entries if e.value == region), "")
        if parts and region not in parts:
            self._doubt("parts", "region", region, parts)
        elif coded and region not in gazetteer.regions.values():
            if others and not parts:
                self._doubt("unrecorded", "region", region, others[:SHOWN])
        elif not coded and (lacking := gazetteer.regionless.get(about, 0)):
            self._doubt("regionless", "region", str(lacking), (about,))

    def _name(self, question: str, of_kind: Sequence[Mention]) -> str | None:
        text = "" if of_kind else asked_name(question)
        if of_kind:
            mention = max(of_kind, key=lambda m: len(m.text))
            text = mention.text
            if mention.value:
                self._typo(mention, "name", mention.value)
                return mention.value
            if options := [o for o in mention.options if o.kind == "name"]:
                self._doubt("ambiguous", "name", text, _shown(options))
                return None
        if not text:
            return None
        near = self._near_names(text)
        if not near:
            self._doubt("unknown", "name", text)
            return text
        if len({entry.value for entry in near}) == 1:
            self._doubt("typo", "name", text, (near[0].value,))
            return near[0].value
        self._doubt("ambiguous", "name", text, _shown(near[:SHOWN]))
        return None

    def _near_names(self, text: str) -> list[Entry]:
        """Return institutions whose name is nearly a text, or has all its words."""
        near, score = self.finder.nearest(text, ("name",))
        holding = self.finder.gazetteer.named_with(text)
        like = near if score >= 88.0 or not holding else ()
        return list(dict.fromkeys([*like, *holding]))


def _choice(slot: Slot, question: str, mentions: Sequence[Mention]) -> str | None:
    """Return what a question says of a choice, None where it says nothing."""
    said: str | None = None
    if slot.name == "order":
        order = asked_order(question, mentions)
        said = order.by if order else None
    elif slot.name == "aggregate":
        said = asked_aggregate(question)
    else:
        kind = "date" if slot.name == "date_relation" else "budget"
        said = next((m.relation for m in mentions if m.kind == kind), None)
    plain = slot.name == "date_relation" and said == slot.default
    return said if said in slot.values and not plain else None


def _shown(entries: Sequence[Entry]) -> list[str]:
    """Return what entries stand for, as users are told, ten at most."""
    told = [
        ("" if entry.kind == "name" else f"{entry.kind} ")
        + entry.value
        + (f" ({entry.about})" if entry.about else "")
        for entry in entries
    ]
    return list(dict.fromkeys(told))[:SHOWN]

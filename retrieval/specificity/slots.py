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
        values: SlotValues = {}
        doubts: list[Doubt] = []
        for slot in template.slots.values():
            if slot.type in PLACES:
                continue
            value, new = self._value(slot, question, mentions, each=bool(template.each))
            doubts += new
            if value:
                values[slot.name] = value
        places, new = self._places(template, mentions)
        ordered = {
            n: (places | values)[n] for n in template.slots if n in places | values
        }
        read = (m for m in mentions if m.kind in {"date", "budget"} and m.score < 100)
        new += [_typo(m, m.kind, m.value.replace("/", "-")) for m in read]
        return Slots(values=ordered, doubts=tuple(dict.fromkeys([*doubts, *new])))

    def _value(
        self, slot: Slot, question: str, mentions: Sequence[Mention], *, each: bool
    ) -> tuple[str | tuple[str, ...] | None, list[Doubt]]:
        of_kind = [m for m in mentions if m.kind == slot.type]
        if slot.type == "choice":
            return _choice(slot, question, mentions), []
        if slot.type == "number":
            order = asked_order(question, mentions)
            number = order and (order.skip if slot.name == "skip" else order.limit)
            return (str(number) if number else None), []
        if slot.type == "name":
            if each:
                return self._names(of_kind)
            return self._name(question, of_kind)
        if slot.type == "institution_type":
            letters = tuple(dict.fromkeys(m.value for m in of_kind))
            doubts = [_typo(m, slot.name, m.value) for m in of_kind if m.score < 100]
            if each:  # places are compared by one type
                doubts += [
                    Doubt("only", slot.name, m.text, letters[:1])
                    for m in of_kind
                    if m.value != letters[0]
                ]
                letters = letters[:1]
            return (letters[0] if len(letters) == 1 else letters or None), doubts
        if slot.type == "budget" and of_kind and of_kind[0].foreign:
            doubt = Doubt("currency", slot.name, of_kind[0].text)
            return None, [doubt]
        if not of_kind:
            return None, []
        first = of_kind[0]
        others = (
            m for m in of_kind if (m.value, m.relation) != (first.value, first.relation)
        )
        return first.value, [
            Doubt("only", slot.name, m.text, (first.text,)) for m in others
        ]

    def _places(
        self, template: Template, mentions: Sequence[Mention]
    ) -> tuple[SlotValues, list[Doubt]]:
        # Several places of one kind are all taken. Of several kinds, the smallest is
        # taken, unless the template asks for each; what is left out is told.
        wanted = [n for n, s in template.slots.items() if s.type in PLACES]
        values: dict[str, list[str]] = {}
        doubts: list[Doubt] = []
        unfit: list[Mention] = []
        for mention in mentions if wanted else ():
            if mention.kind not in (*PLACES, "place"):
                continue
            kind = (
                mention.kind if mention.kind in wanted or len(wanted) > 1 else wanted[0]
            )
            if kind == "place":
                kind = "city"
            value = mention.as_kind(kind)
            if value is None and mention.kind in PLACES and mention.kind != kind:
                unfit.append(mention)
                continue
            doubts += self._doubts(mention, kind, value)
            if not value and not mention.options:
                value = mention.text  # nobody knows it, and nothing will be found
            if value and kind in wanted:
                values.setdefault(kind, []).append(value)
        if not values:
            doubts += [d for m in unfit for d in self._doubts(m, wanted[0], None)]
        left = [(m.kind, m.value or m.text) for m in unfit]
        taken: SlotValues = {}
        for kind, found in sorted(values.items(), key=lambda v: PLACES.index(v[0])):
            names = tuple(dict.fromkeys(found))
            if taken and not template.each:
                left += [(kind, name) for name in names]
            else:
                many = kind in template.each or len(names) > 1
                taken[kind] = names if many else names[0]
        return taken, doubts + _left_out(left, taken)

    def _doubts(self, mention: Mention, kind: str, value: str | None) -> list[Doubt]:
        same = [o for o in mention.options if o.kind == kind]
        if not mention.value and not mention.options:
            near, _ = self._finder.nearest(mention.text, PLACES, cutoff=LIKE)
            return [_doubt("unknown", kind, mention, near)]
        if not value:
            if same:
                return [_doubt("ambiguous", kind, mention, same)]
            return [_doubt("unknown", kind, mention, mention.options)]
        doubts = []
        if mention.score < 100:
            doubts.append(_typo(mention, kind, value))
        others = [o for o in mention.options if o.kind in PLACES and o.kind != kind]
        if others:
            doubts.append(_doubt("also", kind, mention, others))
        if spelt := self._finder.gazetteer.spellings.get(kind, {}).get(value):
            doubts.append(Doubt("spelt", kind, value, spelt))
        if kind == "region":
            doubts += self._recorded(value)
        about = next((o.about for o in same if o.value == value), "")
        if "; " in about and mention.within is None:
            where = tuple(f"{value} ({place})" for place in about.split("; "))
            doubts.append(Doubt("several", kind, value, where))
        return doubts

    def _recorded(self, region: str) -> list[Doubt]:
        gazetteer = self._finder.gazetteer
        parts = gazetteer.parts.get(region, ())
        if parts and region not in parts:
            return [Doubt("parts", "region", region, parts)]
        country = region[:2]
        others = gazetteer.uncoded.get(country, ())
        if region[2:3] == "-" and region not in gazetteer.regions.values():
            if others and not parts:
                return [Doubt("unrecorded", "region", region, others[:SHOWN])]
            return []
        entries = gazetteer.entries.get(normal(region), ())
        about = next((e.about for e in entries if e.value == region), "")
        lacking = gazetteer.regionless.get(about, 0)
        if not lacking or region[2:3] == "-":
            return []
        number = str(lacking)
        return [Doubt("regionless", "region", number, (about,))]

    def _name(
        self, question: str, of_kind: Sequence[Mention]
    ) -> tuple[str | None, list[Doubt]]:
        if of_kind:
            mention = max(of_kind, key=lambda m: len(m.text))
            if mention.value:
                doubts = [_typo(mention, "name", mention.value)]
                return mention.value, doubts if mention.score < 100 else []
            options = [o for o in mention.options if o.kind == "name"]
            if options:
                return None, [_doubt("ambiguous", "name", mention, options)]
        text = mention.text if of_kind else asked_name(question)
        if not text:
            return None, []
        near = self._near_names(text)
        if not near:
            return text, [Doubt("unknown", "name", text)]
        if len({entry.value for entry in near}) == 1:
            return near[0].value, [Doubt("typo", "name", text, (near[0].value,))]
        shown = tuple(map(_shown, near[:SHOWN]))
        return None, [Doubt("ambiguous", "name", text, shown)]

    def _names(self, of_kind: Sequence[Mention]) -> tuple[tuple[str, ...], list[Doubt]]:
        values, doubts = [], []
        for mention in of_kind:
            value, new = self._name(mention.text, [mention])
            values += [value] if value else []
            doubts += new
        return tuple(dict.fromkeys(values)), doubts

    def _near_names(self, text: str) -> list[Entry]:
        """Return institutions whose name is nearly a text, or has all its words."""
        near, score = self._finder.nearest(text, ("name",))
        holding = self._finder.gazetteer.named_with(text)
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


def _left_out(left: Sequence[tuple[str, str]], taken: SlotValues) -> list[Doubt]:
    """Return which places were not asked for, beside those that were."""
    if not taken:
        return []
    shown = each_of(taken, next(iter(taken)))
    return [Doubt("only", kind, value, shown) for kind, value in dict.fromkeys(left)]


def _typo(mention: Mention, slot: str, value: str) -> Doubt:
    return Doubt("typo", slot, mention.text, (value,))


def _doubt(kind: str, slot: str, mention: Mention, options: Sequence[Entry]) -> Doubt:
    shown = tuple(dict.fromkeys(_shown(option) for option in options))
    return Doubt(kind=kind, slot=slot, text=mention.text, candidates=shown[:10])


def _shown(entry: Entry) -> str:
    kind = "" if entry.kind == "name" else f"{entry.kind} "
    return f"{kind}{entry.value}" + (f" ({entry.about})" if entry.about else "")

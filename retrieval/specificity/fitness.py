"""How badly what a question says suits a template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrieval.specificity.cues import intents_of, residue, unanswerable
from retrieval.specificity.naming import named_kind
from retrieval.specificity.negation import excludes
from retrieval.specificity.templates import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrieval.specificity.mentions import Mention
    from retrieval.specificity.templates import Template

__all__ = ["misfits"]

PLACES = frozenset({"city", "region", "country"})
NO_SLOT = 0.3
"""A question names something for which the template has no slot."""

NO_SLOT_FOR_PLACE = 0.4
"""What it names is a place, which always narrows what is asked for."""

OTHER_KIND = 0.3
"""It names a place that would have to be read as another kind of place."""

NO_VALUE = {
    "institution_type": 0.3,
    "city": 0.12,
    "region": 0.12,
    "country": 0.12,
    "name": 0.1,
    "identifier": 0.4,
    "budget": 0.3,
}
"""It names nothing for a slot that the template needs."""

ONE_PLACE = 0.3
"""It names one place and the template compares, or places of several kinds."""

NO_PLACE = 0.35
"""The template needs a place of some kind, and none is named."""

GENERIC = 0.2
"""It speaks of institutions of any type, and the template is for one."""

OTHER_INTENT = 0.3
"""It is plainly after something else."""

UNSAID = 0.35
"""The template counts or compares, and the question asks for neither."""

BEYOND = 0.35
"""It has a word that no template answers."""

EXCLUDED = 1.0
"""It asks for all but something, and a query would give just that something."""

RESIDUE = (0.0, 0.1, 0.2, 0.28)
"""It has so many words that are neither names nor words that questions are made of."""

NAMED = 0.12
"""Besides where it names an institution: little is known of one."""

UNLIKELY = 0.1
"""Taken off `none` where institutions are named and no such word is there."""

SUITED = 0.15
"""Taken off `none` besides where every word is accounted for."""

_ASKED_FOR = frozenset({"name", "identifier", "institution_type", "generic"})


def misfits(
    templates: Mapping[str, Template], mentions: Sequence[Mention], question: str
) -> dict[str, float]:
    """Return what is taken off the likeness of each template, by id.

    Args:
        templates: The templates.
        mentions: What the question names.
        question: The question itself.
    """
    intents = intents_of(question, mentions)
    excluded = excludes(question, mentions)
    beyond = excluded or unanswerable(question, mentions)
    left = min(len(residue(question, mentions)), len(RESIDUE) - 1)
    placed = any(m.kind in PLACES or m.kind == "place" for m in mentions)
    kind = None if placed else named_kind(question)
    return {
        name: _misfit(template, mentions, intents, beyond=beyond, left=left)
        + (OTHER_KIND if kind and _takes_other(template, kind) else 0.0)
        + (EXCLUDED if excluded and name != NONE else 0.0)
        for name, template in templates.items()
    }


def _misfit(
    template: Template,
    mentions: Sequence[Mention],
    intents: frozenset[str],
    *,
    beyond: bool,
    left: int,
) -> float:
    """Return what is taken off the likeness of one template."""
    if template.id == NONE:
        named = {m.kind for m in mentions} & _ASKED_FOR
        if beyond or left:
            return UNLIKELY if named and not beyond else 0.0
        return SUITED + (UNLIKELY if named else 0.0)
    types = {slot.type for slot in template.slots.values()}
    several = _places(template, mentions, types, intents)
    suited = [m for m in mentions if m.kind not in PLACES or not _unsuited(m, types)]
    placed = any(m.kind in PLACES for m in suited)
    total = sum(
        _unsuited(m, types) for m in (suited if several and placed else mentions)
    )
    if (
        template.intent not in ("budget", "identifier")
        or template.intent not in intents
    ):
        total += _lacking(template, mentions)  # one that is named may be asked for
    total += several + _after(template, intents)
    if template.each and "compare" in intents:
        total /= 2  # it says so itself, and may be asked for what is missing
    required = {s.type for s in template.slots.values() if s.required}
    typed = {m.kind for m in mentions} & {"generic", "institution_type"}
    if "institution_type" in required and typed == {"generic"}:
        total += GENERIC
    if template.intent == "identifier" and any(
        m.kind == "identifier" for m in mentions
    ):
        left = 0  # whatever is asked of a code, it is looked up
    if left and template.intent == "name":
        total += NAMED
    return total + (BEYOND if beyond else RESIDUE[left])


def _takes_other(template: Template, kind: str) -> bool:
    """Return whether a template needs a place of another kind than is spoken of."""
    needed = {s.type for s in template.slots.values() if s.required} & PLACES
    return bool(needed) and kind not in needed


def _after(template: Template, intents: frozenset[str]) -> float:
    """Return what other intents than the template's take off."""
    own = template.intent
    if own is None or not intents:
        return UNSAID if own in {"count", "compare", "date"} else 0.0
    if own in {"count", "compare", "date"} and own not in intents:
        return UNSAID
    others = intents - {own}
    if own == "compare":
        others -= {"count"}
    return OTHER_INTENT if others else 0.0


def _places(
    template: Template,
    mentions: Sequence[Mention],
    types: set[str],
    intents: frozenset[str],
) -> float:
    """Return what too many or too few places take off."""
    places = [m for m in mentions if m.kind in PLACES or m.kind == "place"]
    if template.each:
        return ONE_PLACE if len(places) < 2 and "compare" not in intents else 0.0
    if len(places) > 1 and types & PLACES:
        return 0.0 if _of_one_kind(places, types & PLACES) else ONE_PLACE
    if template.one_of and not places:
        return NO_PLACE
    return 0.0


def _of_one_kind(places: Sequence[Mention], kinds: set[str]) -> bool:
    """Return whether places can all be of one kind, of those that a template takes."""
    return any(
        all(
            m.kind in {kind, "place"} or any(o.kind == kind for o in m.options)
            for m in places
        )
        for kind in kinds
    )


def _unsuited(mention: Mention, types: set[str]) -> float:
    """Return what one mention takes off."""
    if mention.kind == "generic" or mention.kind in types:
        return 0.0
    if mention.kind == "place":
        return 0.0 if types & PLACES else NO_SLOT
    if mention.kind in PLACES:
        other = any(o.kind in types for o in mention.options)
        return OTHER_KIND if other else NO_SLOT_FOR_PLACE
    if mention.kind == "institution_type" and "name" in types:
        return 0.08
    return NO_SLOT


def _lacking(template: Template, mentions: Sequence[Mention]) -> float:
    """Return what the slots without a value take off."""
    named = {m.kind for m in mentions}
    if "place" in named:
        named |= PLACES
    for mention in mentions:
        named |= {option.kind for option in mention.options}
    return sum(
        NO_VALUE.get(slot.type, 0.0)
        for slot in template.slots.values()
        if slot.required and slot.type not in named
    )

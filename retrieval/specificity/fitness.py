"""How badly what a question names suits the slots of a template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from retrieval.specificity.templates import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.mentions import Mention
    from retrieval.specificity.templates import Template

__all__ = ["misfit"]

PLACES = frozenset({"city", "region", "country"})
NO_SLOT = 0.25
"""A question names something for which the template has no slot."""

OTHER_KIND = 0.12
"""It names a place that would have to be read as another kind of place."""

NO_VALUE = {
    "institution_type": 0.15,
    "city": 0.1,
    "region": 0.1,
    "country": 0.1,
    "name": 0.06,
    "identifier": 0.4,
    "budget": 0.3,
}
"""It names nothing for a slot that the template needs."""

ONE_PLACE = 0.2
"""It names several places and the template takes one, or the other way round."""

GENERIC = 0.12
"""It speaks of institutions of any type, and the template is for one."""

_TIME = re.compile(
    r"old|new|young|recent|earl|late|first|last|since|oud|nieuw|jong|vroeg|eerst|laatst"
    r"|sinds|before|after|since|voor|v\u00f3\u00f3r|na|tussen|between|century|eeuw|exist|bestond|bestaan|found|establish|opened|opgericht|gesticht|geopend|begonnen|ontstaan|start",
    re.IGNORECASE,
)


def misfit(template: Template, mentions: Sequence[Mention], question: str) -> float:
    """Return what is taken off the likeness of a template.

    Args:
        template: Which template.
        mentions: What the question names.
        question: The question itself.
    """
    if template.id == NONE:
        return 0.0
    required = {s.type for s in template.slots.values() if s.required}
    named = {m.kind for m in mentions} & {"generic", "institution_type"}
    types = {slot.type for slot in template.slots.values()}
    places = [m for m in mentions if m.kind in PLACES or m.kind == "place"]
    total = sum(_unsuited(m, types) for m in mentions)
    total += _lacking(template, mentions)
    if places and not template.each and len(places) > 1 and types & PLACES:
        total += ONE_PLACE
    if template.each and len(places) < 2:
        total += ONE_PLACE
    if template.one_of and not places:
        total += NO_SLOT
    if "institution_type" in required and named == {"generic"}:
        total += GENERIC
    if "date" in types and not _TIME.search(question):
        total += NO_SLOT
    return total


def _unsuited(mention: Mention, types: set[str]) -> float:
    """Return what one mention takes off."""
    if mention.kind == "generic" or mention.kind in types:
        return 0.0
    if mention.kind == "place":
        return 0.0 if types & PLACES else NO_SLOT
    if mention.kind in PLACES and any(o.kind in types for o in mention.options):
        return OTHER_KIND
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

"""Which words of a question its query does not take into account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.retrieval.specificity.features import PLACES
from knowtrail.retrieval.specificity.institutions import pairs_of
from knowtrail.retrieval.specificity.quantities import order_spans
from knowtrail.retrieval.specificity.vocabulary import (
    data_file,
    spelling_of,
    tokens_of,
    word_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.retrieval.specificity.gazetteer import Gazetteer
    from knowtrail.retrieval.specificity.mention import Mention
    from knowtrail.retrieval.specificity.query_templates import Template
    from knowtrail.retrieval.specificity.slots import Slots
    from knowtrail.retrieval.specificity.vocabulary import Token

_BEYOND = word_list("beyond")
_USED_BY = {
    word: frozenset(given["used_by"])
    for given in data_file("words.yaml")["meaning"]
    for word in given["words"]
}
"""Word that changes what is asked -> intents of queries that heed it."""

_ORDERED = frozenset({"order", "limit", "skip", "aggregate"})


def left_out(
    question: str,
    mentions: Sequence[Mention],
    template: Template,
    slots: Slots,
    gazetteer: Gazetteer,
    added: Sequence[Mention] = (),
) -> tuple[str, ...]:
    """Return the words that a query does not heed, in the order of the question.

    A word is heeded that is named in a slot or told as doubtful, that says how a date,
    a budget or an order that is taken is meant, that the examples of templates are made
    of, or that carries nothing.
    """
    aims = _aims(template, slots) | {m.kind for m in added}
    said = set(_said(slots))
    spans = list(_spans(question, mentions, template, slots, added))
    found = [
        (m.start, m.text)
        for m in mentions
        if not (m in added or _fits(m, template)) or _beside(m, slots, said)
    ]
    for token in tokens_of(question):
        known = token.form in said or _container(token, mentions, gazetteer)
        covered = any(a < token.end and token.start < b for a, b in spans)
        if not (known or covered or _heeded(token.form, aims)):
            found.append((token.start, token.text))
    return tuple(dict.fromkeys(text for _, text in sorted(found)))


def loose_words(question: str, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """Return words of a follow-up that change what is asked, and name nothing."""
    spans = [(m.start, m.end) for m in mentions] + [m.around for m in mentions]
    spans += order_spans(question, compared=True)
    return tuple(
        token.text
        for token in tokens_of(question)
        if not any(a < token.end and token.start < b for a, b in spans)
        and not _heeded(token.form, {"count", "compare", "name", "budget"})
    )


def _spans(
    question: str,
    mentions: Sequence[Mention],
    template: Template,
    slots: Slots,
    added: Sequence[Mention],
) -> Iterator[tuple[int, int]]:
    """Yield where words stand that name things, or say how those are meant."""
    for mention in (*mentions, *added):
        yield mention.start, mention.end
        if mention in added or mention.kind in slots.values:
            yield mention.around
    ordered = _ORDERED & slots.values.keys()
    if ordered and not (pairs_of(mentions) and "order" in ordered):
        yield from order_spans(question, compared="name" in template.each)


def _aims(template: Template, slots: Slots) -> set[str]:
    """Return what a query with values is after."""
    order = slots.values.get("order")
    aims = {str(template.intent), *(slots.values.keys() & {"date", "budget"})}
    return aims | ({"budget", "ranked"} if order in {"richest", "poorest"} else set())


def _said(slots: Slots) -> Iterator[str]:
    """Yield the words of slot values and doubts."""
    each = (
        (v,) if isinstance(v, str) else v
        for name, v in slots.values.items()
        if name not in _ORDERED
    )
    values = [value for several in each for value in several]
    for text in (*values, *(doubt.text for doubt in slots.doubts)):
        yield from (token.form for token in tokens_of(text))


def _fits(mention: Mention, template: Template) -> bool:
    """Return whether a template has a slot for what is named, or needs none."""
    types = {slot.type for slot in template.slots.values()}
    if mention.kind in PLACES or mention.kind == "place":
        return bool(types & PLACES)
    if mention.kind == "institution_type" and types & {"name", "identifier"}:
        return True
    return mention.kind == "generic" or mention.kind in types


def _beside(mention: Mention, slots: Slots, said: set[str]) -> bool:
    """Return whether a name was not taken, but another beside it."""
    if mention.kind not in {"name", "identifier"} or mention.kind not in slots.values:
        return False
    forms = {token.form for token in tokens_of(mention.value or mention.text)}
    return not forms <= said


def _container(token: Token, mentions: Sequence[Mention], gazetteer: Gazetteer) -> bool:
    """Return whether a word only says where a place lies: `Dutch` of Limburg."""
    around = {part for m in mentions for part in m.about.split(", ")}
    return any(e.value in around for e in gazetteer.entries.get(token.form, ()))


def _heeded(form: str, aims: set[str]) -> bool:
    """Return whether a query that is after something heeds a word."""
    if form in _USED_BY:
        return bool(_USED_BY[form] & aims)
    if form in _BEYOND or form.isdigit():
        return False
    return len(form) == 1 or spelling_of(form) is not None

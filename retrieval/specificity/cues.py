"""What words of a question tell: what it is after, if heritage, what no query heeds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from knowtrail.retrieval.specificity.institutions import pairs_of
from knowtrail.retrieval.specificity.mention import PLACES, question_words
from knowtrail.retrieval.specificity.quantities import (
    CALENDAR,
    asked_aggregate,
    asked_order,
    is_number,
    is_ordering,
    order_spans,
)
from knowtrail.retrieval.specificity.query_templates import Template, each_of
from knowtrail.retrieval.specificity.vocabulary import (
    Mention,
    Token,
    data_file,
    is_asking,
    normal,
    patterns_of,
    spelling_of,
    tokens_of,
    word_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.retrieval.specificity.gazetteer import Gazetteer
    from knowtrail.retrieval.specificity.slots import Slots
    from knowtrail.retrieval.specificity.understanding import Understood

_P = patterns_of("cues")
_ONE = frozenset({"one", "ones", "een", "\u00e9\u00e9n"})
_COMPARING = frozenset({"compar", "vergel", "versus"})


def counts(question: str, mentions: Sequence[Mention]) -> bool:
    """Return whether a question plainly asks for a number of institutions."""
    return bool(_P["count"].search(question)) and all(
        m.kind != "name" for m in mentions
    )


def compares(question: str, mentions: Sequence[Mention]) -> bool:
    """Return whether a question compares several places, or says that it does."""
    places = sum(m.kind in PLACES for m in mentions)
    found = _P["compare"].search(question)
    return found is not None and (places > 1 or found[0][:6].casefold() in _COMPARING)


def unanswerable(question: str, mentions: Sequence[Mention] = ()) -> bool:
    """Return whether a question has a word that no template can answer."""
    places = sum(m.kind in PLACES for m in mentions)
    if (beyond := _P["otherwise"].search(question)) and not (
        places > 1 and _P["compare"].search(beyond[0])
    ):
        return True
    if any(m.kind == "name" for m in mentions):
        counted = _P["counted"].search(question)
        if _P["person"].match(question) or (
            counted and not is_asking(normal(counted[1]))
        ):
            return True
    return not _BEYOND.isdisjoint(question_words(question, mentions))


def residue(question: str, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """Return the words that are neither names nor words that questions are made of."""
    return tuple(
        token.form
        for token in tokens_of(question)
        if not any(m.start < token.end and token.start < m.end for m in mentions)
        and len(token.form) > 1
        and not is_number(token.form)
        and spelling_of(token.form) is None
    )


_BEYOND = word_list("beyond")


_USED_BY = {
    word: frozenset(given["used_by"])
    for given in data_file("words.yaml")["meaning"]
    for word in given["words"]
}
"""Word that changes what is asked -> intents of queries that heed it."""

_ORDERED = frozenset({"order", "limit", "skip", "aggregate"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A question as it is read for a template: its slots, and what they do not heed.

    `added` is heeded though the template has no slot for it.
    """

    template: Template
    seen: Understood
    slots: Slots
    added: tuple[Mention, ...]
    left_out: tuple[str, ...] = ()

    @property
    def counted(self) -> bool:
        """Return whether a number of institutions is asked for."""
        return counts(self.seen.asked, self.seen.mentions)

    def __str__(self) -> str:
        """Return all that an answer hangs on, in words."""
        parts = [
            f"{name} {', '.join(each_of(self.slots.values, name))}"
            for name in self.slots.values
        ]
        parts += [m.value or m.text for m in self.added]
        parts += sorted(f"not {m.value or m.text}" for m in self.seen.excluded)
        parts += ["counted"] if self.counted else []
        return f"{self.template.id} ({'; '.join(parts)})" if parts else self.template.id

    def words_left(self, gazetteer: Gazetteer) -> tuple[str, ...]:
        """Return the words that are not heeded, of the question and as it was said.

        A word is heeded that is named in a slot or told as doubtful, that says how a
        date, a budget or an order that is taken is meant, that the examples of
        templates are made of, or that carries nothing.
        """
        seen, last = self.seen, self.seen.resolution
        kinds = {(m.kind, m.value) for m in seen.mentions}
        out = {(m.kind, m.value) for m in seen.excluded}
        kept = [m for m in last.mentions if (m.kind, m.value) in kinds]
        lost = [m for m in last.mentions if m not in kept and m.kind != "generic"]
        said = self._left(last.said, last.mentions, kept, lost, gazetteer)
        away = [m.text for m in last.excluded if (m.kind, m.value) not in out]
        forms = set(normal(last.question).split())
        own = self._left(seen.asked, seen.mentions, self.added, (), gazetteer)
        heard = " ".join(seen.left_out).split()
        own += [*away, *(t for t in said if not set(normal(t).split()) <= forms)]
        told = (*seen.left_out, *(text for text in own if text not in heard))
        return tuple(dict.fromkeys(told))

    def _left(
        self,
        question: str,
        mentions: Sequence[Mention],
        added: Sequence[Mention],
        lost: Sequence[Mention],
        gazetteer: Gazetteer,
    ) -> list[str]:
        """Return what is not heeded, in order; `lost` is what the query knows not."""
        values, order = self.slots.values, self.slots.values.get("order")
        aims = {str(self.template.intent), *(values.keys() & {"date", "budget"})}
        aims |= {m.kind for m in added}
        aims |= {m.kind for m in self.seen.excluded} & {"date", "budget"}
        if "name" in self.template.each and order is None:
            aims.discard("compare")  # which is older is told, whatever is asked
        aims |= {"budget", "ranked"} if order in {"richest", "poorest"} else set()
        last = self.seen.resolution
        if asked_order(last.said) and not last.mentions:  # `who is the oldest?`
            aims.add("ordered")
        said, ordered = set(_said(self.slots)), self._ordering(question, mentions)
        spans = [(m.start, m.end) for m in (*mentions, *added)] + ordered
        spans += [m.around for m in mentions if m in added or m.kind in values]
        found = [
            (m.start, m.text)
            for m in mentions
            if m in lost
            or not (m in added or _fits(m, self.template))
            or (m.kind in values and _beside(m, said))
        ]
        for start, text in _phrases(question, mentions, aims):
            end = start + len(text)
            if not any(a <= start and end <= b for a, b in ordered):
                spans.append((start, end))
                found.append((start, text))
        for token in tokens_of(question):
            known = token.form in said or _container(token, mentions, gazetteer)
            covered = any(a < token.end and token.start < b for a, b in spans)
            if not (known or covered or _heeded(token, aims, question)):
                found.append((token.start, token.text))
        return [text for _, text in sorted(found)]

    def _ordering(
        self, question: str, mentions: Sequence[Mention]
    ) -> list[tuple[int, int]]:
        """Return where words stand for an order, a number or a sum that is taken."""
        ordered = _ORDERED & self.slots.values.keys()
        if not ordered or (pairs_of(mentions) and "order" in ordered):
            return []
        taken = {*ordered, *self.slots.first().values()}
        return order_spans(question, taken, compared="name" in self.template.each)


def content(text: str) -> tuple[str, ...]:
    """Return the words of a text that say something, or change what is said."""
    return tuple(t.form for t in tokens_of(text) if not _heeded(t, set(), text))


def _phrases(
    question: str, mentions: Sequence[Mention], aims: set[str]
) -> Iterator[tuple[int, str]]:
    """Yield what changes a question as a whole, or beside a date or an amount."""
    for name in ("sorted", "each"):
        for found in _P[name].finditer(question):
            yearly = found[0].casefold().endswith(("year", "jaar"))
            if not (yearly and "budget" in aims):  # such a budget is one
                yield found.start(), found[0]
    for m in mentions:
        if m.kind in {"date", "budget"} and (
            vague := _P["vague"].search(question[: m.start])
        ):
            yield vague.start(), vague["word"]
        for part in tokens_of(m.text) if m.kind == "date" else ():
            if part.form in CALENDAR or (part.form.isdigit() and len(part.form) < 3):
                yield m.start + part.start, part.text  # the month, the day


def _said(slots: Slots) -> Iterator[str]:
    values = (each_of(slots.values, n) for n in slots.values if n not in _ORDERED)
    for text in chain(*values, (doubt.text for doubt in slots.doubts)):
        yield from (token.form for token in tokens_of(text))


def _fits(mention: Mention, template: Template) -> bool:
    types = {slot.type for slot in template.slots.values()}
    if mention.kind in PLACES:
        return bool(types & PLACES)
    if mention.kind == "institution_type" and types & {"name", "identifier"}:
        return True
    return mention.kind == "generic" or mention.kind in types


def _beside(mention: Mention, said: set[str]) -> bool:
    """Return whether a name was not taken, but another beside it."""
    forms = {token.form for token in tokens_of(mention.value or mention.text)}
    return mention.kind in {"name", "identifier"} and not forms <= said


def _container(token: Token, mentions: Sequence[Mention], gazetteer: Gazetteer) -> bool:
    """Return whether a word only says where a place lies: `Dutch` of Limburg."""
    around = {part for m in mentions for part in m.about.split(", ")}
    return any(e.value in around for e in gazetteer.entries.get(token.form, ()))


def _heeded(token: Token, aims: set[str], question: str) -> bool:
    form, named = token.form, token.text[0].isupper() and token.start
    if form in _USED_BY:
        return bool(_USED_BY[form] & aims)
    number = form.isdigit() or (is_number(form) and form not in _ONE)
    if form in _BEYOND or number or (form in CALENDAR and named):
        return False
    if is_ordering(form):
        return "compare" in aims
    if is_asking(form) or (len(form) > 1 and form not in CALENDAR):
        return spelling_of(form) is not None
    return question[max(0, token.start - 1)] in "'\u2019`"  # of `'t` and `don't`


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Whether a question is about heritage, or about another field."""

    relevant: bool
    elsewhere: bool = False


_FIELDS = {
    name: tuple(map(normal, words))
    for name, words in data_file("relevance.yaml").items()
}
_HERITAGE = frozenset({"name", "identifier", "budget", "institution_type", "generic"})


class FykeFilter:
    """Tells questions about heritage institutions from all others.

    A question is let through if it names an institution, a type of institution, an
    identifier or a budget, or has a word of heritage. Words of other fields, such as
    the weather, weigh against it, unless it asks as one does for institutions.
    """

    def check(self, question: str, mentions: Sequence[Mention]) -> Relevance:
        """Return whether a question is about heritage."""
        forms = [token.form for token in tokens_of(question)]
        words = [*forms, *(f"{a} {b}" for a, b in pairwise(forms))]
        others = any(word in _FIELDS["others"] for word in words)
        told = any(m.kind in _HERITAGE for m in mentions) or (
            asked_aggregate(question) is not None
            or (not others and any(map(_of_heritage, words)))
        )
        if not told and not others and not residue(question, mentions):
            known = (
                m.kind == "date" or any(o.known for o in m.options) for m in mentions
            )
            told = any(known) or bool(_P["each_type"].search(question))
        return Relevance(relevant=told, elsewhere=others and not told)


def _of_heritage(word: str) -> bool:
    """Return whether a word is of heritage: Rijksmuseum, Stadtarchiv."""
    starts = word.startswith(_FIELDS["heritage_beginnings"])
    ends = word.endswith(_FIELDS["heritage_endings"])
    return word in _FIELDS["heritage"] or starts or ends

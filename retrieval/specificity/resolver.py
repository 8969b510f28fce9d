"""Follow-ups made into questions that stand alone: `and in Utrecht?`.

A frame is what a question says, apart from its wording; the frames of two questions
make one, and that is said in words again. What a follow-up says beside is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowtrail.retrieval.specificity.conversation import NAMES, Conversation, PastTurn
from knowtrail.retrieval.specificity.cues import residue
from knowtrail.retrieval.specificity.institutions import asked_distance, pairs_of
from knowtrail.retrieval.specificity.mention import PLACES, named_kind, question_words
from knowtrail.retrieval.specificity.phrases import asked_columns, wording
from knowtrail.retrieval.specificity.quantities import (
    Digits,
    Order,
    asked_aggregate,
    asked_order,
    in_euro,
    order_spans,
)
from knowtrail.retrieval.specificity.vocabulary import (
    Mention,
    blanked,
    data_file,
    patterns_of,
    tokens_of,
    word_list,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.specificity.mention import MentionFinder


_DATA = data_file("follow_ups.yaml")
_P = patterns_of("resolver")
_SHORT = re.compile(rf"(?<![\w'-])(?:{'|'.join(_DATA['short'])})(?![\w'-])")


def plain_wording(question: str) -> str:
    """Return a question without what does not belong to what it asks."""
    # Greetings, thanks and `could you tell me` go; the spelling of short messages and
    # signs such as `>` become words. A question that is nothing else stays as it is.
    text = question.strip()
    for edge, stands in (("greeting", ""), ("tail", r"\g<end>")):
        while (rest := _P[edge].sub(stands, text, count=1)) != text and _words(rest):
            text = rest
    rest = _P["carrier"].sub("", text, count=1)
    text = rest if _words(rest) >= 2 else text
    text = _P["contracted"].sub(r"\1 is", text)
    text = _SHORT.sub(lambda found: _DATA["short"][found.group()], text)
    for sign, words in _DATA["signs"]:
        text = re.sub(sign, words, text)
    return text


def _words(text: str) -> int:
    return len(re.findall(r"\w+", text))


_INTENTS = {
    "compare_locations": "compare",
    "find_institution_by_name": "name",
    "find_institution_by_identifier": "name",
}
"""Template -> what its questions are after, where that is no list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a question says, places with their kinds, dates and budgets as written.

    The intent is `compare` of places, `name` of one institution, or `list`. `coded` is
    whether the names are identifiers, `listed` whether it asks which, and not how many,
    `excluded` whether it is a place, and the text of what is left out, `near` how it is
    said that institutions are near the place, empty for in it.
    """

    intent: str = "list"
    letters: tuple[str, ...] = ()
    generic: bool = False
    places: tuple[tuple[str, str], ...] = ()
    date: tuple[str, str] | None = None
    budget: tuple[str, str] | None = None
    order: Order | None = None
    aggregate: str | None = None
    names: tuple[str, ...] = ()
    coded: bool = False
    counted: bool = False
    listed: bool = False
    excluded: tuple[tuple[bool, str], ...] = ()
    near: str = ""


def _frame_of(
    question: str,
    mentions: Sequence[Mention],
    excluded: Sequence[Mention] = (),
    template_id: str = "",
) -> Frame:
    dates = [m for m in mentions if m.kind == "date"]
    budgets = [m for m in mentions if m.kind == "budget"]
    names = [m for m in mentions if m.kind in {"name", "identifier"}]
    counted = bool(_P["count"].search(question))
    compares = "compare" if _P["compare"].search(question) else "list"
    letters = (m.value for m in mentions if m.kind == "institution_type")
    return Frame(
        intent=_INTENTS.get(template_id, "name" if names else compares),
        letters=tuple(dict.fromkeys(letters)),
        generic=any(m.kind == "generic" for m in mentions),
        places=tuple((m.kind, m.text) for m in mentions if m.kind in PLACES),
        date=_measured(dates[0], plain="in") if dates else None,
        budget=_measured(budgets[0], plain="") if budgets else None,
        order=asked_order(question, mentions),
        aggregate=asked_aggregate(question),
        names=tuple(m.value or m.text for m in names),
        coded=bool(names) and names[0].kind == "identifier",
        counted=counted,
        listed=bool(_P["asks"].search(question)) and not counted,
        excluded=tuple((m.kind in PLACES, m.text) for m in excluded),
        near=near[2] if (near := asked_distance(question, mentions)) else "",
    )


def _measured(mention: Mention, *, plain: str) -> tuple[str, str]:
    whole = mention.score == 100 or mention.relation == "between"
    if whole and "/" in mention.value and mention.relation in {plain, "between", ""}:
        return "between", mention.value
    return mention.relation, mention.text


def _merged(before: Frame, now: Frame, *, several: bool) -> Frame:
    typed = bool(now.letters) or now.generic
    places = now.places or before.places
    intent = "compare" if "compare" in {now.intent, before.intent} else "list"
    if now.counted or now.listed or now.order:
        intent = now.intent
    if intent == "compare" and len(now.places) == 1:
        places = tuple(dict.fromkeys((*before.places, *now.places)))
    names = now.names
    if not names and before.names and not (typed and now.places):
        names = () if typed or now.places else before.names
        places = places if names else ()
    order = now.order or before.order
    if not now.order and (now.date or now.budget or now.counted or now.aggregate):
        order = None
    elif now.order and before.order and now.order.limit is None and not several:
        order = replace(now.order, limit=before.order.limit)
    budget = now.budget or before.budget
    if now.budget and not now.budget[0] and before.budget:
        relation = before.budget[0] if before.budget[0] != "between" else ""
        budget = relation, now.budget[1]
    return Frame(
        intent="name" if names else intent,
        letters=now.letters if typed else before.letters,
        generic=now.generic if typed else before.generic,
        places=places,
        date=_both(before.date, now.date),
        budget=budget,
        order=order,
        aggregate=now.aggregate or (None if now.listed or order else before.aggregate),
        names=names,
        coded=now.coded if now.names else before.coded,
        counted=now.counted or (before.counted and not (now.listed or order)),
        excluded=tuple(dict.fromkeys((*before.excluded, *now.excluded))),
        near=now.near if now.places else before.near,
    )


def _both(
    before: tuple[str, str] | None, now: tuple[str, str] | None
) -> tuple[str, str] | None:
    """Return two dates as a range where they bound one, else the later one."""
    if before is None or now is None or before == now:
        return now or before
    for low, high in ((before, now), (now, before)):
        years = re.fullmatch(r"\d{4}/\d{4}", f"{low[1]}/{high[1]}")
        if low[0] in _LOWER and high[0] in _UPPER and years:
            first = int(low[1]) + _LOWER[low[0]]
            last = int(high[1]) - _UPPER[high[0]]
            return ("between", f"{first}/{last}") if first <= last else now
    return now


def _face(before: tuple[str, str] | None, now: tuple[str, str] | None) -> bool:
    """Return whether two bounds of budgets would be a range, which no frame has."""
    relations = {one[0] for one in (before, now) if one}
    return bool(relations & {"above", "at_least"} and relations & {"below", "at_most"})


_LOWER = {"after": 1, "since": 0}
_UPPER = {"before": 1, "until": 0}
"""Relation of a year -> whether that year itself is out."""
_CONNECTING = word_list("connecting")
_TYPES = frozenset({"institution_type", "generic"})
_ALONE = frozenset({"name", "identifier"})
_MEASURES = frozenset({"date", "budget"})
_QUANTITY = frozenset({"many", "hoeveel", "number", "aantal", "count", "tel"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A question that stands alone, or what is missing; as it was if it builds on none.

    The antecedent is the question that it builds on. Candidates are institutions that
    it may mean, where it is not clear which; strange words say what it is about, and
    mean nothing here. `said` is what the whole question says in its own way, with
    what that names, and what it leaves out.
    """

    question: str
    follow_up: bool = False
    antecedent: str | None = None
    candidates: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    said: str = ""
    mentions: tuple[Mention, ...] = ()
    excluded: tuple[Mention, ...] = ()

    @property
    def lost(self) -> bool:
        """Return whether it builds on something that was not said."""
        return self.follow_up and self.antecedent is None


class ConversationContextResolver:
    """Makes follow-ups into questions that stand alone."""

    def __init__(self, finder: MentionFinder) -> None:
        self._finder = finder

    def resolve(
        self,
        question: str,
        conversation: Conversation | None = None,
        *,
        language: str = "en",
    ) -> Resolution:
        """Return a question that stands alone."""
        question = plain_wording(question)
        last = conversation.last if conversation else None
        if last is not None and "budget" in last.slots:
            question = in_euro(question)
        mentions = self._finder.find(question)
        rest, kept, out = self._finder.parted(question)
        moved = question if out else _without_lead(question, mentions)
        if moved != question:
            whole = self.resolve(moved, conversation, language=language)
            return replace(whole, said=rest, mentions=kept, excluded=out)
        if (one := _of_one(question, mentions, last, language)) is not None:
            return one
        if not _builds_on_another(question, mentions, alone=last is None):
            return Resolution(question=question)
        if last is None:
            return Resolution(question=question, follow_up=True)
        if _unordered(question, mentions) and not _P["opening"].search(question):
            return Resolution(question=question)  # what it is about was not said before
        return self._joined(question, mentions, last, language)

    def _joined(
        self, question: str, mentions: Sequence[Mention], last: PastTurn, language: str
    ) -> Resolution:
        before = _frame_of(*self._finder.parted(last.resolved), last.template_id)
        rest, kept, out = self._finder.parted(question)
        now = _frame_of(rest, kept, out)
        if not mentions and (strange := _unordered(question, mentions)):
            named = [t for t in tokens_of(question) if t.form in strange]
            if not all(token.text[0].isupper() for token in named):
                return Resolution(question=question, follow_up=True, strange=strange)
            place = question[named[0].start : named[-1].end]
            now = replace(now, places=(("place", place),))
        if _P["more"].search(question) and now.places and before.places:
            now = replace(now, intent="compare", counted=False)
        if _P["everything"].search(question) and not now.letters:
            now = replace(now, generic=True, listed=True)
            before = Frame(places=before.places)
        if not now.places and before.places and (kind := named_kind(question)):
            now = replace(now, places=tuple((kind, name) for _, name in before.places))
        if now.date and not _P["joining"].search(question):
            before = replace(before, date=None)
        if now.names and not before.names and len(last.names) == 1:
            before = replace(before, names=last.names)
        frame = _merged(before, now, several=bool(_P["several"].search(question)))
        types = {"institution_type": frame.letters}
        known = {"frame": frame, "types": types, "language": language}
        made = wording("follow_up.jinja").render(known)
        apart = pairs_of(self._finder.find(last.resolved))
        alone = not (now.letters or now.generic or now.places)
        if not made or (apart and alone) or _face(before.budget, now.budget):
            return Resolution(question=question, follow_up=True)
        return Resolution(
            question=made,
            follow_up=True,
            antecedent=last.resolved,
            said=_P["opening"].sub(lambda found: " " * len(found[0]), rest, count=1),
            mentions=kept,
            excluded=out,
        )


def _builds_on_another(
    question: str, mentions: Sequence[Mention], *, alone: bool
) -> bool:
    """Return whether a question says too little to stand alone."""
    kinds = {m.kind for m in mentions}
    typed, placed = bool(kinds & _TYPES), bool(kinds & PLACES)
    measured = bool(kinds & _MEASURES)
    if alone and (measured or (typed and _nowhere(question))):
        return False  # it says what it wants; a place is asked for by name
    if _P["fragment"].search(question) and not (typed or alone):
        return True
    if _P["those"].search(question):
        return not (typed and placed)
    if kinds & _ALONE:
        return bool(_P["opening"].search(question)) and len(tokens_of(question)) <= 12
    if _nowhere(question):
        return not placed
    if measured and not (typed or placed or alone):
        return True
    known = _CONNECTING if alone else _CONNECTING | _QUANTITY
    rest = [w for w in question_words(question, mentions) if w not in known]
    if _P["everything"].search(question) and placed:
        return False
    if _P["opening"].search(question):
        asks = rest or _P["asks"].search(question)
        return not (typed and placed and asks) and len(rest) <= 5
    if mentions and not rest and not (typed and (placed or measured)):
        return not (typed and _P["every"].search(question))
    said = typed or placed or measured
    facts = asked_columns(question) and not residue(question, mentions)
    quantified = _P["count"].search(question) or facts
    short = len(tokens_of(question)) <= 7
    return bool(short and (quantified or order_spans(question)) and not said)


def _without_lead(question: str, mentions: Sequence[Mention]) -> str:
    """Return a question without a sentence before it that only says where."""
    # `I am in Ghent. Which museums are there?` becomes `Which museums are in Ghent?`.
    lead = _P["lead"].match(question)
    if lead is None:
        return question
    before = [m for m in mentions if m.end <= lead.end()]
    asked = {m.kind for m in mentions if m.start >= lead.end()}
    if any(m.kind not in PLACES for m in before) or len(before) > 1:
        return question
    rest = question[lead.end() :]
    if not before or asked & PLACES:
        return rest if asked & (_TYPES | _ALONE) else question
    where = f"in {before[0].text}"
    made, changed = _P["daar"].subn(where, rest, count=1)
    if changed:
        return made
    return f"{rest.rstrip(' ?!.')} {where}?" if asked & _TYPES else question


def _unordered(question: str, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """Return strange words of a question, but for those of an order."""
    return residue(blanked(question, order_spans(question)), mentions)


def _nowhere(question: str) -> bool:
    return bool(_P["there"].search(question) or _P["that_place"].search(question))


def _of_one(
    question: str, mentions: Sequence[Mention], last: PastTurn | None, language: str
) -> Resolution | None:
    """Return a question with the institution that it means; None if it means none."""
    # `It` is the only one of the answer before, `the first one` the first of it; and a
    # question for a fact of nothing is one of it too.
    kinds = {m.kind for m in mentions}
    found = _P["it"].search(question)
    more = len(mentions) == 1 and asked_order(question, (*mentions, *mentions))
    other = kinds & _ALONE and not more
    if found and (other or (kinds & _TYPES and kinds & PLACES)):
        found = None
    names = last.names if last else ()
    nth = None if found or mentions else _P["nth"].search(Digits(question).text)
    if nth and last and names:
        question = Digits(question).text
        place = int(nth["nth"]) - 1 if nth["nth"] else (-1 if nth["last"] else 0)
        several = len(names) > (1 if nth["last"] else place)
        # The last name that is kept is the last of all where there may be no more.
        whole = len(names) < NAMES or (len(names) == NAMES and not nth["last"])
        known = several and whole and last.template_id not in _INTENTS  # but a list
        names, found = tuple(names[place:][:1]) if known else (), nth
    elif not found and last and not mentions and asked_columns(question):
        loose = residue(question, mentions) or _P["those"].search(question)
        apart = asked_order(question) or _P["count"].search(question)
        if loose or apart or len(names) != 1:
            return None
        end = f"{' van ' if language == 'nl' else ' of '}{names[0]}"
        made = question.rstrip(" ?!.") + end
        return Resolution(question=made, follow_up=True, antecedent=last.resolved)
    if not found:
        return None
    if last is None or len(names) != 1:
        return Resolution(question=question, follow_up=True, candidates=names[:10])
    word = found.group().split()[0].casefold()
    name = f"{names[0]}'s" if word == "its" else names[0]
    if word in {"ligt", "is", "staat", "werd", "was"}:
        name = f"{word} {name}"
    made = f"{question[: found.start()]}{name}{question[found.end() :]}"
    return Resolution(question=made.strip(), follow_up=True, antecedent=last.resolved)

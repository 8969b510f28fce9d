"""What a question names: types, places, institutions, identifiers, dates, budgets."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.specificity.quantities import (
    amounts,
    identifiers,
    ranged,
    years,
)
from knowtrail.retrieval.specificity.vocabulary import (
    is_asking,
    normal,
    spelling_of,
    tokens_of,
    type_words,
    word_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowtrail.retrieval.specificity.gazetteer import Entry, Gazetteer
    from knowtrail.retrieval.specificity.vocabulary import Token

_LEADS = re.compile(
    r"^(?:(?:please|can you|could you|kun je|kunt u|and|en)\s+)*(?:"
    r"where(?: is|'s)|what(?: is|'s| are)?(?: the \S+(?: code)? of)?|when (?:was|were)|"
    r"tell me (?:more )?about|tell me|"
    r"give me (?:\w+ )?(?:information|details) (?:about|on|of)|"
    r"find|search for|look up|show(?: me)?(?: the details of)?|i am looking for|"
    r"in which (?:city|town|country) (?:is|lies)|which type of institution is|"
    r"what do you know (?:about|of)|who (?:is|are)|do you know|"
    r"waar (?:is|ligt|staat|vind ik|bevindt zich)|"
    r"wat (?:is|zijn)(?: (?:de|het) \S+ van)?|"
    r"wanneer (?:is|werd|was)|vertel (?:me|mij)?(?: \w+)? ?over|vertel|"
    r"wat weet (?:je|u) (?:over|van)|zoek|toon(?: de gegevens van)?|"
    r"geef (?:me )?(?:informatie|gegevens|details) (?:over|van)|ik zoek|ken je|"
    r"in welke (?:stad|plaats) (?:ligt|staat|is)|wat voor (?:\w+ )?is"
    r")\s+(?:the |de |het |institution |instelling |museum called |called |genaamd )*",
    re.IGNORECASE,
)
_TAILS = re.compile(
    r"\s*(?:located|situated|founded|established|gevestigd|gelegen|opgericht|gesticht|"
    r"geopend|opened|please|alsjeblieft|aub|for me|op)?[\s?.!]*$",
    re.IGNORECASE,
)
_INTERROGATIVE = re.compile(
    r"(?:which|what|who|whose|how|when|where|welke?|wat|wie|wiens|hoe|hoeveel|wanneer|"
    r"waar|van wie|bij welke)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    '["\u201c\u201e\u00ab\']([^"\u201c\u201d\u201e\u00ab\u00bb]{2,120})["\u201d\u00bb\']'
)


def asked_name(question: str) -> str:
    """Return the part of a question that must be a name."""
    if quoted := _QUOTED.search(question):
        return quoted[1].strip()
    rest = _LEADS.sub("", question.strip())
    if rest == question.strip() and _INTERROGATIVE.match(rest):
        return ""
    rest = _TAILS.sub("", rest).strip(" ?!.,;:")
    if len(rest.split()) <= 8:
        return rest
    capital = [t for t in tokens_of(rest) if t.text[0].isupper()]
    if not capital:
        return ""
    return rest[capital[0].start : capital[-1].end]


_BEFORE_COUNTRY = re.compile(r"\s*[,(]\s*|\s+in\s+")
_GOES_ON = re.compile(r"\s*(?:,|and|or|en|of)\s", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?:more|fewer|less|most|meer|minder|meeste|than|dan|between|tussen|vs|versus|"
    r"tegenover|compar\w*|vergel\w*|both|allebei|beide)\b",
    re.IGNORECASE,
)
_STOP = word_list("stop")
_OF = frozenset({"of", "the", "van", "voor", "de", "het", "der", "des", "und", "for"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something that a question names.

    Attributes:
        kind: A slot type, or `generic` for a word for any institution.
        value: What it stands for; empty where that is unknown or ambiguous.
        text: As it was written.
        start: Where it begins.
        end: Where it ends.
        options: What it can stand for, the most likely first; more than one where
            it is ambiguous.
        score: How well it is spelt, 100 for exactly.
        relation: Of a date: `in`, `before`, `after`, `since` or `until`.
        foreign: Whether an amount is in another currency than euro.
    """

    kind: str
    value: str
    text: str
    start: int
    end: int
    options: tuple[Entry, ...] = ()
    score: float = 100.0
    relation: str = "in"
    foreign: bool = False

    @property
    def about(self) -> str:
        """Return where the place is that it stands for; empty if unknown."""
        return next((o.about for o in self.options if o.value == self.value), "")

    def as_kind(self, kind: str) -> str | None:
        """Return the value where the mention is read as one of a kind."""
        if self.kind == kind:
            return self.value or None
        return next((o.value for o in self.options if o.kind == kind), None)


class Taken:
    """Mentions that do not overlap."""

    def __init__(self) -> None:
        self._found: list[Mention] = []

    def add(self, mention: Mention) -> None:
        """Keep a mention, unless one has its place."""
        if not self.covers(mention.start, mention.end):
            self._found.append(mention)

    def replace(self, mention: Mention) -> None:
        """Put a mention in the place of those that it overlaps."""
        self._found = [
            m for m in self._found if m.end <= mention.start or mention.end <= m.start
        ]
        self._found.append(mention)

    def kind_at(self, token: Token) -> str | None:
        """Return the kind of the mention that covers a word."""
        return next(
            (m.kind for m in self._found if m.start <= token.start < m.end), None
        )

    def covers(self, start: int, end: int) -> bool:
        """Return whether a mention lies in a range."""
        return any(m.start < end and start < m.end for m in self._found)

    def in_order(self) -> tuple[Mention, ...]:
        """Return the mentions by place."""
        return tuple(sorted(self._found, key=lambda m: m.start))


def _unknown_names(
    question: str, tokens: Sequence[Token], taken: Taken
) -> list[Mention]:
    """Return what must be names of institutions that nobody knows: `the Foo Museum`.

    That is a word for a type in capitals, beside other capitals that name nothing.
    """
    found: list[Mention] = []
    for at, token in enumerate(tokens):
        if taken.kind_at(token) != "institution_type" or not token.text[0].isupper():
            continue
        first = last = at
        while first > 0 and _part_of_name(tokens[first - 1], taken, first=first == 1):
            first -= 1
        while (step := _name_goes_on(tokens, last, taken)) > 0:
            last += step
        if last > first:
            start, end = tokens[first].start, tokens[last].end
            found.append(_mention_of("name", "", question, start, end, score=0.0))
    return found


def _name_goes_on(tokens: Sequence[Token], last: int, taken: Taken) -> int:
    """Return how many words more a name has, small words such as `of` among them."""
    for step in (1, 2, 3):
        if last + step >= len(tokens):
            return 0
        word = tokens[last + step]
        if _part_of_name(word, taken):
            return step
        if word.form not in _OF:
            return 0
    return 0


def _part_of_name(token: Token, taken: Taken, *, first: bool = False) -> bool:
    """Return whether a word beside a word for a type may belong to its name."""
    return (
        token.text[0].isupper()
        and token.form not in _STOP
        and taken.kind_at(token) is None
        and not first
    )


def _with_countries(question: str, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return mentions in which a city and its country, `Ghent, Belgium`, are one.

    Only where the city is known to be in that country, and in no other.
    """
    found: list[Mention] = []
    for mention in mentions:
        last = found[-1] if found else None
        if last is not None and _lies_in(question, last, mention):
            end = mention.end
            found[-1] = replace(last, text=question[last.start : end], end=end)
        elif last is not None and _is_elsewhere(question, last, mention):
            found[-1] = _mention_of(
                "place", "", question, last.start, mention.end, score=0.0
            )
        else:
            found.append(mention)
    return tuple(found)


def _without_containers(
    question: str, mentions: Sequence[Mention]
) -> tuple[Mention, ...]:
    """Return mentions without places that only say where another one lies.

    `The Dutch province of Limburg` is Limburg; nothing is left out where places are
    compared.
    """
    if _COMPARED.search(question):
        return tuple(mentions)
    return tuple(
        m
        for m in mentions
        if not any(_contains(m, other) for other in mentions if other is not m)
    )


def _contains(place: Mention, other: Mention) -> bool:
    """Return whether a place is the country or region that another one lies in."""
    if place.kind == "country":
        inside = {"city", "region"}
    else:
        inside = {"city"} if place.kind == "region" else set()
    if other.kind not in inside or not (place.value and other.value):
        return False
    about = other.about
    if ";" in about:
        return False
    return bool({place.value, place.text} & set(about.split(", ")))


def _lies_in(question: str, city: Mention, country: Mention) -> bool:
    """Return whether a country is only said to tell where a city is."""
    if (city.kind, country.kind) != ("city", "country") or not country.value:
        return False
    about = city.about
    between = question[city.end : country.start]
    return (
        _BEFORE_COUNTRY.fullmatch(between) is not None
        and ";" not in about
        and about.rpartition(", ")[2] == country.value
    )


def _is_elsewhere(question: str, city: Mention, country: Mention) -> bool:
    """Return whether a country says that another town of a known name is meant."""
    if (city.kind, country.kind) != ("city", "country") or not country.value:
        return False
    between = question[city.end : country.start]
    about = city.about
    known = {place.rpartition(", ")[2] for place in about.split("; ")}
    return (
        _BEFORE_COUNTRY.fullmatch(between) is not None
        and bool(about)
        and country.value not in known
        and not _GOES_ON.match(question[country.end :])
    )


def _mention_of(
    kind: str, value: str, question: str, start: int, end: int, **more: Any
) -> Mention:
    """Return the mention of what stands at a place in a question."""
    text = question[start:end]
    return Mention(kind=kind, value=value, text=text, start=start, end=end, **more)


_NOT = re.compile(
    r"\b(?:not|no|geen|niet|never|nooit|instead of|in plaats van|rather than)"
    r"(?:\s+(?:the|de|het|any|a|an|een|for|voor|in|of|van|uit|from|om|are|zijn|is))*\s*$",
    re.IGNORECASE,
)
_BUT = re.compile(
    r"\b(?:except|excluding|behalve|uitgezonderd|exclusief|outside|other than|"
    r"anders dan|apart from|besides|buiten|but not|maar niet|maar geen)\b",
    re.IGNORECASE,
)
_EXCLUDED = re.compile(
    r"\b(?:not|niet|without|zonder|except|excluding|behalve|uitgezonderd|exclusief|"
    r"outside|other than|anders dan|apart from|besides|buiten|but not|maar niet)"
    r"(?:\s+(?:the|de|het|for|voor|in|of|van|uit|from|those|die|located|gevestigd))*\s*$",
    re.IGNORECASE,
)
_ALSO = re.compile(r"\s*(?:,|\band\b|\bor\b|\ben\b|\bof\b)\s*(?:in|uit|from)?\s*")
_PLACES = frozenset({"city", "region", "country", "place"})


def without_excluded(
    question: str, mentions: Sequence[Mention]
) -> tuple[str, tuple[Mention, ...]]:
    """Return a question without the types and places that it excludes, and those."""
    left: list[Mention] = []
    spans = []
    for mention in mentions:
        before = _EXCLUDED.search(question[: mention.start])
        if left and before is None:
            before = _ALSO.fullmatch(question, left[-1].end, mention.start)
        if before and mention.value and mention.kind in {"institution_type", *_PLACES}:
            left.append(mention)
            spans.append((before.start(), mention.end))
    for start, end in reversed(spans):
        question = question[:start] + question[end:]
    return question, tuple(left)


def _without_negated(question: str, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return mentions without those that a question says it does not mean.

    Only where it names another of the same kind instead: `are there no museums?` asks
    for museums.
    """
    negated = [m for m in mentions if _NOT.search(question[: m.start])]
    if not negated:
        return tuple(mentions)
    kept = [m for m in mentions if m not in negated]
    return tuple(
        m
        for m in mentions
        if m not in negated or not any(_alike(m, other) for other in kept)
    )


def excludes(question: str, mentions: Sequence[Mention]) -> bool:
    """Return whether a question asks for all but something, which no query does."""
    if any(_BUT.search(question[: m.start]) for m in mentions if m.kind != "budget"):
        return True
    negated = [m for m in mentions if _NOT.search(question[: m.start])]
    generic = any(m.kind == "generic" and m not in negated for m in mentions)
    kinds = {m.kind for m in mentions}
    return any(
        (m.kind == "institution_type" and generic)
        or (m.kind in _PLACES and bool(kinds & {"institution_type", "generic"}))
        for m in negated
    )


def _alike(one: Mention, other: Mention) -> bool:
    """Return whether one mention can stand instead of another."""
    return one.kind == other.kind or {one.kind, other.kind} <= _PLACES


_PREPOSITIONS = word_list("prepositions")
_LINKS = word_list("links")
_CUES = {
    "region": "province region state county provincie regio gewest deelstaat staat "
    "streek departement",
    "city": "city town village municipality stad dorp gemeente plaats stadje",
    "country": "country nation land",
}
CUE_OF = {word: kind for kind, words in _CUES.items() for word in words.split()}
"""Word for a kind of place -> the kind."""

_BEGINNINGS = word_list("beginnings")
"""Words that begin names of places, and change which place it is."""

"""Words that are also names of places, or that can never be one."""


def question_words(question: str, mentions: Sequence[Mention]) -> list[str]:
    """Return the normal forms of the words that no mention covers."""
    return [
        token.form
        for token in tokens_of(question)
        if not any(m.start <= token.start < m.end for m in mentions)
    ]


def named_kind(question: str) -> str | None:
    """Return the kind of place that a question speaks of, such as `the province`."""
    kinds = (CUE_OF.get(token.form) for token in tokens_of(question))
    return next((kind for kind in kinds if kind), None)


def _named_mention(
    question: str, start: int, end: int, options: tuple[Entry, ...], **more: Any
) -> Mention:
    """Return the mention of a name of the gazetteer."""
    value = options[0].value if _one_of_each_kind(options) else ""
    return _mention_of(
        options[0].kind, value, question, start, end, options=options, **more
    )


def _one_of_each_kind(options: Sequence[Entry]) -> bool:
    """Return whether the first option is the only one of its kind."""
    return len({o.value for o in options if o.kind == options[0].kind}) == 1


def _may_be_name(
    question: str, tokens: Sequence[Token], at: int, options: Sequence[Entry]
) -> bool:
    """Return whether one word that could be a name is one here.

    Names are written with a capital or stand after a preposition; in a question that
    has no capitals at all, words that are no common words are taken too.
    """
    token = tokens[at]
    before = tokens[at - 1].form if at else ""
    if token.form in _STOP:
        return token.text[0].isupper() and at > 0 and before in _PREPOSITIONS
    if token.text[0].isupper():
        return True
    if before in _PREPOSITIONS or before in CUE_OF:
        return True
    if any(o.kind == "country" for o in options) and len(token.form) > 3:
        return True
    return len(token.form) > 3 and not any(c.isupper() for c in question[1:])


def _by_cue(
    tokens: Sequence[Token], at: int, length: int, options: tuple[Entry, ...]
) -> tuple[Entry, ...]:
    """Put the kind first that the words beside a name speak of."""
    near = [t.form for t in tokens[max(0, at - 3) : at]][::-1]
    after = [t.form for t in tokens[at + length : at + length + 1]]
    for words in (after, near):
        for word in words:
            kind = CUE_OF.get(word)
            if kind and any(o.kind == kind for o in options):
                first = [o for o in options if o.kind == kind]
                return (*first, *(o for o in options if o.kind != kind))
            if word not in {"de", "het", "the", "of", "van", "in"} and not kind:
                break
    return options


def _begins_name(question: str, tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word such as `New` is part of the name that follows it."""
    if at + 1 >= len(tokens) or tokens[at].form not in _BEGINNINGS:
        return False
    here, following = tokens[at], tokens[at + 1]
    between = question[here.end : following.start]
    return (
        between in {" ", "-"}
        and here.text[0].isupper()
        and following.text[0].isupper()
        and following.form not in _STOP
    )


def _longer_name(
    question: str, tokens: Sequence[Token], at: int, mention: Mention
) -> Mention:
    """Return a place, or one that nobody knows where `New` stands before it.

    New York is not York: a name of the gazetteer is not taken out of a longer one.
    """
    places = {"city", "region", "country"}
    if mention.kind not in places or not _begins_name(question, tokens, at - 1):
        return mention
    cue = CUE_OF.get(tokens[at - 1].form)
    if cue and any(option.kind == cue for option in mention.options):
        return mention
    start = tokens[at - 1].start
    return _mention_of("place", "", question, start, mention.end, score=0.0)


def _end_of_name(tokens: Sequence[Token], at: int, taken: Taken) -> int:
    """Return the place after the last word of a name that begins with a capital."""
    if not tokens[at].text[0].isupper():
        return at + 1
    last = at + 1
    while last < len(tokens) and not taken.covers(tokens[last].start, tokens[last].end):
        token = tokens[last]
        linked = token.form in _LINKS and last + 1 < len(tokens)
        if token.text[0].isupper() or (linked and tokens[last + 1].text[0].isupper()):
            last += 1
        else:
            break
    return last


_PLACE_BEFORE = word_list("place_before")
_COMPARES = re.compile(
    r"\b(?:compar\w*|vergel\w*|more|fewer|meer|minder)\b", re.IGNORECASE
)
_COMPARED_WITH = frozenset({"to", "with", "than", "dan", "met"})
_DEFINITE = frozenset({"the", "de", "het"})
TYPO = 82.0
WHOLE = 92.0
NEARER = 86.0
"""How near a place must be where no word such as `in` stands before it."""

LONG = 6
ADJECTIVE = 3
CLOSE = 4.0


class MentionFinder:
    """Finds what questions name, by a gazetteer and by form."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self._gazetteer = gazetteer
        self._known = frozenset(gazetteer.identifiers)
        self._words = type_words()
        self._longest = max(gazetteer.longest, 6)

    @property
    def gazetteer(self) -> Gazetteer:
        """Return the names that are known."""
        return self._gazetteer

    def find(self, question: str) -> tuple[Mention, ...]:
        """Return what a question names and means, in its order, without overlaps."""
        said = _without_negated(question, self.find_all(question))
        return _without_containers(question, _with_countries(question, said))

    def find_all(self, question: str) -> tuple[Mention, ...]:
        """Return what a question names, also what it says it does not mean."""
        found = Taken()
        for mention in self._forms(question):
            found.add(mention)
        tokens = tokens_of(question)
        for mention in self._names(question, tokens, found):
            found.add(mention)
        for mention in _unknown_names(question, tokens, found):
            found.replace(mention)
        for mention in self._misspelt(question, tokens, found):
            found.add(mention)
        if (whole := self._whole_name(question, found)) is not None:
            found.replace(whole)
        return found.in_order()

    def _whole_name(self, question: str, taken: Taken) -> Mention | None:
        """Return the name that a question, but for its first words, nearly is."""
        kinds = {m.kind for m in taken.in_order()}
        text = asked_name(question)
        if not kinds and text != question.strip(" ?!.,;:"):
            part = self._part_of_names(question, text)
            if part is not None:
                return part
        if kinds & {"name", "identifier", "budget", "date"} or len(text) < 8:
            return None
        options, score = self.nearest(text, ("name",), cutoff=WHOLE)
        start = question.find(text)
        if not options or start < 0 or len({o.value for o in options}) > 1:
            return None
        return _named_mention(question, start, start + len(text), options, score=score)

    def _part_of_names(self, question: str, text: str) -> Mention | None:
        """Return the institutions that have all words of a name: `the Tate`."""
        options, start = self._gazetteer.named_with(text), question.find(text)
        if not options or start < 0 or not any(c.isupper() for c in text):
            return None
        known = tuple(dict.fromkeys(options))
        return _named_mention(question, start, start + len(text), known, score=WHOLE)

    def _forms(self, question: str) -> Iterable[Mention]:
        """Yield identifiers, amounts and years."""
        for f in identifiers(question, self._known):
            text = question[f.start : f.end]
            if region := self._gazetteer.regions.get(text.casefold()):
                yield _mention_of("region", region, question, f.start, f.end)
                continue
            value = self._gazetteer.identifiers.get(text.casefold(), text)
            yield _mention_of("identifier", value, question, f.start, f.end)
        for f in ranged(question, amounts(question)):
            span = f.start, f.end
            yield _mention_of("budget", f.value, question, *span, foreign=f.foreign)
        for f in years(question):
            span = f.start, f.end
            yield _mention_of("date", f.value, question, *span, relation=f.relation)

    def _names(
        self, question: str, tokens: Sequence[Token], taken: Taken
    ) -> Iterable[Mention]:
        """Yield names of the gazetteer and words for types, the longest first."""
        at = 0
        while at < len(tokens):
            for length in range(min(self._longest, len(tokens) - at), 0, -1):
                part = tokens[at : at + length]
                if taken.covers(part[0].start, part[-1].end):
                    continue
                if length == 1 and _begins_name(question, tokens, at):
                    continue
                mention = self._named(question, tokens, at, length)
                if mention is not None and at:
                    mention = _longer_name(question, tokens, at, mention)
                if mention is not None:
                    yield mention
                    at += length - 1
                    break
            at += 1

    def _named(
        self, question: str, tokens: Sequence[Token], at: int, length: int
    ) -> Mention | None:
        """Return what some words together name."""
        part = tokens[at : at + length]
        form = " ".join(token.form for token in part)
        start, end = part[0].start, part[-1].end
        options = self._gazetteer.entries.get(form, ())
        if not options and length <= ADJECTIVE and form.endswith("se"):
            options = self._adjective(form)
        if options and length == 1 and not _may_be_name(question, tokens, at, options):
            options = ()
        if options:
            return _named_mention(
                question, start, end, _by_cue(tokens, at, length, options)
            )
        if letter := self._words.letters.get(form):
            return _mention_of("institution_type", letter[0], question, start, end)
        if form in self._words.generic:
            return _mention_of("generic", "", question, start, end)
        return None

    def _adjective(self, form: str) -> tuple[Entry, ...]:
        """Return the places of a Dutch adjective: `Noord-Hollandse`, `Gentse`."""
        found = self._gazetteer.entries.get(form[:-2], ())
        return tuple(e for e in found if e.kind in {"city", "region"} and e.known)

    def _misspelt(
        self, question: str, tokens: Sequence[Token], taken: Taken
    ) -> Iterable[Mention]:
        """Yield types and places with typing errors, and places nobody knows."""
        strange = [
            token
            for token in tokens
            if spelling_of(token.form) is None
            and not taken.covers(token.start, token.end)
        ]
        compared = _COMPARES.search(question) is not None
        for at, token in enumerate(tokens):
            before = tokens[at - 1].form if at else ""
            if before in {"of", "van"} and at > 1 and tokens[at - 2].form in CUE_OF:
                before = tokens[at - 2].form
            placed = before in _PLACE_BEFORE or before in CUE_OF
            placed = placed or (
                before in _COMPARED_WITH and token.text[0].isupper() and compared
            )
            named = placed and token.text[0].isupper()
            common = is_asking(token.form) and not named
            if common or taken.covers(token.start, token.end):
                continue
            usual = token.text[0].islower() or at == 0
            if len(token.form) >= 5 and not placed and usual:
                letter = self._type_like(token.form)
                if letter is None and before not in _DEFINITE:
                    letter = self._compound_of(token.form)
                if letter is not None:
                    span = token.start, token.end
                    mention = _mention_of(
                        "institution_type", letter, question, *span, score=90.0
                    )
                    taken.add(mention)
                    yield mention
                    continue
            alone = strange == [token] and len(token.form) >= LONG
            if (
                placed
                or alone
                or (token.text[0].isupper() and before in _PREPOSITIONS and at > 0)
            ):
                last = _end_of_name(tokens, at, taken)
                sure = placed and (before != "te" or token.text[0].isupper())
                sure = sure and not is_asking(token.form)
                place = self._place(
                    question, tokens[at:last], sure=sure, cue=CUE_OF.get(before)
                )
                if place is not None:
                    taken.add(place)
                    yield place

    def _type_like(self, form: str) -> str | None:
        """Return the letter of a misspelt word for a type."""
        from rapidfuzz import fuzz, process

        best = process.extractOne(
            form,
            [w for w in self._words.letters if " " not in w and len(w) > 4],
            scorer=fuzz.ratio,
            score_cutoff=TYPO,
        )
        if best is None or best[0][0] != form[0]:
            return None
        return self._words.letters[best[0]][0]

    def _compound_of(self, form: str) -> str | None:
        """Return the letter of a Dutch compound of a word for a type: `streekmusea`."""
        ends = (
            form[at:]
            for at in range(3, len(form) - 4)
            if form[at:] in self._words.letters
        )
        end = next(ends, None)
        return None if end is None else self._words.letters[end][0]

    def _place(
        self, question: str, part: Sequence[Token], *, sure: bool, cue: str | None
    ) -> Mention | None:
        """Return the place that some words most look like, or one that is unknown."""
        text = " ".join(token.form for token in part)
        start, end = part[0].start, part[-1].end
        options, score = self.nearest(text, ("city", "region", "country"))
        options = tuple(o for o in options if o.known or o.kind == "country")
        if options and len(text) >= 4 and (sure or score >= NEARER):
            return _named_mention(question, start, end, options, score=score)
        if not sure or not part[0].text[0].isalpha():
            return None
        return _mention_of(cue or "place", "", question, start, end, score=0.0)

    def nearest(
        self, text: str, kinds: Sequence[str], *, cutoff: float = TYPO
    ) -> tuple[tuple[Entry, ...], float]:
        """Return what a misspelt name can stand for, and how near it is."""
        from rapidfuzz import fuzz, process

        form = normal(text)
        found: list[tuple[float, str, Entry]] = []
        for kind in kinds:
            for name, score, _ in process.extract(
                form,
                self._gazetteer.names.get(kind, ()),
                scorer=fuzz.ratio,
                score_cutoff=cutoff,
                limit=5,
            ):
                found += [
                    (-score, name, entry)
                    for entry in self._gazetteer.entries[name]
                    if entry.kind == kind
                ]
        if not found:
            return (), 0.0
        best = -min(found)[0]
        near = [e for s, _, e in sorted(found) if -s >= best - CLOSE]
        return tuple(dict.fromkeys(near)), best

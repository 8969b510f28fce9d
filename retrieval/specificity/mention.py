"""What a question names: types, places, institutions, identifiers, dates, budgets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.specificity.quantities import (
    CALENDAR,
    amounts,
    identifiers,
    ranged,
    years,
)
from knowtrail.retrieval.specificity.vocabulary import (
    Mention,
    Token,
    blanked,
    data_file,
    is_asking,
    normal,
    patterns_of,
    spelling_of,
    tokens_of,
    type_words,
    word_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowtrail.retrieval.specificity.gazetteer import Entry, Gazetteer

    Mentions = tuple[Mention, ...]

PLACES = frozenset({"city", "region", "country", "place"})
_P = patterns_of("mention")


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


def asked_name(question: str) -> str:
    """Return the part of a question that must be a name.

    That is what is between quotes, or what is left without the words around it that
    questions are made of.
    """
    if quoted := _P["quoted"].search(question):
        return quoted[1].strip()
    tokens = tokens_of(question)
    first, last = 0, len(tokens)
    while first < last and _carries_nothing(tokens[first], first=first == 0):
        first += 1
    while first < last and _carries_nothing(tokens[last - 1], first=False):
        last -= 1
    part = tokens[first:last]
    if len(part) > 8:
        part = [t for t in part if t.text[0].isupper()]
    return question[part[0].start : part[-1].end] if part else ""


def _carries_nothing(token: Token, *, first: bool) -> bool:
    typed = token.form in _TYPE_PARTS
    return (first or token.text[0].islower()) and is_asking(token.form) and not typed


_FUNCTION = word_list("stop")
_TYPE_PARTS = {*" ".join([*type_words().letters, *type_words().generic]).split()}
_TYPE_PARTS -= _FUNCTION
"""What words for types are made of, small words apart."""

_OF = frozenset({"of", "the", "van", "voor", "de", "het", "der", "des", "und", "for"})


def _unknown_names(tokens: Sequence[Token], taken: Taken) -> list[tuple[int, int]]:
    """Return what must be names of institutions that nobody knows: `the Foo Museum`."""
    # That is a word for a type in capitals, beside other capitals that name nothing.
    found = []
    for at, token in enumerate(tokens):
        if taken.kind_at(token) != "institution_type" or not token.text[0].isupper():
            continue
        first = last = at
        while first > 1 and _part_of_name(tokens[first - 1], taken):
            first -= 1
        while (step := _name_goes_on(tokens, last, taken)) > 0:
            last += step
        if last > first:
            found.append((tokens[first].start, tokens[last].end))
    return found


def _name_goes_on(tokens: Sequence[Token], last: int, taken: Taken) -> int:
    """Return how many words more a name has, small words such as `of` among them."""
    for step, word in enumerate(tokens[last + 1 : last + 4], start=1):
        if _part_of_name(word, taken):
            return step
        if word.form not in _OF:
            return 0
    return 0


def _part_of_name(token: Token, taken: Taken) -> bool:
    free = taken.kind_at(token) is None and token.form not in _FUNCTION
    return token.text[0].isupper() and free


def _settled(question: str, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return mentions in which a place that only says where a town lies is no other."""
    # `Ghent, Belgium` is one town, and so is `the Dutch province of Limburg` one
    # region. `Utrecht, Germany` is a place nobody knows. Of several towns of one name,
    # the region says which.
    found: list[Mention] = []
    for mention in mentions:
        last = found[-1] if found else None
        beside = last is not None and _beside(question, last, mention)
        if last and beside and mention.kind == "country" and last.about:
            if mention.value in {p.rpartition(", ")[2] for p in last.about.split("; ")}:
                known = replace(last, text=question[last.start : mention.end])
                known = replace(known, end=mention.end)
                found[-1] = known if ";" not in last.about else _in(known, mention)
                continue
            if not _P["goes_on"].match(question[mention.end :]):
                found[-1] = mention_of(
                    "place", "", question, last.start, mention.end, score=0.0
                )
                continue
        found.append(mention)
    if _P["compared"].search(question):
        return tuple(found)
    return tuple(
        next((_in(m, other) for other in found if _contains(other, m)), m)
        for m in found
        if not any(_contains(m, other) for other in found if other is not m)
    )


def _beside(question: str, city: Mention, country: Mention) -> bool:
    between = question[city.end : country.start]
    return (
        (city.kind, country.kind) == ("city", "country")
        and bool(country.value)
        and _P["before_country"].fullmatch(between) is not None
    )


def _in(city: Mention, place: Mention) -> Mention:
    return replace(city, within=place) if ";" in city.about else city


def _contains(place: Mention, other: Mention) -> bool:
    inside = {"country": {"city", "region"}, "region": {"city"}}.get(place.kind, set())
    if other.kind not in inside or not (place.value and other.value):
        return False
    around = {part for one in other.about.split("; ") for part in one.split(", ")}
    return bool({place.value, place.text, *(o.value for o in place.options)} & around)


def mention_of(
    kind: str, value: str, question: str, start: int, end: int, **more: Any
) -> Mention:
    """Return the mention of what stands at a place in a question."""
    text = question[start:end]
    return Mention(kind=kind, value=value, text=text, start=start, end=end, **more)


def without_excluded(
    question: str, mentions: Sequence[Mention]
) -> tuple[str, tuple[Mention, ...]]:
    """Return a question without what it excludes, and the mentions of that.

    `Are there no museums?` excludes nothing; what another thing is asked for instead of
    goes, but need not be filtered out.
    """
    spans: list[tuple[int, int]] = []
    left: list[Mention] = []
    last: Mention | None = None
    wanted = any(m.kind == "generic" for m in mentions)
    types = sum(m.kind == "institution_type" for m in mentions)
    for mention in mentions:
        start, drops = exclusion(question, mention, alone=not wanted and types < 2)
        joined = last is not None and _group(last) == _group(mention)
        if start < 0 and last and joined:
            also = _P["also"].fullmatch(question, last.end, mention.start)
            start = last.end if also else -1
        if start < 0:
            last = None
            continue
        last = mention
        spans.append((start, mention.end))
        if not drops:
            left.append(mention)
    for start, end in reversed(spans):
        question = f"{question[:start].rstrip()} {question[end:].lstrip()}"
    return question.strip(), tuple(left)


def exclusion(
    question: str, mention: Mention, *, alone: bool = False
) -> tuple[int, bool]:
    """Return where words begin that exclude a mention, and whether it is just dropped.

    Alone is what nothing else is asked for beside, that it could be left out of.
    """
    dated = mention.kind == "date"
    if dated and mention.lead >= 0:
        return mention.lead, False
    named = mention.value and mention.kind in {"institution_type", "name", *PLACES}
    if not (dated or named):
        return -1, False
    before = question[: mention.around[0] if dated else mention.start]
    if beside := _P["all_but"].search(before):
        return beside.start("but"), False
    found = _P["negated"].search(before)
    if found is None or (dated and not found["strong"]):
        return -1, False  # `behalve die van na 1970` is one of a date
    weak = found["none"] and not found["but"] and mention.kind == "institution_type"
    if weak and alone:
        return -1, False
    return found.start(), bool(found["instead"])


def _group(mention: Mention) -> str:
    return "place" if mention.kind in {*PLACES, "name"} else mention.kind


_PREPOSITIONS = word_list("prepositions")
_LINKS = word_list("links")
_BEYOND = word_list("beyond")
CUE_OF: dict[str, str] = data_file("places.yaml")["kinds"]
"""Word for a kind of place -> the kind."""

_BEGINNINGS = word_list("beginnings")
"""Words that begin names of places, and change which place it is."""

_DETERMINERS = frozenset({"a", "an", "the", "een", "de", "het", "my", "your", "this"})


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


def named_mention(
    question: str, start: int, end: int, options: tuple[Entry, ...], **more: Any
) -> Mention:
    """Return the mention of a name, without a value where it is ambiguous."""
    first = options[0]
    alone = len({o.value for o in options if o.kind == first.kind}) == 1
    value = first.value if alone else ""
    return mention_of(first.kind, value, question, start, end, options=options, **more)


def _may_be_name(
    question: str, tokens: Sequence[Token], at: int, options: Sequence[Entry]
) -> bool:
    """Return whether one word that is a name of the gazetteer is one here."""
    # Names are written with a capital or stand after a preposition; in a question that
    # has no capitals at all, words without an article are taken too.
    token, before = tokens[at], tokens[at - 1].form if at else ""
    placed = before in _PREPOSITIONS or before in CUE_OF
    capital = token.text[0].isupper()
    if token.form in _FUNCTION:
        return capital and at > 0 and before in _PREPOSITIONS
    if token.form in _BEYOND and at == 0:
        return False
    if capital or placed:
        return True
    if any(o.kind == "country" for o in options) and len(token.form) > 3:
        return True
    plain = not any(c.isupper() for c in question[1:])
    return len(token.form) > 3 and plain and before not in _DETERMINERS


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
                return tuple(sorted(options, key=lambda o: o.kind != kind))
            if word not in {"de", "het", "the", "of", "van", "in"} and not kind:
                break
    return options


def _begins_name(question: str, tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word such as `New` is part of the name that follows it."""
    if not 0 <= at < len(tokens) - 1 or tokens[at].form not in _BEGINNINGS:
        return False
    here, following = tokens[at], tokens[at + 1]
    return (
        question[here.end : following.start] in {" ", "-"}
        and here.text[0].isupper()
        and following.text[0].isupper()
        and following.form not in _FUNCTION
    )


def _longer_name(
    question: str, tokens: Sequence[Token], at: int, mention: Mention
) -> Mention:
    """Return a place, or one that nobody knows where `New` stands before it."""
    # New York is not York: a name of the gazetteer is not taken out of a longer one.
    if mention.kind not in PLACES or not _begins_name(question, tokens, at - 1):
        return mention
    cue = CUE_OF.get(tokens[at - 1].form)
    if cue and any(option.kind == cue for option in mention.options):
        return mention
    start = tokens[at - 1].start
    return mention_of("place", "", question, start, mention.end, score=0.0)


def _end_of_name(tokens: Sequence[Token], at: int, taken: Taken) -> int:
    """Return the place after the last word of a name that begins with a capital."""
    last = at + 1
    while tokens[at].text[0].isupper() and last < len(tokens):
        token = tokens[last]
        linked = token.form in _LINKS and last + 1 < len(tokens)
        goes_on = token.text[0].isupper() or (
            linked and tokens[last + 1].text[0].isupper()
        )
        if not goes_on or taken.covers(token.start, token.end):
            break
        last += 1
    return last


_PLACE_BEFORE = word_list("place_before")
_COMPARED_WITH = frozenset({"to", "with", "than", "dan", "met"})
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
        self.gazetteer = gazetteer
        self._words = type_words()
        self._longest = max(gazetteer.longest, 6)

    def find(self, question: str) -> tuple[Mention, ...]:
        """Return what a question names, in its order, without overlaps."""
        return _settled(question, self.find_all(question))

    def find_all(self, question: str) -> tuple[Mention, ...]:
        """Return what a question names, also places that say where others lie."""
        found = Taken()
        for mention in self._forms(question):
            found.add(mention)
        tokens = tokens_of(question)
        for mention in self._names(question, tokens, found):
            found.add(mention)
        for start, end in _unknown_names(tokens, found):
            found.replace(mention_of("name", "", question, start, end, score=0.0))
        self._misspelt(question, tokens, found)
        if (whole := self._whole_name(question, found)) is not None:
            found.replace(whole)
        return found.in_order()

    def parted(self, question: str) -> tuple[str, Mentions, Mentions]:
        """Return a question without what it excludes, what it names, and excludes."""
        asked, excluded = without_excluded(question, self.find_all(question))
        return asked, self.find(asked), excluded

    def unnamed(self, question: str) -> str:
        """Return a question with blanks for the names in it, and for what is quoted."""
        spans = [m.span() for m in _P["quoted"].finditer(question)]
        spans += [(m.start, m.end) for m in self.find(question) if m.kind == "name"]
        return blanked(question, spans)

    def _whole_name(self, question: str, taken: Taken) -> Mention | None:
        """Return the name that a question, but for its first words, nearly is."""
        kinds = {m.kind for m in taken.in_order()}
        text = asked_name(question)
        start = question.find(text)
        led = bool(text) and text != question.strip(" ?!.,;:") and not kinds
        if led and any(c.isupper() for c in text):  # such as `the Tate`
            options = tuple(dict.fromkeys(self.gazetteer.named_with(text)))
            if options:
                end = start + len(text)
                return named_mention(question, start, end, options, score=WHOLE)
        if kinds & {"name", "identifier", "budget", "date"} or len(text) < 8:
            return None
        options, score = self.nearest(text, ("name",), cutoff=WHOLE)
        if not options or start < 0 or len({o.value for o in options}) > 1:
            return None
        return named_mention(question, start, start + len(text), options, score=score)

    def _forms(self, question: str) -> Iterable[Mention]:
        for f in identifiers(question, self.gazetteer.identifiers):
            text = f.text.casefold()
            if region := self.gazetteer.regions.get(text):
                yield replace(f, kind="region", value=region)
            else:
                yield replace(f, value=self.gazetteer.identifiers.get(text, f.value))
        yield from ranged(question, amounts(question))
        yield from years(question)

    def _names(
        self, question: str, tokens: Sequence[Token], taken: Taken
    ) -> Iterable[Mention]:
        at = 0
        while at < len(tokens):
            for length in range(min(self._longest, len(tokens) - at), 0, -1):
                part = tokens[at : at + length]
                if taken.covers(part[0].start, part[-1].end):
                    continue
                if length == 1 and _begins_name(question, tokens, at):
                    continue
                mention = self._named(question, tokens, at, length)
                if mention is not None:
                    yield _longer_name(question, tokens, at, mention)
                    at += length - 1
                    break
            at += 1

    def _named(
        self, question: str, tokens: Sequence[Token], at: int, length: int
    ) -> Mention | None:
        part = tokens[at : at + length]
        form = " ".join(token.form for token in part)
        start, end = part[0].start, part[-1].end
        options = self.gazetteer.entries.get(form, ())
        if not options and length <= ADJECTIVE and form.endswith("se"):
            # a Dutch adjective: `Noord-Hollandse`, `Gentse`
            found = self.gazetteer.entries.get(form[:-2], ())
            options = tuple(e for e in found if e.kind in PLACES and e.known)
        if options and length == 1 and not _may_be_name(question, tokens, at, options):
            options = ()
        if options:
            options = _by_cue(tokens, at, length, options)
            return named_mention(question, start, end, options)
        if letter := self._words.letters.get(form):
            return mention_of("institution_type", letter[0], question, start, end)
        if form in self._words.generic:
            return mention_of("generic", "", question, start, end)
        return None

    def _misspelt(self, question: str, tokens: Sequence[Token], taken: Taken) -> None:
        """Take types and places with typing errors, and places nobody knows."""
        strange = [
            t
            for t in tokens
            if spelling_of(t.form) is None and not taken.covers(t.start, t.end)
        ]
        compared = _P["compares"].search(question) is not None
        for at, token in enumerate(tokens):
            before = tokens[at - 1].form if at else ""
            if before in {"of", "van"} and at > 1 and tokens[at - 2].form in CUE_OF:
                before = tokens[at - 2].form
            capital = token.text[0].isupper()
            placed = before in _PLACE_BEFORE or before in CUE_OF
            placed = placed or (before in _COMPARED_WITH and capital and compared)
            common = is_asking(token.form) and not (placed and capital)
            if common or token.form in CALENDAR or taken.covers(token.start, token.end):
                continue
            if len(token.form) >= 5 and not placed and (not capital or at == 0):
                letter = self._type_like(token.form, before)
                if letter is not None:
                    span = token.start, token.end
                    kind = "institution_type"
                    taken.add(mention_of(kind, letter, question, *span, score=90.0))
                    continue
            alone = strange == [token] and len(token.form) >= LONG
            if placed or alone or (capital and before in _PREPOSITIONS and at > 0):
                last = _end_of_name(tokens, at, taken)
                sure = placed and (before != "te" or capital)
                sure = sure and not is_asking(token.form)
                place = self._place(
                    question, tokens[at:last], sure=sure, cue=CUE_OF.get(before)
                )
                if place is not None:
                    taken.add(place)

    def _type_like(self, form: str, before: str) -> str | None:
        """Return the letter of a misspelt type, or of a compound: `streekmusea`."""
        from rapidfuzz import fuzz, process

        letters = self._words.letters
        words = [w for w in letters if " " not in w and len(w) > 4]
        best = process.extractOne(form, words, scorer=fuzz.ratio, score_cutoff=TYPO)
        if best is not None and best[0][0] == form[0]:
            return letters[best[0]][0]
        if before in {"the", "de", "het"}:
            return None
        ends = (form[at:] for at in range(3, len(form) - 4) if form[at:] in letters)
        end = next(ends, None)
        return None if end is None else letters[end][0]

    def _place(
        self, question: str, part: Sequence[Token], *, sure: bool, cue: str | None
    ) -> Mention | None:
        """Return the place that some words most look like, or one that is unknown."""
        text = " ".join(token.form for token in part)
        start, end = part[0].start, part[-1].end
        options, score = self.nearest(text, ("city", "region", "country"))
        options = tuple(o for o in options if o.known or o.kind == "country")
        if options and len(text) >= 4 and (sure or score >= NEARER):
            return named_mention(question, start, end, options, score=score)
        if not sure or not part[0].text[0].isalpha():
            return None
        return mention_of(cue or "place", "", question, start, end, score=0.0)

    def nearest(
        self, text: str, kinds: Sequence[str], *, cutoff: float = TYPO
    ) -> tuple[tuple[Entry, ...], float]:
        """Return what a misspelt name can stand for, and how near it is, of 100.

        Entries of names that are nearly as near as the nearest are among them.
        """
        from rapidfuzz import fuzz, process

        form = normal(text)
        found: list[tuple[float, str, Entry]] = []
        for kind in kinds:
            names = self.gazetteer.names.get(kind, ())
            for name, score, _ in process.extract(
                form, names, scorer=fuzz.ratio, score_cutoff=cutoff, limit=5
            ):
                found += [
                    (-score, name, entry)
                    for entry in self.gazetteer.entries[name]
                    if entry.kind == kind
                ]
        if not found:
            return (), 0.0
        best = -min(found)[0]
        near = [e for s, _, e in sorted(found) if -s >= best - CLOSE]
        return tuple(dict.fromkeys(near)), best

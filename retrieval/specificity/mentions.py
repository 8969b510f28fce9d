"""What a question names: types, places, institutions, identifiers, dates, budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrieval.specificity.gazetteer import Entry
from retrieval.specificity.quantities import amounts, identifiers, years
from retrieval.specificity.words import normal, tokens_of, type_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retrieval.specificity.gazetteer import Gazetteer
    from retrieval.specificity.words import Token

__all__ = ["Mention", "MentionFinder", "question_words"]

_PREPOSITIONS = frozenset(
    ["in", "te", "near", "around", "from", "uit", "van", "of", "within", "inside", "bij", "binnen", "rond", "rondom", "nabij", "for", "voor", "throughout", "across", "with", "met", "and", "en", "or", "versus", "vs", "than", "dan", "to", "tot", "naar", "between", "tussen", "tegenover", "over"]
)
_PLACE_BEFORE = frozenset(
    ["in", "te", "near", "around", "from", "uit", "within", "inside", "bij", "binnen", "nabij"]
)
_LINKS = frozenset(
    ["upon", "on", "aan", "am", "den", "der", "de", "le", "la", "les", "sur", "the", "op", "bij", "en", "of", "under"]
)
_CUES = {
    "region": "province region state county provincie regio gewest deelstaat staat "
    "streek departement",
    "city": "city town village municipality stad dorp gemeente plaats stadje",
    "country": "country nation land",
}
_CUE_OF = {word: kind for kind, words in _CUES.items() for word in words.split()}
_STOP = frozenset(
    ["a", "about", "all", "alle", "alles", "also", "ander", "andere", "any", "are", "as", "at", "be", "been", "best", "beste", "bij", "but", "by", "can", "could", "count", "dan", "dat", "de", "deal", "deze", "did", "die", "dit", "do", "does", "doe", "een", "either", "elke", "en", "ergens", "er", "every", "find", "for", "from", "geef", "get", "give", "had", "has", "have", "heb", "hebben", "heeft", "het", "hier", "hoe", "how", "i", "ik", "in", "is", "it", "ja", "je", "kan", "know", "last", "laatste", "latest", "list", "locate", "me", "meer", "meeste", "met", "mijn", "mij", "more", "most", "my", "na", "naar", "near", "new", "newest", "next", "nieuw", "nieuwste", "no", "noem", "nog", "of", "old", "oldest", "on", "one", "ook", "only", "or", "other", "otherwise", "oud", "oudste", "over", "please", "reading", "said", "say", "see", "show", "some", "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "toon", "total", "totaal", "uit", "u", "up", "use", "van", "vind", "vinden", "vertel", "voor", "waar", "wanneer", "want", "was", "wat", "we", "weet", "welke", "wells", "were", "what", "when", "where", "which", "who", "wie", "wil", "with", "word", "would", "year", "jaar", "you", "your", "zijn", "zo", "zoek", "zou", "zonder", "both", "between", "also", "besides", "and", "same", "hetzelfde", "idem", "it", "its", "him", "her", "hij", "zij", "good", "goed", "bath", "hull", "rye", "ham", "ware", "hope", "sandwich", "battle", "bury", "poole", "looe", "eye", "diss", "ash", "wing", "stone", "street", "wood", "sale", "ely", "ede", "born", "best", "epe", "goes", "heel", "huis", "hem", "laren", "meer", "beek", "berg", "bern", "bolsward", "general", "general", "world", "wereld", "europe", "europa", "earth", "aarde", "buurt", "area", "neighbourhood", "neighborhood", "founded", "opgericht", "gesticht", "budget"]
)
"""Words that are also names of places, or that can never be one."""

TYPO = 82.0
CLOSE = 4.0


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

    def as_kind(self, kind: str) -> str | None:
        """Return the value where the mention is read as one of a kind."""
        if self.kind == kind:
            return self.value or None
        return next((o.value for o in self.options if o.kind == kind), None)


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
        """Return what a question names, in its order, without overlaps."""
        found = _Taken()
        for mention in self._forms(question):
            found.add(mention)
        tokens = tokens_of(question)
        for mention in self._names(question, tokens, found):
            found.add(mention)
        for mention in _unknown_names(question, tokens, found):
            found.replace(mention)
        for mention in self._misspelt(question, tokens, found):
            found.add(mention)
        return found.in_order()

    def _forms(self, question: str) -> Iterable[Mention]:
        """Yield identifiers, amounts and years."""
        for f in identifiers(question, self._known):
            text = question[f.start : f.end]
            if region := self._gazetteer.regions.get(text.casefold()):
                yield _mention("region", region, question, f.start, f.end)
                continue
            value = self._gazetteer.identifiers.get(text.casefold(), text)
            yield _mention("identifier", value, question, f.start, f.end)
        money = amounts(question)
        for f in money:
            yield Mention(
                kind="budget",
                value=f.value,
                text=question[f.start : f.end],
                start=f.start,
                end=f.end,
                foreign=f.foreign,
            )
        for f in years(question):
            yield Mention(
                kind="date",
                value=f.value,
                text=question[f.start : f.end],
                start=f.start,
                end=f.end,
                relation=f.relation,
            )

    def _names(
        self, question: str, tokens: Sequence[Token], taken: _Taken
    ) -> Iterable[Mention]:
        """Yield names of the gazetteer and words for types, the longest first."""
        at = 0
        while at < len(tokens):
            for length in range(min(self._longest, len(tokens) - at), 0, -1):
                part = tokens[at : at + length]
                if taken.covers(part[0].start, part[-1].end):
                    continue
                mention = self._named(question, tokens, at, length)
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
        if options and length == 1 and not _may_be_name(question, tokens, at, options):
            options = ()
        if options:
            return _named_mention(
                question, start, end, _by_cue(tokens, at, length, options)
            )
        if letter := self._words.letters.get(form):
            return _mention("institution_type", letter[0], question, start, end)
        if form in self._words.generic:
            return _mention("generic", "", question, start, end)
        return None

    def _misspelt(
        self, question: str, tokens: Sequence[Token], taken: _Taken
    ) -> Iterable[Mention]:
        """Yield types and places with typing errors, and places nobody knows."""
        for at, token in enumerate(tokens):
            before = tokens[at - 1].form if at else ""
            placed = before in _PLACE_BEFORE or before in _CUE_OF
            named = placed and token.text[0].isupper()
            common = token.form in _STOP and not named
            if common or taken.covers(token.start, token.end):
                continue
            if len(token.form) >= 5 and not placed and token.text[0].islower():
                if letter := self._type_like(token.form):
                    mention = _mention(
                        "institution_type",
                        letter,
                        question,
                        token.start,
                        token.end,
                        score=90.0,
                    )
                    taken.add(mention)
                    yield mention
                    continue
            if placed or (
                token.text[0].isupper() and before in _PREPOSITIONS and at > 0
            ):
                last = _end_of_name(tokens, at, taken)
                mention = self._place(question, tokens[at:last], sure=placed)
                if mention is not None:
                    taken.add(mention)
                    yield mention

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

    def _place(
        self, question: str, part: Sequence[Token], *, sure: bool
    ) -> Mention | None:
        """Return the place that some words most look like, or one that is unknown."""
        text = " ".join(token.form for token in part)
        start, end = part[0].start, part[-1].end
        options, score = self.nearest(text, ("city", "region", "country"))
        if options and len(text) >= 4:
            value = options[0].value if _one_of_each_kind(options) else ""
            return Mention(
                kind=options[0].kind,
                value=value,
                text=question[start:end],
                start=start,
                end=end,
                options=options,
                score=score,
            )
        if not sure or not part[0].text[0].isalpha():
            return None
        return _mention("place", "", question, start, end, score=0.0)

    def nearest(
        self, text: str, kinds: Sequence[str], *, cutoff: float = TYPO
    ) -> tuple[tuple[Entry, ...], float]:
        """Return what a misspelt name can stand for, and how near it is.

        Args:
            text: A name.
            kinds: Kinds of entries that it may be.
            cutoff: How near at least, of 100.

        Returns:
            The entries of the nearest names, also of those nearly as near, and the
            score of the nearest; nothing where none is near.
        """
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


class _Taken:
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


def question_words(question: str, mentions: Sequence[Mention]) -> list[str]:
    """Return the normal forms of the words that no mention covers."""
    return [
        token.form
        for token in tokens_of(question)
        if not any(m.start <= token.start < m.end for m in mentions)
    ]


def _unknown_names(
    question: str, tokens: Sequence[Token], taken: _Taken
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
        while last + 1 < len(tokens) and _part_of_name(tokens[last + 1], taken):
            last += 1
        if last > first:
            start, end = tokens[first].start, tokens[last].end
            found.append(_mention("name", "", question, start, end, score=0.0))
    return found


def _part_of_name(token: Token, taken: _Taken, *, first: bool = False) -> bool:
    """Return whether a word beside a word for a type may belong to its name."""
    return (
        token.text[0].isupper()
        and token.form not in _STOP
        and taken.kind_at(token) is None
        and not first
    )


def _mention(
    kind: str, value: str, question: str, start: int, end: int, *, score: float = 100.0
) -> Mention:
    """Return a mention that can stand for one thing."""
    return Mention(
        kind=kind,
        value=value,
        text=question[start:end],
        start=start,
        end=end,
        score=score,
    )


def _named_mention(
    question: str, start: int, end: int, options: tuple[Entry, ...]
) -> Mention:
    """Return the mention of a name of the gazetteer."""
    kinds = [o for o in options if o.kind == options[0].kind]
    return Mention(
        kind=options[0].kind,
        value=options[0].value if len({o.value for o in kinds}) == 1 else "",
        text=question[start:end],
        start=start,
        end=end,
        options=options,
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
    if before in _PREPOSITIONS or before in _CUE_OF:
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
    for word in (*near, *after):
        kind = _CUE_OF.get(word)
        if kind and any(o.kind == kind for o in options):
            first = [o for o in options if o.kind == kind]
            return (*first, *(o for o in options if o.kind != kind))
        if word not in {"de", "het", "the", "of", "van", "in"} and not kind:
            break
    return options


def _end_of_name(tokens: Sequence[Token], at: int, taken: _Taken) -> int:
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

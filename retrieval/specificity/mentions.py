"""What a question names: types, places, institutions, identifiers, dates, budgets."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from retrieval.specificity.asked_name import asked_name
from retrieval.specificity.mention import (
    Mention,
    Taken,
    mention_of,
    unknown_names,
    with_countries,
    without_containers,
)
from retrieval.specificity.naming import (
    CUE_OF,
    begins_name,
    by_cue,
    end_of_name,
    longer_name,
    may_be_name,
    named_mention,
    one_of_each_kind,
)
from retrieval.specificity.negation import without_negated
from retrieval.specificity.quantities import amounts, identifiers, years
from retrieval.specificity.ranges import ranged
from retrieval.specificity.vocabulary import is_asking, spelling_of
from retrieval.specificity.words import normal, tokens_of, type_words, word_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retrieval.specificity.gazetteer import Entry, Gazetteer
    from retrieval.specificity.words import Token

__all__ = ["Mention", "MentionFinder"]

_PREPOSITIONS = word_list("prepositions")
_PLACE_BEFORE = word_list("place_before")
_COMPARED = re.compile(
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
        """Return what a question names, in its order, without overlaps."""
        found = Taken()
        for mention in self._forms(question):
            found.add(mention)
        tokens = tokens_of(question)
        for mention in self._names(question, tokens, found):
            found.add(mention)
        for mention in unknown_names(question, tokens, found):
            found.replace(mention)
        for mention in self._misspelt(question, tokens, found):
            found.add(mention)
        if (whole := self._whole_name(question, found)) is not None:
            found.replace(whole)
        said = without_negated(question, found.in_order())
        return without_containers(question, with_countries(question, said))

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
        end = start + len(text)
        return replace(
            mention_of("name", options[0].value, question, start, end, score=score),
            options=options,
        )

    def _part_of_names(self, question: str, text: str) -> Mention | None:
        """Return the institutions that have all words of a name: `the Tate`."""
        words, start = set(normal(text).split()), question.find(text)
        options = [
            entry
            for form in self._gazetteer.names.get("name", ())
            if words and words <= set(form.split())
            for entry in self._gazetteer.entries[form]
            if entry.kind == "name"
        ]
        if not options or start < 0 or not any(c.isupper() for c in text):
            return None
        known = tuple(dict.fromkeys(options))
        value = known[0].value if len({o.value for o in known}) == 1 else ""
        end = start + len(text)
        found = mention_of("name", value, question, start, end, score=WHOLE)
        return replace(found, options=known)

    def _forms(self, question: str) -> Iterable[Mention]:
        """Yield identifiers, amounts and years."""
        for f in identifiers(question, self._known):
            text = question[f.start : f.end]
            if region := self._gazetteer.regions.get(text.casefold()):
                yield mention_of("region", region, question, f.start, f.end)
                continue
            value = self._gazetteer.identifiers.get(text.casefold(), text)
            yield mention_of("identifier", value, question, f.start, f.end)
        for f in ranged(question, amounts(question)):
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
        self, question: str, tokens: Sequence[Token], taken: Taken
    ) -> Iterable[Mention]:
        """Yield names of the gazetteer and words for types, the longest first."""
        at = 0
        while at < len(tokens):
            for length in range(min(self._longest, len(tokens) - at), 0, -1):
                part = tokens[at : at + length]
                if taken.covers(part[0].start, part[-1].end):
                    continue
                if length == 1 and begins_name(question, tokens, at):
                    continue
                mention = self._named(question, tokens, at, length)
                if mention is not None and at:
                    mention = longer_name(question, tokens, at, mention)
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
        if options and length == 1 and not may_be_name(question, tokens, at, options):
            options = ()
        if options:
            return named_mention(
                question, start, end, by_cue(tokens, at, length, options)
            )
        if letter := self._words.letters.get(form):
            return mention_of("institution_type", letter[0], question, start, end)
        if form in self._words.generic:
            return mention_of("generic", "", question, start, end)
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
        compared = _COMPARED.search(question) is not None
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
                    mention = mention_of(
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
                last = end_of_name(tokens, at, taken)
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
            value = options[0].value if one_of_each_kind(options) else ""
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
        return mention_of(cue or "place", "", question, start, end, score=0.0)

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

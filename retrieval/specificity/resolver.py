"""Follow-ups made into questions that stand alone: `and in Utrecht?`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from retrieval.specificity.cues import residue
from retrieval.specificity.frames import frame_of, merged, sentence
from retrieval.specificity.naming import named_kind, question_words
from retrieval.specificity.quantities import in_euro
from retrieval.specificity.wording import plain_wording
from retrieval.specificity.words import tokens_of, word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.conversation import Conversation
    from retrieval.specificity.mentions import Mention, MentionFinder

__all__ = ["ConversationContextResolver", "Resolution"]

_OPENING = re.compile(
    r"^\W*(?:and|en|what about|how about|and what about|or|but|maar|also|ook|"
    r"hoe zit het met|en hoe zit het met|wat dacht je van|wat met|same for|"
    r"hetzelfde voor|only|alleen|just|enkel|plus|then|dan|no\s*,|nope|nee\s*,?"
    r"|i meant?|"
    r"ik bedoel(?:de)?|actually|eigenlijk|rather|liever|instead|en voor|and for|idem"
    r"|ditto)"
    r"(?!\w)",
    re.IGNORECASE,
)
_THOSE = re.compile(
    r"\b(?:of (?:those|them|these)|those|them|they|daarvan|hiervan|ervan|daaronder|"
    r"(?:is|are|zijn) (?:that|those|dat|die|dit) (?:more|fewer|less|meer|minder)|"
    r"van die|van deze|van hen|(?:zijn|waren) (?:dat|die|deze)(?: er)?)\b"
    r"|^\W*(?:and |en )?(?:which|welke?|who|what)(?: (?:ones?|then|dan))?\W*$",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:more|fewer|less|meer|minder) (?:\w+ )?(?:than|dan)\b", re.IGNORECASE
)
_IT = re.compile(
    r"\b(?:it|its|that one|this one|(?:that|this) (?:museum|archive|library|gallery|"
    r"institution)|"
    r"(?:dat|dit|die|deze) (?:museum|archief|bibliotheek|galerie|instelling)|"
    r"(?:ligt|is|staat|werd|was) (?:het|hij|die|dat|deze|ze|zij)"
    r"(?=\W*$|\s+(?:opgericht|gesticht|gevestigd|geopend|gelegen|ontstaan)))",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"(?<!are )(?<!is )(?<!were )\bthere\W*$|\bdaar\W*$|\bdaar\b(?= (?:zijn|is|ook))",
    re.IGNORECASE,
)
_THAT_PLACE = re.compile(
    r"\b(?:in|of|from|van|uit)\s+(?:that|this|die|dat|deze|dit)\s+(?:same\s+"
    r"|zelfde\s+)?"
    r"(?:city|town|place|province|region|country|stad|plaats|dorp|provincie|regio"
    r"|land)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?!which|what|welke?|wat|how|hoe|where|waar|compar"
    r"|vergel)[^,.;!?:]){4,120}[,.;!]\s+"
    r"(?=(?:en |and |so |dus )?(?:which|what|welke?|wat|how many|hoeveel|are there"
    r"|zijn er|"
    r"is there|is er|where|waar|do you|heb je)\b)",
    re.IGNORECASE,
)
_DAAR = re.compile(r"(?<=\w )\b(?:daar|there)\b(?! (?:are|is|any))", re.IGNORECASE)
_WHOLE = re.compile(
    r"\b(?:what|which|who) (?:is|are) (?:there|in)\b|\bwat (?:is|zijn|heeft|valt) er\b"
    r"|\b(?:everything|alles) (?:in|uit|van)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:which|welke?|how many|hoe ?veel|list|geef|toon|noem|show)\b", re.IGNORECASE
)
_CONNECTING = word_list("connecting")
_PLACES = frozenset({"city", "region", "country", "place"})
_TYPES = frozenset({"institution_type", "generic"})
_ALONE = frozenset({"name", "identifier"})
_MEASURES = frozenset({"date", "budget"})
_QUANTITY = frozenset({"many", "hoeveel", "number", "aantal", "count", "tel"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A question that stands alone, or what is missing.

    Attributes:
        question: The question; as it was where it builds on nothing.
        follow_up: Whether it builds on what was said before.
        antecedent: The question that it builds on; None where there is none.
        candidates: Institutions that it may mean, where it is not clear which.
        strange: Words that say what it is about, and that mean nothing here.
    """

    question: str
    follow_up: bool = False
    antecedent: str | None = None
    candidates: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()

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
        """Return a question that stands alone.

        Args:
            question: What was asked.
            conversation: What was said before.
            language: Language of the question.
        """
        question = plain_wording(question)
        last = conversation.last if conversation else None
        if last is not None and "budget" in last.slots:
            question = in_euro(question)
        mentions = self._finder.find(question)
        if (moved := _without_lead(question, mentions)) != question:
            question, mentions = moved, self._finder.find(moved)
        kinds = {m.kind for m in mentions}
        within = kinds & _ALONE or (kinds & _TYPES and kinds & _PLACES)
        meant_one = _IT.search(question) and not within
        if not meant_one and not _builds_on_another(
            question, mentions, alone=last is None
        ):
            return Resolution(question=question)
        if last is None:
            return Resolution(question=question, follow_up=True)
        if meant_one:
            return _of_one(question, last.names, last.resolved)
        if residue(question, mentions) and not _OPENING.search(question):
            return Resolution(question=question)  # what it is about was not said before
        before = frame_of(
            last.resolved, self._finder.find(last.resolved), last.template_id
        )
        now = frame_of(question, mentions)
        if not mentions and (strange := residue(question, mentions)):
            place = _capitalised(question, strange)
            if place is None:
                return Resolution(question=question, follow_up=True, strange=strange)
            now = replace(now, places=(("place", place),))
        if _MORE.search(question) and now.places and before.places:
            now = replace(now, intent="compare", counted=False)
        if _WHOLE.search(question) and not now.letters:
            now = replace(now, generic=True)
        if not now.places and before.places and (kind := named_kind(question)):
            now = replace(now, places=tuple((kind, name) for _, name in before.places))
        if before.name is None and last.names and len(last.names) == 1:
            before = replace(before, name=last.names[0])
        made = sentence(merged(before, now), language)
        if made is None:
            return Resolution(question=question, follow_up=True)
        return Resolution(question=made, follow_up=True, antecedent=last.resolved)


def _builds_on_another(
    question: str, mentions: Sequence[Mention], *, alone: bool
) -> bool:
    """Return whether a question says too little to stand alone.

    Args:
        question: The question.
        mentions: What it names.
        alone: Whether nothing was said before that it could build on.
    """
    kinds = {m.kind for m in mentions}
    typed, placed = bool(kinds & _TYPES), bool(kinds & _PLACES)
    measured = bool(kinds & _MEASURES)
    if alone and (measured or (typed and _nowhere(question))):
        return False  # it says what it wants; a place is asked for by name
    if _THOSE.search(question):
        return not (typed and placed)
    if kinds & _ALONE:
        return bool(_OPENING.search(question)) and len(tokens_of(question)) <= 12
    if _nowhere(question):
        return not placed
    known = _CONNECTING if alone else _CONNECTING | _QUANTITY
    rest = [w for w in question_words(question, mentions) if w not in known]
    if _WHOLE.search(question) and placed:
        return False
    if _OPENING.search(question):
        asks = rest or _ASKS.search(question)
        return not (typed and placed and asks) and len(rest) <= 5
    if mentions and not rest and not (typed and (placed or measured)):
        return not _existing(question, kinds)
    short = len(tokens_of(question)) <= 7
    asking = re.search(
        r"\b(?:how many|hoe ?veel|which|welke?|wat|what|when|oldest|newest|oudst\w*|"
        r"nieuwst\w*|youngest|jongst\w*)\b",
        question,
        re.IGNORECASE,
    )
    quantified = re.search(
        r"\b(?:how many|hoe ?veel|oldest|newest|youngest|oudst\w*|nieuwst\w*|jongst\w*"
        r"|founded|opgericht)\b",
        question,
        re.IGNORECASE,
    )
    return bool(short and asking and quantified and not (typed or placed or measured))


def _without_lead(question: str, mentions: Sequence[Mention]) -> str:
    """Return a question without a sentence before it that only says where.

    `I am in Ghent. Which museums are there?` becomes `Which museums are in Ghent?`.
    """
    lead = _LEAD.match(question)
    if lead is None:
        return question
    before = [m for m in mentions if m.end <= lead.end()]
    after = [m for m in mentions if m.start >= lead.end()]
    asked = {m.kind for m in after}
    if any(m.kind not in _PLACES for m in before) or len(before) > 1:
        return question
    rest = question[lead.end() :]
    if not before or asked & _PLACES:
        return rest if asked & (_TYPES | _ALONE) else question
    where = f"in {before[0].text}"
    made, changed = _DAAR.subn(where, rest, count=1)
    if changed:
        return made
    return f"{rest.rstrip(' ?!.')} {where}?" if asked & _TYPES else question


def _nowhere(question: str) -> bool:
    """Return whether a question says `there` or `in that city` for a place."""
    return bool(_THERE.search(question) or _THAT_PLACE.search(question))


def _capitalised(question: str, strange: Sequence[str]) -> str | None:
    """Return strange words in capitals that stand together: `and Rotterdam?`."""
    tokens = [t for t in tokens_of(question) if t.form in strange]
    if not all(token.text[0].isupper() for token in tokens):
        return None
    part = question[tokens[0].start : tokens[-1].end]
    return part if len(part.split()) <= len(tokens) + 2 else None


def _existing(question: str, kinds: set[str]) -> bool:
    """Return whether a question such as `how many archives are there` is whole."""
    return bool(kinds & _TYPES) and bool(
        re.search(r"how many|hoe ?veel|\ball\b|\balle\b", question, re.IGNORECASE)
    )


def _of_one(question: str, names: Sequence[str], antecedent: str) -> Resolution:
    """Return a question with the institution that it means by `it`."""
    if len(names) != 1:
        return Resolution(
            question=question, follow_up=True, candidates=tuple(names[:10])
        )

    def named(found: re.Match[str]) -> str:
        words = found.group().split()
        if words[0].casefold() in {"ligt", "is", "staat", "werd", "was"}:
            return f"{words[0]} {names[0]}"
        return f"{names[0]}'s" if words[0].casefold() == "its" else names[0]

    made = _IT.sub(named, question, count=1)
    return Resolution(question=made, follow_up=True, antecedent=antecedent)

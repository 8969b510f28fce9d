"""Follow-ups made into questions that stand alone: `and in Utrecht?`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from retrieval.specificity.frames import frame_of, merged, sentence
from retrieval.specificity.mentions import question_words
from retrieval.specificity.words import tokens_of, word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.conversation import Conversation
    from retrieval.specificity.mentions import Mention, MentionFinder

__all__ = ["ConversationContextResolver", "Resolution"]

_OPENING = re.compile(
    r"^\W*(?:and|en|what about|how about|and what about|or|but|maar|also|ook|"
    r"hoe zit het met|en hoe zit het met|wat dacht je van|wat met|same for|"
    r"hetzelfde voor|only|alleen)\b",
    re.IGNORECASE,
)
_THOSE = re.compile(
    r"\b(?:of (?:those|them|these)|those|them|they|daarvan|hiervan|ervan|daaronder|"
    r"van die|van deze|van hen|(?:zijn|waren) (?:dat|die|deze)(?: er)?)\b",
    re.IGNORECASE,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A question that stands alone, or what is missing.

    Attributes:
        question: The question; as it was where it builds on nothing.
        follow_up: Whether it builds on what was said before.
        antecedent: The question that it builds on; None where there is none.
        candidates: Institutions that it may mean, where it is not clear which.
    """

    question: str
    follow_up: bool = False
    antecedent: str | None = None
    candidates: tuple[str, ...] = ()

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
        mentions = self._finder.find(question)
        meant_one = _IT.search(question) and not any(m.kind in _ALONE for m in mentions)
        if not meant_one and not _builds_on_another(question, mentions):
            return Resolution(question=question)
        last = conversation.last if conversation else None
        if last is None:
            return Resolution(question=question, follow_up=True)
        if meant_one:
            return _of_one(question, last.names, last.resolved)
        before = frame_of(
            last.resolved, self._finder.find(last.resolved), last.template_id
        )
        now = frame_of(question, mentions)
        if before.name is None and last.names and len(last.names) == 1:
            before = replace(before, name=last.names[0])
        made = sentence(merged(before, now), language)
        if made is None:
            return Resolution(question=question, follow_up=True)
        return Resolution(question=made, follow_up=True, antecedent=last.resolved)


def _builds_on_another(question: str, mentions: Sequence[Mention]) -> bool:
    """Return whether a question says too little to stand alone."""
    kinds = {m.kind for m in mentions}
    typed, placed = bool(kinds & _TYPES), bool(kinds & _PLACES)
    if _THOSE.search(question):
        return not (typed and placed)
    if kinds & _ALONE:
        return bool(_OPENING.search(question)) and len(tokens_of(question)) <= 12
    if _THERE.search(question):
        return not placed
    rest = [w for w in question_words(question, mentions) if w not in _CONNECTING]
    if _WHOLE.search(question) and placed:
        return False
    if _OPENING.search(question):
        asks = rest or _ASKS.search(question)
        return not (typed and placed and asks) and len(rest) <= 5
    if mentions and not rest and not (typed and placed):
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
    return bool(short and asking and quantified and not typed and not placed)


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

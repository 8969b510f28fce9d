"""Which words of a question are names, of what kind, and where a name ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrieval.specificity.mention import Mention
from retrieval.specificity.words import tokens_of, word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.gazetteer import Entry
    from retrieval.specificity.mention import Taken
    from retrieval.specificity.words import Token

__all__ = [
    "CUE_OF",
    "begins_name",
    "by_cue",
    "end_of_name",
    "longer_name",
    "may_be_name",
    "named_kind",
    "named_mention",
    "one_of_each_kind",
    "question_words",
]

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

_STOP = word_list("stop")
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


def named_mention(
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


def one_of_each_kind(options: Sequence[Entry]) -> bool:
    """Return whether the first option is the only one of its kind."""
    return len({o.value for o in options if o.kind == options[0].kind}) == 1


def may_be_name(
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


def by_cue(
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


def begins_name(question: str, tokens: Sequence[Token], at: int) -> bool:
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


def longer_name(
    question: str, tokens: Sequence[Token], at: int, mention: Mention
) -> Mention:
    """Return a place, or one that nobody knows where `New` stands before it.

    New York is not York: a name of the gazetteer is not taken out of a longer one.
    """
    places = {"city", "region", "country"}
    if mention.kind not in places or not begins_name(question, tokens, at - 1):
        return mention
    cue = CUE_OF.get(tokens[at - 1].form)
    if cue and any(option.kind == cue for option in mention.options):
        return mention
    start = tokens[at - 1].start
    return Mention(
        kind="place",
        value="",
        text=question[start : mention.end],
        start=start,
        end=mention.end,
        score=0.0,
    )


def end_of_name(tokens: Sequence[Token], at: int, taken: Taken) -> int:
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

"""An answer that covers its question: documents in turn, joined by names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from knowtrail.retrieval.algorithms.auto_words import content_stems, forms
from knowtrail.retrieval.rerank.bm25 import bm25_of_words, words

REPEATED = 0.5
"""What a chunk loses for each one of its document before it, as a logarithm of rank."""
WORDED = 5
"""Places before the one that is kept for the words of the question."""
_JOINED = 100
"""Places at the top for which it is looked what name joins them to the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A chunk in the ranking of `auto`.

    Attributes:
        before: The chunk that it is joined to by a name, the term; empty for none.
        led: Whether the other one led here, so that this one is ranked higher.
        asked: The rarest name that it shares with the question; empty for none.
        near: Its number among the anchors, from 1, by cosine; 0 where it is none.
        worded: Whether it is here for the words that it shares with the question.
    """

    id: str
    score: float = 0.0
    before: str = ""
    term: str = ""
    led: bool = False
    asked: str = ""
    near: int = 1
    worded: bool = False


def spread(
    places: Sequence[Place], documents: Mapping[str, str], share: float
) -> list[Place]:
    """Return places in an order in which no document has all the first ones.

    Each chunk of a document loses a little more than the one before it, so that a text
    that is all about the question still comes often, and others are heard. A chunk
    whose document is not known counts as of one of its own.
    """
    if not share:
        return list(places)
    taken: Counter[str] = Counter()
    lost = []
    for place in places:
        document = documents.get(place.id, place.id)
        loss = share * REPEATED * taken[document]
        lost.append(replace(place, score=place.score - loss) if loss else place)
        taken[document] += 1
    return sorted(lost, key=lambda place: -place.score)


def worded(
    places: Sequence[Place],
    documents: Mapping[str, str],
    texts: Mapping[str, str],
    question: str,
) -> list[Place]:
    """Return places, the sixth of which is the best one by the question's words.

    An encoder can be far off where the very words of the question stand. So of the
    chunks with these texts, whose documents are not heard yet, the one with the best
    BM25 among them comes sixth; nothing changes where none has a word of the question.
    """
    first, rest = list(places[:WORDED]), places[WORDED:]
    heard = {documents.get(place.id, place.id) for place in first}
    asked = content_stems(question)
    read = list(map(words, texts.values()))
    found = bm25_of_words(asked, read, forms=forms(asked))
    scores = dict(zip(texts, found, strict=True))
    score, best = max(
        ((s, i) for i, s in scores.items() if documents.get(i, i) not in heard),
        default=(0.0, ""),
    )
    if score <= 0 or len(first) < WORDED:
        return list(places)
    place = next((one for one in rest if one.id == best), Place(id=best, near=0))
    place = replace(place, score=first[-1].score, worded=True)
    return [*first, place, *(one for one in rest if one.id != best)]


def joined(
    places: Sequence[Place],
    named: Mapping[str, Sequence[str]],
    documents: Mapping[str, str],
    rarity: Mapping[str, float],
    asked: Iterable[str],
) -> list[Place]:
    """Return places that tell by which name they go on from the place before them.

    Nothing is ranked by that. Joined are two of different documents, by the rarest name
    that both have and the question has not; a place that a chain led to stays as it is.
    """
    new = {name for name, rare in rarity.items() if rare > 0}.difference(asked)
    told = list(places[:1])
    for last, place in pairwise(places[:_JOINED]):
        both = new.intersection(named.get(last.id, ())).intersection(
            named.get(place.id, ())
        )
        term = max(both, key=lambda name: (rarity[name], name), default="")
        here = documents.get(place.id)
        elsewhere = here is not None and here != documents.get(last.id, here)
        if not place.before and elsewhere and term:
            place = replace(place, before=last.id, term=term)
        told.append(place)
    return [*told, *places[_JOINED:]]

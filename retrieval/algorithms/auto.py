"""`auto`: what the question finds, and what that leads to by the names they share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from knowtrail.ingest.names import name_key, words_of
from knowtrail.retrieval.algorithms.asking import Ranking, ask_visits
from knowtrail.retrieval.algorithms.auto_chain import Chained, chained
from knowtrail.retrieval.algorithms.auto_graph import (
    idf_of,
    local_graph,
    seeds,
    standardised,
    worth_opening,
)
from knowtrail.retrieval.algorithms.auto_spread import (
    WORDED,
    Place,
    joined,
    spread,
    worded,
)
from knowtrail.retrieval.algorithms.auto_words import (
    as_written,
    content_words,
    possible_names,
    question_names,
    title_key,
    unknown_names,
)
from knowtrail.retrieval.algorithms.harvest import Harvest
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.protocols import (
    AnchorRequest,
    Nearest,
    TermsFound,
    TermsRequest,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.algorithms.auto_graph import LocalGraph
    from knowtrail.retrieval.protocols import (
        Candidates,
        Vector,
        Visit,
        Walking,
        WalkOptions,
    )
    from knowtrail.retrieval.walk import RankedChunk, StopReason, Trail

ANCHORS = 100
"""Chunks nearest to the question that the walk starts from."""
UNREACHED = 1e-9
"""What is added to a rank before its logarithm, for chunks that no walker reaches."""
SPREAD = 2.0
"""What a standard deviation of cosines is worth beside a logarithm of ranks."""
POOL = 400
"""Chunks nearest to the question among which its words are looked for."""
WRITTEN = 5
"""Chunks that a name of the question may have that is no term."""
BROAD = 0.5
"""How much names may count at most where a place is kept for the question's words."""
_SENTENCES = 3
"""Sentences of a chunk that are taken where a budget is counted in sentences."""
SAYING = 0.7
"""Share of the best cosine that a further sentence of a chunk must have to be taken."""
_NEXT, _LEFT = 20, 100
"""Candidates that are noted at a step, and at the last one."""
_BATCH = 32
_PLAIN = "nearest to the question"
_FIRST = {1: "1st", 2: "2nd", 3: "3rd"}
_AROUND = "shares names with chunks near the question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """Which parts are on; all of them, but for measuring what each is worth.

    Attributes:
        ranks: PageRank over chunks and terms; without it the dense order.
        terms: Half of the seeds are the question's terms.
        written: Names of the question that are no terms are looked for in texts.
        titles: A name leads first to the documents that it is the title of.
        rarity: Chains count by the rarity of the term that links them.
        coverage: Chains count by the words that they add.
        gate: Names count less for questions whose rarest name is common.
        spread: Documents come in turn, and sentences that say little stay out, as far
            as names do not count.
        words: One of the first places is for the question's words, where names count
            less than half.
    """

    ranks: bool = True
    terms: bool = True
    written: bool = True
    titles: bool = True
    rarity: bool = True
    coverage: bool = True
    gate: bool = True
    spread: bool = True
    words: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Rank by random walks over chunks and names, then by chains of two chunks.

    1. The 100 chunks nearest to the question are anchors; they, and the names in the
       question, lead to further chunks through the terms that they name.
    2. A random walk over these chunks and terms, which starts again at the anchors and
       at the question's terms, half and half, gives each chunk a rank. A term leads
       first to the documents that it is the title of.
    3. A chunk gains by the best chain of two: another good chunk that shares with it a
       rare name that the question does not have, best the title of one of them, and
       lacks words of the question that this one has.

    All of it counts in full where a name of the question is the title of a document
    near it, or else by the rarity of its rarest name; the rest is the dense order:
    `counts` has no `chunks` where that is all there is, as for a question without
    names, or in a corpus without terms. As far as names do not count, the chunks of a
    document lose the more of them there were before, so that the answer covers the
    question; sentences that are far from it, beside the best, stay out. Where names
    count less than half, the sixth place is for the chunk with the best BM25 among the
    400 nearest, of a document that is not heard yet. The score of the walk is the mean
    cosine of its chunks.

    The candidates of a step are the 20 best chunks of the ranking that were left, of
    the last step 100, with the scores that they are ranked by: logarithms, which are
    higher the better.

    A step has a hop of 1 or more where it follows, through the shared name, the step
    right before it. `anchors`, `lookahead` and `beam` do nothing; with `max_hops` 0
    no name is followed. At most three sentences of a chunk are taken, those nearest to
    the question, where the budget counts sentences.
    """

    name: ClassVar[str] = "auto"
    parts: Ablation = field(default_factory=Ablation)

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Rank chunks, and take them until a budget is used up."""
        harvest = Harvest(query, options)
        budgets = (options.max_chunks, options.max_sentences)  # a step has one at least
        reached = all(budget is None or budget > WORDED for budget in budgets)
        pool = POOL if self.parts.words and reached else 0
        documents = self.parts.spread or pool > 0
        ranking = Ranking(query, k=ANCHORS // 10, documents=documents)
        near = yield from ranking.read(texts=pool)
        if not ranking.ranked:
            return harvest.trail("no_anchor")
        ranked, found = ranking.ranked[:ANCHORS], None
        places: Sequence[Place] = ()
        if options.max_hops and self.parts.ranks:
            ids = tuple(anchor.id for anchor in ranked)
            asked = possible_names(options.question)
            found = yield from _ask_terms(TermsRequest(chunk_ids=ids, names=asked))
            places = yield from self._ranked(ranked, found, query, harvest)
        gate = harvest.counts.get("gate", 0.0) if places else 0.0
        if self.parts.spread:
            places = spread(places or _by_cosine(ranked), ranking.documents, 1 - gate)
        places = _in_walking_order(places)
        if pool and gate < BROAD:
            texts = dict(sorted(zip(near.ids, near.texts, strict=True)))
            ranking.documents |= zip(near.ids, near.documents, strict=True)
            places = worded(places, ranking.documents, texts, options.question)
        if self.parts.spread and found is not None:
            rarity = {n: idf_of(c, found.chunks) for n, c in found.counts.items()}
            names = question_names(options.question, found.counts)
            places = joined(places, found.named, ranking.documents, rarity, names)
        least = SAYING * (1 - gate) if self.parts.spread else 0.0
        reason = yield from _taken(harvest, ranking, places, least)
        _consider(harvest, places, _LEFT)
        return harvest.trail(reason, ranking.ranked, score_of="steps")

    def _ranked(
        self,
        anchors: Sequence[RankedChunk],
        found: TermsFound,
        query: Vector,
        harvest: Harvest,
    ) -> Walking[Sequence[Place]]:
        """Return chunks, best first; nothing where no name is known."""
        ids = tuple(anchor.id for anchor in anchors)
        question = harvest.options.question
        names = question_names(question, found.counts)
        gate = self._gate(names, found)
        counts = harvest.counts
        counts |= {"questionTerms": len(names), "gate": round(gate, 6)}
        if not found.counts or gate == 0:
            return ()
        if self.parts.written:
            found = yield from _with_written(found, query, question)
            names = question_names(question, found.counts)
        scores = np.array([anchor.score for anchor in anchors])
        used = names if self.parts.terms else ()
        start = seeds(ids, scores, used, found.counts, found.chunks)
        opened, broad, most = worth_opening(
            start, found.named, found.counts, found.chunks
        )
        nearest = Nearest(names=broad, vector=query, most=most) if broad else None
        more = yield from _ask_terms(
            TermsRequest(names=opened, members=True, nearest=nearest)
        )
        graph = local_graph(
            {**more.named, **found.named},
            {**found.counts, **more.counts},
            found.chunks,
            {**more.titles, **found.titles} if self.parts.titles else {},
        )
        counts |= {"chunks": len(graph.ids), "terms": len(graph.names)}
        dense = dict(zip(ids, standardised(scores).tolist(), strict=True))
        least = min(dense.values())
        near = np.array([dense.get(chunk_id, least) for chunk_id in graph.ids])
        walked = np.log(graph.page_rank(start) + UNREACHED)
        base = gate * walked + (1 - gate) * SPREAD * near
        near_by = {chunk_id: place for place, chunk_id in enumerate(ids, start=1)}
        if not (self.parts.rarity or self.parts.coverage):
            return _places(graph, Chained.without(base), names, near_by)
        result = chained(
            graph,
            base,
            question=question,
            names=names,
            gate=gate,
            text_of=lambda i: found.texts.get(i) or more.texts.get(i, ""),
            anchors=frozenset(ids),
            rarity=self.parts.rarity,
            coverage=self.parts.coverage,
        )
        return _places(graph, result, names, near_by)

    def _gate(self, names: Sequence[str], found: TermsFound) -> float:
        """Return how much names count: 1 for a title, or how rare the rarest one is."""
        if not self.parts.gate:
            return 1.0
        titles = map(title_key, found.titles.values())
        if self.parts.titles and not set(names).isdisjoint(titles):
            return 1.0
        most = idf_of(1, found.chunks)
        rarest = max((idf_of(found.counts[n], found.chunks) for n in names), default=0)
        return rarest / most if most > 0 else 0.0


def _places(
    graph: LocalGraph, result: Chained, names: Sequence[str], near: Mapping[str, int]
) -> list[Place]:
    """Return the chunks of the graph, best first."""
    asked = graph.rarest_of(names)
    scores, terms = result.scores.tolist(), result.term.tolist()
    before = result.before.tolist()
    return [
        Place(
            id=graph.ids[row],
            score=scores[row],
            before="" if terms[row] < 0 else graph.ids[before[row]],
            term="" if terms[row] < 0 else graph.names[terms[row]],
            led=terms[row] >= 0,
            asked=asked.get(row, ""),
            near=near.get(graph.ids[row], 0),
        )
        for row in np.argsort(-result.scores, kind="stable").tolist()  # ties by id
    ]


def _by_cosine(anchors: Sequence[RankedChunk]) -> list[Place]:
    scores = SPREAD * standardised(np.array([anchor.score for anchor in anchors]))
    return [
        Place(id=anchor.id, score=score, near=number)
        for number, (anchor, score) in enumerate(
            zip(anchors, scores.tolist(), strict=True), start=1
        )
    ]


def _in_walking_order(places: Sequence[Place]) -> list[Place]:
    """Return ranked chunks with the beginning of each chain before its end."""
    by_id = {place.id: place for place in places}
    ordered: dict[str, Place] = {}
    for place in places:
        if place.before:
            ordered.setdefault(place.before, by_id[place.before])
        ordered.setdefault(place.id, place)
    return list(ordered.values())


def _ask_terms(request: TermsRequest) -> Walking[TermsFound]:
    return cast("TermsFound", (yield request))


def _with_written(
    found: TermsFound, query: Vector, question: str
) -> Walking[TermsFound]:
    """Add names of the question that are no terms, and the few chunks with them."""
    # A name in one chunk connects nothing, so it is no term, but it leads there.
    wanted = list(unknown_names(question, found.counts).items())[:WRITTEN]
    near: dict[str, Sequence[str]] = {}
    for name, label in wanted:  # one by one: a common name would crowd out others
        # Function words cost more than they tell; indexes may keep accents.
        whole = [w for w in label.split() if "'" in w or "\u2019" in w]
        words = " ".join([*content_words(f"{label} {name}"), *whole])
        hits = cast("Candidates", (yield AnchorRequest(vector=query, k=0, words=words)))
        near[name] = hits.by_words
    if not any(near.values()):
        return found
    ids = tuple(sorted(set().union(*near.values())))
    more = yield from _ask_terms(TermsRequest(chunk_ids=ids))
    texts = {i: f" {name_key(words_of(more.texts[i]))} " for i in sorted(more.named)}
    having = {
        name: [i for i, text in texts.items() if i in ids and f" {name} " in text]
        for name, ids in near.items()
    }
    few = {name: ids for name, ids in having.items() if 0 < len(ids) <= WRITTEN}
    rows = {i for ids in few.values() for i in ids}
    named = {
        i: (*more.named[i], *(name for name, ids in few.items() if i in ids))
        for i in rows
    }
    return replace(
        found,
        counts={**more.counts, **found.counts, **{n: len(few[n]) for n in few}},
        named={**found.named, **named},
        texts={**found.texts, **{i: more.texts[i] for i in rows}},
        titles={**found.titles, **{i: more.titles[i] for i in rows}},
    )


def _taken(
    harvest: Harvest, ranking: Ranking, places: Sequence[Place], least: float
) -> Walking[StopReason]:
    """Take chunks in their order, then of the dense ranking, until it is enough."""
    # Chunks are opened many at a time, more than are wanted as some overlap, each with
    # the one that its chain comes from, so that its title is known.
    options = harvest.options
    most = max(options.max_sentences or 1, options.max_chunks or 1)
    wanted = min(_BATCH, most * 3 // 2 + 1)
    opened: dict[str, Visit | None] = {}
    for start in range(0, len(places), wanted):
        batch = places[start : start + wanted]
        ids = dict.fromkeys(i for p in batch for i in (p.id, p.before) if i)
        new = tuple(i for i in ids if i not in opened)
        visits = yield from ask_visits(new, neighbours=False)
        opened |= {i: visits.get(i) for i in new}
        for after, place in enumerate(batch, start=start + 1):
            known = len(harvest.visited)
            reason = yield from _arrive(harvest, ranking, place, opened, least)
            if len(harvest.visited) > known:
                _consider(harvest, places[after:], _NEXT)
            if reason:
                return reason
    ranking.skip(place.id for place in places)
    while (hit := (yield from ranking.next())) is not None:
        place, visit = Place(id=hit.id), (yield from ranking.visit(hit))
        opened = {hit.id: visit}
        if reason := (yield from _arrive(harvest, ranking, place, opened, least)):
            return reason
    return "chunks_exhausted"


def _consider(harvest: Harvest, places: Sequence[Place], most: int) -> None:
    """Note the best chunks that are left at the last step, if there is any."""
    open_places = (place for place in places if place.id not in harvest.visited)
    left = list(islice(open_places, most))
    if left and harvest.last is not None:
        scores = np.array([place.score for place in left])
        harvest.consider([place.id for place in left], scores)


def _arrive(
    harvest: Harvest,
    ranking: Ranking,
    place: Place,
    opened: Mapping[str, Visit | None],
    least: float,
) -> Walking[StopReason | None]:
    """Take a chunk with a new sentence as the next step; return the budget it ends."""
    options, last, visit = harvest.options, harvest.last, opened[place.id]
    if visit is None or not harvest.new_sentences(visit):
        return None
    hop = 1 + last[1] if last is not None and place.before == last[0] else 0
    if hop and harvest.hops >= options.max_hops:
        if place.led:
            return "max_hops"
        hop = 0
    vector = ranking.vectors.get(place.id, visit.vector)
    score = 0.0 if vector is None else float(cosines(harvest.query, vector[None])[0])
    yield from harvest.arrive(
        visit, score=score, hop=hop, reason=_reason(place, visit, opened, harvest)
    )
    wanted = options.max_sentences
    cut = wanted is not None and wanted <= _SENTENCES * len(ranking.ranked)
    if cut:
        most = 1 if place.worded else _SENTENCES
        harvest.read(visit, most=most, least=0.0 if place.led else least)
    else:
        harvest.read(visit)
    return harvest.full(options.max_sentences, options.max_chunks)


def _reason(
    place: Place, visit: Visit, opened: Mapping[str, Visit | None], harvest: Harvest
) -> str:
    before = opened.get(place.before)
    link = ""
    if place.term and before is not None:
        name = as_written(place.term, visit.chunk.text)
        link = f"names {name!r}, which {_linked(before, visit, harvest)} names too"
    if place.worded:
        return f"{link or 'of another document'}, and has words of the question"
    if link and (place.led or not place.near):
        return link
    why = _nearness(place.near) if place.near else ""
    if place.asked:
        name = as_written(place.asked, visit.chunk.text)
        why = (
            f"{why}, and names {name!r} as it does"
            if why
            else (f"names {name!r}, as the question does")
        )
    return f"{why}, and {link}" if link else why or _AROUND


def _linked(before: Visit, visit: Visit, harvest: Harvest) -> str:
    """Return what to call the chunk that a chain comes from, maybe with its step."""
    one, other = before.chunk, visit.chunk
    if one.document_id == other.document_id:
        called = "another part of it"
    else:
        called = f"{'another ' * (one.title == other.title)}{one.title!r}"
    step = harvest.step_of(one.id)
    if step is None or (harvest.last is not None and harvest.last[0] == one.id):
        return called
    return f"{called} (step {step})"


def _nearness(number: int) -> str:
    """Return in words which of the chunks nearest to the question one is."""
    if number == 1:
        return _PLAIN
    teen = number % 100 in {11, 12, 13}
    ordinal = _FIRST.get(number % 10, "0th") if not teen else "0th"
    return f"{number}{ordinal[1:]} {_PLAIN}"

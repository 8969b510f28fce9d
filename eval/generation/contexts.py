"""Contexts of questions: chunks of a stored corpus, gathered in four ways.

The ways are those of the published data sets, each from an anchor, with five
differences, all on purpose: random choices come from a generator that is given, so that
a seed repeats them; the sentences that are kept are the very ones that the model is
shown; each round of `sequential_multi_hop` keeps at most its own number of sentences,
and none goes back to a document; and ten documents of like themes are tried where the
published walks try one, and so leave the themes at most hops.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from knowtrail.eval.retrieval.dataset import Passage
from knowtrail.graph.batches import batched
from knowtrail.graph.errors import InputError, check_ranges, check_whole
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSentence:
    """A sentence that a question may be asked about."""

    id: str
    document: str
    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A chunk at the end of an edge; `intra` where both are of one document."""

    id: str
    document: str
    score: float
    intra: bool
    texts: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextChunk:
    """A chunk, its neighbours by falling weight, and documents of like themes."""

    id: str
    document: str
    title: str
    index: int
    sentences: tuple[ContextSentence, ...]
    neighbours: tuple[Neighbour, ...] = ()
    adjacent: Sequence[str] = ()
    themed: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextGroup:
    """What is to be asked about; `fallbacks` are steps that left the rule."""

    id: str
    grouping: str
    chunks: tuple[str, ...]
    documents: tuple[str, ...]
    titles: tuple[str, ...]
    sentences: tuple[ContextSentence, ...]
    hops: int = 0
    fallbacks: int = 0

    def passages(self) -> tuple[str, ...]:
        """Return its text: one string for each run of sentences of one document."""
        runs: list[list[ContextSentence]] = []
        for one in self.sentences:
            last = runs[-1][-1] if runs else None
            if last and (last.document, last.index + 1) == (one.document, one.index):
                runs[-1].append(one)
            else:
                runs.append([one])
        return tuple(" ".join(s.text for s in run) for run in runs)


BATCH = 500


class GraphContexts:
    """A corpus in the graph, of which all but ids is read chunk by chunk, once."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        rows = connection.read("eval/generation_chunk_ids", corpus=corpus)
        self._ids = [(row["id"], row["document"]) for row in rows]
        self._opened: dict[str, ContextChunk] = {}
        if not self._ids:
            msg = f"Corpus {corpus!r} has no chunks to ask about: ingest texts first."
            raise InputError(msg)

    def chunk_ids(self) -> Sequence[tuple[str, str]]:
        """Return (chunk id, document id) of every chunk, by document and place."""
        return self._ids

    def open(self, chunk_id: str) -> ContextChunk:
        """Return a chunk, or raise a KeyError where it was deleted meanwhile."""
        if chunk_id not in self._opened:
            for row in self._connection.read("eval/generation_chunks", ids=[chunk_id]):
                self._opened[row["id"]] = _chunk(row)
        return self._opened[chunk_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusPassage(Passage):
    """A document of a corpus as a passage: its sentences and their ids, or its text."""

    sentences: tuple[str, ...]
    sentence_ids: tuple[str, ...]


def corpus_passages(connection: Connection, corpus: str) -> Iterator[CorpusPassage]:
    """Yield the documents of a corpus that have text as passages, by id."""
    ids = [
        row["id"] for row in connection.read("eval/generation_documents", corpus=corpus)
    ]
    for some in batched(ids, BATCH):
        for row in connection.read("eval/generation_passages", ids=some):
            sentences = tuple(text for _, text in row["sentences"])
            text = " ".join(sentences) or row["text"] or ""
            if text.strip():
                yield CorpusPassage(
                    id=row["id"],
                    title=row["title"] or "",
                    text=text,
                    sentences=sentences,
                    sentence_ids=tuple(key for key, _ in row["sentences"]),
                )


def _chunk(row: dict[str, Any]) -> ContextChunk:
    return ContextChunk(**{
        **row,
        "sentences": tuple(ContextSentence(**one) for one in row["sentences"]),
        "neighbours": tuple(Neighbour(**one) for one in row["neighbours"]),
    })


LONGEST_WALK = 50
LONGEST_SEARCH = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkParameters:
    """Sizes of contexts; the defaults are the published ones, `theme_targets` apart.

    Attributes:
        max_sentences: Sentences of a context, `sequential_multi_hop` apart.
        rounds: Documents that `sequential_multi_hop` reads in, one after the other.
        native_chunks: Chunks of `deepeval_native`, of different documents.
        theme_targets: Documents of like themes that are looked for, 1 to 10.
        fallback: Whether any other document will do where none of like themes is to
            be reached.
    """

    max_sentences: int = 10
    rounds: int = 3
    round_chunks: int = 3
    round_sentences: int = 5
    native_chunks: int = 3
    theme_targets: int = 10
    fallback: bool = True

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.type == "int":
                check_whole(one.name, value, 1, 100)


@dataclass(slots=True)
class Gathered:
    """A walk, and what it has gathered; fallbacks are steps that left its own rule."""

    source: GraphContexts
    sizes: WalkParameters
    chance: random.Random
    chunks: list[ContextChunk] = field(default_factory=list)
    sentences: list[ContextSentence] = field(default_factory=list)
    fallbacks: int = 0
    _texts: set[str] = field(default_factory=set)

    def take(self, chunk: ContextChunk, limit: int | None = None) -> None:
        """Add a chunk and as many of its new sentences as the limit allows."""
        most = self.sizes.max_sentences if limit is None else limit
        self.chunks.append(chunk)
        for sentence in chunk.sentences:
            if len(self.sentences) < most and sentence.text not in self._texts:
                self._texts.add(sentence.text)
                self.sentences.append(sentence)

    def intra_document(self, anchor: ContextChunk) -> None:
        """Walk along the strongest edges of one document, to chunks without overlap."""
        self._walk(anchor, lambda chunk: self._best(chunk, attrgetter("intra")))

    def theme_based(self, anchor: ContextChunk) -> None:
        """Walk along the strongest edge into the document of the likest themes."""
        self._walk(anchor, self._theme_step)

    def _walk(
        self, anchor: ContextChunk, step: Callable[[ContextChunk], ContextChunk | None]
    ) -> None:
        """Take chunks step by step until there are sentences enough or no step left."""
        current: ContextChunk | None = anchor
        for _hop in range(LONGEST_WALK + 1):
            if current is None:
                break
            self.take(current)
            if len(self.sentences) >= self.sizes.max_sentences:
                break
            current = step(current)

    def _theme_step(
        self, current: ContextChunk, *, onward: bool = False
    ) -> ContextChunk | None:
        """Return where a theme leads from a chunk, None where it leads nowhere."""
        closed = {chunk.document for chunk in self.chunks} if onward else set()
        near = current.themed[: self.sizes.theme_targets]
        for target in (document for document in near if document not in closed):

            def leads(neighbour: Neighbour, document: str = target) -> bool:
                return not neighbour.intra and neighbour.document == document

            if best := self._best(current, leads, overlapping=onward):
                return best
        if not self.sizes.fallback:
            return None
        best = self._best(current, lambda n: not n.intra and n.document not in closed)
        self.fallbacks += best is not None
        return best

    def sequential_multi_hop(self, anchor: ContextChunk) -> None:
        """Read on in one document, cross to another by theme, and so on."""
        last = self._read_on(anchor)
        for _round in range(1, self.sizes.rounds):
            start = self._theme_step(last, onward=True)
            if start is None:
                break
            last = self._read_on(start)

    def _read_on(self, start: ContextChunk) -> ContextChunk:
        """Read from a chunk to the ones beside it; return the last that was read."""
        limit = len(self.sentences) + self.sizes.round_sentences
        current, read = start, {start.id}
        self.take(start, limit)
        while len(read) < self.sizes.round_chunks and len(self.sentences) < limit:
            weights = {n.id: n.score for n in current.neighbours}
            beside = [key for key in current.adjacent if key not in read]
            if not beside:
                break
            # The later of two that weigh the same: a text is read forwards.
            best = max(reversed(beside), key=lambda key: weights.get(key, 0.0))
            current = self.source.open(best)
            read.add(current.id)
            self.take(current, limit)
        return current

    def deepeval_native(self, anchor: ContextChunk) -> None:
        """Take chunks of different documents at random."""
        self.take(anchor)
        ids = self.source.chunk_ids()
        documents = {anchor.document}
        start = ids.index((anchor.id, anchor.document))
        for number in range(1, len(ids)):
            if len(self.chunks) >= self.sizes.native_chunks or number > LONGEST_SEARCH:
                break
            place = start + self.chance.randrange(1, len(ids))
            key, document = ids[place % len(ids)]
            if document not in documents:
                documents.add(document)
                self.take(self.source.open(key))

    def _best(
        self,
        current: ContextChunk,
        allowed: Callable[[Neighbour], bool],
        *,
        overlapping: bool = False,
    ) -> ContextChunk | None:
        """Return the allowed, unvisited neighbour of the greatest weight."""
        taken = {chunk.id for chunk in self.chunks}
        candidates = [
            n
            for n in current.neighbours
            if allowed(n)
            and n.id not in taken
            and (overlapping or self._texts.isdisjoint(n.texts))
        ]
        best = min(candidates, key=lambda n: (-n.score, n.id), default=None)
        return None if best is None else self.source.open(best.id)


GROUPINGS: dict[str, Callable[[Gathered, ContextChunk], None]] = {
    "intra_document": Gathered.intra_document,
    "theme_based": Gathered.theme_based,
    "sequential_multi_hop": Gathered.sequential_multi_hop,
    "deepeval_native": Gathered.deepeval_native,
}
"""Name -> how chunks are gathered from an anchor."""


def gather(
    grouping: str,
    source: GraphContexts,
    anchor: str,
    *,
    parameters: WalkParameters,
    chance: random.Random,
) -> Gathered:
    """Gather chunks and sentences from an anchor."""
    if grouping not in GROUPINGS:
        msg = f"No grouping {grouping!r}: use one of {', '.join(GROUPINGS)}."
        raise InputError(msg)
    found = Gathered(source, parameters, chance)
    GROUPINGS[grouping](found, source.open(anchor))
    return found


DEFAULT_WEIGHTS = {
    "intra_document": 0.33,
    "theme_based": 0.33,
    "sequential_multi_hop": 0.33,
    "deepeval_native": 0.2,
}
"""Grouping -> its share of the contexts, as published."""

ANCHORS_A_GROUP = 20
"""Anchors that are tried for one group before it is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """Which contexts are wanted; weights are the groupings' shares."""

    goldens: int = 10
    goldens_per_context: int = 1
    weights: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    seed: int = 0
    sizes: WalkParameters = field(default_factory=WalkParameters)

    def __post_init__(self) -> None:
        check_ranges(
            goldens=(self.goldens, 1, 100_000),
            goldens_per_context=(self.goldens_per_context, 1, 100),
        )
        check_weights(self.weights, GROUPINGS, "grouping")


def check_weights(
    weights: Mapping[str, float], known: Collection[str], what: str
) -> None:
    """Refuse a name that is not known, and weights that are none."""
    if unknown := [name for name in weights if name not in known]:
        raise InputError(f"No {what} {unknown[0]!r}: use one of {', '.join(known)}.")
    wrong = any(not math.isfinite(w) or w < 0 for w in weights.values())
    if wrong or not sum(weights.values()) > 0:
        raise InputError(
            f"The weights of {what}s are {dict(weights)}: give numbers of 0 or more, "
            "not all 0."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """The contexts that were found, and how many of each grouping were not."""

    groups: tuple[ContextGroup, ...]
    missing: Mapping[str, int]


def shares(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Divide a number by weights, rounded down; the heaviest gets what is left."""
    total = sum(weights.values())
    parts = {name: int(count * weight / total) for name, weight in weights.items()}
    heaviest = max(weights, key=lambda name: weights[name])
    parts[heaviest] += count - sum(parts.values())
    return {name: part for name, part in parts.items() if part}


def context_groups(
    source: GraphContexts, plan: GroupPlan, *, progress: Progress | None = None
) -> Grouped:
    """Make the contexts of a plan; the same seed and corpus give the same.

    A context of one chunk, or, where a grouping crosses documents, of one document, is
    not taken, nor is one that was made before: another anchor is tried.
    """
    ids = source.chunk_ids()
    count = math.ceil(plan.goldens / plan.goldens_per_context)
    count = min(len(ids), count)
    chance = random.Random(f"groups:{plan.seed}")  # noqa: S311 - no secret
    wanted = [name for name, n in shares(count, plan.weights).items() for _ in range(n)]
    chance.shuffle(wanted)
    # Further anchors come after those that each group gets first.
    anchors = _anchors(ids, chance)
    groups: dict[str, ContextGroup] = {}
    missing: Counter[str] = Counter()
    for number, grouping in enumerate(wanted, start=1):
        group = _group(source, grouping, anchors, chance, plan.sizes, groups)
        if group is None:
            missing[grouping] += 1
        else:
            groups[group.id] = group
        if progress is not None:
            progress("making contexts", number, len(wanted))
    return Grouped(groups=tuple(groups.values()), missing=missing)


def _anchors(ids: Sequence[tuple[str, str]], chance: random.Random) -> Iterator[str]:
    while True:
        for place in reversed(chance.sample(range(len(ids)), len(ids))):
            yield ids[place][0]


def _group(
    source: GraphContexts,
    grouping: str,
    anchors: Iterator[str],
    chance: random.Random,
    sizes: WalkParameters,
    known: Mapping[str, ContextGroup],
) -> ContextGroup | None:
    """Return a new group of a grouping, None where no anchor gives one."""
    # Further anchors are tried for one that has as many documents as it should and kept
    # to its rule; the best of them is taken.
    best: ContextGroup | None = None
    for _ in range(ANCHORS_A_GROUP):
        found = gather(grouping, source, next(anchors), parameters=sizes, chance=chance)
        group = _as_group(grouping, found)
        within = grouping == "intra_document"
        parts = found.chunks if within else group.documents
        if len(parts) < 2 or group.id in known:
            continue
        if best is None or _lacks(group, sizes) < _lacks(best, sizes):
            best = group
        if not any(_lacks(best, sizes)):
            break
    return best


def _lacks(group: ContextGroup, sizes: WalkParameters) -> tuple[int, int]:
    """Return how many documents a group lacks, and how often it left its rule."""
    wanted = sizes.rounds if group.grouping == "sequential_multi_hop" else 0
    return max(0, wanted - len(group.documents)), group.fallbacks


def _as_group(grouping: str, found: Gathered) -> ContextGroup:
    kept = {sentence.document for sentence in found.sentences}
    titles = {c.document: c.title for c in found.chunks if c.document in kept}
    return ContextGroup(
        id=content_key("context", grouping, *(s.id for s in found.sentences)),
        grouping=grouping,
        chunks=tuple(dict.fromkeys(chunk.id for chunk in found.chunks)),
        documents=tuple(titles),
        titles=tuple(titles.values()),
        sentences=tuple(found.sentences),
        hops=len(found.chunks) - 1,
        fallbacks=found.fallbacks,
    )

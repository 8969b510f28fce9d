"""The four ways in which chunks are gathered for a question, each from an anchor.

They are those of the published data sets, with three differences, all on purpose:
random choices come from a generator that is given, so that a seed repeats them; the
sentences that are kept are the very ones that the model is shown; and each round of
`sequential_multi_hop` keeps at most its own number of sentences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graph.errors import InputError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from eval.generation.contexts import (
        ContextChunk,
        ContextSentence,
        ContextSource,
        Neighbour,
    )

__all__ = ["GROUPINGS", "Gathered", "WalkParameters", "gather"]

LONGEST_WALK = 50
LONGEST_SEARCH = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkParameters:
    """Sizes of contexts; the defaults are those of the published data sets.

    Attributes:
        max_sentences: Sentences of a context, `sequential_multi_hop` apart.
        rounds: Documents that `sequential_multi_hop` reads in, one after the other.
        round_chunks: Chunks that it reads in each.
        round_sentences: Sentences that it keeps of each.
        native_chunks: Chunks of `deepeval_native`, of different documents.
        sequential: Whether `deepeval_native` takes chunks in the order of the corpus,
            not at random.
        theme_targets: Documents of like themes that are looked for, 1 to 10.
        fallback: Whether any other document will do where none of like themes is to
            be reached.
    """

    max_sentences: int = 10
    rounds: int = 3
    round_chunks: int = 3
    round_sentences: int = 5
    native_chunks: int = 3
    sequential: bool = False
    theme_targets: int = 1
    fallback: bool = True

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            InputError: If a number is out of range.
        """
        for name in _RANGED:
            value = getattr(self, name)
            if isinstance(value, bool) or not 1 <= value <= 100:
                msg = f"{name} is {value!r}: give a whole number from 1 to 100."
                raise InputError(msg)


_RANGED = (
    "max_sentences",
    "rounds",
    "round_chunks",
    "round_sentences",
    "native_chunks",
    "theme_targets",
)


@dataclass(slots=True)
class Gathered:
    """What a walk has gathered so far.

    Attributes:
        chunks: The chunks, in order.
        sentences: Their sentences, each text once.
        fallbacks: Steps that left the grouping's own rule.
    """

    chunks: list[ContextChunk] = field(default_factory=list)
    sentences: list[ContextSentence] = field(default_factory=list)
    fallbacks: int = 0
    _texts: set[str] = field(default_factory=set)

    def take(self, chunk: ContextChunk, limit: int) -> None:
        """Add a chunk and as many of its new sentences as the limit allows.

        Args:
            chunk: The chunk.
            limit: Sentences that there may be in all.
        """
        self.chunks.append(chunk)
        for sentence in chunk.sentences:
            if len(self.sentences) < limit and sentence.text not in self._texts:
                self._texts.add(sentence.text)
                self.sentences.append(sentence)

    def has(self, chunk_id: str) -> bool:
        """Return whether a chunk was taken."""
        return any(chunk.id == chunk_id for chunk in self.chunks)

    def overlaps(self, texts: Iterable[str]) -> bool:
        """Return whether one of some sentences was gathered."""
        return any(text in self._texts for text in texts)


def gather(
    grouping: str,
    source: ContextSource,
    anchor: str,
    *,
    parameters: WalkParameters,
    chance: random.Random,
) -> Gathered:
    """Gather chunks and sentences from an anchor.

    Args:
        grouping: One of `GROUPINGS`.
        source: Where chunks come from.
        anchor: The chunk to start from.
        parameters: Sizes.
        chance: Where random choices come from.

    Raises:
        InputError: If there is no such grouping.
    """
    if grouping not in GROUPINGS:
        msg = f"No grouping {grouping!r}: use one of {', '.join(GROUPINGS)}."
        raise InputError(msg)
    return GROUPINGS[grouping](source, source.open(anchor), parameters, chance)


def _intra_document(
    source: ContextSource, anchor: ContextChunk, sizes: WalkParameters, _: random.Random
) -> Gathered:
    """Walk along the strongest edges of one document, to chunks without overlap."""
    found = Gathered()
    current: ContextChunk | None = anchor
    for _hop in range(LONGEST_WALK + 1):
        if current is None:
            break
        found.take(current, sizes.max_sentences)
        if len(found.sentences) >= sizes.max_sentences:
            break
        current = _opened(source, _best(current, found, lambda n: n.intra))
    return found


def _theme_based(
    source: ContextSource, anchor: ContextChunk, sizes: WalkParameters, _: random.Random
) -> Gathered:
    """Walk along the strongest edge into the document of the likest themes."""
    found = Gathered()
    current: ContextChunk | None = anchor
    for _hop in range(LONGEST_WALK + 1):
        if current is None:
            break
        found.take(current, sizes.max_sentences)
        if len(found.sentences) >= sizes.max_sentences:
            break
        current = _theme_step(source, current, found, sizes)
    return found


def _theme_step(
    source: ContextSource,
    current: ContextChunk,
    found: Gathered,
    sizes: WalkParameters,
    *,
    overlapping: bool = False,
) -> ContextChunk | None:
    """Return where a theme leads from a chunk, None where it leads nowhere.

    Args:
        source: Where chunks come from.
        current: The chunk.
        found: What is gathered.
        sizes: How many documents of like themes are tried, and what to do then.
        overlapping: Whether the chunk may share sentences with what is gathered.
    """
    for target in current.themed[: sizes.theme_targets]:

        def leads(neighbour: Neighbour, target: str = target) -> bool:
            return neighbour.document == target and not neighbour.intra

        best = _best(current, found, leads, overlapping=overlapping)
        if best is not None:
            return _opened(source, best)
    if not sizes.fallback:
        return None
    best = _best(current, found, lambda n: not n.intra)
    found.fallbacks += best is not None
    return _opened(source, best)


def _sequential_multi_hop(
    source: ContextSource, anchor: ContextChunk, sizes: WalkParameters, _: random.Random
) -> Gathered:
    """Read on in one document, cross to another by theme, and so on."""
    found = Gathered()
    last = _read_on(source, anchor, found, sizes)
    for _round in range(1, sizes.rounds):
        start = _theme_step(source, last, found, sizes, overlapping=True)
        if start is None:
            break
        last = _read_on(source, start, found, sizes)
    return found


def _read_on(
    source: ContextSource, start: ContextChunk, found: Gathered, sizes: WalkParameters
) -> ContextChunk:
    """Read from a chunk to the ones beside it; return the last that was read."""
    limit = len(found.sentences) + sizes.round_sentences
    current, read = start, {start.id}
    found.take(start, limit)
    while len(read) < sizes.round_chunks and len(found.sentences) < limit:
        weights = {n.id: n.score for n in current.neighbours}
        beside = [key for key in current.adjacent if key not in read]
        if not beside:
            break
        # The later of two that weigh the same: a text is read forwards.
        best = max(reversed(beside), key=lambda key: weights.get(key, 0.0))
        current = source.open(best)
        read.add(current.id)
        found.take(current, limit)
    return current


def _deepeval_native(
    source: ContextSource,
    anchor: ContextChunk,
    sizes: WalkParameters,
    chance: random.Random,
) -> Gathered:
    """Take the anchor and other chunks that need have nothing to do with it."""
    found = Gathered()
    found.take(anchor, sizes.max_sentences)
    ids = source.chunk_ids()
    documents = {anchor.document}
    start = ids.index((anchor.id, anchor.document))
    for number in range(1, len(ids)):
        if len(found.chunks) >= sizes.native_chunks or number > LONGEST_SEARCH:
            break
        step = number if sizes.sequential else chance.randrange(1, len(ids))
        key, document = ids[(start + step) % len(ids)]
        if document not in documents:
            documents.add(document)
            found.take(source.open(key), sizes.max_sentences)
    return found


def _best(
    current: ContextChunk,
    found: Gathered,
    allowed: Callable[[Neighbour], bool],
    *,
    overlapping: bool = False,
) -> Neighbour | None:
    """Return the allowed, unvisited neighbour of the greatest weight."""
    candidates = [
        n
        for n in current.neighbours
        if allowed(n)
        and not found.has(n.id)
        and (overlapping or not found.overlaps(n.texts))
    ]
    return min(candidates, key=lambda n: (-n.score, n.id), default=None)


def _opened(source: ContextSource, neighbour: Neighbour | None) -> ContextChunk | None:
    """Open a neighbour, if there is one."""
    return None if neighbour is None else source.open(neighbour.id)


GROUPINGS: dict[
    str,
    Callable[[ContextSource, ContextChunk, WalkParameters, random.Random], Gathered],
] = {
    "intra_document": _intra_document,
    "theme_based": _theme_based,
    "sequential_multi_hop": _sequential_multi_hop,
    "deepeval_native": _deepeval_native,
}
"""Name -> how chunks are gathered from an anchor."""

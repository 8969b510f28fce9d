"""The part of the graph around a question: chunks, the terms they name, and PageRank.

Everything here is computed from what a reader sent, in the order of ids and names, so
that it comes out the same from every reader to the last bit.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.retrieval.algorithms.auto_words import names_within, title_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from knowtrail.retrieval.protocols import Vector

RESTART = 0.3
"""Share of a walker's steps that start again: it sees three or four steps far."""
ROUNDS = 20
"""Steps of the power iteration; what is left of an error is RESTART's rest ** 20."""
POWER = 3
"""How much the first of the anchors count more than the others."""
TITLED = 0.9
"""Share of what leaves a term that goes to documents it is the title of, if any."""
MENTIONS = 1000
"""Chunks that are fetched through names, counted once for each name: a cost limit."""
BROAD_LEAST = 50
"""Chunks of each of the question's names that has too many, whatever is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    """Where a random walker starts again: probability by chunk id, and by term."""

    chunks: Mapping[str, float]
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalGraph:
    """Chunks and the terms they name, both sorted, as one list of edges.

    Of each edge there is the row of the chunk, the column of the term, and whether that
    is the title of the chunk's document; of each term how many chunks of the corpus
    name it, and the logarithm of how few.
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    chunk: npt.NDArray[np.int64]
    term: npt.NDArray[np.int64]
    idf: Vector
    counts: Vector
    titled: npt.NDArray[np.bool_]

    def rarest_of(self, names: Sequence[str]) -> dict[int, str]:
        """Return for the rows of chunks that have one of some names the rarest."""
        column = {name: place for place, name in enumerate(self.names)}
        found = sorted(
            (name for name in names if name in column),
            key=lambda name: (self.idf[column[name]], name),
        )
        return {
            row: name
            for name in found
            for row in self.chunk[self.term == column[name]].tolist()
        }

    def page_rank(self, seeds: Seeds) -> Vector:
        """Return where a walker is that starts again at seeds, for each chunk.

        From a chunk it goes to one of its terms, in proportion to idf; from a term to
        one of all the chunks of the corpus that name it, so that what goes to chunks
        outside of this part is lost. Personalised PageRank is from Haveliwala,
        "Topic-sensitive PageRank" (2002); that it helps where passages and phrases
        form one graph, from Gutierrez and others, "HippoRAG" (2024).
        """
        chunks, terms = len(self.ids), len(self.names)
        weight = self.idf[self.term]
        total = np.bincount(self.chunk, weights=weight, minlength=chunks)
        out = weight / np.maximum(total, 1e-12)[self.chunk]
        back = 1.0 / self.counts[self.term]
        own = np.bincount(self.term, weights=self.titled, minlength=terms)[self.term]
        home = self.titled / np.maximum(own, 1.0)
        back = np.where(own > 0, (1 - TITLED) * back + TITLED * home, back)
        start = _placed(self.ids, seeds.chunks)
        names = _placed(self.names, seeds.terms)
        at, on = start, names
        for _ in range(ROUNDS):
            to_chunks = np.bincount(
                self.chunk, weights=back * on[self.term], minlength=chunks
            )
            to_terms = np.bincount(
                self.term, weights=out * at[self.chunk], minlength=terms
            )
            at = RESTART * start + (1 - RESTART) * to_chunks
            on = RESTART * names + (1 - RESTART) * to_terms
        return at


def _placed(keys: Sequence[str], values: Mapping[str, float]) -> Vector:
    return np.array([values.get(key, 0.0) for key in keys], dtype=np.float64)


def standardised(scores: Vector) -> Vector:
    """Return scores as numbers of standard deviations from their mean."""
    spread = float(scores.std())
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))


def idf_of(count: int, total: int) -> float:
    """Return the logarithm of how few of all chunks name a term, never below 0."""
    return math.log(max(1.0, total / max(1, count)))


def seeds(
    ids: Sequence[str],
    scores: Vector,
    names: Sequence[str],
    counts: Mapping[str, int],
    total: int,
) -> Seeds:
    """Return where walks for a question start: half at chunks, half at its terms.

    A chunk counts by how far its cosine is above the mean of the anchors, to the third
    power; a term by its idf.
    """
    above = np.maximum(standardised(scores), 0.0) ** POWER
    chunks = dict(zip(ids, above.tolist(), strict=True))
    terms = {name: idf_of(counts[name], total) for name in names}
    parts = [part for part in (chunks, terms) if sum(part.values()) > 0]
    chunks, terms = (
        {
            key: value / sum(part.values()) / len(parts)
            for key, value in part.items()
            if value > 0
        }
        for part in (chunks, terms)
    )
    return Seeds(chunks=chunks, terms=terms)


def worth_opening(
    seeds: Seeds,
    named: Mapping[str, Sequence[str]],
    counts: Mapping[str, int],
    total: int,
) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Return terms to open whole, terms to open in part, and how many chunks of each.

    Within the limit of MENTIONS, they are taken in the order of what each of their
    chunks would get from a walker's first steps, so that rare terms of good anchors
    come first. What is left is shared among the question's terms that have more chunks.
    """
    mass = dict(seeds.terms)
    for chunk_id, share in seeds.chunks.items():
        names = named.get(chunk_id, ())
        idf = [idf_of(counts[name], total) for name in names]
        whole = math.fsum(idf)  # the same in whatever order the names come
        for name, weight in zip(names, idf, strict=True):
            if weight > 0:
                gained = (1 - RESTART) * share * weight / whole
                mass[name] = mass.get(name, 0.0) + gained
    left, chosen = MENTIONS, []
    for name in sorted(mass, key=lambda n: (-mass[n] / counts[n], n)):
        if 1 < counts[name] <= left or (name in seeds.terms and counts[name] <= left):
            left -= counts[name]
            chosen.append(name)
    broad = tuple(sorted(seeds.terms.keys() - set(chosen)))
    return tuple(chosen), broad, max(BROAD_LEAST, left // max(1, len(broad)))


def local_graph(
    named: Mapping[str, Sequence[str]],
    counts: Mapping[str, int],
    total: int,
    titles: Mapping[str, str],
) -> LocalGraph:
    """Return the graph of some chunks and all their terms.

    A chunk names what its title names too, where that is another document's title:
    the longer name hides the shorter one from those who look for names in texts.
    """
    title = {chunk_id: title_key(titles.get(chunk_id, "")) for chunk_id in named}
    heads = counts.keys() & set(title.values())
    named = {
        chunk_id: tuple(heads.intersection(names_within(title[chunk_id])).union(found))
        for chunk_id, found in named.items()
    }
    ids = tuple(sorted(named))
    # What titles add is counted, too: a walker's shares must not pass one.
    edges = Counter(name for found in named.values() for name in found)
    counts = {name: max(counts[name], edges[name]) for name in edges}
    names = tuple(sorted(edges))
    column = {name: place for place, name in enumerate(names)}
    sizes = [len(named[chunk_id]) for chunk_id in ids]
    return LocalGraph(
        ids=ids,
        names=names,
        chunk=np.repeat(np.arange(len(ids), dtype=np.int64), sizes),
        term=np.array(
            [column[name] for chunk_id in ids for name in sorted(named[chunk_id])],
            dtype=np.int64,
        ),
        idf=np.array([idf_of(counts[name], total) for name in names]),
        counts=np.array([counts[name] for name in names], dtype=np.float64),
        titled=np.array(
            [name == title[i] for i in ids for name in sorted(named[i])], dtype=bool
        ),
    )

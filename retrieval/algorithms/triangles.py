"""What the three triangulations share: question, current chunk and candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrieval.cosine import cosines

if TYPE_CHECKING:
    from retrieval.algorithms.hops import Position, Sight
    from retrieval.algorithms.ways import Measure, Stop
    from retrieval.protocols import Vector, Walking
    from retrieval.walk import StopReason

__all__ = ["centroids", "sentence_stop", "tightness"]


def tightness(sight: Sight) -> Vector:
    """Return how near centroids in all dimensions are to the question, negated."""
    return centroids(sight.query, sight.here, sight.vectors)


def centroids(query: Vector, here: Vector, vectors: Vector) -> Vector:
    """Return how near the centroids of triangles are to the question, negated.

    Args:
        query: The question, shape (d,).
        here: The current chunk, shape (d,).
        vectors: Candidates, shape (n, d).

    Returns:
        For each candidate the negative Euclidean distance of the question and the
        centroid of question, current chunk and candidate.
    """
    apart = (query + here + vectors) / 3.0 - query
    distances: Vector = np.sqrt((apart * apart).sum(axis=1))
    return -distances


def sentence_stop(measure: Measure) -> Stop:
    """Return the stop at a sentence that scores better than every neighbour.

    It is a rule of the published code alone, see `Rules.sentence_ends`: the sentences
    of the current chunk compete with its neighbours, visited or not. Among equal
    scores the nearer to the question wins, and then the chunk. The best score of each
    hop is noted, as that is what the code reports.

    Args:
        measure: The score of a sentence, as that of a chunk.
    """

    def stop(
        position: Position, rows: list[int], measures: Vector
    ) -> Walking[StopReason | None]:
        sentences = position.visit.sentences
        if not position.harvest.rules.sentence_ends or not sentences:
            return None
        vectors = np.stack([s.vector for s in sentences])
        near = cosines(position.query, vectors)
        own = measure(position.sight(vectors, near))
        best = max(zip(own.tolist(), near.tolist(), strict=True))
        chunks = [(float(measures[i]), float(position.scores[i])) for i in rows]
        position.harvest.measured.append(max([best, *chunks])[0])
        return "sentence_is_best" if not chunks or best > max(chunks) else None
        yield

    return stop

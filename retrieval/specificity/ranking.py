"""Classes kept for a question, and chunks ranked by likeness and by class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graph.errors import InputError
from retrieval.specificity.lookup import DEFAULT_SCORE, check_threshold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["ClassFilter", "FilteredClasses", "RankedChunk", "SpecificityRanker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredClasses:
    """The classes of a context with their scores.

    Attributes:
        kept: Names and scores of those at or above the threshold, best first.
        dropped: Those below it, best first.
        threshold: The threshold.
    """

    kept: Mapping[str, float]
    dropped: Mapping[str, float]
    threshold: float

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the kept classes."""
        return tuple(self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedChunk:
    """A chunk that was found.

    Attributes:
        chunk_id: Its id.
        document_id: Of its document.
        title: Of its document.
        class_name: Its class; empty if it has none.
        text: What it says.
        similarity: Likeness to the question.
        specificity: Score of its class.
        score: What it is ranked by.
    """

    chunk_id: str
    document_id: str
    title: str
    class_name: str
    text: str
    similarity: float
    specificity: float = DEFAULT_SCORE
    score: float = 0.0


class ClassFilter:
    """Keeps the classes that are specific enough to a question."""

    def __init__(self, threshold: float = 0.5) -> None:
        check_threshold(threshold)
        self.threshold = threshold

    def filter(
        self,
        scores: Mapping[str, float],
        boosts: Mapping[str, float] | None = None,
    ) -> FilteredClasses:
        """Return the classes at or above the threshold, and the others.

        Args:
            scores: Score of every class.
            boosts: What is added for classes of the conversation; a score never goes
                over 1, and a class that is not among the scores is left out.
        """
        added = boosts or {}
        boosted = {
            name: min(1.0, round(score + added.get(name, 0.0), 9))
            for name, score in scores.items()
        }
        order = sorted(boosted, key=lambda name: (-boosted[name], name))
        return FilteredClasses(
            kept={n: boosted[n] for n in order if boosted[n] >= self.threshold},
            dropped={n: boosted[n] for n in order if boosted[n] < self.threshold},
            threshold=self.threshold,
        )


class SpecificityRanker:
    """Ranks chunks by their likeness to the question and their class."""

    def __init__(self, *, similarity: float = 0.7, specificity: float = 0.3) -> None:
        """Take the weights.

        Raises:
            InputError: If one is below 0, or both are 0.
        """
        if not (similarity >= 0 and specificity >= 0 and similarity + specificity > 0):
            msg = (
                f"The weights are {similarity} and {specificity}: give numbers from 0, "
                "not both 0."
            )
            raise InputError(msg)
        self.similarity = similarity
        self.specificity = specificity

    def rank(
        self, chunks: Iterable[RankedChunk], scores: Mapping[str, float]
    ) -> tuple[RankedChunk, ...]:
        """Return the chunks with their scores, best first, ties by id."""
        ranked: Sequence[RankedChunk] = [self._scored(c, scores) for c in chunks]
        return tuple(sorted(ranked, key=lambda c: (-c.score, c.chunk_id)))

    def _scored(self, chunk: RankedChunk, scores: Mapping[str, float]) -> RankedChunk:
        """Return a chunk with its score."""
        specificity = scores.get(chunk.class_name, DEFAULT_SCORE)
        score = self.similarity * chunk.similarity + self.specificity * specificity
        return replace(chunk, specificity=specificity, score=score)

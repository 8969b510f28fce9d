"""Whose rules a walk follows: those of the description, or of the published code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.cosine import ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.protocols import StoredSentence, Vector, WalkOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Where the published code does something else than its description says.

    Every switch is off by default, which is how the description is read here. The
    preset `published` turns them on, so that walks come out as those of the code; each
    algorithm's docstring says which of them touch it.

    The code looks a text up by the first sentence node that has it. Here a text that
    was found is scored by the vector of the sentence that brought it, which is the
    same vector whenever the embedder gives equal texts equal vectors. A graph loaded
    with one sentence node for each text, as the conformance test does, answers
    exactly as the code would.

    Attributes:
        late_reading: A chunk is read one hop after it was chosen, so that the last one
            of a walk that ends by a budget is named and not read.
        by_text: Sentences of equal text are one sentence.
        visited_too: The early stop compares with visited neighbours too, and is tried
            before the walk looks whether it is at a dead end.
        sentence_ends: A walk ends at a chunk one of whose sentences scores better
            than every neighbour.
        home_chunks: A sentence found is as near to the current chunk as the first
            chunk that holds it.
        stored_order: Equal scores are ordered as the reader returns them, not by id.
        refit: The main axes are fitted to the question, all chunks and all sentences
            for every question.
        from_zero: The best sentence's score starts at 0, not below every cosine.
        loose_choice: A model's choice of true stands for 1.
        early_stop: Whether walks end early at all.
        enough: Sentences at which the loop ends, where that differs from the cut.
    """

    late_reading: bool = False
    by_text: bool = False
    visited_too: bool = False
    sentence_ends: bool = False
    home_chunks: bool = False
    stored_order: bool = False
    refit: bool = False
    from_zero: bool = False
    loose_choice: bool = False
    early_stop: bool = True
    enough: int | None = None

    def key(self, sentence: StoredSentence) -> str:
        """Return what makes a sentence the same as another."""
        return sentence.text if self.by_text else sentence.id

    def rank(
        self, ids: Sequence[str], scores: Vector, ties: Vector | None = None
    ) -> list[int]:
        """Return positions, best first."""
        if not self.stored_order:
            return ranked(ids, scores)
        first = scores.tolist()
        second = first if ties is None else ties.tolist()
        return sorted(range(len(ids)), key=lambda i: (-first[i], -second[i]))

    def check(self, options: WalkOptions) -> None:
        """Refuse looking ahead and several anchors, which published walks lack."""
        if self.late_reading and (options.anchors > 1 or options.lookahead):
            raise InputError(
                f"The preset 'published' has one anchor and does not look ahead, and "
                f"got anchors={options.anchors}, lookahead={options.lookahead}: leave "
                f"them out, or leave the preset out."
            )


OWN = Rules()
"""The rules of the description, as they are read here."""

PUBLISHED = Rules(
    late_reading=True,
    by_text=True,
    visited_too=True,
    sentence_ends=True,
    home_chunks=True,
    stored_order=True,
    refit=True,
    from_zero=True,
    loose_choice=True,
)
"""The rules of the published code."""

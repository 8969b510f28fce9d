"""Results of a walk: plain frozen records, the same from every reader.

A *step* is a chunk that was visited, with those of its sentences that no earlier
step had. Offsets count Unicode code points of the stored document text, start
inclusive and end exclusive; scores are cosines to the question's vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from knowtrail.graph.cli.rows import counted
from knowtrail.ingest.keys import camel_cased

StopReason: TypeAlias = Literal[
    "sentence_limit",
    "chunk_limit",
    "early_stop",
    "max_hops",
    "no_unvisited_chunk",
    "no_connections",
    "all_candidates_overlap",
    "no_more_similar",
    "sentence_is_best",
    "model_stopped",
    "time_limit",
    "anchors_exhausted",
    "chunks_exhausted",
    "no_anchor",
    "failed",
]
"""Why a walk ended.

`sentence_limit` and `chunk_limit` are the budgets, `max_hops` and `time_limit` too;
`early_stop` means that a sentence already found scores better than the best chunk
left, `no_more_similar` that the next hop would go to a chunk no more similar than the
last hop did; `no_connections` is a chunk without outgoing edges, `no_unvisited_chunk`
one whose neighbours were all visited, `all_candidates_overlap` one whose neighbours
all hold a sentence already found; `sentence_is_best` (in the preset `published` only)
a sentence of the current chunk that scores better than every neighbour;
`model_stopped` a language model that has seen enough; `chunks_exhausted` is a ranking
read to its end; `no_anchor` an empty corpus, or a filter that nothing passes;
`failed` is for a comparison, in which one algorithm could not walk.

A walk from several anchors ends with a budget of the whole walk or, where its parts
ended before one was used up, with `anchors_exhausted`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkText:
    """A chunk: its text, and where it stands in the text of its document."""

    id: str
    text: str
    index: int
    first_sentence: int
    last_sentence: int
    start_char: int
    end_char: int
    document_id: str
    title: str
    url: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSentence:
    """A sentence that a walk found; its score is the cosine to the question."""

    id: str
    text: str
    index: int
    start_char: int
    end_char: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedChunk:
    """A chunk's id with its cosine to the question, or what else it is ranked by."""

    id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One visited chunk; its score is the cosine to the question.

    Attributes:
        hop: Edges followed from the anchor to this chunk; 0 for every step of an
            algorithm that follows none. A walk from several anchors has a step with 0
            for each, and every other step follows an edge from the one before it.
        sentences: Its sentences that no earlier step had, in document order, cut to
            the sentence budget.
        considered: The chunks that the walk could go to from here, nearest to the
            question first; of `auto` the best ones left of its ranking, with the score
            that it ranks by. Empty where the walk ended without looking at any, or
            follows nothing.
        reason: How the chunk was chosen, in a few words.
        milliseconds: Time since the step before, or since the start; two walks that
            differ in this alone are equal.
    """

    index: int
    hop: int
    chunk: ChunkText
    score: float
    sentences: tuple[FoundSentence, ...]
    considered: Sequence[RankedChunk] = ()
    reason: str = ""
    milliseconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What an algorithm returns: its steps and why it ended.

    Attributes:
        ranking: The anchor ranking, best first, as far as it was read.
        counts: What else is known of the walk: calls of a model, answers that were
            not valid, tokens, the variance that a projection explains.
        score: The algorithm's own score of the walk, which its docstring defines;
            None where there is nothing to score. Not comparable across algorithms.
    """

    steps: tuple[Step, ...]
    stop_reason: StopReason
    ranking: tuple[RankedChunk, ...] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A trail together with the question that it answers.

    The time is that of the walk with its reads, without embedding; the parameters are
    the budgets and limits that were in force.
    """

    algorithm: str
    question: str
    corpus: str
    steps: tuple[Step, ...]
    stop_reason: StopReason
    milliseconds: float
    parameters: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None

    @property
    def sentences(self) -> tuple[FoundSentence, ...]:
        """Return the sentences found, in the order in which they were found."""
        return tuple(s for step in self.steps for s in step.sentences)

    @property
    def extent(self) -> str:
        """Return in words how many steps, hops and sentences there are."""
        parts = {
            "step": len(self.steps),
            "hop": self.hops,
            "sentence": len(self.sentences),
        }
        return ", ".join(counted(number, noun) for noun, number in parts.items())

    @property
    def hops(self) -> int:
        """Return how many edges were followed."""
        return sum(step.hop > 0 for step in self.steps)

    @property
    def documents(self) -> tuple[str, ...]:
        """Return the titles of the documents visited, each once, in order."""
        return tuple(dict.fromkeys(step.chunk.title for step in self.steps))

    def as_dict(self) -> dict[str, Any]:
        """Return the walk as JSON values with camelCase names."""
        return {
            **camel_cased(self, "algorithm", "question", "corpus"),
            **camel_cased(self, "stop_reason", "hops"),
            "milliseconds": round(self.milliseconds, 3),
            "score": self.score,
            "parameters": dict(self.parameters),
            "counts": dict(self.counts),
            "steps": [_step_dict(step) for step in self.steps],
        }


_SENTENCE = ("index", "text", "start_char", "end_char", "score")


def _step_dict(step: Step) -> dict[str, Any]:
    chunk = step.chunk
    return {
        "step": step.index,
        "hop": step.hop,
        **camel_cased(chunk, "document_id", "title", "url"),
        "chunkId": chunk.id,
        **camel_cased(chunk, "text", "first_sentence", "last_sentence"),
        **camel_cased(chunk, "start_char", "end_char"),
        **camel_cased(step, "score", "reason"),
        "milliseconds": round(step.milliseconds, 3),
        "sentences": [
            {"sentenceId": s.id, **camel_cased(s, *_SENTENCE)} for s in step.sentences
        ],
    }

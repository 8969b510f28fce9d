"""The walk of a picture: a recorded one by its id, and what is said of a walk."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from knowtrail.graph.cli.rows import counted
from knowtrail.graph.errors import InputError
from knowtrail.graph.vectors import vector_array
from knowtrail.retrieval.display import stop_text
from knowtrail.retrieval.views.labels import cut
from knowtrail.retrieval.views.layout import Heading
from knowtrail.retrieval.walk import (
    ChunkText,
    FoundSentence,
    RankedChunk,
    Step,
    StopReason,
    Walk,
)

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.traverse import TraverseResult

GONE = -1
"""Place of a chunk that was deleted after the walk."""

_SENTENCE = tuple(one.name for one in fields(FoundSentence))


def read_walk(connection: Connection, traversal: str) -> TraverseResult:
    """Return a recorded walk; the refusal of an unknown one names the last ones.

    Chunks that are gone have the place `GONE`. Its `ranking` is not stored.
    """
    from knowtrail.retrieval.traverse import TraverseResult

    rows = connection.read("retrieval/view_traversal", id=traversal)
    if not rows:
        last = connection.read("retrieval/view_traversals", corpus=None, limit=3)
        hint = (
            f"the last are {', '.join(row['id'] for row in last)}."
            if last
            else "none is recorded; knowtrail traverse records one."
        )
        raise InputError(f"No traversal {traversal[:200]!r}: {hint}")
    row = rows[0]
    walk = Walk(
        algorithm=row["algorithm"],
        question=row["question"],
        corpus=row["corpus"],
        steps=tuple(_step(step) for step in row["steps"]),
        stop_reason=row["stopReason"],
        milliseconds=row["milliseconds"] or 0.0,
    )
    vector = row["vector"]
    query = None if vector is None else vector_array(vector).astype(np.float64)
    return TraverseResult(walk=walk, traversal_id=traversal, query=query)


def has_edge(steps: tuple[Step, ...], number: int) -> bool:
    """Return whether a step followed an edge from the one before it."""
    return number > 0 and steps[number].hop > 0


def is_anchor(step: Step) -> bool:
    """Return whether a walk, which may have several anchors, started at a step."""
    return step.index == 0 or (step.hop == 0 and step.reason == "anchor")


def stop_words(reason: str) -> str:
    """Return a stop reason in words; one of another version as it is."""
    return stop_text(reason) if reason in get_args(StopReason) else cut(reason, 60)


def heading(walk: Walk, note: str = "") -> Heading:
    """Return what stands above the picture of a walk, with a further note."""
    gone = sum(step.chunk.index == GONE for step in walk.steps)
    lost = counted(gone, "step")
    missing = f" Not shown: {lost} whose chunks are gone." if gone else ""
    return Heading(
        title=cut(walk.question, 300),
        about=f"{walk.algorithm} on {cut(walk.corpus, 40)}: {walk.extent}. "
        f"It ended because "
        f"{stop_words(walk.stop_reason)}.{missing}{note}",
    )


def _step(row: dict[str, Any]) -> Step:
    return Step(
        index=row["index"],
        hop=row["hop"],
        score=row["score"],
        reason=row["reason"] or "",
        chunk=ChunkText(
            id=row["chunkId"],
            text=row["text"] or "",
            index=GONE if row["chunk"] is None else row["chunk"],
            first_sentence=row["firstSentence"] or 0,
            last_sentence=row["lastSentence"] or 0,
            start_char=row["startChar"] or 0,
            end_char=row["endChar"] or 0,
            document_id=row["documentId"] or "",
            title=row["title"] or "",
        ),
        sentences=tuple(
            FoundSentence(**dict(zip(_SENTENCE, values, strict=True)))
            for values in row["sentences"]
        ),
        considered=tuple(RankedChunk(id=c[0], score=c[1]) for c in row["considered"]),
    )

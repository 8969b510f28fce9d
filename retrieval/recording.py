"""Walks written back to the graph: questions, traversals and their steps.

    (:Traversal)-[:FOR_QUERY]->(:Query)
    (:Traversal)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->(:Step)
    (:Step)-[:VISITED]->(:Chunk), (:Step)-[:PICKED {rank, score}]->(:Sentence)
    (:Step | :Traversal)-[:CONSIDERED {rank, score}]->(:Chunk)

A walk is stored after its end, by one statement in a transaction of its own: all of it,
or nothing where the corpus, a chunk or a sentence is gone or was replaced meanwhile.
Each step keeps title, chunk id and text of what it visited, so that a walk can still
be read when its documents are deleted or replaced; their relationships go with them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from knowtrail.graph.blocking import Blocking, waiting
from knowtrail.graph.db.schema import SCHEMA_VERSION, apply_schema, migrations
from knowtrail.graph.errors import DatabaseError
from knowtrail.ingest.keys import camel_cased, content_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.graph.db.connection import AsyncConnection
    from knowtrail.retrieval.protocols import Vector
    from knowtrail.retrieval.walk import RankedChunk, Step, Walk

_STATEMENT = "retrieval/record_walk"
_STEP = ("index", "hop", "score", "reason", "milliseconds")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recording:
    """A walk that is to be stored, with its question's vector and when it ended.

    `ranking` are the chunks considered as anchors; with `trace` these and all that were
    considered are stored too.
    """

    walk: Walk
    query: Vector
    corpus_version: int
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    ranking: tuple[RankedChunk, ...] = ()
    trace: bool = False

    @property
    def id(self) -> str:
        """Return the id of the traversal: the same for the same walk and time."""
        walk = self.walk
        return content_key(
            "traversal",
            question_id(walk.corpus, walk.question),
            walk.algorithm,
            json.dumps(dict(walk.parameters), sort_keys=True, default=str),
            self.created.isoformat(),
            repr(walk.milliseconds),
        )

    def parameters(self) -> dict[str, Any]:
        """Return the values of the statement that stores the walk."""
        walk = self.walk
        places = _Places()
        steps = [self._step(step, places) for step in walk.steps]
        picks = [
            {
                "step": at,
                "sentence": places.sentence(sentence.id),
                "score": sentence.score,
            }
            for at, step in enumerate(walk.steps)
            for sentence in step.sentences
        ]
        considered = [
            {"step": at, **row}
            for at, step in enumerate(walk.steps)
            for row in self._ranked(step.considered, places)
        ]
        return {
            "corpus": walk.corpus,
            "question": {
                "id": question_id(walk.corpus, walk.question),
                "text": walk.question,
                "corpus": walk.corpus,
                "createdAt": self.created,
            },
            "vector": self.query.tolist(),
            "traversal": _traversal(self),
            "steps": steps,
            "picks": [{**pick, "rank": n} for n, pick in enumerate(picks, start=1)],
            "considered": considered,
            "anchors": self._ranked(self.ranking, places),
            "chunks": list(places.chunks),
            "sentences": list(places.sentences),
        }

    def _step(self, step: Step, places: _Places) -> dict[str, Any]:
        chunk = step.chunk
        return {
            "chunk": places.chunk(chunk.id),
            "properties": {
                "id": content_key("step", self.id, step.index),
                "corpus": self.walk.corpus,
                **camel_cased(step, *_STEP),
                "chunkId": chunk.id,
                **camel_cased(chunk, "document_id", "title", "text"),
            },
        }

    def _ranked(
        self, chunks: Sequence[RankedChunk], places: _Places
    ) -> list[dict[str, Any]]:
        """Return chunks that were considered, none without `trace`."""
        if not self.trace:
            return []
        return [
            {"chunk": places.chunk(chunk.id), "rank": rank, "score": chunk.score}
            for rank, chunk in enumerate(chunks, start=1)
        ]


class _Places:
    """Chunks and sentences that are sent once each, and named by their places."""

    def __init__(self) -> None:
        self.chunks: dict[str, int] = {}
        self.sentences: dict[str, int] = {}

    def chunk(self, chunk_id: str) -> int:
        return self.chunks.setdefault(chunk_id, len(self.chunks))

    def sentence(self, sentence_id: str) -> int:
        return self.sentences.setdefault(sentence_id, len(self.sentences))


def question_id(corpus: str, text: str) -> str:
    """Return the id of a question: one node for each text and corpus."""
    return content_key("query", corpus, text)


def _traversal(recording: Recording) -> dict[str, Any]:
    """Return the properties of a Traversal; None stands for a property left out."""
    walk = recording.walk
    return {
        **_properties(walk.counts),
        **_properties(walk.parameters),
        "id": recording.id,
        "corpus": walk.corpus,
        "corpusVersion": recording.corpus_version,
        "algorithm": walk.algorithm,
        "parameters": json.dumps(
            {k: v for k, v in walk.parameters.items() if v is not None},
            ensure_ascii=False,
            default=str,
        ),
        "stopReason": walk.stop_reason,
        "hops": walk.hops,
        "sentences": len(walk.sentences),
        "documents": len({step.chunk.document_id for step in walk.steps}),
        "milliseconds": walk.milliseconds,
        "score": walk.score,
        "createdAt": recording.created,
    }


def _properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values under camelCase names, as properties can hold them."""
    return {
        re.sub(r"_(\w)", lambda found: found[1].upper(), name): (
            value
            if value is None or isinstance(value, str | bool | int | float)
            else json.dumps(value, ensure_ascii=False, default=str)
        )
        for name, value in values.items()
    }


async def arecord(
    connection: AsyncConnection, recording: Recording
) -> tuple[str | None, str]:
    """Store a walk, whole or not at all; storing it twice changes nothing.

    An older schema is brought up to date before. A failure is told and not raised,
    since the walk itself is done: the id of the traversal and an empty text come back,
    or None and why it is not stored.
    """
    try:
        rows = await connection.aread("schema/version_read")
        found = int(rows[0]["version"]) if rows else 0
        if found < SCHEMA_VERSION:
            await _migrate(connection, found)
        written = await connection.awrite(_STATEMENT, **recording.parameters())
    except DatabaseError as error:
        return None, f"The walk was not recorded: {error}"
    if written.changed:
        return recording.id, ""
    return None, (
        f"The walk was not recorded: corpus {recording.walk.corpus!r} changed "
        "meanwhile, and a chunk of the walk is gone. Ask again."
    )


record = waiting(arecord)


async def _migrate(connection: AsyncConnection, found: int) -> None:
    """Bring an older schema up to date."""
    if isinstance(connection, Blocking):
        apply_schema(connection.own)
        return
    for _, commands in migrations(found):
        for command in commands:
            await connection.arun_schema(command)
    await connection.awrite("schema/version_write", version=SCHEMA_VERSION)

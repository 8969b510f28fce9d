"""What was said before: turns, the classes that they lend weight to, and the graph.

(:Conversation)-[:HAS_TURN]->(:Turn)-[:NEXT_TURN]->(:Turn)
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import InputError
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.db.driver import Counters
    from knowtrail.retrieval.specificity.template_pipeline import PipelineResult

BOOST = 0.1
RECENCY = (1.0, 0.85, 0.70, 0.55, 0.40)
"""What a boost is multiplied by, for the last turn first."""


NAMES = 10
"""Names of its answer that a turn has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTurn:
    """A turn, as far as later ones build on it, with a few names of its answer."""

    question: str
    resolved: str
    language: str = "en"
    template_id: str = "none"
    slots: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns of one conversation, the oldest first.

    The id is what its caller calls it, None for one that is not stored; the owner the
    caller, who alone finds it by that name, None is whoever holds the database.
    """

    id: str | None = None
    turns: tuple[PastTurn, ...] = ()
    owner: str | None = None

    @property
    def key(self) -> str | None:
        """Return its id in the graph, which differs between owners of one name."""
        if self.id is None or self.owner is None:
            return self.id
        return content_key("conversation", self.owner, self.id)

    @property
    def last(self) -> PastTurn | None:
        """Return the last turn that a follow-up can build on, if there is one."""
        return next((t for t in reversed(self.turns) if t.template_id != "none"), None)


def context_boosts(conversation: Conversation | None) -> dict[str, float]:
    """Return what the last five turns add to the scores of classes, the latest once."""
    boosts: dict[str, float] = {}
    turns = conversation.turns[-len(RECENCY) :] if conversation else ()
    for factor, turn in zip(RECENCY, reversed(turns), strict=False):
        for name in turn.classes:
            boosts.setdefault(name, BOOST * factor)
    return boosts


LONGEST_ID = 200


def _check_conversation(name: str) -> str:
    if not name.strip() or len(name) > LONGEST_ID or not name.isprintable():
        raise InputError(
            f"The conversation is {name[:80]!r}: name it with 1 to {LONGEST_ID} "
            "printable characters."
        )
    return name


def read_conversation(
    connection: Connection, name: str, *, owner: str | None = None
) -> Conversation:
    """Return the last turns of a conversation, none where it is new."""
    found = Conversation(id=_check_conversation(name), owner=owner)
    rows = connection.read(
        "retrieval/specificity_conversation", conversation=found.key, limit=len(RECENCY)
    )
    turns = [_past_turn(row["turn"]) for row in reversed(rows)]
    return replace(found, turns=tuple(turns))


def _past_turn(stored: dict[str, Any]) -> PastTurn:
    slots = json.loads(stored.get("slots") or "{}")
    return PastTurn(
        question=stored["question"],
        resolved=stored["resolved"],
        language=stored["language"],
        template_id=stored["templateId"],
        slots={n: v if isinstance(v, str) else tuple(v) for n, v in slots.items()},
        classes=tuple(stored.get("keptClasses") or ()),
        names=tuple(stored.get("names") or ()),
        answer=stored["answer"],
    )


def store_turn(
    connection: Connection, result: PipelineResult, *, before: Conversation
) -> str:
    """Store what a pipeline made of a question as the last turn; return its id.

    Turns of one conversation that are stored at once follow each other in some order:
    its chain never forks.
    """
    from knowtrail.graph.db.schema import SCHEMA_VERSION, apply_schema, schema_version

    _check_conversation(result.conversation.id or "")
    name = result.conversation.key or ""
    now = datetime.now(UTC)
    turn_id = content_key(
        "turn", name, len(before.turns), result.question, now.isoformat()
    )
    if schema_version(connection) < SCHEMA_VERSION:
        apply_schema(connection)
    turn = {"id": turn_id, "createdAt": now, **_properties(result)}
    connection.write(
        "retrieval/specificity_turn", conversation=name, now=now, turn=turn
    )
    return turn_id


_TOLD = (
    "question",
    "resolved",
    "language",
    "status",
    "confidence",
    "missing",
    "contextTemplate",
    "answer",
    "notes",
    "model",
)
"""Properties of a turn that are called so in JSON too."""


def _properties(result: PipelineResult) -> dict[str, Any]:
    classes = result.classes
    kept, dropped = (classes.kept, classes.dropped) if classes else ({}, {})
    runs = () if result.instantiated is None else result.instantiated.runs
    bound = (
        {n: {"value": b.value, "type": b.datatype} for n, b in run.bindings.items()}
        for run in runs
    )
    classified, told = result.classification, result.as_dict()
    return {name: told[name] for name in _TOLD} | {
        "followUp": result.resolution.follow_up,
        "templateId": result.template_id,
        "classifiedBy": None if classified is None else classified.by,
        "slots": json.dumps(dict(result.slots.values), ensure_ascii=False),
        "sparql": [run.sparql for run in runs],
        "bindings": [json.dumps(one, ensure_ascii=False) for one in bound],
        "rows": None if result.execution is None else len(result.execution.rows),
        "names": list(result.names),
        "keptClasses": list(kept),
        "keptScores": list(kept.values()),
        "droppedClasses": list(dropped),
        "droppedScores": list(dropped.values()),
        "boosts": json.dumps(dict(result.boosts)),
        "chunkIds": [chunk.chunk_id for chunk in result.chunks],
        "chunkScores": [chunk.score for chunk in result.chunks],
        "experimentGroup": result.group,
        "milliseconds": 1000 * sum(result.seconds.values()),
    }


def delete_conversation(connection: Connection, name: str) -> Counters:
    """Delete a conversation with its turns; none is no error."""
    return connection.write(
        "retrieval/specificity_forget", conversation=_check_conversation(name)
    )

"""Conversations, their turns and the scores of classes in the graph.

(:Conversation)-[:HAS_TURN]->(:Turn)-[:NEXT_TURN]->(:Turn)
(:OntologyClass {specificity, template_archive_search, ...})
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from graph.driver import Counters
from graph.errors import InputError
from ingest.keys import content_key
from retrieval.specificity.conversation import RECENCY, Conversation, PastTurn
from retrieval.specificity.execution import DEFAULT_BASE
from retrieval.specificity.mapping import ContextTemplate

if TYPE_CHECKING:
    from graph.connection import Connection
    from retrieval.specificity.lookup import SpecificityLookup
    from retrieval.specificity.results import PipelineResult

__all__ = [
    "check_conversation",
    "delete_conversation",
    "read_conversation",
    "store_turn",
    "write_scores",
]

LONGEST_ID = 200
NAMES = 10


def check_conversation(name: str) -> str:
    """Return the id of a conversation, checked.

    Raises:
        InputError: If it is empty, too long or has control characters.
    """
    if not name.strip() or len(name) > LONGEST_ID or not name.isprintable():
        msg = (
            f"The conversation is {name[:80]!r}: name it with 1 to {LONGEST_ID} "
            "printable characters."
        )
        raise InputError(msg)
    return name


def read_conversation(connection: Connection, name: str) -> Conversation:
    """Return the last turns of a conversation, none where it is new.

    Raises:
        InputError: If the name is none.
    """
    rows = connection.read(
        "retrieval/specificity_conversation",
        conversation=check_conversation(name),
        limit=len(RECENCY),
    )
    turns = [_past_turn(row["turn"]) for row in reversed(rows)]
    return Conversation(id=name, turns=tuple(turns))


def _past_turn(stored: dict[str, Any]) -> PastTurn:
    """Return a stored turn."""
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

    Args:
        connection: The database.
        result: What was made; its conversation has an id.
        before: The conversation before this turn, with the latest five turns.

    Raises:
        InputError: If the conversation has no id.
    """
    from graph.schema import apply_schema, schema_version

    name = check_conversation(result.conversation.id or "")
    now = datetime.now(UTC)
    turn_id = content_key(
        "turn", name, len(before.turns), result.question, now.isoformat()
    )
    if schema_version(connection) is None:
        apply_schema(connection)
    connection.write(
        "retrieval/specificity_turn",
        conversation=name,
        now=now,
        turn={"id": turn_id, "createdAt": now, **_properties(result)},
    )
    return turn_id


def _properties(result: PipelineResult) -> dict[str, Any]:
    """Return the properties of a turn."""
    kept = {} if result.classes is None else result.classes.kept
    dropped = {} if result.classes is None else result.classes.dropped
    runs = () if result.instantiated is None else result.instantiated.runs
    classified = result.classification
    return {
        "question": result.question,
        "resolved": result.resolution.question,
        "followUp": result.resolution.follow_up,
        "language": result.language,
        "status": result.status,
        "templateId": result.template_id,
        "confidence": None if classified is None else classified.confidence,
        "classifiedBy": None if classified is None else classified.by,
        "slots": json.dumps(
            {
                n: v if isinstance(v, str) else list(v)
                for n, v in result.slots.values.items()
            },
            ensure_ascii=False,
        ),
        "missing": list(result.missing),
        "contextTemplate": result.context_template,
        "sparql": [run.sparql for run in runs],
        "bindings": [
            json.dumps(
                {
                    n: {"value": b.value, "type": b.datatype}
                    for n, b in r.bindings.items()
                },
                ensure_ascii=False,
            )
            for r in runs
        ],
        "rows": None if result.execution is None else len(result.execution.rows),
        "names": list(_names(result)),
        "keptClasses": list(kept),
        "keptScores": list(kept.values()),
        "droppedClasses": list(dropped),
        "droppedScores": list(dropped.values()),
        "boosts": json.dumps(dict(result.boosts)),
        "chunkIds": [chunk.chunk_id for chunk in result.chunks],
        "chunkScores": [chunk.score for chunk in result.chunks],
        "answer": result.answer,
        "notes": list(result.notes),
        "model": result.model,
        "experimentGroup": result.group,
        "milliseconds": 1000 * sum(result.seconds.values()),
    }


def _names(result: PipelineResult) -> tuple[str, ...]:
    """Return the first institutions of an answer."""
    found = result.execution.column("name") if result.execution else ()
    return tuple(dict.fromkeys(str(name) for name in found))[:NAMES]


def delete_conversation(connection: Connection, name: str) -> Counters:
    """Delete a conversation with its turns; none is no error."""
    return connection.write(
        "retrieval/specificity_forget", conversation=check_conversation(name)
    )


def write_scores(
    connection: Connection, lookup: SpecificityLookup, *, base: str = DEFAULT_BASE
) -> Counters:
    """Store the classes of a schema with their scores as (:OntologyClass).

    What is stored already as it is, is not written again.

    Args:
        connection: The database.
        lookup: The classes.
        base: Where the IRIs of the graph begin.
    """
    rows = [
        {
            "uri": f"{base}ontology/heritage#{name}",
            "name": name,
            "description": found.description,
            "parent": found.parent,
            "institutionType": found.institution_type,
            "specificity": found.general,
            **{f"template_{c.value}": found.score(c) for c in ContextTemplate},
        }
        for name, found in lookup.classes.items()
    ]
    stored = {
        row["held"]["uri"]: row["held"]
        for row in connection.read(
            "retrieval/specificity_stored", uris=[row["uri"] for row in rows]
        )
    }
    new = [
        row
        for row in rows
        if any(stored.get(row["uri"], {}).get(n) != v for n, v in row.items())
    ]
    if not new:
        return Counters()
    return connection.write("retrieval/specificity_scores", rows=new)

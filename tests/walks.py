"""A small graph with hand-made walks over it, for tests of what is recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.retrieval.recording import Recording
from knowtrail.retrieval.walk import ChunkText, FoundSentence, RankedChunk, Step, Walk

if TYPE_CHECKING:
    from knowtrail.retrieval.walk import StopReason

NIGHT = "Who hunts at night?"
SEA = "What lives in the sea?"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

GRAPH = """
CREATE (k:Corpus {name: 'tales', version: 3, status: 'complete'})
CREATE (fox:Document {id: 'fox', corpus: 'tales', title: 'Fox'})-[:IN_CORPUS]->(k)
CREATE (owl:Document {id: 'owl', corpus: 'tales', title: 'Owl',
                          themeEmbedding: [1.0, 0.0]})-[:IN_CORPUS]->(k)
CREATE (eel:Document {id: 'eel', corpus: 'tales', title: 'Eel',
                          themeEmbedding: [0.6, 0.8]})-[:IN_CORPUS]->(k)
CREATE (night:Theme {id: 'night', corpus: 'tales', name: 'night'})
CREATE (sea:Theme {id: 'sea', corpus: 'tales', name: 'sea'})
CREATE (fox)-[:HAS_THEME {rank: 1}]->(night)<-[:HAS_THEME {rank: 1}]-(owl)
CREATE (eel)-[:HAS_THEME {rank: 1}]->(sea)
WITH *
UNWIND [[fox, 0], [fox, 1], [owl, 0], [owl, 1], [eel, 0]] AS place
WITH place[0] AS d, place[0].id + place[1] AS name, place[1] AS index
CREATE (c:Chunk {id: name, corpus: 'tales', index: index, text: 'Text of ' + name})
CREATE (c)-[:FROM_DOCUMENT]->(d)
CREATE (c)-[:HAS_SENTENCE {position: 0}]->
  (:Sentence {id: 's-' + name, corpus: 'tales', index: index, text: 'Says ' + name})
"""

EDGES = """
UNWIND [['fox0', 'fox1'], ['fox0', 'owl0'], ['fox1', 'owl1'], ['owl1', 'eel0']] AS pair
MATCH (a:Chunk {id: pair[0]}), (b:Chunk {id: pair[1]})
CREATE (a)-[:SIMILAR_TO {score: 0.5, rank: 1, scope: 'inter'}]->(b)
"""


def chunk_text(name: str) -> ChunkText:
    """Return a chunk of the graph, such as `fox0`."""
    return ChunkText(
        id=name,
        text=f"Text of {name}",
        index=int(name[-1]),
        first_sentence=int(name[-1]),
        last_sentence=int(name[-1]),
        start_char=0,
        end_char=9,
        document_id=name[:-1],
        title=name[:-1].title(),
    )


def walk_over(
    *names: str,
    question: str = NIGHT,
    algorithm: str = "query_traversal",
    stop_reason: StopReason = "early_stop",
    **parameters: Any,
) -> Walk:
    """Return a walk over chunks of the graph, one hop a chunk."""
    return Walk(
        algorithm=algorithm,
        question=question,
        corpus="tales",
        steps=tuple(
            Step(
                index=index,
                hop=index,
                chunk=chunk_text(name),
                score=0.9 - index / 10,
                sentences=(
                    FoundSentence(
                        id=f"s-{name}",
                        text=f"Says {name}",
                        index=int(name[-1]),
                        start_char=0,
                        end_char=9,
                        score=0.8,
                    ),
                ),
                considered=tuple(
                    RankedChunk(id=other, score=0.5 - place / 10)
                    for place, other in enumerate(names[index + 1 :])
                ),
                reason="anchor" if index == 0 else "nearest to the question",
                milliseconds=1.5,
            )
            for index, name in enumerate(names)
        ),
        stop_reason=stop_reason,
        milliseconds=4.25,
        parameters={"maxSentences": 10, "maxHops": 20, **parameters},
        counts={"model_calls": 2},
        score=0.7,
    )


def recording(walk: Walk, *, minute: int = 0, trace: bool = False) -> Recording:
    """Return a walk as it is to be stored, ended at a minute of the first hour."""
    return Recording(
        walk=walk,
        query=np.array([0.6, 0.8]),
        corpus_version=3,
        created=BEGIN + timedelta(minutes=minute),
        ranking=(RankedChunk(id="fox0", score=0.9), RankedChunk(id="eel0", score=0.1)),
        trace=trace,
    )

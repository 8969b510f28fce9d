"""Readers give the same walks: memory, Neo4j and Neo4j asynchronously."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.schema import apply_schema, drop_schema
from retrieval.conformance import GraphReaderConformance
from retrieval.readers import CypherReader, MemoryReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from graph.connection import Connection
    from retrieval.filters import Filter
    from retrieval.readers import MemoryGraph

_WRITE = """
MERGE (k:Corpus {name: $corpus})
WITH k
UNWIND $documents AS document
MERGE (d:Document {id: document.id})
SET d = document.properties
MERGE (d)-[:IN_CORPUS]->(k)
FOREACH (name IN document.themes |
  MERGE (t:Theme {id: $corpus + name}) SET t.name = name MERGE (d)-[:HAS_THEME]->(t))
FOREACH (name IN document.categories |
  MERGE (t:Category {id: $corpus + name}) SET t.name = name
  MERGE (d)-[:IN_CATEGORY]->(t))
WITH d, document
UNWIND document.chunks AS chunk
MERGE (c:Chunk {id: chunk.properties.id})
SET c = chunk.properties
MERGE (c)-[:FROM_DOCUMENT]->(d)
WITH c, chunk
CALL db.create.setNodeVectorProperty(c, 'embedding', chunk.vector)
WITH c, chunk
UNWIND chunk.sentences AS sentence
MERGE (s:Sentence {id: sentence.properties.id})
SET s = sentence.properties
MERGE (c)-[:HAS_SENTENCE]->(s)
WITH s, sentence
CALL db.create.setNodeVectorProperty(s, 'embedding', sentence.vector)
"""
_EDGES = """
UNWIND $edges AS edge
MATCH (a:Chunk {id: edge.source}), (b:Chunk {id: edge.target})
MERGE (a)-[r:SIMILAR_TO]->(b)
SET r.rank = edge.rank, r.scope = edge.scope
"""


def _sentence_row(sentence: Any) -> dict[str, Any]:
    """Return a sentence as a parameter."""
    return {
        "properties": {
            "id": sentence.id,
            "text": sentence.text,
            "index": sentence.index,
            "startChar": sentence.start_char,
            "endChar": sentence.end_char,
        },
        "vector": sentence.vector.tolist(),
    }


def store(connection: Connection, graph: MemoryGraph, corpus: str = "small") -> None:
    """Write a graph in the documented model, with plain Cypher."""
    documents: dict[str, dict[str, Any]] = {}
    place = {chunk.id: chunk for chunk in graph.chunks}
    for chunk, vector in zip(graph.chunks, graph.vectors, strict=True):
        properties = dict(graph.documents[chunk.document_id])
        row = documents.setdefault(
            chunk.document_id,
            {
                "id": chunk.document_id,
                "themes": properties.pop("themes"),
                "categories": properties.pop("categories"),
                "properties": {**properties, "id": chunk.document_id},
                "chunks": [],
            },
        )
        row["chunks"].append({
            "properties": {
                "id": chunk.id,
                "corpus": corpus,
                "text": chunk.text,
                "index": chunk.index,
                "firstSentence": chunk.first_sentence,
                "lastSentence": chunk.last_sentence,
                "startChar": chunk.start_char,
                "endChar": chunk.end_char,
            },
            "vector": vector.tolist(),
            "sentences": [_sentence_row(s) for s in graph.sentences[chunk.id]],
        })
    edges = [
        {
            "source": source,
            "target": target,
            "rank": rank,
            "scope": "intra"
            if place[source].document_id == place[target].document_id
            else "inter",
        }
        for source, targets in graph.edges.items()
        for rank, target in enumerate(targets)
    ]
    driver, name = connection.driver, connection.database
    driver.execute_query(
        _WRITE, documents=list(documents.values()), corpus=corpus, database_=name
    )
    driver.execute_query(_EDGES, edges=edges, database_=name)
    driver.execute_query("CALL db.awaitIndexes(60)", database_=name)


class TestMemoryReader(GraphReaderConformance):
    """The memory reader, against itself: the measure is whole."""

    @pytest.fixture
    def open_reader(self) -> Callable[..., Any]:
        """Return a function that opens a graph."""
        return lambda graph, given: MemoryReader(graph, filter=given)


@pytest.mark.integration
class TestCypherReader(GraphReaderConformance):
    """The Cypher reader, on a real server."""

    @pytest.fixture
    def open_reader(self, session_connection: Connection) -> Callable[..., Any]:
        """Return a function that stores a graph and opens it."""
        drop_schema(session_connection, data=True)
        apply_schema(session_connection, dimensions=12)

        def open_graph(graph: MemoryGraph, given: Filter | None) -> CypherReader:
            store(session_connection, graph)
            return CypherReader(session_connection, corpus="small", filter=given)

        return open_graph

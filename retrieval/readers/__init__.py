"""Readers: the same walks from memory, from Neo4j and from a snapshot of it."""

from __future__ import annotations

from retrieval.readers.cypher import AsyncCypherReader, CypherReader
from retrieval.readers.memory import MemoryGraph, MemoryReader
from retrieval.readers.snapshot import SnapshotReader

__all__ = [
    "AsyncCypherReader",
    "CypherReader",
    "MemoryGraph",
    "MemoryReader",
    "SnapshotReader",
]

"""Readers: the same walks from memory and from Neo4j."""

from __future__ import annotations

from retrieval.readers.cypher import AsyncCypherReader, CypherReader
from retrieval.readers.memory import MemoryGraph, MemoryReader

__all__ = ["AsyncCypherReader", "CypherReader", "MemoryGraph", "MemoryReader"]

"""Readers: the same walks from Neo4j and from a snapshot of it."""

from __future__ import annotations

from knowtrail.retrieval.readers.cypher import AsyncCypherReader, CypherReader
from knowtrail.retrieval.readers.snapshot import SnapshotReader

__all__ = ["AsyncCypherReader", "CypherReader", "SnapshotReader"]

"""Text in: sources, sentences, windows, embedding, linking, corpora."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.lazy_names import lazy_names

if TYPE_CHECKING:
    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.pipeline import ingest_corpus
    from knowtrail.ingest.ray_engine import RayEngine

__all__ = ["IngestOptions", "RayEngine", "ingest_corpus"]

__getattr__ = lazy_names(__name__)

"""zELO: relevance judged in pairs by several judges, and fitted to one score.

The fit is Bradley and Terry's model of paired comparisons (Biometrika 39, 1952).
"""

from retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Document,
    Query,
    QueryDocuments,
    read_annotated,
    read_queries,
    write_annotated,
    write_queries,
)

__all__ = [
    "AnnotatedDocument",
    "AnnotatedQueryDocuments",
    "Document",
    "Query",
    "QueryDocuments",
    "read_annotated",
    "read_queries",
    "write_annotated",
    "write_queries",
]

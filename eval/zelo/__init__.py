"""zELO: relevance judged in pairs by several judges, and fitted to one score.

The fit is Bradley and Terry's model of paired comparisons (Biometrika 39, 1952).

    judges = load_judges(["bm25", "embedding"])
    done = annotate("queries.jsonl", "annotated.jsonl", judges=judges)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.lazy_names import lazy_names
from knowtrail.retrieval.rerank.base import BaseReranker
from knowtrail.retrieval.rerank.datasets import (
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

if TYPE_CHECKING:
    from knowtrail.eval.zelo.annotation import (
        Annotation,
        ZeloAnnotator,
        aannotate,
        annotate,
    )
    from knowtrail.eval.zelo.judgements import Answer, Judge, Judgement, Matchup, Price
    from knowtrail.eval.zelo.judges import (
        ChatJudge,
        FunctionJudge,
        RerankerJudge,
        load_judges,
    )
    from knowtrail.eval.zelo.metrics import (
        benchmark_accuracy,
        benchmark_ndcg,
        recall_at_k,
    )
    from knowtrail.eval.zelo.pairs import PairSettings
    from knowtrail.eval.zelo.scored_pairs import FitSettings

__all__ = [
    "AnnotatedDocument",
    "AnnotatedQueryDocuments",
    "Annotation",
    "Answer",
    "BaseReranker",
    "ChatJudge",
    "Document",
    "FitSettings",
    "FunctionJudge",
    "Judge",
    "Judgement",
    "Matchup",
    "PairSettings",
    "Price",
    "Query",
    "QueryDocuments",
    "RerankerJudge",
    "ZeloAnnotator",
    "aannotate",
    "annotate",
    "benchmark_accuracy",
    "benchmark_ndcg",
    "load_judges",
    "read_annotated",
    "read_queries",
    "recall_at_k",
    "write_annotated",
    "write_queries",
]

__getattr__ = lazy_names(__name__)

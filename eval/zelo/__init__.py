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
    from knowtrail.eval.zelo.chat_judges import ChatJudge
    from knowtrail.eval.zelo.composing import FitSettings
    from knowtrail.eval.zelo.judgements import Answer, Judge, Judgement, Matchup, Price
    from knowtrail.eval.zelo.judges import load_judges
    from knowtrail.eval.zelo.metrics import (
        benchmark_accuracy,
        benchmark_ndcg,
        recall_at_k,
    )
    from knowtrail.eval.zelo.offline_judges import FunctionJudge, RerankerJudge
    from knowtrail.eval.zelo.pairs import PairSettings

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

_HOMES = {
    "Annotation": "annotation",
    "Answer": "judgements",
    "ChatJudge": "chat_judges",
    "FitSettings": "composing",
    "FunctionJudge": "offline_judges",
    "Judge": "judgements",
    "Judgement": "judgements",
    "Matchup": "judgements",
    "PairSettings": "pairs",
    "Price": "judgements",
    "RerankerJudge": "offline_judges",
    "ZeloAnnotator": "annotation",
    "aannotate": "annotation",
    "annotate": "annotation",
    "benchmark_accuracy": "metrics",
    "benchmark_ndcg": "metrics",
    "load_judges": "judges",
    "recall_at_k": "metrics",
}


__getattr__ = lazy_names(__name__, _HOMES)

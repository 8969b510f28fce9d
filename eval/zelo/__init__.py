"""zELO: relevance judged in pairs by several judges, and fitted to one score.

The fit is Bradley and Terry's model of paired comparisons (Biometrika 39, 1952).

    judges = load_judges(["bm25", "embedding"])
    done = annotate("queries.jsonl", "annotated.jsonl", judges=judges)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from eval.zelo.annotation import Annotation, ZeloAnnotator, aannotate, annotate
    from eval.zelo.chat_judges import ChatJudge
    from eval.zelo.composing import FitSettings
    from eval.zelo.judgements import Answer, Judge, Judgement, Matchup, Price
    from eval.zelo.judges import load_judges
    from eval.zelo.offline_judges import FunctionJudge, RerankerJudge
    from eval.zelo.pairs import PairSettings

__all__ = [
    "AnnotatedDocument",
    "AnnotatedQueryDocuments",
    "Annotation",
    "Answer",
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
    "load_judges",
    "read_annotated",
    "read_queries",
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
    "load_judges": "judges",
}


def __getattr__(name: str) -> Any:
    """Load a public name at first use, so that commands start quickly."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"eval.zelo.{_HOMES[name]}"), name)

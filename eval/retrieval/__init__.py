"""Retrieval measured against passages that are known to be needed.

knowtrail eval retrieval --dataset musique:questions.json,corpus.json
"""

from knowtrail.eval.retrieval.dataset import (
    DatasetProblem,
    GoldChunk,
    GoldSentence,
    Passage,
    RetrievalDataset,
    RetrievalQuestion,
    SourceFile,
    halves,
)
from knowtrail.eval.retrieval.system import (
    RankedDocument,
    Ranking,
    ReturnedChunk,
    ReturnedSentence,
    System,
    WalkStep,
)

__all__ = [
    "DatasetProblem",
    "GoldChunk",
    "GoldSentence",
    "Passage",
    "RankedDocument",
    "Ranking",
    "RetrievalDataset",
    "RetrievalQuestion",
    "ReturnedChunk",
    "ReturnedSentence",
    "SourceFile",
    "System",
    "WalkStep",
    "halves",
]

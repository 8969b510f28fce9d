"""Retrieval measured against passages that are known to be needed.

knowtrail eval retrieval --dataset musique:questions.json,corpus.json
"""

from knowtrail.eval.retrieval.dataset import System

__all__ = ["System"]

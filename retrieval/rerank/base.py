"""What a reranker is, and the rerankers by name.

A reranker gives each document a number for a query; higher is more relevant. Numbers of
different queries, or of different rerankers, need not be comparable. To write one,
subclass `BaseReranker` and give it `score`, or subclass `LocalReranker` and give it
`score_sync` where the work is done on this machine:

    class ByLength(LocalReranker):
        name = "length"

        def score_sync(self, query, documents):
            return [float(len(text)) for text in documents]

Everything that uses a reranker goes through `checked_scores` or `achecked_scores`, so
that a broken one is found out where it is used and not in a ranking.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError, near_name
from knowtrail.retrieval.rerank.order import finished, reranker_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.rerank.compressor import RerankCompressor

RERANKERS: Mapping[str, tuple[str, str]] = {
    "bm25": ("knowtrail.retrieval.rerank.bm25", ""),
    "cross-encoder": ("knowtrail.retrieval.rerank.cross_encoder", "MODEL"),
    "embedding": ("knowtrail.retrieval.rerank.embedding", ""),
    "pointwise": ("knowtrail.retrieval.rerank.pointwise", "FILE"),
    "zeroentropy": ("knowtrail.retrieval.rerank.zeroentropy", "MODEL"),
}
"""Name -> the module that makes it, and what must follow the name and a colon."""
_USAGES = {k: f"{k}:{what}" if what else k for k, (_, what) in RERANKERS.items()}


class BaseReranker(ABC):
    """Scores documents for a query, so many queries side by side."""

    name: str = ""
    concurrency: int = 1

    @property
    def fingerprint(self) -> str:
        """Return what tells its scores from those of another; the name, if enough."""
        return reranker_name(self)

    @abstractmethod
    async def score(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one finite number a document, of at least one, in their order."""

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Do as `score` does where nothing is awaited, also inside a running loop."""
        return finished(self.score(query, documents))

    async def annotate(
        self,
        source: str | Path,
        target: str | Path,
        *,
        document_limit: int | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Score every document of a file of queries and write the annotated file.

        What was scored is kept beside the target as it comes, so that the same call
        continues where an interrupted one ended; the target, which may be the source,
        appears when it is whole. With a limit the first so many documents of each query
        are taken. Returns how many queries were written. Raises `ModelError` if a score
        is missing or no finite number.
        """
        from knowtrail.retrieval.rerank.datasets import annotate

        return await annotate(
            self, source, target, document_limit=document_limit, progress=progress
        )

    def annotate_sync(
        self,
        source: str | Path,
        target: str | Path,
        *,
        document_limit: int | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Do as `annotate` does where nothing is awaited; see there.

        Ctrl-C waits for the queries that are under way and keeps their scores.
        """
        return finished(
            self.annotate(
                source, target, document_limit=document_limit, progress=progress
            )
        )

    def as_compressor(self, *, top_n: int | None = None) -> RerankCompressor:
        """Return a LangChain document compressor of the `top_n` best, None for all."""
        from knowtrail.retrieval.rerank.compressor import RerankCompressor

        return RerankCompressor(reranker=self, top_n=top_n)


class LocalReranker(BaseReranker):
    """A reranker that computes on this machine; `score` runs in a thread."""

    @abstractmethod
    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one finite number a document, in their order."""

    async def score(self, query: str, documents: Sequence[str]) -> list[float]:
        """Do as `score_sync` does, without blocking."""
        return await asyncio.to_thread(self.score_sync, query, documents)


def load_reranker(
    name: str, *, settings: Settings | None = None, embedder: Embedder | None = None
) -> BaseReranker:
    """Return a reranker by name; its model is loaded when it first scores.

    Args:
        name: `bm25`, `embedding`, `cross-encoder:MODEL` (a name or a folder),
            `pointwise:FILE` (made by `knowtrail eval zelo train`) or
            `zeroentropy:MODEL`.
        settings: Where embedder and keys are found; None takes the defaults.
        embedder: The model of `embedding` and `pointwise`; None loads that of the
            settings, or of the file.

    Raises:
        InputError: If there is no such reranker (the message suggests one), or a
            model's file is missing or damaged.
    """
    kind, _, what = str(name).partition(":")
    if kind not in RERANKERS:
        hint = near_name(kind[:80], RERANKERS, "did you mean {!r}? ", cutoff=0.4)
        known = ", ".join(_USAGES.values())
        msg = f"Unknown reranker {str(name)[:80]!r}: {hint}There are {known}."
        raise InputError(msg)
    module, wanted = RERANKERS[kind]
    if bool(what.strip()) != bool(wanted):
        raise InputError(f"Reranker {str(name)[:80]!r}: write {_USAGES[kind]}.")
    load: Callable[..., BaseReranker] = import_module(module).load
    return load(what.strip(), settings=settings, embedder=embedder)

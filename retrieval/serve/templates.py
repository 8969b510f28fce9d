"""Questions by templates, and the metrics that they leave behind."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from graph.errors import InputError
from retrieval.serve.arguments import read_values

if TYPE_CHECKING:
    from graph.settings import Settings
    from retrieval.serve.asking import Asked
    from retrieval.specificity.pipeline import TemplatePipeline

__all__ = ["TemplateDoor", "metrics_response"]

FRESH_SECONDS = 300.0
"""How long the names of the graph are taken as read."""

MOST_CORPORA = 8
"""Corpora whose names are held at once; the one that was asked longest ago goes."""

_KNOWN = frozenset({"question", "conversation", "corpus", "language", "k"})


class TemplateDoor:
    """Answers by templates over a connection of its own, opened when first asked."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._pipelines: OrderedDict[str | None, tuple[TemplatePipeline, float]] = (
            OrderedDict()
        )
        self._connection: Any = None

    async def answer(self, call: Asked) -> dict[str, Any]:
        """Answer a request; see `TemplatePipeline.forward`.

        Args:
            call: `question`, and if wanted `conversation`, `language`, `k` and
                `corpus`, whose institutions alone are found; without it those of the
                corpus that is served, or else all.

        Raises:
            InputError: If a parameter is unknown or no good.
            UnknownCorpusError: If nothing is stored under the name of the corpus.
        """
        values = read_values(call.query, call.body)
        for name in values:
            if name not in _KNOWN:
                msg = f"Unknown parameter {name[:80]!r}: there are {sorted(_KNOWN)}."
                raise InputError(msg)
        for name in ("question", "conversation", "corpus", "language"):
            if not isinstance(values.get(name, ""), str):
                msg = f"{name} is {str(values[name])[:80]!r}: give a text."
                raise InputError(msg)
        if "question" not in values:
            msg = "There is no question: give question."
            raise InputError(msg)
        return await asyncio.to_thread(self._answer, values)

    def _answer(self, values: dict[str, Any]) -> dict[str, Any]:
        """Answer in a thread."""
        k = values.get("k", 10)
        if not isinstance(k, int) and not (isinstance(k, str) and k.isdecimal()):
            msg = f"k is {str(k)[:80]!r}: give a number from 1 to 1000."
            raise InputError(msg)
        corpus = values.get("corpus") or self._settings.corpus
        result = self._opened_pipeline(corpus).forward(
            values["question"],
            language=values.get("language"),
            conversation=values.get("conversation"),
            k=int(k),
        )
        return result.as_dict()

    def _opened_pipeline(self, corpus: str | None) -> TemplatePipeline:
        """Return the pipeline of a corpus, with names that are not too old."""
        from graph.connection import Connection
        from retrieval.corpora import loaded_embedder
        from retrieval.specificity.monitoring import metrics
        from retrieval.specificity.opening import open_pipeline

        with self._lock:
            pipeline, opened = self._pipelines.get(corpus, (None, 0.0))
            if pipeline is None or time.monotonic() - opened >= FRESH_SECONDS:
                if self._connection is None:
                    self._connection = Connection.open(self._settings)
                pipeline = open_pipeline(
                    self._connection,
                    self._settings,
                    corpus=corpus,
                    embedder=loaded_embedder(self._settings.embedder, self._settings),
                    metrics=metrics(),
                )
                self._pipelines[corpus] = pipeline, time.monotonic()
            self._pipelines.move_to_end(corpus)
            while len(self._pipelines) > MOST_CORPORA:
                self._pipelines.popitem(last=False)
            return pipeline

    def close(self) -> None:
        """Close the connection, if one was opened."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._pipelines.clear()


def metrics_response() -> tuple[bytes, str]:
    """Return the metrics of this process with their media type.

    Raises:
        MissingExtraError: If the extra `templates` is not installed.
    """
    from retrieval.specificity.monitoring import CONTENT_TYPE, metrics_text

    return metrics_text(), CONTENT_TYPE

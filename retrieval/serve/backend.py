"""What answers all requests: procedures over one connection, questions by templates."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.rows import shown_value
from knowtrail.graph.db.user_statements import aread_statement
from knowtrail.graph.errors import (
    InputError,
    KnowtrailError,
    UnavailableError,
    UnknownCorpusError,
)
from knowtrail.graph.telemetry import each_within, span
from knowtrail.retrieval.ask import Answer, aask_stream
from knowtrail.retrieval.corpora import acorpora, aground
from knowtrail.retrieval.procedures import acall
from knowtrail.retrieval.procedures.registry import (
    PROCEDURES,
    camel_case_errors,
    keywords,
)
from knowtrail.retrieval.serve.gate import END
from knowtrail.retrieval.serve.request_values import check_known, read_values
from knowtrail.retrieval.serve.signatures import TEMPLATE_FIELDS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from knowtrail.graph.db.connection import AsyncConnection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.serve.request_values import Asked
    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

_LOG = logging.getLogger(__name__)
_SHARE = 0.8
"""What a comparison has of the time of its call: rows are stored and sent after it."""
READY_SECONDS = 2.0
CORPUS_SECONDS = 5.0
"""How often a database without a corpus is asked whether it has one."""
NOT_LOADED = "not loaded, see the log"
"""Anybody may ask whether the server is ready: the reason may name files."""


class GraphBackend:
    """The procedures over one connection, which is left open."""

    def __init__(self, connection: AsyncConnection, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings
        self._models = "loading"

    async def load_models(self) -> None:
        """Let the embedder of each corpus embed a word, so that no request loads it.

        Waits until there is a corpus, also while the database is away. A failure of a
        model is told by `readiness` and in the log; requests try again.
        """
        connection, settings = self._connection, self._settings
        while True:
            try:
                while not (stored := await acorpora(connection)):
                    _LOG.debug("No corpus yet")
                    await asyncio.sleep(CORPUS_SECONDS)
                for one in stored:
                    await aground(
                        connection, None, "ice", corpus=one.name, settings=settings
                    )
                self._models = "ok"
            except (UnavailableError, UnknownCorpusError) as error:
                _LOG.warning("No embedder yet: %s", error)
                await asyncio.sleep(CORPUS_SECONDS)
                continue
            except Exception as error:  # libraries of models raise what they like
                self._models = NOT_LOADED
                ours = isinstance(error, KnowtrailError)
                _LOG.error("No embedder: %s", error if ours else type(error).__name__)
                _LOG.debug("No embedder", exc_info=not ours)
            return

    async def call(
        self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Run a procedure and return its rows."""
        options = self._with_corpus(options)
        if name == "compare" and (end := END.get()) is not None:
            left = _SHARE * max(0.1, end - asyncio.get_running_loop().time())
            given = options.setdefault("timeLimit", left)
            if given is None or (isinstance(given, int | float) and given > left):
                options["timeLimit"] = left
        return await acall(
            name, self._connection, arguments, options, settings=self._settings
        )

    async def stream(
        self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> AsyncGenerator[str | dict[str, Any]]:
        """Yield the text of an answer as the model gives it, then the row."""
        options = self._with_corpus(options)
        asked = keywords(name, arguments, options, settings=self._settings)
        pieces = each_within(
            span("procedure", procedure=name),
            aask_stream(self._connection, settings=self._settings, **asked),
        )
        with camel_case_errors():
            async with aclosing(pieces):
                async for piece in pieces:
                    if isinstance(piece, Answer):
                        for row in PROCEDURES[name].rows(piece):
                            yield row
                    else:
                        yield piece

    @property
    def corpus(self) -> str | None:
        """Return the corpus of the settings."""
        return self._settings.corpus

    async def read(
        self, text: str, params: Mapping[str, Any], *, limit: int
    ) -> tuple[tuple[str, ...], list[list[Any]]]:
        """Run a statement that reads this database alone."""
        with span("rows"):
            return await aread_statement(self._connection, text, params, limit=limit)

    async def question(self, query_id: str) -> Mapping[str, str | None] | None:
        """Return `text` and `corpus`, where it has one, of a stored Query, or None."""
        rows = await self._connection.aread("retrieval/stored_question", id=query_id)
        return rows[0] if rows else None

    async def readiness(self) -> dict[str, str]:
        """Say of database, corpus and model whether they are there, `ok` where so."""
        database, corpus = "ok", "unknown"
        try:
            async with asyncio.timeout(READY_SECONDS):
                names = [one.name for one in await acorpora(self._connection)]
            wanted = self._settings.corpus
            there = bool(names) if wanted is None else wanted in names
            corpus = "ok" if there else "none stored"
        except TimeoutError:
            database = f"no answer yet: waited {READY_SECONDS:g} s for its corpora"
        except KnowtrailError:
            database = "no answer"
        return {"database": database, "corpus": corpus, "model": self._models}

    def _with_corpus(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with the settings' corpus where they name none."""
        return {"corpus": self._settings.corpus, **options}


FRESH_SECONDS = 300.0
"""How long the names of the graph are taken as read."""

MOST_CORPORA = 8
"""Corpora whose names are held at once; the one that was asked longest ago goes."""

_DIGITS = 9


def _is_true(value: object) -> bool:
    """Return a truth value of JSON or of a URL."""
    if isinstance(value, bool) or value in ("true", "false"):
        return value in (True, "true")
    raise InputError(f"strict is {shown_value(value)}: give true or false.")


class TemplateDoor:
    """Answers by templates over a connection of its own, opened when first asked."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._pipelines: OrderedDict[str | None, tuple[TemplatePipeline, float]] = (
            OrderedDict()
        )
        self._connection: Any = None

    async def answer(self, call: Asked, caller: str) -> dict[str, Any]:
        """Answer a request of the named caller; see `TemplatePipeline.forward`.

        The call has `question`, and if wanted `conversation` (found by who began it
        alone), `language`, `k`, `strict` and `corpus`, whose institutions alone are
        found; without it those of the corpus that is served, or else all.
        """
        values = read_values(call.query, call.body)
        check_known(values, TEMPLATE_FIELDS)
        for name in ("question", "conversation", "corpus", "language"):
            if not isinstance(values.get(name, ""), str):
                raise InputError(f"{name} is {shown_value(values[name])}: give a text.")
        if "question" not in values:
            raise InputError("There is no question: give question.")
        with span("templates"):
            return await self.answered(values, caller)

    async def answered(self, values: dict[str, Any], caller: str) -> dict[str, Any]:
        """Answer; values and caller are those of `answer`."""
        from knowtrail.retrieval.specificity.conversation import read_conversation

        k = values.get("k", 10)
        is_text = isinstance(k, str) and k.isdecimal() and len(k) <= _DIGITS
        if not isinstance(k, int) and not is_text:
            raise InputError(f"k is {shown_value(k)}: give a number from 1 to 1000.")
        corpus = values.get("corpus") or self._settings.corpus
        pipeline, said = await asyncio.to_thread(self._opened_pipeline, corpus), None
        if "conversation" in values:
            found = (self._connection, values["conversation"])
            owner = f"serve:{caller}"
            said = await asyncio.to_thread(read_conversation, *found, owner=owner)
        result = await pipeline.aforward(
            values["question"],
            language=values.get("language"),
            conversation=said,
            k=int(k),
            strict=_is_true(values.get("strict", False)),
        )
        return result.as_dict()

    def _opened_pipeline(self, corpus: str | None) -> TemplatePipeline:
        """Return the pipeline of a corpus, with names that are not too old."""
        from knowtrail.graph.db.connection import Connection
        from knowtrail.retrieval.specificity.live_pipeline import open_pipeline
        from knowtrail.retrieval.specificity.monitoring import metrics

        kept = self._pipelines.get(corpus)
        if kept and self._lock.locked():
            return kept[0]  # while another caller reads names anew
        with self._lock:
            pipeline, opened = self._pipelines.get(corpus, (None, 0.0))
            if pipeline is None or time.monotonic() - opened >= FRESH_SECONDS:
                if self._connection is None:
                    self._connection = Connection.open(self._settings)
                pipeline = open_pipeline(
                    self._connection, self._settings, corpus=corpus, metrics=metrics()
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

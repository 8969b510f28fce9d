"""What runs the procedures: one connection, one embedder, for all requests."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from graph.errors import InputError, KnowtrailError
from retrieval.ask import Answer, aask_stream
from retrieval.corpora import acorpora, agreed_embedder
from retrieval.procedures import PROCEDURES, acall, keywords
from retrieval.procedures.options import camel_case_message

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from graph.connection import AsyncConnection
    from graph.settings import Settings

__all__ = ["Backend", "GraphBackend", "Readiness", "StoredQuestion"]

_LOG = logging.getLogger(__name__)
READY_SECONDS = 2.0
NOT_LOADED = "not loaded, see the log"
"""Anybody may ask whether the server is ready: the reason may name files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuestion:
    """The question of a stored Query.

    Attributes:
        text: What is asked.
        corpus: The corpus it was asked of; None where the node does not say.
    """

    text: str
    corpus: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether calls can be answered.

    Attributes:
        parts: What each part says; `ok` where it is ready.
    """

    parts: Mapping[str, str]

    @property
    def ready(self) -> bool:
        """Return whether every part is ready."""
        return all(said == "ok" for said in self.parts.values())


class Backend(Protocol):
    """What the routes need: something that runs the procedures of the registry."""

    async def call(
        self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Run a procedure and return its rows."""
        ...

    def stream(
        self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> AsyncGenerator[str | dict[str, Any]]:
        """Run a procedure that streams: yield pieces of text, then its rows."""
        ...

    async def question(self, query_id: str) -> StoredQuestion | None:
        """Return the question of a stored Query; None where there is none."""
        ...

    async def readiness(self) -> Readiness:
        """Say whether calls can be answered."""
        ...


class GraphBackend:
    """The procedures over one connection, which is left open."""

    def __init__(self, connection: AsyncConnection, settings: Settings) -> None:
        """Make a backend.

        Args:
            connection: The database, for every request.
            settings: Where models and snapshots are found, and the corpus of requests
                that name none.
        """
        self._connection = connection
        self._settings = settings
        self._models = "loading"

    async def load_models(self) -> None:
        """Load the embedders of the stored corpora, so that no request waits for it.

        A failure is told by `readiness` and in the log; requests try again.
        """
        try:
            for info in await acorpora(self._connection):
                await asyncio.to_thread(agreed_embedder, info, None, self._settings)
            self._models = "ok"
        except KnowtrailError as error:
            self._models = NOT_LOADED
            _LOG.error("No embedder: %s", error)
        except Exception as error:  # libraries of models raise what they like
            self._models = NOT_LOADED
            _LOG.error("No embedder: %s", type(error).__name__)
            _LOG.debug("No embedder", exc_info=True)

    async def call(
        self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Run a procedure and return its rows.

        Raises:
            KnowtrailError: Whatever the procedure raises.
        """
        return await acall(
            name,
            self._connection,
            arguments,
            self._with_corpus(options),
            settings=self._settings,
        )

    async def stream(
        self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> AsyncGenerator[str | dict[str, Any]]:
        """Yield the text of an answer as the model gives it, then the row.

        Raises:
            KnowtrailError: Whatever the procedure raises.
        """
        options = self._with_corpus(options)
        asked = keywords(name, arguments, options, settings=self._settings)
        pieces = aask_stream(self._connection, None, settings=self._settings, **asked)
        try:
            async for piece in pieces:
                if isinstance(piece, Answer):
                    for row in PROCEDURES[name].rows(piece):
                        yield row
                else:
                    yield piece
        except InputError as error:
            raise type(error)(camel_case_message(str(error))) from error
        finally:
            await pieces.aclose()

    async def question(self, query_id: str) -> StoredQuestion | None:
        """Return the question of a stored Query; None where there is none."""
        rows = await self._connection.aread("retrieval/stored_question", id=query_id)
        if not rows:
            return None
        return StoredQuestion(text=rows[0]["text"], corpus=rows[0]["corpus"])

    async def readiness(self) -> Readiness:
        """Say whether database, corpus and embedder are there."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                stored = await acorpora(self._connection)
        except (TimeoutError, KnowtrailError):
            return self._ready("no answer", "unknown")
        wanted = self._settings.corpus
        names = [info.name for info in stored]
        there = bool(names) if wanted is None else wanted in names
        return self._ready("ok", "ok" if there else "none stored")

    def _ready(self, database: str, corpus: str) -> Readiness:
        """Return what is ready."""
        return Readiness(
            parts={"database": database, "corpus": corpus, "model": self._models}
        )

    def _with_corpus(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with the settings' corpus where they name none."""
        if self._settings.corpus is None:
            return dict(options)
        return {"corpus": self._settings.corpus, **options}

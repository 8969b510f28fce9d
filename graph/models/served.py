"""The embedder of the managed server, asked instead of loading the model again.

To load a model takes ten CPU seconds and a gigabyte, to ask the server that has it
milliseconds; the vectors are the same. A server that has none, is not ours or embeds
with another model says so at once, and the model is loaded here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.graph.blocking import at_once, blocking
from knowtrail.graph.errors import DatabaseError, UnavailableError
from knowtrail.graph.models.array_embedder import ArrayEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.models.array_embedder import Vectors
    from knowtrail.graph.models.embedders import Embedder

_LOG = logging.getLogger(__name__)
_STATEMENT = "models/embed"
MOST_TEXTS = 256
"""Texts of one question to the server, which takes no more."""


class ServedEmbedder(ArrayEmbedder):
    """A model that the server is asked for, until it has been loaded here."""

    def __init__(self, own: ArrayEmbedder, connection: Connection) -> None:
        self.name = own.name
        self.query_prompt = own.query_prompt
        self._own = own
        self._connection = connection

    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions)."""
        found = at_once(_asked(blocking(self._connection), self._own, texts))
        if found is None:
            return self._own.embed_array(texts)
        return np.asarray(found, dtype=np.float32)


def served_embedder(connection: Connection, embedder: Embedder) -> Embedder:
    """Return an embedder that asks the server first, where that spares a model."""
    if (
        connection.asks_for_models
        and isinstance(embedder, ArrayEmbedder)
        and not embedder.loaded
    ):
        return ServedEmbedder(embedder, connection)
    return embedder


async def aserved_queries(
    connection: AsyncConnection, embedder: Embedder, questions: Sequence[str]
) -> list[list[float]] | None:
    """Return the server's vectors of questions, None where it has none."""
    asks = getattr(connection, "asks_for_models", True)
    if not (asks and isinstance(embedder, ArrayEmbedder)):
        return None
    texts = [embedder.query_prompt + question for question in questions]
    return await _asked(connection, embedder, texts)


async def _asked(
    connection: AsyncConnection, own: ArrayEmbedder, texts: list[str]
) -> list[list[float]] | None:
    """Return the server's vectors, None where the model is here or the server's not."""
    found: list[list[float]] = []
    for start in range(0, len(texts), MOST_TEXTS):
        some = texts[start : start + MOST_TEXTS]
        if own.loaded:
            return None
        try:
            rows = await connection.aread(_STATEMENT, model=own.name, texts=some)
        except UnavailableError:
            raise
        except DatabaseError as error:
            _LOG.debug("The server embeds nothing: %s", error)
            return None
        if len(rows) != len(some):
            return None
        found += [row["vector"] for row in rows]
    return found

"""Embedding by the server's model, and what happens where it has none."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from knowtrail.graph.blocking import at_once, blocking
from knowtrail.graph.errors import DatabaseError, UnavailableError
from knowtrail.graph.models.array_embedder import ArrayEmbedder
from knowtrail.graph.models.embedders import embed_texts
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.models.served import (
    ServedEmbedder,
    aserved_queries,
    served_embedder,
)

PROMPT = "query: "


class _Model(ArrayEmbedder):
    """A model that counts what it embeds; loading it is embedding with it."""

    name = "some/model"
    query_prompt = PROMPT

    def __init__(self) -> None:
        self.texts: list[str] = []

    @property
    def loaded(self) -> bool:
        """Say whether it has embedded."""
        return bool(self.texts)

    def embed_array(self, texts: list[str]) -> Any:
        """Return the vector of this process."""
        self.texts += texts
        return np.asarray([[0.0, 1.0] for _ in texts], dtype=np.float32)


class _Server:
    """A connection to a server that answers with vectors, nothing or an error."""

    asks_for_models = True

    def __init__(self, error: Exception | None = None, *, has: bool = True) -> None:
        self.asked: list[int] = []
        self.texts: list[str] = []
        self._error, self._has = error, has

    def read(self, name: str, *, model: str, texts: list[str]) -> list[dict[str, Any]]:
        """Answer the one statement."""
        assert (name, model) == ("models/embed", "some/model")
        self.asked.append(len(texts))
        if self._error is not None:
            raise self._error
        self.texts += texts if self._has else []
        return [{"vector": [1.0, 0.0]} for _ in texts] if self._has else []

    async def aread(self, name: str, **params: Any) -> list[dict[str, Any]]:
        """Answer it without blocking."""
        return self.read(name, **params)


def _served(server: _Server, model: Any) -> Any:
    """Return what embeds beside a server."""
    return served_embedder(server, model)  # type: ignore[arg-type]


def test_the_server_embeds_and_the_model_is_not_loaded() -> None:
    """Texts go in parts of bounded size, a question with the model's prompt."""
    server, model = _Server(), _Model()
    served = _served(server, model)

    vectors = embed_texts(served, [f"text {n}" for n in range(600)])
    query = served.embed_query("why")

    assert vectors.shape == (600, 2)
    assert query == [1.0, 0.0]
    assert server.asked == [256, 256, 88, 1]
    assert server.texts[-1] == f"{PROMPT}why"
    assert model.texts == []


@pytest.mark.parametrize(
    "server",
    [_Server(has=False), _Server(DatabaseError("There is no such procedure."))],
)
def test_the_own_model_embeds_where_the_server_does_not(server: _Server) -> None:
    """It is loaded then, and the server is asked no more."""
    server.asked.clear()
    model = _Model()
    served = _served(server, model)

    found = [served.embed_query(text) for text in ("one", "two")]
    asynchronous = asyncio.run(aserved_queries(server, model, ["x"]))  # type: ignore[arg-type]

    assert found == [[0.0, 1.0]] * 2
    assert model.texts == [f"{PROMPT}one", f"{PROMPT}two"]
    assert asynchronous is None
    assert server.asked == [1]


def test_asynchronous_question_is_asked_of_the_server() -> None:
    """So it is without blocking; a server that cannot, leaves it to the caller."""
    model = _Model()

    found = asyncio.run(aserved_queries(_Server(), model, ["why"]))  # type: ignore[arg-type]
    none = asyncio.run(aserved_queries(_Server(has=False), model, ["why"]))  # type: ignore[arg-type]

    assert (found, none, model.texts) == ([[1.0, 0.0]], None, [])


def test_a_server_that_is_gone_is_told() -> None:
    """Loading a model would not help."""
    served = _served(_Server(UnavailableError("Neo4j does not answer.")), _Model())

    with pytest.raises(UnavailableError, match="does not answer"):
        served.embed_query("why")


def test_only_what_takes_long_to_load_is_asked_for() -> None:
    """Hashed words need no server, and a server does not ask itself."""
    itself = _Server()
    itself.asks_for_models = False
    model = _Model()

    assert isinstance(_served(_Server(), HashEmbedder()), HashEmbedder)
    assert _served(itself, model) is model
    assert isinstance(_served(_Server(), model), ServedEmbedder)
    asking = aserved_queries(blocking(itself), model, ["x"])  # type: ignore[arg-type]
    assert (at_once(asking), itself.asked) == (None, [])

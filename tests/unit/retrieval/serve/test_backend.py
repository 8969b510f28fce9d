"""What runs the procedures, as far as that needs no database."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from graph.errors import ModelError
from graph.settings import Settings
from retrieval.serve import backend
from retrieval.serve.backend import NOT_LOADED, GraphBackend

if TYPE_CHECKING:
    from pathlib import Path


class Connection:
    """A database with one corpus."""

    async def aread(self, name: str, **params: Any) -> list[dict[str, Any]]:
        """Return the corpus."""
        return [
            {
                "name": "birds",
                "embedder": "m",
                "queryPrompt": "",
                "dimensions": 2,
                "version": 1,
                "stamp": "s",
                "terms": True,
            }
        ]


@pytest.mark.parametrize(
    "error", [ModelError("No model in /home/ann/models."), OSError("/home/ann/models")]
)
def test_model_that_does_not_load_is_told_without_its_place(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading ends without an error of its own; who asks sees no path."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(backend, "agreed_embedder", fail)
    served = GraphBackend(Connection(), Settings(home=tmp_path))  # type: ignore[arg-type]

    async def load() -> dict[str, str]:
        await served.load_models()
        return dict((await served.readiness()).parts)

    assert asyncio.run(load()) == {
        "database": "ok",
        "corpus": "ok",
        "model": NOT_LOADED,
    }

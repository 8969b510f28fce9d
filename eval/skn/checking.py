"""Whether Ollama has the models of a run, asked once before the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from graph.errors import ModelError
from graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_models"]

SECONDS = 10.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def check_models(names: Sequence[str], *, settings: Settings | None = None) -> None:
    """Check that Ollama has models, so that a run does not end at its second model.

    Args:
        names: Models as Ollama calls them; none needs no Ollama.
        settings: Where Ollama answers; None takes the environment's.

    Raises:
        ModelError: If Ollama does not answer or has not all of them.
    """
    import httpx

    wanted = list(dict.fromkeys(name.strip() for name in names))
    if not wanted:
        return
    url = (settings or Settings.from_env()).ollama_url.rstrip("/")
    pulls = " and ".join(f"`ollama pull {name}`" for name in wanted)
    try:
        answer = httpx.get(
            f"{url}/api/tags",
            timeout=SECONDS,
            trust_env=urlsplit(url).hostname not in _LOOPBACK,
        )
        answer.raise_for_status()
        there = {model["name"] for model in answer.json()["models"]}
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        ValueError,
        KeyError,
        TypeError,
    ) as error:
        msg = f"No answer from Ollama at {url}: run `ollama serve` and {pulls}."
        raise ModelError(msg) from error
    for name in wanted:
        if name not in there and f"{name}:latest" not in there:
            msg = f"Ollama at {url} has no model {name!r}: run `ollama pull {name}`."
            raise ModelError(msg)

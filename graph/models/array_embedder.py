"""What the embedders of the product are made of: arrays first, lists from these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

QUERY_PROMPTS = {
    "mixedbread-ai/mxbai-embed-large-v1": (
        "Represent this sentence for searching relevant passages: "
    )
}


class ArrayEmbedder(ABC):
    """An embedder that makes arrays; lists come from these."""

    name: str
    query_prompt = ""

    @property
    def loaded(self) -> bool:
        """Say whether the model is in this process."""
        return True

    @abstractmethod
    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions)."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        rows: list[list[float]] = self.embed_array(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, with the model's query prompt."""
        return self.embed_documents([self.query_prompt + text])[0]

"""How a corpus is built: recorded on its node, and not to drift afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from knowtrail.graph.errors import SettingsError

Cleanup = Literal["none", "incremental", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Parameters of the graph; the defaults are the published ones.

    Attributes:
        window: Sentences in a chunk.
        stride: Sentences from one chunk's start to the next one's.
        intra_top_k: Most similar chunks of the same document that a chunk points to.
        intra_threshold: Least cosine of such an edge.
        inter_top_x: Most similar chunks of other documents that a chunk points to.
        inter_threshold: Least cosine of such an edge.
        theme_top: Most similar documents by themes that a document points to.
        theme_threshold: Least cosine of such an edge.
        themes: Where themes come from: `keyphrases`, `llm` or `none`.
        terms: Whether the names that connect chunks become Term nodes.
    """

    window: int = 3
    stride: int = 1
    intra_top_k: int = 15
    intra_threshold: float = 0.4
    inter_top_x: int = 5
    inter_threshold: float = 0.3
    theme_top: int = 1
    theme_threshold: float = 0.2
    themes: Literal["keyphrases", "llm", "none"] = "keyphrases"
    terms: bool = True

    def __post_init__(self) -> None:
        """Raise `SettingsError` for a value out of range."""
        if not 1 <= self.stride <= self.window <= 100:
            raise SettingsError(
                f"Window {self.window} with stride {self.stride}: use 1 <= stride <= "
                "window <= 100, so that no sentence is left out."
            )
        for name in ("intra_top_k", "inter_top_x", "theme_top"):
            if not 0 <= getattr(self, name) <= 1000:
                raise SettingsError(f"{name} is {getattr(self, name)}: use 0 to 1000.")
        for name in ("intra_threshold", "inter_threshold", "theme_threshold"):
            if not -1 <= getattr(self, name) <= 1:
                msg = f"{name} is {getattr(self, name)}: use a cosine from -1 to 1."
                raise SettingsError(msg)

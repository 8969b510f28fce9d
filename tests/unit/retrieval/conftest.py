"""Small graphs whose cosines can be worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knowtrail.retrieval.protocols import StoredSentence
from knowtrail.retrieval.walk import ChunkText
from tests.memory_reader import MemoryGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowtrail.retrieval.protocols import Vector


def at(degrees: float) -> Vector:
    """Return the unit vector at an angle; the question stands at 0 degrees."""
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A chunk as tests draw it: its angle, its sentences' angles, where it leads."""

    angle: float
    sentences: dict[str, float]
    to: tuple[str, ...] = ()
    document: str = "d"
    properties: dict[str, object] = field(default_factory=dict)


def graph_of(drawn: dict[str, Drawn]) -> MemoryGraph:
    """Return a graph from drawn chunks, in 2 dimensions."""
    names = list(dict.fromkeys(s for c in drawn.values() for s in c.sentences))
    chunks = tuple(
        ChunkText(
            id=name,
            text=" ".join(f"Text of {s[0]}." for s in chunk.sentences),
            index=i,
            first_sentence=names.index(next(iter(chunk.sentences), names[0])),
            last_sentence=names.index(next(reversed(chunk.sentences), names[0])),
            start_char=11 * names.index(next(iter(chunk.sentences), names[0])),
            end_char=11 * names.index(next(reversed(chunk.sentences), names[0])) + 10,
            document_id=chunk.document,
            title=chunk.document.upper(),
        )
        for i, (name, chunk) in enumerate(drawn.items())
    )
    return MemoryGraph(
        chunks=chunks,
        vectors=np.stack([at(chunk.angle) for chunk in drawn.values()]),
        sentences={
            name: tuple(
                StoredSentence(
                    id=s,
                    text=f"Text of {s[0]}.",
                    index=names.index(s),
                    start_char=11 * names.index(s),
                    end_char=11 * names.index(s) + 10,
                    vector=at(angle),
                )
                for s, angle in chunk.sentences.items()
            )
            for name, chunk in drawn.items()
        },
        edges={name: chunk.to for name, chunk in drawn.items()},
        chunk_properties={name: chunk.properties for name, chunk in drawn.items()},
    )


@pytest.fixture
def draw() -> Callable[[dict[str, Drawn]], MemoryGraph]:
    """Return the function that makes a graph of drawn chunks."""
    return graph_of


@pytest.fixture
def chunk() -> type[Drawn]:
    """Return the class of drawn chunks."""
    return Drawn


@pytest.fixture
def question() -> Vector:
    """Return the question's vector, at 0 degrees."""
    return at(0)

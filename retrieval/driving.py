"""Run a walk over a reader: the only place where algorithm and data meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from retrieval.protocols import AnchorRequest

if TYPE_CHECKING:
    from retrieval.protocols import (
        AsyncGraphReader,
        GraphReader,
        Request,
        Response,
        Walking,
    )

__all__ = ["arun", "run"]

T = TypeVar("T")


def run(reader: GraphReader, walking: Walking[T]) -> T:
    """Answer a walk's requests from a reader until it ends.

    Args:
        reader: Where the data comes from.
        walking: A generator that yields requests, as `Algorithm.walk` returns.

    Returns:
        What the walk returned.
    """
    response: Response | None = None
    while True:
        try:
            # Sending None starts a generator.
            request = walking.send(response)  # type: ignore[arg-type]
        except StopIteration as done:
            result: T = done.value
            return result
        response = _answer(reader, request)


async def arun(reader: AsyncGraphReader, walking: Walking[T]) -> T:
    """Do as `run` does, with an asynchronous reader."""
    response: Response | None = None
    while True:
        try:
            request = walking.send(response)  # type: ignore[arg-type]
        except StopIteration as done:
            result: T = done.value
            return result
        if isinstance(request, AnchorRequest):
            response = await reader.aanchors(request.vector, request.k)
        else:
            response = await reader.aexpand(
                request.chunk_ids, neighbours=request.neighbours
            )


def _answer(reader: GraphReader, request: Request) -> Response:
    """Answer one request."""
    if isinstance(request, AnchorRequest):
        return reader.anchors(request.vector, request.k)
    return reader.expand(request.chunk_ids, neighbours=request.neighbours)

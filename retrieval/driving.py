"""Run a walk over a reader: the only place where algorithm, data and clock meet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

from knowtrail.graph.errors import InputError
from knowtrail.graph.telemetry import span
from knowtrail.retrieval.protocols import (
    AnchorRequest,
    ElapsedRequest,
    ExpandRequest,
    HomesRequest,
    ProjectionRequest,
    TermsRequest,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.corpora import Ground
    from knowtrail.retrieval.protocols import (
        AsyncGraphReader,
        GraphReader,
        Request,
        Response,
        Walking,
    )
    from knowtrail.retrieval.questions import Task

T = TypeVar("T")


def run(
    reader: GraphReader, walking: Walking[T], model: LanguageModel | None = None
) -> T:
    """Answer a walk's requests from a reader until it ends.

    Args:
        reader: Where the data comes from.
        walking: A generator that yields requests, as `Algorithm.walk` returns.
        model: Who answers where the walk asks a language model.

    Returns:
        What the walk returned.

    Raises:
        InputError: If the walk asks a language model and none was given.
        ModelError: If the language model's server is down.
    """
    begin = time.perf_counter()
    response: Response | None = None
    while True:
        try:
            # Sending None starts a generator.
            request = walking.send(response)  # type: ignore[arg-type]
        except StopIteration as done:
            result: T = done.value
            return result
        response = _answer(reader, request, model, begin)


async def arun(
    reader: AsyncGraphReader, walking: Walking[T], model: LanguageModel | None = None
) -> T:
    """Do as `run` does, with an asynchronous reader."""
    begin = time.perf_counter()
    response: Response | None = None
    while True:
        try:
            request = walking.send(response)  # type: ignore[arg-type]
        except StopIteration as done:
            result: T = done.value
            return result
        response = await _aanswer(reader, request, model, begin)


def walk_span(task: Task, start: Ground, reader: str) -> AbstractContextManager[None]:
    """Return the span of a walk."""
    return span(
        "walk",
        algorithm=task.algorithm.name,
        corpus=start.corpus.name,
        reader=reader,
        filtered=task.filter is not None,
    )


def _answer(
    reader: GraphReader, request: Request, model: LanguageModel | None, begin: float
) -> Response:
    """Answer one request."""
    if isinstance(request, ExpandRequest):
        return reader.expand(request.chunk_ids, neighbours=request.neighbours)
    if isinstance(request, AnchorRequest):
        return reader.anchors(request.vector, request.k, **_more(request))
    if isinstance(request, HomesRequest):
        return reader.homes(request.sentence_ids)
    if isinstance(request, ProjectionRequest):
        return reader.projection(request.query)
    if isinstance(request, TermsRequest):
        return reader.terms(request.chunk_ids, request.names, **_members(request))
    if isinstance(request, ElapsedRequest):
        return time.perf_counter() - begin
    return _given(model).reply(
        request.prompt, schema=request.schema, seconds=request.seconds
    )


async def _aanswer(
    reader: AsyncGraphReader,
    request: Request,
    model: LanguageModel | None,
    begin: float,
) -> Response:
    """Answer one request."""
    if isinstance(request, ExpandRequest):
        return await reader.aexpand(request.chunk_ids, neighbours=request.neighbours)
    if isinstance(request, AnchorRequest):
        return await reader.aanchors(request.vector, request.k, **_more(request))
    if isinstance(request, HomesRequest):
        return await reader.ahomes(request.sentence_ids)
    if isinstance(request, ProjectionRequest):
        return await reader.aprojection(request.query)
    if isinstance(request, TermsRequest):
        return await reader.aterms(
            request.chunk_ids, request.names, **_members(request)
        )
    if isinstance(request, ElapsedRequest):
        return time.perf_counter() - begin
    return await _given(model).areply(
        request.prompt, schema=request.schema, seconds=request.seconds
    )


def _more(request: AnchorRequest) -> dict[str, Any]:
    """Return words only where there are some: not every reader knows them."""
    more = {"words": request.words} if request.words else {}
    return {"documents": request.documents, **more}


def _members(request: TermsRequest) -> dict[str, Any]:
    """Return which members are asked for, as `_more` does."""
    more = {} if request.nearest is None else {"nearest": request.nearest}
    return {"members": request.members, **more}


def _given(model: LanguageModel | None) -> LanguageModel:
    """Return the model.

    Raises:
        InputError: If there is none.
    """
    if model is None:
        msg = (
            "This algorithm asks a language model and none was given: pass one as "
            "`model`, see `knowtrail.graph.models.language_models.load_language_model`."
        )
        raise InputError(msg)
    return model

"""Run a walk over a reader: the only place where algorithm, data and clock meet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar, cast

from knowtrail.graph.blocking import Blocking, at_once
from knowtrail.graph.errors import InputError
from knowtrail.graph.telemetry import span
from knowtrail.retrieval.protocols import ElapsedRequest, ModelRequest, answered

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

    Raises:
        InputError: If the walk asks a language model and none was given.
        ModelError: If the language model's server is down.
    """
    return at_once(arun(Answering(reader), walking, model))


class Answering:
    """A reader that answers `arun` as its methods do."""

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader

    async def aanswer(self, request: Request) -> Response:
        """Return what the reader answers."""
        return answered(self._reader, request)


async def arun(
    reader: AsyncGraphReader, walking: Walking[T], model: LanguageModel | None = None
) -> T:
    """Do as `run` does, with an asynchronous reader."""
    if isinstance(reader, Answering) and model is not None:
        model = cast("LanguageModel", Blocking(model))
    begin = time.perf_counter()
    response: Response | None = None
    while True:
        try:
            # Sending None starts a generator.
            request = walking.send(response)  # type: ignore[arg-type]
        except StopIteration as done:
            result: T = done.value
            return result
        if isinstance(request, ElapsedRequest):
            response = time.perf_counter() - begin
        elif isinstance(request, ModelRequest):
            response = await _given(model).areply(
                request.prompt, schema=request.schema, seconds=request.seconds
            )
        else:
            response = await reader.aanswer(request)


def walk_span(task: Task, start: Ground, reader: str) -> AbstractContextManager[None]:
    """Return the span of a walk."""
    return span(
        "walk",
        algorithm=task.algorithm.name,
        corpus=start.corpus.name,
        reader=reader,
        filtered=task.filter is not None,
    )


def _given(model: LanguageModel | None) -> LanguageModel:
    """Return the model; refuse that there is none."""
    if model is None:
        raise InputError(
            "This algorithm asks a language model and none was given: pass one as "
            "`model`, see `knowtrail.graph.models.language_models.load_language_model`."
        )
    return model

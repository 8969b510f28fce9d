"""What is written once for callers that wait and that block."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.blocking import (
    Blocking,
    at_once,
    blocking,
    each_at_once,
    in_thread,
    likewise,
)
from knowtrail.retrieval.corpora import find_corpus

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator


class _Thing:
    """Has methods, a generator and a property, and none of them waits."""

    answer = 42

    def __init__(self) -> None:
        self.closed = False

    def read(self, number: int) -> int:
        return number + 1

    def stream(self, most: int) -> Generator[int]:
        try:
            yield from range(most)
        finally:
            self.closed = True


async def _used(thing: Any) -> tuple[int, int, list[int]]:
    numbers = [number async for number in thing.astream(3)]
    return await thing.aread(1), await thing.aanswer(), numbers


def test_a_coroutine_runs_to_its_end_also_inside_a_loop() -> None:
    """Methods, streams and properties are there under their asynchronous names."""

    async def inside() -> tuple[int, int, list[int]]:
        return at_once(_used(Blocking(_Thing())))

    assert at_once(_used(Blocking(_Thing()))) == (2, 42, [0, 1, 2])
    assert asyncio.run(inside()) == (2, 42, [0, 1, 2])


def test_what_waits_is_refused() -> None:
    """A coroutine that needs a loop is a defect of ours, and told as such."""
    with pytest.raises(RuntimeError, match="waits"):
        at_once(asyncio.sleep(0))


def test_who_blocks_has_functions_of_their_own_name() -> None:
    """They can be pickled, take a connection by its name, and say so."""
    assert pickle.loads(pickle.dumps(find_corpus)) is find_corpus  # noqa: S301
    assert str(inspect.signature(find_corpus)) == (
        "(connection: 'Connection', name: 'str | None') -> 'CorpusInfo'"
    )
    assert (find_corpus.__doc__ or "").startswith("Return the stored corpus")


def test_who_stops_reading_closes_what_is_read() -> None:
    """As a request to a model ends where its answer is read no further."""
    thing = _Thing()

    async def pieces() -> AsyncGenerator[int]:
        async for number in Blocking(thing).astream(9):
            yield number

    reading = each_at_once(pieces())
    assert next(reading) == 0
    reading.close()

    assert thing.closed


def test_threads_are_for_those_that_wait() -> None:
    """A caller that blocks has what takes long done where it is."""
    here = threading.get_ident()
    link: Any = object()

    assert at_once(in_thread(blocking(link), threading.get_ident)) == here
    assert asyncio.run(in_thread(link, threading.get_ident)) != here
    assert isinstance(likewise(blocking(link), link), Blocking)
    assert likewise(link, link) is link

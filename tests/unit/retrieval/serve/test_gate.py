"""Places, time and clients that go."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest
from langchain_core.embeddings import Embeddings
from starlette.exceptions import HTTPException

from knowtrail.graph.blocking import Threads
from knowtrail.retrieval.corpora import aground
from knowtrail.retrieval.serve.gate import Gate, until_gone, within


async def _hold(gate: Gate, release: asyncio.Event) -> None:
    async with gate.place():
        await release.wait()


async def test_places_are_handed_on() -> None:
    """Who waits gets the place of who leaves."""
    gate, release, second = Gate(places=1, seconds=5), asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(_hold(gate, release))
    waiting = asyncio.create_task(_hold(gate, second))
    await asyncio.sleep(0)
    release.set()
    await first

    assert not waiting.done()
    second.set()
    await asyncio.wait_for(waiting, 1)
    assert waiting.done()


async def test_more_than_can_wait_are_refused_at_once() -> None:
    """One runs, four wait, the sixth is told to come back."""
    gate, release = Gate(places=1, seconds=5), asyncio.Event()
    tasks = [asyncio.create_task(_hold(gate, release)) for _ in range(5)]
    await asyncio.sleep(0)

    with pytest.raises(HTTPException) as caught:
        async with gate.place():
            pass

    release.set()
    await asyncio.gather(*tasks)
    assert caught.value.status_code == 503
    assert caught.value.headers == {"Retry-After": "1"}


async def test_waiting_ends_with_the_time() -> None:
    """Who gets no place in time is refused, and the place is not lost."""
    gate, release = Gate(places=1, seconds=0.05), asyncio.Event()
    holder = asyncio.create_task(_hold(gate, release))
    await asyncio.sleep(0)

    with pytest.raises(HTTPException) as caught:
        await _hold(gate, asyncio.Event())

    release.set()
    await holder
    async with gate.place():
        pass
    assert caught.value.status_code == 503


async def test_work_is_stopped_when_time_is_over() -> None:
    """The work is cancelled, not left running."""
    stopped = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            stopped.set()

    end = asyncio.get_running_loop().time() + 0.01
    with pytest.raises(HTTPException, match="Not done in 3 seconds") as caught:
        await within(end, 3, work())

    assert caught.value.status_code == 504
    assert stopped.is_set()


async def test_own_timeouts_of_the_work_are_not_ours() -> None:
    """A timeout inside the work is passed on as it is."""

    async def work() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await within(asyncio.get_running_loop().time() + 5, 5, work())


async def test_work_is_stopped_when_the_client_goes() -> None:
    """Nobody waits for the answer any more."""
    stopped = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            stopped.set()

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    with pytest.raises(HTTPException) as caught:
        await until_gone(work(), receive)

    assert caught.value.status_code == 499
    assert stopped.is_set()


async def test_errors_of_the_work_come_through() -> None:
    """What the work raises is raised."""

    async def work() -> None:
        raise LookupError

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(5)
        return {}

    with pytest.raises(LookupError):
        await until_gone(work(), receive)


async def test_place_is_held_until_the_last_thread_of_a_call_has_ended() -> None:
    """A client that leaves frees nothing while its thread still works."""
    asyncio.get_running_loop().set_default_executor(Threads(2))
    gate, begun, end = Gate(places=1, seconds=5), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        end.wait(5)

    async def call() -> None:
        async with gate.place():
            await asyncio.to_thread(work)

    task = asyncio.create_task(call())
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    following = asyncio.create_task(_hold(gate, begun))
    await asyncio.sleep(0.05)

    assert not following.done()
    end.set()
    await asyncio.wait_for(following, 2)
    async with gate.place():
        pass


class _Store:
    """A database with one corpus, whose embedder nobody named."""

    async def aread(self, name: str) -> list[dict[str, Any]]:
        return [
            {"name": "tales", "embedder": None, "query_prompt": "", "dimensions": 2}
        ]


class _Held:
    """An embedder that takes its time where it is told to."""

    name = "held"

    def __init__(self, *, waits: bool = False) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        if not waits:
            self.end.set()

    def embed_query(self, text: str) -> list[float]:
        """Return a vector, once it may end."""
        self.begun.set()
        self.end.wait(5)
        return [1.0, len(text)]


class _Inherits(_Held, Embeddings):
    """One of LangChain's."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return vectors."""
        return [self.embed_query(text) for text in texts]


async def _embedded(embedder: _Held) -> list[float]:
    store: Any = _Store()
    start = await aground(store, cast("Any", embedder), "Ice?", corpus="tales")
    return list(start.query)


@pytest.mark.parametrize("embedder", ["own", "LangChain's"])
async def test_embedding_waits_for_no_blocking_work(embedder: str) -> None:
    """Where all threads of the loop are busy, a question is embedded all the same.

    Also by an embedder that has from LangChain how it is awaited.
    """
    asked: Any = _Held() if embedder == "own" else _Inherits()
    loop, end = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(Threads(2))
    busy = [asyncio.ensure_future(asyncio.to_thread(end.wait, 5)) for _ in range(4)]

    try:
        found = await asyncio.wait_for(_embedded(asked), 2)
        working = [task for task in busy if not task.done()]
    finally:
        end.set()
        await asyncio.gather(*busy)

    assert found == [1.0, 4.0]
    assert working == busy


async def test_place_is_held_until_an_embedding_that_was_given_up_has_ended() -> None:
    """The gate counts the threads of embedding too."""
    gate, held, there = Gate(places=1, seconds=5), _Held(waits=True), asyncio.Event()

    async def call() -> None:
        async with gate.place():
            await _embedded(held)

    task = asyncio.create_task(call())
    await asyncio.to_thread(held.begun.wait, 5)
    task.cancel()
    await asyncio.wait([task])
    there.set()
    following = asyncio.create_task(_hold(gate, there))
    await asyncio.sleep(0.05)

    assert not following.done()
    held.end.set()
    await asyncio.wait_for(following, 2)

"""Places, time and clients that go."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from knowtrail.retrieval.serve.gate import Gate, Threads, until_gone, within


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

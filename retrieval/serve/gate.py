"""How much runs at once, how much waits, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.exceptions import HTTPException

from knowtrail.graph.blocking import WORK

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
END: ContextVar[float | None] = ContextVar("END", default=None)
"""The loop's time at which the call that holds a place must be done."""
WAITING_EACH = 4
CLIENT_GONE = 499
"""Nobody reads this status; the log shows it."""


class Gate:
    """Places for calls that run at once; four times as many may wait for one.

    A call may take so many seconds, waiting included.
    """

    def __init__(self, *, places: int, seconds: float) -> None:
        self.seconds = seconds
        self._free = asyncio.Semaphore(places)
        self._most = places * (1 + WAITING_EACH)
        self._inside = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[float]:
        """Hold a place; yield the loop's time at which the call must be done.

        A place is free again once none of the call's `Threads` works any more. A 503 if
        too many wait, or none became free in time.
        """
        if self._inside >= self._most:
            raise _busy(self._inside)
        end = asyncio.get_running_loop().time() + self.seconds
        self._inside += 1
        try:
            async with asyncio.timeout_at(end):
                await self._free.acquire()
        except BaseException as error:
            self._inside -= 1
            if isinstance(error, TimeoutError):
                raise _busy(self._inside + 1) from error
            raise
        work: list[Future[Any]] = []
        WORK.set(work)
        END.set(end)
        try:
            yield end
        finally:
            self._leave(work)

    def _leave(self, work: list[Future[Any]]) -> None:
        """Give a place back, now or when its last thread has ended."""
        working = next((future for future in work if not future.done()), None)
        if working is None:
            self._inside -= 1
            self._free.release()
            return
        loop = asyncio.get_running_loop()

        def done(_: object) -> None:
            with suppress(RuntimeError):  # the server has ended, and its loop
                loop.call_soon_threadsafe(self._leave, work)

        working.add_done_callback(done)


async def within(end: float, seconds: float, work: Awaitable[T]) -> T:
    """Await something until a time of the loop; then cancel it, with a 504."""
    limit = asyncio.timeout_at(end)
    try:
        async with limit:
            return await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise HTTPException(
            504,
            f"Not done in {seconds:g} seconds and stopped: ask for less (maxHops, "
            "lookahead, fewer algorithms), or start the server with a longer "
            "--time-limit.",
        ) from error


async def until_gone(
    work: Coroutine[Any, Any, T], receive: Callable[[], Awaitable[Any]]
) -> T:
    """Await something as long as the client is there; then cancel it and raise.

    The request's body must have been read, for the channel to say that it has gone.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise HTTPException(CLIENT_GONE, "The client has gone.")
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.wait({task, gone})


async def _gone(receive: Callable[[], Awaitable[Any]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _busy(inside: int) -> HTTPException:
    msg = f"{inside} calls run or wait already: try again in a second."
    return HTTPException(503, msg, headers={"Retry-After": "1"})

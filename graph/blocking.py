"""What is written once, as a coroutine, for callers that wait as for those that block.

A coroutine that awaits nothing but methods of `Blocking` things never waits. So
`at_once` runs it to its end without an event loop, also inside a running one.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator

    from knowtrail.graph.db.connection import AsyncConnection, Connection

P = ParamSpec("P")
T = TypeVar("T")
WORK: ContextVar[list[Future[Any]] | None] = ContextVar("threads of a call")


class Threads(ThreadPoolExecutor):
    """Threads that tell the call they work for, where its `WORK` is kept.

    A call that is cancelled, as its client has gone or its time is over, leaves its
    thread working: nothing can stop one.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run a function in a thread, for the call in whose place this is."""
        future = super().submit(fn, *args, **kwargs)
        work = WORK.get(None)
        if work is not None:
            work.append(future)
        return future


@cache
def _embedding(process: int) -> Threads:  # a fork has none of its parent's threads
    return Threads(thread_name_prefix=f"knowtrail-embed-{process}")


class Blocking:
    """A synchronous thing with asynchronous methods: `aread` does what `read` does."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def __getattr__(self, name: str) -> Any:
        if name == "own":  # of a copy that is being made
            raise AttributeError(name)
        found = getattr(self.own, name[1:], None) if name[0] == "a" else None
        if found is None:
            return getattr(self.own, name)
        return partial(apieces if name == "astream" else _called, found)


async def _called(found: Any, *args: Any, **kwargs: Any) -> Any:
    return found(*args, **kwargs) if callable(found) else found


async def apieces(found: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
    """Yield what a function that blocks yields."""
    pieces = found(*args, **kwargs)
    with closing(pieces) if hasattr(pieces, "close") else nullcontext():
        for piece in pieces:
            yield piece


def blocking(connection: Connection) -> AsyncConnection:
    """Return a connection as coroutines take it."""
    return cast("AsyncConnection", Blocking(connection))


def likewise(connection: AsyncConnection, thing: T) -> T:
    """Return a thing that blocks where the connection does."""
    return cast("T", Blocking(thing)) if isinstance(connection, Blocking) else thing


async def in_thread(
    connection: AsyncConnection | None, function: Callable[..., T], *args: Any
) -> T:
    """Return what a function returns, called in a thread unless the caller blocks.

    It is one of those that embed and make models ready: no reading, reranking or
    template delays it.
    """
    if isinstance(connection, Blocking):
        return function(*args)
    run = partial(copy_context().run, function, *args)
    return await asyncio.get_running_loop().run_in_executor(
        _embedding(os.getpid()), run
    )


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    work.close()
    raise RuntimeError("What was to be done at once waits for something.")


def waiting(
    work: Callable[Concatenate[AsyncConnection, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Connection, P], T]:
    """Return what does as a coroutine over a connection does, for who blocks.

    Its name is that of the coroutine without the `a` before it.
    """

    def wait(connection: Connection, *args: P.args, **kwargs: P.kwargs) -> T:
        return at_once(work(blocking(connection), *args, **kwargs))

    wait.__module__, wait.__doc__ = work.__module__, work.__doc__
    wait.__name__ = wait.__qualname__ = work.__name__[1:]
    signature = inspect.signature(work)
    first, *others = signature.parameters.values()
    own = [first.replace(annotation="Connection"), *others]
    wait.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    return cast("Callable[Concatenate[Connection, P], T]", wait)


def each_at_once(pieces: AsyncGenerator[T]) -> Generator[T]:
    """Yield what an asynchronous generator yields that never waits."""
    try:
        while True:
            try:
                piece = at_once(pieces.__anext__())
            except StopAsyncIteration:
                return
            yield piece
    finally:
        at_once(pieces.aclose())

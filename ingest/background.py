"""Work that overlaps with other work: one thread behind, one ahead, or elsewhere."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self, TypeAlias, TypeVar

T = TypeVar("T")

Mapped: TypeAlias = Callable[
    [Callable[[Any, Any], Any], Iterable[Any], Any], Iterator[Any]
]
"""Yields what a function makes of each of some parts with what they share, in order."""


def in_turn(
    call: Callable[[Any, Any], Any], parts: Iterable[Any], shared: Any
) -> Iterator[Any]:
    """Do it here, one part after the other."""
    return (call(part, shared) for part in parts)


class Background:
    """Runs calls one after the other in a thread, a bounded number waiting.

    An error of a call is raised by the next `submit` or `wait`; calls that were waiting
    behind it do not run. Leaving the block waits for the call under way. `results` has
    what the finished calls returned, in order.
    """

    def __init__(self, *, waiting: int = 2) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="knowtrail-write")
        self._pending: list[Future[Any]] = []
        self._last: Future[Any] | None = None
        self._waiting = waiting
        self.results: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what has not begun and wait for what has."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, call: Callable[..., Any], *args: Any) -> None:
        """Queue a call, waiting while too many are queued."""
        while len(self._pending) >= self._waiting:
            self._take()
        self._last = self._pool.submit(_after, self._last, call, *args)
        self._pending.append(self._last)

    def wait(self) -> None:
        """Wait for all queued calls."""
        while self._pending:
            self._take()

    def _take(self) -> None:
        self.results.append(self._pending.pop(0).result())


def _after(before: Future[Any] | None, call: Callable[..., Any], *args: Any) -> Any:
    """Call, unless the call before this one failed."""
    if before is not None:
        before.result()
    return call(*args)


_END = object()


def ahead(items: Iterable[T], *, size: int = 2) -> Generator[T]:
    """Yield items while a thread works out the next ones, of which `size` may wait.

    An error of the iteration is raised here, after the items before it. When the
    consumer stops early the thread stops at its next item, and is waited for: what it
    writes, and the locks it needs, may not outlive the caller.
    """
    waiting: queue.Queue[Any] = queue.Queue(maxsize=size)
    stopped = threading.Event()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(_END)
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=work, name="knowtrail-read", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if item is _END:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()

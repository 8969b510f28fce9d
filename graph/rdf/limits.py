"""What a query may not do, and how long it may take."""

from __future__ import annotations

import gc
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rdflib.plugins.sparql.parserutils import CompValue

from graph.errors import QueryTimeoutError, RdfError
from graph.rdf.expressions import match_in_time

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_query", "stopped_after"]

_AGAIN = 1.0
"""Seconds after which what is not stopped is stopped once more."""


def check_query(part: Any) -> None:
    """Refuse what would ask another server or another graph.

    Args:
        part: The algebra of a query; its regular expressions are made to end in time.

    Raises:
        RdfError: If a part of the query does.
    """
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, CompValue):
            if one.name == "ServiceGraphPattern":
                msg = "SERVICE would ask another server: leave it out."
                raise RdfError(msg)
            if one.name == "Graph":
                msg = "There is one graph here: leave out GRAPH."
                raise RdfError(msg)
            if one.name in {"Builtin_REGEX", "Builtin_REPLACE"}:
                match_in_time(one)
            waiting += list(one.values())
        elif isinstance(one, list | tuple | set):
            waiting += list(one)


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Stop whatever runs inside after some seconds, regular expressions as well.

    A program's main thread alone can be stopped so, where the system has timers;
    elsewhere nothing is done. Python drops what is raised while it collects garbage,
    so there nothing is raised, and whoever goes on is stopped a second later.

    Args:
        seconds: Time that it may take.

    Raises:
        QueryTimeoutError: If it takes longer.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return
    collecting = False

    def stop(*_: object) -> None:
        if collecting:
            return
        msg = (
            f"The query took longer than {seconds:g} s and was stopped: ask for less, "
            "or raise the limit."
        )
        raise QueryTimeoutError(msg)

    def begin(phase: str, _: object) -> None:
        nonlocal collecting
        if phase == "start":
            collecting = True

    def end(phase: str, _: object) -> None:
        nonlocal collecting
        if phase == "stop":
            collecting = False

    gc.callbacks.insert(0, begin)
    gc.callbacks.append(end)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.callbacks.remove(begin)
        gc.callbacks.remove(end)

"""What a query may not do, told from its text before it runs."""

from __future__ import annotations

import gc
import re
import signal
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Literal

from graph.errors import QueryTimeoutError, RdfError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

__all__ = ["check_query", "stopped_after"]

_MANY = 10_000
"""Ways to match that a repetition in a repetition may have at most."""

_AGAIN = 1.0
"""Seconds after which what is not stopped is stopped once more."""


def check_query(part: Any) -> None:
    """Refuse what would ask another server or another graph, or never come back.

    A time limit cannot stop a regular expression that backtracks for ever. Those that
    repeat what can match one text in several ways may do so, and are refused: where
    the query has them, or, where it computes them, when they are used.

    Args:
        part: The algebra of a query.

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
                _watch(one)
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

    def stop(_: int, frame: FrameType | None) -> None:
        if _collecting(frame):
            return
        msg = (
            f"The query took longer than {seconds:g} s and was stopped: ask for less, "
            "or raise the limit."
        )
        raise QueryTimeoutError(msg)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _collecting(frame: FrameType | None) -> bool:
    """Return whether code runs that the garbage collector calls."""
    called = {getattr(one, "__code__", None) for one in gc.callbacks}
    while frame is not None:
        if frame.f_code in called:
            return True
        frame = frame.f_back
    return False


def _watch(part: Any) -> None:
    """Check the regular expression of a part now, or whenever it is computed.

    Raises:
        RdfError: If it is given, and may take for ever.
    """
    if isinstance(part.pattern, Literal):
        _check_pattern(part.pattern)
        return
    if getattr(part._evalfn, "watched", False):
        return
    evaluate = part._evalfn

    def watched(context: Any) -> Any:
        _check_pattern(part.pattern)
        return evaluate(context)

    watched.watched = True  # type: ignore[attr-defined]
    part._evalfn = watched


def _check_pattern(pattern: Any) -> None:
    """Refuse a regular expression that may take for ever.

    Raises:
        RdfError: If it repeats what can match one text in several ways.
    """
    if not isinstance(pattern, Literal):
        return
    try:
        parsed = import_module("re._parser").parse(str(pattern))
    except (re.error, OverflowError, RecursionError):
        return
    if _ambiguous(parsed, repeated=1):
        msg = (
            f"The regular expression {str(pattern)[:80]!r} repeats what can match in "
            "several ways, which may take for ever: write it without."
        )
        raise RdfError(msg)


def _ambiguous(parsed: Any, *, repeated: int) -> bool:
    """Return whether a repeated part of an expression can match in many ways.

    Args:
        parsed: What Python's `re` makes of an expression.
        repeated: How often it is repeated at most.
    """
    for operation, arguments in parsed:
        name = str(operation)
        inner: Sequence[Any] = ()
        times, ways = repeated, 1
        if name in {"MAX_REPEAT", "MIN_REPEAT"}:
            least, most = int(arguments[0]), int(arguments[1])
            times, ways, inner = repeated * most, most - least + 1, (arguments[2],)
        elif name == "SUBPATTERN":
            inner = (arguments[-1],)
        elif name == "BRANCH":
            inner = arguments[1]
            ways = 1 if _apart(inner) else len(inner)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            inner = (arguments[1],)
        if repeated > 1 and ways > 1 and _power(ways, repeated) > _MANY:
            return True
        if any(_ambiguous(one, repeated=times) for one in inner):
            return True
    return False


def _power(ways: int, times: int) -> int:
    """Return ways ** times, or more than `_MANY` where that is large."""
    return int(ways ** min(times, _MANY.bit_length()))


def _apart(arms: Sequence[Any]) -> bool:
    """Return whether alternatives begin with letters that are all different."""
    firsts = [
        chr(arm[0][1]).casefold() if len(arm) and str(arm[0][0]) == "LITERAL" else ""
        for arm in arms
    ]
    return "" not in firsts and len(set(firsts)) == len(firsts)

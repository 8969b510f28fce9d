r"""What a query may not do, and how long it may take.

Python's own `re` cannot be stopped while it looks for a match, and keeps all threads
waiting until it ends, which for some expressions is never. `regex` takes a time limit,
lets other threads run, and understands `re`'s expressions and `\p{L}`.
"""

from __future__ import annotations

import gc
import re
import signal
import threading
from contextlib import contextmanager
from functools import reduce
from operator import or_
from types import MethodType
from typing import TYPE_CHECKING, Any

import regex
from rdflib.plugins.sparql.operators import string
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Literal

from knowtrail.graph.errors import QueryTimeoutError, RdfError
from knowtrail.graph.rdf.comparison import relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_AGAIN = 1.0
"""Seconds after which what is not stopped is stopped once more."""

_FLAGS = {"i": regex.I, "s": regex.S, "m": regex.M, "x": regex.X}
_GROUP = re.compile(r"\\(.)|\$([0-9]+)", re.DOTALL)


def check_query(part: Any) -> None:
    """Refuse what would ask another server or another graph.

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
            if one.name in _EVALUATED:
                one._evalfn = MethodType(_EVALUATED[one.name], one)
            waiting += list(one.values())
        elif isinstance(one, list | tuple | set):
            waiting += list(one)


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Stop whatever runs inside after some seconds, regular expressions as well.

    A program's main thread alone can be stopped so, where the system has timers;
    elsewhere nothing is done. Python drops what is raised while it collects garbage,
    so there nothing is raised, and whoever goes on is stopped a second later.

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


def _matches(part: Any, context: Any) -> Literal:
    """Return whether a text has a match, as SPARQL 1.1, section 17.4.3.14."""
    text = string(part.text)
    return Literal(bool(_timed(part, context, "search", text)))


def _replaced(part: Any, context: Any) -> Literal:
    """Return a text with its matches replaced, as SPARQL 1.1, section 17.4.3.15."""
    text = string(part.arg)
    by = _GROUP.sub(_group, string(part.replacement))
    found = _timed(part, context, "sub", by, text)
    return Literal(found, datatype=text.datatype, lang=text.language)


def _group(found: re.Match[str]) -> str:
    r"""Return a group of a replacement (`$1`), or what stands for itself (`\$`)."""
    if found[2] is not None:
        return rf"\g<{found[2]}>"
    return "\\\\" if found[1] == "\\" else found[1]


def _timed(part: Any, context: Any, function: str, *arguments: str) -> Any:
    """Call a function of an expression, for as long as its query may run."""
    pattern = str(string(part.pattern))
    store = getattr(getattr(context, "ctx", context).graph, "store", None)
    run: Any = getattr(store, "_run", None)
    flags = reduce(or_, (_FLAGS.get(flag, 0) for flag in part.flags or ()), 0)
    limits = {} if run is None else {"timeout": run.left(), "concurrent": True}
    try:
        call: Callable[..., Any] = getattr(regex.compile(pattern, flags), function)
        return call(*arguments, **limits)
    except TimeoutError as error:
        raise run.overdue() from error
    except (regex.error, IndexError, OverflowError, RecursionError) as error:
        why = " ".join(str(error).split())
        msg = f"The regular expression {pattern[:80]!r} cannot be used: {why[:200]}."
        raise RdfError(msg) from error


_EVALUATED: dict[str, Callable[[Any, Any], Any]] = {
    "Builtin_REGEX": _matches,
    "Builtin_REPLACE": _replaced,
    "RelationalExpression": relation,
}
"""Parts of a query that are evaluated here and not by rdflib."""

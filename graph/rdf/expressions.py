r"""REGEX and REPLACE of SPARQL, stopped when a query's time is up.

Python's own `re` cannot be stopped while it looks for a match, and keeps all threads
waiting until it ends, which for some expressions is never. `regex` takes a time limit,
lets other threads run, and understands `re`'s expressions and `\p{L}`.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from types import MethodType
from typing import TYPE_CHECKING, Any

import regex
from rdflib.plugins.sparql.operators import string
from rdflib.term import Literal

from graph.errors import RdfError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdflib.plugins.sparql.parserutils import CompValue

__all__ = ["match_in_time"]

_FLAGS = {"i": regex.I, "s": regex.S, "m": regex.M, "x": regex.X}
_GROUP = re.compile(r"\\(.)|\$([0-9]+)", re.DOTALL)


def match_in_time(part: CompValue) -> None:
    """Let a REGEX or REPLACE of a query end with the query's time.

    Args:
        part: The expression; it is changed.
    """
    evaluate = _matches if part.name == "Builtin_REGEX" else _replaced
    part._evalfn = MethodType(evaluate, part)


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
    """Call a function of an expression, for as long as its query may run.

    Raises:
        QueryTimeoutError: If time is up.
        RdfError: If the expression cannot be understood.
    """
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

"""What a query may not do, told from its text before it runs."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Literal

from graph.errors import RdfError

__all__ = ["check_query"]

_MANY = 100
"""A repetition that may go on for longer than this is without an end."""


def check_query(part: Any) -> None:
    """Refuse what would ask another server or another graph, or never come back.

    A time limit cannot stop a regular expression that backtracks for ever; those with
    a repetition inside a repetition can, and are refused where the query has them.

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
                _check_pattern(one.pattern)
            waiting += list(one.values())
        elif isinstance(one, list | tuple | set):
            waiting += list(one)


def _check_pattern(pattern: Any) -> None:
    """Refuse a regular expression that may take for ever.

    Raises:
        RdfError: If it has a repetition without an end inside another one.
    """
    if not isinstance(pattern, Literal):
        return
    try:
        parsed = import_module("re._parser").parse(str(pattern))
    except (re.error, OverflowError, RecursionError):
        return
    if _nested(parsed, inside=False):
        msg = (
            f"The regular expression {str(pattern)[:80]!r} repeats a repetition, which "
            "may take for ever: write it without."
        )
        raise RdfError(msg)


def _nested(parsed: Any, *, inside: bool) -> bool:
    """Return whether a parsed expression has a repetition inside a repetition."""
    for operation, arguments in parsed:
        name = str(operation)
        if name in {"MAX_REPEAT", "MIN_REPEAT"}:
            endless = int(arguments[1]) > _MANY
            if endless and inside:
                return True
            if _nested(arguments[2], inside=inside or endless):
                return True
        elif name == "SUBPATTERN":
            if _nested(arguments[-1], inside=inside):
                return True
        elif name == "BRANCH":
            if any(_nested(arm, inside=inside) for arm in arguments[1]):
                return True
        elif name in {"ASSERT", "ASSERT_NOT"} and _nested(arguments[1], inside=inside):
            return True
    return False

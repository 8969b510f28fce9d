"""Queries of templates, limited to the institutions of one corpus."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from graph.errors import InputError
from graph.rdf.vocabulary import Vocabulary
from retrieval.specificity.execution import DEFAULT_BASE, variables_found
from retrieval.specificity.instantiation import Binding

if TYPE_CHECKING:
    from retrieval.specificity.instantiation import Instantiated

__all__ = ["CORPUS", "SUBJECT", "body_of", "limited"]

CORPUS = "in_corpus"
"""The variable that the name of the corpus is bound to."""

SUBJECT = "custodian"
"""The variable of what a query finds."""

_MARK = re.compile(
    r"<[^<>\"{}|^`\\\s]*>"
    r'|"""(?:[^\\]|\\.)*?"""'
    r"|'''(?:[^\\]|\\.)*?'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
    r"|\#[^\n]*"
    r"|[{}]",
    re.DOTALL,
)
"""What may hold a brace that ends nothing, and braces."""


def limited(
    query: Instantiated, corpus: str, *, base: str = DEFAULT_BASE
) -> Instantiated:
    """Return queries that find only institutions of a corpus.

    To each query the pattern is added that its `?custodian` belongs to `?in_corpus`,
    which is bound to the name as every other value is.

    Args:
        query: What would be run.
        corpus: Name of the corpus.
        base: Where the IRIs of the graph begin.

    Raises:
        InputError: If a query does not find a `?custodian`; names the template.
    """
    runs = []
    for run in query.runs:
        sparql = _limited_text(run.sparql, base)
        if sparql is None:
            msg = (
                f"Template {query.template_id!r} cannot be limited to corpus "
                f"{corpus!r}, because its query finds no ?custodian: leave the corpus "
                "out, or name what it finds so."
            )
            raise InputError(msg)
        bound = {**run.bindings, CORPUS: Binding(value=corpus)}
        runs.append(replace(run, sparql=sparql, bindings=bound))
    return replace(query, runs=tuple(runs))


@lru_cache(maxsize=256)
def _limited_text(sparql: str, base: str) -> str | None:
    """Return a query with the pattern at the end of its body; None where none fits."""
    if SUBJECT not in variables_found(sparql, base):
        return None
    body = body_of(sparql)
    if body is None:
        return None
    end = body[1] - 1
    predicate = Vocabulary(base).property("corpus")
    pattern = f"\n  ?{SUBJECT} <{predicate}> ?{CORPUS} .\n"
    for stop in ("", " ."):  # the last triple may end with a full stop, or not
        text = f"{sparql[:end].rstrip()}{stop}{pattern}{sparql[end:]}"
        if _is_limited(text, base):
            return text
    return None


def _is_limited(text: str, base: str) -> bool:
    """Return whether a text is a query whose body has the pattern in it."""
    try:
        return {SUBJECT, CORPUS} <= variables_found(text, base)
    except InputError:
        return False


def body_of(sparql: str) -> tuple[int, int] | None:
    """Return where the first outermost group of a query begins and ends.

    Its braces are in it; None where there is none.
    """
    depth, begin = 0, -1
    for found in _MARK.finditer(sparql):
        mark = found[0]
        if mark == "{" and begin < 0:
            begin = found.start()
        depth += (mark == "{") - (mark == "}")
        if mark == "}" and depth == 0 and begin >= 0:
            return begin, found.end()
    return None

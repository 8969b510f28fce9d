"""Regular expressions and queries that would not end."""

from __future__ import annotations

import gc
import re
import time

import pytest
from rdflib import Graph, Literal, URIRef
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery

from graph.errors import QueryTimeoutError, RdfError
from graph.rdf.limits import check_query, stopped_after

ENDLESS = (
    "(a+)+$",
    "(a|aa)+$",
    "(?:a|b|ab)+$",
    "(a?a?)+$",
    "(a{1,50})+$",
    "(a+){50}$",
    "(x|(y*))*z",
)
PLAIN = (
    "^[a-f]",
    "a.*b.*c",
    "(foo|bar)+",
    r"(\\d{1,3}\\.){3}\\d{1,3}",
    "((ab)c)+",
    "(a.c)*",
)


def _algebra(text: str) -> object:
    """Return the algebra of a query."""
    return translateQuery(parseQuery(text)).algebra


@pytest.mark.parametrize("pattern", ENDLESS)
def test_expression_that_may_not_end_is_refused(pattern: str) -> None:
    """What repeats something that matches in several ways is not run."""
    query = _algebra(f"SELECT * {{ ?s ?p ?o FILTER(REGEX(?o, '{pattern}')) }}")

    with pytest.raises(RdfError, match="for ever"):
        check_query(query)


@pytest.mark.parametrize("pattern", PLAIN)
def test_usual_expression_is_left_alone(pattern: str) -> None:
    """What ends soon passes, and finds what it describes."""
    text = f"SELECT * {{ ?s ?p ?o FILTER(REGEX(?o, '{pattern}')) }}"
    graph = Graph().add((URIRef("u:s"), URIRef("u:p"), Literal("abc foo 10.0.0.127")))

    check_query(_algebra(text))

    assert len(list(graph.query(text))) == 1


@pytest.mark.parametrize(("pattern", "refused"), [("(a+)+$", True), ("^A+B$", False)])
def test_computed_expression_is_checked_when_it_is_used(
    pattern: str, *, refused: bool
) -> None:
    """A pattern that a query binds itself is no way around the check."""
    graph = Graph().add((URIRef("u:s"), URIRef("u:p"), Literal("a" * 40 + "b")))
    query = translateQuery(
        parseQuery(
            f"SELECT ?o {{ BIND('{pattern}' AS ?x) ?s <u:p> ?o "
            "FILTER REGEX(?o, ?x, 'i') }"
        )
    )
    check_query(query.algebra)

    if refused:
        with pytest.raises(RdfError, match="for ever"):
            list(graph.query(query))
    else:
        assert len(list(graph.query(query))) == 1


def test_what_the_garbage_collector_calls_is_not_stopped() -> None:
    """Python drops what is raised there, so that the work would go on for ever."""

    def slow(*_: object) -> None:
        until = time.monotonic() + 0.4
        while time.monotonic() < until:
            pass

    def work() -> None:
        gc.callbacks.append(slow)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(slow)
        time.sleep(10)

    with pytest.raises(QueryTimeoutError), stopped_after(0.2):
        work()


def test_expression_is_stopped_in_the_middle() -> None:
    """A time limit of the command holds for one long match, too."""
    begin = time.monotonic()

    with pytest.raises(QueryTimeoutError, match=r"0\.2 s"), stopped_after(0.2):
        re.search("(a+)+$", "a" * 60 + "b")

    assert time.monotonic() - begin < 10

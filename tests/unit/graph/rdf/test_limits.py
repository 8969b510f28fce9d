"""Regular expressions and queries that would not end."""

from __future__ import annotations

import gc
import re
import time
from typing import TYPE_CHECKING

import pytest
from rdflib import Graph, Literal, URIRef
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery

from knowtrail.graph.errors import QueryTimeoutError, RdfError
from knowtrail.graph.rdf.expressions import check_query, stopped_after
from tests.cases import each

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = "abc foo 10.0.0.127 $5 Straße\\nZ"
MATCHED = (
    "REGEX(?o, '^[a-f]')",
    "REGEX(?o, 'a.*b.*c')",
    "REGEX(?o, '^ABC (foo|bar)+', 'i')",
    r"REGEX(?o, '(\\d{1,3}\\.){3}\\d{1,3}')",
    "REGEX(?o, '^z', 'im')",
    "REGEX(?o, '^Z')",
    "REGEX(?o, '127.*Z')",
    "REGEX(?o, '127.*Z', 's')",
    "REGEX(?o, 'STRAßE', 'i')",
    "REPLACE(?o, '(f)(o+)', '$2$1') = ?o",
    "CONTAINS(REPLACE(?o, '(f)(o+)', '$2$1'), 'oof')",
    "LANG(REPLACE(STRLANG(?o, 'en'), 'a', 'b')) = 'en'",
)


def _algebra(text: str) -> object:
    """Return the algebra of a query."""
    return translateQuery(parseQuery(text)).algebra


@pytest.mark.thorough
@each("matched", MATCHED)
def test_expressions_mean_what_they_mean_to_rdflib(matched: str) -> None:
    """A match with a time limit finds what one without finds."""
    graph = Graph().add((URIRef("u:s"), URIRef("u:p"), Literal(TEXT)))
    text = f"SELECT ?yes {{ ?s ?p ?o BIND({matched} AS ?yes) }}"
    query = translateQuery(parseQuery(text))
    check_query(query.algebra)

    assert list(graph.query(query)) == list(graph.query(text))


@pytest.mark.parametrize(
    ("by", "result"),
    [("<$1>", "x<a>"), ("$0$0", "xaa"), (r"\\$1", "x$1"), (r"\\\\", "x\\")],
)
def test_groups_of_replacements_are_those_of_xpath(by: str, result: str) -> None:
    """A dollar names a group, behind a backslash it is a dollar."""
    query = translateQuery(
        parseQuery(f"SELECT (REPLACE('xa', '(a)', '{by}') AS ?r) {{}}")
    )
    check_query(query.algebra)

    assert [str(row.r) for row in Graph().query(query)] == [result]


def test_every_match_is_replaced_with_flags() -> None:
    """A flag does not bound how many matches are replaced."""
    query = translateQuery(
        parseQuery("SELECT (REPLACE('xOoOo', 'o', '0', 'i') AS ?r) {}")
    )
    check_query(query.algebra)

    assert [str(row.r) for row in Graph().query(query)] == ["x0000"]


@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}", "(?<x"])
def test_what_is_no_expression_is_one_line(pattern: str) -> None:
    """A pattern that cannot be understood is named, wherever it comes from."""
    query = translateQuery(
        parseQuery(f"SELECT * {{ BIND('{pattern}' AS ?x) FILTER REGEX('a', ?x) }}")
    )
    check_query(query.algebra)

    with pytest.raises(RdfError, match=r"regular expression .* cannot be used"):
        list(Graph().query(query))


def _slow(*_: object) -> None:
    """Take longer than a query may."""
    until = time.monotonic() + 0.4
    while time.monotonic() < until:
        pass


class _Circle:
    """Something that the garbage collector alone can free."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        _slow()


@pytest.fixture
def slow_callback() -> Iterator[None]:
    """Let the garbage collector call something slow."""
    gc.callbacks.append(_slow)
    yield
    gc.callbacks.remove(_slow)


def _collected() -> None:
    """Collect garbage with a slow finalizer, and go on."""
    _Circle()
    gc.collect()
    time.sleep(10)


@pytest.mark.usefixtures("slow_callback")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.thorough
def test_what_goes_on_after_the_garbage_collector_is_stopped() -> None:
    """Python drops what is raised there, so it is raised a second time."""
    begin = time.monotonic()

    with pytest.raises(QueryTimeoutError), stopped_after(0.2):
        _collected()

    assert time.monotonic() - begin < 8


def test_expression_is_stopped_in_the_middle() -> None:
    """A time limit of the command holds for one long match, too."""
    begin = time.monotonic()

    with pytest.raises(QueryTimeoutError, match=r"0\.2 s"), stopped_after(0.2):
        re.search("(a+)+$", "a" * 60 + "b")

    assert time.monotonic() - begin < 10

"""The W3C's tests of SPARQL 1.1 queries, over the live store.

Their data is imported as RDF of others, by the conventions of neosemantics, and asked
through rdflib's engine over our store. Where the answer is known not to be the one that
the W3C expects, the same query over rdflib's own store in memory has to give the same
answer: then it is the engine's. Tests of named graphs and of FROM do not fit one graph
and are left out. The first tier takes one test in six of each folder.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from rdflib import RDF, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.compare import isomorphic
from rdflib.query import Result

from knowtrail.graph.rdf import import_rdf, live_graph, memory_graph
from tests.conftest import SHARED
from tests.rdf_graphs import EVERYTHING
from tests.tiers import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection

pytestmark = pytest.mark.integration

ROOT = SHARED / "data" / "sparql11"
BASE = "https://knowtrail.example/"
MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")

SHARE = 10
"""Of so many tests of a folder the first tier takes the first."""

KNOWN = {
    "aggregates/agg-err-01": "rdflib's AVG passes over what is no number",
    "functions/strdt01": "rdflib's STRDT takes a text with a language",
    "functions/strdt03": "rdflib's STRDT takes any literal",
    "functions/strlang03": "text is xsd:string since RDF 1.1, so STRLANG takes it",
    "property-path/pp37": "rdflib's path of a * in a * gives its start twice",
}
"""Tests with another answer, which rdflib gives over its own store too, and why."""


class Case:
    """One test of a manifest."""

    def __init__(self, manifest: Graph, test: Any, folder: Path) -> None:
        action = manifest.value(test, MF.action)
        self.folder = folder
        self.id = f"{folder.name}/{str(test).rpartition('#')[2]}"
        self.query = self._path(manifest.value(action, QT.query) or action)
        self.data = [self._path(d) for d in manifest.objects(action, QT.data)]
        self.named = list(manifest.objects(action, QT.graphData))
        self.result = self._path(manifest.value(test, MF.result))

    def _path(self, iri: Any) -> Path:
        return self.folder / str(iri).rpartition("/")[2]

    @property
    def fits(self) -> bool:
        """Whether the test is about one graph, which it does not name."""
        words = self.query.read_text("utf-8").upper().split()
        named = self.named or "GRAPH" in words
        return not named and (bool(self.data) or "FROM" not in words)


def _cases() -> list[Case]:
    """Return the query evaluation tests, those with the same data together."""
    cases = []
    for path in sorted(ROOT.glob("*/manifest.ttl")):
        manifest = Graph().parse(path)
        for entries in manifest.objects(None, MF.entries):
            cases += [
                Case(manifest, test, path.parent)
                for test in Collection(manifest, entries)
                if (test, RDF.type, MF.QueryEvaluationTest) in manifest
            ]
    return sorted(cases, key=lambda case: (str(case.data), case.id))


ALL_CASES = _cases() if ROOT.is_dir() else []
CASES = [case for case in ALL_CASES if case.fits]


def _parameters() -> Iterator[Any]:
    """Yield the tests with what is known of them."""
    seen: Counter[Path] = Counter()
    for case in CASES:
        marks = []
        if case.id in KNOWN:
            marks.append(pytest.mark.xfail(strict=True, reason=KNOWN[case.id]))
        if seen[case.folder] % SHARE:
            marks.append(pytest.mark.thorough)
        seen[case.folder] += 1
        yield pytest.param(case, id=case.id, marks=marks)


@pytest.fixture(scope="module")
def load(session_connection: Connection) -> Callable[[Case], Graph]:
    """Return what has the database hold the data of a test, and gives it live."""
    held: list[list[Path]] = []

    def load(case: Case) -> Graph:
        if held != [case.data]:
            session_connection.run_schema(EVERYTHING)
            for path in case.data:
                import_rdf(session_connection, path)
            held[:] = [case.data]
        return live_graph(session_connection)

    return load


def _plain(term: Any) -> Any:
    """Return a term so that equal values are equal and blank nodes are alike.

    Text is xsd:string since RDF 1.1, which rdflib and some of the results do not know.
    """
    if isinstance(term, BNode):
        return "blank"
    if not isinstance(term, Literal) or term.language:
        return term
    if type(term.value).__name__ in {"int", "float", "Decimal"}:
        return "number", float(term.value)
    return str(term), None if term.datatype == XSD.string else term.datatype


def _rows(result: Result) -> Any:
    """Return an answer in a form in which equal ones are equal."""
    if result.type == "ASK":
        return bool(result.askAnswer)
    return Counter(
        frozenset((str(k), _plain(v)) for k, v in row.items() if v is not None)
        for row in result.bindings
    )


def _expected(case: Case) -> Result | Graph:
    """Read the answer that the W3C expects."""
    if case.result.suffix == ".ttl":
        return Graph().parse(case.result, publicID=BASE)
    form = {".srx": "xml", ".srj": "json", ".csv": "csv", ".tsv": "tsv"}
    with case.result.open("rb") as stream:
        return Result.parse(stream, format=form[case.result.suffix])


def _same(one: Any, other: Any) -> bool:
    """Return whether two answers are the same."""
    if isinstance(one, Graph) or isinstance(other, Graph):
        graphs = [x if isinstance(x, Graph) else x.graph for x in (one, other)]
        return isomorphic(*graphs)
    return bool(one == other)


def _answer(graph: Graph, text: str) -> Any:
    """Return an answer, or what an error is called."""
    try:
        result = graph.query(text, base=BASE)
        return result.graph if result.type == "CONSTRUCT" else _rows(result)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("case", list(_parameters()))
def test_answer_is_the_one_of_the_w3c(
    load: Callable[[Case], Graph], case: Case
) -> None:
    """The live store answers as the W3C expects."""
    expected = _expected(case)
    wanted = expected if isinstance(expected, Graph) else _rows(expected)

    got = _answer(load(case), case.query.read_text("utf-8"))

    assert _same(got, wanted), (got, wanted)


def test_other_answers_are_those_of_the_engine(
    session_connection: Connection, load: Callable[[Case], Graph]
) -> None:
    """Where another answer is known, rdflib gives it over its own store, too."""
    cases = [case for case in CASES if case.id in KNOWN][:: amount(SHARE, 1)]

    wrong = []
    for case in cases:
        text = case.query.read_text("utf-8")
        live = _answer(load(case), text)
        engine = _answer(memory_graph(session_connection), text)
        if not _same(live, engine):
            wrong.append((case.id, live, engine))

    assert wrong == []


def test_the_suite_is_there(shared: Path) -> None:
    """The tests are found, and most of them fit one graph."""
    assert shared.is_dir()

    assert len(ALL_CASES) > 170
    assert len(CASES) > 0.9 * len(ALL_CASES)
    assert set(KNOWN) <= {case.id for case in CASES}
    assert all(isinstance(URIRef(case.id), URIRef) for case in CASES)

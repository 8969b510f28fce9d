"""The W3C's tests of SPARQL 1.1 queries, over the live store.

Their data is imported as RDF of others, by the conventions of neosemantics, and asked
through rdflib's engine over our store. Where the answer is not the one that the W3C
expects, the same query over rdflib's own store in memory has to give the same answer:
then it is the engine's.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from rdflib import RDF, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.compare import isomorphic
from rdflib.query import Result

from graph.rdf import import_rdf, live_graph, memory_graph
from tests.conftest import SHARED
from tests.rdf_graphs import EVERYTHING

if TYPE_CHECKING:
    from pathlib import Path

    from graph.connection import Connection

pytestmark = pytest.mark.integration

ROOT = SHARED / "data" / "sparql11"
BASE = "https://knowtrail.example/"
MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")

NAMED_GRAPHS = "it asks named graphs, and the graph in Neo4j is one graph"
REMOTE = "it reads other documents (FROM), which is refused"


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
    def reason(self) -> str | None:
        """Return why the test does not fit one graph, None where it does."""
        text = self.query.read_text("utf-8")
        if self.named or "GRAPH" in text.upper().split():
            return NAMED_GRAPHS
        if not self.data and "FROM" in text.upper().split():
            return REMOTE
        return None


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


CASES = _cases() if ROOT.is_dir() else []


@pytest.fixture(scope="module")
def loaded() -> dict[str, Any]:
    """Return what the database holds, so that equal data is loaded once."""
    return {}


def _load(connection: Connection, case: Case, loaded: dict[str, Any]) -> Graph:
    """Have the database hold the data of a test; return it in memory, too."""
    if loaded.get("data") != case.data:
        connection.run_schema(EVERYTHING)
        for path in case.data:
            import_rdf(connection, path)
        loaded.update(data=case.data, memory=memory_graph(connection))
    memory: Graph = loaded["memory"]
    return memory


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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_answer_is_the_one_of_the_w3c(
    session_connection: Connection, case: Case, loaded: dict[str, Any]
) -> None:
    """The live store answers as the W3C expects, or as rdflib does over memory."""
    if case.reason:
        pytest.skip(case.reason)
    memory = _load(session_connection, case, loaded)
    text = case.query.read_text("utf-8")
    expected = _expected(case)
    wanted = expected if isinstance(expected, Graph) else _rows(expected)

    got = _answer(live_graph(session_connection), text)

    if not _same(got, wanted):
        engine = _answer(memory, text)
        assert _same(got, engine), (got, engine, wanted)
        pytest.xfail("rdflib's engine answers so over its own store, too")


def test_the_suite_is_there(shared: Path) -> None:
    """The tests are found, and most of them fit one graph."""
    assert shared.is_dir()

    assert len(CASES) > 170
    assert sum(case.reason is None for case in CASES) > 0.9 * len(CASES)
    assert all(isinstance(URIRef(case.id), URIRef) for case in CASES)

"""The graph as RDF on a real server: asked live, written to files, read back."""

from __future__ import annotations

import gc
import os
import time
import tracemalloc
from collections import Counter
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any

import pyoxigraph
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j import Session
from rdflib import RDF, XSD, BNode, Graph, Literal, URIRef, Variable
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.sparql import SPARQLError

from knowtrail.graph.errors import (
    InputError,
    KnowtrailError,
    QueryTimeoutError,
    RdfError,
    StorageError,
)
from knowtrail.graph.rdf import export_rdf, import_rdf, live_graph, memory_graph
from knowtrail.graph.rdf.store import LiveStore
from tests.conftest import LINES
from tests.rdf_graphs import EVERYTHING, ODD
from tests.rdf_queries import Queries
from tests.tiers import amount

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from tests.databases import Database

pytestmark = [pytest.mark.integration, pytest.mark.forgets]

BASE = "https://knowtrail.example/"
FORMATS = ("nt", "ttl", "jsonld", "rdf")
SEED = int(os.environ.get("KNOWTRAIL_TEST_SEED", "20261121"))


@pytest.fixture(scope="module")
def kept(session_connection: Connection) -> Iterator[Connection]:
    """Yield a connection; remove at last what imports leave.

    That is one constraint, which stays meanwhile: a server that makes or drops one
    forgets the plans of all statements.
    """
    yield session_connection
    session_connection.run_schema(EVERYTHING)
    session_connection.run_schema("DROP CONSTRAINT n10s_unique_uri IF EXISTS")


@pytest.fixture
def empty(kept: Connection) -> Connection:
    """Return a connection to a database without any node."""
    kept.run_schema(EVERYTHING)
    return kept


@pytest.fixture
def odd(database: Database, kept: Connection) -> Connection:
    """Return a connection to a graph with everything that has to be settled."""

    def fill() -> None:
        kept.run_schema(EVERYTHING)
        kept.run_schema(ODD)

    return database.holding("what has to be settled", fill)


def answer(graph: Graph, text: str) -> Any:
    """Return an answer as something that equal answers are equal in."""
    result = graph.query(text)
    if result.type == "ASK":
        return result.askAnswer
    if result.type == "CONSTRUCT":
        return frozenset(result.graph or ())
    try:
        return Counter(frozenset(row.items()) for row in result.bindings)
    except (AttributeError, RdfError, SPARQLError):
        # rdflib's engine itself fails so where it sums what are no numbers.
        return "no answer"


def picture(connection: Connection) -> Counter[Any]:
    """Return all nodes and relationships as values that equal graphs share."""
    seen: Counter[Any] = Counter()
    names = {}
    for name, labels, held in connection.values(
        "MATCH (n) WHERE NOT n:SchemaVersion|_NsPrefDef "
        "RETURN elementId(n), labels(n), properties(n)",
        {},
    ):
        names[name] = repr((sorted(labels), sorted(held.items())))
        seen[names[name]] += 1
    for first, kind, held, last in connection.values(
        "MATCH (a)-[r]->(b) RETURN elementId(a), type(r), properties(r), elementId(b)",
        {},
    ):
        seen[names[first], kind, repr(sorted(held.items())), names[last]] += 1
    return seen


@pytest.mark.thorough
def test_live_graph_has_the_triples_of_the_copy(odd: Connection) -> None:
    """Read whole, the live graph has each triple once, and no others."""
    found = Counter(live_graph(odd))

    assert found == Counter(memory_graph(odd))
    assert len(found) > 180


@pytest.mark.thorough
def test_single_patterns_are_answered_alike(odd: Connection) -> None:
    """A pattern with some places given finds the same triples live and in memory."""
    memory, live = memory_graph(odd), live_graph(odd)
    triples = sorted(memory, key=lambda t: [x.n3() for x in t])
    patterns = {
        tuple(x if mask >> place & 1 else None for place, x in enumerate(triple))
        for mask in (1, 2, 3, 4, 6, 7)
        for triple in triples[mask :: amount(96, 8)]
    }

    wrong = [
        pattern
        for pattern in patterns
        if Counter(live.triples(pattern)) != Counter(memory.triples(pattern))
    ]

    assert wrong == []


def test_paths_that_end_in_an_empty_text_end_there(odd: Connection) -> None:
    """The order of a list without members is an empty text, and is no unknown end."""
    live, memory = live_graph(odd), memory_graph(odd)
    order, document = f"<{BASE}list/aliases>", f"<{BASE}Document/d2>"

    for start in ("?a", document):
        query = f"SELECT * {{ {start} {order}* ?b . {start} {order} ?b }}"
        found = answer(live, query)
        assert found == answer(memory, query)
        assert found


@pytest.mark.thorough
def test_rows_that_nobody_reads_leave_no_session_open(odd: Connection) -> None:
    """Also where nothing but the collector ends them: who left a session is told."""
    before = {id(one) for one in open_sessions()}
    rows = LiveStore(odd).run()("UNWIND range(1, 10000) AS n RETURN n", {})
    next(rows)
    (session,) = (one for one in open_sessions() if id(one) not in before)
    held = [session, rows]
    held.append(held)

    del rows, held
    gc.collect()

    assert session.closed()


def open_sessions() -> list[Session]:
    """Return the sessions that this process has open, those of other tests too."""
    return [
        one for one in gc.get_objects() if type(one) is Session and not one.closed()
    ]


@pytest.mark.timeout(3600)
def test_random_queries_are_answered_alike(odd: Connection, neo4j_line: str) -> None:
    """Random queries of all kinds have the same answers live and in memory.

    With `--all` they are 1,000, half of them on each line of Neo4j.
    """
    memory, live = memory_graph(odd), live_graph(odd, seconds=120)
    queries, count = Queries(memory, SEED), amount(6, 500)
    asked = [queries.query() for _ in range(2 * count)]
    asked = asked[:count] if neo4j_line == LINES[0] else asked[count:]
    wanted = [answer(memory, text) for text in asked]

    wrong = [
        text
        for text, one in zip(asked, wanted, strict=True)
        if answer(live, text) != one
    ]

    assert wrong == []
    assert sum(map(bool, wanted)) > len(asked) / 2


@pytest.mark.thorough
def test_a_text_of_digits_is_compared_as_text(empty: Connection) -> None:
    """The database is told to leave out only what a number leaves out."""
    empty.run_schema(
        "UNWIND range(1, 3) AS n "
        "CREATE (:Resource {uri: 'http://ex.org/' + n, n: n}), "
        "(:Resource {uri: 'http://ex.org/t' + n, n: toString(n)})"
    )
    live, memory = live_graph(empty), memory_graph(empty)
    conditions = [
        f"?n {sign} {right}"
        for sign in ("<", "<=", "=", ">=", ">")
        for right in ("2", '"2"', "2.0", "2e0")
    ]
    texts = [
        f"SELECT ?s {{ ?s <{BASE}property/n> ?n FILTER({condition}) }}"
        for condition in conditions
    ]

    wrong = [text for text in texts if answer(live, text) != answer(memory, text)]

    assert wrong == []


def test_what_cypher_writes_the_next_query_sees(odd: Connection) -> None:
    """Nothing is kept from one query to the next."""
    live = live_graph(odd)
    text = "SELECT ?n { ?d a schema:Article ; schema:name ?n }"
    before = answer(live, text)

    odd.run_schema("CREATE (:Document {id: 'd3', title: 'Badger'})")

    new = answer(live, text) - before
    assert new == Counter([frozenset({(Variable("n"), Literal("Badger"))})])


def test_slots_are_only_ever_terms(odd: Connection) -> None:
    """A bound value that looks like SPARQL or Cypher is a text like any other."""
    hostile = "\" } DROP ALL # ' OR 1=1 // `) DETACH DELETE (n"
    odd.run_schema("CREATE (:Custodian {id: 'h', name: $name})", name=hostile)
    live = live_graph(odd)
    text = "SELECT ?c { ?c a hc:Custodian ; schema:name ?name }"

    found = list(live.query(text, initBindings={"name": Literal(hostile)}))

    assert [str(row[0]) for row in found] == [f"{BASE}Custodian/h"]
    assert len(list(live.query(text))) == 6


def test_prepared_queries_and_describe_are_answered(odd: Connection) -> None:
    """What rdflib prepared is taken; DESCRIBE gives a node and its statements."""
    live = live_graph(odd)
    prepared = prepareQuery("ASK { <https://knowtrail.example/Chunk/c1> ?p ?o }")

    described = live.query(f"DESCRIBE <{BASE}Chunk/c1>").graph

    assert live.query(prepared).askAnswer is True
    assert described is not None
    assert (URIRef(f"{BASE}Chunk/c1"), None, None) in described
    assert (None, RDF.type, RDF.Statement) in described


REFUSED = [
    ("INSERT DATA { <urn:a> <urn:b> <urn:c> }", "read-only"),
    ("DELETE WHERE { ?s ?p ?o }", "read-only"),
    ("DROP ALL", "read-only"),
    ("LOAD <http://example.org/x>", "read-only"),
    ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", "SERVICE"),
    ("SELECT * { ?a ?b ?c FILTER EXISTS { SERVICE <urn:x> {} } }", "SERVICE"),
    ("SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }", "FROM"),
    ("SELECT * { GRAPH ?g { ?s ?p ?o } }", "GRAPH"),
    ("SELECT * { ?s ?p", "understood"),
    ("SELECT * { ?s nope:x ?o }", "nope"),
    ("SELECT * " + "{" * 3000 + "}" * 3000, "deep"),
    ("", "understood"),
]


def test_what_may_not_be_asked_is_refused(odd: Connection) -> None:
    """Writing, other servers, other documents and nonsense end in one line."""
    before = picture(odd)
    live = live_graph(odd)

    for text, why in REFUSED:
        with pytest.raises(RdfError, match=why):
            live.query(text)

    assert picture(odd) == before


@pytest.mark.parametrize(
    "found",
    [
        "FILTER REGEX(?t, 'a*a*a*[bc]')",
        "FILTER REGEX(?t, '(a+)+$', 'i')",
        "BIND('(a|aa)+c' AS ?x) FILTER REGEX(?t, ?x)",
        "BIND(REPLACE(?t, '(x|(a*))*[yz]', '') AS ?y)",
    ],
)
def test_endless_expressions_end_in_time(odd: Connection, found: str) -> None:
    """A match that goes on is stopped in any thread, and leaves the others running."""
    odd.run_schema("CREATE (:Entity {id: 'long', text: $t})", t="a" * 5000 + "!")
    live = live_graph(odd, seconds=0.5)
    raised: list[Exception] = []

    def ask() -> None:
        try:
            list(live.query(f"SELECT * {{ ?e a ktc:Entity ; ktp:text ?t {found} }}"))
        except KnowtrailError as error:
            raised.append(error)

    thread = Thread(target=ask)
    begin = time.monotonic()
    thread.start()
    ticks = 0
    while thread.is_alive() and time.monotonic() - begin < 20:
        time.sleep(0.02)
        ticks += 1

    assert [type(error) for error in raised] == [QueryTimeoutError]
    assert ticks > 5


def test_an_import_keeps_what_a_relationship_has(
    odd: Connection, tmp_path: Path
) -> None:
    """Properties that a file does not speak of stay on relationships, as on nodes."""
    odd.run_schema(
        "CREATE (:Entity {id: 'e1'})-[:RELATES {relation: 'x', score: 0.5}]->"
        "(:Entity {id: 'e2'})"
    )
    plain = f"<{BASE}Entity/e1> <{BASE}rel/RELATES> <{BASE}Entity/e2> .\n"
    stated = (
        f"<{BASE}statement/RELATES/Entity%2Fe1/Entity%2Fe2/0> a rdf:Statement ; "
        f"rdf:subject <{BASE}Entity/e1> ; rdf:predicate <{BASE}rel/RELATES> ; "
        f"rdf:object <{BASE}Entity/e2> ; "
        f"<{BASE}property/score> 7.5e-1 .\n"
    )
    first, second = tmp_path / "plain.nt", tmp_path / "stated.ttl"
    first.write_text(plain, "utf-8")
    second.write_text(f"@prefix rdf: <{RDF}> .\n{plain}{stated}", "utf-8")
    text = "MATCH (:Entity {id: 'e1'})-[r:RELATES]->() RETURN properties(r)"

    import_rdf(odd, first)
    kept = odd.values(text, {})
    import_rdf(odd, second)

    assert list(map(list, kept)) == [[{"relation": "x", "score": 0.5}]]
    assert list(map(list, odd.values(text, {}))) == [[{"relation": "x", "score": 0.75}]]


def test_rows_are_read_again_by_asking_again(odd: Connection) -> None:
    """An answer read twice is what is stored then, unless all its rows were kept."""
    live = live_graph(odd)
    text = "SELECT ?n { ?e a schema:Article ; schema:name ?n }"
    asked, kept = live.query(text), live.query(text)

    first, number = sum(1 for _ in asked), len(kept)
    odd.run_schema("CREATE (:Document {id: 'late', title: 'Late'})")

    assert first == number > 0
    assert sum(1 for _ in asked) == number + 1
    assert len(list(kept)) == len(kept.bindings) == number
    assert live.query("SELECT ?n { ?e ktp:id 'late' ; schema:name ?n }")
    assert not live.query("SELECT ?n { ?e ktp:id 'never' ; schema:name ?n }")


def test_ill_formed_triples_are_not_made(odd: Connection) -> None:
    """A literal is no subject and no predicate."""
    found = live_graph(odd).query(
        "CONSTRUCT { ?n a ?e . ?e ?n ?n . ?e schema:name ?n } "
        "WHERE { ?e a schema:Article ; schema:name ?n }"
    )

    assert {p for _, p, _ in found} == {URIRef("https://schema.org/name")}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (SUM(?n) AS ?t) { ?e a schema:Article ; schema:name ?n }",
        "SELECT * { ?e !(schema:name|^schema:name) ?n }",
    ],
)
def test_what_rdflib_cannot_answer_is_one_line(odd: Connection, text: str) -> None:
    """What fails while rows are read is told like what fails before."""
    with pytest.raises(RdfError, match=r"^The query cannot be answered: .*\.$"):
        list(live_graph(odd).query(text))


def test_the_store_refuses_to_change(odd: Connection) -> None:
    """Rdflib's own ways to write do nothing but say so."""
    live = live_graph(odd)
    triple = (URIRef("urn:a"), URIRef("urn:b"), Literal("c"))

    with pytest.raises(RdfError, match="read-only"):
        live.add(triple)
    with pytest.raises(RdfError, match="read-only"):
        live.remove((None, None, None))
    with pytest.raises(RdfError, match="read-only"):
        live.update("DROP ALL")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
        "SELECT (COUNT(*) AS ?n) { ?a ktp:id ?b . ?c ktp:id ?d . ?e ktp:id ?f . "
        "?g ktp:id ?h . ?i ktp:id ?j . ?k ktp:id ?l . ?m ktp:id ?n2 }",
        "SELECT (COUNT(*) AS ?n) { VALUES ?a { 1 2 3 4 5 6 7 8 9 } "
        "{ VALUES ?b { 1 2 3 4 5 6 7 8 9 } } { VALUES ?c { 1 2 3 4 5 6 7 8 9 } } "
        "{ VALUES ?d { 1 2 3 4 5 6 7 8 9 } } { VALUES ?e { 1 2 3 4 5 6 7 8 9 } } "
        "{ VALUES ?f { 1 2 3 4 5 6 7 8 9 } } { VALUES ?g { 1 2 3 4 5 6 7 8 9 } } }",
    ],
)
def test_what_would_run_for_ever_is_stopped(odd: Connection, text: str) -> None:
    """A query that takes longer than it may ends with an error that says so."""
    with pytest.raises(QueryTimeoutError, match="longer than 1 s"):
        list(live_graph(odd, seconds=1).query(text))


@contextmanager
def collected_soon() -> Iterator[None]:
    """Have the collector run as in a new process, whatever tests before have left.

    How long it waits depends on how much lives.
    """
    gc.collect()
    gc.freeze()
    gc.collect()
    try:
        yield
    finally:
        gc.unfreeze()


@pytest.mark.one_line
@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(*) AS ?n) { ?d a schema:Article ; schema:name ?name }",
        "SELECT ?d ?name { ?d a schema:Article ; schema:name ?name }",
        "SELECT ?d ?s { ?d schema:name ?name BIND(UCASE(?name) AS ?s) "
        "MINUS { ?d ktp:x ?x } }",
        "SELECT ?d ?name { ?d a schema:Article ; schema:name ?name "
        "OPTIONAL { ?d ktp:x ?x } FILTER(!BOUND(?x) && STRLEN(?name) > 3) }",
        "SELECT ?d ?e { ?d a schema:Article . ?d schema:name/^schema:name ?e }",
    ],
)
def test_memory_does_not_grow_with_the_graph(empty: Connection, text: str) -> None:
    """To read four times as many nodes takes the memory of reading one part of them."""
    make = (
        "UNWIND range($low, $high) AS i CREATE (:Document {id: 'd' + i, "
        "title: 'A title of some length, number ' + i})"
    )
    live = live_graph(empty, seconds=600)
    empty.run_schema(make, low=1, high=1500)
    for _ in live.query(text):
        pass  # loads what every query needs
    peaks = []
    for low, high in ((1, 1500), (1501, 6000)):
        if low > 1:
            empty.run_schema(make, low=low, high=high)
        with collected_soon():
            tracemalloc.start()
            rows = sum(1 for _ in live.query(text))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert rows in {1, high}

    assert peaks[1] < 1.3 * peaks[0] + 100_000


@pytest.mark.parametrize(
    "suffix",
    [pytest.param(f, marks=[pytest.mark.thorough] * (f != "nt")) for f in FORMATS],
)
def test_what_is_written_is_read_back(
    odd: Connection, tmp_path: Path, suffix: str
) -> None:
    """Written, emptied and read again, the graph is the same, and so is the file."""
    odd.run_schema("MATCH (n:Stray) DETACH DELETE n")
    file, again = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    before = picture(odd)
    written = export_rdf(odd, file)
    odd.run_schema(EVERYTHING)

    read = import_rdf(odd, file)

    assert picture(odd) == before
    assert read.triples == written.triples
    assert read.missing == 0
    export_rdf(odd, again)
    assert again.read_bytes() == file.read_bytes()


WRITTEN = """
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://written.example/> .
@prefix ktp: <https://knowtrail.example/property/> .
:a :p "01"^^xsd:integer, 1, 1.0, 1e0, "+1"^^xsd:integer, "1"^^xsd:boolean, true .
:b :p "TRUE"^^xsd:boolean, "2006-08-23Z"^^xsd:date, "2006-08-23"^^xsd:date .
:c :p "x"^^xsd:integer, "x"^^:size, "y"^^:size, "x", "x"@en, "y"@en-GB, :x, _:x .
:d :p "2006-08-25Z"^^xsd:date, "2006-08-22"^^xsd:date,
    "2006-08-23T01:00:00Z"^^xsd:dateTime .
<https://knowtrail.example/Document/w> ktp:n "007"^^xsd:integer ; ktp:m 7 ;
    ktp:yes "1"^^xsd:boolean ; ktp:no false ; ktp:day "2006-08-23Z"^^xsd:date .
"""
"""Literals that say the same in several ways, and some that nobody can know."""


@pytest.fixture
def written(database: Database, kept: Connection, tmp_path: Path) -> Connection:
    """Return a connection to a graph with the literals of `WRITTEN`."""

    def fill() -> None:
        kept.run_schema(EVERYTHING)
        path = tmp_path / "written.ttl"
        path.write_text(WRITTEN, "utf-8")
        import_rdf(kept, path)

    return database.holding("literals as they are written", fill)


def plain(triples: Any) -> set[tuple[str, ...]]:
    """Return triples as text, blank nodes alike."""
    shown = (tuple(str(term) for term in triple)[:3] for triple in triples)
    return {
        tuple("_" if "genid" in t or t.startswith("_:") else t for t in triple)
        for triple in shown
    }


@pytest.mark.parametrize("suffix", FORMATS)
def test_literals_come_back_as_they_were_written(
    written: Connection, tmp_path: Path, suffix: str
) -> None:
    """No number, date or truth value is written in another way than in the file."""
    file = tmp_path / f"again.{suffix}"
    forms = dict(
        zip(FORMATS, ("N_TRIPLES", "TURTLE", "JSON_LD", "RDF_XML"), strict=True)
    )

    export_rdf(written, file)

    form = getattr(pyoxigraph.RdfFormat, forms[suffix])
    found = plain(pyoxigraph.parse(file.read_bytes(), form))
    wanted = plain(pyoxigraph.parse(WRITTEN, pyoxigraph.RdfFormat.TURTLE))
    assert wanted - found == set()
    assert {t for t in found - wanted if t[0].startswith("<http://written")} == set()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("found", "rows"),
    [
        ("'01'^^xsd:integer", 1),
        ("01", 1),
        ("1", 1),
        ("'1'^^xsd:integer", 1),
        ("+1", 1),
        ("1e0", 1),
        ("1.00", 0),
        ("true", 1),
        ("'1'^^xsd:boolean", 2),
        ("'2006-08-23Z'^^xsd:date", 2),
        ("'TRUE'^^xsd:boolean", 1),
        ("007", 1),
        ("7", 1),
    ],
)
def test_a_pattern_finds_literals_as_they_are_written(
    written: Connection, found: str, rows: int
) -> None:
    """Live and in memory a literal is itself, and no other that says the same."""
    text = f"SELECT * {{ ?s ?p {found} }}"

    answers = [len(g.query(text)) for g in (live_graph(written), memory_graph(written))]

    assert answers == [rows, rows]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "condition",
    [
        "?o = 1",
        "?o != 1",
        "?o = 'x'^^:size",
        "?o != 'x'^^:size",
        "?o IN ('x', 1.0)",
        "?o NOT IN ('x', 1.0)",
        "?o > '2006-08-21'^^xsd:date",
        "?o < 5 || ?o > 'w'",
        "?o = 'x' || ?o != 'x'",
        "!(?o = :x)",
    ],
)
def test_conditions_hold_where_they_do_in_oxigraph(
    written: Connection, condition: str
) -> None:
    """Live and in memory a filter leaves the terms for which it holds elsewhere."""
    prefixes = f"PREFIX xsd: <{XSD}> PREFIX : <http://written.example/> "
    store = pyoxigraph.Store()
    wanted = {
        (str(one.subject), str(one.object).lower())
        for one in pyoxigraph.parse(WRITTEN, pyoxigraph.RdfFormat.TURTLE)
        if "/property/" not in str(one.predicate)
        and not isinstance(one.object, pyoxigraph.BlankNode)
        and store.query(
            f"{prefixes} ASK {{ FILTER({condition.replace('?o', str(one.object))}) }}"
        )
    }
    text = f"{prefixes} SELECT * {{ ?s :p ?o FILTER({condition}) }}"

    for graph in (live_graph(written), memory_graph(written)):
        found = {
            (row.s.n3(), row.o.n3().lower())
            for row in graph.query(text)
            if not isinstance(row.o, BNode)
        }
        assert found == wanted


def test_a_second_import_changes_nothing(odd: Connection, tmp_path: Path) -> None:
    """What is there already is found again, parallel relationships too."""
    file = tmp_path / "a.ttl"
    export_rdf(odd, file)
    before = picture(odd)

    report = import_rdf(odd, file)

    assert (report.nodes_created, report.relationships_created) == (0, 0)
    assert picture(odd) == before


def test_vectors_can_be_left_out(odd: Connection, tmp_path: Path) -> None:
    """Without embeddings the rest is the same, and vectors that are there stay."""
    file = tmp_path / "a.nt"
    export_rdf(odd, file, embeddings=False)
    before = picture(odd)
    odd.run_schema("MATCH (d:Document {id: 'd2'}) SET d.title = 'Other'")

    import_rdf(odd, file)

    odd.run_schema("MATCH (d:Document) REMOVE d.corpusVersion")
    odd.run_schema("MATCH (k:Corpus) REMOVE k.linkState")
    assert "Vector" not in file.read_text("utf-8")
    assert picture(odd) == before


def test_a_corpus_is_written_alone(odd: Connection, tmp_path: Path) -> None:
    """Only what belongs to the corpus is written, with what leads from it to it."""
    file = tmp_path / "a.nt"
    odd.run_schema("CREATE (:Document {id: 'x', corpus: 'other', title: 'Elsewhere'})")

    report = export_rdf(odd, file, corpus="tales of ü")

    text = file.read_text("utf-8")
    assert report.nodes == 6
    assert "Elsewhere" not in text
    assert "Custodian" not in text
    assert "rel/IN_CORPUS" in text


def test_unknown_corpus_and_bad_places_are_refused(
    odd: Connection, tmp_path: Path
) -> None:
    """Mistakes are told before anything is written."""
    file = tmp_path / "a.nt"

    with pytest.raises(InputError, match="No corpus"):
        export_rdf(odd, file, corpus="nope")
    with pytest.raises(InputError, match="format"):
        export_rdf(odd, tmp_path / "a.docx")
    with pytest.raises(StorageError, match="folder"):
        export_rdf(odd, tmp_path / "nowhere" / "a.nt")

    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_the_old_file(odd: Connection, tmp_path: Path) -> None:
    """What cannot be written whole is not written at all."""
    file = tmp_path / "a.rdf"
    file.write_text("old", "utf-8")
    odd.run_schema(
        "CREATE (:Resource {uri: 'http://ex.org/q', ex__name: $text})",
        text="\x07^^xsd__decimal",
    )

    with pytest.raises(RdfError, match="another format"):
        export_rdf(odd, file)

    assert file.read_text("utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.rdf"]


BROKEN = {
    "a.nt": ("<urn:a> <urn:b> <urn:c> .\n" * 3 + "<urn:a> <urn:b> .\n", "line 4"),
    "b.nt": ('<urn:a> <urn:b> "x\\ud800" .\n', "line 1"),
    "a.ttl": ("@prefix e: <urn:e/> .\ne:a e:b e:c .\ne:a e:b \n\n ; ; ] .\n", "line"),
    "b.ttl": ("<urn:a> <urn:b> 'unended .\n", "line 1"),
    "c.ttl": ("<urn:a> <urn:b> nope:c .\n", "line 1"),
    "a.rdf": ("<?xml version='1.0'?>\n<rdf:RDF>\n</rdf>", "line"),
    "b.rdf": ("", "line 1"),
    "a.jsonld": (
        '{"@context": {}, "@graph": [\n{"@id": "urn:a"},\n{oops\n]}',
        "line 3",
    ),
    "b.jsonld": ('{"@context": "http://127.0.0.1:1/c", "@id": "urn:a"}', "elsewhere"),
    "c.jsonld": ('{"@context": {}, "@graph": [\n{"@id": "urn:a"}', "line 2"),
}


def test_a_broken_file_stores_nothing(odd: Connection, tmp_path: Path) -> None:
    """The error has the line, and the graph is as it was."""
    good = "<urn:one> <urn:two> <urn:three> .\n"
    before = picture(odd)

    for name, (text, why) in BROKEN.items():
        file = tmp_path / name
        file.write_text(good + text if name == "a.ttl" else text, "utf-8")
        with pytest.raises(RdfError, match=why):
            import_rdf(odd, file)

    assert picture(odd) == before


LONG = "x" * 9_000
TOO_LONG = {
    "a town": (
        f'<{BASE}Custodian/1> <https://schema.org/addressLocality> "{LONG}" .',
        "The city of",
    ),
    "a property of its own": (
        f'<urn:c> <{BASE}property/region> "{LONG}" .\n'
        f"<urn:c> a <{BASE}ontology/heritage#Custodian> .",
        "The region of urn:c",
    ),
    "a subject": (f'<urn:{LONG}> <urn:b> "c" .', "The IRI 'urn:xxx"),
    "an object": (f"<urn:a> <urn:b> <urn:{LONG}> .", "The IRI 'urn:xxx"),
}


def test_what_no_index_holds_is_refused_before_anything_is_stored(
    odd: Connection, tmp_path: Path
) -> None:
    """The server would refuse it in the middle; a long text elsewhere is stored."""
    file, fits = tmp_path / "long.ttl", tmp_path / "fits.nt"
    fits.write_text(
        f'<{BASE}Custodian/1> <https://schema.org/description> "{LONG}" .', "utf-8"
    )
    before = picture(odd)

    for text, why in TOO_LONG.values():
        file.write_text(f"<urn:a> <urn:b> <urn:c> .\n{text}\n", "utf-8")
        with pytest.raises(RdfError, match=why):
            import_rdf(odd, file)

    assert picture(odd) == before
    assert import_rdf(odd, fits).nodes_created == 1


def test_a_file_that_is_not_text_is_refused(odd: Connection, tmp_path: Path) -> None:
    """Bytes that are not UTF-8, and files that are not there, are told."""
    file = tmp_path / "a.nt"
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(RdfError, match="UTF-8"):
        import_rdf(odd, file)
    with pytest.raises(InputError, match="cannot be read"):
        import_rdf(odd, tmp_path / "missing.nt")


FOREIGN = """
@prefix ex: <http://ex.org/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:ann a foaf:Person ; foaf:name "Ann"@en, "Anne"@fr ; foaf:age 30, 31 ;
  ex:height 1.70 ; ex:born "1990-02-03"^^xsd:date ; foaf:knows ex:bob,
    [ foaf:name "C" ] .
ex:list ex:items ( 1 "two" ) .
"""


def test_rdf_of_others_is_stored_as_neosemantics_does(
    empty: Connection, tmp_path: Path
) -> None:
    """IRIs become :Resource nodes, prefixes shorten names; twice is like once."""
    file = tmp_path / "a.ttl"
    file.write_text(FOREIGN, "utf-8")

    first, second = import_rdf(empty, file), import_rdf(empty, file)

    (row,) = empty.query(
        "MATCH (n:Resource:foaf__Person {uri: 'http://ex.org/ann'})-[:foaf__knows]->(b)"
        " RETURN n.foaf__name AS names, n.foaf__age AS ages, n.ex__height AS height, "
        "count(b) AS knows"
    )
    assert row == {
        "names": ["Ann@en", "Anne@fr"],
        "ages": [30, 31],
        "height": "1.70^^xsd__decimal",
        "knows": 2,
    }
    assert first.nodes_created > 0
    assert (second.nodes_created, second.relationships_created) == (0, 0)
    expected = Graph().parse(file)
    live = live_graph(empty)
    assert len(list(live)) == len(expected)
    grounded = {t for t in expected if not any(isinstance(x, BNode) for x in t)}
    assert grounded <= set(live)


def test_foreign_custodians_get_their_classes(
    empty: Connection, tmp_path: Path
) -> None:
    """A custodian of another file has its class made, and the values of its kind."""
    file = tmp_path / "a.ttl"
    file.write_text(
        f"@prefix hc: <{BASE}ontology/heritage#> . @prefix s: <https://schema.org/> .\n"
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
        "<http://ex.org/m> a hc:Custodian, hc:Museum ; s:name 'M' ; "
        "hc:annualBudget 12.5 ; s:foundingDate '1850'^^xsd:gYear ; s:telephone '1' .\n",
        "utf-8",
    )

    import_rdf(empty, file)

    (row,) = empty.query(
        "MATCH (c:Custodian)-[:INSTANCE_OF]->(k:OntologyClass) RETURN c.uri AS uri, "
        "c.name AS name, c.budget AS budget, c.founded AS founded, k.id AS class, "
        "c.s__telephone AS telephone"
    )
    assert row == {
        "uri": "http://ex.org/m",
        "name": "M",
        "budget": 12.5,
        "founded": "1850",
        "class": f"{BASE}ontology/heritage#Museum",
        "telephone": "1",
    }


def test_relationships_to_nowhere_are_counted(
    empty: Connection, tmp_path: Path
) -> None:
    """A relationship to a node of ours that is not there is left out, and said."""
    file = tmp_path / "a.nt"
    file.write_text(
        f"<{BASE}Chunk/a> <{BASE}rel/NEXT_CHUNK> <{BASE}Chunk/gone> .\n", "utf-8"
    )

    report = import_rdf(empty, file)

    assert (report.missing, report.relationships) == (1, 0)


SCALARS = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.datetimes()
    | st.times()
)
LISTS = st.one_of(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=4),
    st.lists(st.integers(-5, 5), max_size=4),
    st.lists(st.floats(), min_size=1, max_size=4),
    st.lists(st.booleans(), max_size=3),
)
KEYS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@pytest.mark.parametrize("suffix", FORMATS)
@given(rows=st.lists(st.dictionaries(KEYS, SCALARS | LISTS, max_size=4), max_size=4))
@settings(
    max_examples=amount(3, 8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_value_is_read_back(
    empty: Connection,
    tmp_path: Path,
    suffix: str,
    rows: list[dict[str, Any]],
) -> None:
    """Whatever a property is called and holds, it comes back as it was."""
    reserved = {"id", "uri", "dimensions"}
    held = [{k: v for k, v in row.items() if k not in reserved} for row in rows]
    empty.run_schema(EVERYTHING)
    empty.run_schema(
        "UNWIND $rows AS row CREATE (n:Fact {id: row.id})-[r:STATES]->(n) "
        "SET n += row.held SET r = row.held",
        rows=[{"id": f"{i}/ü?#%", "held": row} for i, row in enumerate(held)],
    )
    file = tmp_path / f"a.{suffix}"
    before = picture(empty)
    export_rdf(empty, file)
    empty.run_schema(EVERYTHING)

    import_rdf(empty, file)

    assert picture(empty) == before


@pytest.mark.thorough
def test_files_are_written_and_read_in_little_memory(
    empty: Connection, tmp_path: Path
) -> None:
    """A graph four times as large takes no more memory to write and to read."""
    make = (
        "UNWIND range($low, $high) AS i CREATE (:Document {id: 'd' + i, "
        "title: 'A title of some length, number ' + i, text: 'So it goes, ' + i})"
    )
    peaks = []
    import_rdf(empty, _warm(tmp_path))
    for low, high in ((1, 700), (701, 2800)):
        empty.run_schema(make, low=low, high=high)
        file = tmp_path / f"{high}.ttl"
        tracemalloc.start()
        export_rdf(empty, file)
        import_rdf(empty, file)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 1.5 * peaks[0]


def _warm(folder: Path) -> Path:
    """Return a file whose import loads what every import needs."""
    file = folder / "warm.ttl"
    file.write_text(f"<{BASE}Chunk/a> <{BASE}property/x> 1 .\n", "utf-8")
    return file

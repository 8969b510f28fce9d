"""SPARQL over the live graph against rdflib's memory store and against exporting.

The graph has custodians as `ingest custodians` stores them (generated: names, cities,
types, years, budgets). The first table has SPARQL as text, which both sides read anew;
the second one the queries of the template pipeline as it asks them: read before, with
their slots bound. Those that find nothing take a trip to the server and hardly more;
what an empty trip takes stands below. Both sides give the same rows, which is checked.
"Exported first" is what it takes to read the graph into rdflib's memory store, and then
to ask there. At the end the memory of this process is measured while the live store
reads graphs of two sizes.
"""

from __future__ import annotations

import random
import statistics
import time
import tracemalloc
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from measure import MIB, Table, served, spread
from rdflib import Literal
from sparql_templates import asked

from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.rdf import live_graph, memory_graph
from knowtrail.retrieval.specificity import open_pipeline

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from measure import Server

    from knowtrail.graph.db.connection import Connection

    Ask = Callable[[Any], Counter[Any]]

CUSTODIANS = 7_668
TYPES = {"L": 0.62, "M": 0.27, "A": 0.07, "G": 0.04}
CLASSES = {"L": "Library", "M": "Museum", "A": "Archive", "G": "Gallery"}
STORE = """
UNWIND $rows AS row
MATCH (k:OntologyClass {id: row.className})
CREATE (c:Custodian)-[:INSTANCE_OF]->(k)
SET c = row
"""
QUERIES: dict[str, tuple[str, dict[str, str]]] = {
    "type and city": (
        "SELECT DISTINCT ?c ?name { ?c schema:addressLocality ?city ; "
        "hc:institutionType ?type ; schema:name ?name } ORDER BY ?name ?c LIMIT 1000",
        {"city": "City 7", "type": "M"},
    ),
    "type and region": (
        "SELECT DISTINCT ?c ?name { ?c schema:addressRegion ?region ; "
        "hc:institutionType ?type ; schema:name ?name } ORDER BY ?name ?c LIMIT 1000",
        {"region": "Region 3", "type": "L"},
    ),
    "type and country": (
        "SELECT DISTINCT ?c ?name { ?c hc:countryCode ?country ; "
        "hc:institutionType ?type ; schema:name ?name } ORDER BY ?name ?c LIMIT 1000",
        {"country": "GB", "type": "L"},
    ),
    "class and city": (
        "SELECT ?c ?name { ?c a hc:Archive ; schema:addressLocality ?city ; "
        "schema:name ?name }",
        {"city": "City 7"},
    ),
    "all in a city": (
        "SELECT ?c ?name ?type { ?c schema:addressLocality ?city ; schema:name ?name ; "
        "hc:institutionType ?type OPTIONAL { ?c schema:foundingDate ?founded } }",
        {"city": "City 11"},
    ),
    "count of a type": (
        "SELECT (COUNT(DISTINCT ?c) AS ?n) { ?c hc:institutionType ?type }",
        {"type": "M"},
    ),
    "count by type": (
        "SELECT ?type (COUNT(DISTINCT ?c) AS ?n) { ?c hc:institutionType ?type } "
        "GROUP BY ?type",
        {},
    ),
    "name": (
        "SELECT ?c ?n { ?c a hc:Custodian ; schema:name ?n "
        "FILTER(CONTAINS(LCASE(?n), ?name)) }",
        {"name": "house 4321"},
    ),
    "identifier": (
        "SELECT ?c ?name { { ?c hc:isil ?id } UNION { ?c hc:ghcid ?id } "
        "?c schema:name ?name }",
        {"id": "GB-4321"},
    ),
    "oldest": (
        "SELECT ?c ?name ?d { ?c hc:institutionType ?type ; schema:name ?name ; "
        "schema:foundingDate ?d } ORDER BY ?d ?c LIMIT 10",
        {"type": "A"},
    ),
    "budget": (
        "SELECT ?c ?name ?b { ?c hc:annualBudget ?b ; schema:name ?name "
        "FILTER(?b >= 9500000) }",
        {},
    ),
    "two cities": (
        "SELECT ?city (COUNT(DISTINCT ?c) AS ?n) { VALUES ?city { 'City 1' 'City 2' } "
        "?c schema:addressLocality ?city } GROUP BY ?city",
        {},
    ),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--custodians", type=int, help=f"(default {CUSTODIANS:,})")
    parser.add_argument("--rounds", type=int, help="of all queries (default 7)")


def run(given: argparse.Namespace) -> None:
    """Ask both stores in turn and print the tables."""
    count = given.custodians or (500 if given.small else CUSTODIANS)
    rounds = given.rounds or (1 if given.small else 7)
    with served() as server:
        connection = server.connection
        apply_schema(connection)
        _fill(connection, 0, count)
        server.quiet()
        opened = _opened(server)
        begin = time.perf_counter()
        memory = memory_graph(connection)
        exported = time.perf_counter() - begin
        live = live_graph(connection)
        data = f"{count:,} custodians, {len(memory):,} triples, {rounds} rounds"
        texts = _compared(f"sparql: {data}", _texts(live), live, memory, rounds)
        texts.print(server)
        table = _compared(f"templates: {data}", asked(), live, memory, rounds)
        table.notes += [
            f"An empty trip, RETURN 1 on the same connection: {_trips(connection)} ms; "
            "no live answer takes less.\n",
            f"Exported first: {exported:.2f} s to read the graph before the first "
            "question (wanted: more than all live answers take).\n",
            opened,
            _memory(connection, count),
        ]
        table.print(server)


def _opened(server: Server) -> str:
    """Say what it takes to open the pipeline of templates, the second time."""
    for _ in range(2):
        took = server.time(
            lambda: open_pipeline(server.connection, server.settings, record=False)
        )
    return (
        f"Opening the pipeline, which reads every name: {took.wall:.2f} s, "
        f"{took.own:.2f} CPU s of this process, {took.server or 0:.2f} of the server.\n"
    )


def _compared(
    title: str, asks: dict[str, Ask], live: Any, memory: Any, rounds: int
) -> Table:
    """Ask both stores in turn and return the table."""
    table = Table(
        title=f"{title}; milliseconds",
        columns=("query", "rows", "live", "in memory", "ratio"),
    )
    total = other = 0.0
    for name, (rows, there, here) in _ask(asks, live, memory, rounds).items():
        table.add(
            name,
            str(rows),
            spread(there, "{:.1f}"),
            spread(here, "{:.2f}"),
            f"{statistics.median(there) / statistics.median(here):.2f}",
        )
        total += statistics.median(there) / 1000
        other += statistics.median(here) / 1000
    table.notes.append(
        f"All of them: live {total:.2f} s, in memory {other:.2f} s, ratio "
        f"{total / other:.2f} (wanted: at most 5).\n"
    )
    return table


def _fill(connection: Connection, first: int, count: int) -> None:
    """Store custodians and their classes."""
    rng = random.Random(first)
    connection.run_schema(
        "UNWIND $rows AS row MERGE (k:OntologyClass {id: row.id}) SET k += row",
        rows=[
            {
                "id": name,
                "name": name,
                "uri": f"https://knowtrail.example/ontology/heritage#{name}",
            }
            for name in CLASSES.values()
        ],
    )
    rows = [_custodian(rng, number) for number in range(first, first + count)]
    for place in range(0, len(rows), 1000):
        connection.run_schema(STORE, rows=rows[place : place + 1000])


def _custodian(rng: random.Random, number: int) -> dict[str, Any]:
    """Return the properties of a custodian."""
    kind = rng.choices(list(TYPES), list(TYPES.values()))[0]
    row: dict[str, Any] = {
        "id": f"custodian-{number}",
        "name": f"{CLASSES[kind]} of Harbour House {number}",
        "institutionType": kind,
        "city": f"City {int(rng.paretovariate(0.6)) % 900}",
        "region": f"Region {number % 12}",
        "subregionCode": f"GB-R{number % 12}",
        "countryCode": "GB",
        "isil": f"GB-{number}",
        "className": CLASSES[kind],
        "source": "generated",
        "typeConfidence": 0.9,
        "url": f"https://house-{number}.example/",
    }
    if number % 3 == 0:
        row["founded"] = str(rng.randint(1500, 2020))
        row["foundedYear"] = int(row["founded"])
    if number % 5 == 0:
        row["budget"] = round(rng.uniform(1e4, 1e7), 2)
    return row


def _texts(live: Any) -> dict[str, Ask]:
    """Return what asks each query of `QUERIES`, as text."""
    names = dict(live.namespaces())

    def rows(text: str, slots: dict[str, str], graph: Any) -> Counter[Any]:
        bound = {key: Literal(value) for key, value in slots.items()}
        result = graph.query(text, initBindings=bound, initNs=names)
        return Counter(frozenset(row.items()) for row in result.bindings)

    return {name: partial(rows, text, slots) for name, (text, slots) in QUERIES.items()}


def _ask(
    asks: dict[str, Ask], live: Any, memory: Any, rounds: int
) -> dict[str, tuple[int, list[float], list[float]]]:
    """Ask everything in turn; return rows and milliseconds of both sides."""
    took: dict[str, tuple[int, list[float], list[float]]] = {}
    for number in range(rounds + 1):
        for name, ask in asks.items():
            answers = []
            for side, graph in enumerate((live, memory)):
                begin = time.perf_counter()
                answers.append(ask(graph))
                milliseconds = 1000 * (time.perf_counter() - begin)
                if number:
                    held = took.setdefault(name, (answers[0].total(), [], []))
                    (held[2] if side else held[1]).append(milliseconds)
            assert answers[0] == answers[1], name
    return took


def _trips(connection: Connection) -> str:
    """Return what it takes to ask the server for nothing, in milliseconds."""
    run = live_graph(connection).store
    took = []
    for number in range(120):
        begin = time.perf_counter()
        list(run.run()("RETURN 1", {}))  # type: ignore[attr-defined]
        if number >= 20:
            took.append(1000 * (time.perf_counter() - begin))
    return spread(took)


def _memory(connection: Connection, count: int) -> str:
    """Say what the live store holds at most while it reads the graph, at two sizes."""
    text = "SELECT (COUNT(*) AS ?n) { ?c a hc:Custodian ; schema:name ?name }"

    def peak() -> float:
        tracemalloc.start()
        list(live_graph(connection, seconds=300).query(text))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top / MIB

    before = peak()
    _fill(connection, count, count * 2)
    after = peak()
    return (
        f"Memory at most while every name is read: {before:.1f} MiB for {count:,}, "
        f"{after:.1f} MiB for {3 * count:,} (wanted: the same)."
    )

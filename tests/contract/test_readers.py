"""Readers give the same walks: memory, Neo4j and snapshots, asynchronously too."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowtrail.graph.db.connection import AsyncConnection, Capabilities, Connection
from knowtrail.graph.db.schema import apply_schema, delete_data
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import DatabaseError
from knowtrail.ingest.keys import content_key, normalise_title
from knowtrail.retrieval.algorithms import (
    ALGORITHMS,
    DETERMINISTIC,
    ORDERED,
    PUBLISHED_ALGORITHMS,
    algorithm,
)
from knowtrail.retrieval.driving import arun, run
from knowtrail.retrieval.filters import parse_filter
from knowtrail.retrieval.projection import Projection
from knowtrail.retrieval.protocols import (
    Nearest,
    ProjectionRequest,
    TermsRequest,
    WalkOptions,
    anchor_hits,
)
from knowtrail.retrieval.readers import AsyncCypherReader, CypherReader
from knowtrail.retrieval.readers.axes import _KEPT_AXES
from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.folder import need_snapshot
from knowtrail.retrieval.snapshot.source import CorpusSource
from tests.conformance import (
    GraphReaderConformance,
    ScriptedModel,
    differing,
    random_graph,
    random_query,
)
from tests.databases import allow_vectors, plan_steps
from tests.memory_reader import MemoryReader
from tests.snapshots import opened
from tests.tiers import amount

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.readers import SnapshotReader
    from tests.memory_reader import MemoryGraph

pytestmark = pytest.mark.forgets

BUDGET = WalkOptions(max_sentences=25, question="Which way?")
MODEL: Any = ScriptedModel()
_WRITE = """
MERGE (k:Corpus {name: $corpus})
WITH k
UNWIND $documents AS document
MERGE (d:Document {id: document.id})
SET d = document.properties, d.corpus = $corpus
MERGE (d)-[:IN_CORPUS]->(k)
FOREACH (name IN document.themes |
  MERGE (t:Theme {id: $corpus + name}) SET t.name = name, t.corpus = $corpus
  MERGE (d)-[:HAS_THEME]->(t))
FOREACH (name IN document.categories |
  MERGE (t:Category {id: $corpus + name}) SET t.name = name, t.corpus = $corpus
  MERGE (d)-[:IN_CATEGORY]->(t))
WITH d, document
UNWIND document.chunks AS chunk
MERGE (c:Chunk {id: chunk.properties.id})
SET c = chunk.properties
MERGE (c)-[:FROM_DOCUMENT]->(d)
WITH c, chunk
CALL db.create.setNodeVectorProperty(c, 'embedding', chunk.vector)
WITH c, chunk
UNWIND chunk.sentences AS sentence
MERGE (s:Sentence {id: sentence.properties.id})
SET s = sentence.properties
MERGE (c)-[:HAS_SENTENCE]->(s)
WITH s, sentence
CALL db.create.setNodeVectorProperty(s, 'embedding', sentence.vector)
"""
_TERMS = """
UNWIND $rows AS row
MATCH (c:Chunk {id: row.chunk})
UNWIND row.names AS name
MERGE (t:Term {id: $corpus + name}) SET t.corpus = $corpus, t.name = name
MERGE (c)-[:NAMES]->(t)
"""
_EDGES = """
UNWIND $edges AS edge
MATCH (a:Chunk {id: edge.source}), (b:Chunk {id: edge.target})
MERGE (a)-[r:SIMILAR_TO]->(b)
SET r.rank = edge.rank, r.scope = edge.scope
"""


def _sentence_row(sentence: Any) -> dict[str, Any]:
    """Return a sentence as a parameter."""
    return {
        "properties": {
            "id": sentence.id,
            "text": sentence.text,
            "index": sentence.index,
            "startChar": sentence.start_char,
            "endChar": sentence.end_char,
        },
        "vector": sentence.vector.tolist(),
    }


def store(connection: Connection, graph: MemoryGraph, corpus: str = "small") -> None:
    """Write a graph in the documented model, with plain Cypher."""
    documents: dict[str, dict[str, Any]] = {}
    place = {chunk.id: chunk for chunk in graph.chunks}
    for chunk, vector in zip(graph.chunks, graph.vectors, strict=True):
        properties = dict(graph.documents[chunk.document_id])
        row = documents.setdefault(
            chunk.document_id,
            {
                "id": chunk.document_id,
                "themes": properties.pop("themes"),
                "categories": properties.pop("categories"),
                "properties": {
                    **properties,
                    "id": chunk.document_id,
                    "titleKey": normalise_title(chunk.title),
                },
                "chunks": [],
            },
        )
        row["chunks"].append({
            "properties": {
                "id": chunk.id,
                "corpus": corpus,
                "text": chunk.text,
                "index": chunk.index,
                "firstSentence": chunk.first_sentence,
                "lastSentence": chunk.last_sentence,
                "startChar": chunk.start_char,
                "endChar": chunk.end_char,
            },
            "vector": vector.tolist(),
            "sentences": [_sentence_row(s) for s in graph.sentences[chunk.id]],
        })
    edges = [
        {
            "source": source,
            "target": target,
            "rank": rank,
            "scope": "intra"
            if place[source].document_id == place[target].document_id
            else "inter",
        }
        for source, targets in graph.edges.items()
        for rank, target in enumerate(targets)
    ]
    driver, name = connection.driver, connection.database
    driver.execute_query(
        _WRITE, documents=list(documents.values()), corpus=corpus, database_=name
    )
    driver.execute_query(_EDGES, edges=edges, database_=name)
    rows = [{"chunk": i, "names": list(names)} for i, names in graph.names.items()]
    driver.execute_query(_TERMS, rows=rows, corpus=corpus, database_=name)
    driver.execute_query("CALL db.awaitIndexes(60)", database_=name)


class TestMemoryReader(GraphReaderConformance):
    """The memory reader, against itself: the measure is whole."""

    @pytest.fixture
    def open_reader(self) -> Callable[..., Any]:
        """Return a function that opens a graph."""
        return lambda graph, given: MemoryReader(graph, filter=given)


class TestSnapshotReader(GraphReaderConformance):
    """The snapshot reader, over files made from memory."""

    @pytest.fixture
    def open_reader(self, tmp_path: Path) -> Callable[..., Any]:
        """Return a function that makes a snapshot of a graph and opens it."""
        return lambda graph, given: opened(tmp_path, graph, given)


@pytest.fixture(scope="module")
def database(session_connection: Connection) -> Connection:
    """Return a database with our schema and vector indexes of 12 dimensions."""
    delete_data(session_connection)
    allow_vectors(session_connection, 12)
    apply_schema(session_connection, dimensions=12)
    return session_connection


@pytest.fixture
def empty(database: Connection) -> Connection:
    """Return that database without nodes."""
    database.driver.execute_query("MATCH (n) DETACH DELETE n", database_="neo4j")
    return database


def without_search(connection: Connection) -> Connection:
    """Return a connection that takes its server for the older line."""
    older = Connection(connection.driver, database=connection.database)
    older._capabilities = Capabilities(version=(5, 26, 30), edition="community")
    return older


@pytest.mark.integration
class TestCypherReader(GraphReaderConformance):
    """The Cypher reader, on a real server."""

    @pytest.fixture
    def open_reader(self, empty: Connection) -> Callable[..., Any]:
        """Return a function that stores a graph and opens it."""

        def open_graph(graph: MemoryGraph, given: Filter | None) -> CypherReader:
            store(empty, graph)
            return CypherReader(empty, corpus="small", filter=given)

        return open_graph


@pytest.mark.integration
@pytest.mark.thorough
class TestCypherReaderWithoutSearch(GraphReaderConformance):
    """The Cypher reader as it works where the index cannot be filtered inside."""

    @pytest.fixture
    def open_reader(self, empty: Connection) -> Callable[..., Any]:
        """Return a function that stores a graph and opens it."""

        def open_graph(graph: MemoryGraph, given: Filter | None) -> CypherReader:
            store(empty, graph)
            return CypherReader(without_search(empty), corpus="small", filter=given)

        return open_graph


@pytest.mark.integration
@pytest.mark.thorough
class TestSnapshotReaderOfDatabase(GraphReaderConformance):
    """The snapshot reader, over files copied from a real server."""

    @pytest.fixture
    def open_reader(self, empty: Connection, tmp_path: Path) -> Callable[..., Any]:
        """Return a function that stores a graph, copies it and opens the copy."""

        def open_graph(graph: MemoryGraph, given: Filter | None) -> SnapshotReader:
            store(empty, graph)
            build_snapshot(tmp_path, CorpusSource(empty, "small"))
            return need_snapshot(tmp_path, "small", 0, filter=given)

        return open_graph


@pytest.fixture(scope="module")
def graphs() -> tuple[MemoryGraph, MemoryGraph]:
    """Return a large graph and a small one that is like it."""
    return random_graph(1, sentences=[60] * 12), random_graph(2, sentences=(20, 12))


@pytest.fixture
def mixed(
    database: Connection, graphs: tuple[MemoryGraph, MemoryGraph]
) -> tuple[Connection, MemoryGraph, MemoryGraph]:
    """Return a database with both as corpora, stored unless they still are there.

    Tests only read them, and whoever needs an empty database clears it.
    """
    large, small = graphs
    if not database.query("MATCH (k:Corpus {name: 'large'}) RETURN k"):
        database.driver.execute_query("MATCH (n) DETACH DELETE n", database_="neo4j")
        store(database, large, "large")
        store(database, small, "small")
    return database, large, small


@pytest.mark.thorough
@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "search"),
    [
        ("large", True),
        ("small", False),
        pytest.param("large", False, marks=pytest.mark.thorough),
        pytest.param("small", True, marks=pytest.mark.thorough),
    ],
)
def test_a_corpus_is_walked_as_if_it_were_alone(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph], name: str, search: bool
) -> None:
    """Beside another corpus, in the same index, the walks are those from memory."""
    connection, large, small = mixed
    graph = {"large": large, "small": small}[name]
    connection = connection if search else without_search(connection)
    reader = CypherReader(connection, corpus=name)
    memory = MemoryReader(graph)

    def walked(reader: Any, walker: Any, number: int) -> Any:
        options = replace(BUDGET, anchors=1 + number)
        trail = run(reader, walker.walk(random_query(number), options), MODEL)
        if walker.name == "auto":
            # Approximate search may differ at the end of a ranking, which `auto` counts
            # and which moves the scores of what is left a little; not its order.
            steps = tuple(replace(s, considered=unscored(s)) for s in trail.steps)
            trail = replace(trail, counts={}, steps=steps)
        return replace(trail, ranking=())

    def unscored(step: Any) -> Any:
        return tuple(replace(c, score=0.0) for c in step.considered[:5])

    walks = [
        [walked(r, a, n) for a in ALGORITHMS.values() for n in range(4)]
        for r in (reader, memory)
    ]

    assert differing(*walks) == []


@pytest.mark.integration
def test_a_name_of_many_chunks_is_not_read_whole(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the members of a name only so many are read, and then filtered."""
    connection, large, _ = mixed
    nearest = Nearest(names=("cove",), vector=random_query(1), most=1000)
    given = parse_filter({"title": {"$ne": "Page 1 of 12"}})

    def members(passing: Filter | None = None) -> set[str]:
        reader = CypherReader(connection, corpus="large", filter=passing)
        return {*reader.terms((), (), members=True, nearest=nearest).named}

    every = {key for key, names in large.names.items() if "cove" in names}
    passing = {
        *MemoryReader(large, filter=given).terms((), ["cove"], members=True).named
    }
    assert members() == every
    assert members(given) == passing
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._LOOKED", 3)
    some = members()
    assert len(some) == 3
    assert some < every
    assert members(given) == some & passing
    reader = CypherReader(connection, corpus="large")
    request = TermsRequest(names=(), members=True, nearest=nearest)
    text, params = reader._reader._statements.terms(request)
    steps = plan_steps(connection, f"PROFILE {text}", params)
    reads = [s for s in steps if "NAMES]-(c)" in s["args"].get("Details", "")]
    assert sorted(step["args"]["Rows"] for step in reads) == [0, 3]


@pytest.mark.integration
async def test_asynchronous_walks_are_the_same(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph], server: Settings
) -> None:
    """The asynchronous reader gives what the synchronous one gives."""
    connection, _, _ = mixed
    given = parse_filter({"language": "en"})
    reader = CypherReader(connection, corpus="large", filter=given)
    walkers = [algorithm(n) for n in ALGORITHMS]
    walkers += [algorithm(n, published=True) for n in PUBLISHED_ALGORITHMS]

    async with await AsyncConnection.open(server) as asynchronous:
        twin = AsyncCypherReader(asynchronous, corpus="large", filter=given)
        found = [
            await arun(twin, walker.walk(random_query(3), BUDGET), MODEL)
            for walker in walkers
        ]

    expected = [run(reader, w.walk(random_query(3), BUDGET), MODEL) for w in walkers]
    assert differing(expected, found) == []


def trips(reader: CypherReader, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the statements that a reader runs from now on."""
    asked: list[str] = []
    connection = reader._reader._connection
    plain = connection.avalues

    async def values(text: str, params: dict[str, Any]) -> Any:
        asked.append(text)
        return await plain(text, params)

    monkeypatch.setattr(connection, "avalues", values)
    return asked


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", [n for n in DETERMINISTIC if n not in (*ORDERED, "basic_retrieval")]
)
@pytest.mark.parametrize("depth", [0, pytest.param(1, marks=pytest.mark.thorough), 2])
def test_a_hop_is_one_round_trip(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    depth: int,
) -> None:
    """A walk asks once for anchors and once for each chunk, or each level ahead."""
    connection, _, _ = mixed
    reader = CypherReader(connection, corpus="large")
    asked = trips(reader, monkeypatch)
    options = WalkOptions(max_sentences=25, lookahead=depth)

    trail = run(reader, ALGORITHMS[name].walk(random_query(5), options))

    assert len(trail.steps) > 1
    assert len(asked) <= 2 + max(1, depth) * (len(trail.steps) - 1)
    if depth == 0:
        assert len(asked) == 1 + len(trail.steps)


@pytest.mark.integration
@pytest.mark.parametrize("question", ["Which way to Blue Harbour?", "Why?"])
@pytest.mark.parametrize("chunks", [5, 10])
def test_names_are_followed_in_few_round_trips(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    chunks: int,
) -> None:
    """Anchors, their terms, the chunks that these lead to, and what is shown of them.

    Where more than five are wanted, the anchors come with texts of more. Chunks are
    opened a few more at a time than are wanted: those that overlap add no step.
    """
    connection, _, _ = mixed
    reader = CypherReader(connection, corpus="large")
    asked = trips(reader, monkeypatch)
    options = WalkOptions(max_sentences=None, max_chunks=chunks, question=question)

    trail = run(reader, ALGORITHMS["auto"].walk(random_query(5), options))

    opened = [text for text in asked if "HAS_SENTENCE" in text]
    fewest = 3 if "Blue" in question else 2
    assert len(trail.steps) == chunks
    assert len(opened) == 1
    assert len(asked) - len(opened) == fewest


@pytest.mark.integration
def test_several_anchors_take_few_round_trips(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are searched for until they are of five documents, and opened together."""
    connection, _, _ = mixed
    reader = CypherReader(connection, corpus="large")
    asked = trips(reader, monkeypatch)
    options = WalkOptions(max_sentences=25, anchors=5)

    trail = run(reader, ALGORITHMS["query_traversal"].walk(random_query(5), options))

    hops = sum(step.hop > 0 for step in trail.steps)
    opened = [text for text in asked if "HAS_SENTENCE" in text]
    assert len({step.chunk.title for step in trail.steps if step.hop == 0}) == 5
    assert len(opened) <= 2 + hops
    assert len(asked) - len(opened) <= 5


@pytest.fixture
def versioned(
    empty: Connection,
) -> tuple[Connection, MemoryGraph]:
    """Return a database with a corpus that has a version, as an ingest makes it."""
    graph = random_graph(18)
    store(empty, graph)
    empty.driver.execute_query(
        "MATCH (k:Corpus) SET k.version = 3, k.status = 'complete', "
        "k.createdAt = datetime(), k.dimensions = 12",
        database_="neo4j",
    )
    return empty, graph


def streams(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the statements that are streamed from now on."""
    asked: list[str] = []
    plain = connection.stream

    def stream(name: str, /, **params: Any) -> Any:
        asked.append(name.removesuffix("_lts"))
        return plain(name, **params)

    monkeypatch.setattr(connection, "stream", stream)
    return asked


@pytest.mark.integration
def test_axes_are_fitted_once_a_version(
    versioned: tuple[Connection, MemoryGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are kept with the corpus, and fitted anew for its next version."""
    connection, graph = versioned
    asked = streams(connection, monkeypatch)
    options = WalkOptions(max_sentences=30)
    walker = algorithm("triangulation_geometric_3d")

    def walk() -> Any:
        reader = CypherReader(connection, corpus="small")
        return run(reader, walker.walk(random_query(2), options))

    walks = [walk(), walk()]
    _KEPT_AXES.clear()
    walks.append(walk())
    connection.driver.execute_query(
        "MATCH (k:Corpus) SET k.version = 4", database_="neo4j"
    )
    walks.append(walk())

    expected = run(MemoryReader(graph), walker.walk(random_query(2), options))
    assert differing([expected] * 4, walks) == []
    assert asked == ["retrieval/projection_chunks"] * 2


@pytest.mark.integration
def test_axes_stay_in_the_process_where_nothing_may_be_written(
    versioned: tuple[Connection, MemoryGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who may only read gets the same walk, fitted once a process."""
    connection, _ = versioned
    asked = streams(connection, monkeypatch)

    def refuse(*_: Any, **__: Any) -> None:
        message = "You may only read."
        raise DatabaseError(message)

    monkeypatch.setattr(connection, "write", refuse)

    found = [
        CypherReader(connection, corpus="small").projection().explained.tolist()
        for _ in range(2)
    ]

    (row,) = connection.query("MATCH (k:Corpus) RETURN k.axes AS axes")
    assert found[0] == found[1]
    assert asked == ["retrieval/projection_chunks"]
    assert row["axes"] is None


@pytest.mark.integration
def test_axes_of_a_large_corpus_are_those_of_some_of_its_documents(
    empty: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are near those of all, and the same each time."""
    graph = random_graph(18, sentences=[3] * 400)
    spread = np.array([5, 3, 2, *[0.3] * 9])
    drawn = np.random.default_rng(4).standard_normal(graph.vectors.shape) * spread
    graph = replace(graph, vectors=drawn.astype(np.float32).astype(np.float64))
    store(empty, graph)
    ids = [{"id": name, "hash": content_key(name)} for name in graph.documents]
    empty.driver.execute_query(
        "UNWIND $ids AS row MATCH (d:Document {id: row.id}) SET d.id = row.hash",
        ids=ids,
        database_="neo4j",
    )
    empty.driver.execute_query(
        "MATCH (k:Corpus) SET k.chunks = $chunks, k.dimensions = 12",
        chunks=len(graph.chunks),
        database_="neo4j",
    )

    def fitted() -> Projection:
        return CypherReader(empty, corpus="small").projection()

    whole = fitted()
    monkeypatch.setattr("knowtrail.retrieval.readers.axes.SAMPLED", 200)
    some, again = fitted(), fitted()

    assert np.array_equal(some.packed(), again.packed())
    assert not np.array_equal(some.mean, whole.mean)
    likeness = np.abs((some.components * whole.components).sum(axis=1))
    assert likeness.min() > 0.95
    assert some.explained == pytest.approx(whole.explained, abs=0.1)


@pytest.mark.integration
def test_sums_for_fitted_axes_stay_in_the_process(
    versioned: tuple[Connection, MemoryGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preset refits for each question without reading the corpus again."""
    connection, graph = versioned
    asked = streams(connection, monkeypatch)
    walker = algorithm("triangulation_geometric_3d", published=True)

    walks = [
        run(
            CypherReader(connection, corpus="small"),
            walker.walk(random_query(n), BUDGET),
        )
        for n in range(3)
    ]

    memory = MemoryReader(graph)
    expected = [run(memory, walker.walk(random_query(n), BUDGET)) for n in range(3)]
    assert differing(expected, walks) == []
    assert asked == ["retrieval/projection_chunks", "retrieval/projection_sentences"]


@pytest.mark.integration
def test_a_hop_sends_no_more_of_a_larger_corpus(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes back is bounded by hits and edges, whatever the corpus holds."""
    connection, large, small = mixed
    sizes: dict[str, list[int]] = {}
    for name in ("large", "small"):
        reader = CypherReader(connection, corpus=name)
        server, sent = reader._reader._connection, sizes.setdefault(name, [])

        async def counted(
            *query: Any, plain: Any = server.avalues, sent: Any = sent
        ) -> Any:
            rows = await plain(*query)
            sent.append(len(json.dumps(rows, default=lambda v: v.to_native())))
            return rows

        monkeypatch.setattr(server, "avalues", counted)
        run(reader, ALGORITHMS["query_traversal"].walk(random_query(5), BUDGET))

    assert len(large.chunks) > 20 * len(small.chunks)
    assert max(sizes["large"][1:]) < 1.5 * max(sizes["small"][1:])


FIELDS = st.sampled_from([
    "title",
    "language",
    "document.words",
    "document.missing",
    "index",
    "chunk.text",
    "chunk_id",
    "theme",
    "category",
    "aliases",
])
SCALARS = st.sampled_from([
    "en",
    "Page 1 of 3",
    "Alias 1",
    "birds",
    "Category 0",
    "e",
    "PAGE",
    "",
]) | st.sampled_from([0, 1, 2, 100, 100.0, 150.5, True, False])
TESTS = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$lt", "$lte", "$gt", "$gte"]), SCALARS),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(SCALARS, max_size=3)),
    st.tuples(st.just("$between"), st.tuples(SCALARS, SCALARS).map(list)),
    st.tuples(
        st.sampled_from(["$like", "$ilike"]), SCALARS.filter(lambda v: type(v) is str)
    ),
).map(lambda pair: dict([pair]))
FILTERS = st.recursive(
    st.dictionaries(FIELDS, TESTS, min_size=1, max_size=2),
    lambda inner: st.builds(
        lambda word, parts: {word: parts},
        st.sampled_from(["$and", "$or"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=4,
)


@pytest.fixture
def filtered(empty: Connection) -> tuple[Connection, MemoryGraph]:
    """Return a database with one small corpus."""
    graph = random_graph(3)
    store(empty, graph)
    return empty, graph


MANY = [str(n) for n in range(10_000)]


@pytest.mark.integration
@pytest.mark.parametrize("passes", ["few", "most"])
def test_a_filter_may_have_ten_thousand_values(
    filtered: tuple[Connection, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
    passes: str,
) -> None:
    """It passes what it passes in memory, and is counted by each reader."""
    connection, graph = filtered
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._FEW", 5)
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._BROAD", set())
    few = {"title": {"$in": [graph.chunks[0].title, *MANY]}}
    most = {"chunk.index": {"$in": list(range(10_000))}, "theme": {"$nin": MANY}}
    parsed = parse_filter({"few": few, "most": most}[passes])
    readers = [
        CypherReader(connection, corpus="small", filter=parsed, state="now")
        for _ in range(2)
    ]
    asked = [trips(reader, monkeypatch) for reader in readers]

    found = [reader.anchors(random_query(1), 9) for reader in readers]

    expected = MemoryReader(graph, filter=parsed).anchors(random_query(1), 9)
    assert [set(each.ids) for each in found] == [set(expected.ids)] * 2
    assert ["collect(c) AS passing" in texts[0] for texts in asked] == [True, True]


@pytest.mark.integration
@settings(
    max_examples=amount(8, 200),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(FILTERS)
def test_a_filter_is_the_same_in_cypher_and_in_python(
    filtered: tuple[Connection, MemoryGraph], given_filter: dict[str, Any]
) -> None:
    """Generated filters pass the same chunks on the server and in memory."""
    connection, graph = filtered
    parsed = parse_filter(given_filter)
    query = random_query(1)

    found = CypherReader(connection, corpus="small", filter=parsed).anchors(query, 9)

    assert set(found.ids) == set(
        MemoryReader(graph, filter=parsed).anchors(query, 9).ids
    )


@pytest.mark.integration
@settings(
    max_examples=amount(6, 100),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    FILTERS,
    st.sampled_from([
        "anchors_search",
        "anchors_index",
        "anchors_scan",
        "expand",
        "terms_members",
    ]),
)
def test_every_statement_with_a_filter_can_be_planned(
    database: Connection, given_filter: dict[str, Any], name: str
) -> None:
    """Statements put together from generated filters pass EXPLAIN."""
    if name == "anchors_search" and not database.capabilities.search:
        name = "anchors_index"
    parsed = parse_filter(given_filter)
    assert parsed is not None
    predicate, params = parsed.cypher("n" if name == "expand" else "c")
    text = statement(f"retrieval/{name}").replace("true /* filter */", predicate)
    assert predicate in text
    if text.startswith("CYPHER 25"):
        text = text.replace("CYPHER 25", "CYPHER 25 EXPLAIN", 1)
    else:
        text = f"EXPLAIN {text}"

    values = {"corpus": "x", "vector": [1.0] * 12, "fetch": 1, "hits": 1, "ids": []}
    values |= {"names": [], "broad": [], "most": 1, "sample": 1, "looked": 1}
    database.query(text, {**values, **params})


@pytest.mark.integration
async def test_axes_are_fitted_once_by_many_at_once(
    versioned: tuple[Connection, MemoryGraph],
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of several tasks that want the axes of a version, one reads the vectors."""
    connection, _ = versioned
    _KEPT_AXES.clear()
    async with await AsyncConnection.open(server) as other:
        asked: list[str] = []
        plain = other.astream

        def stream(name: str, /, **params: Any) -> Any:
            asked.append(name)
            return plain(name, **params)

        monkeypatch.setattr(other, "astream", stream)
        reader = AsyncCypherReader(other, corpus="small")
        found = await asyncio.gather(
            *(reader.aanswer(ProjectionRequest()) for _ in range(4))
        )

    assert len(asked) == 1
    axes = [each for each in found if isinstance(each, Projection)]
    assert len(axes) == 4
    assert len({each.explained.tobytes() for each in axes}) == 1
    assert connection.query("MATCH (k:Corpus) RETURN k.axes AS axes")[0]["axes"]


@pytest.mark.integration
@pytest.mark.parametrize("asked", ["o brien O'Brien", "o brien O\u2019Brien"])
def test_names_with_an_apostrophe_are_found_by_words(
    empty: Connection, asked: str
) -> None:
    """However it is written, and in the possessive, which the index keeps whole."""
    graph = random_graph(5)
    store(empty, graph)
    texts = ("O'Brien sang.", "O\u2019Brien sang.", "O'Brien's song.", "A brig sank.")
    rows = [{"id": c.id, "text": t} for c, t in zip(graph.chunks, texts, strict=False)]
    empty.driver.execute_query(
        "UNWIND $rows AS row MATCH (c:Chunk {id: row.id}) SET c.text = row.text",
        rows=rows,
        database_="neo4j",
    )

    found = CypherReader(empty, corpus="small").anchors(random_query(1), 5, words=asked)

    assert set(found.by_words) == {row["id"] for row in rows[:3]}


@pytest.mark.integration
def test_what_few_chunks_pass_is_one_round_trip(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A filter begins at what passes; a title is found by its index."""
    connection, large, _ = mixed
    title = large.chunks[0].title
    parsed = parse_filter({"title": title})
    reader = CypherReader(connection, corpus="large", filter=parsed)
    asked = trips(reader, monkeypatch)

    found = reader.anchors(random_query(1), 5)

    wanted = MemoryReader(large, filter=parsed).anchors(random_query(1), 5)
    assert set(found.ids) == set(wanted.ids)
    assert found.complete == wanted.complete
    assert len(asked) == 1
    values = {"corpus": "large", "vector": [1.0] * 12, "hits": 50, "documents": False}
    values |= {"most": 50, "filter0": title, "filter1": title, "filter2": [title]}
    steps = plan_steps(connection, f"EXPLAIN {asked[0]}", values)
    assert "document:Document(corpus, titleKey)" in str(steps)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("given_filter", "index"),
    [
        ({"title": {"$in": ["Page 1 of 12", "x"]}}, "Document(corpus, titleKey)"),
        ({"category": "Category 3"}, "Category(corpus, name)"),
        ({"theme": {"$in": ["a", "b"]}}, "Theme(corpus, name)"),
        ({"chunk.index": {"$lt": 2}, "language": "en"}, "c:Chunk(corpus, index)"),
        ({"chunk.index": 2, "language": {"$ne": "en"}}, "c:Chunk(corpus, index)"),
        ({"language": "en", "document.year": 3}, "document:Document(corpus, year)"),
    ],
)
def test_a_filter_begins_at_what_has_an_index(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
    given_filter: dict[str, Any],
    index: str,
) -> None:
    """Titles, tags and indexed properties are sought, whatever is asked beside."""
    connection, large, _ = mixed
    apply_schema(connection, filters=["document.year", "chunk.index"])
    connection.run_schema("CALL db.prepareForReplanning()")
    parsed = parse_filter(given_filter)
    reader = CypherReader(connection, corpus="large", filter=parsed)
    asked: list[tuple[str, dict[str, Any]]] = []
    plain = reader._reader._connection.avalues

    async def values(text: str, params: dict[str, Any]) -> Any:
        asked.append((text, params))
        return await plain(text, params)

    monkeypatch.setattr(reader._reader._connection, "avalues", values)

    found = reader.anchors(random_query(1), 5)

    wanted = MemoryReader(large, filter=parsed).anchors(random_query(1), 5)
    assert set(found.ids) == set(wanted.ids)
    text, params = asked[0]
    assert index in str(plan_steps(connection, f"EXPLAIN {text}", params))


@pytest.mark.integration
@pytest.mark.parametrize("field", ["document.year", "chunk.index"])
@pytest.mark.parametrize(
    "test", [{"$eq": 3}, {"$gte": 3}, {"$in": [1, 3]}, {"$between": [1, 3]}]
)
def test_a_filter_by_an_indexed_property_begins_there(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
    field: str,
    test: dict[str, Any],
) -> None:
    """What passes is found by corpus and value, whatever else the corpus has."""
    connection, _, _ = mixed
    apply_schema(connection, filters=[field])
    connection.run_schema("CALL db.prepareForReplanning()")  # counts what is indexed
    parsed = parse_filter({field: test})
    reader = CypherReader(connection, corpus="large", filter=parsed)
    asked = trips(reader, monkeypatch)

    reader.anchors(random_query(1), 5)

    owner, name = field.split(".")
    values = {"corpus": "large", "vector": [1.0] * 12, "hits": 50, "documents": False}
    values |= {"texts": False, "anchors": 50, "most": 50}
    values |= {f"filter{n}": next(iter(test.values())) for n in range(3)}
    steps = str(plan_steps(connection, f"EXPLAIN {asked[0]}", values))
    called = "document:Document" if owner == "document" else "c:Chunk"
    assert f"{called}(corpus, {name})" in steps


@pytest.mark.integration
def test_what_many_chunks_pass_asks_the_index(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Above the bound the index is asked; the next request and reader know it."""
    connection, large, _ = mixed
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._FEW", 5)
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._BROAD", set())
    parsed = parse_filter({"sentence_start": {"$gte": 0}})
    readers = [
        CypherReader(connection, corpus="large", filter=parsed, state=state)
        for state in ("now", "now", "later", None)
    ]
    asked = [trips(reader, monkeypatch) for reader in readers]

    found = [readers[0].anchors(random_query(n), 1) for n in (1, 2)]
    found += [reader.anchors(random_query(3), 1) for reader in readers[1:]]

    expected = [
        MemoryReader(large, filter=parsed).anchors(random_query(n), 1)
        for n in (1, 2, 3, 3, 3)
    ]
    for got, wanted in zip(found, expected, strict=True):  # an index may miss one
        assert len(set(got.ids) & set(wanted.ids)) >= 0.9 * len(wanted.ids)
    counted = [sum("collect(c) AS passing" in t for t in texts) for texts in asked]
    assert counted == [1, 0, 1, 1]


@pytest.mark.integration
def test_anchors_that_pass_are_enough_though_texts_be_fewer(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The index is not asked again where it has anchors that pass, for more texts."""
    connection, large, _ = mixed
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._FEW", 5)
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._FIRST_FILTERED", 4)
    parsed = parse_filter({"chunk.index": {"$lt": 10}})
    reader = CypherReader(connection, corpus="large", filter=parsed)
    asked = trips(reader, monkeypatch)

    found = reader.anchors(random_query(1), 1, texts=100)

    passing = {chunk.id for chunk in large.chunks if chunk.index < 10}
    assert len(asked) == 2
    assert anchor_hits(1) <= len(found.texts) == len(found.ids) < 100 < len(passing)
    assert set(found.ids) < passing


@pytest.mark.integration
def test_what_passes_is_compared_alone_where_the_index_has_too_little_of_it(
    mixed: tuple[Connection, MemoryGraph, MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last statement begins at what passes, not at the corpus."""
    connection, large, _ = mixed
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._FEW", 5)
    monkeypatch.setattr("knowtrail.retrieval.protocols._FEWEST_HITS", 5)
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._FIRST_FILTERED", 1)
    monkeypatch.setattr("knowtrail.retrieval.readers.cypher._FILTERED", 2)
    parsed = parse_filter({"title": large.chunks[0].title})
    reader = CypherReader(connection, corpus="large", filter=parsed)
    asked = trips(reader, monkeypatch)

    found = reader.anchors(random_query(1), 1)

    assert len(asked) == 4
    assert "MATCH (document:Document)" in asked[-1]
    expected = MemoryReader(large, filter=parsed).anchors(random_query(1), 1)
    assert set(found.ids) == set(expected.ids)

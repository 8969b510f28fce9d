"""Walks and comparisons on a real server: recorded, compared, and bad input.

Most tests share a corpus; those that change it have their own, and stand at the end.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import (
    InputError,
    ModelError,
    SnapshotError,
    UnknownCorpusError,
)
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.models.language_models import load_language_model
from knowtrail.graph.settings import Settings
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval.algorithms import DETERMINISTIC, ORDERED
from knowtrail.retrieval.driving import Answering
from knowtrail.retrieval.readers.cypher import CypherReader
from knowtrail.retrieval.readers.opening import OpenReader
from knowtrail.retrieval.search import search
from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.source import CorpusSource
from knowtrail.retrieval.traverse import acompare, atraverse, compare, traverse
from tests.command_line import CommandLine
from tests.corpora import ListSource, article

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.protocols import (
        Candidates,
        Request,
        Response,
        Vector,
        Visit,
    )

pytestmark = pytest.mark.integration

EMBEDDER = HashEmbedder(32)
QUESTION = "What shapes the glacier near the harbour?"
GUIDED = "llm_guided_traversal"
COUNT = "MATCH (n:Query|Traversal|Step) RETURN count(n) AS n"
NO_MODEL = load_language_model(
    "none", settings=Settings(ollama_url="http://127.0.0.1:1")
)


def stored(connection: Connection) -> int:
    """Return how many nodes of walks there are."""
    return int(connection.query(COUNT)[0]["n"])


def ingest(
    connection: Connection, settings: Settings, name: str, documents: list[RawDocument]
) -> None:
    """Ingest documents into a corpus."""
    ingest_corpus(
        connection,
        [ListSource(documents)],
        corpus=name,
        embedder=EMBEDDER,
        settings=settings,
        options=IngestOptions(themes="none"),
    )


@pytest.fixture(scope="module")
def corpus(emptied: Connection, server: Settings) -> Connection:
    """Return a database with a corpus of eight articles."""
    ingest(emptied, server, "isles", [article(n) for n in range(8)])
    return emptied


@pytest.fixture
def isles(corpus: Connection) -> Connection:
    """Return the shared corpus, without walks."""
    corpus.run_schema("MATCH (n:Query|Traversal|Step) DETACH DELETE n")
    return corpus


@pytest.fixture
def own_isles(connection: Connection, server: Settings) -> Connection:
    """Return a database with such a corpus that may be changed."""
    ingest(connection, server, "isles", [article(n) for n in range(8)])
    return connection


class Counting:
    """The embedder of the tests, which counts questions."""

    name = "hash:32"

    def __init__(self) -> None:
        self.asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        return EMBEDDER.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        self.asked += 1
        return EMBEDDER.embed_query(text)


@pytest.mark.parametrize("algorithm", DETERMINISTIC)
def test_a_walk_is_recorded_as_it_was(isles: Connection, algorithm: str) -> None:
    """The stored path has the walk's chunks and sentences in the walk's order."""
    result = traverse(isles, QUESTION, embedder=EMBEDDER, algorithm=algorithm)

    rows = isles.query(
        """
        MATCH (t:Traversal {id: $id})-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
        MATCH (s)-[:VISITED]->(c:Chunk)
        RETURN c.id AS chunk, s.milliseconds AS ms,
               COLLECT { MATCH (s)-[p:PICKED]->(n) RETURN n.id ORDER BY p.rank } AS n
        ORDER BY s.index
        """,
        {"id": result.traversal_id},
    )
    assert [(row["chunk"], row["n"]) for row in rows] == [
        (step.chunk.id, [s.id for s in step.sentences]) for step in result.walk.steps
    ]
    assert (result.warning, len(rows) > 0) == ("", True)
    assert 0 < sum(row["ms"] for row in rows) <= result.walk.milliseconds


def test_the_walk_is_that_of_the_search(isles: Connection) -> None:
    """A search goes the same way and records nothing."""
    found = search(isles, QUESTION, embedder=EMBEDDER).walk
    before = stored(isles)

    walked = traverse(isles, QUESTION, embedder=EMBEDDER).walk

    assert before == 0
    assert (found.steps, found.stop_reason) == (walked.steps, walked.stop_reason)


def test_without_record_nothing_is_written(isles: Connection) -> None:
    """The walk is returned without an id, and the graph stays as it was."""
    result = traverse(isles, QUESTION, embedder=EMBEDDER, record=False, trace=True)

    assert (result.traversal_id, result.warning, stored(isles)) == (None, "", 0)
    assert result.walk.steps


def test_a_trace_has_every_candidate(isles: Connection) -> None:
    """Each chunk considered, at the anchor and at each step, with its score."""
    result = traverse(isles, QUESTION, embedder=EMBEDDER, trace=True)

    rows = isles.query(
        "MATCH (n)-[r:CONSIDERED]->(c:Chunk) RETURN coalesce(n.index, -1) AS at,"
        " c.id AS chunk, r.score AS score ORDER BY at, r.rank"
    )
    groups = [(-1, result.ranking)]
    groups += [(step.index, step.considered) for step in result.walk.steps]
    assert [(r["at"], r["chunk"], r["score"]) for r in rows] == [
        (at, chunk.id, chunk.score) for at, chunks in groups for chunk in chunks
    ]
    assert len(rows) > len(result.walk.steps)


def test_options_are_in_force_and_recorded(isles: Connection) -> None:
    """Budgets, anchors and filter shape the walk and are properties of it."""
    result = traverse(
        isles,
        QUESTION,
        embedder=EMBEDDER,
        algorithm="query_traversal",
        max_sentences=6,
        max_hops=4,
        anchors=2,
        lookahead=1,
        beam=2,
        filter={"category": "Size 0"},
    )

    (row,) = isles.query("MATCH (t:Traversal) RETURN properties(t) AS p")
    given = {"maxSentences": 6, "maxHops": 4, "anchors": 2, "lookahead": 1, "beam": 2}
    numbers = {int(title.split()[-1]) for title in result.walk.documents}
    assert given.items() <= row["p"].items()
    assert row["p"]["filter"] == '{"category": "Size 0"}'
    assert {number % 2 for number in numbers} == {0}
    assert sum(step.hop == 0 for step in result.walk.steps) == 2


def test_published_rules_are_recorded(isles: Connection) -> None:
    """The preset is a property, and only of walks that had it."""
    traverse(isles, QUESTION, embedder=EMBEDDER)
    traverse(
        isles,
        QUESTION,
        embedder=EMBEDDER,
        algorithm="query_traversal",
        preset="published",
    )

    rows = isles.query(
        "MATCH (t:Traversal) RETURN t.preset AS preset ORDER BY t.createdAt"
    )
    assert [row["preset"] for row in rows] == [None, "published"]


async def test_the_asynchronous_twins_walk_alike(
    isles: Connection, server: Settings
) -> None:
    """Same steps, same reasons, recorded too."""
    async with await AsyncConnection.open(server) as connection:
        walked = await atraverse(
            connection, QUESTION, embedder=EMBEDDER, algorithm="auto"
        )
        compared = await acompare(
            connection, QUESTION, embedder=EMBEDDER,
            algorithms=["kg_traversal", GUIDED],
            model=NO_MODEL, record=False,
        )  # fmt: skip
    expected = compare(
        isles, QUESTION, embedder=EMBEDDER, algorithms=["auto", "kg_traversal"]
    )

    assert walked.walk.steps == expected[0].walk.steps
    assert walked.traversal_id is not None
    assert compared[0].walk.steps == expected[1].walk.steps
    assert (compared[0].traversal_id, compared[1].walk.stop_reason) == (None, "failed")


def test_a_comparison_embeds_the_question_once(isles: Connection) -> None:
    """All algorithms in their order, each recorded under one question."""
    embedder = Counting()

    results = compare(isles, QUESTION, embedder=embedder)

    rows = isles.query(
        "MATCH (t:Traversal)-[:FOR_QUERY]->(q:Query)"
        " RETURN t.id AS id, q.text AS question ORDER BY t.createdAt"
    )
    assert embedder.asked == 1
    assert tuple(result.walk.algorithm for result in results) == DETERMINISTIC
    assert [row["id"] for row in rows] == [result.traversal_id for result in results]
    assert {row["question"] for row in rows} == {QUESTION}


async def test_a_comparison_ends_in_time(isles: Connection, server: Settings) -> None:
    """Algorithms that the time does not suffice for are left out, and say so."""
    found = compare(
        isles, QUESTION, embedder=EMBEDDER, time_limit=0.0, algorithms=["auto"]
    )
    async with await AsyncConnection.open(server) as connection:
        slowly = await acompare(
            connection,
            QUESTION,
            embedder=EMBEDDER,
            time_limit=1e-3,
            algorithms=["auto", "mmr"],
        )

    for result in (*found, *slowly):
        assert (result.walk.stop_reason, result.walk.steps) == ("time_limit", ())
        assert "left out after" in result.error


def test_a_failing_algorithm_does_not_lose_the_others(isles: Connection) -> None:
    """A language model that does not answer is told beside the other walks."""
    results = compare(
        isles,
        QUESTION,
        embedder=EMBEDDER,
        algorithms=["query_traversal", GUIDED, "kg_traversal"],
        model=NO_MODEL,
    )

    assert [bool(result.error) for result in results] == [False, True, False]
    assert [bool(result.traversal_id) for result in results] == [True, False, True]
    assert (results[1].walk.stop_reason, results[1].walk.steps) == ("failed", ())


def test_a_language_model_that_is_down_is_an_error(isles: Connection) -> None:
    """Alone, the guided walk fails, and nothing is written."""
    with pytest.raises(ModelError):
        traverse(isles, QUESTION, embedder=EMBEDDER, algorithm=GUIDED, model=NO_MODEL)

    assert stored(isles) == 0


MISTAKES: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"corpus": "ilses"}, UnknownCorpusError),
    ({"max_sentences": 0}, InputError),
    ({"anchors": 0}, InputError),
    ({"lookahead": 9}, InputError),
    ({"beam": 1.5}, InputError),
    ({"preset": "seed"}, InputError),
    ({"reader": "disk"}, InputError),
    ({"reader": "snapshot"}, InputError),
]


def test_mistakes_write_nothing(isles: Connection, tmp_path: Path) -> None:
    """Each raises its error in one line, and the graph is as before."""
    settings = Settings(home=tmp_path)

    for arguments, error in MISTAKES:
        with pytest.raises(error, match=r"\A.+\Z"):
            traverse(isles, QUESTION, embedder=EMBEDDER, settings=settings, **arguments)

    assert stored(isles) == 0


@pytest.fixture
def user(
    isles: Connection,
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Return somebody at the command line of the corpus."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("KNOWTRAIL_HOME", str(server.home))
    return CommandLine(server, capsys, "hash:32")


def printed_commands(out: str) -> list[list[str]]:
    """Return the words of the commands that an output shows, from `cypher` on."""
    return [
        shlex.split(line.partition("knowtrail ")[2])
        for line in out.splitlines()
        if re.match(r"  (uv run )?knowtrail ", line)
    ]


def test_traverse_shows_the_walk_and_how_to_ask_it(
    user: CommandLine, tmp_path: Path
) -> None:
    """The table, the sentences, and commands that show the stored walk."""
    done = user.run("traverse", QUESTION, "--trace")

    assert (done.code, done.errors) == (0, [])
    assert "Chosen as" in done.out
    *words, picture = printed_commands(done.out)
    assert user.run(*picture, "-o", tmp_path / "walk.html").code == 0
    assert [line[2] for line in words] == [
        "traversal_steps",
        "traversal_candidates",
        "passages_missed",
    ]
    answers = [user.run(*line, "--json") for line in words]
    assert [answer.code for answer in answers] == [0, 0, 0]
    assert all(json.loads(answer.out) for answer in answers)


def test_traverse_writes_json(user: CommandLine) -> None:
    """Machines get the walk with its id; the trace only where it was asked for."""
    plain = json.loads(user.run("traverse", QUESTION, "--json").out)
    traced = json.loads(
        user.run(
            "traverse", QUESTION, "--json", "--trace", "--no-record",
            "--algorithm", "query_traversal",
        ).out
    )  # fmt: skip

    assert plain["traversalId"]
    assert "considered" not in plain["steps"][0]
    assert (traced["traversalId"], traced["anchors"] != []) == (None, True)
    assert traced["steps"][0]["considered"]
    assert {"reason", "milliseconds"} <= set(plain["steps"][0])


@pytest.mark.parametrize("algorithm", DETERMINISTIC)
def test_search_takes_the_same_options(
    user: CommandLine, isles: Connection, algorithm: str
) -> None:
    """Every algorithm, anchors and looking ahead; nothing is kept."""
    number = {"anchors": 1, "lookahead": 0} if algorithm in ORDERED else {
        "anchors": 2, "lookahead": 1
    }  # fmt: skip
    done = user.run(
        "search", QUESTION, "--json", "--algorithm", algorithm, "--beam", "2",
        "--anchors", str(number["anchors"]), "--lookahead", str(number["lookahead"]),
        "--k", "3", "--reader", "cypher",
    )  # fmt: skip

    data = json.loads(done.out)
    asked = {**number, "beam": 2, "reader": "cypher"}
    assert (data["algorithm"], len(data["results"])) == (algorithm, 3)
    assert asked.items() <= data["parameters"].items()
    assert stored(isles) == 0


def test_compare_shows_a_row_an_algorithm(user: CommandLine) -> None:
    """Every algorithm has its figures; the commands below show where they part."""
    done = user.run("compare", QUESTION)

    assert (done.code, done.errors) == (0, [])
    assert [name for name in DETERMINISTIC if f"{name} " not in done.out] == []
    assert "Sentences in common" in done.out
    apart, steps = printed_commands(done.out)
    assert apart[-1] == f"question={QUESTION}"
    assert json.loads(user.run(*apart, "--json").out)
    assert user.run(*steps).code == 0


def test_compare_writes_json(user: CommandLine) -> None:
    """The walks that were asked for, and each pair of them."""
    done = user.run(
        "compare", QUESTION, "--json", "--algorithm", "kg_traversal",
        "--algorithm", "basic_retrieval", "--max-sentences", "5",
    )  # fmt: skip

    data = json.loads(done.out)
    names = [walk["algorithm"] for walk in data["walks"]]
    assert names == ["kg_traversal", "basic_retrieval"]
    assert {walk["parameters"]["maxSentences"] for walk in data["walks"]} == {5}
    assert data["overlaps"][0]["other"] == "basic_retrieval"


def test_compare_where_no_model_answers(
    user: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are shown, and 1 only if all failed; a model that is named must be."""
    monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", "http://127.0.0.1:1")

    named = user.run("compare", QUESTION, "--model", "none")
    two = ("--algorithm", GUIDED, "--algorithm", "basic_retrieval")
    some = user.run("compare", QUESTION, *two)
    alone = user.run("compare", QUESTION, "--algorithm", GUIDED)

    assert (named.code, len(named.errors), named.out) == (1, 1, "")
    assert (some.code, len(some.errors)) == (0, 1)
    assert some.errors[0].startswith(f"{GUIDED}: ")
    assert f"{GUIDED} " in some.out
    assert (alone.code, len(alone.errors)) == (1, 1)


BAD_INPUT = [
    ([" "], "ask something"),
    (["x" * 100_000], "shorten it"),
    ([QUESTION, "--corpus", "ilses"], "did you mean 'isles'"),
    ([QUESTION, "--anchors", "99"], "from 1 to 20"),
    ([QUESTION, "--filter", '{"nope": "x"}'], "nope"),
    ([QUESTION, "--algorithm", "walk"], "Unknown algorithm 'walk'"),
]


@pytest.mark.parametrize("command", ["traverse", "compare"])
def test_bad_input_at_the_command_line(
    user: CommandLine, isles: Connection, command: str
) -> None:
    """Exit code 2, one line, nothing on standard output, nothing written."""
    answers = [(user.run(command, *words), says) for words, says in BAD_INPUT]

    wrong = [
        (done, says)
        for done, says in answers
        if (done.code, done.out, len(done.errors)) != (2, "", 1)
        or says not in done.errors[0]
        or len(done.errors[0]) >= 300
    ]
    assert wrong == []
    assert stored(isles) == 0


class Vanishing:
    """A reader of the database during whose walk somebody deletes documents."""

    def __init__(self, connection: Connection, corpus: str, *, visited: bool) -> None:
        self._connection = connection
        self._reader = CypherReader(connection, corpus=corpus)
        self._visited = visited
        self._done = False

    def anchors(self, vector: Vector, k: int, *, documents: bool = False) -> Candidates:
        """Return the anchors."""
        return self._reader.anchors(vector, k, documents=documents)

    def expand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Open chunks; after the first, delete what was visited, or what comes next."""
        visits = self._reader.expand(chunk_ids, neighbours=neighbours)
        if not self._done:
            self._done = True
            (visit,) = visits.values()
            self.deleted = self._delete(visit)
        return visits

    def _delete(self, visit: Visit) -> list[str]:
        """Delete the visited document, or those of all its neighbours but one."""
        own = visit.chunk.document_id
        others = self._connection.query(
            "MATCH (c:Chunk)-[:FROM_DOCUMENT]->(d) WHERE c.id IN $ids AND d.id <> $own"
            " RETURN DISTINCT d.id AS id ORDER BY id",
            {"ids": list(visit.neighbours.ids), "own": own},
        )
        ids = [own] if self._visited else [row["id"] for row in others]
        for what in ("sentences", "chunks", "documents"):
            self._connection.write(f"ingest/remove_{what}", ids=ids, kept=[])
        return ids

    def __getattr__(self, name: str) -> Any:
        """Answer everything else as the reader does."""
        return getattr(self._reader, name)


@pytest.mark.parametrize("visited", [True, False])
def test_a_document_is_deleted_during_a_walk(
    own_isles: Connection, monkeypatch: pytest.MonkeyPatch, *, visited: bool
) -> None:
    """The walk goes on and is returned; it is stored whole, or not with a warning."""
    reader = Vanishing(own_isles, "isles", visited=visited)
    monkeypatch.setattr(
        "knowtrail.retrieval.readers.opening._opened",
        lambda *_args: OpenReader(reader=Answering(reader), name="cypher"),
    )

    result = traverse(
        own_isles, QUESTION, embedder=EMBEDDER, algorithm="query_traversal"
    )

    recorded = result.traversal_id is not None
    gone = {step.chunk.document_id for step in result.walk.steps} & set(reader.deleted)
    assert reader.deleted
    assert len(result.walk.steps) >= 1
    assert (recorded, bool(gone)) == (not visited, visited)
    assert bool(result.warning) is visited
    assert (stored(own_isles) == 0) is visited


class Deleted(CypherReader):
    """A reader of a database from which somebody deletes the corpus before a hop."""

    def __init__(self, connection: Connection, corpus: str, *, left: int) -> None:
        super().__init__(connection, corpus=corpus)
        self._own, self._corpus, self.left = connection, corpus, left

    def _answer(self, request: Request) -> Response:
        """Answer, without the corpus after some requests."""
        if self.left == 0:
            delete_corpus(self._own, self._corpus)
        self.left -= 1
        return super()._answer(request)


@pytest.mark.parametrize(
    ("name", "left", "steps"),
    [
        ("query_traversal", 0, 0),
        ("query_traversal", 1, 0),
        ("query_traversal", 2, 1),
        ("auto", 1, 0),
        ("triangulation_geometric_3d", 1, 0),
    ],
)
def test_the_corpus_is_deleted_during_a_walk(
    own_isles: Connection,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    left: int,
    steps: int,
) -> None:
    """What was read till then is returned and not stored."""
    reader = Deleted(own_isles, "isles", left=left)
    monkeypatch.setattr(
        "knowtrail.retrieval.readers.opening._opened",
        lambda *_args: OpenReader(reader=Answering(reader), name="cypher"),
    )

    result = traverse(own_isles, QUESTION, embedder=EMBEDDER, algorithm=name)

    assert reader.left < 0
    assert len(result.walk.steps) == steps
    assert "corpus 'isles' changed meanwhile" in result.warning
    assert result.traversal_id is None
    assert stored(own_isles) == 0


def test_a_corpus_without_edges(connection: Connection, server: Settings) -> None:
    """A walk over one chunk ends there and is recorded."""
    one = RawDocument(source_id="one", title="One", raw="Only this is said.")
    ingest(connection, server, "alone", [one])

    results = compare(connection, "What is said?", embedder=EMBEDDER)

    assert {result.error for result in results} == {""}
    assert {len(result.walk.sentences) for result in results} == {1}
    assert {
        result.walk.stop_reason
        for result in results
        if result.walk.algorithm not in {*ORDERED, "basic_retrieval"}
    } == {"no_connections"}
    assert all(result.traversal_id for result in results)


def test_an_empty_corpus(connection: Connection, server: Settings) -> None:
    """A filter that nothing passes leaves a recorded walk without steps."""
    one = RawDocument(source_id="one", title="One", raw="Only this is said.")
    ingest(connection, server, "alone", [one])

    result = traverse(connection, "What?", embedder=EMBEDDER, filter={"title": "Two"})

    assert (result.walk.stop_reason, result.walk.steps) == ("no_anchor", ())
    assert result.traversal_id is not None


@pytest.mark.thorough
def test_a_replaced_document_leaves_its_walks_readable(
    own_isles: Connection, server: Settings
) -> None:
    """An ingest of new texts takes the links to the old ones, not the steps."""
    result = traverse(own_isles, QUESTION, embedder=EMBEDDER, trace=True)

    ingest(own_isles, server, "isles", [article(n, version=1) for n in range(8)])

    rows = own_isles.query(
        statement("inspect/traversal_steps"),
        {"corpus": "isles", "traversal": result.traversal_id},
    )
    assert [row["text"] for row in rows] == [s.chunk.text for s in result.walk.steps]
    assert {row["stored"] for row in rows} == {False}
    assert traverse(own_isles, QUESTION, embedder=EMBEDDER).warning == ""


def test_a_current_snapshot_is_walked_in(
    own_isles: Connection, server: Settings, tmp_path: Path
) -> None:
    """The same walk from files; when the corpus has changed, in the database again."""
    at_home = Settings(home=tmp_path)
    build_snapshot(tmp_path, CorpusSource(own_isles, "isles"))

    copied = traverse(own_isles, QUESTION, embedder=EMBEDDER, settings=at_home)
    stored = traverse(
        own_isles, QUESTION, embedder=EMBEDDER, settings=at_home, reader="cypher"
    )
    ingest(own_isles, server, "isles", [article(n) for n in range(9)])
    later = traverse(own_isles, QUESTION, embedder=EMBEDDER, settings=at_home)

    results = (copied, stored, later)
    assert copied.walk.steps == stored.walk.steps
    assert [result.walk.parameters["reader"] for result in results] == [
        "snapshot",
        "cypher",
        "cypher",
    ]
    assert all(result.traversal_id for result in results)
    with pytest.raises(SnapshotError, match="of version 1"):
        traverse(
            own_isles, QUESTION, embedder=EMBEDDER, settings=at_home, reader="snapshot"
        )

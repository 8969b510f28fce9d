"""`CALL knowtrail.*` on a server that was started as users start it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import neo4j
import pytest
from neo4j.exceptions import ClientError, Neo4jError

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.server.folder import server_status, stop_server
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.procedures import call
from knowtrail.retrieval.procedures.registry import OPTIONS, PROCEDURES
from tests.command_line import spawn, typed
from tests.java import plan_once, short_lived
from tests.ollama import MODEL, parrot_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.server.folder import ServerInfo
    from tests.ollama import Parrot

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(300)]

TALES = {
    "Fox": "The fox hunts at night. It eats mice. A fox lives in a den.",
    "Owl": "The owl hunts at night too. It hears mice. It sees the fox.",
    "Eel": "The eel lives in the sea. It swims far. At night the eel hunts.",
}
QUESTION = "Who hunts mice at night?"
TRAVERSE = "CALL knowtrail.traverse($algorithm, $question, $options)"
SAID = '{"answer": "Fox & owl.", "citations": [2, 1, 77], "confidence": 0.75}'


@pytest.fixture(scope="module")
def parrot() -> Iterator[Parrot]:
    """Yield a language model's server that says what it is told."""
    with parrot_server() as parrot:
        yield parrot


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(None, id="current"),
        pytest.param("5.26.30", id="lts", marks=pytest.mark.thorough),
    ],
)
def home(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    parrot: Parrot,
) -> Iterator[Path]:
    """Yield the folder of a server with a small corpus, started by its command."""
    home = tmp_path_factory.mktemp("home")
    lines = home / "tales.jsonl"
    rows = [{"id": t, "title": t, "text": text} for t, text in TALES.items()]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    line = ["--neo4j", request.param] if request.param else []
    env = {"KNOWTRAIL_OLLAMA_URL": parrot.url, "KNOWTRAIL_LANGUAGE_MODEL": MODEL}
    try:
        plan_once(home)
        with short_lived(*line[1:]):
            started = spawn(f"--home={home}", "server", "start", *line, env=env)
        assert started.code == 0, started.errors
        words = [f"--home={home}", "--embedder=hash:64", "ingest", "jsonl", str(lines)]
        done = typed(*words, "--corpus=tales", "--themes=none", "--window=1")
        assert done.code == 0, done.errors
        yield home
    finally:
        stop_server(home)


@pytest.fixture(scope="module")
def info(home: Path) -> ServerInfo:
    """Return where the server is."""
    info = server_status(home)
    assert info is not None
    return info


@pytest.fixture(scope="module")
def driver(info: ServerInfo) -> Iterator[neo4j.Driver]:
    """Yield a plain driver."""
    auth = (info.username, info.password)
    with neo4j.GraphDatabase.driver(info.uri, auth=auth) as driver:
        yield driver


@pytest.fixture(scope="module")
def own(home: Path, info: ServerInfo) -> Iterator[Connection]:
    """Yield a connection of our own."""
    settings = Settings.from_env(env={}, home=home).with_server(
        uri=info.uri, username=info.username, password=info.password
    )
    with Connection.open(settings) as connection:
        yield connection


def _run(
    driver: neo4j.Driver,
    text: str,
    *,
    access: str = "WRITE",
    timeout: float | None = None,
    **params: Any,
) -> list[dict[str, Any]]:
    """Run Cypher as any client does."""
    with driver.session(default_access_mode=access) as session:
        query = neo4j.Query(text, timeout=timeout)  # type: ignore[arg-type]
        return [record.data() for record in session.run(query, params)]


def _traverse(
    driver: neo4j.Driver, *, access: str = "WRITE", **options: Any
) -> list[dict[str, Any]]:
    """Walk with the default algorithm."""
    return _run(
        driver,
        TRAVERSE,
        access=access,
        algorithm="query_traversal",
        question=QUESTION,
        options=options,
    )


def test_procedures_are_listed_with_types_and_descriptions(
    driver: neo4j.Driver,
) -> None:
    """All read; four say that walks are stored and by which options."""
    listed = _run(
        driver,
        "SHOW PROCEDURES YIELD name, mode, signature, description "
        "WHERE name STARTS WITH 'knowtrail.' RETURN * ORDER BY name",
    )
    own = [row for row in listed if row["name"] == "knowtrail.embed"]
    found = [row for row in listed if row not in own]

    assert [row["name"] for row in found] == [
        f"knowtrail.{name}" for name in sorted(PROCEDURES)
    ]
    assert [row["signature"].partition(") :: ")[2] for row in own] == [
        "(vector :: LIST<FLOAT>)"
    ]
    assert {row["mode"] for row in listed} == {"READ"}
    assert (
        "(algorithm :: STRING, question :: STRING, options = {} :: MAP) :: (step"
        in (found[3]["signature"])
    )
    assert "citation :: LIST<STRING>, confidence :: FLOAT" in found[0]["signature"]
    assert "a transaction of its own, not the caller's" in found[3]["description"]
    assert "maxSentences (INTEGER)" in found[2]["description"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"question": QUESTION}),
        ("traverse", {"algorithm": "kg_traversal", "question": QUESTION}),
    ],
)
def test_rows_are_those_of_the_python_function(
    driver: neo4j.Driver, own: Connection, name: str, arguments: dict[str, str]
) -> None:
    """One walk, two doors, the same rows in the same order."""
    options = {"maxSentences": 4, "filter": {"title": {"$ne": "Eel"}}}
    if name == "traverse":
        options["record"] = False
    given = ", ".join(f"${argument}" for argument in arguments)

    found = _run(driver, f"CALL knowtrail.{name}({given}, $o)", **arguments, o=options)

    assert found == call(name, own, arguments, options)
    assert {row["title"] for row in found} <= {"Fox", "Owl"}
    assert [list(row) for row in found] == [
        [column.name for column in PROCEDURES[name].columns]
    ] * len(found)


def test_one_row_is_one_row(driver: neo4j.Driver) -> None:
    """A result of a single row is not taken apart."""
    found = _run(
        driver,
        "CALL knowtrail.search($q, {k: 1}) YIELD rank, score RETURN rank, score",
        q=QUESTION,
    )

    assert [row["rank"] for row in found] == [1]


def test_walk_is_stored_and_seen_by_the_same_statement(driver: neo4j.Driver) -> None:
    """Cypher joins the rows with the nodes."""
    found = _run(
        driver,
        "CALL knowtrail.traverse('query_traversal', $q) "
        "YIELD step, chunkId, traversalId WITH DISTINCT step, chunkId, traversalId"
        " MATCH (t:Traversal {id: traversalId})-[:FIRST_STEP]->()-[:NEXT_STEP*0..]->"
        "(s:Step {index: step})-[:VISITED]->(c:Chunk {id: chunkId})"
        " RETURN step, t.hops AS hops ORDER BY step",
        q=QUESTION,
    )

    assert [row["step"] for row in found] == list(range(len(found)))
    assert len(found) == found[0]["hops"] + 1


@pytest.mark.parametrize(
    ("access", "options"),
    [("WRITE", {"record": False}), ("READ", {}), ("READ", {"record": True})],
)
def test_reading_leaves_nothing_behind(
    driver: neo4j.Driver, access: str, options: dict[str, Any]
) -> None:
    """Neither where the caller says so nor in a session that only reads."""
    count = "MATCH (t:Traversal) RETURN count(t) AS n"
    before = _run(driver, count)

    found = _traverse(driver, access=access, **options)

    assert {row["traversalId"] for row in found} == {None}
    assert _run(driver, count) == before


def test_command_records_only_with_write(home: Path) -> None:
    """`knowtrail cypher` reads unless it is told."""
    text = (
        f"CALL knowtrail.traverse('query_traversal', '{QUESTION}') YIELD traversalId "
        "RETURN DISTINCT traversalId IS NOT NULL AS stored"
    )

    read = typed(f"--home={home}", "cypher", text, "--json")
    written = typed(f"--home={home}", "cypher", text, "--json", "--write")

    assert "false" in read.out
    assert "true" in written.out


def test_comparison_has_a_row_an_algorithm(driver: neo4j.Driver) -> None:
    """Only those that were named, each stored under its own id."""
    names = ["basic_retrieval", "query_traversal"]

    found = _run(
        driver, "CALL knowtrail.compare($q, {algorithms: $n})", q=QUESTION, n=names
    )

    assert [row["algorithm"] for row in found] == names
    assert len({row["traversalId"] for row in found} - {None}) == 2


@pytest.mark.parametrize(
    ("algorithm", "question", "options", "message"),
    [
        ("query", QUESTION, {}, "Unknown algorithm 'query'"),
        ("query_traversal", " ", {}, "The question is ' ': ask something"),
        ("query_traversal", "x" * 100_000, {}, "has 100000 characters"),
        ("query_traversal", None, {}, "question is null"),
        ("query_traversal", QUESTION, {"maxHop": 1}, "did you mean 'maxHops'?"),
        ("query_traversal", QUESTION, {"maxHops": -1}, "maxHops is -1: give"),
        ("query_traversal", QUESTION, {"corpus": "100% %s"}, "No corpus '100% %s'"),
        (
            *("query_traversal", QUESTION),
            *({"filter": {"title": neo4j.time.Date(2026, 1, 1)}}, "title is a Date"),
        ),
    ],
)
@pytest.mark.timeout(60)
def test_mistakes_are_told_to_the_client(
    driver: neo4j.Driver,
    algorithm: str,
    question: str | None,
    options: dict[str, Any],
    message: str,
) -> None:
    """As errors with a code, in time: what a server cannot encode would hang."""
    with pytest.raises(ClientError) as caught:
        _run(driver, TRAVERSE, algorithm=algorithm, question=question, options=options)

    assert caught.value.code == "Neo.ClientError.Statement.ArgumentError"
    assert message in str(caught.value.message)
    assert "Traceback" not in str(caught.value)


WRONG: dict[str, Any] = {
    "STRING": "x",
    "INTEGER": 7,
    "FLOAT": 1.5,
    "BOOLEAN": True,
    "MAP": {"a": {"b": None}},
    "LIST<STRING>": ["x"],
    "LIST": ["x", None, False],
    "BYTES": b"ab",
    "DATE": neo4j.time.Date(2026, 1, 1),
    "POINT": neo4j.spatial.CartesianPoint((1, 2)),
}
"""A value of each type, and of types that no option has."""


def test_wrong_types_are_told_in_the_words_of_cypher(driver: neo4j.Driver) -> None:
    """Every argument and option is named with its value; no Python, no Java shows."""
    told: dict[tuple[str, str, str], str] = {}

    with driver.session() as session:

        def refuse(name: str, given: list[Any], field: str, kind: str) -> None:
            marks = ", ".join(f"${number}" for number in range(len(given)))
            values = {str(number): value for number, value in enumerate(given)}
            try:
                session.run(f"CALL knowtrail.{name}({marks})", values).consume()
            except ClientError as error:
                told[name, field, kind] = f"{error.message}"
            else:
                told[name, field, kind] = "taken"

        for name, procedure in PROCEDURES.items():
            good = ["basic_retrieval", QUESTION][-len(procedure.arguments) :]
            for place, argument in enumerate(procedure.arguments):
                given = [*good[:place], None, *good[place + 1 :]]
                refuse(name, given, argument.name, "null")
            for option in (OPTIONS[one] for one in procedure.options):
                fits = {option.kind} | (
                    {"INTEGER"} if option.kind == "FLOAT" else set()
                )
                for kind in WRONG.keys() - fits:
                    options = {option.name: WRONG[kind]}
                    refuse(name, [*good, options], option.name, kind)

    bad = re.compile(r"None|True|False|[a-z]_[a-z]|java|neo4j|Value\b|object")
    assert len(told) > 400
    assert {
        case: said
        for case, said in told.items()
        if not said.startswith(f"knowtrail.{case[0]}: {case[1]} is ")
        or bad.search(said)
    } == {}


def test_whole_floats_and_nulls_are_taken(driver: neo4j.Driver) -> None:
    """JavaScript has no integers, and a null option is one that is not given."""
    found = _traverse(driver, maxSentences=2.0, corpus=None)

    assert len([row for row in found if row["sentenceId"]]) == 2


def test_answer_cites_what_it_was_given(driver: neo4j.Driver, parrot: Parrot) -> None:
    """The citations are ids of Sentence nodes; numbers made up are left out."""
    parrot.says(SAID[:20], SAID[20:])

    found = _run(
        driver,
        "CALL knowtrail.ask($q) YIELD answer, citation, confidence, traversalId "
        "UNWIND citation AS id MATCH (s:Sentence {id: id}) "
        "RETURN answer, confidence, traversalId IS NOT NULL AS stored, s.text AS text",
        q=QUESTION,
    )

    assert [row["answer"] for row in found] == ["Fox & owl."] * 2
    assert {(row["confidence"], row["stored"]) for row in found} == {(0.75, True)}
    asked = parrot.requests[0]["messages"][-1]["content"]
    assert f"[2] {found[0]['text']}" in asked
    assert f"[1] {found[1]['text']}" in asked


@pytest.mark.parametrize(
    ("said", "model", "message"),
    [
        ("{}", MODEL, "gave no answer but '{}'"),
        ("", "nobody:1b", "ollama pull nobody:1b"),
    ],
)
@pytest.mark.timeout(60)
def test_model_that_fails_is_told(
    driver: neo4j.Driver, parrot: Parrot, said: str, model: str, message: str
) -> None:
    """A failed call has another code than a mistake of the caller's."""
    parrot.says(said)

    with pytest.raises(ClientError) as caught:
        _run(driver, "CALL knowtrail.ask($q, {model: $m})", q=QUESTION, m=model)

    assert caught.value.code == "Neo.ClientError.Procedure.ProcedureCallFailed"
    assert message in str(caught.value.message)


@pytest.mark.timeout(60)
def test_call_that_is_given_up_ends(driver: neo4j.Driver, parrot: Parrot) -> None:
    """The caller has its error at once, and the model is let go at its next word."""
    parrot.says('{"answer": "', *["word "] * 600, pause=0.1)
    began = time.monotonic()

    with pytest.raises(Neo4jError) as caught:
        _run(driver, "CALL knowtrail.ask($q)", q=QUESTION, timeout=1.0)

    assert "TimedOut" in str(caught.value.code)
    assert time.monotonic() - began < 10
    assert parrot.given_up.wait(10)


@pytest.mark.timeout(60)
def test_call_whose_transaction_is_terminated_ends(
    driver: neo4j.Driver, parrot: Parrot
) -> None:
    """An administrator's TERMINATE is a way out too."""
    parrot.says('{"answer": "', *["word "] * 600, pause=0.1)
    errors: list[str] = []

    def ask() -> None:
        try:
            _run(driver, "CALL knowtrail.ask($q)", q=QUESTION)
        except Neo4jError as error:
            errors.append(str(error.code))

    thread = threading.Thread(target=ask)
    thread.start()
    show = (
        "SHOW TRANSACTIONS YIELD transactionId, currentQuery "
        "WHERE currentQuery STARTS WITH 'CALL knowtrail' RETURN transactionId AS id"
    )
    while not (running := _run(driver, show)) or not parrot.requests:
        time.sleep(0.1)
    _run(driver, "TERMINATE TRANSACTIONS $id", id=running[0]["id"])
    thread.join()

    assert errors == ["Neo.ClientError.Transaction.Terminated"]
    assert parrot.given_up.wait(10)


@pytest.mark.thorough
@pytest.mark.timeout(90)
def test_caller_that_locks_what_is_to_be_recorded_does_not_wait_for_ever(
    driver: neo4j.Driver,
) -> None:
    """The recording gives up, since the caller's locks last until it returns."""
    with driver.session() as session, session.begin_transaction() as transaction:
        transaction.run("MATCH (c:Chunk) SET c.locked = true").consume()
        began = time.monotonic()
        rows = transaction.run(TRAVERSE, {
            "algorithm": "query_traversal", "question": QUESTION, "options": {}
        }).data()  # fmt: skip
        transaction.rollback()

    assert {row["traversalId"] for row in rows} == {None}
    assert time.monotonic() - began < 45


def test_calls_run_side_by_side(driver: neo4j.Driver, parrot: Parrot) -> None:
    """A walk does not wait for an answer that takes long."""
    parrot.says('{"answer": "', *["word "] * 30, '"}', pause=0.1)
    slow = threading.Thread(
        target=_run, args=(driver, "CALL knowtrail.ask($q)"), kwargs={"q": QUESTION}
    )
    slow.start()
    while not parrot.requests:
        time.sleep(0.05)

    found = _traverse(driver)

    assert found
    assert slow.is_alive()
    slow.join()


def test_embedder_of_the_first_corpus_is_loaded_beforehand(home: Path) -> None:
    """The server was started before it had a corpus; nobody has to wait for a model."""
    deadline = time.monotonic() + 30

    while time.monotonic() < deadline:
        logged = typed(f"--home={home}", "server", "logs", "--lines=10000").out
        if "The embedder of corpus 'tales' is loaded" in logged:
            break
        time.sleep(0.5)

    assert "The embedder of corpus 'tales' is loaded" in logged


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_too_many_calls_at_once_are_refused(info: ServerInfo) -> None:
    """Of three hundred at once, each ends soon: answered, or told to come again."""
    auth = (info.username, info.password)
    many = 300  # Neo4j itself refuses what comes when its 400 threads are taken
    together = threading.Barrier(many)

    def call(driver: neo4j.Driver) -> str:
        with driver.session() as session:
            session.run("RETURN 1").consume()
            together.wait()
            try:
                rows = session.run("CALL knowtrail.search($q)", q=QUESTION)
                return "answered" if list(rows) else "empty"
            except Neo4jError as error:
                return str(error.message)

    with (
        neo4j.GraphDatabase.driver(
            info.uri, auth=auth, max_connection_pool_size=many
        ) as driver,
        ThreadPoolExecutor(many) as threads,
    ):
        told = Counter(threads.map(call, [driver] * many))
        answers = _run(driver, "CALL knowtrail.search($q)", q=QUESTION)

    refused = [text for text in told if "call again in a moment" in text]
    assert answers
    assert told.keys() - {"answered", *refused} == set()
    assert told["answered"] >= 100


SCRIPT = """
const neo4j = require('neo4j-driver');
const [uri, user, password, question] = process.argv.slice(2);
const driver = neo4j.driver(uri, neo4j.auth.basic(user, password));
const run = async (text, values) => {
  const session = driver.session();
  try {
    const result = await session.run(text, values);
    return result.records.map(record => record.toObject());
  } finally { await session.close(); }
};
const walk = 'CALL knowtrail.traverse($algorithm, $question, {maxSentences: $n}) ' +
  'YIELD step, chunkId, text, score, traversalId ' +
  'MATCH (c:Chunk {id: chunkId}) RETURN toInteger(step) AS step, c.text AS chunk, ' +
  'text, score, traversalId';
(async () => {
  const [good, bad] = await Promise.allSettled([
    run(walk, {algorithm: 'query_traversal', question, n: 3}),
    run(walk, {algorithm: 'no_such_algorithm', question, n: 3}),
  ]);
  const listed = await run("SHOW PROCEDURES YIELD name, signature " +
    "WHERE name STARTS WITH 'knowtrail.' RETURN name, signature ORDER BY name", {});
  console.log(JSON.stringify({
    rows: good.value, code: bad.reason && bad.reason.code,
    message: bad.reason && bad.reason.message, listed,
  }, (_, v) => neo4j.isInt(v) ? v.toNumber() : v));
  await driver.close();
})().catch(error => { console.error(error); process.exit(1); });
"""


@pytest.fixture(scope="session")
def javascript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a script beside Neo4j's driver for JavaScript; skip without Node."""
    folder = tmp_path_factory.mktemp("node")
    reason = ""
    if shutil.which("node") is None or shutil.which("npm") is None:
        reason = "node and npm are not installed"
    else:
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent", "neo4j-driver@6"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = f"npm cannot install neo4j-driver: {done.stderr[-300:]}"
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    script = folder / "walk.js"
    script.write_text(SCRIPT, "utf-8")
    return script


def test_another_language_calls_twice_at_once(
    info: ServerInfo, javascript: Path
) -> None:
    """Node gets rows from one call and, from the other, its error."""
    command = ["node", str(javascript), info.uri, info.username, info.password]

    done = subprocess.run(
        [*command, QUESTION], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["rows"]) == 3
    assert all(row["text"] in row["chunk"] for row in found["rows"])
    assert all(row["traversalId"] for row in found["rows"])
    assert found["code"] == "Neo.ClientError.Statement.ArgumentError"
    assert "Unknown algorithm 'no_such_algorithm'" in found["message"]
    assert len(found["listed"]) == 5

"""The small commands on a real server: cypher, schema, doctor."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
from typing import TYPE_CHECKING

import pytest

from graph.cli import main
from graph.doctor import examine
from graph.schema import apply_schema, drop_schema
from graph.statements import statement, statement_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from graph.connection import Connection
    from graph.settings import Settings

    Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.integration

SAVED = [
    name.removeprefix("inspect/")
    for name in statement_names()
    if name.startswith("inspect/")
    and not re.search(
        ":(Traversal|Eval[A-Z]|Extraction|Concept|Battle|JUDGED|Custodian|Conversation)",
        statement(name),
    )
]
"""Saved queries about corpora; those about walks, evaluations, extractions, judgements,
institutions and conversations have tests of their own."""

GRAPH = """
CREATE (k:Corpus {name: 'tales'})
CREATE (fox:Document {id: 'd1', corpus: 'tales', title: 'Fox', titleKey: 'Fox',
                      aliases: ['Reynard']})-[:IN_CORPUS]->(k)
CREATE (owl:Document {id: 'd2', corpus: 'tales', title: 'Owl', titleKey: 'Owl',
                      aliases: []})-[:IN_CORPUS]->(k)
CREATE (f0:Chunk {id: 'f0', corpus: 'tales', index: 0, text: 'Foxes hunt at night.'})
CREATE (f1:Chunk {id: 'f1', corpus: 'tales', index: 1, text: 'An owl saw one.'})
CREATE (o0:Chunk {id: 'o0', corpus: 'tales', index: 0, text: 'Owls hunt at night.'})
CREATE (f0)-[:FROM_DOCUMENT]->(fox)
CREATE (f1)-[:FROM_DOCUMENT]->(fox)
CREATE (o0)-[:FROM_DOCUMENT]->(owl)
CREATE (f0)-[:SIMILAR_TO {score: 0.91, rank: 1, scope: 'inter'}]->(o0)
CREATE (f1)-[:SIMILAR_TO {score: 0.44, rank: 1, scope: 'inter'}]->(o0)
CREATE (f0)-[:SIMILAR_TO {score: 0.99, rank: 1, scope: 'intra'}]->(f1)
CREATE (f1)-[:MENTIONS {anchor: 'owl'}]->(owl)
CREATE (f1)-[:NAMES]->(:Term {id: 'n1', corpus: 'tales', name: 'owl', label: 'Owl',
                              chunks: 2})<-[:NAMES]-(o0)
CREATE (fox)-[:THEME_SIMILAR_TO {score: 0.7, rank: 1}]->(owl)
CREATE (night:Theme {id: 't1', corpus: 'tales', name: 'night'})
CREATE (:Theme {id: 't2', corpus: 'tales', name: 'fur'})<-[:HAS_THEME {rank: 2}]-(fox)
CREATE (fox)-[:HAS_THEME {rank: 1}]->(night)<-[:HAS_THEME {rank: 1}]-(owl)
CREATE (:Redirect {id: 'r1', corpus: 'tales', title: 'Reynard', target: 'Fox',
                   targetKey: 'Fox'})
CREATE (:Redirect {id: 'r2', corpus: 'tales', title: 'Grey wolf', target: 'Wolf',
                   targetKey: 'Wolf'})
"""


@pytest.fixture
def run(
    server: Settings,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Return a function that runs a command on the session's emptied server."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        capsys.readouterr()
        buffer = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        monkeypatch.setattr("sys.stdin", buffer)
        with pytest.raises(SystemExit) as stopped:
            main(["--uri", server.uri or "", "--home", str(server.home), *arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def tales(connection: Connection) -> Connection:
    """Return a connection to a small graph with everything that queries look at."""
    connection.run_schema(GRAPH)
    return connection


def _count(connection: Connection, label: str) -> int:
    """Return how many nodes there are, of a label that tests make up."""
    rows = connection.query(
        "MATCH (n) WHERE $label IN labels(n) RETURN count(n) AS n", {"label": label}
    )
    return int(rows[0]["n"])


def test_table_shows_rows(run: Run) -> None:
    """People get a table on standard output."""
    code, out, err = run("cypher", "UNWIND ['a', 'b'] AS x RETURN x AS letter")

    assert (code, err) == (0, "")
    assert [line.strip() for line in out.splitlines()] == ["letter", "──────", "a", "b"]


def test_table_stops_at_its_limit_and_says_so(run: Run) -> None:
    """A long answer is cut, and the hint says how to get all of it."""
    code, out, err = run("cypher", "UNWIND range(1, 9) AS x RETURN x", "--rows", "3")

    assert code == 0
    assert out.split()[-1] == "3"
    assert "--csv and --json all" in err


def test_table_shortens_vectors_and_disarms_control_characters(run: Run) -> None:
    """A vector is shown by its beginning; stored text cannot steer the terminal."""
    _, out, _ = run(
        "cypher", "RETURN range(1, 384) AS v, $t AS t", "-p", 't="a\\u001b[31mb\\nc"'
    )

    assert "… 384 numbers]" in out
    assert "\x1b" not in out
    assert "a\N{REPLACEMENT CHARACTER}[31mb c" in out


def test_json_is_one_array(run: Run) -> None:
    """Machines get every row, with values that JSON has."""
    text = (
        "RETURN 1 AS i, 1.5 AS f, null AS n, true AS b, [1, 'x'] AS l, {a: 1} AS m, "
        "date('2024-02-29') AS d, duration('P1DT2H') AS u, 0.0 / 0 AS nan, "
        "point({x: 1, y: 2}) AS p, datetime('2024-01-01T00:00:00Z') AS t"
    )

    _, out, _ = run("cypher", text, "--json")

    assert json.loads(out) == [
        {
            "i": 1,
            "f": 1.5,
            "n": None,
            "b": True,
            "l": [1, "x"],
            "m": {"a": 1},
            "d": "2024-02-29",
            "u": "P1DT2H",
            "nan": "NaN",
            "p": {"srid": 7203, "x": 1.0, "y": 2.0},
            "t": "2024-01-01T00:00:00.000000000+00:00",
        }
    ]


def test_json_has_graph_values(run: Run, tales: Connection) -> None:
    """Nodes, relationships and paths are plain objects."""
    text = "MATCH p = (c:Chunk {id: 'f0'})-[r:FROM_DOCUMENT]->(d) RETURN c, r, p"

    _, out, _ = run("cypher", text, "--json")

    row = json.loads(out)[0]
    assert row["c"]["labels"] == ["Chunk"]
    assert row["c"]["properties"]["text"] == "Foxes hunt at night."
    assert row["r"]["type"] == "FROM_DOCUMENT"
    assert [row["r"]["start"], row["r"]["end"]] == [n["id"] for n in row["p"]["nodes"]]


def test_empty_answer(run: Run) -> None:
    """No row is an empty array for machines and a remark for people."""
    _, as_json, _ = run("cypher", "MATCH (n:Nobody) RETURN n", "--json")
    _, as_csv, _ = run("cypher", "MATCH (n:Nobody) RETURN n", "--csv")
    _, table, remark = run("cypher", "MATCH (n:Nobody) RETURN n")

    assert (as_json, as_csv, table, remark) == ("[]\n", "n\n", "", "No rows.\n")


def test_csv_can_be_read_back(run: Run) -> None:
    """Quotes, commas and line ends survive; null is empty; lists are JSON."""
    text = "RETURN $a AS a, null AS b, [1, 2] AS c, 3 AS d"

    _, out, _ = run("cypher", text, "--csv", "-p", 'a="x, \\"y\\"\\nz"')

    assert list(csv.reader(io.StringIO(out))) == [
        ["a", "b", "c", "d"],
        ['x, "y"\nz', "", "[1, 2]", "3"],
    ]


def test_many_rows_are_streamed(run: Run) -> None:
    """More rows than one fetch arrive whole and in order."""
    _, out, _ = run("cypher", "UNWIND range(1, 20000) AS x RETURN x", "--csv")

    assert out.split()[1:] == [str(number) for number in range(1, 20001)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("5", 5),
        ("5.5", 5.5),
        ("true", True),
        ("null", None),
        ('"5"', "5"),
        ("five", "five"),
        ("[1, 2]", [1, 2]),
        ('{"a": 1}', {"a": 1}),
        ("NaN", "NaN"),
        ("a=b", "a=b"),
        ("", ""),
        ("'); DROP", "'); DROP"),
    ],
)
def test_parameters_are_json_or_text(run: Run, value: str, expected: object) -> None:
    """A value is JSON where it is valid JSON, and text otherwise."""
    _, out, _ = run("cypher", "RETURN $x AS x", "--json", "-p", f"x={value}")

    assert json.loads(out) == [{"x": expected}]


def test_statement_from_standard_input(run: Run) -> None:
    """A dash reads the statement, with non-ASCII text, from standard input."""
    _, out, _ = run("cypher", "-", "--json", stdin="RETURN 'naïve 🦊' AS x")

    assert json.loads(out) == [{"x": "naïve 🦊"}]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (:Intruder)",
        "MERGE (n:Intruder {a: 1}) RETURN n",
        "PROFILE CREATE (:Intruder)",
        "CYPHER runtime=slotted /* x */ CREATE (:Intruder)",
        "// MATCH (n) RETURN n\nCREATE (:Intruder)",
        "FOREACH (x IN [1] | CREATE (:Intruder))",
        "UNWIND [1] AS x CALL (x) { CREATE (:Intruder) } IN TRANSACTIONS",
        "MATCH (k:Keeper) DETACH DELETE k",
        "MATCH (k:Keeper) SET k:Intruder",
        "CREATE INDEX intruder FOR (n:Intruder) ON (n.a)",
        "DROP INDEX chunk_text IF EXISTS",
        "CALL db.createLabel('Intruder')",
        "CREATE USER intruder SET PASSWORD 'long-enough'",
        "ALTER CURRENT USER SET PASSWORD FROM 'a-password' TO 'b-password'",
        "CALL db.clearQueryCaches()",
        "CALL dbms.killConnection('bolt-1')",
        "SHOW TRANSACTIONS YIELD transactionId AS t "
        "TERMINATE TRANSACTIONS t YIELD message RETURN message",
    ],
)
def test_nothing_is_written_without_leave(
    run: Run, connection: Connection, text: str
) -> None:
    """Every kind of change is refused in one line and leaves the database as it was."""
    connection.run_schema("CREATE (:Keeper)")
    try:
        code, out, err = run("cypher", text)

        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert "add --write" in err
        assert (_count(connection, "Intruder"), _count(connection, "Keeper")) == (0, 1)
    finally:
        connection.run_schema("MATCH (k:Keeper) DELETE k")


@pytest.mark.parametrize(
    "text",
    [
        "SHOW INDEXES YIELD name RETURN name",
        "CALL dbms.components()",
        "EXPLAIN CREATE (:Intruder)",
        "PROFILE RETURN 1 AS x",
        "CYPHER 5 RETURN 1 AS x;",
        "UNWIND [1] AS x CALL (x) { RETURN x AS y } IN TRANSACTIONS RETURN y",
    ],
)
def test_looking_is_allowed(run: Run, connection: Connection, text: str) -> None:
    """Commands and procedures that only look need no leave."""
    code, out, _ = run("cypher", text)

    assert code == 0
    assert out
    assert _count(connection, "Intruder") == 0


def test_explain_shows_the_plan(run: Run) -> None:
    """A statement that is only explained answers with its plan."""
    _, out, _ = run("cypher", "EXPLAIN MATCH (n:Nobody) RETURN n.name AS name")

    assert "ProduceResults" in out
    assert "NodeByLabelScan" in out


def test_write_reports_what_changed(run: Run, connection: Connection) -> None:
    """With leave a statement writes and says what it did, rows shown or not."""
    try:
        code, _, err = run(
            "cypher",
            "UNWIND range(1, 9) AS x CREATE (n:Guest {x: x}) RETURN x",
            "--write",
            "--rows",
            "2",
        )

        assert code == 0
        assert "9 nodes created, 9 properties set, 9 labels added" in err
        assert _count(connection, "Guest") == 9
    finally:
        connection.run_schema("MATCH (n:Guest) DELETE n")


def test_write_in_transactions(run: Run, connection: Connection) -> None:
    """With leave a statement may commit in batches of its own."""
    text = (
        "UNWIND range(1, 9) AS x CALL (x) { CREATE (:Guest) } IN TRANSACTIONS OF 2 ROWS"
    )
    try:
        code, _, _ = run("cypher", text, "--write")

        assert (code, _count(connection, "Guest")) == (0, 9)
    finally:
        connection.run_schema("MATCH (n:Guest) DELETE n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MATC (n)", "line 1, column 1"),
        ("MATCH (n)\nRETURN\n  nothing", "line 3, column 3"),
        ("PROFILE MATCH (n) RETURN nothing", "line 1, column 26"),
        ("RETURN $a + $b", "Give each with -p"),
        ("RETURN 1 / 0", "/ by zero"),
        ("CALL nobody.home()", "no procedure"),
        ("RETURN 1; RETURN 2", "one statement"),
        ("  ", "is empty"),
        ("", "is empty"),
    ],
)
def test_mistakes_are_one_line_with_the_place(
    run: Run, text: str, message: str
) -> None:
    """A statement that cannot run exits 2 and says where it is wrong."""
    code, out, err = run("cypher", text)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert message in err


def test_failure_of_the_database_exits_1(run: Run, connection: Connection) -> None:
    """What is not the statement's fault is a failure, not a mistake."""
    apply_schema(connection)

    code, _, err = run(
        "cypher", "CREATE (:Chunk {id: 'x'}), (:Chunk {id: 'x'})", "--write"
    )

    assert (code, len(err.splitlines())) == (1, 1)
    assert _count(connection, "Chunk") == 0


@pytest.mark.parametrize("name", SAVED)
def test_saved_query_runs_without_parameters(
    run: Run, tales: Connection, name: str
) -> None:
    """Every parameter of a saved query may be left out, and there are rows."""
    code, out, _ = run("cypher", "--saved", name, "--json")

    assert code == 0
    assert json.loads(out)


@pytest.mark.parametrize("name", SAVED)
def test_saved_query_of_an_empty_database(run: Run, name: str) -> None:
    """An empty database has no rows and no errors."""
    code, out, _ = run("cypher", "--saved", name, "--json", "-p", "corpus=none")

    assert (code, json.loads(out)) == (0, [])


@pytest.mark.parametrize(
    ("name", "parameters", "rows"),
    [
        (
            "documents",
            ["corpus=tales", "limit=1"],
            [{"corpus": "tales", "title": "Fox", "chunks": 2, "documentId": "d1"}],
        ),
        (
            "similar_documents",
            ["title=Fox"],
            [{"corpus": "tales", "title": "Fox", "similar": "Owl", "score": 0.7}],
        ),
        (
            "strongest_links",
            ["title=Fox", "other=Owl", "limit=1"],
            [
                {
                    "score": 0.91,
                    "title": "Fox",
                    "text": "Foxes hunt at night.",
                    "otherTitle": "Owl",
                    "otherText": "Owls hunt at night.",
                }
            ],
        ),
        (
            "mentions",
            ["title=Owl"],
            [
                {
                    "mentioned": "Owl",
                    "title": "Fox",
                    "chunk": 1,
                    "anchor": "owl",
                    "text": "An owl saw one.",
                }
            ],
        ),
        ("mentions", ["title=Reynard"], []),
        (
            "waiting_redirects",
            ["corpus=tales"],
            [{"corpus": "tales", "title": "Grey wolf", "target": "Wolf"}],
        ),
        (
            "shared_themes",
            [],
            [{"theme": "night", "documents": 2, "titles": ["Fox", "Owl"]}],
        ),
        (
            "shared_themes",
            ["theme=FUR"],
            [{"theme": "fur", "documents": 1, "titles": ["Fox"]}],
        ),
    ],
)
def test_saved_query_answers(
    run: Run, tales: Connection, name: str, parameters: list[str], rows: list[object]
) -> None:
    """The saved queries say what is true of a graph that one can check by hand."""
    options = [part for parameter in parameters for part in ("-p", parameter)]

    _, out, _ = run("cypher", "--saved", name, "--json", *options)

    assert json.loads(out) == rows


def test_schema_commands(run: Run, connection: Connection) -> None:
    """Apply, show and drop do what they say, and drop asks before."""
    drop_schema(connection, data=True)

    assert run("schema", "apply", "--dimensions", "32")[0] == 0
    shown = json.loads(run("schema", "show", "--json")[1])
    refused = run("schema", "drop", stdin="n\n")
    still = json.loads(run("schema", "show", "--json")[1])
    dropped = run("schema", "drop", "--yes", "--json")
    after = json.loads(run("schema", "show", "--json")[1])

    assert {item["state"] for item in shown["items"] if item["ours"]} == {"ONLINE"}
    assert refused[0] != 0
    assert still == shown
    assert "chunk_embedding" in json.loads(dropped[1])["dropped"]
    assert {item["state"] for item in after["items"] if item["ours"]} == {"MISSING"}


def test_schema_apply_says_what_it_did(run: Run, connection: Connection) -> None:
    """The first time brings it up, the second finds it done."""
    drop_schema(connection, data=True)

    first = run("schema", "apply")[1]
    second = run("schema", "apply")[1]

    assert re.match(r"Brought the schema from version 0 to \d", first)
    assert "already" in second


def test_schema_show_lists_for_people(run: Run, connection: Connection) -> None:
    """The list names each item with its state."""
    apply_schema(connection)

    _, out, _ = run("schema", "show")

    assert re.search(r"^chunk_id +ONLINE +UNIQUENESS Chunk\(id\)$", out, re.MULTILINE)


def test_doctor_finds_a_sound_database(run: Run, connection: Connection) -> None:
    """With a server and a schema nothing needed is broken."""
    apply_schema(connection)

    code, out, _ = run("doctor", "--json")

    states = {finding["check"]: finding["state"] for finding in json.loads(out)}
    assert code == 0
    assert {states[check] for check in ("python", "server", "schema", "embedder")} == {
        "ok"
    }


def test_doctor_names_a_missing_schema(run: Run, connection: Connection) -> None:
    """A database without schema is a warning with the command that makes it."""
    drop_schema(connection, data=True)

    code, out, _ = run("doctor")

    assert code == 0
    assert re.search(r"^warning +schema: .*knowtrail schema apply$", out, re.MULTILINE)


def test_doctor_names_another_embedder(run: Run, connection: Connection) -> None:
    """A corpus of another embedder is a warning that says which one it needs."""
    apply_schema(connection)
    properties = {"embedder": "other/model", "dimensions": 8}
    connection.write("ingest/corpus_create", name="c", properties=properties)

    _, out, _ = run("doctor")

    assert re.search(r"^warning +corpora: .*--embedder other/model$", out, re.MULTILINE)


def test_doctor_refuses_a_newer_schema(run: Run, connection: Connection) -> None:
    """A database of a newer version is a problem and exits 1."""
    apply_schema(connection)
    connection.write("schema/version_write", version=99)
    try:
        code, out, _ = run("doctor")

        assert code == 1
        assert re.search(r"^problem +schema: ", out, re.MULTILINE)
    finally:
        drop_schema(connection)


def test_doctor_names_wrong_credentials(
    run: Run, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused password is a problem, and the other checks still run."""
    monkeypatch.setenv("NEO4J_PASSWORD", "not-the-password")

    code, out, _ = run("doctor")

    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    run("cypher", "RETURN 1")
    assert code == 1
    assert re.search(r"^problem +server: .*NEO4J_PASSWORD", out, re.MULTILINE)
    assert "embedder:" in out


@pytest.fixture
def homeless(server: Settings, tmp_path: Path) -> Settings:
    """Return settings that mean a managed server that was never started."""
    from dataclasses import replace

    return replace(server, uri=None, password=None, home=tmp_path / "home")


def test_doctor_starts_nothing(homeless: Settings) -> None:
    """Where no server runs, it says so and makes neither server nor folder."""
    findings = {finding.check: finding for finding in examine(homeless)}

    assert findings["server"].state == "ok"
    assert "none is running" in findings["server"].detail
    assert not homeless.home.exists()


def test_doctor_sees_a_taken_port(homeless: Settings) -> None:
    """Another process on the usual port is a warning, as a free one will do."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 7687))
        except OSError:
            pass
        else:
            taken.listen()

        findings = {finding.check: finding for finding in examine(homeless)}

    assert findings["port"].state == "warning"


@pytest.mark.parametrize(
    ("changes", "check", "state", "words"),
    [
        ({"embedder": "openai:ada"}, "embedder", "problem", "unknown provider"),
        ({"embedder": "hash:8"}, "embedder", "ok", "no model"),
        ({"embedder": "no/such-model"}, "embedder", "warning", "not on this machine"),
        ({"neo4j_version": "4.4.0"}, "server files", "problem", "4.4.0"),
        ({"neo4j_version": "5.26.1"}, "server files", "warning", "not installed yet"),
        (
            {"ollama_url": "http://127.0.0.1:9"},
            "language model",
            "warning",
            "does not answer",
        ),
        ({"ollama_url": "no url"}, "language model", "warning", "does not answer"),
        (
            {"embedder": "ollama:x", "ollama_url": "http://127.0.0.1:9"},
            "embedder",
            "problem",
            "does not answer",
        ),
    ],
)
def test_doctor_looks_at_settings(
    homeless: Settings, changes: dict[str, str], check: str, state: str, words: str
) -> None:
    """Each setting that cannot work is found without trying it."""
    from dataclasses import replace

    findings = {
        finding.check: finding for finding in examine(replace(homeless, **changes))
    }

    assert findings[check].state == state
    assert words in findings[check].detail

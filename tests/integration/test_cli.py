"""The small commands on a real server: cypher, schema, doctor."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.cli.root import main
from knowtrail.graph.db.schema import (
    SCHEMA_VERSION,
    apply_schema,
    drop_schema,
    filter_properties,
)
from knowtrail.graph.db.statements import statement, statement_names
from knowtrail.graph.doctor import examine
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.settings import own_command
from knowtrail.ingest.corpus import list_corpora
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval.corpora import corpora
from knowtrail.retrieval.views.reading import find_document
from tests.corpora import ListSource, article

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database

    Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.integration

SAVED = [
    name.removeprefix("inspect/")
    for name in statement_names()
    if name.startswith("inspect/")
    and not re.search(
        ":(Traversal|Research|Eval[A-Z]|Extraction|Concept|Battle|JUDGED|Custodian"
        "|Conversation)",
        statement(name),
    )
]
"""Saved queries about corpora; those about walks, research, evaluations, extractions,
judgements, institutions and conversations have tests of their own."""

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
CREATE (o0)-[:SIMILAR_TO {score: 0.91, rank: 1, scope: 'inter'}]->(f0)
CREATE (f1)-[:SIMILAR_TO {score: 0.44, rank: 1, scope: 'inter'}]->(o0)
CREATE (f0)-[:SIMILAR_TO {score: 0.99, rank: 1, scope: 'intra'}]->(f1)
CREATE (f1)-[:MENTIONS {anchor: 'owl'}]->(owl)
CREATE (f1)-[:NAMES]->(:Term {id: 'n1', corpus: 'tales', name: 'owl', label: 'Owl',
                              chunks: 2})<-[:NAMES]-(o0)
CREATE (fox)-[:THEME_SIMILAR_TO {score: 0.7, rank: 1}]->(owl)
CREATE (owl)-[:THEME_SIMILAR_TO {score: 0.7, rank: 1}]->(fox)
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
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Return a function that runs a command on the session's server."""
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
def tales(database: Database, session_connection: Connection) -> Connection:
    """Return a connection to a small graph with everything that queries look at."""
    return database.holding("tales", lambda: session_connection.run_schema(GRAPH))


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


def test_table_splits_no_word(run: Run) -> None:
    """Lines are short where nobody looks; what does not fit is named, and --wide."""
    ids = "RETURN $id AS id, $text AS text, $id AS other, $id AS third, $id AS last"
    given = ("-p", f"id={'x' * 60}", "-p", f"text={'many words ' * 30}")

    code, out, err = run("cypher", ids, *given)
    _, wide, nothing = run("cypher", ids, *given, "--wide")

    assert code == 0
    assert max(map(len, out.splitlines())) < 200
    assert (out.count("x" * 60), out.count("many"), out.count("words")) == (3, 30, 30)
    assert err == "Not shown: last. --wide shows them.\n"
    assert (len(wide.splitlines()), wide.count("x" * 60), nothing) == (3, 4, "")


def test_table_shows_whole_paths(run: Run) -> None:
    """A path is told by what names its nodes, and its arrows, not by all they hold."""
    text = (
        "CREATE p = (:Probe {title: $long, id: $long})<-[:ECHOES {weight: 1}]-"
        "(:Probe {index: 7, text: $long}) RETURN p"
    )

    _, out, _ = run("cypher", text, "-p", f"long={'much ' * 90}", "--write")
    run("cypher", "MATCH (n:Probe) DETACH DELETE n", "--write")

    begun = ("much " * 10)[:45]
    assert out.splitlines()[2].strip() == (
        f'(:Probe {{title: "{begun}…"}})<-[:ECHOES]-(:Probe {{index: 7}})'
    )


def test_names_that_nothing_has_are_told(run: Run, tales: Connection) -> None:
    """Labels, properties and types, a line each with its place, on stderr; once."""
    text = "MATCH (d:Documnt)-[:LINKS_OT]->(e:Documnt)\nRETURN d.tittle, e.tittle"
    ways = [(text,), (text, "--json"), (f"EXPLAIN {text}",), (f"PROFILE {text}",)]

    for words in ways:
        code, _, err = run("cypher", *words)
        told = [line for line in err.splitlines() if line.startswith("Warning: ")]
        assert code == 0
        assert [
            sum(name in line for line in told) for name in ("Documnt", "tittle")
        ] == [*(2, 2)]
        assert sum("LINKS_OT" in line for line in told) == 1
        assert sum("(line 2, column" in line for line in told) == 2
    assert run("cypher", "MATCH (d:Document) RETURN d.title AS a LIMIT 1")[2] == ""
    assert "Warning" not in run("cypher", "--saved", "extraction_gaps")[2]


def test_saved_query_without_rows_says_what_fills_it(
    run: Run, connection: Connection, server: Settings
) -> None:
    """Who asks too early reads which command comes first, as it is to be typed."""
    said = [
        run("cypher", "--saved", name)[2]
        for name in ("traversal_candidates", "extraction_gaps", "documents")
    ]

    assert said == [
        f"No rows. What it reads comes from: {own_command(server.home)} {command}\n"
        for command in ("traverse --trace", "extract", "ingest")
    ]
    asked = run("cypher", "--saved", "documents", "-p", "corpus=nope", "-p", "limit=3")
    assert asked[2] == "No rows. Nothing that is stored matches corpus=nope.\n"


def test_saved_query_of_a_corpus_without_rows_says_why(
    run: Run, tales: Connection, server: Settings
) -> None:
    """A corpus that exists lacks what a command stores; titles are matched exactly."""
    empty = run("cypher", "--saved", "walks", "-p", "corpus=tales", "-p", "limit=3")[2]
    lower = run("cypher", "--saved", "mentions", "-p", "title=owl")[2]

    stores = f"{own_command(server.home)} traverse, or {own_command(server.home)}"
    assert empty == f"No rows. What it reads comes from: {stores} compare\n"
    assert lower == (
        "No rows. Nothing that is stored matches title=owl. "
        "Titles are matched exactly as written.\n"
    )


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
    assert "a [31mb c" in out


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
    _, as_json, _ = run("cypher", "MATCH (n) WHERE false RETURN n", "--json")
    _, as_csv, _ = run("cypher", "MATCH (n) WHERE false RETURN n", "--csv")
    _, table, remark = run("cypher", "MATCH (n) WHERE false RETURN n")

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


def test_parameters_are_json_or_text(run: Run) -> None:
    """A value is JSON where it is valid JSON, and text otherwise."""
    values = {
        "5": 5,
        "5.5": 5.5,
        "true": True,
        "null": None,
        '"5"': "5",
        "five": "five",
        "[1, 2]": [1, 2],
        '{"a": 1}': {"a": 1},
        "NaN": "NaN",
        "a=b": "a=b",
        "": "",
        "'); DROP": "'); DROP",
    }
    given = [w for n, v in enumerate(values) for w in ("-p", f"p{n}={v}")]
    all_of_them = ", ".join(f"$p{n}" for n in range(len(values)))

    _, out, _ = run("cypher", f"RETURN [{all_of_them}] AS x", "--json", *given)

    read = json.loads(out)[0]["x"]
    assert dict(zip(values, read, strict=True)) == values
    assert [type(value) for value in read] == [type(v) for v in values.values()]


def test_statement_from_standard_input(run: Run) -> None:
    """A dash reads the statement, with non-ASCII text, from standard input."""
    _, out, _ = run("cypher", "-", "--json", stdin="RETURN 'naïve 🦊' AS x")

    assert json.loads(out) == [{"x": "naïve 🦊"}]


WRITING = [
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
    "// x\rTERMINATE TRANSACTION 'neo4j-transaction-0' /*\nEXPLAIN */",
    "// x\rCALL db.clearQueryCaches() /*\nSHOW */",
    "LOAD CSV FROM 'file:///a.csv' AS r RETURN r",
    "PROFILE LOAD CSV WITH HEADERS FROM 'http://127.0.0.1:1/' AS r RETURN r",
    "CYPHER 5 /* x */ LOAD CSV FROM 'ftp://127.0.0.1:1/a' AS r RETURN r",
    "MATCH (k:Keeper) CALL (k) { LOAD CSV FROM 'file:///' + k.a AS r RETURN r } "
    "RETURN r",
    "RETURN 1 AS r UNION ALL LOAD CSV FROM $url AS r RETURN 1 AS r",
    "RETURN EXISTS { LOAD CSV FROM 'file:///a' AS r RETURN r } AS r",
    "RETURN COUNT { LOAD CSV FROM 'file:///a' AS r RETURN r } AS r",
    "RETURN COLLECT { LOAD CSV FROM 'https://a.example/' AS r RETURN r[0] } AS r",
    "RETURN head(COLLECT { LOAD CSV FROM 'http://127.0.0.1:1/' AS r RETURN 1 }) AS r",
    "RETURN COLLECT { LOAD CSV FROM 'file:///a' AS r RETURN r[0] }[0] AS r",
    "RETURN [x IN [1] | COUNT { load /**/ csv FROM 'file:///a' AS r RETURN r }] AS r",
    "RETURN coalesce(null, EXISTS { LOAD CSV FROM 'file:///a' AS r RETURN r }) AS r",
    "RETURN head(COLLECT { CALL dbms.killConnection('bolt-1') YIELD message "
    "RETURN message }) AS r",
]
LOOKING = [
    "SHOW INDEXES YIELD name RETURN name",
    "CALL dbms.components()",
    "SHOW USERS YIELD user",
    "EXPLAIN CREATE (:Intruder)",
    "// why\nCYPHER 5 EXPLAIN CREATE (:Intruder)",
    "PROFILE RETURN 1 AS x",
    "CYPHER 5 RETURN 1 AS x;",
    "UNWIND [1] AS x CALL (x) { RETURN x AS y } IN TRANSACTIONS RETURN y",
]


def test_nothing_is_written_without_leave(run: Run, connection: Connection) -> None:
    """Every kind of change is refused in one line and leaves the database as it was."""
    connection.run_schema("CREATE (:Keeper)")

    done = {text: run("cypher", text) for text in WRITING}

    assert [
        (text, did)
        for text, did in done.items()
        for code, out, err in [did]
        if (code, out, len(err.splitlines())) != (2, "", 1) or "add --write" not in err
    ] == []
    assert (_count(connection, "Intruder"), _count(connection, "Keeper")) == (0, 1)


def test_looking_is_allowed(run: Run, connection: Connection) -> None:
    """Commands and procedures that only look need no leave."""
    done = {text: run("cypher", text) for text in LOOKING}

    assert [(text, did) for text, did in done.items() if did[0] or not did[1]] == []
    assert _count(connection, "Intruder") == 0


def test_explain_shows_the_plan(run: Run) -> None:
    """A statement that is only explained answers with its plan."""
    _, out, _ = run("cypher", "EXPLAIN MATCH (n:Nobody) RETURN n.name AS name")

    assert "ProduceResults" in out
    assert "NodeByLabelScan" in out


def test_write_reports_what_changed(run: Run, connection: Connection) -> None:
    """With leave a statement writes and says what it did, rows shown or not."""
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


def test_write_in_transactions(run: Run, connection: Connection) -> None:
    """With leave a statement may commit in batches of its own."""
    text = (
        "UNWIND range(1, 9) AS x CALL (x) { CREATE (:Guest) } IN TRANSACTIONS OF 2 ROWS"
    )
    code, _, _ = run("cypher", text, "--write")

    assert (code, _count(connection, "Guest")) == (0, 9)


MISTAKES = {
    "MATC (n)": "line 1, column 1",
    "MATCH (n)\nRETURN\n  nothing": "line 3, column 3",
    "PROFILE MATCH (n) RETURN nothing": "line 1, column 26",
    "RETURN $a + $b": "Give each with -p",
    "RETURN 1 / 0": "/ by zero",
    "RETURN 1 LIMIT coalesce(['x'][0], 5)": 'Expected a numeric value, but got: "x"',
    "UNWIND [[1], 2.5] AS a RETURN a.b": "expected a map but was",
    "CALL nobody.home()": "no procedure",
    "RETURN 1; RETURN 2": "one statement",
    "  ": "is empty",
    "": "is empty",
}


def test_mistakes_are_one_line_with_the_place(run: Run) -> None:
    """A statement that cannot run exits 2 and says where it is wrong."""
    done = {text: run("cypher", text) for text in MISTAKES}

    assert [
        (text, did)
        for text, did in done.items()
        for code, out, err in [did]
        if (code, out, len(err.splitlines())) != (2, "", 1) or MISTAKES[text] not in err
    ] == []


def test_failure_of_the_database_exits_1(run: Run, connection: Connection) -> None:
    """What is not the statement's fault is a failure, not a mistake."""
    apply_schema(connection)

    code, _, err = run(
        "cypher", "CREATE (:Chunk {id: 'x'}), (:Chunk {id: 'x'})", "--write"
    )

    assert (code, len(err.splitlines())) == (1, 1)
    assert _count(connection, "Chunk") == 0


def test_saved_queries_run_without_parameters(run: Run, tales: Connection) -> None:
    """Every parameter of a saved query may be left out, and there are rows."""
    done = {name: run("cypher", "--saved", name, "--json") for name in SAVED}

    assert [
        (name, did)
        for name, did in done.items()
        if did[0] != 0 or not json.loads(did[1])
    ] == []


def test_saved_queries_of_an_empty_database(run: Run, connection: Connection) -> None:
    """An empty database has no rows and no errors."""
    done = {
        name: run("cypher", "--saved", name, "--json", "-p", "corpus=none")
        for name in SAVED
    }

    assert [
        (name, did)
        for name, did in done.items()
        if did[0] != 0 or json.loads(did[1]) != []
    ] == []


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
        ("shared_themes", ["theme=1984"], []),
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


def test_columns_of_a_saved_query_that_are_empty_are_left_out(
    run: Run, connection: Connection
) -> None:
    """Without a term there is no passage to show; what one asks oneself is whole."""
    term = "{id: 't', corpus: 'tales', name: 'fox', label: 'Fox', chunks: 2}"
    connection.run_schema(f"CREATE (:Term {term})")

    _, saved, _ = run("cypher", "--saved", "terms")
    _, rows, _ = run("cypher", "--saved", "terms", "--json")
    _, own, _ = run("cypher", "RETURN 1 AS one, null AS none")

    assert saved.splitlines()[0].split() == ["term", "chunks"]
    assert json.loads(rows)[0].keys() == {"term", "chunks", "title", "chunk", "text"}
    assert own.splitlines()[0].split() == ["one", "none"]


def test_saved_queries_name_each_pair_once(run: Run, tales: Connection) -> None:
    """Where edges lead both ways, a pair has one row, either way that it is told."""
    asked = {
        name: json.loads(run("cypher", "--saved", name, "--json")[1])
        for name in ("similar_documents", "strongest_links")
    }
    named = json.loads(
        run("cypher", "--saved", "similar_documents", "--json", "-p", "title=Owl")[1]
    )

    links = [(row["text"], row["otherText"]) for row in asked["strongest_links"]]
    assert links == [
        ("Foxes hunt at night.", "Owls hunt at night."),
        ("An owl saw one.", "Owls hunt at night."),
    ]
    assert [row["similar"] for row in asked["similar_documents"]] == ["Owl"]
    assert [row["similar"] for row in named] == ["Fox"]


def test_disputed_links_name_each_pair_once(run: Run, connection: Connection) -> None:
    """Of a cause and effect told both ways the one that is told more often is there."""
    connection.run_schema(
        """
        CREATE (a:Concept {id: 'a', name: 'rain'}), (b:Concept {id: 'b', name: 'mud'})
        CREATE (c:Concept {id: 'c', name: 'hen'}), (d:Concept {id: 'd', name: 'egg'})
        CREATE (a)<-[:CAUSES {strength: 0.5}]-(b), (a)<-[:CAUSES {strength: 0.6}]-(b)
        CREATE (a)-[:CAUSES {strength: 0.9}]->(b)
        CREATE (c)-[:CAUSES {strength: 0.9}]->(d), (d)-[:CAUSES {strength: 0.9}]->(c)
        """
    )

    _, out, _ = run("cypher", "--saved", "extraction_disputed_links", "--json")

    told = [(row["cause"], row["effect"], row["reversed"]) for row in json.loads(out)]
    assert told == [("mud", "rain", True), ("hen", "egg", True)]


@pytest.mark.forgets
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


@pytest.mark.forgets
def test_doctor_names_a_missing_schema(run: Run, connection: Connection) -> None:
    """A database without schema is a warning with the command that makes it."""
    drop_schema(connection, data=True)

    code, out, _ = run("doctor")

    assert code == 0
    assert re.search(r"^warning +schema: .*knowtrail.* schema apply$", out, re.M)


@pytest.mark.thorough
@pytest.mark.forgets
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


@pytest.mark.forgets
def test_indexes_for_filters_are_ours(run: Run, connection: Connection) -> None:
    """They are made, listed and dropped like the others; a bad name is one line."""
    made = run("schema", "apply", "--filter-property", "document.year")
    bad = run("schema", "apply", "--filter-property", "year) DETACH")
    _, shown, _ = run("schema", "show")

    assert made[0] == 0
    assert (bad[0], len(bad[2].splitlines())) == (2, 1)
    assert "filter_document_year  ONLINE" in re.sub(r"  +", "  ", shown)
    assert "filter_document_year" in run("schema", "drop", "--yes")[1]
    assert "filter_document_year" not in run("schema", "show")[1]


@pytest.mark.forgets
def test_an_ingest_declares_what_filters_name(
    run: Run, connection: Connection, tmp_path: Path
) -> None:
    """A name alone is a document's; told again it is not made again; a bad one stops.

    What a database has already is declared too.
    """
    drop_schema(connection, data=True)
    apply_schema(connection)
    path = tmp_path / "tales.jsonl"
    path.write_text('{"title": "Fox", "text": "It hunts.", "year": 1702}', "utf-8")
    told = ["ingest", "jsonl", str(path), "--corpus", "told", "--themes", "none"]
    able = connection.capabilities.filtered_vector_index

    bad = run(*told, "--filter-property", "embedding")
    assert (bad[0], len(bad[2].splitlines())) == (2, 1)
    assert "'embedding' is no property to filter by" in bad[2]
    assert list_corpora(connection) == []
    assert run(*told, "--filter-property", "year")[0] == 0
    assert filter_properties(connection) == ["document.year"]
    assert corpora(connection)[0].filters == (["document.year"] if able else [])
    connection.driver.execute_query(
        "MATCH (c:Chunk) SET c.document_year = 5", database_=connection.database
    )
    assert run(*told, "--filter-property", "document.year")[0] == 0
    rows = connection.query("MATCH (c:Chunk) RETURN c.document_year AS year")
    assert rows == [{"year": 5}]
    more = ("--filter-property", "chunk.index", "--filter-property", "year")
    assert run(*told, *more)[0] == 0
    names = ["chunk.index", "document.year"]
    assert corpora(connection)[0].filters == (names if able else [])
    given = '{"document.year": 1702, "chunk.index": 0}'
    assert "hunts" in run("search", "--filter", given, "What hunts?")[1]
    drop_schema(connection, data=True)


def test_doctor_finds_a_sound_database(run: Run, connection: Connection) -> None:
    """With a server and a schema nothing needed is broken."""
    apply_schema(connection)

    code, out, _ = run("doctor", "--json")

    states = {finding["check"]: finding["state"] for finding in json.loads(out)}
    assert code == 0
    assert {states[check] for check in ("python", "server", "schema", "embedder")} == {
        "ok"
    }


def test_doctor_names_another_embedder(run: Run, connection: Connection) -> None:
    """A corpus of another embedder is a warning that says which one it needs."""
    apply_schema(connection)
    properties = {"embedder": "other/model", "dimensions": 8}
    connection.write("ingest/corpus_create", name="c", properties=properties)

    _, out, _ = run("doctor")

    assert re.search(r"^warning +corpora: .*--embedder other/model$", out, re.MULTILINE)


def test_doctor_measures_what_index_and_edges_find(
    run: Run, connection: Connection, server: Settings
) -> None:
    """By a sample; where edges are missing it says so, and what to do."""
    ingest_corpus(
        connection,
        [ListSource([article(number) for number in range(8)])],
        corpus="made",
        embedder=HashEmbedder(32),
        settings=server,
        options=IngestOptions(themes="none"),
    )

    sound = json.loads(run("doctor", "--json")[1])
    connection.run_schema(
        "MATCH (:Chunk)-[r:SIMILAR_TO {scope: 'inter'}]->() WHERE r.rank > 2 DELETE r"
    )
    _, poor, _ = run("doctor")

    details = {f["check"]: f["detail"] for f in sound if f["state"] == "ok"}
    found = r"(9[5-9]|100)\.\d% of the nearest are found, by 32 chunks of made"
    assert re.fullmatch(found, details["vector index"])
    assert details["similar chunks"].startswith("100.0%")
    assert re.search(r"^warning +similar chunks: .*ingest it again\.$", poor, re.M)


def test_doctor_refuses_a_newer_schema(run: Run, connection: Connection) -> None:
    """A database of a newer version is a problem and exits 1."""
    apply_schema(connection)
    connection.write("schema/version_write", version=99)
    try:
        code, out, _ = run("doctor")

        assert code == 1
        assert re.search(r"^problem +schema: ", out, re.MULTILINE)
    finally:
        connection.write("schema/version_write", version=SCHEMA_VERSION)


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


CLOSED = "http://127.0.0.1:9"
SETTINGS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"embedder": "openai:ada"}, "embedder", "problem", "unknown provider"),
    ({"embedder": "hash:8"}, "embedder", "ok", "no model"),
    ({"embedder": "no/such-model"}, "embedder", "warning", "not on this machine"),
    ({"neo4j_version": "4.4.0"}, "server files", "problem", "4.4.0"),
    ({"neo4j_version": "5.26.1"}, "server files", "warning", "not installed yet"),
    ({"ollama_url": CLOSED}, "language model", "warning", "does not answer"),
    ({"ollama_url": "no url"}, "language model", "warning", "does not answer"),
    ({"embedder": "ollama:x", "ollama_url": CLOSED}, "embedder", "problem",
     "does not answer"),
]  # fmt: skip


def test_doctor_looks_at_settings(homeless: Settings) -> None:
    """Each setting that cannot work is found without trying it."""
    found = [
        next(f for f in examine(replace(homeless, **changes)) if f.check == check)
        for changes, check, _, _ in SETTINGS
    ]

    assert [
        (changes, finding)
        for (changes, _, state, words), finding in zip(SETTINGS, found, strict=True)
        if finding.state != state or words not in finding.detail
    ] == []
    assert "without it ask shows the sentences nearest" in found[5].advice


def test_a_title_means_a_document_of_no_evaluation(connection: Connection) -> None:
    """Where no corpus is named; that of an evaluation is found where it is."""
    made = "eval-tales-passages-0123abcd"
    connection.run_schema(
        f"UNWIND ['tales', '{made}'] AS name "
        "CREATE (:Document {id: name, corpus: name, title: 'Fox', aliases: []})"
    )

    assert find_document(connection, "Fox").id == "tales"
    assert find_document(connection, "Fox", corpus=made).id == made
    connection.run_schema("CREATE (:Document {id: 'b', corpus: 'b', title: 'Fox'})")
    with pytest.raises(InputError, match=r"Several documents .*: b \(b\), tales"):
        find_document(connection, "Fox")

"""The saved queries about walks, on walks that one can check by hand.

Most tests share the walks; those that write have their own, and stand at the end.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.db.schema import apply_schema
from knowtrail.retrieval.recording import record
from knowtrail.retrieval.walk import RankedChunk
from tests.command_line import CommandLine
from tests.walks import EDGES, GRAPH, NIGHT, SEA, recording, walk_over

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration


class Analyst(CommandLine):
    """Somebody who asks the stored walks."""

    ids: dict[str, str]

    def ask(self, name: str, *parameters: str) -> list[dict[str, Any]]:
        """Return the rows of a saved query."""
        words = [word for parameter in parameters for word in ("-p", parameter)]
        done = self.run("cypher", "--saved", name, "--json", *words)
        assert (done.code, done.errors) == (0, [])
        rows: list[dict[str, Any]] = json.loads(done.out)
        return rows

    def named(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return the names of the walks of rows."""
        names = {value: name for name, value in self.ids.items()}
        return [names[row["traversal"]] for row in rows]


def walks_in(connection: Connection) -> dict[str, str]:
    """Store four walks for two questions in an empty database; return their ids."""
    apply_schema(connection)
    connection.run_schema(GRAPH)
    connection.run_schema(EDGES)
    walks = {
        "old": walk_over("owl0"),
        "query": walk_over("fox0", "owl0", "owl1"),
        "kg": walk_over("fox0", "fox1", "owl1", "eel0", algorithm="kg_traversal"),
        "sea": walk_over("eel0", question=SEA, stop_reason="no_connections"),
    }
    ids = {}
    for minute, (name, walk) in enumerate(walks.items()):
        traced = recording(walk, minute=minute, trace=name == "kg")
        ids[name] = record(connection, traced)[0] or ""
    return ids


@pytest.fixture(scope="module")
def shared_ids(emptied: Connection) -> dict[str, str]:
    """Return the ids of the walks that tests share."""
    return walks_in(emptied)


@pytest.fixture
def asker(
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Analyst:
    """Return an analyst who knows no walk yet."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    return Analyst(server, capsys, "hash:32")


@pytest.fixture
def analyst(asker: Analyst, shared_ids: dict[str, str]) -> Analyst:
    """Return an analyst of the shared walks."""
    asker.ids = shared_ids
    return asker


@pytest.fixture
def writer(asker: Analyst, connection: Connection) -> Analyst:
    """Return an analyst of walks that a test may change."""
    asker.ids = walks_in(connection)
    return asker


def test_walks_lists_the_latest_first(analyst: Analyst) -> None:
    """Each walk with its question and figures; question and algorithm narrow it."""
    rows = analyst.ask("walks")
    some = analyst.ask("walks", f"question={NIGHT}", "algorithm=query_traversal")

    assert analyst.named(rows) == ["sea", "kg", "query", "old"]
    assert analyst.named(some) == ["query", "old"]
    assert rows[0] == {
        "time": "2026-01-01T00:03:00.000000000+00:00",
        "question": SEA,
        "algorithm": "query_traversal",
        "sentences": 1,
        "documents": 1,
        "hops": 0,
        "stopReason": "no_connections",
        "milliseconds": 4.3,
        "traversal": analyst.ids["sea"],
    }


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("walks", {"question", "algorithm", "hops", "sentences", "stopReason"}),
        ("traversal_steps", {"step", "title", "found"}),
        ("hops_off_theme", {"themeSimilarity", "title", "otherTitle", "traversal"}),
        ("walks_across_documents", {"question", "traversal", "crossings"}),
        ("walks_died_early", {"question", "stopReason", "traversal"}),
        ("walks_apart", {"walks", "apart", "title", "otherTitle"}),
    ],
)
def test_what_names_a_row_fits_in_80_columns(
    analyst: Analyst, name: str, shown: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No id is split and no line is longer; the columns left out are named."""
    monkeypatch.setenv("COLUMNS", "80")

    done = analyst.run("cypher", "--saved", name)

    lines = done.out.splitlines()
    told = done.out.partition("In all rows: ")[2].replace(":", "")
    assert shown <= {*lines[0].split(), *told.split()}
    assert max(map(len, lines)) <= 80
    assert name in {"traversal_steps", "walks_apart"} or any(
        i in done.out for i in analyst.ids.values()
    )


def test_what_all_rows_have_is_told_once(
    analyst: Analyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below a table that is narrow; what was found has the room; pipes have all."""
    kg = analyst.ids["kg"]
    steps = ("cypher", "--saved", "traversal_steps", "-p", f"traversal={kg}")
    walks = ("cypher", "--saved", "walks", "-p", f"question={NIGHT}")

    piped = analyst.run(*steps)
    monkeypatch.setenv("COLUMNS", "60")
    narrow = analyst.run(*steps)
    below = analyst.run(*walks)

    assert "In all rows" not in piped.out
    assert "algorithm" in piped.out.splitlines()[0]
    assert "algorithm" not in narrow.out.splitlines()[0]
    assert "algorithm: kg_traversal" in narrow.out.rpartition("In all rows: ")[2]
    assert f"question: {NIGHT}" in below.out.rpartition("In all rows: ")[2]
    assert below.out.splitlines()[3] == f"  traversal {kg}"


def test_traversal_steps_are_rows(analyst: Analyst) -> None:
    """One step a row, in order, with what was found there."""
    rows = analyst.ask("traversal_steps", f"traversal={analyst.ids['query']}")

    assert [(r["step"], r["hop"], r["title"], r["found"]) for r in rows] == [
        (0, 0, "Fox", "Says fox0"),
        (1, 1, "Owl", "Says owl0"),
        (2, 2, "Owl", "Says owl1"),
    ]
    assert rows[0] == {
        "algorithm": "query_traversal",
        "step": 0,
        "hop": 0,
        "title": "Fox",
        "score": 0.9,
        "reason": "anchor",
        "milliseconds": 1.5,
        "stored": True,
        "found": "Says fox0",
        "text": "Text of fox0",
    }


def test_the_latest_traversal_is_taken_where_none_is_named(analyst: Analyst) -> None:
    """Without an id the last walk is shown."""
    assert [row["title"] for row in analyst.ask("traversal_steps")] == ["Eel"]


def test_traversal_path_is_a_graph(analyst: Analyst) -> None:
    """Question, traversal, steps, chunks, documents and the edges followed."""
    rows = analyst.ask("traversal_path", f"traversal={analyst.ids['query']}")

    assert [
        [edge["type"] for edge in row["path"]["relationships"]] for row in rows
    ] == [
        ["FOR_QUERY"],
        ["FIRST_STEP"],
        ["VISITED", "FROM_DOCUMENT"],
        ["NEXT_STEP"],
        ["SIMILAR_TO"],
        ["VISITED", "FROM_DOCUMENT"],
        ["NEXT_STEP"],
        ["VISITED", "FROM_DOCUMENT"],
    ]
    documents = {
        node["properties"]["title"]
        for row in rows
        for node in row["path"]["nodes"]
        if node["labels"] == ["Document"]
    }
    assert documents == {"Fox", "Owl"}


def test_traversal_candidates_of_a_traced_walk(analyst: Analyst) -> None:
    """Anchors first, then each step's choices; the one taken is marked."""
    rows = analyst.ask("traversal_candidates", f"traversal={analyst.ids['kg']}")

    assert [
        (r["choice"], r["rank"], r["taken"], r["visited"], r["text"]) for r in rows[:5]
    ] == [
        ("anchor", 1, True, 0, "Text of fox0"),
        ("anchor", 2, False, 3, "Text of eel0"),
        ("after step 0", 1, True, 1, "Text of fox1"),
        ("after step 0", 2, False, 2, "Text of owl1"),
        ("after step 0", 3, False, 3, "Text of eel0"),
    ]
    assert len(rows) == 2 + 3 + 2 + 1


@pytest.mark.parametrize("name", ["traversal_candidates", "passages_missed"])
def test_a_walk_without_trace_has_no_candidates(analyst: Analyst, name: str) -> None:
    """Nothing was recorded, nothing is shown; it is told why, and what keeps one."""
    walk = analyst.ids["query"]

    done = analyst.run("cypher", "--saved", name, "-p", f"traversal={walk}")

    assert done.out == ""
    assert done.errors[0].startswith(f"No rows. The walk {walk} has no trace; ")
    assert done.errors[0].endswith(" traverse --trace")


def test_the_latest_walk_with_a_trace_is_taken(analyst: Analyst) -> None:
    """Later ones that have none are passed over."""
    traced = f"traversal={analyst.ids['kg']}"

    for name, *title in [("traversal_candidates",), ("passages_missed", "title=Owl")]:
        rows = analyst.ask(name, *title)
        assert rows == analyst.ask(name, traced, *title) != []


def test_passages_missed_says_how_each_fared(analyst: Analyst) -> None:
    """Visited, left at the end, or never weighed: a row for each chunk of a title."""
    at = f"traversal={analyst.ids['kg']}"

    owl = analyst.ask("passages_missed", at, "title=Owl")
    untraced = analyst.ask(
        "passages_missed", f"traversal={analyst.ids['query']}", "title=Eel"
    )

    assert [
        (r["text"], r["why"], r["afterStep"], r["rank"], r["takenThere"]) for r in owl
    ] == [
        (
            "Text of owl0",
            "never weighed",
            None,
            None,
            None,
        ),
        ("Text of owl1", "found at step 2", 1, 1, "Owl"),
    ]
    why = "unknown: the walk has no trace (traverse --trace)"
    assert [r["why"] for r in untraced] == [why]


def test_walks_apart_names_the_first_difference(analyst: Analyst) -> None:
    """The latest walks of two algorithms for one question agree up to step 1."""
    assert analyst.ask("walks_apart") == [
        {
            "walks": "kg_traversal, query_traversal",
            "question": NIGHT,
            "algorithm": "kg_traversal",
            "other": "query_traversal",
            "step": 1,
            "apart": "other passages",
            "title": "Fox",
            "otherTitle": "Owl",
            "text": "Text of fox1",
            "otherText": "Text of owl0",
        }
    ]


def test_chunks_visited_counts_walks_and_questions(analyst: Analyst) -> None:
    """The chunk that most walks led to comes first."""
    rows = analyst.ask("chunks_visited")

    assert [(r["chunkId"], r["walks"], r["questions"]) for r in rows] == [
        ("eel0", 2, 2),
        ("fox0", 2, 1),
        ("owl0", 2, 1),
        ("owl1", 2, 1),
        ("fox1", 1, 1),
    ]
    assert rows[0]["meanScore"] == 0.75


def test_walks_across_documents(analyst: Analyst) -> None:
    """Walks that left a document, with where they went."""
    rows = analyst.ask("walks_across_documents")

    assert [(r["crossed"], r["algorithm"], r["crossings"]) for r in rows] == [
        (2, "kg_traversal", ["Fox -> Owl", "Owl -> Eel"]),
        (1, "query_traversal", ["Fox -> Owl"]),
    ]
    assert analyst.named(rows) == ["kg", "query"]


def test_walks_died_early(analyst: Analyst) -> None:
    """The walk at a dead end with fewer sentences than wanted; no early stop."""
    assert analyst.ask("walks_died_early") == [
        {
            "question": SEA,
            "algorithm": "query_traversal",
            "stopReason": "no_connections",
            "sentences": 1,
            "wanted": 10,
            "hops": 0,
            "lastTitle": "Eel",
            "traversal": analyst.ids["sea"],
        }
    ]


def test_hops_off_theme(analyst: Analyst) -> None:
    """Fox and owl share a theme; owl and eel do not, and their theme vectors differ."""
    assert analyst.ask("hops_off_theme") == [
        {
            "question": NIGHT,
            "algorithm": "kg_traversal",
            "step": 3,
            "title": "Owl",
            "themes": ["night"],
            "otherTitle": "Eel",
            "otherThemes": ["sea"],
            "themeSimilarity": 0.6,
            "score": 0.6,
            "traversal": analyst.ids["kg"],
        }
    ]


def test_steps_of_a_deleted_document_can_be_read(
    writer: Analyst, connection: Connection
) -> None:
    """A step whose chunk is gone keeps title and text, and says that it is gone."""
    for what in ("sentences", "chunks", "documents"):
        connection.write(f"ingest/remove_{what}", ids=["owl"], kept=[])

    rows = writer.ask("traversal_steps", f"traversal={writer.ids['query']}")

    assert [(r["title"], r["text"], r["stored"], r["found"]) for r in rows] == [
        ("Fox", "Text of fox0", True, "Says fox0"),
        ("Owl", "Text of owl0", False, ""),
        ("Owl", "Text of owl1", False, ""),
    ]


def test_anchors_of_a_walk_without_hops_are_all_taken(
    writer: Analyst, connection: Connection
) -> None:
    """Where every step comes from the ranking, each is taken from there."""
    walk = walk_over("fox0", "eel0")
    steps = tuple(replace(step, hop=0, considered=()) for step in walk.steps)
    flat = recording(replace(walk, steps=steps), minute=8, trace=True)
    traversal, _ = record(connection, flat)

    rows = writer.ask("traversal_candidates", f"traversal={traversal}")

    assert [(r["text"], r["taken"], r["visited"]) for r in rows] == [
        ("Text of fox0", True, 0),
        ("Text of eel0", True, 1),
    ]


def test_passages_missed_without_a_title_has_what_was_left(
    writer: Analyst, connection: Connection
) -> None:
    """A candidate that was never visited, with its place and what it was left for."""
    walk = walk_over("fox0", "owl0", "owl1")
    left = (RankedChunk(id="eel0", score=-1.5), RankedChunk(id="fox1", score=-2))
    ends = replace(walk.steps[-1], considered=left)
    walk = replace(walk, steps=(*walk.steps[:-1], ends))
    traversal, _ = record(connection, recording(walk, minute=8, trace=True))

    rows = writer.ask("passages_missed", f"traversal={traversal}")

    assert [
        (r["title"], r["why"], r["nearest"], r["afterStep"], r["rank"], r["score"])
        for r in rows
    ] == [
        ("Eel", "left when the walk ended: early_stop", 2, 2, 1, -1.5),
        ("Fox", "left when the walk ended: early_stop", None, 2, 2, -2.0),
    ]


def test_passages_missed_of_a_walk_that_followed_nothing(
    writer: Analyst, connection: Connection
) -> None:
    """What was near the question and not reached is there all the same."""
    walk = walk_over("fox0")
    traversal, _ = record(connection, recording(walk, minute=8, trace=True))

    rows = writer.ask("passages_missed", f"traversal={traversal}")

    assert [(r["title"], r["why"], r["nearest"], r["afterStep"]) for r in rows] == [
        ("Eel", "among the nearest, and not reached", 2, None)
    ]


def test_walks_apart_of_a_walk_that_ended_before(
    writer: Analyst, connection: Connection
) -> None:
    """Where one walk ends and the other goes on they part; equal ones never do."""
    longer = walk_over("eel0", "owl1", question=SEA, algorithm="kg_traversal")
    same = walk_over("eel0", question=SEA, algorithm="triangulation_average")
    record(connection, recording(longer, minute=9))
    record(connection, recording(same, minute=9))

    rows = writer.ask("walks_apart", f"question={SEA}", "algorithm=query_traversal")

    assert [
        (r["algorithm"], r["other"], r["step"], r["apart"], r["title"]) for r in rows
    ] == [
        ("kg_traversal", "query_traversal", 1, "the second ended before", "Owl"),
        (
            "query_traversal",
            "triangulation_average",
            None,
            "never: the steps are the same",
            None,
        ),
    ]


def test_a_walk_without_steps_is_told(writer: Analyst, connection: Connection) -> None:
    """It is stored: that nothing matches its id would be wrong."""
    nothing = recording(walk_over(stop_reason="no_anchor"), minute=9)
    walk, _ = record(connection, nothing)

    done = writer.run("cypher", "--saved", "traversal_steps", "-p", f"traversal={walk}")

    assert done.errors == [f"No rows. The walk {walk} has no steps."]


def test_hops_to_a_document_alike_by_theme_stay(
    writer: Analyst, connection: Connection
) -> None:
    """Documents that are linked as similar by theme are on the theme."""
    connection.run_schema(
        "MATCH (a:Document {id: 'eel'}), (b:Document {id: 'owl'})"
        " CREATE (a)-[:THEME_SIMILAR_TO {score: 0.6, rank: 1}]->(b)"
    )

    assert writer.ask("hops_off_theme") == []

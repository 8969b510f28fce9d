"""Pictures of a real graph: matrices, walks, points in space, Cypher results.

All tests share a corpus and a walk; the one that changes them is the last.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.db.statements import statement_record
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval.traverse import traverse
from knowtrail.retrieval.views.index import write_index
from knowtrail.retrieval.views.matrix import matrix_of, path_of
from knowtrail.retrieval.views.network import network_page
from knowtrail.retrieval.views.space import space_of
from knowtrail.retrieval.views.styles import NODES, PHRASES, RELATIONSHIPS
from knowtrail.retrieval.views.walks import GONE, read_walk
from tests.command_line import CommandLine
from tests.corpora import ListSource, article, redirect

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

EMBEDDER = HashEmbedder(32)
QUESTION = "What shapes the glacier near the harbour?"
TITLES = {
    "rtl": "\u05d9\u05e8\u05d5\u05e9\u05dc\u05d9\u05dd",
    "hostile": "</script><script>alert(1)</script>",
}
DATABASE_PROPERTIES = (
    "MATCH (n) WHERE $name IN labels(n) UNWIND keys(n) AS key "
    "RETURN collect(DISTINCT key) AS keys"
)
DATABASE_KEYS = (
    "MATCH ()-[r]->() UNWIND keys(r) AS key RETURN DISTINCT type(r) AS type, key"
)
DATABASE_TYPES = (
    "MATCH (a)-[r]->(b) UNWIND labels(a) AS start UNWIND labels(b) AS end "
    "RETURN DISTINCT type(r) AS type, start, end"
)
RARE = {"url", "source", "revision", "language", "score"}
"""Properties that are stored where they are known."""


@pytest.fixture(scope="module")
def isles(emptied: Connection, server: Settings) -> Connection:
    """Return a database with a corpus of thirteen articles, two with odd titles."""
    odd = [
        RawDocument(source_id=key, title=title, raw=article(50).raw)
        for key, title in TITLES.items()
    ]
    linked = f"{article(51).raw} It is beside [[{article(2).title}]]."
    odd.append(
        RawDocument(source_id="linked", title="Linked", raw=linked, markup="wikitext")
    )
    ingest_corpus(
        emptied,
        [ListSource([*(article(n) for n in range(10)), *odd, redirect(1, target=2)])],
        corpus="isles",
        embedder=EMBEDDER,
        settings=server,
        options=IngestOptions(themes="keyphrases"),
    )
    emptied.run_schema(
        "MATCH (c:Chunk) WITH c ORDER BY c.id LIMIT 1 CREATE (c)-[:NAMES]->"
        "(:Term {id: 't', corpus: 'isles', name: 'kelp', label: 'Kelp', chunks: 1})"
    )
    return emptied


@pytest.fixture
def command_line(
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Return the command line on the session's server."""
    if server.password is not None:
        monkeypatch.setenv("NEO4J_PASSWORD", server.password)
    return CommandLine(server, capsys, "hash:32")


def walked(connection: Connection, **recorded: bool) -> Any:
    """Return what the walk of these tests gives, recorded or not."""
    return traverse(
        connection,
        QUESTION,
        embedder=EMBEDDER,
        algorithm="query_traversal",
        corpus="isles",
        max_sentences=12,
        **recorded,
    )


@pytest.fixture(scope="module")
def traversal(isles: Connection) -> str:
    """Return the id of a recorded walk."""
    result = walked(isles, trace=True)
    assert result.traversal_id is not None
    return result.traversal_id


def data_of(page: str) -> dict[str, Any]:
    """Return the data that a page draws."""
    (text,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script', page, re.DOTALL
    )
    data: dict[str, Any] = json.loads(text)
    return data


def test_matrix_of_a_document(isles: Connection) -> None:
    """The page has a name for every chunk; the picture is one."""
    title = article(3).title

    page = matrix_of(isles, title, corpus="isles", suffix=".html")
    picture = matrix_of(isles, title, corpus=None, suffix=".png")

    assert isinstance(page, str)
    (count,) = isles.query(
        "MATCH (:Document {title: $t})<-[:FROM_DOCUMENT]-(c) RETURN count(c) AS n",
        {"t": title},
    )
    assert len(data_of(page)["panels"][0]["names"]) == count["n"]
    assert isinstance(picture, bytes)
    assert picture.startswith(b"\x89PNG")


@pytest.mark.parametrize("title", TITLES.values())
def test_matrix_of_an_odd_title(isles: Connection, title: str) -> None:
    """Titles from right to left and with markup have pictures, found by title."""
    page = matrix_of(isles, title, corpus="isles", suffix=".html")

    assert isinstance(page, str)
    assert data_of(page)["title"] == title
    assert "<script>alert" not in page


def test_unknown_document_is_told_with_near_titles(isles: Connection) -> None:
    """A mistyped title is answered with the right one."""
    with pytest.raises(InputError, match=re.escape(article(3).title)):
        matrix_of(isles, article(3).title.lower(), corpus="isles", suffix=".png")


def test_recorded_walk_is_the_walk(
    isles: Connection, server: Settings, traversal: str
) -> None:
    """A walk that is read back has the steps of the one that was recorded."""
    read = read_walk(isles, traversal)

    asked = walked(isles, record=False).walk
    assert [s.chunk.id for s in read.walk.steps] == [s.chunk.id for s in asked.steps]
    assert [s.chunk.index for s in read.walk.steps] == [
        s.chunk.index for s in asked.steps
    ]
    assert [x.id for x in read.walk.sentences] == [x.id for x in asked.sentences]
    assert [len(s.considered) for s in read.walk.steps] == [
        len(s.considered) for s in asked.steps
    ]
    assert read.query is not None
    assert read.traversal_id == traversal


def test_unknown_traversal_names_the_last(isles: Connection, traversal: str) -> None:
    """A mistyped id is answered with those that there are."""
    with pytest.raises(InputError, match=traversal):
        read_walk(isles, "nothing")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("layout", "suffix"),
    [
        ("global", ".html"),
        ("sequential", ".png"),
        *(
            pytest.param(*one, marks=pytest.mark.thorough)  # drawn by unit tests too
            for one in (
                *(("sequential", ".html"), ("global", ".png")),
                *(("global", ".svg"), ("sequential", ".svg")),
            )
        ),
    ],
)
def test_path_of_a_recorded_walk(
    isles: Connection, traversal: str, layout: str, suffix: str
) -> None:
    """Every kind of picture of a walk is made, twice the same."""
    walk = read_walk(isles, traversal).walk

    picture = path_of(isles, walk, layout=layout, suffix=suffix)

    assert len(picture) > 4_000
    assert picture == path_of(isles, walk, layout=layout, suffix=suffix)


def test_path_of_a_question(isles: Connection, server: Settings) -> None:
    """A question is walked with the corpus's own embedder, and not recorded."""
    count = "MATCH (t:Traversal) RETURN count(t) AS n"
    before = isles.query(count)
    pictured = traverse(
        isles,
        QUESTION,
        algorithm="basic_retrieval",
        corpus="isles",
        settings=server,
        record=False,
    )

    page = path_of(isles, pictured.walk, layout="global", suffix=".html")

    assert isinstance(page, str)
    assert data_of(page)["title"] == QUESTION
    assert data_of(page)["panels"][0]["steps"]
    assert isles.query(count) == before


def test_space_shows_the_corpus_and_the_walk(isles: Connection, traversal: str) -> None:
    """Every chunk is a point; of a sample, all chunks of the walk are."""
    pictured = read_walk(isles, traversal)
    options: dict[str, Any] = {"edges": 50, "projection": "pca"}

    whole = data_of(space_of(isles, "isles", pictured, chunks=3_000, **options))
    part = data_of(space_of(isles, "isles", pictured, chunks=12, **options))

    walks = [
        next(t for t in data["traces"] if t["name"].startswith("walk"))
        for data in (whole, part)
    ]
    assert [len(walk["x"]) for walk in walks] == [len(pictured.walk.steps)] * 2
    assert "one in" in part["about"]
    assert "one in" not in whole["about"]


def test_space_of_a_corpus_alone(isles: Connection) -> None:
    """Without a walk the titles of the documents are shown."""
    page = space_of(isles, "isles", None, chunks=500, edges=9, projection="pca")

    texts = [a["text"] for a in data_of(page)["layout"]["scene"]["annotations"]]
    assert article(3).title in texts
    assert "&lt;/script&gt;&lt;script&gt;al" in " ".join(texts)


def test_cypher_result_is_drawn(isles: Connection) -> None:
    """Nodes, relationships and paths at any depth are drawn, without vectors."""
    page = network_page(
        isles,
        "MATCH p = (d:Document)-[:IN_CORPUS]->(:Corpus) "
        "MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk {index: 0}) "
        "RETURN {path: [p]} AS deep, collect(c) AS chunks",
    )

    drawn = data_of(page)
    nodes, edges = drawn["graph"]["nodes"], drawn["graph"]["edges"]
    assert Counter(node["label"] for node in nodes) == {
        "Chunk": 13,
        "Corpus": 1,
        "Document": 13,
    }
    assert [edge["label"] for edge in edges] == ["IN_CORPUS"] * 13
    assert {e[end] for e in edges for end in ("source", "target")} <= {
        node["id"] for node in nodes
    }
    assert drawn["title"].startswith("MATCH p = (d:Document)-[:IN_CORPUS]->")
    assert drawn["about"] == "27 nodes and 13 relationships"
    told = [node["properties"] for node in nodes]
    assert TITLES["hostile"] in {cells.get("title") for cells in told}
    assert sum({"id", "corpus", "index", "text"} <= set(cells) for cells in told)
    assert not any("embedding" in cells for cells in told)
    assert "<script>alert" not in page
    assert "default-src 'none'" in page


def test_ends_of_lone_relationships_are_drawn(isles: Connection) -> None:
    """A relationship that is returned alone has both its ends, with captions."""
    page = network_page(isles, "MATCH (:Document)-[r:IN_CORPUS]->() RETURN r")

    graph = data_of(page)["graph"]
    assert len(graph["edges"]) == 13
    assert {"isles", "Linked"} <= {node["name"] for node in graph["nodes"]}


def test_index_shows_every_picture(
    isles: Connection, traversal: str, tmp_path: Path
) -> None:
    """One page has all that was drawn, whatever documents are called."""
    folder = tmp_path / "new"

    page = write_index(isles, "isles", folder, documents=4, walks=1)

    text = page.read_text("utf-8")
    linked = re.findall(r'<a href="([\w.-]+)">', text)
    assert {path.name for path in folder.iterdir()} == {"index.html", *linked}
    assert linked[:4] == ["space.png", "space.html", "links.html", "walk-1.png"]
    assert len(linked) == 4 + 4
    assert all(
        (folder / name).read_bytes().startswith(b"\x89PNG")
        for name in linked
        if name.endswith(".png")
    )
    assert (QUESTION in text, "4 of 13 documents" in text) == (True, True)
    assert html.escape(TITLES["hostile"]) in text
    assert "<script" not in text


def test_index_of_nothing_is_refused(isles: Connection, tmp_path: Path) -> None:
    """A corpus without chunks, and a folder in a place that is none, are told."""
    for corpus, folder, said in (
        ("nothing", tmp_path, "could be drawn: ingest"),
        ("isles", tmp_path / "no" / "where", "there is no folder"),
    ):
        with pytest.raises(InputError, match=said):
            write_index(isles, corpus, folder, documents=1, walks=0)


def test_bad_statements_are_refused(isles: Connection) -> None:
    """A writing, an empty and a broken statement each have their message."""
    for text, said in (
        ("CREATE (n) RETURN n", "only reads"),
        ("RETURN 1 AS one", "no node to draw"),
        ("MATCH (", "Invalid input"),
    ):
        with pytest.raises(InputError, match=said):
            network_page(isles, text)


def test_styles_name_what_is_stored(isles: Connection, traversal: str) -> None:
    """Every label, type and property of the tables is one of the database's."""
    missing = [
        f"{style.label}.{key}"
        for style in NODES
        for (row,) in [isles.query(DATABASE_PROPERTIES, {"name": style.label})]
        if row["keys"]
        for key in set(style.properties) - set(row["keys"]) - RARE
    ]
    stored = {
        (row["type"], row["start"], row["end"]) for row in isles.query(DATABASE_TYPES)
    }

    keys = {(row["type"], row["key"]) for row in isles.query(DATABASE_KEYS)}
    assert missing == []
    there = [s for s in RELATIONSHIPS if s.type in {kind for kind, *_ in stored}]
    assert len(there) > 15
    assert {(s.type, key) for s in there for key in s.properties} <= keys
    assert {(s.type, s.start, s.end) for s in there} <= stored


def test_phrases_find_something(isles: Connection, traversal: str) -> None:
    """Every search phrase is planned and returns graph values."""
    (link,) = isles.query(
        "MATCH (a:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:SIMILAR_TO {scope: 'inter'}]->"
        "(:Chunk)-[:FROM_DOCUMENT]->(b) WHERE EXISTS { (a)<-[:FROM_DOCUMENT]-(:Chunk)"
        "-[:NAMES]->(:Term)<-[:NAMES]-(:Chunk)-[:FROM_DOCUMENT]->(b) } "
        "MATCH (a)-[:HAS_THEME]->(t:Theme) "
        "RETURN a.title AS title, b.title AS other, t.name AS theme "
        "ORDER BY title, other, theme LIMIT 1"
    )
    values = {**link, "traversal": traversal, "question": QUESTION, "corpus": "isles"}
    values["term"] = "Kelp"
    records = {text: statement_record(name) for text, name in PHRASES.items()}

    found = {
        text: isles.query(record.text, {name: values[name] for name in record.params})
        for text, record in records.items()
    }

    assert [text for text, rows in found.items() if not rows] == []


def test_commands_write_their_files(
    isles: Connection, traversal: str, command_line: CommandLine, tmp_path: Path
) -> None:
    """Each command prints the path of what it wrote."""
    calls = [
        ("m.png", ["matrix", article(3).title, "--corpus", "isles"]),
        ("p.svg", ["path", "--traversal", traversal]),
        ("s.html", ["path", QUESTION, "--corpus", "isles", "--layout", "sequential"]),
        ("g.html", ["graph", QUESTION, "--corpus", "isles"]),
        ("c.html", ["graph", "--cypher", "MATCH (d:Document) RETURN d LIMIT 5"]),
    ]

    done = [
        command_line.run("view", *words, "-o", str(tmp_path / name))
        for name, words in calls
    ]

    assert [d.code for d in done] == [0] * 5
    assert [d.out.strip() for d in done] == [str(tmp_path / name) for name, _ in calls]
    assert {p.name for p in tmp_path.iterdir()} == {name for name, _ in calls}


def test_walk_through_a_deleted_document(isles: Connection, traversal: str) -> None:
    """Steps whose chunk is gone are left out; where all are, that is said."""
    before = read_walk(isles, traversal).walk
    first = before.steps[0].chunk.document_id
    isles.driver.execute_query(
        "MATCH (d:Document {id: $id})<-[:FROM_DOCUMENT]-(c) DETACH DELETE c", id=first
    )

    walk = read_walk(isles, traversal).walk
    left = [s for s in walk.steps if s.chunk.index != GONE]

    assert [s.chunk.title for s in walk.steps] == [s.chunk.title for s in before.steps]
    assert len(left) == sum(s.chunk.document_id != first for s in before.steps)
    isles.driver.execute_query("MATCH (c:Chunk) DETACH DELETE c")
    with pytest.raises(InputError, match="No chunk of this walk"):
        path_of(isles, read_walk(isles, traversal).walk, layout="global", suffix=".png")

"""Candidates out of a real graph, judgements back into it, and questions about them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.zelo.annotation import annotate
from knowtrail.eval.zelo.corpus import store_annotation
from knowtrail.eval.zelo.judges import FunctionJudge
from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.db.statements import statement_record
from knowtrail.graph.errors import InputError, UnknownCorpusError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval.recording import question_id, record
from knowtrail.retrieval.rerank.datasets import (
    Document,
    Query,
    QueryDocuments,
    read_queries,
    write_queries,
)
from tests.command_line import CommandLine
from tests.corpora import ListSource, article
from tests.walks import GRAPH, NIGHT, SEA, recording, walk_over

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

CHUNKS = ("fox0", "fox1", "owl0", "owl1", "eel0")
WORTH = {"owl1": 4, "fox0": 3, "owl0": 2, "eel0": 1, "fox1": 0}
"""The chunks, best first; others are worth less."""

COUNT = """
MATCH (b:Battle)
OPTIONAL MATCH (b)-[r:LEFT|RIGHT]->(:Chunk)
RETURN count(DISTINCT b) AS battles, count(r) AS sides
"""


def best(query: Query, left: Document, right: Document) -> float:
    """Prefer the chunk that is worth more, clearly."""
    return 0.8 if WORTH.get(right.id, -1) > WORTH.get(left.id, -1) else -0.8


def contrary(query: Query, left: Document, right: Document) -> float:
    """Do as `best` does, but for one pair."""
    score = best(query, left, right)
    return -score if {left.id, right.id} == {"owl0", "fox0"} else score / 4


JUDGES = (FunctionJudge("best", best), FunctionJudge("contrary", contrary))


def judged(folder: Path, *questions: str, chunks: tuple[str, ...] = CHUNKS) -> Path:
    """Return an annotated file of questions over the tales."""
    items = [
        QueryDocuments(
            query=Query(id=f"own-{number}", query=question),
            documents=tuple(
                Document(id=name, content=f"Text of {name}") for name in chunks
            ),
        )
        for number, question in enumerate(questions)
    ]
    write_queries(folder / "queries.jsonl", items)
    target = folder / "annotated.jsonl"
    annotate(folder / "queries.jsonl", target, judges=JUDGES)
    return target


@pytest.fixture
def tales(connection: Connection) -> Connection:
    """Return a connection to a small graph."""
    apply_schema(connection)
    connection.run_schema(GRAPH)
    connection.run_schema(
        "MATCH (k:Corpus {name: 'tales'}) SET k += {embedder: 'hash:2', "
        "queryPrompt: '', dimensions: 2, window: 3, stride: 1, intraTopK: 15, "
        "intraThreshold: 0.4, interTopX: 5, interThreshold: 0.3, themeTop: 1, "
        "themeThreshold: 0.2, themeSource: 'none'}"
    )
    return connection


def counted(connection: Connection) -> tuple[int, int]:
    """Return how many battles there are, and their sides."""
    (row,) = connection.query(COUNT)
    return row["battles"], row["sides"]


def ask(connection: Connection, name: str, **params: object) -> list[dict[str, Any]]:
    """Run a saved query; parameters that are left out are null."""
    query = statement_record(f"inspect/{name}")
    return connection.query(query.text, dict.fromkeys(query.params) | params)


def test_scores_and_battles_are_stored(tales: Connection, tmp_path: Path) -> None:
    """Each chunk with its score and standard error, each pair with what was said."""
    done = store_annotation(tales, judged(tmp_path, NIGHT), corpus="tales")

    rows = tales.query(
        "MATCH (q:Query {id: $id})-[j:JUDGED]->(c:Chunk) RETURN c.id AS chunk, "
        "j.rank AS rank, j.zelo AS zelo, j.stderr AS stderr, j.battles AS battles "
        "ORDER BY rank",
        {"id": question_id("tales", NIGHT)},
    )
    (battle,) = tales.query(
        "MATCH (l:Chunk)<-[:LEFT]-(b:Battle)-[:RIGHT]->(r:Chunk) "
        "RETURN b {.*} AS b, l.id AS left, r.id AS right ORDER BY b.id LIMIT 1"
    )
    assert (done.queries, done.scores, done.battles, done.missing) == (1, 5, 10, 0)
    assert [row["chunk"] for row in rows] == list(WORTH)
    assert all(row["stderr"] > 0 and row["battles"] == 4 for row in rows)
    assert counted(tales) == (10, 20)
    assert (battle["left"], battle["right"]) == (
        battle["b"]["leftId"],
        battle["b"]["rightId"],
    )
    assert battle["b"]["judges"] == ["best", "contrary"]
    assert battle["b"]["votesLeft"] + battle["b"]["votesRight"] == 2
    assert battle["b"]["score"] == pytest.approx(sum(battle["b"]["scores"]) / 2)


def test_storing_twice_changes_nothing(tales: Connection, tmp_path: Path) -> None:
    """Nodes, relationships and properties are as they were."""
    path = judged(tmp_path, NIGHT, SEA)
    everything = (
        "MATCH (q:Query)-[j:JUDGED]->(c) RETURN q {.*} AS q, j {.*} AS j, c.id AS c "
        "ORDER BY q.id, c UNION ALL MATCH (q:Battle) "
        "RETURN q {.*} AS q, null AS j, q.id AS c"
    )
    store_annotation(tales, path, corpus="tales")
    before = tales.query(everything)

    store_annotation(tales, path, corpus="tales")

    assert tales.query(everything) == before
    assert counted(tales) == (20, 40)


def test_a_newer_annotation_takes_the_place(tales: Connection, tmp_path: Path) -> None:
    """Chunks and battles that it lacks are forgotten, other questions stay."""
    store_annotation(tales, judged(tmp_path, NIGHT, SEA), corpus="tales")

    store_annotation(tales, judged(tmp_path, NIGHT, chunks=CHUNKS[:3]), corpus="tales")

    rows = tales.query(
        "MATCH (q:Query)-[j:JUDGED]->() RETURN q.text AS text, count(j) AS n "
        "ORDER BY text"
    )
    assert [(row["text"], row["n"]) for row in rows] == [(SEA, 5), (NIGHT, 3)]
    assert counted(tales) == (10 + 3, 26)


def test_a_question_that_was_walked_is_the_same_node(
    tales: Connection, tmp_path: Path
) -> None:
    """Judgements come to the question that is there."""
    record(tales, recording(walk_over("fox0")))

    store_annotation(tales, judged(tmp_path, NIGHT), corpus="tales")

    (row,) = tales.query(
        "MATCH (q:Query) RETURN count(q) AS n, count(q.embedding) AS embedded, "
        "sum(COUNT { (q)-[:JUDGED]->() }) AS judged"
    )
    assert dict(row) == {"n": 1, "embedded": 1, "judged": 5}


def test_scores_alone_are_stored_without_a_folder(
    tales: Connection, tmp_path: Path
) -> None:
    """There is no battle and no standard error then."""
    path = judged(tmp_path, NIGHT)
    alone = tmp_path / "alone" / "other.jsonl"
    alone.parent.mkdir()
    alone.write_bytes(path.read_bytes())

    done = store_annotation(tales, alone, corpus="tales")

    assert (done.scores, done.battles) == (5, 0)
    assert counted(tales) == (0, 0)


def test_documents_of_elsewhere_are_passed_over(
    tales: Connection, tmp_path: Path
) -> None:
    """Their battles too; where none is known, that is an error."""
    some = judged(tmp_path, NIGHT, chunks=("fox0", "owl0", "gone1"))

    done = store_annotation(tales, some, corpus="tales")
    none = judged(tmp_path, SEA, chunks=("gone1", "gone2"))

    assert (done.scores, done.missing) == (2, 1)
    assert done.battles == 1
    with pytest.raises(InputError, match=r"No document of .* is a chunk"):
        store_annotation(tales, none, corpus="tales")
    with pytest.raises(UnknownCorpusError, match="No corpus 'tale'"):
        store_annotation(tales, none, corpus="tale")


def test_a_ranking_is_explained(tales: Connection, tmp_path: Path) -> None:
    """Best first, with what each won and lost, and the reasons."""
    store_annotation(tales, judged(tmp_path, NIGHT), corpus="tales")

    rows = ask(tales, "zelo_ranking")

    assert [row["chunk"] for row in rows] == list(WORTH)[-5:]
    assert (rows[0]["won"], rows[0]["lost"], rows[0]["rank"]) == (4, 0, 1)
    assert (rows[-1]["won"], rows[-1]["lost"]) == (0, 4)
    assert rows[0]["reasonFor"].startswith("best: ")
    assert rows[0]["reasonAgainst"] is None
    assert ask(tales, "zelo_ranking", question=SEA) == []
    assert len(ask(tales, "zelo_ranking", question=NIGHT, limit=2)) == 2


def test_disagreements_come_first(tales: Connection, tmp_path: Path) -> None:
    """The one pair on which the judges part has the greatest distance."""
    path = judged(tmp_path, NIGHT, chunks=("fox0", "owl0", "eel0"))
    store_annotation(tales, path, corpus="tales")

    rows = ask(tales, "zelo_disagreements")

    assert {rows[0]["left"], rows[0]["right"]} == {"Fox", "Owl"}
    assert rows[0]["apart"] == 1.6
    assert sorted(rows[0]["said"]) in (
        ["best: -0.8", "contrary: 0.8"],
        ["best: 0.8", "contrary: -0.8"],
    )
    assert rows[-1]["apart"] == 0.6


def test_why_one_chunk_beat_another(tales: Connection, tmp_path: Path) -> None:
    """Every judge of every battle of the two, seen from the winner's side."""
    path = judged(tmp_path, NIGHT, chunks=("fox0", "owl0", "eel0"))
    store_annotation(tales, path, corpus="tales")

    rows = ask(tales, "zelo_battles", winner="owl0", loser="eel0")
    named = ask(tales, "zelo_battles", winner="Owl", loser="Eel")

    assert len(rows) == 2
    assert {row["inFavour"] for row in rows if row["judge"] == "best"} == {0.8}
    assert {row["step"] for row in rows} == {1}
    assert rows == named
    assert rows[0]["zelo"] > rows[0]["zeloAgainst"]


def test_chunks_that_never_met_are_joined_by_a_chain(
    tales: Connection, tmp_path: Path
) -> None:
    """The shortest chain of battles, one step a battle."""
    path = judged(tmp_path, NIGHT)
    store_annotation(tales, path, corpus="tales")
    tales.run_schema(
        "MATCH (b:Battle) WHERE 'owl1' IN [b.leftId, b.rightId] "
        "AND 'fox1' IN [b.leftId, b.rightId] DETACH DELETE b"
    )

    rows = ask(tales, "zelo_battles", winner="owl1", loser="fox1")

    assert [row["step"] for row in rows] == [1, 1, 2, 2]
    assert rows[0]["text"] == "Text of owl1"
    assert rows[-1]["textAgainst"] == "Text of fox1"
    assert rows[0]["textAgainst"] == rows[-1]["text"]


def test_every_parameter_may_be_left_out(tales: Connection, tmp_path: Path) -> None:
    """There are rows without any, and none before something is judged."""
    names = ("zelo_ranking", "zelo_disagreements", "zelo_battles")
    before = [ask(tales, name) for name in names]

    store_annotation(tales, judged(tmp_path, NIGHT), corpus="tales")

    assert before == [[], [], []]
    assert [name for name in names if not ask(tales, name)] == []


def test_judgements_go_with_their_corpus(tales: Connection, tmp_path: Path) -> None:
    """Nothing of it is left."""
    store_annotation(tales, judged(tmp_path, NIGHT), corpus="tales")

    delete_corpus(tales, "tales")

    (row,) = tales.query("MATCH (n:Battle|Query|Chunk) RETURN count(n) AS n")
    assert row["n"] == 0


def test_judgements_go_with_their_chunks(tales: Connection, tmp_path: Path) -> None:
    """A document that is replaced leaves no battle with one side."""
    store_annotation(tales, judged(tmp_path, NIGHT), corpus="tales")
    before, _ = counted(tales)

    tales.write("ingest/remove_chunks", ids=["fox"], kept=[])

    battles, sides = counted(tales)
    assert 0 < battles < before
    assert sides == 2 * battles


class Analyst(CommandLine):
    """Somebody who judges a small corpus on the command line."""

    folder: Path


@pytest.fixture(scope="module")
def isles(emptied: Connection, server: Settings) -> Connection:
    """Return a database with a corpus of eight articles."""
    ingest_corpus(
        emptied,
        [ListSource([article(n) for n in range(8)])],
        corpus="isles",
        embedder=HashEmbedder(32),
        settings=server,
        options=IngestOptions(themes="none"),
    )
    return emptied


@pytest.fixture
def analyst(
    server: Settings,
    isles: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Analyst:
    """Return an analyst of the articles, of which nothing was asked yet."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    isles.run_schema("MATCH (n:Query|Traversal|Step|Battle) DETACH DELETE n")
    found = Analyst(server, capsys, "hash:32")
    found.folder = tmp_path
    return found


def test_from_candidates_to_reasons(analyst: Analyst) -> None:
    """Export, judge, import, ask: as a new user does."""
    folder = analyst.folder
    (folder / "questions.txt").write_text(
        'What shapes the glacier?\n\n{"question": "Where is the harbour?"}\n'
        "What shapes the glacier?\n",
        "utf-8",
    )
    queries, scores = folder / "queries.jsonl", folder / "scores.jsonl"

    exported = analyst.run(
        "eval", "zelo", "export", queries, "--candidates", "4",
        "--questions", folder / "questions.txt",
        "--algorithm", "basic_retrieval", "--algorithm", "query_traversal",
    )  # fmt: skip
    annotated = analyst.run("eval", "zelo", "annotate", queries, scores,
                            "--judge", "bm25", "--judge", "embedding")  # fmt: skip
    imported = analyst.run("eval", "zelo", "import", scores, "--json")
    asked = analyst.run("cypher", "--saved", "zelo_battles", "--json")

    assert [exported.code, annotated.code, imported.code, asked.code] == [0] * 4
    items = list(read_queries(queries))
    assert [i.query.query for i in items] == [
        "What shapes the glacier?",
        "Where is the harbour?",
    ]
    assert all(4 <= len(i.documents) <= 8 for i in items)
    assert items[0].query.id == question_id("isles", "What shapes the glacier?")
    assert set(items[0].documents[0].metadata) == {"title", "document"}
    sizes = [len(i.documents) for i in items]
    assert json.loads(imported.out) == {
        "queries": 2,
        "scores": sum(sizes),
        "battles": sum(n * (n - 1) // 2 for n in sizes),
        "missing": 0,
    }
    assert {row["judge"] for row in json.loads(asked.out)} == {"bm25", "embedding"}


def test_questions_that_were_asked_are_exported(analyst: Analyst) -> None:
    """Where there are none, the message says how to get some."""
    target = analyst.folder / "queries.jsonl"
    none = analyst.run("eval", "zelo", "export", target)
    analyst.run("traverse", "Where is the harbour?")

    done = analyst.run("eval", "zelo", "export", target, "--candidates", "3")

    assert none.code == 2
    assert "has no questions: ask some" in none.errors[-1]
    assert done.code == 0
    assert [i.query.query for i in read_queries(target)] == ["Where is the harbour?"]


MISTAKES = [
    (["export", "OUT", "--algorithm", "quick"], "quick"),
    (["export", "OUT", "--bundled", "--questions", "OUT"], "Choose one of"),
    (["export", "OUT", "--corpus", "isle"], "did you mean 'isles'?"),
    (["export", "OUT", "--questions", "none.txt"], "none.txt cannot be read"),
    (["import", "none.jsonl"], "There is no file none.jsonl"),
    (["annotate", "none.jsonl", "OUT"], "There is no file none.jsonl"),
]


def test_mistakes_are_told(analyst: Analyst) -> None:
    """In one line, without writing anything."""
    target = str(analyst.folder / "out.jsonl")

    answers = [
        (
            analyst.run("eval", "zelo", *(target if w == "OUT" else w for w in words)),
            says,
        )
        for words, says in MISTAKES
    ]

    wrong = [
        (done, says)
        for done, says in answers
        if done.code != 2 or says not in done.errors[-1]
    ]
    assert wrong == []
    assert list(analyst.folder.iterdir()) == []

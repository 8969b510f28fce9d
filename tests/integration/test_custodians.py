"""Heritage institutions in a real database: stored once, changed, removed, measured."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.specificity.judging import (
    ask_questions,
    bundled_questions,
    custodians_of,
    key_of,
    load_questions,
    memory_pipeline,
)
from knowtrail.eval.specificity.measures import (
    SpecificityResults,
    measure,
    store_experiment,
    store_outcomes,
)
from knowtrail.graph.db.connection import Connection
from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import CorpusDriftError, InputError, UnknownCorpusError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.rdf import export_rdf, import_rdf
from knowtrail.ingest import pipeline
from knowtrail.ingest.corpus import delete_corpus, list_corpora
from knowtrail.ingest.custodians import (
    CustodianFile,
    Unplaced,
    bundled_custodians,
    custodians_near,
    custodians_unplaced,
    ingest_custodians,
    intake,
)
from knowtrail.ingest.verify import corpus_digest
from knowtrail.retrieval.specificity.live_pipeline import open_pipeline
from tests.command_line import CommandLine
from tests.databases import plan_steps

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowtrail.graph.db.connection import Counters
    from knowtrail.graph.models.array_embedder import Vectors
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.custodians import CustodianReport

pytestmark = pytest.mark.integration

EMBEDDER = HashEmbedder(32)
ROWS = [
    {
        "name": "Rope Museum",
        "type": "M",
        "city": "Ghent",
        "ghcid": "BE-VOV-GEN-M-RM",
        "description": "It shows ropes. They are long. Some are knotted.",
    },
    {"name": "Paper Archive", "type": "A", "ghcid": "BE-VOV-GEN-A-PA"},
]


def _written(folder: Path, rows: list[dict[str, Any]]) -> CustodianFile:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return CustodianFile(path)


def _ingest(
    connection: Connection, settings: Settings, file: CustodianFile, **given: Any
) -> CustodianReport:
    plain = {"corpus": "h", "settings": settings, "embedder": EMBEDDER}
    return ingest_custodians(connection, file, **{**plain, **given})


def _shape(connection: Connection) -> list[dict[str, Any]]:
    return connection.query(
        "MATCH (c:Custodian)-[:INSTANCE_OF]->(o:OntologyClass) "
        "OPTIONAL MATCH (c)<-[:ABOUT]-(k:Chunk)-[:FROM_DOCUMENT]->(d:Document) "
        "RETURN c.name AS name, o.name AS class, count(k) AS chunks, "
        "collect(DISTINCT k.className) AS classes, collect(DISTINCT d.title) AS titles "
        "ORDER BY name"
    )


def test_institutions_are_nodes_with_class_and_document(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """Each has one class, and the chunks of its document are about it."""
    report = _ingest(connection, server, _written(tmp_path, ROWS))

    assert (report.added, report.failed) == (2, 0)
    assert _shape(connection) == [
        {
            "name": "Paper Archive",
            "class": "Archive",
            "chunks": 1,
            "classes": ["Archive"],
            "titles": ["Paper Archive"],
        },
        {
            "name": "Rope Museum",
            "class": "Museum",
            "chunks": report.linked - 1,
            "classes": ["Museum"],
            "titles": ["Rope Museum"],
        },
    ]


PLACES = [
    {"name": "Dam House", "type": "M", "city": "Amsterdam", "latitude": 52.3731,
     "longitude": "4.8926"},
    {"name": "Dom House", "type": "A", "city": "Utrecht", "latitude": 52.0907,
     "longitude": 5.1214},
    {"name": "Lost House", "type": "A", "latitude": 95, "longitude": 5.1},
    {"name": "Half House", "type": "M", "city": "Delft", "longitude": 4.35},
]  # fmt: skip
"""Two houses 34.7 km apart, by the great circle, and two without coordinates."""


def test_institutions_are_found_near_a_point(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """By distance, the nearest first; half a point and one off the globe are none."""
    report = _ingest(connection, server, _written(tmp_path, PLACES), embedder=None)
    at = {"latitude": 52.3731, "longitude": 4.8926}

    near = custodians_near(connection, **at, km=30)
    both = custodians_near(connection, **at, km=40, corpus="h")

    assert [(one.name, one.km) for one in near] == [("Dam House", 0)]
    assert [one.name for one in both] == ["Dam House", "Dom House"]
    assert both[1].km == pytest.approx(35.1, abs=0.5)
    assert custodians_near(connection, **at, km=40, types=["A"]) == both[1:]
    assert custodians_near(connection, **at, km=40, limit=1) == both[:1]
    assert custodians_near(connection, **at, km=40, corpus="other") == []
    assert report.findings.malformed == {"latitude": 1, "longitude": 1}
    assert custodians_unplaced(connection, corpus="h") == Unplaced(
        institutions=4, without_town=1, without_location=2
    )
    assert custodians_unplaced(connection, types=["A"]).without_town == 1
    again = _ingest(connection, server, _written(tmp_path, PLACES), embedder=None)
    assert (again.updated, again.skipped) == (0, 4)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"latitude": 91}, "latitude '91'"),
        ({"longitude": float("nan")}, "longitude 'nan'"),
        ({"km": -1}, "-1 km"),
        ({"limit": 0}, "at most 0"),
    ],
)
def test_a_point_that_is_none_is_refused(
    connection: Connection, given: dict[str, Any], wrong: str
) -> None:
    """What is no place, distance or number of answers is said."""
    plain: dict[str, Any] = {"latitude": 52, "longitude": 5, "km": 1}

    with pytest.raises(InputError, match=wrong):
        custodians_near(connection, **{**plain, **given})


def test_points_are_found_by_their_index(connection: Connection) -> None:
    """The statement does not read every institution."""
    apply_schema(connection)
    params = {"latitude": 52, "longitude": 5, "km": 1, "limit": 9}

    text = f"EXPLAIN {statement('custodians/near')}"
    steps = plan_steps(connection, text, params | {"corpus": None, "types": None})

    assert "NodeIndexSeek" in str(steps)
    assert "NodeByLabelScan" not in str(steps)


@pytest.mark.thorough
def test_a_corpus_without_documents_is_written_as_rdf(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """Its institutions come with their classes and points, and are read back so."""
    _ingest(connection, server, _written(tmp_path, PLACES), embedder=None)
    connection.run_schema("CREATE (:Custodian {id: 'x', corpus: 'other', name: 'X'})")
    file = tmp_path / "h.ttl"
    shape = "MATCH (c:Custodian)-[:INSTANCE_OF]->(o) RETURN c.name, c.location, o.uri"
    before = sorted(connection.values(shape, {}), key=str)

    report = export_rdf(connection, file, corpus="h")
    with pytest.raises(UnknownCorpusError):
        export_rdf(connection, file, corpus="Museum")
    delete_corpus(connection, "h")
    read = import_rdf(connection, file, home=tmp_path)

    assert (report.nodes, read.nodes_created, read.missing) == (4, 4, 0)
    assert sorted(connection.values(shape, {}), key=str) == before
    assert "POINT (4.8926 52.3731)" in file.read_text("utf-8")


def test_second_run_writes_nothing(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """The same file again changes neither nodes nor relationships."""
    file = _written(tmp_path, ROWS)
    _ingest(connection, server, file)

    again = _ingest(connection, server, file)

    assert (again.added, again.updated, again.skipped, again.linked) == (0, 0, 2, 0)
    assert again.documents is not None
    assert not again.documents.written.changed


class FailsError(Exception):
    """What an interrupted run ends with."""


class Watched(HashEmbedder):
    """An embedder that notes its texts and fails when it has had too many."""

    def __init__(self, most: int = 1_000_000) -> None:
        super().__init__(32)
        self.texts: list[str] = []
        self._most = most

    def embed_array(self, texts: list[str]) -> Vectors:
        """Return the vectors.

        Raises:
            FailsError: After so many texts.
        """
        if len(self.texts) >= self._most:
            raise FailsError
        self.texts += texts
        return super().embed_array(texts)


def _invented(count: int) -> list[dict[str, Any]]:
    """Return rows of institutions with three texts each."""
    return [
        {
            "name": f"Rope Museum {number}",
            "type": "M",
            "city": f"Town {number % 7}",
            "description": f"Rope {number} is there.",
        }
        for number in range(count)
    ]


@pytest.mark.thorough
def test_an_interrupted_run_is_continued(
    connection: Connection,
    server: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was embedded and stored is not embedded again, and the graph is the same."""
    count = 400
    monkeypatch.setattr(pipeline, "TEXTS", count)
    file = _written(tmp_path, _invented(count))
    _ingest(connection, server, file)
    whole = (corpus_digest(connection, "h"), _shape(connection))
    delete_corpus(connection, "h")

    with pytest.raises(FailsError):
        _ingest(connection, server, file, embedder=Watched(count * 7 // 4))
    rows = connection.query("MATCH (d:Document) RETURN d.title AS title")
    rest = Watched()
    again = _ingest(connection, server, file, embedder=rest)

    assert again.documents is not None
    assert count // 4 <= len(rows) == again.documents.skipped < count
    assert again.documents.added == count - len(rows)
    assert not [t for t in rest.texts if any(f"{r['title']} " in t for r in rows)]
    assert (corpus_digest(connection, "h"), _shape(connection)) == whole


@pytest.mark.parametrize(
    ("step", "times"),
    [
        pytest.param("custodians/store", 2, marks=pytest.mark.thorough),
        pytest.param("ingest/documents", 1, marks=pytest.mark.thorough),
        pytest.param("ingest/documents", 3, marks=pytest.mark.thorough),
        pytest.param("ingest/corpus_complete", 1, marks=pytest.mark.thorough),
        ("custodians/about", 2),
    ],
)
def test_a_run_that_ends_anywhere_is_continued(
    connection: Connection,
    server: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    times: int,
) -> None:
    """Between batches of every stage; a third run has nothing left to do."""
    monkeypatch.setattr(intake, "_BATCH", 5)
    monkeypatch.setattr(pipeline, "TEXTS", 8)
    file = _written(tmp_path, _invented(12))
    _ingest(connection, server, file)
    whole = (corpus_digest(connection, "h"), _shape(connection))
    delete_corpus(connection, "h")
    write, calls = Connection.write_all, Counter[str]()

    def failing(self: Connection, steps: Sequence[tuple[str, Any]]) -> Counters:
        calls.update(name for name, _ in steps)
        if calls[step] == times:
            raise FailsError
        return write(self, steps)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "write_all", failing)
        with pytest.raises(FailsError):
            _ingest(connection, server, file)
    _ingest(connection, server, file)
    third = _changes(connection, server, file, monkeypatch)

    assert (corpus_digest(connection, "h"), _shape(connection)) == whole
    assert third == {}


def _changes(
    connection: Connection,
    server: Settings,
    file: CustodianFile,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Counters]:
    """Ingest a file and return the statements of transactions that changed anything."""
    write, found = Connection.write_all, {}

    def noting(self: Connection, steps: Sequence[tuple[str, Any]]) -> Counters:
        counters = write(self, steps)
        if counters.changed:
            found[" ".join(name for name, _ in steps)] = counters
        return counters

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "write_all", noting)
        _ingest(connection, server, file)
    return found


def test_repeated_row_is_stored_once(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """A second row of the same institution is counted, and is no failure."""
    report = _ingest(connection, server, _written(tmp_path, [*ROWS, ROWS[0]]))

    assert (report.added, report.repeated, report.failed) == (2, 1, 0)
    assert report.documents is not None
    assert (report.documents.added, report.documents.failed) == (2, 0)


def test_changed_row_is_written_anew(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """A new type moves the institution and its chunks to the other class."""
    _ingest(connection, server, _written(tmp_path, ROWS))
    changed = [{**ROWS[0], "type": "G", "class_name": "KnotGallery"}, ROWS[1]]

    report = _ingest(connection, server, _written(tmp_path, changed))

    assert (report.added, report.updated, report.skipped) == (0, 1, 1)
    assert report.findings.malformed["ghcid"] == 1
    (rope,) = [row for row in _shape(connection) if row["name"] == "Rope Museum"]
    assert (rope["class"], rope["classes"]) == ("KnotGallery", ["KnotGallery"])


def test_full_cleanup_removes_what_is_gone(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """An institution that the file has no more goes with its document."""
    _ingest(connection, server, _written(tmp_path, ROWS))

    report = _ingest(connection, server, _written(tmp_path, ROWS[:1]), cleanup="full")

    assert report.deleted == 1
    assert [row["name"] for row in _shape(connection)] == ["Rope Museum"]
    titles = connection.query("MATCH (d:Document) RETURN d.title AS title")
    assert titles == [{"title": "Rope Museum"}]


def test_full_cleanup_deletes_nothing_while_a_row_is_unclear(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """An institution whose row has a mistake now is not taken for gone."""
    mistakes: list[dict[str, Any]] = [
        {**ROWS[1], "ghcid": "BE-VOV"},
        {"name": "Paper Archive", "isil": "???"},
        {"name": "", "ghcid": "BE-VOV-GEN-A-PA"},
    ]
    _ingest(connection, server, _written(tmp_path, ROWS))

    reports = [
        _ingest(connection, server, _written(tmp_path, [ROWS[0], row]), cleanup="full")
        for row in mistakes
    ]

    assert [report.deleted for report in reports] == [0] * 3
    assert [r for r in reports if "nothing is deleted" not in r.failures[-1]] == []
    names = [row["name"] for row in _shape(connection)]
    titles = connection.query("MATCH (d:Document) RETURN d.title AS title")
    assert {"Paper Archive", "Rope Museum"} <= set(names)
    assert {"title": "Paper Archive"} in titles


def test_what_would_leave_documents_behind_is_refused(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """Without documents nothing is cleaned up, and changed ones are told."""
    _ingest(connection, server, _written(tmp_path, ROWS))
    changed = _written(tmp_path, [{**ROWS[0], "city": "Antwerp"}])

    report = _ingest(connection, server, changed, embedder=None)
    with pytest.raises(InputError, match="leave --no-documents out"):
        _ingest(connection, server, changed, embedder=None, cleanup="full")

    assert (report.updated, report.stale) == (1, 1)
    assert [row["chunks"] for row in _shape(connection)] >= [1, 1]


def test_another_embedder_is_refused_before_anything_is_stored(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """The institutions stay as they are where their documents could not follow."""
    _ingest(connection, server, _written(tmp_path, ROWS))
    before = _shape(connection)
    changed = _written(tmp_path, [{**ROWS[0], "name": "Wire Museum"}])

    with pytest.raises(CorpusDriftError):
        _ingest(connection, server, changed, embedder=HashEmbedder(16), cleanup="full")

    assert _shape(connection) == before


@pytest.mark.thorough
def test_unchanged_ones_stay_with_cleanup_none(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """What is stored is kept although the row has changed."""
    _ingest(connection, server, _written(tmp_path, ROWS))
    changed = [{**ROWS[0], "city": "Antwerp"}, ROWS[1]]

    report = _ingest(connection, server, _written(tmp_path, changed), cleanup="none")

    assert (report.updated, report.skipped) == (0, 2)


def test_institutions_need_no_embedder(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """Without documents only nodes and classes are written."""
    report = _ingest(connection, server, _written(tmp_path, ROWS), embedder=None)

    assert report.documents is None
    assert [row["chunks"] for row in _shape(connection)] == [0, 0]


def test_deleting_the_corpus_deletes_its_institutions(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """Those of another corpus stay, and so do the classes."""
    file = _written(tmp_path, ROWS)
    _ingest(connection, server, file)
    _ingest(connection, server, file, corpus="other")

    delete_corpus(connection, "h")

    counts = connection.query(
        "MATCH (c:Custodian) RETURN c.corpus AS corpus, count(*) AS n"
    )
    assert counts == [{"corpus": "other", "n": 2}]


def test_institutions_without_documents_are_deleted_by_the_corpus_they_name(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """They are listed too, without a Corpus node; a second time there is nothing."""
    file = _written(tmp_path, ROWS)
    _ingest(connection, server, file, embedder=None)
    _ingest(connection, server, file, corpus="other", embedder=None)
    listed = [(row["name"], row["custodians"]) for row in list_corpora(connection)]

    assert listed == [("h", 2), ("other", 2)]
    assert delete_corpus(connection, "h").nodes_deleted == 2

    with pytest.raises(UnknownCorpusError, match="No corpus 'h'"):
        delete_corpus(connection, "h")
    counts = connection.query(
        "MATCH (c:Custodian) RETURN c.corpus AS corpus, count(*) AS n"
    )
    assert counts == [{"corpus": "other", "n": 2}]


def test_a_corpus_of_institutions_alone_can_be_named_in_a_question(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """It is answered without a search for chunks; a name of nothing is refused."""
    _ingest(connection, server, _written(tmp_path, ROWS), embedder=None)

    pipeline = open_pipeline(connection, server, corpus="h", record=False)

    assert "Rope Museum" in pipeline.forward("Which museums are in Ghent?").answer
    with pytest.raises(UnknownCorpusError, match="No corpus 'x'"):
        open_pipeline(connection, server, corpus="x", record=False)


@pytest.mark.thorough
def test_live_answers_are_those_of_memory(
    connection: Connection, server: Settings
) -> None:
    """The database and a copy in memory answer the same questions alike."""
    custodians = custodians_of(bundled_custodians())
    _ingest(connection, server, CustodianFile(bundled_custodians()), embedder=None)
    asked = load_questions(bundled_questions("dev"))[:40]
    live = open_pipeline(connection, server, record=False)
    memory = memory_pipeline(custodians)

    from_live = ask_questions(live, asked, key_of(custodians, "h"))
    from_memory = ask_questions(memory, asked, key_of(custodians))

    assert [(one.template, one.answer) for one in from_live] == [
        (one.template, one.answer) for one in from_memory
    ]
    assert [one.answer_right for one in from_live] == [
        one.answer_right for one in from_memory
    ]


def test_results_are_stored_once(connection: Connection, server: Settings) -> None:
    """A run has a record for each question and a metric with its interval."""
    custodians = custodians_of(bundled_custodians())
    asked = load_questions(bundled_questions("dev"))[:5]
    outcomes = ask_questions(memory_pipeline(custodians), asked, key_of(custodians))
    metrics = measure(outcomes, resamples=50)

    stored = {
        store_outcomes(
            connection, outcomes, metrics, dataset="dev", configuration={"live": False}
        )
        for _ in range(2)
    }

    rows = connection.query(
        "MATCH (r:EvalRun {kind: 'specificity'})-[:HAS_RECORD]->(e) "
        "WITH r, count(e) AS records MATCH (r)-[:HAS_METRIC]->(m) "
        "RETURN r.id AS id, r.status AS status, records, "
        "collect(m.name) AS names ORDER BY id"
    )
    assert [(row["id"], row["status"], row["records"]) for row in rows] == [
        (next(iter(stored)), "complete", 5)
    ]
    assert set(rows[0]["names"]) == set(metrics)


def test_experiment_is_stored(connection: Connection) -> None:
    """Both groups and their difference are metrics of a run."""
    results = SpecificityResults()
    for number in range(20):
        results.log_result(f"s{number}", number % 3 / 2)

    store_experiment(
        connection,
        results.table(),
        experiment=results.experiment,
        dataset="trial",
        key="1",
    )

    rows = connection.query(
        "MATCH (:EvalRun {kind: 'specificity-experiment', dataset: 'trial'})"
        "-[:HAS_METRIC]->(m) RETURN m.name AS name ORDER BY name"
    )
    assert [row["name"] for row in rows] == [
        "control_quality",
        "quality_difference",
        "treatment_quality",
    ]


@pytest.mark.thorough
def test_commands_ingest_and_measure(
    connection: Connection,
    server: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both commands report as JSON, and mistakes exit 2."""
    assert connection is not None
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("NEO4J_USERNAME", server.username)
    line = CommandLine(server, capsys, "hash:32")
    bad = tmp_path / "bad.csv"
    bad.write_text("title,isil\nRope Library,???\n,x\n", encoding="utf-8")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"name": "Sail Archive"}\n{"name":\n', encoding="utf-8")

    done = line.run(
        "ingest", "custodians", "--example", "--corpus", "h", "--no-documents", "--json"
    )
    part = line.run(
        "ingest", "custodians", bad, "--corpus", "b", "--no-documents", "--json"
    )
    measured = line.run(
        "eval", "specificity", "--half", "dev", "--live", "--corpus", "h", "--json"
    )
    mistakes = [
        line.run("ingest", "custodians", "--corpus", "h"),
        line.run("ingest", "custodians", bad, "--corpus", "h", "--map", "name"),
        line.run("ingest", "custodians", bad, "--corpus", "h", "--country", "ZZ"),
        line.run("ingest", "custodians", broken, "--corpus", "c"),
        line.run("eval", "specificity", "--live"),
    ]

    assert (done.code, json.loads(done.out)["added"]) == (0, 70)
    told = json.loads(part.out)
    assert (part.code, told["failed"], told["malformed"]) == (1, 1, {"isil": 1})
    assert told["guessed"] == [{"field": "type", "rule": "title-word", "count": 1}]
    assert measured.code == 0
    assert set(json.loads(measured.out)["metrics"]) >= {"slot_f1", "answer_accuracy"}
    assert [mistake.code for mistake in mistakes] == [2] * 5
    assert "broken.jsonl:2: not JSON" in mistakes[3].errors[0]
    assert connection.query("MATCH (c:Custodian {corpus: 'c'}) RETURN c.name") == []

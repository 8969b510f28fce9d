"""A real corpus with walks, an evaluation and custodians, by the command `rdf`.

All tests share it; those that empty the database stand at the end.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from rdflib import Graph

from knowtrail.eval.store import EvalRecord, EvalRun, Metric, StoredField, open_run
from knowtrail.graph.cli.root import main
from knowtrail.graph.db.corpus_lock import corpus_lock
from knowtrail.graph.errors import DatabaseError, InputError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.rdf import export_rdf, import_rdf
from knowtrail.ingest.corpus import stored_corpus
from knowtrail.ingest.custodians import CustodianFile, ingest_custodians
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from knowtrail.retrieval.recording import record
from tests.corpora import ListSource, article, redirect
from tests.integration.test_rdf import picture
from tests.rdf_graphs import EVERYTHING
from tests.walks import EDGES, GRAPH, recording, walk_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

    Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.integration

CUSTODIANS = [
    {
        "name": "Rope Museum",
        "type": "M",
        "city": "Ghent",
        "ghcid": "BE-VOV-GEN-M-RM",
        "founded": "1912",
        "budget": 120000.5,
        "description": "It shows ropes. They are long. Some are knotted.",
    },
    {"name": "Paper Archive", "type": "A", "ghcid": "BE-VOV-GEN-A-PA"},
]


@pytest.fixture(scope="module")
def full(
    emptied: Connection, server: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    """Yield a connection to a graph made by ingests, walks and an evaluation."""
    ingest_corpus(
        emptied,
        [ListSource([*(article(n) for n in range(6)), redirect(1, target=2)])],
        corpus="made",
        embedder=HashEmbedder(32),
        settings=server,
        options=IngestOptions(themes="none"),
    )
    rows = tmp_path_factory.mktemp("custodians") / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in CUSTODIANS), "utf-8")
    ingest_custodians(
        emptied,
        CustodianFile(rows),
        corpus="heritage",
        settings=server,
        embedder=HashEmbedder(32),
    )
    emptied.run_schema(GRAPH)
    emptied.run_schema(EDGES)
    record(emptied, recording(walk_over("fox0", "owl0", "owl1"), trace=True))
    _evaluate(emptied)
    yield emptied
    emptied.run_schema(EVERYTHING)


def _evaluate(connection: Connection) -> None:
    """Store a small evaluation."""
    run = EvalRun(
        kind="fields",
        dataset="gold",
        configuration={"schema": {"type": "object"}},
        commit="1.0",
        created=datetime(2026, 1, 1, tzinfo=UTC),
    )
    field = StoredField(
        path="a",
        schema_path="a",
        status="mismatch",
        score=0.0,
        gold="x",
        extracted="y",
        comparator="exact",
        reason="other",
    )
    with open_run(connection, run) as writer:
        for number in range(3):
            scores = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3}
            name = f"r{number}"
            writer.add(EvalRecord(record_id=name, scores=scores, fields=[field]))
        writer.metric(Metric(name="f1", value=1 / 3, low=0.2, high=0.5, n=3))


@pytest.fixture
def run(
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Return a function that runs a command on the session's server."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")

    def run(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        words = ["--uri", server.uri or "", "--home", str(server.home)]
        with pytest.raises(SystemExit) as stopped:
            main([*words, *map(str, arguments)])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return run


def test_export_to_standard_output_is_turtle(full: Connection, run: Run) -> None:
    """Without a file's name there is a format all the same, and nothing else."""
    code, out, err = run("rdf", "export", "-", "--without-embeddings")

    assert code == 0
    assert len(Graph().parse(data=out, format="turtle")) > 100
    assert "Vector" not in out
    assert "triples" in err


def test_answers_are_shown_in_every_form(full: Connection, run: Run) -> None:
    """A table, CSV and JSON have the same rows; ASK and CONSTRUCT have their own."""
    text = "SELECT ?n ?f { ?c a hc:Museum ; schema:name ?n ; schema:foundingDate ?f }"

    table = run("rdf", "query", text)
    lines = run("rdf", "query", text, "--csv")
    data = run("rdf", "query", text, "--json")
    asked = run("rdf", "query", "ASK { ?c hc:ghcid 'BE-VOV-GEN-A-PA' }")
    made = run("rdf", "query", "CONSTRUCT { ?c a hc:Thing } { ?c a hc:Custodian }")

    assert table[1].splitlines()[-1].split() == ["Rope", "Museum", "1912"]
    assert list(csv.reader(io.StringIO(lines[1])))[1:] == [["Rope Museum", "1912"]]
    (row,) = json.loads(data[1])["results"]["bindings"]
    assert row["f"]["datatype"].endswith("gYear")
    assert asked[1] == "true\n"
    ask = "ASK { ?d schema:name 'Rope Museum' ; ktp:corpus '%s' }"
    in_corpus = [run("rdf", "query", ask % name)[1] for name in ("heritage", "made")]
    assert in_corpus == ["true\n", "false\n"]
    assert len(Graph().parse(data=made[1], format="turtle")) == 2


def test_tables_write_iris_with_the_prefixes_of_the_query(
    full: Connection, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that it declares and those that are known; CSV has them in full."""
    monkeypatch.setenv("COLUMNS", "24")
    text = (
        "PREFIX its: <https://its.example/> SELECT ?type ?mine ?long "
        "{ ?c a hc:Museum . BIND(hc:Museum AS ?type) BIND(its:x AS ?mine) "
        "BIND(<https://other.example/y> AS ?long) }"
    )

    narrow = run("rdf", "query", text)
    wide = run("rdf", "query", text, "--wide")
    lines = run("rdf", "query", text, "--csv")

    assert narrow[1].splitlines()[-1].split() == ["hc:Museum", "its:x"]
    assert "Not shown: long. --wide shows them." in " ".join(narrow[2].split())
    row = ["hc:Museum", "its:x", "https://other.example/y"]
    assert wide[1].splitlines()[-1].split() == row
    assert "https://its.example/x" in lines[1]


def test_a_query_of_a_file_is_asked(full: Connection, run: Run, tmp_path: Path) -> None:
    """A long query is read from a file; no rows are said to be none."""
    file = tmp_path / "q.rq"
    file.write_text("SELECT ?d { ?d a schema:Article ; schema:name 'No' }", "utf-8")

    code, out, err = run("rdf", "query", "--file", file)

    assert (code, out) == (0, "")
    assert "No rows" in err


MISTAKES = [
    (("query",), "--file", 2),
    (("query", "SELECT * {"), "understood", 2),
    (("query", "DROP ALL"), "read-only", 2),
    (("query", "ASK {}", "--json", "--csv"), "Choose one", 2),
    (("query", "ASK {}", "--base", "no iri"), "base", 2),
    (("query", "SELECT * {?a ?b ?c. ?d ?e ?f. ?g ?h ?i}", "--csv",
      "--time-limit", "0.5"), "longer than 0.5 s", 1),
    (("import", "missing.ttl"), "cannot be read", 2),
    (("import", "missing.doc"), "format", 2),
    (("export", "a.doc"), "format", 2),
    (("export", "a.ttl", "--corpus", "nope"), "No corpus", 2),
]  # fmt: skip


def test_mistakes_are_one_line(full: Connection, run: Run) -> None:
    """What a user can mend ends with 2 and says so; a query out of time with 1."""
    answers = {words: run("rdf", *words) for words, _, _ in MISTAKES}

    wrong = [
        (words, answers[words])
        for words, why, status in MISTAKES
        if answers[words][0] != status
        or why not in answers[words][2]
        or "Traceback" in answers[words][2]
    ]
    assert wrong == []


@pytest.mark.thorough
def test_a_real_graph_comes_back_whole(full: Connection, tmp_path: Path) -> None:
    """Corpora, walks, evaluations and custodians are the same after a round trip.

    Where vectors were left out, the rest is.
    """
    file, plain = tmp_path / "graph.ttl", tmp_path / "plain.ttl"
    # An import leaves it to the next linking to find out what texts say.
    full.run_schema("MATCH (k:Corpus) REMOVE k.linkState, k.copied, k.filters")
    digest, before = corpus_digest(full, "made"), picture(full)
    export_rdf(full, file)
    export_rdf(full, plain, embeddings=False)

    full.run_schema(EVERYTHING)
    reports = [import_rdf(full, plain)]
    without = picture(full)
    digests = [corpus_digest(full, "made")]
    full.run_schema(EVERYTHING)
    reports.append(import_rdf(full, file))

    assert picture(full) == before
    assert without.total() == before.total()
    assert [*digests, corpus_digest(full, "made")] == [digest] * 2
    assert [(report.missing, report.foreign) for report in reports] == [(0, 0)] * 2
    assert not [f for f in verify_corpus(full, "made") if f.count]


@pytest.mark.thorough
def test_export_and_import_by_command(
    full: Connection, run: Run, tmp_path: Path
) -> None:
    """A corpus is written and read by the command line, which says what it did."""
    file = tmp_path / "made.nt"

    written = run("rdf", "export", file, "--corpus", "made", "--json")
    full.run_schema(EVERYTHING)
    read = run("rdf", "import", file, "--json")
    again = run("rdf", "import", file)

    assert (written[0], read[0], again[0]) == (0, 0, 0)
    assert json.loads(written[1])["triples"] == json.loads(read[1])["triples"]
    assert json.loads(read[1])["nodes_created"] == json.loads(read[1])["nodes"]
    assert "(0 new)" in again[2]
    assert not [f for f in verify_corpus(full, "made") if f.count]


def test_import_into_a_corpus_makes_a_version_of_it(
    full: Connection, tmp_path: Path
) -> None:
    """A change is counted once, in corpus and documents; what is the same is not."""
    file = tmp_path / "made.nt"
    export_rdf(full, file, corpus="made")
    before = stored_corpus(full, "made")
    import_rdf(full, file)
    same = stored_corpus(full, "made")
    full.run_schema("MATCH (c:Chunk {corpus: 'made'}) SET c.text = 'other'")
    import_rdf(full, file)
    after = stored_corpus(full, "made")
    import_rdf(full, file)

    assert same == before
    assert after.version == before.version + 1
    assert after.status == "complete"
    assert stored_corpus(full, "made") == after
    assert not full.query(
        "MATCH (d:Document {corpus: 'made'}) WHERE d.corpusVersion <> $v RETURN d",
        {"v": after.version},
    )


@pytest.mark.forgets
def test_import_that_was_cut_off_leaves_its_corpus_unfinished(
    full: Connection, tmp_path: Path
) -> None:
    """A constraint that relationships break ends it; then it is completed."""
    file = tmp_path / "made.nt"
    export_rdf(full, file, corpus="made")
    before = stored_corpus(full, "made")
    full.run_schema(EVERYTHING)
    full.run_schema(
        "CREATE CONSTRAINT one FOR ()-[r:SIMILAR_TO]-() REQUIRE r.rank IS UNIQUE"
    )
    try:
        with pytest.raises(DatabaseError, match="already exists"):
            import_rdf(full, file)
        cut_off = stored_corpus(full, "made")
    finally:
        full.run_schema("DROP CONSTRAINT one")

    import_rdf(full, file)

    assert (cut_off.status, cut_off.version) == ("unfinished", before.version)
    assert stored_corpus(full, "made") == before


def test_import_waits_for_no_other_writer(
    full: Connection, server: Settings, tmp_path: Path
) -> None:
    """A corpus that another process writes to is refused, and nothing is stored."""
    file = tmp_path / "made.nt"
    export_rdf(full, file, corpus="made")
    full.run_schema("MATCH (c:Chunk) SET c.text = 'other'")
    before = picture(full)

    with (
        corpus_lock(server.home, full, "made"),
        pytest.raises(InputError, match="being written"),
    ):
        import_rdf(full, file, home=server.home)

    assert picture(full) == before

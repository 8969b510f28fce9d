"""Real dumps go in by the command line, and questions come out answered."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER, Settings
from tests.command_line import CommandLine
from tests.databases import drop_vector_indexes
from tests.dumps import BULGARIAN, TABLES, cut, sample
from tests.tiers import amount

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

OTHERS = ("Astronomers and Astrophysicists", "AccessibleComputing", "Alien")
"""A redirect to the article of astronomers, one to none, a disambiguation page."""
SMALL = ("Astronomer", "Actrius", "Affirming the consequent")
LARGE = ("Autism", "Albedo", "Astronomer", "Atomic number", "Actrius")


@pytest.fixture
def user(
    server: Settings,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Return a command line on the emptied server, with the hash embedder."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    return CommandLine(server, capsys, "hash:32")


def _sound(user: CommandLine, corpus: str) -> bool:
    """Return whether `corpus verify` is content."""
    done = user.run("corpus", "verify", corpus)
    return done.code == 0 and "is sound" in done.out


def _report(user: CommandLine, corpus: str, *words: str | Path) -> dict[str, object]:
    """Ingest dumps without themes and return the report."""
    done = user.run(*(
        "ingest",
        "dump",
        *words,
        "--corpus",
        corpus,
        "--themes=none",
        "--json",
    ))
    assert (done.code, done.errors) == (0, [])
    report: dict[str, object] = json.loads(done.out)
    return report


@pytest.mark.one_line
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("titles", "question", "says"),
    [
        (SMALL, "What do astronomers study?", "star|planet|galax"),
        (LARGE, "What causes autism?", "genetic|hereditab|heritab"),
    ],
)
def test_part_of_a_real_dump_answers_a_question(
    user: CommandLine,
    connection: Connection,
    shared: Path,
    tmp_path: Path,
    titles: tuple[str, ...],
    question: str,
    says: str,
) -> None:
    """With the default model: stored, sound, answered; again nothing is written."""
    drop_vector_indexes(connection)
    path = cut(shared, tmp_path / "part.xml.bz2", titles=titles + OTHERS)
    ingest = ("ingest", "dump", path, "--corpus=enwiki", "--json")

    first = user.run(*ingest, embedder=DEFAULT_EMBEDDER)
    sound = _sound(user, "enwiki")
    answer = user.run(
        *("search", "--corpus=enwiki", "--algorithm=query_traversal", "--json"),
        question,
        embedder=DEFAULT_EMBEDDER,
    )
    second = user.run(*ingest, embedder=DEFAULT_EMBEDDER)

    report, again = json.loads(first.out), json.loads(second.out)
    assert (first.code, first.errors, report["added"]) == (0, [], len(titles))
    assert report["left_out"] == {"disambiguation": 1}
    assert (report["redirects_resolved"], report["redirects_waiting"]) == (1, 1)
    assert sound
    results = json.loads(answer.out)["results"]
    assert {result["title"] for result in results} == {titles[0]}
    assert re.search(says, " ".join(r["text"] for r in results))
    assert (again["skipped"], set(again["written"].values())) == (len(titles), {0})


@pytest.mark.one_line
@pytest.mark.slow
@pytest.mark.thorough
def test_english_sample_has_its_pages(
    user: CommandLine, connection: Connection, shared: Path
) -> None:
    """98 articles, 100 redirects of which 13 resolve, 8 disambiguation pages."""
    report = _report(user, "enwiki", sample(shared))

    assert (report["added"], report["failed"], report["damage"]) == (98, 0, [])
    assert report["left_out"] == {"disambiguation": 8}
    assert report["redirects"] == 100
    assert (report["redirects_resolved"], report["redirects_waiting"]) == (13, 87)
    assert _sound(user, "enwiki")
    assert user.run("corpus", "delete", "enwiki", "--yes").code == 0
    (left,) = connection.query("MATCH (n {corpus: 'enwiki'}) RETURN count(n) AS nodes")
    assert left["nodes"] == 0


@pytest.mark.one_line
@pytest.mark.thorough
def test_other_dumps_have_corpora_of_their_own(
    user: CommandLine, connection: Connection, shared: Path
) -> None:
    """The Bulgarian UTF-16 file has one article, the table-heavy file five."""
    bulgarian = _report(user, "bgwiki", sample(shared, BULGARIAN))
    tables = _report(user, "tables", sample(shared, TABLES))

    assert (bulgarian["added"], bulgarian["left_out"]) == (1, {"namespace": 2})
    assert (tables["added"], tables["failed"]) == (5, 0)
    assert _sound(user, "bgwiki")
    assert _sound(user, "tables")
    listed = json.loads(user.run("corpus", "list", "--json").out)
    assert {row["name"]: row["documents"] for row in listed} == {
        "bgwiki": 1,
        "tables": 5,
    }
    assert user.run("corpus", "delete", "tables", "--yes").code == 0
    (left,) = connection.query("MATCH (n {corpus: 'tables'}) RETURN count(n) AS nodes")
    assert left["nodes"] == 0


SEA = ["tide", "moon", "wave", "shore", "current", "harbour", "gull", "salt"]
ROCK = ["granite", "basalt", "marble", "slate", "gneiss", "quartz", "schist", "chalk"]


def _made_up(path: Path, words: list[str], *, documents: int, sentences: int) -> Path:
    """Write documents of short sentences made of some words."""
    rng = np.random.default_rng(7)
    with path.open("w", encoding="utf-8") as lines:
        for number in range(documents):
            made = [
                f"{' '.join(rng.choice(words, 3))} {number}.{line}."
                for line in range(sentences)
            ]
            record = {"id": f"{words[0]}-{number}", "sentences": made}
            lines.write(json.dumps(record) + "\n")
    return path


def _check_small_beside_large(user: CommandLine, folder: Path) -> None:
    """Ask a corpus of 50 chunks what many chunks beside it answer better."""
    few_edges = ("--themes=none", "--intra-top-k=1", "--inter-top-x=1")
    many = amount(8, 100)
    large = _made_up(folder / "large.jsonl", SEA, documents=many, sentences=202)
    small = _made_up(folder / "small.jsonl", ROCK, documents=5, sentences=12)
    for name, path in (("large", large), ("small", small)):
        done = user.run("ingest", "jsonl", path, f"--corpus={name}", *few_edges)
        assert (done.code, done.errors) == (0, [])

    found = user.run(
        *("search", "--corpus=small", "--algorithm=basic_retrieval", "--k=10"),
        *("--json", "tide moon wave"),
    )

    rows = user.run(
        *("cypher", "--json"),
        "MATCH (c:Chunk) RETURN c.corpus AS corpus, c.id AS id, c.text AS text",
    )
    chunks = {"small": {}, "large": {}}
    for row in json.loads(rows.out):
        chunks[row["corpus"]][row["id"]] = row["text"]
    assert {name: len(texts) for name, texts in chunks.items()} == {
        "small": 50,
        "large": many * 200,
    }
    results = json.loads(found.out)["results"]
    assert len({result["chunkId"] for result in results}) == 10
    assert {result["chunkId"] for result in results} <= set(chunks["small"])
    assert results[0]["chunkId"] == _nearest(chunks["small"], "tide moon wave")


def _nearest(texts: dict[str, str], question: str) -> str:
    """Return the key of the text that is nearest to a question."""
    model = HashEmbedder(32)
    vectors = model.embed_array(list(texts.values()))
    (query,) = model.embed_array([question])
    return list(texts)[int(np.argmax(vectors @ query))]


@pytest.mark.one_line
@pytest.mark.slow
@pytest.mark.thorough
def test_small_corpus_beside_a_large_one(user: CommandLine, tmp_path: Path) -> None:
    """Where the server filters inside the search, a search stays in its corpus."""
    _check_small_beside_large(user, tmp_path)


@pytest.mark.slow
@pytest.mark.thorough
def test_small_corpus_beside_a_large_one_on_the_long_term_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where it cannot filter, more is fetched until the corpus has given enough."""
    from knowtrail.graph.server.lease import join_server

    with join_server(tmp_path / "home", version="5.26.30") as lease:
        info = lease.info
        monkeypatch.setenv("NEO4J_PASSWORD", info.password)
        settings = Settings.from_env(env={}, home=tmp_path / "home").with_server(
            uri=info.uri, username=info.username, password=info.password
        )
        _check_small_beside_large(CommandLine(settings, capsys, "hash:32"), tmp_path)

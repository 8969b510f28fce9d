"""The whole benchmark on a real Ollama and a real Neo4j: shapes, never quality."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from knowtrail.eval.skn import BenchmarkOptions, ModelOptions, run_models
from knowtrail.graph.settings import Settings
from tests.command_line import CommandLine
from tests.ollama import SMALL_MODEL, need_small_model

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection

SETTINGS = Settings.from_env()
MODEL = SMALL_MODEL

pytestmark = [
    pytest.mark.integration,
    pytest.mark.ollama,
    pytest.mark.slow,
    pytest.mark.timeout(900),
]

SAMPLES = [
    ("diagnostic", "Why is the first query slow?", "The cache is cold.", True),
    ("insufficient_info", "What port has Zorblat?", "INSUFFICIENT_INFO", False),
]
PAGES = ["A cold cache makes the first query slow.", "A queue fills when nobody reads."]


@pytest.fixture
def ollama() -> None:
    """Skip without a server that has the small model; fail under CI."""
    need_small_model(SETTINGS.ollama_url)


@pytest.fixture
def knowtrail(
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Return the command line on the test's server."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("NEO4J_USERNAME", server.username)
    return CommandLine(server, capsys, "hash:32")


def written(folder: Path) -> tuple[Path, Path]:
    """Write samples and recorded search results; return their files."""
    samples = [
        {
            "id": n,
            "category": category,
            "question": question,
            "ground_truth": truth,
            "answerable": answerable,
        }
        for n, (category, question, truth, answerable) in enumerate(SAMPLES, start=1)
    ]
    results = [
        {
            "id": n,
            "question": question,
            "results": [
                {"title": "Notes", "url": "https://a.example", "content": page}
                for page in PAGES[: 4 - 2 * n]
            ],
        }
        for n, (_, question, _, _) in enumerate(SAMPLES, start=1)
    ]
    files = folder / "samples.json", folder / "search.json"
    for file, value in zip(files, (samples, results), strict=True):
        file.write_text(json.dumps(value), "utf-8")
    return files


def tag_digest() -> str:
    """Return what Ollama calls the content of the small model."""
    tags = httpx.get(f"{SETTINGS.ollama_url}/api/tags", trust_env=False).json()
    (digest,) = [m["digest"] for m in tags["models"] if m["name"] == MODEL]
    return str(digest)


def loaded(folder: Path, name: str) -> Any:
    """Return the value of a result file."""
    return json.loads((folder / name).read_text("utf-8"))


@pytest.mark.one_line
@pytest.mark.thorough
@pytest.mark.usefixtures("ollama")
def test_the_benchmark_runs_offline_resumes_and_is_stored(
    tmp_path: Path,
    knowtrail: CommandLine,
    connection: Connection,
) -> None:
    """One sample first, then two by the command: the first is not asked again."""
    dataset, search = written(tmp_path)
    out = tmp_path / "out"
    run_models(
        [MODEL],
        output=out,
        options=BenchmarkOptions(
            dataset=dataset,
            limit=1,
            search_results=search,
            recorded_only=True,
            models=ModelOptions(tokens=64, seconds=60),
        ),
        settings=SETTINGS,
    )

    before = (out / "state.jsonl").read_text("utf-8").splitlines()

    done = knowtrail.run(
        *("eval", "skn", "--model", MODEL, "--dataset", dataset),
        *("--search-results", search, "--recorded-only", "--output", out),
        *("--tokens", "64", "--seconds", "60", "--report", tmp_path / "r.html"),
        "--json",
    )

    assert done.code == 0
    (found,) = json.loads(done.out)
    state = (out / "state.jsonl").read_text("utf-8").splitlines()
    assert state[: len(before)] == before
    new = [json.loads(line) for line in state[len(before) :]]
    assert {line["sample"] for line in new} == {2}
    assert found["calls"] == sum(line["value"]["attempts"] for line in new)
    assert f": {found['calls']} calls, " in done.errors[0]
    assert found["digest"] == found["judge_digest"] == tag_digest()
    assert set(found["metrics"]) >= {"json", "skn"}
    rows = loaded(out, "detailed_results.json")
    assert [row["id"] for row in rows] == [1, 2]
    assert rows[1]["skn_correct"] is None
    for row in rows:
        sure = row["json_confidence"]
        assert (sure is None) == bool(row["json_reasoning_error"])
        assert sure is None or 0 <= sure <= 1
        assert 0 <= row["skn_hallucination"]["hallucination_severity"] <= 1
    first = loaded(out, "extractions.json")[0]
    assert first["skn_status"] in {"ok", "repaired", "failed"}
    assert set(first["json_extraction"]) == {"entities", "relationships", "claims"}
    assert found["metrics"]["json"]["avg_reasoning_prompt_tokens"] > 100
    usable = found["metrics"]["skn"]["usable_extractions"]
    assert (found["metrics"]["skn"]["avg_context_tokens"] is None) == (usable == 0)
    assert "Worst samples" in (tmp_path / "r.html").read_text("utf-8")
    (row,) = connection.query(
        "MATCH (r:EvalRun {kind: 'skn', variant: 'skn'})-[:HAS_RECORD]->(e)"
        " RETURN r.model AS model, r.status AS status, count(e) AS records"
    )
    assert row == {"model": MODEL, "status": "complete", "records": 2}


@pytest.mark.usefixtures("ollama")
def test_a_missing_model_is_told_before_the_first_call(
    tmp_path: Path, knowtrail: CommandLine
) -> None:
    """The judge that is not there is told before the extractor has worked."""
    dataset, search = written(tmp_path)

    done = knowtrail.run(
        *("eval", "skn", "--model", MODEL, "--judge", "no-such-model:1b"),
        *("--dataset", dataset, "--search-results", search, "--recorded-only"),
        *("--output", tmp_path / "out", "--no-store"),
    )

    assert done.code == 1
    assert "run `ollama pull no-such-model:1b`" in " ".join(done.errors)
    assert (tmp_path / "out" / "state.jsonl").read_text("utf-8") == ""

"""The table of judged answers, by models that are asked over HTTP."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.command_line import CommandLine
from tests.contract.test_deepeval import GOOD, _kind
from tests.integration.test_eval_retrieval import PASSAGES
from tests.model_services import KEY, Service

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_httpserver import HTTPServer

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

QUESTIONS = [
    {"id": "q1", "question": "Where was Ida Rask born?", "gold_documents": ["maker"]},
    {"id": "q2", "question": "What is a fjord town?", "gold_documents": ["town"]},
]


def judged(prompt: str) -> str:
    """Return a judge's answer in the form that the prompt asks for."""
    form: dict[str, Any] = json.loads(prompt.rpartition("fits this schema: ")[2])
    return json.dumps(GOOD[_kind({"format": form})])


def test_answers_are_judged_by_models_of_two_providers(
    emptied: Connection,
    server: Settings,
    httpserver: HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A refused key ends the judging; the same command later asks for the rest."""
    reader = Service("openai", says=lambda _: json.dumps({"answer": "Tromsund"}))
    judge = Service("anthropic", says=judged, plan=[401])
    for service in (reader, judge):
        service.open(httpserver, monkeypatch)
    rows = [{"id": i, "title": t, "text": x} for i, t, x in PASSAGES]
    asked = [{**question, "answer": "Tromsund"} for question in QUESTIONS]
    for name, each in (("passages", rows), ("questions", asked)):
        text = "".join(json.dumps(row) + "\n" for row in each)
        (tmp_path / f"{name}.jsonl").write_text(text, "utf-8")
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    page = tmp_path / "page.html"
    files = f"jsonl:{tmp_path / 'questions.jsonl'},{tmp_path / 'passages.jsonl'}"
    words = f"eval retrieval --dataset {files} --algorithms dense --report {page}"
    models = "--answers openai:reader --judge anthropic:judge"
    commands = CommandLine(server, capsys, "hash:32")

    broken = commands.run(*words.split(), *models.split())
    whole = commands.run(*words.split(), *models.split())

    assert (broken.code, whole.code) == (0, 0), broken.errors
    assert "anthropic:judge' refuses the key (no, *** will not do)" in broken.out
    assert re.search(r"^dense( +-){5}$", broken.out, re.MULTILINE)
    (row,) = (r for r in whole.out.splitlines() if r.startswith("dense  ") and "/" in r)
    values = [cell for cell in row.split() if "[" not in cell and "]" not in cell]
    assert values == ["dense", "50.0", "100.0", "50.0", "100.0", "2/2"]
    assert len(reader.requests) == 2
    assert "<td>2/2" in page.read_text("utf-8")
    stored = emptied.query("MATCH (r:EvalRun) RETURN properties(r) AS run")
    metrics = emptied.query("MATCH (m:Metric) RETURN collect(m.name) AS names")
    assert "anthropic:judge" in str(stored)
    assert {"faithfulness", "passed"} <= set(metrics[0]["names"])
    assert KEY not in f"{stored}{broken}{whole}{page.read_text('utf-8')}"

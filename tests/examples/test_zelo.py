"""The example of pairwise judgement does what its first line says."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING

import pytest

from retrieval.rerank.datasets import read_annotated
from tests.command_line import ROOT

if TYPE_CHECKING:
    from tests.examples.conftest import Reader

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]


def test_example_judges_benchmarks_draws_and_explains(
    reader: Reader, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five queries, two rerankers, one picture, and a reason from the graph."""
    runpy.run_path(str(ROOT / "examples" / "zelo.py"), run_name="__main__")

    out = capsys.readouterr().out
    folder = reader.folder / "zelo-example"
    assert "5 queries exported" in out
    assert len(list(read_annotated(folder / "annotated.jsonl"))) == 5
    assert out.count("'ndcg':") == 2
    assert "<svg" in (folder / "battles.svg").read_text("utf-8")
    assert any(" against " in line for line in out.splitlines()[-8:])
    assert "scores A" in out

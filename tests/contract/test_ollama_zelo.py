"""A judge on a real Ollama server: form, cost and continuation, never its sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.eval.zelo.annotation import annotate
from knowtrail.eval.zelo.judges import load_judges
from knowtrail.eval.zelo.pairs import PairSettings
from knowtrail.graph.settings import Settings
from tests.ollama import SMALL_MODEL, need_small_model
from tests.unit.eval.zelo.cases import kept_judgements, query, source

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = Settings.from_env()
MODEL = SMALL_MODEL

pytestmark = pytest.mark.ollama


@pytest.fixture(autouse=True)
def _server() -> None:
    """Skip without a server that has the model, fail under CI."""
    need_small_model(SETTINGS.ollama_url)


@pytest.mark.thorough
def test_a_real_model_judges(tmp_path: Path) -> None:
    """Each judgement has a score in range or says why not, and is not repeated."""
    path = source(tmp_path, query(n=3))
    judges = load_judges([f"ollama:{MODEL}"], settings=SETTINGS)
    pairs = PairSettings(cycle_num=1)

    first = annotate(path, tmp_path / "out.jsonl", judges=judges, pairs=pairs)
    again = annotate(path, tmp_path / "out.jsonl", judges=judges, pairs=pairs)

    said = kept_judgements(first.folder)
    assert len(said) == first.counts.asked == 3
    assert all(
        bool(one.error) if one.score is None else -1 <= one.score <= 1 for one in said
    )
    assert all(one.prompt_tokens > 100 and one.cost == 0 for one in said)
    assert again.counts.asked == 0

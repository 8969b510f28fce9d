"""The semantic judge on a real Ollama server: form, cache and cost, never its sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.eval.fields import JudgeItem, ModelJudge
from knowtrail.graph.models.language_models import load_language_model
from knowtrail.graph.settings import Settings
from tests.ollama import SMALL_MODEL, need_small_model

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = Settings.from_env()
MODEL = SMALL_MODEL
ITEMS = [
    JudgeItem("colour", "dark red", "a deep red"),
    JudgeItem("note", 'said "stop" {and} left', "stopped"),
    JudgeItem("town", "Wien", "Vienna"),
]

pytestmark = pytest.mark.ollama


@pytest.fixture
def judge(tmp_path: Path) -> ModelJudge:
    """Return a judge with the small model; skip without a server, fail under CI."""
    need_small_model(SETTINGS.ollama_url)
    model = load_language_model(MODEL, settings=SETTINGS)
    return ModelJudge(model, cache_file=tmp_path / "judgements.sqlite")


@pytest.mark.thorough
def test_real_model_gives_a_verdict_a_pair(judge: ModelJudge) -> None:
    """Each pair has 0, 1 or no verdict, and verdicts are not asked for again."""
    first = judge.judge_batch(ITEMS)
    again = judge.judge_batch(ITEMS)

    assert len(first) == len(ITEMS)
    assert set(first) <= {0.0, 1.0}
    assert again == first

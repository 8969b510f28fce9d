"""The command that measures retrieval, as far as it needs no server."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from knowtrail.eval import models
from knowtrail.eval.retrieval.cli import _judging
from knowtrail.graph.cli.root import knowtrail
from knowtrail.graph.models.language_models import LanguageModel
from knowtrail.graph.models.ollama_client import MOST_CONTEXT
from knowtrail.graph.settings import Settings

DATA = ("eval", "retrieval", "--dataset", "jsonl:none.jsonl,none.jsonl")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--algorithms", "bm25", "--base", "dense"), "--algorithms dense,bm25"),
        (("--algorithms", "bm25", "--base", "bm25"), "none.jsonl cannot be read"),
        (("--algorithms", "bm25,rrf"), "none.jsonl cannot be read"),
    ],
)
def test_a_base_that_was_asked_for_must_be_measured(
    options: tuple[str, ...], said: str
) -> None:
    """Differences from another one would pass for those that were asked for."""
    done = CliRunner().invoke(knowtrail, [*DATA, *options])

    assert done.exit_code != 0
    assert said in f"{done.output}{done.exception}"


def test_answers_and_verdicts_have_the_context_that_is_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stored configuration says 32,768 tokens, so no model gets the usual 4,096."""
    asked: list[tuple[str, int]] = []

    def load(name: str, *, settings: Settings, context: int) -> LanguageModel:
        asked.append((name, context))
        return LanguageModel(FakeListChatModel(responses=["x"]), name=name)

    monkeypatch.setattr(models, "load_language_model", load)

    judging = _judging("small", "large", Settings())

    assert judging is not None
    assert judging.models.context == MOST_CONTEXT
    assert asked == [("small", MOST_CONTEXT), ("large", MOST_CONTEXT)]

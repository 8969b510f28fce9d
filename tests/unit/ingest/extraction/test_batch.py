"""Extraction from many sources, without a database."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from knowtrail.graph.errors import ModelError
from knowtrail.ingest.extraction.batch import ExtractionOptions, _answers, _extract
from knowtrail.ingest.extraction.stored_knowledge import ExtractionSource

if TYPE_CHECKING:
    from knowtrail.graph.models.language_models import LanguageModel

BLOCK = '[SKN]\n@src ice | fresh:low | reliability:0.9\n@facts\n  ! "x" [0.9]\n[/SKN]'


class _Reply:
    """What a model says."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.error = None
        self.late = False
        self.prompt_tokens = self.completion_tokens = 1


class _Model:
    """Answers the first text at once, fails at the second, then answers the third."""

    name = "told"

    def room(self, tokens: int) -> tuple[None, int]:
        return None, tokens

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.failed = threading.Event()

    def reply(self, prompt: str, **_: Any) -> _Reply:
        if "text two" in prompt:
            self.go_on.wait(20)
            self.failed.set()
            msg = "the server went away"
            raise ModelError(msg)
        if "text three" in prompt:
            self.failed.wait(20)
            time.sleep(0.1)
        return _Reply(BLOCK)


def test_answers_that_came_before_a_failure_is_told_are_given_out() -> None:
    """A finished answer that waits behind an error is stored all the same."""
    model = _Model()
    sources = [
        ExtractionSource(id=name, title=name, content_hash="", text=f"text {name}")
        for name in ("one", "two", "three")
    ]
    options = ExtractionOptions(variant="skn_no_risk")
    reader = cast("LanguageModel", model)
    done = _answers(sources, lambda one: _extract(one, reader, options), 2)

    found = [next(done)[0].id]
    model.go_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("knowtrail-extract"):
            thread.join(20)
    with pytest.raises(ModelError, match="went away"):
        found.extend(source.id for source, _ in done)

    assert found == ["one", "three"]

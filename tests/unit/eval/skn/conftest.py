"""A chat model that answers each prompt of the benchmark as a script says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = {
    "entities": [{"name": "cache", "type": "part", "attributes": {}}],
    "relationships": [],
    "claims": [{"statement": "The cache is full.", "category": "fact"}],
}
SKN = """[SKN]
@src caching | fresh:high | reliability:0.9
@facts
  ! "The cache is full." [0.9]
@causal
  full cache -> slow start [0.8]
@gaps
  - the version
@risk misdirection:low | missing_context:low
[/SKN]"""
GOOD: dict[str, Any] = {
    "json": JSON,
    "skn": SKN,
    "agent": {"answer": "The cache is full.", "confidence": 0.9, "reasoning": "Said."},
    "accuracy": {"correct": True},
    "hallucination": {
        "hallucination_detected": False,
        "hallucination_severity": 0.0,
        "total_claims": 2,
        "fabricated_claims": [],
    },
    "groundedness": {"groundedness_score": 0.8, "unsupported_fraction": 0.2},
    "abstention": {"abstained": False},
}
_SIGNS = {
    "answer a technical question": "agent",
    "compare an answer": "accuracy",
    "look for claims": "hallucination",
    "how far an answer rests": "groundedness",
    "whether an answer refuses": "abstention",
    "[SKN]\n": "skn",
    '"entities"': "json",
}


class Scripted(BaseChatModel):
    """Answers by what kind of prompt it is; a list is answered one after the other.

    Attributes:
        script: Kind of prompt -> answer, answers, or an error to raise.
        model: Its name.
        asked: The kinds of prompt so far, with their text.
    """

    script: dict[str, Any] = {}  # noqa: RUF012 - Pydantic copies it
    model: str = "scripted"
    asked: list[tuple[str, str]] = []  # noqa: RUF012 - Pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _said(self, messages: list[Any]) -> AIMessage:
        text = "\n".join(str(message.text) for message in messages)
        kind = next(kind for sign, kind in _SIGNS.items() if sign in text)
        self.asked.append((kind, text))
        answer = self.script.get(kind, GOOD[kind])
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        said = answer if isinstance(answer, str) else json.dumps(answer)
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        return AIMessage(said, usage_metadata=usage)

    def _generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._said(messages))])

    def _stream(
        self, messages: list[Any], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        said = self._said(messages)
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content=said.content, usage_metadata=said.usage_metadata
            )
        )

    def kinds(self) -> list[str]:
        """Return the kinds of prompt so far."""
        return [kind for kind, _ in self.asked]


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    """Return a function that makes models; its arguments are answers by kind."""

    def make(name: str = "scripted", **script: Any) -> Scripted:
        return Scripted(model=name, script=script, asked=[])

    return make


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Wait for nothing; return the seconds that would have been waited."""
    waited: list[float] = []
    monkeypatch.setattr("knowtrail.eval.models.time.sleep", waited.append)
    return waited


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Return a file of three samples in two categories, the last without an answer."""
    samples = [
        {
            "id": 1,
            "category": "diagnostic",
            "question": "Why is the start slow?",
            "ground_truth": "The cache is full.",
            "answerable": True,
        },
        {
            "id": 2,
            "category": "diagnostic",
            "question": "Why does the queue grow?",
            "ground_truth": "A consumer is down.",
        },
        {
            "id": 3,
            "category": "insufficient_info",
            "question": "What is the port of Zorblat?",
            "ground_truth": "INSUFFICIENT_INFO",
            "answerable": False,
        },
    ]
    path = tmp_path / "samples.json"
    path.write_text(json.dumps(samples), "utf-8")
    return path


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Return a file of recorded search results for the samples."""
    entries = [
        {
            "id": number,
            "question": question,
            "results": [
                {
                    "title": f"Page {number}",
                    "url": f"https://a.example/{number}",
                    "content": f"The cache of system {number} is full.",
                }
            ],
        }
        for number, question in enumerate(
            [
                "Why is the start slow?",
                "Why does the queue grow?",
                "What is the port of Zorblat?",
            ],
            start=1,
        )
    ]
    path = tmp_path / "search.json"
    path.write_text(json.dumps(entries), "utf-8")
    return path

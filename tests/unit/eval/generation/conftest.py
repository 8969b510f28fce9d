"""A small corpus in memory, and a chat model that answers by kind of prompt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from knowtrail.eval.generation.contexts import ContextChunk, ContextSentence, Neighbour

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DOCUMENTS = 4
SENTENCES = 8
_SIGNS = {
    "Write one question": "draft",
    "Rewrite it so that": "evolve",
    "Give it a score": "critique",
    "A critic said": "rewrite",
    "Answer this question": "answer",
}
GOOD: dict[str, Any] = {
    "draft": {"question": "Where does glacier one begin?"},
    "evolve": {"question": "Which of both glaciers begins higher up?"},
    "critique": {"feedback": "Good.", "score": 0.9},
    "rewrite": {"question": "Which glacier begins higher, one or two?"},
    "answer": {"answerable": True, "answer": "Glacier one.", "sentences": [1]},
}


class MemoryContexts:
    """A `ContextSource` over chunks in memory."""

    def __init__(self, chunks: Sequence[ContextChunk]) -> None:
        """Take the chunks, in their order.

        Args:
            chunks: All of them.
        """
        self._chunks = {chunk.id: chunk for chunk in chunks}

    def chunk_ids(self) -> Sequence[tuple[str, str]]:
        """Return (chunk id, document id) of every chunk."""
        return [(chunk.id, chunk.document) for chunk in self._chunks.values()]

    def open(self, chunk_id: str) -> ContextChunk:
        """Return a chunk."""
        return self._chunks[chunk_id]


def _sentences(document: int, start: int) -> tuple[ContextSentence, ...]:
    return tuple(
        ContextSentence(
            id=f"d{document}s{n}",
            document=f"d{document}",
            index=n,
            text=f"Sentence {n} of document {document}.",
        )
        for n in range(start, start + 3)
    )


def _chunk(document: int, index: int) -> ContextChunk:
    count = SENTENCES - 2
    near = [
        (document, other, 1 - abs(other - index) / 20, True)
        for other in range(count)
        if other != index
    ]
    far = [
        ((document + step) % DOCUMENTS, index, 0.5 - step / 10, False)
        for step in (1, 2)
    ]
    neighbours = [
        Neighbour(
            id=f"d{of}c{place}",
            document=f"d{of}",
            score=score,
            intra=intra,
            texts=tuple(s.text for s in _sentences(of, place)),
        )
        for of, place, score, intra in near + far
    ]
    return ContextChunk(
        id=f"d{document}c{index}",
        document=f"d{document}",
        title=f"Glacier {document}",
        index=index,
        sentences=_sentences(document, index),
        neighbours=tuple(sorted(neighbours, key=lambda n: (-n.score, n.id))),
        adjacent=tuple(
            f"d{document}c{n}" for n in (index - 1, index + 1) if 0 <= n < count
        ),
        themed=(f"d{(document + 2) % DOCUMENTS}",),
    )


@pytest.fixture
def source() -> MemoryContexts:
    """Return four documents of eight sentences in windows of three."""
    return MemoryContexts([
        _chunk(document, index)
        for document in range(DOCUMENTS)
        for index in range(SENTENCES - 2)
    ])


class Scripted(BaseChatModel):
    """Answers by kind of prompt; a list is answered one after the other.

    Attributes:
        script: Kind of prompt -> answer, answers, or an error to raise.
        model: Its name.
        asked: The kinds of prompt so far.
    """

    script: dict[str, Any] = {}  # noqa: RUF012 - Pydantic copies it
    model: str = "scripted"
    asked: list[str] = []  # noqa: RUF012 - Pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> ChatResult:
        text = "\n".join(str(message.text) for message in messages)
        kind = next(kind for sign, kind in _SIGNS.items() if sign in text)
        self.asked.append(kind)
        answer = self.script.get(kind, GOOD[kind])
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        said = answer if isinstance(answer, str) else json.dumps(answer)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    """Return a function that makes models; its arguments are answers by kind."""

    def make(**script: Any) -> Scripted:
        return Scripted(script=script, asked=[])

    return make

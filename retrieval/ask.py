"""Ask: walk for a question, then answer it from the sentences found, with citations."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from knowtrail.graph.blocking import (
    at_once,
    blocking,
    each_at_once,
    in_thread,
    likewise,
)
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.language_models import model_at_hand
from knowtrail.retrieval.answers import (
    BLOCKS,
    CONTEXTS,
    AnswerText,
    answer_request,
    knowledge_blocks,
    knowledge_request,
    no_blocks_note,
    parse_answer,
    parse_standalone,
    standalone_request,
    walked_documents,
)
from knowtrail.retrieval.traverse import TraverseSettings, atraverse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence

    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.answers import AnswerContext, AnswerRequest
    from knowtrail.retrieval.traverse import TraverseResult
    from knowtrail.retrieval.walk import FoundSentence, Walk

ANSWER_SECONDS = 180.0
NOTHING_FOUND = "No sentence of the corpus was found to answer from."
NO_MODEL = (
    "No language model was asked: these are sentences of the walk, those nearest to "
    "the question, however far. Name one by --model or KNOWTRAIL_LANGUAGE_MODEL for an "
    "answer in words."
)
_EXTRACTED = 5
_NEAR = 0.5
"""Least cosine of a sentence of an answer without a model, in that of the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with what it rests on.

    Attributes:
        text: The answer; without a model, the cited sentences, each with its number.
        citations: The sentences that the model says it rests on, only such as it was
            given; empty where it named none, which `note` then says.
        confidence: What the model thinks of it, from 0 to 1; None where it said
            nothing sensible.
        model: Name of the language model; None where it was not asked.
        traversal_id: Where the walk is recorded; None where it is not.
        warning: Why the walk was not recorded although that was asked.
    """

    text: str
    citations: tuple[FoundSentence, ...]
    confidence: float | None
    note: str
    model: str | None
    walk: Walk
    traversal_id: str | None
    warning: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values with camelCase names."""
        titles = {s.id: step.chunk for step in self.walk.steps for s in step.sentences}
        return {
            "question": self.walk.question,
            "corpus": self.walk.corpus,
            "answer": self.text,
            "citation": [s.id for s in self.citations],
            "confidence": self.confidence,
            "note": self.note or None,
            "model": self.model,
            "algorithm": self.walk.algorithm,
            "traversalId": self.traversal_id,
            "sources": [
                {
                    "sentenceId": s.id,
                    "text": s.text,
                    "score": s.score,
                    "documentId": titles[s.id].document_id,
                    "title": titles[s.id].title,
                    "chunkId": titles[s.id].id,
                }
                for s in self.citations
            ],
        }


class AskSettings(TraverseSettings, total=False):
    """What can be asked of an answer.

    Attributes:
        model: Writes the answer too; None takes `model_at_hand`; without any, the
            answer is sentences of the walk.
        seconds: Time that the model has for its answer, 180 by default.
        context: `sentences` of the walk, or `skn` that its documents were read into.
        history: Who spoke and what was said before: the model first makes a question
            of it that stands alone. Nothing is done with it without a model.
    """

    seconds: float
    context: AnswerContext
    history: Sequence[tuple[str, str]]


def ask(
    connection: Connection,
    question: str,
    *,
    on_text: Callable[[str], object] | None = None,
    **asked: Unpack[AskSettings],
) -> Answer:
    """Walk for a question and answer it from the sentences found.

    Args:
        connection: The database; it is left open.
        question: At most 10,000 characters.
        on_text: Given the text as it comes; what it raises ends the model's request.
        **asked: The answer's settings and the walk's, see `AskSettings`.

    Returns:
        The answer; where the walk finds nothing, the model is not asked.

    Raises:
        InputError: If question, algorithm, corpus, filter or a number is no good.
        ModelError: If the language model does not answer in time.
        DatabaseError: If the database fails.
    """
    return at_once(aask(blocking(connection), question, on_text=on_text, **asked))


async def aask(
    connection: AsyncConnection,
    question: str,
    *,
    on_text: Callable[[str], object] | None = None,
    **asked: Unpack[AskSettings],
) -> Answer:
    """Do as `ask` does, without blocking; see there."""
    async with aclosing(aask_stream(connection, question, **asked)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Answer):
                return piece
            if on_text is not None:
                on_text(piece)
    raise AssertionError


def ask_stream(
    connection: Connection, question: str, **asked: Unpack[AskSettings]
) -> Generator[str | Answer]:
    """Yield the text of an answer as the model gives it, then the `Answer`.

    Takes the arguments of `ask`. The last item, and only that, is an `Answer`. Closing
    the iterator ends the request to the model.
    """
    return each_at_once(aask_stream(blocking(connection), question, **asked))


async def aask_stream(
    connection: AsyncConnection, question: str, **asked: Unpack[AskSettings]
) -> AsyncGenerator[str | Answer]:
    """Do as `ask_stream` does, without blocking; see there."""
    walk: dict[str, Any] = {"model": None, "settings": None, **asked}
    seconds: float = walk.pop("seconds", ANSWER_SECONDS)
    context, history = walk.pop("context", "sentences"), walk.pop("history", ())
    _check(seconds, context)
    walk["model"] = model = walk["model"] or await in_thread(
        connection, model_at_hand, walk["settings"]
    )
    model = model and likewise(connection, model)
    if model is not None and history:
        alone = standalone_request(question, history, tokens=model.prompt_tokens)
        reply = await model.areply(alone.prompt, schema=alone.schema, seconds=seconds)
        question = parse_standalone(reply.text, question)
    found = await atraverse(connection, question, **walk)
    if model is None or not found.walk.sentences:
        yield _without_model(found)
        return
    rows = None
    if context == "skn":
        documents = walked_documents(found.walk)
        rows = await connection.aread(BLOCKS, documents=documents)
    request = _request(found, model, rows)
    text, said = AnswerText(), ""
    async with aclosing(
        model.astream(request.prompt, schema=request.schema, seconds=seconds)
    ) as pieces:
        async for piece in pieces:
            said += piece
            if new := text.feed(piece):
                yield new
    yield _answer(found, request, said, model)


def _check(seconds: float, context: str) -> None:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= 3_600:
        msg = f"seconds is {seconds!r}: give a number above 0, at most 3600."
        raise InputError(msg)
    if context not in CONTEXTS:
        known = ", ".join(CONTEXTS)
        raise InputError(f"context is {context!r}: use one of {known}.")


def _request(
    found: TraverseResult,
    model: LanguageModel,
    rows: Sequence[Mapping[str, Any]] | None,
) -> AnswerRequest:
    walk, tokens = found.walk, model.prompt_tokens
    if rows is not None:
        request = knowledge_request(walk, knowledge_blocks(walk, rows), tokens=tokens)
        if request is not None:
            return request
    request = answer_request(walk.question, walk.sentences, tokens=tokens)
    return request if rows is None else replace(request, note=no_blocks_note(walk))


def _without_model(found: TraverseResult) -> Answer:
    """Return the sentences nearest to the question, in the order of the walk."""
    best = sorted(found.walk.sentences, key=lambda sentence: -sentence.score)
    rest = (s for s in best[1:_EXTRACTED] if s.score >= _NEAR * best[0].score)
    best = [*best[:1], *rest]
    cited = tuple(sentence for sentence in found.walk.sentences if sentence in best)
    lines = (
        f"{' '.join(s.text.split())} [{number}]"
        for number, s in enumerate(cited, start=1)
    )
    return Answer(
        text="\n".join(lines) or NOTHING_FOUND,
        citations=cited,
        confidence=None,
        note=NO_MODEL if cited else "The language model was not asked.",
        model=None,
        walk=found.walk,
        traversal_id=found.traversal_id,
        warning=found.warning,
    )


def _answer(
    found: TraverseResult, request: AnswerRequest, said: str, model: LanguageModel
) -> Answer:
    given: Sequence[Any] = request.blocks or request.sentences
    parsed = parse_answer(said, given)
    cited = parsed.cited
    if request.blocks:
        named = (sentence for block in cited for sentence in block.sentences)
        cited = tuple({sentence.id: sentence for sentence in named}.values())
    return Answer(
        text=parsed.text,
        citations=cited,
        confidence=parsed.confidence,
        note=" ".join(filter(None, (request.note, parsed.note))),
        model=model.name,
        walk=found.walk,
        traversal_id=found.traversal_id,
        warning=found.warning,
    )

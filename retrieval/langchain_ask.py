"""`ask` as a LangChain runnable, with the history of a chat."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.documents import Document
from langchain_core.messages import convert_to_messages
from langchain_core.runnables import RunnableSerializable
from langchain_core.runnables.config import run_in_executor
from langchain_core.runnables.utils import AddableDict
from pydantic import ConfigDict

from knowtrail.graph.blocking import blocking, each_at_once
from knowtrail.graph.errors import InputError
from knowtrail.graph.telemetry import each_within, listening
from knowtrail.retrieval.ask import ANSWER_SECONDS, Answer, aask, aask_stream, ask
from knowtrail.retrieval.langchain import KnowtrailRetriever, child_run
from knowtrail.retrieval.questions import WalkSettings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from langchain_core.callbacks import (
        AsyncCallbackManagerForChainRun,
        CallbackManagerForChainRun,
    )
    from langchain_core.runnables import RunnableConfig

    from knowtrail.graph.db.connection import AsyncConnection

_WALK = {*WalkSettings.__annotations__} - {"embedder", "model", "settings"}


class KnowtrailAsk(RunnableSerializable[Any, dict[str, Any]]):
    """Answers questions from sentences found by walking the graph, with citations.

    The input is a question, or `{"question": ..., "chat_history": messages}` (`input`
    does for `question`), or messages of which the last is the question. With a history
    the language model first makes a question of it that stands alone. The output has
    `question` as it was walked for, `answer`, `context` (the cited sentences as
    Documents), `confidence` and `note`; streamed, `answer` comes in pieces and the
    rest at the end.

    Attributes:
        retriever: Where and how to walk, and the language model; its `k`, granularity
            and reranker mean nothing here.
        record: Whether walks are stored.
        seconds: Time that the model has for its answer.
        answer_from: `sentences` of the walk, or `skn` that documents were read into.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    retriever: KnowtrailRetriever
    record: bool = False
    seconds: float = ANSWER_SECONDS
    answer_from: Literal["sentences", "skn"] = "sentences"

    def invoke(
        self,
        input: Any,  # noqa: A002 - the word of LangChain
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Answer a question."""
        return self._call_with_config(self._ask, input, config, **kwargs)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - the word of LangChain
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Answer a question without blocking."""
        return await self._acall_with_config(self._aask, input, config, **kwargs)

    def stream(
        self,
        input: Any,  # noqa: A002 - the word of LangChain
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Iterator[dict[str, Any]]:
        """Yield pieces of the answer as they come, then the rest."""
        yield from self._transform_stream_with_config(
            iter([input]), self._pieces, config, **kwargs
        )

    async def astream(
        self,
        input: Any,  # noqa: A002 - the word of LangChain
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[dict[str, Any]]:
        """Do as `stream` does, without blocking."""

        async def given() -> AsyncIterator[Any]:
            yield input

        whole = self._atransform_stream_with_config
        async with aclosing(whole(given(), self._apieces, config, **kwargs)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    def _ask(
        self, given: Any, run_manager: CallbackManagerForChainRun
    ) -> dict[str, Any]:
        with listening(partial(child_run, run_manager.get_child())):
            answer = ask(self.retriever.open_connection(), **self._arguments(given))
        return _told(answer)

    async def _aask(
        self, given: Any, run_manager: AsyncCallbackManagerForChainRun
    ) -> dict[str, Any]:
        """Answer once without blocking, over an asynchronous connection if any."""
        link = self.retriever.link
        connection = None if link is None else await link.aconnection()
        if connection is None:
            return await run_in_executor(None, self._ask, given, run_manager.get_sync())
        with listening(partial(child_run, run_manager.get_sync().get_child())):
            answer = await aask(connection, **self._arguments(given))
        return _told(answer)

    def _pieces(
        self, given: Iterator[Any], run_manager: CallbackManagerForChainRun
    ) -> Iterator[dict[str, Any]]:
        connection = blocking(self.retriever.open_connection())
        yield from each_at_once(self._parts(connection, next(given), run_manager))

    async def _apieces(
        self, given: AsyncIterator[Any], run_manager: AsyncCallbackManagerForChainRun
    ) -> AsyncIterator[dict[str, Any]]:
        """Do as `_pieces` does; without an asynchronous connection there is one."""
        asked = await anext(given)
        link = self.retriever.link
        connection = None if link is None else await link.aconnection()
        if connection is None:
            yield AddableDict(await self._aask(asked, run_manager))
            return
        parts = self._parts(connection, asked, run_manager.get_sync())
        async with aclosing(parts):
            async for part in parts:
                yield part

    async def _parts(
        self, connection: AsyncConnection, asked: Any, run: CallbackManagerForChainRun
    ) -> AsyncGenerator[dict[str, Any]]:
        pieces = each_within(
            listening(partial(child_run, run.get_child())),
            aask_stream(connection, **self._arguments(asked)),
        )
        begun = False
        async with aclosing(pieces):
            async for piece in pieces:
                yield _part(piece, begun=begun)
                begun = True

    def _arguments(self, given: Any) -> dict[str, Any]:
        question, history = _read(given)
        own = self.retriever
        return {
            **{name: getattr(own, name) for name in _WALK},
            "question": question,
            "history": history,
            "embedder": own.embedder,
            "model": own.language_model(),
            "settings": None if own.link is None else own.link.settings,
            "record": self.record,
            "seconds": self.seconds,
            "context": self.answer_from,
        }


def _read(given: Any) -> tuple[str, list[tuple[str, str]]]:
    """Return question and history of an input; refuse one without a question."""
    messages: Any = ()
    if isinstance(given, dict):
        question = given.get("question", given.get("input"))
        messages = given.get("chat_history") or ()
    elif isinstance(given, list) and given:
        *messages, last = convert_to_messages(given)
        question = last.text
    else:
        question = given
    if not isinstance(question, str):
        msg = "The input has no question: give a text, {'question': ...} or messages."
        raise InputError(msg)
    history = [(m.type, str(m.text)) for m in convert_to_messages(messages)]
    return str(question), history


def _part(piece: str | Answer, *, begun: bool) -> AddableDict:
    """Return a piece of text, or what is left to tell of the answer, as output."""
    if not isinstance(piece, Answer):
        return AddableDict(answer=piece)
    told = _told(piece)
    if begun:
        del told["answer"]
    return AddableDict(told)


def _told(answer: Answer) -> dict[str, Any]:
    chunks = {s.id: step.chunk for step in answer.walk.steps for s in step.sentences}
    return {
        "question": answer.walk.question,
        "answer": answer.text,
        "context": [
            Document(
                id=s.id,
                page_content=s.text,
                metadata={
                    "title": chunks[s.id].title,
                    "doc_id": chunks[s.id].document_id,
                    "chunk_id": chunks[s.id].id,
                    "source": chunks[s.id].url or chunks[s.id].source,
                    "score": s.score,
                },
            )
            for s in answer.citations
        ],
        "confidence": answer.confidence,
        "note": answer.note,
    }

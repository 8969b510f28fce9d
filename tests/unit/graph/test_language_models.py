"""Language models: any chat model, errors told, limits kept."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk

from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.models.language_models import (
    LanguageModel,
    ModelReply,
    check_there,
    load_language_model,
)
from knowtrail.graph.settings import Settings
from tests.ollama import MODEL, parrot_server

if TYPE_CHECKING:
    from collections.abc import Iterator


class Slow(GenericFakeChatModel):
    """A chat model that waits before each word and keeps what it was asked."""

    pause: float = 0.0
    asked: list[str] = []  # noqa: RUF012 - Pydantic copies it

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        self.asked.append(messages[-1].text)
        for chunk in super()._stream(messages, *args, **kwargs):
            time.sleep(self.pause)
            yield chunk


class Broken(GenericFakeChatModel):
    """A chat model whose service fails in its own way."""

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        msg = "quota is used up"
        raise RuntimeError(msg)


def _saying(*texts: str, pause: float = 0.0) -> Slow:
    return Slow(messages=iter([AIMessage(t) for t in texts]), pause=pause, asked=[])


@pytest.fixture
def closed_port() -> int:
    """Return a port of this machine on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def test_any_chat_model_replies() -> None:
    """The answer comes whole or in pieces, with and without blocking."""
    model = LanguageModel(_saying("one two", "three four", "a b", "c d"))

    found = model.reply("Q")
    afound = await model.areply("Q")

    assert found == ModelReply(text="one two")
    assert afound.text == "three four"
    assert "".join(model.stream("Q")) == "a b"
    assert "".join([piece async for piece in model.astream("Q")]) == "c d"
    assert model.name == "Slow"


def test_first_piece_does_not_wait_for_the_last() -> None:
    """A streamed answer is handed on as it comes."""
    model = LanguageModel(_saying("a " * 80, pause=0.1))
    begin = time.monotonic()

    stream = model.stream("Q")
    first = next(stream)
    waited = time.monotonic() - begin
    stream.close()

    assert first == "a"
    assert waited < 5


def test_schema_is_told_to_models_that_cannot_be_held_to_it() -> None:
    """The prompt then ends with the schema."""
    chat = _saying("{}")

    LanguageModel(chat).reply("Q", schema={"type": "object"})

    assert chat.asked == [
        'Q\nAnswer with JSON that fits this schema: {"type": "object"}'
    ]


async def test_late_answer_is_told_and_what_came_is_kept() -> None:
    """A walk goes on with an error in the reply; a stream ends with an error."""
    model = LanguageModel(_saying(*["a b c d e f"] * 3, pause=0.1))

    late = model.reply("Q", seconds=0.15)
    alate = await model.areply("Q", seconds=0.05)
    with pytest.raises(ModelError, match=r"in 0\.15 seconds"):
        list(model.stream("Q", seconds=0.15))

    assert late.error is not None
    assert "in 0.15 seconds: use a smaller model" in late.error
    assert late.text.startswith("a")
    assert alate.error is not None
    assert alate.text == ""


def test_model_that_says_nothing_is_a_model_error() -> None:
    """LangChain raises for a stream without a chunk; the caller sees our error."""

    class Silent(GenericFakeChatModel):
        def _stream(self, *_: Any, **__: Any) -> Iterator[Any]:
            yield from ()

    model = LanguageModel(Silent(messages=iter([])))

    with pytest.raises(ModelError, match="An error from"):
        model.reply("Q")


def test_failure_of_a_foreign_model_is_a_model_error() -> None:
    """Whatever its client raises, the caller sees one kind of error."""
    model = LanguageModel(Broken(messages=iter([])), name="m")

    with pytest.raises(ModelError, match="'m': quota is used up"):
        model.reply("Q")


def test_page_of_an_error_becomes_a_line() -> None:
    """Some clients raise the whole answer of their server."""

    class Talkative(GenericFakeChatModel):
        """A model whose client says much."""

        def _stream(self, *_: Any, **__: Any) -> Any:
            msg = "503\n<html>\n" + "x" * 5_000
            raise OSError(msg)

    model = LanguageModel(Talkative(messages=iter([])))

    with pytest.raises(ModelError) as failed:
        model.reply("Who sings?")

    assert "503 <html> xxx" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert len(str(failed.value)) < 400


async def test_server_that_is_down_names_what_to_start(closed_port: int) -> None:
    """All four calls raise the same line."""
    settings = Settings(ollama_url=f"http://127.0.0.1:{closed_port}")
    model = load_language_model("m:1b", settings=settings)
    told = "start it with `ollama serve` and `ollama pull m:1b`"

    with pytest.raises(ModelError, match=told):
        model.reply("Q")
    with pytest.raises(ModelError, match=told):
        await model.areply("Q")
    with pytest.raises(ModelError, match=told):
        next(model.stream("Q"))
    with pytest.raises(ModelError, match=told):
        await anext(model.astream("Q"))


def test_prompt_that_would_be_cut_is_refused() -> None:
    """A reply tells it, a stream raises; the model is not asked."""
    chat = _saying("a")
    model = LanguageModel(chat, name="m", prompt_tokens=10)

    reply = model.reply("word " * 10)
    with pytest.raises(InputError, match="about 17 tokens, 'm' takes 10"):
        next(model.stream("word " * 10))

    assert reply.error is not None
    assert chat.asked == []


def test_settings_name_the_model() -> None:
    """Without a name the model of the settings is taken."""
    model = load_language_model(settings=Settings(language_model="tiny:1b"))

    assert model.name == "tiny:1b"
    assert model.prompt_tokens == 4096 - 512


def test_prompt_and_answer_share_the_context() -> None:
    """The answer has what it asks for, and half of the context at most."""
    model = LanguageModel(_saying("a"), prompt_tokens=3_584)

    assert [model.room(n) for n in (100, 1_000, 4_096)] == [
        (3_584, 100),
        (3_096, 1_000),
        (2_048, 2_048),
    ]
    assert LanguageModel(_saying("a")).room(9) == (None, 9)


def test_context_is_what_the_server_tells_of_the_model() -> None:
    """Up to the limit, asked once, and the usual one of a model that tells none."""
    with parrot_server() as parrot:
        settings = Settings(ollama_url=parrot.url)
        told = []
        for parrot.context in (8_192, 100_000, 0):
            model = load_language_model(MODEL, settings=settings, context=32_768)
            told.append(model.context_tokens)
            parrot.context = 1
            assert model.context_tokens == told[-1]

    assert told == [8_192, 32_768, 4_096]


def test_odd_characters_do_not_reach_the_model() -> None:
    """Half a surrogate pair cannot be sent and becomes a question mark."""
    chat = _saying("a")

    LanguageModel(chat).reply("x\ud800y")

    assert chat.asked == ["x?y"]


async def test_reply_that_is_given_up_ends_its_request() -> None:
    """Cancelling a task closes the model's stream."""
    closed = asyncio.Event()

    class Endless(GenericFakeChatModel):
        async def _astream(self, *_: Any, **__: Any) -> Any:
            from langchain_core.outputs import ChatGenerationChunk

            try:
                while True:
                    yield ChatGenerationChunk(message=AIMessageChunk(content="x "))
                    await asyncio.sleep(0.01)
            finally:
                closed.set()

    stream = LanguageModel(Endless(messages=iter([]))).astream("Q")
    await anext(stream)
    await stream.aclose()

    assert closed.is_set()


def test_model_that_is_not_there_is_told(closed_port: int) -> None:
    """Ollama is asked for the model, other servers only whether they answer."""
    nowhere = f"http://127.0.0.1:{closed_port}"
    settings = Settings(ollama_url=nowhere)

    with parrot_server() as parrot:
        check_there(MODEL, Settings(ollama_url=parrot.url))
        with pytest.raises(ModelError, match="has no model 'owl': run `ollama pull"):
            check_there("owl", Settings(ollama_url=parrot.url))
        check_there(f"openai:any@{parrot.url}/v1", settings)
    with pytest.raises(ModelError, match="start it with `ollama serve`"):
        check_there("parrot", settings)
    with pytest.raises(ModelError, match="look at the network and at http"):
        check_there(f"openai:any@{nowhere}/v1", settings)

"""A language model on a real Ollama server: replies, streams, limits."""

from __future__ import annotations

import json
import threading
import time

import pytest

from knowtrail.graph.errors import ModelError
from knowtrail.graph.models.language_models import LanguageModel, load_language_model
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.answers import AnswerText, answer_request, parse_answer
from knowtrail.retrieval.walk import FoundSentence
from tests.ollama import SMALL_MODEL, need_small_model

SETTINGS = Settings.from_env()
MODEL = SMALL_MODEL
CHOICE = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "maxLength": 80},
        "choice": {"type": "integer", "enum": [1, 2, 3]},
    },
    "required": ["reasoning", "choice"],
}

# Three replies of a model that is loaded first, each with the 250 s that it may take.
pytestmark = [pytest.mark.ollama, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    """Return the small model; skip where no server has it, fail under CI."""
    need_small_model(SETTINGS.ollama_url)
    return load_language_model(MODEL, settings=SETTINGS)


@pytest.mark.thorough
async def test_reply_has_the_form_of_the_schema_and_counts(
    model: LanguageModel,
) -> None:
    """Keys come in the schema's order, and tokens are counted, both ways."""
    prompt = "Choose 1, 2 or 3 and say why."

    found = [
        model.reply(prompt, schema=CHOICE),
        await model.areply(prompt, schema=CHOICE),
    ]

    assert [reply.error for reply in found] == [None, None]
    assert [list(json.loads(reply.text)) for reply in found] == [
        ["reasoning", "choice"]
    ] * 2
    assert min(reply.prompt_tokens or 0 for reply in found) > 5
    assert min(reply.completion_tokens or 0 for reply in found) > 5


@pytest.mark.thorough
async def test_same_prompt_has_the_same_answer_in_pieces(model: LanguageModel) -> None:
    """At temperature 0 a stream says what a reply says."""
    prompt = "Say something about ice in one sentence."

    whole = model.reply(prompt).text
    pieces = list(model.stream(prompt))
    apieces = [piece async for piece in model.astream(prompt)]

    assert len(pieces) > 3
    assert "".join(pieces) == "".join(apieces) == whole


@pytest.mark.thorough
def test_closed_stream_ends_the_work_of_the_server(model: LanguageModel) -> None:
    """Who stops reading frees the model for the next caller.

    The story takes several times as long as the reply; it is not waited for.
    """

    def seconds() -> float:
        begin = time.monotonic()
        assert model.reply("Say yes.", seconds=250).text
        return time.monotonic() - begin

    before = seconds()
    stream = model.stream("Tell a very long story about a glacier.")
    next(stream)
    stream.close()

    waited = seconds()

    assert waited < 3 * max(before, seconds())


@pytest.mark.thorough
async def test_late_answer_is_told(model: LanguageModel) -> None:
    """The reply says so, the stream raises; each call has its own limit."""
    prompt = f"{time.time()} Tell a very long story about a glacier."

    late = model.reply(prompt, seconds=0.02)
    alate = await model.areply(prompt, seconds=0.02)
    with pytest.raises(ModelError, match=r"in 0\.02 seconds"):
        list(model.stream(prompt, seconds=0.02))

    assert late.late
    assert alate.late
    assert not model.reply("Say yes.", seconds=60).late


@pytest.mark.thorough
def test_two_threads_have_their_own_limits(model: LanguageModel) -> None:
    """A short limit of one call does not cut another."""
    replies: dict[float, bool] = {}

    def ask(seconds: float) -> None:
        prompt = f"{time.time()} Say something about ice."
        replies[seconds] = model.reply(prompt, seconds=seconds).late

    threads = [threading.Thread(target=ask, args=(s,)) for s in (0.02, 120.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert replies == {0.02: True, 120.0: False}


def test_unknown_model_names_the_command() -> None:
    """The error says what to pull."""
    missing = load_language_model("no-such-model:1b", settings=SETTINGS)

    with pytest.raises(ModelError, match="ollama pull no-such-model:1b"):
        missing.reply("Say yes.")


def test_schema_that_the_server_refuses_is_told(model: LanguageModel) -> None:
    """Its words are passed on."""
    with pytest.raises(ModelError, match="An error from"):
        model.reply("Say yes.", schema={"type": "no such type"})


def test_answer_of_a_real_model_streams_and_can_be_used(model: LanguageModel) -> None:
    """Its text arrives in pieces before its end, and it cites what it was given."""
    sentences = [
        FoundSentence(
            id=f"s{n}", text=text, index=n, start_char=0, end_char=len(text), score=0.5
        )
        for n, text in enumerate(["Ice floats on water.", "Iron sinks in water."])
    ]
    request = answer_request("What floats?", sentences, tokens=model.prompt_tokens)
    reader, said, first = AnswerText(), "", None

    for piece in model.stream(request.prompt, schema=request.schema, seconds=120):
        said += piece
        if reader.feed(piece) and first is None:
            first = len(said)
    found = parse_answer(said, request.sentences)

    assert first is not None
    assert first < len(said) / 2
    assert found.text
    assert {s.id for s in found.cited} <= {"s0", "s1"}

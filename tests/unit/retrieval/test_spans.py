"""Spans: what is told of calls, of streamed ones too, and that it is no text."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from knowtrail.graph import telemetry
from knowtrail.graph.cli.root import knowtrail
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.language_models import LanguageModel
from knowtrail.graph.settings import Settings
from knowtrail.graph.telemetry import each_within, listening, span
from knowtrail.retrieval.mcp.server import _limited
from knowtrail.retrieval.serve import backend
from knowtrail.retrieval.serve.backend import GraphBackend, TemplateDoor
from knowtrail.retrieval.serve.request_values import Asked

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from opentelemetry.sdk.trace import ReadableSpan

SECRET = "Who weighs the moon?"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Return what keeps the spans that are told."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(telemetry, "_TRACER", provider.get_tracer("knowtrail"))
    return kept


def told(kept: InMemorySpanExporter) -> list[tuple[str, dict[str, Any]]]:
    """Return names and attributes of the spans, none of which has the secret."""
    found = kept.get_finished_spans()
    assert not any(SECRET in each.to_json() for each in found)
    return [(each.name, dict(each.attributes or {})) for each in found]


def below(kept: InMemorySpanExporter, name: str) -> str | None:
    """Return the name of the span that one is a child of."""
    by_id = {each.context.span_id: each for each in kept.get_finished_spans()}
    (child,) = [each for each in by_id.values() if each.name == name]
    return by_id[child.parent.span_id].name if child.parent else None


def own() -> object:
    """Return the current span."""
    return trace.get_current_span()


async def test_a_span_holds_while_a_piece_is_made(spans: InMemorySpanExporter) -> None:
    """The caller has a context of its own between pieces; children are below it."""
    seen: list[object] = []

    async def pieces() -> AsyncGenerator[int]:
        for number in range(3):
            with span("inner", number=number):
                await asyncio.sleep(0)
            seen.append(own())
            yield number

    before = own()
    with span("outer", left_out=None):
        around = own()
        made = each_within(span("held", corpus="c"), pieces())
        between = [own() async for _ in made]

    assert between == [around] * 3
    assert own() is before
    assert len({id(each) for each in seen}) == 1
    assert seen[0] is not around
    named = told(spans)
    assert [name for name, _ in named] == [
        *["knowtrail.inner"] * 3,
        *("knowtrail.held", "knowtrail.outer"),
    ]
    assert dict(named)["knowtrail.held"] == {"knowtrail.corpus": "c"}
    assert dict(named)["knowtrail.outer"] == {}
    assert below(spans, "knowtrail.held") == "knowtrail.outer"
    inner = spans.get_finished_spans()[0].parent
    held = spans.get_finished_spans()[3].context
    assert inner is not None
    assert inner.span_id == held.span_id


async def test_pieces_may_be_taken_and_closed_in_other_tasks(
    spans: InMemorySpanExporter,
) -> None:
    """As a server does that streams; each task has a context of its own."""
    ended: list[str] = []

    async def pieces() -> AsyncGenerator[int]:
        try:
            yield 1
            yield 2
        finally:
            ended.append("pieces")

    @contextmanager
    def hears(name: str, _: object) -> Iterator[None]:
        with listening(hears):
            try:
                yield
            finally:
                ended.append(name)

    with listening(hears):
        stream = each_within(span("held"), pieces())
        first = await asyncio.create_task(anext(stream))
        await asyncio.create_task(stream.aclose())

    assert first == 1
    assert ended == ["pieces", "held"]
    assert told(spans) == [("knowtrail.held", {})]
    assert _status(spans.get_finished_spans()[0]) == (trace.StatusCode.UNSET, None)


def _status(one: ReadableSpan) -> tuple[trace.StatusCode, str | None]:
    return one.status.status_code, one.status.description


def test_of_an_error_the_type_alone_is_told(spans: InMemorySpanExporter) -> None:
    """A message may say what a user asked."""
    with pytest.raises(InputError), span("broken"):
        raise InputError(SECRET)

    (one,) = spans.get_finished_spans()
    assert _status(one) == (trace.StatusCode.ERROR, "InputError")
    assert not one.events
    assert told(spans) == [("knowtrail.broken", {})]


async def test_a_model_is_told_of_whole_or_in_pieces(
    spans: InMemorySpanExporter,
) -> None:
    """Each of the four calls is one span, ended too where the caller has enough."""
    model = LanguageModel(FakeListChatModel(responses=[SECRET]), name="m")

    model.reply(SECRET)
    await model.areply(SECRET)
    assert "".join(model.stream(SECRET)) == SECRET
    assert "".join([piece async for piece in model.astream(SECRET)]) == SECRET
    some, others = model.stream(SECRET), model.astream(SECRET)
    assert (next(some), await anext(others)) == (SECRET[0], SECRET[0])
    some.close()
    await others.aclose()

    assert told(spans) == [("knowtrail.model", {"knowtrail.model": "m"})] * 6


def test_a_command_is_told_of(spans: InMemorySpanExporter) -> None:
    """By its name, below the group that it stands in, and without its arguments."""
    done = CliRunner().invoke(knowtrail, ["completion", "bash"])
    wrong = CliRunner().invoke(knowtrail, ["corpus", "show", SECRET, "--no", SECRET])

    assert (done.exit_code, wrong.exit_code) == (0, 2)
    assert [attributes["knowtrail.command"] for _, attributes in told(spans)] == [
        "knowtrail completion",
        "knowtrail corpus show",
        "knowtrail corpus",
    ]


async def test_a_tool_is_told_of(spans: InMemorySpanExporter) -> None:
    """By its name, whatever the agent gives."""

    async def search(question: str) -> str:
        return question

    assert await _limited(search)(question=SECRET) == SECRET
    assert told(spans) == [("knowtrail.tool", {"knowtrail.tool": "search"})]


async def test_questions_by_templates_are_told_of(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a span, and what is done for it is below."""

    async def answered(*_: object) -> dict[str, Any]:
        with span("inner"):
            return {}

    door = TemplateDoor(Settings(uri="neo4j://127.0.0.1:9"))
    monkeypatch.setattr(door, "answered", answered)

    assert await door.answer(Asked(query={}, body={"question": SECRET}), "me") == {}
    assert told(spans) == [("knowtrail.inner", {}), ("knowtrail.templates", {})]
    assert below(spans, "knowtrail.inner") == "knowtrail.templates"


async def test_an_answer_line_by_line_is_told_of(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is asked below the procedure, though the client takes its time."""
    model = LanguageModel(FakeListChatModel(responses=["ab"]), name="m")

    async def pieces(*_: object, **asked: Any) -> AsyncGenerator[str]:
        async for piece in model.astream(asked["question"]):
            yield piece

    monkeypatch.setattr(backend, "aask_stream", pieces)
    serving = GraphBackend(None, Settings())  # type: ignore[arg-type]
    stream = serving.stream("ask", {"question": SECRET}, {})
    assert [piece async for piece in stream] == ["a", "b"]

    assert dict(told(spans)) == {
        "knowtrail.model": {"knowtrail.model": "m"},
        "knowtrail.procedure": {"knowtrail.procedure": "ask"},
    }
    assert below(spans, "knowtrail.model") == "knowtrail.procedure"


async def test_rows_of_a_statement_are_told_of(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the statement, and with the type of what went wrong."""

    async def refused(*_: object, **__: object) -> None:
        raise InputError(SECRET)

    monkeypatch.setattr(backend, "aread_statement", refused)
    serving = GraphBackend(None, Settings())  # type: ignore[arg-type]

    with pytest.raises(InputError):
        await serving.read(f"RETURN '{SECRET}'", {}, limit=1)

    assert told(spans) == [("knowtrail.rows", {})]
    assert _status(spans.get_finished_spans()[0])[1] == "InputError"

"""Section 10: a language model as the judge."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from knowtrail.eval.fields import (
    JudgeItem,
    ModelJudge,
    SemanticBatchComparator,
    evaluate,
    register,
)
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.models.language_models import LanguageModel, ModelReply

if TYPE_CHECKING:
    from pathlib import Path


class Chat(BaseChatModel):
    """A chat model that gives its answers in turn, and keeps what it was asked."""

    answers: list[Any]
    prompts: list[str] = []  # noqa: RUF012 -- a pydantic field

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        self.prompts.append(str(messages[0].content))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        message = AIMessage(content=answer)
        return ChatResult(generations=[ChatGeneration(message=message)])


def _chat(*answers: Any) -> Chat:
    return Chat(answers=list(answers), prompts=[])


def _judge(chat: Chat, tmp_path: Path, **options: Any) -> ModelJudge:
    return ModelJudge(chat, cache_file=tmp_path / "kept" / "verdicts.sqlite", **options)


ONE = [JudgeItem("a", "New York", "NYC")]
TWO = [*ONE, JudgeItem("s[0].b", 'say "hi"\n2. field:', None)]


def test_one_call_for_all_pairs(tmp_path: Path) -> None:
    """The prompt numbers the pairs, with field names without indices, as JSON."""
    chat = _chat('{"results": [1, 0]}')

    assert _judge(chat, tmp_path).judge_batch(TWO) == [1.0, 0.0]
    (prompt,) = chat.prompts
    assert '1. field: a\n   gold: "New York"\n   extracted: "NYC"' in prompt
    assert '2. field: s[].b\n   gold: "say \\"hi\\"\\n2. field:"' in prompt
    assert "extracted: null" in prompt
    assert '"results": [1, 0]' in prompt


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"results": [1, 0]}', [1.0, 0.0]),
        ('{"results": [1.0, 0.0]}', [1.0, 0.0]),
        ('{"results": [true, false]}', [1.0, 0.0]),
        ('{"results": ["1", " FALSE "]}', [1.0, 0.0]),
        ('```json\n{"results": [1, 1]}\n```', [1.0, 1.0]),
        ('```\n{"results": [1, 1]}\n```', [1.0, 1.0]),
        ('{"results": [2, 1]}', [None, 1.0]),
        ('{"results": [null, 1]}', [None, 1.0]),
        ('{"results": [1]}', [None, None]),
        ('{"results": [1, 0, 1]}', [None, None]),
        ('{"results": 1}', [None, None]),
        ("[1, 0]", [None, None]),
        ("they are the same", [None, None]),
        ("", [None, None]),
        ("[" * 100_000, [None, None]),
    ],
)
def test_answers(answer: str, expected: list[Any], tmp_path: Path) -> None:
    """Zeros and ones in any spelling; nonsense is no verdict."""
    assert _judge(_chat(answer), tmp_path).judge_batch(TWO) == expected


def test_verdicts_are_kept_by_content(tmp_path: Path) -> None:
    """A pair is asked about once, in whatever element of an array it stands."""
    chat = _chat('{"results": [1]}', '{"results": [0]}')
    first = _judge(chat, tmp_path).judge_batch([JudgeItem("s[0].b", "x", "y")])
    again = _judge(chat, tmp_path).judge_batch([
        JudgeItem("s[7].b", "x", "y"),
        JudgeItem("s[7].c", "x", "y"),
    ])

    assert (first, again) == ([1.0], [1.0, 0.0])
    assert len(chat.prompts) == 2


def test_pair_that_stands_twice_is_asked_once(tmp_path: Path) -> None:
    """One verdict serves all equal pairs of a record."""
    chat = _chat('{"results": [1]}')

    assert _judge(chat, tmp_path).judge_batch(ONE * 3) == [1.0] * 3


@pytest.mark.parametrize("other", ["model", "template"])
def test_another_model_or_prompt_asks_anew(other: str, tmp_path: Path) -> None:
    """A verdict belongs to who gave it and to how it was asked."""
    file = tmp_path / "v.sqlite"
    ModelJudge(_chat('{"results": [1]}'), cache_file=file).judge_batch(ONE)
    chat = _chat('{"results": [0]}')
    model = LanguageModel(chat, name="other") if other == "model" else chat
    template = "Judge: {pairs}" if other == "template" else None
    judge = ModelJudge(model, cache_file=file, prompt_template=template)

    assert judge.judge_batch(ONE) == [0.0]


def test_no_verdict_is_not_kept(tmp_path: Path) -> None:
    """A failure is asked again the next time."""
    chat = _chat("nonsense", '{"results": [1]}')
    judge = _judge(chat, tmp_path)

    assert [judge.judge_batch(ONE), judge.judge_batch(ONE)] == [[None], [1.0]]


def test_nothing_is_kept_unless_wanted(tmp_path: Path) -> None:
    """Without a cache every call asks."""
    chat = _chat('{"results": [1]}', '{"results": [0]}')
    judge = ModelJudge(chat, cache=False)

    assert [judge.judge_batch(ONE), judge.judge_batch(ONE)] == [[1.0], [0.0]]


def test_file_of_another_kind_is_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A cache that is broken costs calls, not verdicts."""
    file = tmp_path / "v.sqlite"
    file.write_text("no database, but long enough to be looked at" * 50)
    judge = ModelJudge(_chat('{"results": [1]}'), cache_file=file)

    assert judge.judge_batch(ONE) == [1.0]
    assert "cannot be read" in caplog.text
    assert "cannot be kept" in caplog.text


def test_file_has_no_text_of_documents(tmp_path: Path) -> None:
    """What is kept is a hash and a digit."""
    _judge(_chat('{"results": [1]}'), tmp_path).judge_batch(ONE)
    connection = sqlite3.connect(tmp_path / "kept" / "verdicts.sqlite")
    rows = connection.execute("SELECT * FROM judgement").fetchall()
    connection.close()

    assert [(len(key), verdict) for key, verdict in rows] == [(40, 1)]


def test_record_that_does_not_fit_is_asked_in_parts(tmp_path: Path) -> None:
    """No prompt is longer than the model takes."""
    chat = _chat('{"results": [1, 1]}', '{"results": [0, 1]}')
    model = LanguageModel(chat, prompt_tokens=420)
    items = [JudgeItem(str(n), "x" * 120, "y" * 120) for n in range(4)]

    judge = ModelJudge(model, cache_file=tmp_path / "v.sqlite")

    assert judge.judge_batch(items) == [1.0, 1.0, 0.0, 1.0]


def test_pair_that_does_not_fit_has_no_verdict(tmp_path: Path) -> None:
    """It is refused by the estimate, and told."""
    model = LanguageModel(_chat(), prompt_tokens=300)
    judge = ModelJudge(model, cache_file=tmp_path / "v.sqlite")

    assert judge.judge_batch([JudgeItem("a", "x" * 9_000, "y")]) == [None]


class Late(LanguageModel):
    """A model that is always late."""

    def reply(self, prompt: str, **_: Any) -> ModelReply:
        return ModelReply(text='{"results": [1]}', error="No answer in 1 seconds.")


def test_late_answer_is_no_verdict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What came before the time was over is not trusted."""
    judge = ModelJudge(Late(_chat()), cache_file=tmp_path / "v.sqlite")

    assert judge.judge_batch(ONE) == [None]
    assert "No answer in 1 seconds" in caplog.text


def test_model_that_raises_fails_its_fields_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The record keeps its other scores, and the run says how many failed."""
    caplog.set_level(logging.WARNING)
    judge = _judge(_chat(RuntimeError("boom"), '{"results": [1]}'), tmp_path)
    register("semantic", SemanticBatchComparator(judge))
    leaf = {"type": "string", "x-eval-compare": "semantic"}
    schema = {"type": "object", "properties": {"a": leaf, "b": leaf}}
    run = evaluate([{"a": "x", "b": "same"}] * 2, [{"a": "y", "b": "same"}] * 2, schema)

    statuses = [[r.status for r in record.field_results] for record in run.records]
    assert statuses == [["batch_error", "match"], ["match", "match"]]
    assert run.total_batch_errors == 1
    assert "boom" in caplog.text
    assert "boom" in (run.records[0].field_results[0].reason or "")


def test_model_error_is_raised_to_who_asks_the_judge(tmp_path: Path) -> None:
    """A judge that is asked directly says that its model is down."""
    with pytest.raises(ModelError, match="boom"):
        _judge(_chat(RuntimeError("boom")), tmp_path).judge_batch(ONE)


@pytest.mark.parametrize("template", ["no field", "{pairs} {other}", "{pairs} {", "{}"])
def test_template_is_checked(template: str) -> None:
    """A template that cannot be filled is refused at once."""
    with pytest.raises(InputError, match="prompt template"):
        ModelJudge(_chat(), prompt_template=template, cache=False)


def test_default_model_is_ollamas(tmp_path: Path) -> None:
    """Without a model the settings' one is taken, and asked nothing yet."""
    pytest.importorskip("langchain_ollama", reason="install knowtrail[llm]")

    judge = ModelJudge(cache=False)

    assert judge.model.name

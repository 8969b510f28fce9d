"""The chain of prompts, and what is kept of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.generation import (
    GroupPlan,
    QuestionOptions,
    chain_writer,
    context_groups,
    generate_questions,
)
from knowtrail.eval.generation.questions import evolution_plan
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.files.journal import State
from tests.unit.eval.generation.conftest import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knowtrail.eval.generation.contexts import ContextGroup
    from knowtrail.eval.generation.questions import GeneratedQuestions
    from tests.unit.eval.generation.conftest import MemoryContexts, Scripted


@pytest.fixture
def groups(source: MemoryContexts) -> tuple[ContextGroup, ...]:
    """Return two contexts."""
    return context_groups(source, GroupPlan(goldens=2)).groups


def _run(
    folder: Path,
    groups: tuple[ContextGroup, ...],
    model: Scripted,
    per_group: int = 1,
    **given: Any,
) -> GeneratedQuestions:
    options = QuestionOptions(**given)
    with State(folder) as state:
        writer = chain_writer(model, state=state, options=options)
        return generate_questions(
            groups, writer, state=state, per_group=per_group, options=options
        )


def test_a_question_is_drafted_evolved_critiqued_and_answered(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """The answer's sentences are the question's gold."""
    model = scripted()

    made = _run(tmp_path, groups[:1], model)

    assert model.asked == ["draft", "evolve", "critique", "answer"]
    (question,) = made.questions
    assert question.question == "Which of both glaciers begins higher up?"
    assert question.answer == "Glacier one."
    assert question.gold == groups[0].sentences[:1]
    assert question.quality == 0.9


def test_a_question_below_the_threshold_is_written_anew(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """The critic looks again at what was written anew."""
    low, high = ({"feedback": "So.", "score": score} for score in (0.79, 0.8))
    model = scripted(critique=[low, high])

    made = _run(tmp_path, groups[:1], model, rounds=0)

    assert model.asked == ["draft", "critique", "rewrite", "critique", "answer"]
    assert made.questions[0].question == "Which glacier begins higher, one or two?"
    assert made.questions[0].quality == 0.8


def test_a_question_that_never_pleases_the_critic_is_a_failure(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """It is not kept at its last score, and the failure says what that was."""
    model = scripted(critique={"feedback": "No.", "score": 0.5})

    made = _run(tmp_path, groups[:1], model, retries=2)

    assert made.questions == ()
    (failure,) = made.failures
    assert (failure.step, failure.group) == ("critique", groups[0].id)
    assert "0.50, below 0.8" in failure.reason


def test_a_question_that_speaks_of_the_text_is_written_anew(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """The critic's word is not needed for that."""
    model = scripted(draft={"question": "What does the given text say of ice?"})

    _run(tmp_path, groups[:1], model, rounds=0)

    assert model.asked == ["draft", "rewrite", "critique", "answer"]


_UNANSWERED = {"answerable": False, "answer": "", "sentences": []}
_GROUNDLESS = {"answerable": True, "answer": "Ice.", "sentences": []}
_MISGROUNDED = {"answerable": True, "answer": "Ice.", "sentences": [99]}


@pytest.mark.parametrize(
    ("kind", "useless"),
    [
        ("draft", ["no JSON", ""]),
        ("evolve", [{"question": "Why?"}] * 2),
        ("critique", [{"feedback": "", "score": 7}] * 2),
        ("answer", [_UNANSWERED]),
        ("answer", [_GROUNDLESS]),
        ("answer", [_MISGROUNDED] * 2),
    ],
)
def test_answers_of_no_use_fail_one_context_only(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
    kind: str,
    useless: list[Any],
) -> None:
    """Each step checks what it was given; the next context is asked about."""
    evolved = [{"question": f"How long is glacier {n}?"} for n in (1, 2)]
    script = {"evolve": evolved, kind: [*useless, GOOD[kind]]}
    model = scripted(**script)

    made = _run(tmp_path, groups, model)

    assert [failure.step for failure in made.failures] == [kind]
    assert [question.group.id for question in made.questions] == [groups[1].id]


def test_a_second_run_asks_nothing(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """Questions and failures are taken from the state."""
    first = _run(tmp_path, groups, scripted(draft=["no", "no", {"question": "a" * 9}]))
    model = scripted()

    again = _run(tmp_path, groups, model)

    assert model.asked == []
    assert again.questions == first.questions
    assert again.failures == first.failures
    assert again.reused == 2


def test_failures_are_tried_again_on_request(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """The model is asked anew although its useless answers are kept."""
    _run(tmp_path, groups[:1], scripted(draft="no"))

    made = _run(tmp_path, groups[:1], scripted(), retry_failed=True)

    assert made.failures == ()
    assert len(made.questions) == 1


def test_a_dead_server_loses_no_paid_answer(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next run goes on at the very call that failed."""
    monkeypatch.setattr("knowtrail.eval.models.time.sleep", lambda _: None)
    down = [ConnectionError("down")] * 3
    with pytest.raises(ModelError):
        _run(tmp_path, groups[:1], scripted(critique=down))
    model = scripted()

    made = _run(tmp_path, groups[:1], model)

    assert model.asked == ["critique", "answer"]
    assert len(made.questions) == 1


def test_every_context_is_asked_before_any_is_asked_twice(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """A second question about a context is another one."""
    draft = [{"question": f"How high is glacier {n}?"} for n in range(4)]
    model = scripted(draft=draft)

    made = _run(tmp_path, groups, model, per_group=2, rounds=0)

    order = [question.group.id for question in made.questions]
    assert order == [groups[0].id, groups[1].id] * 2


def test_a_question_that_another_context_led_to_is_left_out(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """It would count twice; case and the sign at the end do not make it another."""
    asked = [{"question": "How high is ice?"}, {"question": "how high is  ICE"}]

    made = _run(tmp_path, groups, scripted(draft=asked), rounds=0)

    assert len(made.questions) == 1
    assert "was asked already" in made.failures[0].reason


def test_a_kept_question_counts_once_whichever_run_it_is_of(
    tmp_path: Path,
    groups: tuple[ContextGroup, ...],
    scripted: Callable[..., Scripted],
) -> None:
    """Two runs made the same of two contexts; a third has both contexts."""
    asked = {"question": "How high is ice?"}
    for group in groups:
        alone = _run(tmp_path, (group,), scripted(draft=[asked]), rounds=0)
        assert len(alone.questions) == 1

    made = _run(tmp_path, groups, scripted(), rounds=0)
    anew = _run(tmp_path, groups[::-1], scripted(), rounds=0)

    assert [q.group.id for q in made.questions] == [groups[0].id]
    assert [q.group.id for q in anew.questions] == [groups[1].id]


def test_evolutions_have_their_shares_and_repeat() -> None:
    """Ten questions get four, four and two, whatever the seed."""
    plan = evolution_plan(10, QuestionOptions(seed=5))

    kinds = [kind for kinds in plan for kind in kinds]
    assert plan == evolution_plan(10, QuestionOptions(seed=5))
    assert sorted(kinds) == sorted(
        ["reasoning"] * 4 + ["multi-context"] * 4 + ["comparative"] * 2
    )


def test_shares_hold_as_nearly_as_whole_numbers_can() -> None:
    """What is left over does not all go to the first."""
    plan = evolution_plan(12, QuestionOptions())

    counts = Counter(kind for kinds in plan for kind in kinds)
    assert counts == {"reasoning": 5, "multi-context": 5, "comparative": 2}


@pytest.mark.parametrize(
    "wrong",
    [
        {"evolutions": {"in-breadth": 1.0}},
        {"evolutions": {"reasoning": 0.0}},
        {"threshold": 1.1},
        {"rounds": -1},
        {"retries": 0},
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    """Numbers out of range and unknown evolutions are the user's to mend."""
    with pytest.raises(InputError):
        QuestionOptions(**wrong)

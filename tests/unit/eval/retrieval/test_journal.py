"""Rankings on disk, and systems that go on where an earlier run ended."""

from __future__ import annotations

import runpy
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from knowtrail.eval.retrieval.cli import retrieval
from knowtrail.eval.retrieval.evaluation import check_ks, run_systems
from knowtrail.eval.retrieval.systems import (
    asked_names,
    system_names,
    systems_of,
)
from knowtrail.graph.errors import InputError
from knowtrail.graph.files.journal import State
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.algorithms.hybrid import fused
from tests.rankings import dataset, question, ranking

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.retrieval.dataset import Ranking, RetrievalQuestion

QUESTIONS = (question("q1", "ash"), question("q2", "birch"), question("q3", "ash"))


class _Frail:
    """A system that breaks after some answers."""

    name = "frail"

    def __init__(self, answers: int) -> None:
        self.left = answers
        self.asked: list[str] = []

    def prepare(self, bench: Any) -> None:
        """Take no corpus."""

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Answer, or break."""
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.asked.append(question.id)
        return ranking("ash", "birch", walk=True)


def _bench() -> Any:
    """Return what a system needs of a bench here: the questions."""
    return SimpleNamespace(
        dataset=dataset(*QUESTIONS), embed_questions=lambda progress: None
    )


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    """Done questions are kept, and only the others are asked."""
    with pytest.raises(KeyboardInterrupt), State(tmp_path) as state:
        run_systems(_bench(), [_Frail(2)], state=state)
    second = _Frail(5)

    with State(tmp_path) as state:
        (result,) = run_systems(_bench(), [second], state=state)

    assert second.asked == ["q3"]
    assert (
        result.rankings[0] == result.rankings[2] == ranking("ash", "birch", walk=True)
    )


class _Noted:
    """A system that notes when it is asked."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name = name
        self._notes = notes

    def prepare(self, bench: Any) -> None:
        """Take no corpus."""

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Answer."""
        self._notes.append(f"{self.name} {question.id}")
        return ranking("ash")


def test_each_system_is_asked_first_in_turn() -> None:
    """A question is put to all systems, and another one begins each time."""
    notes: list[str] = []

    found = run_systems(_bench(), [_Noted("a", notes), _Noted("b", notes)])

    assert notes == ["a q1", "b q1", "b q2", "a q2", "a q3", "b q3"]
    assert [(each.name, len(each.rankings)) for each in found] == [("a", 3), ("b", 3)]


class _Warm(_Noted):
    """A system that can answer without its time being counted."""

    model_name: str | None = None

    def warm_up(self, question: RetrievalQuestion) -> None:
        """Answer, uncounted."""
        self._notes.append(f"{self.name} warms up")


def test_systems_without_a_model_warm_up_once() -> None:
    """What a server plans for a first question is no part of the time measured."""
    notes: list[str] = []
    asking = _Warm("b", notes)
    asking.model_name = "some-model"

    (found, _) = run_systems(_bench(), [_Warm("a", notes), asking])

    assert [note for note in notes if "warms" in note] == ["a warms up"]
    assert notes[:2] == ["a warms up", "a q1"]
    assert len(found.rankings) == 3


def test_rankings_of_another_model_are_not_taken_up(tmp_path: Path) -> None:
    """A system that asks a language model is another one with another model."""

    class _Asking(_Noted):
        model_name = "small"

    notes: list[str] = []
    first = _Asking("guided", notes)
    with State(tmp_path) as state:
        run_systems(_bench(), [first], state=state)
    second = _Asking("guided", notes)
    second.model_name = "large"

    with State(tmp_path) as state:
        run_systems(_bench(), [second], state=state)
    with State(tmp_path) as state:
        run_systems(_bench(), [first], state=state)

    assert len(notes) == 6


_OWN = """
from tests.rankings import ranking

class Own:
    name = "own"

    def prepare(self, bench):
        pass

    def rank(self, question, k):
        return ranking("ash")
"""


def test_rankings_of_other_code_are_not_taken_up(tmp_path: Path) -> None:
    """A system whose file has changed is asked anew, the same one only once."""
    file, reused = tmp_path / "own_system.py", []
    for code in (_OWN, _OWN, _OWN.replace("ash", "birch")):
        file.write_text(code, "utf-8")
        kind = runpy.run_path(str(file), run_name="own_system")["Own"]
        sys.modules["own_system"] = SimpleNamespace(__file__=str(file))
        with State(tmp_path) as state:
            (found,) = run_systems(_bench(), [kind()], state=state)
            reused.append((state.reused, found.rankings[0].documents[0].id))
    del sys.modules["own_system"]

    assert reused == [(0, "ash"), (3, "ash"), (0, "birch")]


def test_walks_name_their_model() -> None:
    """Only those that ask one have it."""
    model: Any = SimpleNamespace(name="small")

    asking, plain = systems_of("llm_guided_traversal,auto", model=model)

    assert getattr(asking, "model_name", None) == "small"
    assert getattr(plain, "model_name", None) is None


def test_a_complete_run_leaves_nothing(tmp_path: Path) -> None:
    """The file goes, so that the next run measures anew."""
    with State(tmp_path) as state:
        state.put("q1", "ash")

        state.remove()

    assert list(tmp_path.iterdir()) == []
    assert len(state) == 0


@pytest.mark.parametrize("ks", [(), (0, 5), (1001,)])
def test_places_out_of_range_are_refused(ks: tuple[int, ...]) -> None:
    """The message says what may be given."""
    with pytest.raises(InputError, match="1 to 1000"):
        check_ks(ks)


def test_places_are_put_in_order() -> None:
    """Each once."""
    assert check_ks((10, 2, 10)) == (2, 10)


def test_all_systems_are_those_without_a_model() -> None:
    """`all+llm` has the others too, each twice."""
    plain, every = asked_names("all"), asked_names("all+llm")

    assert set(every) - set(plain) == {
        "llm_guided_traversal",
        "llm_guided_traversal:published",
    }
    assert {"dense", "bm25", "rrf", "dense+1hop", "query_traversal"} <= set(plain)
    assert every == system_names()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("dens", "did you mean 'dense'"),
        ("dense,dense", "name each once"),
        ("", "name each once"),
        ("llm_guided_traversal", "name one with --model"),
    ],
)
def test_systems_that_cannot_be_measured_are_refused(asked: str, said: str) -> None:
    """The message says why."""
    with pytest.raises(InputError, match=said):
        systems_of(asked)


def test_fusion_prefers_what_both_rankings_have() -> None:
    """Second in both beats first in one; ties go by id."""
    found = fused([["a", "c"], ["b", "c"]])

    assert [name for name, _ in found] == ["c", "a", "b"]
    assert found[0][1] == pytest.approx(2 / 62)


@pytest.mark.parametrize("base", ["all", "dense,bm25"])
def test_the_base_is_one_system(tmp_path: Path, base: str) -> None:
    """Several are refused before anything is done."""
    settings = Settings.from_env(env={}, home=tmp_path)
    arguments = ["--dataset", "jsonl:q.jsonl,p.jsonl", "--base", base]

    found = CliRunner().invoke(retrieval, arguments, obj=settings)

    assert isinstance(found.exception, InputError)
    assert "name one system" in str(found.exception)

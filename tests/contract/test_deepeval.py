"""DeepEval's metrics and synthesizer with our models, on a server that plays Ollama."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.generation import QuestionOptions, generate_questions
from knowtrail.eval.generation.contexts import ContextGroup, ContextSentence
from knowtrail.eval.generation.files import ExportedQuestion, write_questions
from knowtrail.eval.generation.questions import deepeval_writer
from knowtrail.eval.judged import (
    JUDGED_MEASURES,
    JudgedRecord,
    judge_answers,
    quiet_deepeval,
)
from knowtrail.eval.models import ModelOptions, Respondent
from knowtrail.eval.retrieval.dataset import GoldSentence, RetrievalQuestion
from knowtrail.graph.files.journal import State
from knowtrail.graph.models.language_models import load_language_model
from knowtrail.graph.settings import Settings
from tests.ollama import MODEL, SMALL_MODEL, Parrot, need_small_model, parrot_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.eval.judged import Judged
    from knowtrail.graph.models.language_models import LanguageModel

ROOT = Path(__file__).resolve().parents[2]
YES, NO = ({"verdict": word, "reason": "So."} for word in ("yes", "no"))
GOOD: dict[str, Any] = {
    "Statements": {"statements": ["One.", "Two."]},
    "Truths": {"truths": ["One."]},
    "Claims": {"claims": ["One.", "Two."]},
    "AnswerRelevancyVerdict": {"verdicts": [YES, NO]},
    "FaithfulnessVerdict": {"verdicts": [YES, YES]},
    "ContextualPrecisionVerdict": {"verdicts": [NO, YES]},
    "ContextualRecallVerdict": {"verdicts": [YES, YES]},
    "SyntheticDataList": {"data": [{"input": "Where does the glacier begin?"}]},
    "InputFeedback": {"score": 0.9, "feedback": "Good."},
    "RewrittenInput": {"rewritten_input": "Where does glacier one begin?"},
    "Response": {"response": "Which glacier begins higher?"},
}
CASE = JudgedRecord(
    id="one",
    question="What is ice?",
    answer="Frozen water.",
    expected="Frozen water",
    retrieved=("Water freezes.", "Ice is frozen water."),
)


def _kind(asked: dict[str, Any]) -> str:
    """Return what a request asks for, by the schema that its answer is held to."""
    schema = asked["format"]
    verdicts = [name for name in schema.get("$defs", {}) if name.endswith("Verdict")]
    return verdicts[0] if verdicts else str(schema["title"])


def _script(**answers: Any) -> Any:
    """Return a function that answers requests; a list is one after the other."""
    script = GOOD | answers

    def answered(asked: dict[str, Any]) -> str:
        answer = script[_kind(asked)]
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)

    return answered


@pytest.fixture
def parrot() -> Iterator[Parrot]:
    """Yield a server that gives good answers unless told otherwise."""
    with parrot_server() as server:
        server.answers = _script()
        yield server


@pytest.fixture
def model(parrot: Parrot) -> LanguageModel:
    """Return the server's model."""
    return load_language_model(MODEL, settings=Settings(ollama_url=parrot.url))


def _judged(folder: Path, model: LanguageModel, *cases: JudgedRecord) -> Judged:
    with State(folder) as state:
        who = Respondent(model=model, state=state, options=ModelOptions(seconds=20))
        return judge_answers(cases, model=who)


def _case(name: str, **other: Any) -> JudgedRecord:
    """Return the case by another name, with another question to tell its requests."""
    given = {
        "question": f"{name}: what is ice?",
        "answer": CASE.answer,
        "expected": CASE.expected,
        "retrieved": tuple(f"{name}: {text}" for text in CASE.retrieved),
    }
    return JudgedRecord(id=name, **(given | other))


@pytest.mark.thorough
def test_four_measures_of_a_case(
    tmp_path: Path, parrot: Parrot, model: LanguageModel
) -> None:
    """The values are those that the verdicts give."""
    (answer,) = _judged(tmp_path, model, CASE).answers

    assert dict(answer.values) == {
        "exact_match": 1.0,
        "f1": 1.0,
        "contextual_precision": 0.5,
        "contextual_recall": 1.0,
        "answer_relevancy": 0.5,
        "faithfulness": 1.0,
    }
    assert answer.passed is True
    assert {asked["model"] for asked in parrot.requests} == {MODEL}


def test_each_case_has_its_own_scores(
    tmp_path: Path, parrot: Parrot, model: LanguageModel
) -> None:
    """A case does not show what was measured for another one."""
    parrot.answers = _script(
        AnswerRelevancyVerdict=[{"verdicts": [NO, NO]}, {"verdicts": [YES, YES]}]
    )

    judged = _judged(tmp_path, model, _case("first"), _case("second"))

    assert [a.values["answer_relevancy"] for a in judged.answers] == [0.0, 1.0]
    assert [answer.passed for answer in judged.answers] == [False, True]


def test_one_measure_below_the_threshold_fails_the_case(
    tmp_path: Path, parrot: Parrot, model: LanguageModel
) -> None:
    """All four must be at least one half."""
    parrot.answers = _script(ContextualRecallVerdict={"verdicts": [NO, NO, YES]})

    (answer,) = _judged(tmp_path, model, CASE).answers

    assert answer.values["contextual_recall"] == pytest.approx(1 / 3)
    assert answer.passed is False


def test_useless_verdicts_leave_one_measure_out(
    tmp_path: Path, parrot: Parrot, model: LanguageModel
) -> None:
    """The other measures stand, and the case neither passes nor fails."""
    parrot.answers = _script(Claims="no JSON at all")

    (answer,) = _judged(tmp_path, model, CASE).answers

    assert "faithfulness" not in answer.values
    assert "not JSON" in answer.errors["faithfulness"]
    assert answer.passed is None
    assert len(set(JUDGED_MEASURES) & set(answer.values)) == 3


def test_verdicts_that_are_missing_make_a_measure_doubtful(
    tmp_path: Path, parrot: Parrot, model: LanguageModel
) -> None:
    """The value is DeepEval's, and what is wrong with it is said."""
    parrot.answers = _script(ContextualPrecisionVerdict={"verdicts": [YES]})

    (answer,) = _judged(tmp_path, model, CASE).answers

    assert answer.values["contextual_precision"] == 1.0
    assert answer.doubts == {"contextual_precision": "1 verdicts on 2 things"}


def test_a_judge_that_breaks_off_loses_nothing(
    tmp_path: Path,
    parrot: Parrot,
    model: LanguageModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was judged is returned; the next run asks only for what is missing."""
    monkeypatch.setattr("knowtrail.eval.models.time.sleep", lambda _: None)
    cases = _case("first"), _case("second")
    whole = _judged(tmp_path / "whole", model, *cases)
    calls = len(parrot.requests)
    down = [{"truths": ["One."]}, *[BrokenPipeError()] * 3]
    parrot.requests.clear()
    parrot.answers = _script(Truths=down)

    broken = _judged(tmp_path / "kept", model, *cases)

    assert [answer.id for answer in broken.answers] == ["first"]
    assert "parrot" in broken.stopped
    answered = len(parrot.requests) - 3
    parrot.requests.clear()
    parrot.answers = _script()
    again = _judged(tmp_path / "kept", model, *cases)
    assert again == whole
    assert len(parrot.requests) == calls - answered


def test_nothing_retrieved_is_worth_nothing(
    tmp_path: Path, parrot: Parrot, model: LanguageModel
) -> None:
    """The judge is not asked about it."""
    case = JudgedRecord(id="none", question="Why?", answer=None, expected="So")

    (answer,) = _judged(tmp_path, model, case).answers

    assert set(answer.values.values()) == {0.0}
    assert answer.passed is False
    assert parrot.requests == []


def test_what_was_retrieved_is_judged_without_an_answer(
    tmp_path: Path, parrot: Parrot, model: LanguageModel
) -> None:
    """Precision and recall of the texts need none; the others are left out."""
    (answer,) = _judged(tmp_path, model, _case("mute", answer=None)).answers

    assert (answer.values["contextual_precision"], answer.passed) == (0.5, None)
    assert set(answer.errors) == {"answer_relevancy", "faithfulness"}


def _group() -> ContextGroup:
    sentences = tuple(
        ContextSentence(id=f"s{n}", document=f"d{n}", index=0, text=f"Glacier {n}.")
        for n in range(2)
    )
    return ContextGroup(
        id="g1",
        grouping="theme_based",
        chunks=("c0", "c1"),
        documents=("d0", "d1"),
        titles=("Zero", "One"),
        sentences=sentences,
    )


@pytest.mark.thorough
def test_the_synthesizer_makes_a_question(
    tmp_path: Path,
    parrot: Parrot,
    model: LanguageModel,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is evolved as planned, its gold is the context, and nothing is drawn."""
    options = QuestionOptions(evolutions={"comparative": 1.0})
    with State(tmp_path) as state:
        writer = deepeval_writer(model, state=state, options=options)
        made = generate_questions([_group()], writer, state=state, options=options)

    (question,) = made.questions
    assert question.question == "Which glacier begins higher?"
    assert question.evolutions == ("comparative",)
    assert question.gold == _group().sentences
    assert question.synthesizer.startswith("deepeval ")
    assert capsys.readouterr().out == ""


def test_the_synthesizer_leaves_out_what_its_critic_does_not_like(
    tmp_path: Path, parrot: Parrot, model: LanguageModel
) -> None:
    """DeepEval itself would keep the last try."""
    parrot.answers = _script(InputFeedback={"score": 0.5, "feedback": "Vague."})
    options = QuestionOptions(retries=2)
    with State(tmp_path) as state:
        writer = deepeval_writer(model, state=state, options=options)
        made = generate_questions([_group()], writer, state=state, options=options)

    assert made.questions == ()
    assert [failure.step for failure in made.failures] == ["critique"]


WATCHED = """
import json, logging, sys
logging.basicConfig(level=logging.WARNING)
reached, started = set(), []
def watch(event, given):
    if event == "socket.connect":
        reached.add(str(given[1][0] if isinstance(given[1], tuple) else given[1]))
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        reached.add(str(given[0]))
    elif event in ("subprocess.Popen", "os.system", "os.posix_spawn"):
        started.append(str(given[0]))
sys.addaudithook(watch)
from pathlib import Path
from knowtrail.eval.generation import (QuestionOptions, generate_questions)
from knowtrail.eval.generation.questions import deepeval_writer
from knowtrail.eval.judged import quiet_deepeval
from knowtrail.eval.models import Respondent
from knowtrail.graph.files.journal import State
from knowtrail.graph.models.language_models import load_language_model
from knowtrail.graph.settings import Settings
from tests.contract import test_deepeval as cases
url, folder = sys.argv[1:]
model = load_language_model(cases.MODEL, settings=Settings(ollama_url=url))
judged = cases._judged(Path(folder), model, cases.CASE)
with State(Path(folder)) as state:
    options = QuestionOptions(evolutions={"comparative": 1.0})
    writer = deepeval_writer(model, state=state, options=options)
    made = generate_questions([cases._group()], writer, state=state, options=options)
with quiet_deepeval():
    from deepeval.telemetry import telemetry_opt_out
found = {
    "judged": len(judged.answers[0].values),
    "made": len(made.questions),
    "off": telemetry_opt_out(),
    "reached": sorted(reached),
    "started": started,
}
print(json.dumps(found))
"""
"""Judges a case and makes a question, and says which addresses were looked for."""


@pytest.mark.thorough
def test_nothing_is_sent_whatever_the_environment_says(
    tmp_path: Path, parrot: Parrot
) -> None:
    """No address but the model's is looked for, no file or line is left behind."""
    kept, place = tmp_path / "kept", tmp_path / "place"
    place.mkdir()
    env = dict(os.environ) | {
        "PYTHONPATH": str(ROOT),
        "DEEPEVAL_TELEMETRY_OPT_OUT": "NO",
        "DEEPEVAL_TELEMETRY_ENABLED": "YES",
    }

    done = subprocess.run(
        [sys.executable, "-c", WATCHED, parrot.url, str(kept)],
        cwd=place,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "judged": 6,
        "made": 1,
        "off": True,
        "reached": ["127.0.0.1"],
        "started": [],
    }
    assert done.stderr == ""
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_deepeval_reads_what_we_write(tmp_path: Path, suffix: str) -> None:
    """DeepEval's own data set has the same question, answer and context."""
    asked = RetrievalQuestion(
        id="q1",
        text='Why "ice"?',
        answer="Cold.",
        gold_documents=("d0",),
        gold_sentences=(GoldSentence(document="d0", sentence=0),),
    )
    question = ExportedQuestion(asked=asked, context=("Glacier 0.", "Glacier\n1."))
    path = tmp_path / f"asked{suffix}"
    write_questions(path, [question])

    with quiet_deepeval():
        from deepeval.dataset import EvaluationDataset

        dataset = EvaluationDataset()
        if suffix == ".json":
            dataset.add_goldens_from_json_file(str(path))
        else:
            dataset.add_goldens_from_csv_file(str(path))

    (golden,) = dataset.goldens
    assert golden.input == 'Why "ice"?'
    assert golden.expected_output == "Cold."
    assert golden.context == list(question.context)
    assert golden.additional_metadata["gold_documents"] == ["d0"]


@pytest.mark.thorough
@pytest.mark.ollama
def test_a_real_small_model_judges(tmp_path: Path) -> None:
    """Whatever it says, each measure is a number from 0 to 1 or has a reason."""
    settings = Settings.from_env()
    need_small_model(settings.ollama_url)
    model = load_language_model(SMALL_MODEL, settings=settings)
    with State(tmp_path) as state:
        who = Respondent(
            model=model, state=state, options=ModelOptions(seconds=60, tokens=200)
        )
        judged = judge_answers([CASE], model=who)

    (answer,) = judged.answers
    assert set(answer.values) | set(answer.errors) >= set(JUDGED_MEASURES)
    assert all(0 <= value <= 1 for value in answer.values.values())

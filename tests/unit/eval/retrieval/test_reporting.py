"""Means, differences, the plain data and the page of an evaluation."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from knowtrail.eval.judged import JUDGED_MEASURES, judged_measure_names
from knowtrail.eval.retrieval.dataset import DatasetProblem, GoldChunk
from knowtrail.eval.retrieval.evaluation import (
    Evaluation,
    EvaluationOptions,
    SystemResult,
    _notes_of_results,
    differences,
    measure_names,
    measure_rankings,
    parts_of,
    quantile_interval,
    summarise,
)
from knowtrail.eval.retrieval.output import (
    as_dict,
    lines,
    per_cent,
    rankings_of,
    retrieval_page,
    run_of,
)
from knowtrail.eval.statistics import RESAMPLES
from tests.rankings import dataset, question, ranking

QUESTIONS = (
    question("q1", "ash", sentences=1),
    question("q2", "birch", "<elm>"),
    question("<q3>", "cedar"),
    question("q4", "ash"),
)
KS = (2, 5)


def result(name: str, *order: str, walk: bool = False) -> SystemResult:
    """Return a system that ranks alike for every question."""
    rankings = tuple(
        ranking(*order, milliseconds=float(place), walk=walk)
        for place, _ in enumerate(QUESTIONS)
    )
    values = measure_rankings(QUESTIONS, rankings, ks=KS)
    return SystemResult(
        name=name, questions=QUESTIONS, rankings=rankings, values=tuple(values)
    )


def evaluation() -> Evaluation:
    """Return an evaluation of two systems and one that finds nothing."""
    results = (
        result("dense", "ash", "birch", "cedar", "<elm>"),
        result("walk", "cedar", "<elm>", "birch", "ash", walk=True),
        result("none"),
    )
    options = EvaluationOptions(ks=KS, halves=True)
    found = dataset(*QUESTIONS)
    measures = measure_names(KS, sentences=found.has_sentences)
    problem = DatasetProblem(kind="no_gold", id="<q9>", message="<q9> has no gold.")
    return Evaluation(
        dataset=type(found)(
            name="trees",
            kind="jsonl",
            passages=found.passages,
            questions=QUESTIONS,
            problems=(problem,),
        ),
        options=options,
        corpus="eval-trees",
        embedder="hash:32",
        commit="1.0+abc",
        measures=measures,
        results=results,
        parts=parts_of(results, measures, options),
        notes=("Mind this.",),
    )


def test_a_run_is_known_by_data_configuration_and_code() -> None:
    """Other rankings and times are the same run, since they take its place."""
    one = evaluation()
    dense, walk, _ = one.results
    slower = tuple(
        replace(ranking, milliseconds=9.0, documents=()) for ranking in dense.rankings
    )
    again = replace(dense, rankings=slower)
    others = [
        replace(one, dataset=dataset(*QUESTIONS[:1])),
        replace(one, options=replace(one.options, seed=1)),
        replace(one, commit="1.0+abd"),
        replace(one, models={"answers": "m:1b"}),
        replace(one, results=(replace(dense, model="m:1b"), walk)),
    ]

    ids = [run_of(each, each.results[0]).id for each in (one, *others)]

    assert run_of(replace(one, notes=()), again).id == ids[0]
    assert len({*ids, run_of(one, walk).id}) == len(others) + 2


def test_a_data_set_is_known_by_all_of_its_gold() -> None:
    """Answers and stretches are measured too: other ones are another data set."""
    question = replace(QUESTIONS[0], answer="ash", gold_chunks=())
    changes: list[dict[str, Any]] = [
        {},
        {"answer": "elm"},
        {"aliases": ("oak",)},
        {"gold_chunks": (GoldChunk(document="ash", first=0, last=0),)},
        {"gold_sentences": ()},
        {"grades": {"ash": 3}},
        {"gold_documents": ("birch",)},
        {"text": "?"},
    ]

    keys = {dataset(replace(question, **change)).checksum for change in changes}

    assert len(keys) == len(changes)


def test_plain_data_has_means_from_0_to_1() -> None:
    """By system and measure, with interval, and all that a table must say."""
    told = json.loads(json.dumps(as_dict(evaluation()), allow_nan=False))

    assert told["systems"]["dense"]["recall@2"]["value"] == pytest.approx(0.625)
    assert set(told["systems"]["dense"]["recall@2"]) == {
        "value",
        "low",
        "high",
        "level",
        "n",
    }
    assert told["systems"]["none"]["recall@5"]["value"] == 0
    assert told["systems"]["none"]["empty"] == 4
    assert told["systems"]["dense"]["filled"] == 0.25
    assert (told["n"], told["seed"], told["commit"]) == (4, 0, "1.0+abc")
    assert told["dataset"]["problems"][0]["id"] == "<q9>"
    assert told["halves"]["dev"]["n"] == told["halves"]["test"]["n"] == 2


def test_lines_say_what_a_table_must_say() -> None:
    """Number of questions, corpus, embedder, seed, commit, problems, every system."""
    text = "\n".join(lines(evaluation()))

    wanted = (
        "n = 4",
        "eval-trees",
        "hash:32",
        "seed: 0",
        "1.0+abc",
        "no_gold: 1 (<q9>)",
    )
    assert [piece for piece in wanted if piece not in text] == []
    assert "dense" in text
    assert "62.5 [" in text


def judged() -> Evaluation:
    """Return an evaluation of which one system was judged whole, one in part."""
    whole = evaluation()
    scores = (0.5, 0.75, 1.0, 0.25)
    names = JUDGED_MEASURES
    dense = [
        dict.fromkeys(names, one) | {"passed": float(one >= 0.5)} for one in scores
    ]
    walk = [dict.fromkeys(names, 1.0) | {"passed": 1.0} for _ in scores]
    del walk[1]["faithfulness"], walk[1]["passed"]
    added = (dense, walk, [{}] * 4)
    results = tuple(
        replace(
            each,
            values=tuple({**o, **n} for o, n in zip(each.values, new, strict=True)),
        )
        for each, new in zip(whole.results, added, strict=True)
    )
    measures = (*whole.measures, *judged_measure_names(judge=True))
    parts = parts_of(results, measures, whole.options)
    return replace(whole, results=results, measures=measures, parts=parts)


def test_answers_have_a_table_of_their_own() -> None:
    """As published: four measures and what passed, with intervals, a dash for none."""
    told = [line.split() for line in lines(judged())]

    begin = next(
        n
        for n, line in enumerate(told)
        if line[-4:] == ["passed", "of", "those", "judged"]
    )
    head, dense, walk, none = told[begin + 1 : begin + 5]
    columns = ["precision", "recall", "relevancy", "faithfulness", "n=3-4", "passed"]
    assert head == columns
    assert dense[0] == "dense"
    assert dense[1::3] == ["62.5"] * 4 + ["3/4"]
    assert all(cell.startswith("[") for cell in dense[2::3])
    assert walk[-3] == "3/3"
    assert none == ["none", *"-----"]


def test_the_page_has_the_answers_in_one_table() -> None:
    """Apart from what retrieval is measured by; what passed is counted."""
    page = retrieval_page(judged())

    _, after = page.split("<h2>All questions: answers</h2>")
    table = after[: after.index("</table>")]
    heads = re.findall("<th>([^<]*)</th>", table)
    assert heads[1:6] == ["precision", "recall", "relevancy", "faithfulness", "passed"]
    assert "<td>3/4<small>" in table
    assert "<b>3/3</b>" in table
    assert "<td>62.5<small>" in table
    assert table.count("<td>-</td>") == 5
    tags = _Tags()
    tags.feed(page)
    assert (tags.open, tags.wrong) == ([], [])
    assert "nan" not in page


class _Tags(HTMLParser):
    """Checks that elements are closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_the_page_is_whole_and_escaped() -> None:
    """Every element is closed, nothing of the data is markup, nothing is loaded."""
    page = retrieval_page(evaluation())

    tags = _Tags()
    tags.feed(page)
    assert (tags.open, tags.wrong) == ([], [])
    assert "<elm>" not in page
    assert "<q3>" not in page
    assert "&lt;elm&gt;" in page
    assert "http://" not in page
    assert "https://" not in page


def test_the_page_shows_matrix_walks_and_differences() -> None:
    """Each part of the report is there, and says what it rests on."""
    page = retrieval_page(evaluation())

    wanted = (
        "Question by question",
        "Worst cases",
        "differences from dense",
        "Development half",
        "early stop",
        "n = 4",
        "eval-trees",
        "Mind this.",
        'class="cell none"',
    )
    assert [piece for piece in wanted if piece not in page] == []


def test_answers_stand_with_what_they_were_made_of() -> None:
    """The page has them in the cases, escaped; the lines for other tools too."""
    answered = replace(evaluation(), answers={"walk": {"q2": "<i>an elm</i>"}})

    page = retrieval_page(answered)
    rows = [row for row in rankings_of(answered) if row["answer"]]

    assert page.count("Answered: ") == 1
    assert "&lt;i&gt;an elm" in page
    assert [(row["system"], row["id"]) for row in rows] == [("walk", "q2")]


def test_one_question_has_no_intervals_and_no_nan() -> None:
    """A report of one question shows what there is."""
    whole = evaluation()
    results = tuple(
        replace(
            each,
            questions=each.questions[:1],
            rankings=each.rankings[:1],
            values=each.values[:1],
        )
        for each in whole.results
    )
    one = replace(
        whole, results=results, parts=parts_of(results, whole.measures, whole.options)
    )

    page = retrieval_page(one)

    assert "nan" not in page
    assert "nan" not in "\n".join(lines(one))
    json.dumps(as_dict(one), allow_nan=False)


def test_differences_are_paired_and_corrected() -> None:
    """Every other system less the base; p-values are at least those of one test."""
    all_of_them = evaluation().results

    found = differences(all_of_them, all_of_them[0], ["recall@2"])

    assert [each.name for each in found] == ["walk", "none"]
    assert found[1].found.difference.value == pytest.approx(-0.625)
    assert all(each.p_value >= each.found.p_value for each in found)


def test_rankings_are_told_question_by_question() -> None:
    """Passages with scores, and each question's measures, for other tools."""
    rows = list(rankings_of(evaluation()))

    first = rows[0]
    assert [row["system"] for row in rows[::4]] == ["dense", "walk", "none"]
    assert (first["id"], first["gold"]) == ("q1", {"ash": 1})
    assert [each["id"] for each in first["documents"]] == [
        "ash",
        "birch",
        "cedar",
        "<elm>",
    ]
    assert first["measures"]["recall@2"] == 1
    json.dumps(rows, allow_nan=False)


def test_alike_systems_are_not_surely_alike() -> None:
    """A difference of nothing in four questions has a wide interval, and a note."""
    (same, other) = (result(name, "ash", "birch") for name in ("dense", "same"))

    (found,) = differences([same, other], same, ["recall@2"])
    notes = _notes_of_results([same, other], EvaluationOptions(ks=KS))
    based = _notes_of_results([same, other], EvaluationOptions(ks=KS, base="bm25"))

    assert found.found.difference.low < 0 < found.found.difference.high
    assert [note[:15] for note in notes] == ["Where a measure"]
    assert based[0] == "bm25 is not measured here: differences are from dense."


def test_a_quantile_has_an_interval_around_it() -> None:
    """None where there is nothing to resample."""
    found = quantile_interval([1.0, 2.0, 3.0, 4.0, 50.0], 0.5)
    alone = quantile_interval([7.0], 0.95)

    assert found.low <= found.value == 3.0 <= found.high
    assert alone.value == 7.0
    assert alone.low != alone.low


def test_resamples_of_a_quantile_do_not_depend_on_their_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In blocks of a few, the same resamples are drawn as one by one."""
    numbers = np.random.default_rng(1).exponential(size=40)
    rng = np.random.default_rng(7)
    rows = [numbers[rng.integers(0, 40, size=40)] for _ in range(RESAMPLES)]
    ends = np.quantile(np.quantile(rows, 0.95, axis=1), [0.025, 0.975])
    monkeypatch.setattr("knowtrail.eval.statistics._CELLS", 1000)

    found = quantile_interval(numbers.tolist(), 0.95, seed=7)

    assert [found.low, found.high] == ends.tolist()


def test_a_part_of_the_questions_can_be_summarised() -> None:
    """Only those at the places given count."""
    summary = summarise(evaluation().results[0], places=(0, 3))

    assert summary.n == 2
    assert summary.measures["recall@2"].value == 1
    assert summary.latency["p50"].value == 1.5


def test_per_cent_rounds_a_five_up() -> None:
    """As a reader would, whichever way the binary fraction leans."""
    shares = (0.4425, 0.4435, 0.7775, -0.00125, 0.0)

    assert [per_cent(share) for share in shares] == [
        "44.3",
        "44.4",
        "77.8",
        "-0.1",
        "0.0",
    ]
    assert per_cent(0.155, "+") == "+15.5"

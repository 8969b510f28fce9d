"""Annotations: scores from judgements that are kept, continued, within a budget."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowtrail.eval.zelo.annotation import ZeloAnnotator, aannotate, annotate
from knowtrail.eval.zelo.judgements import (
    JOURNAL,
    Answer,
    Journal,
    Judgement,
    Matchup,
    Price,
)
from knowtrail.eval.zelo.judges import FunctionJudge, Pace
from knowtrail.eval.zelo.pairs import PairSettings
from knowtrail.eval.zelo.scored_pairs import FitSettings, read_judged
from knowtrail.graph.errors import InputError, ModelError, SourceError, StorageError
from knowtrail.retrieval.rerank.datasets import Document, Query, read_annotated
from tests.unit.eval.zelo.cases import ValueJudge, kept_judgements, query, source

PAID = Price(prompt=1000.0, completion=10_000.0)
"""2 USD a judgement of `ValueJudge`."""


def order(target: Path) -> list[list[str]]:
    """Return the contents of the documents of each query, best first."""
    return [
        [d.content for d in sorted(item.documents, key=lambda d: -d.score)]
        for item in read_annotated(target)
    ]


@pytest.mark.parametrize("mode", ["cycles", "dense", "adaptive"])
def test_one_certain_judge_gives_its_own_order(mode: Any, tmp_path: Path) -> None:
    """Where pairs enough are known; four circles of eleven would not be enough."""
    path = source(tmp_path, query(n=11))
    cycles = 30 if mode == "cycles" else 12

    annotate(
        path,
        tmp_path / "out.jsonl",
        judges=[ValueJudge()],
        pairs=PairSettings(mode=mode, cycle_num=cycles),
    )

    assert order(tmp_path / "out.jsonl") == [[str(n) for n in range(10, -1, -1)]]


@pytest.mark.parametrize("method", ["maximum_likelihood", "published"])
@pytest.mark.parametrize("magnitude", [False, True])
def test_scores_of_a_query_sum_to_nothing(
    method: Any, magnitude: bool, tmp_path: Path
) -> None:
    """By either method; metadata and content are those of the source."""
    path = source(tmp_path, query(n=5))

    annotate(
        path,
        tmp_path / "out.jsonl",
        judges=[ValueJudge()],
        fit=FitSettings(method=method, magnitude=magnitude),
    )

    (item,) = read_annotated(tmp_path / "out.jsonl")
    assert abs(sum(d.score for d in item.documents)) < 1e-6
    assert [d.id for d in item.documents] == ["d0", "d1", "d2", "d3", "d4"]


def test_few_documents_have_scores_too(tmp_path: Path) -> None:
    """None has none, one has 0 without being judged, two have opposite ones."""
    judge = ValueJudge()
    path = source(tmp_path, *(query(f"q{n}", n) for n in (0, 1, 2)))

    annotate(path, tmp_path / "out.jsonl", judges=[judge])

    none, one, two = read_annotated(tmp_path / "out.jsonl")
    assert none.documents == ()
    assert [d.score for d in one.documents] == [0.0]
    assert two.documents[0].score == pytest.approx(-two.documents[1].score)
    assert len(judge.seen) == 1


def test_documents_beyond_the_threshold_have_no_score(tmp_path: Path) -> None:
    """They are left out of the annotated file, and reported by id."""
    path = source(tmp_path, query(n=5))

    done = annotate(
        path,
        tmp_path / "out.jsonl",
        judges=[ValueJudge()],
        pairs=PairSettings(document_threshold=3),
    )

    (item,) = read_annotated(tmp_path / "out.jsonl")
    assert [d.id for d in item.documents] == ["d0", "d1", "d2"]
    assert done.unjudged == (("q1", ("d3", "d4")),)
    fits = json.loads((tmp_path / "out.jsonl.zelo" / "fits.jsonl").read_text("utf-8"))
    assert [d["score"] is None for d in fits["documents"]] == [False] * 3 + [True] * 2


def test_a_single_judgement_is_counted_in_numbers(tmp_path: Path) -> None:
    """The report has 0 in JSON, not false."""
    done = annotate(
        source(tmp_path, query(n=2)), tmp_path / "out.jsonl", judges=[ValueJudge()]
    )

    assert done.judges[0].answered == 1
    assert json.dumps(done.judges[0].shortened) == "0"


def test_a_failed_judgement_is_missing_and_no_vote(tmp_path: Path) -> None:
    """A document about which every judgement failed has no score."""
    path = source(tmp_path, query(n=4))
    judge = ValueJudge(fails=frozenset({"d2"}))

    done = annotate(path, tmp_path / "out.jsonl", judges=[judge])

    assert done.unjudged == (("q1", ("d2",)),)
    assert done.counts.failed == 3
    assert done.judges[0].failed == 3
    assert "failed 3 of 6 times, mostly: no idea" in done.warnings[0]


def test_a_failed_judgement_is_a_vote_for_the_left_as_published(
    tmp_path: Path,
) -> None:
    """As what was published scores it 0; a tie is one too."""

    def compare(_: Query, a: Document, b: Document) -> float:
        apart = int(b.content) - int(a.content)
        return 0.0 if "d2" in {a.id, b.id} else apart / 11

    failing = ValueJudge("other", fails=frozenset({"d2"}))
    tying = FunctionJudge("other", compare)

    def scores(other: Any, method: Any) -> list[float]:
        path, target = source(tmp_path, query(n=6)), tmp_path / "out.jsonl"
        judges, fit = [ValueJudge(), other], FitSettings(method=method)
        annotate(path, target, judges=judges, fit=fit)
        return [d.score for d in next(iter(read_annotated(target))).documents]

    assert scores(failing, "published") == scores(tying, "published")
    default = "maximum_likelihood"
    assert scores(failing, default) != scores(tying, default)


def test_a_function_that_raises_costs_its_pair(tmp_path: Path) -> None:
    """It is a counted failure, asked for again by the next run."""
    path, broken = source(tmp_path), True

    def compare(_: Query, a: Document, b: Document) -> Any:
        if broken and {a.id, b.id} == {"d0", "d1"}:
            raise ValueError("no number")
        if broken and {a.id, b.id} == {"d0", "d2"}:
            return "better"
        return (int(b.content) - int(a.content)) / 11

    judge = FunctionJudge("mine", compare)
    first = annotate(path, tmp_path / "out.jsonl", judges=[judge])
    broken = False
    second = annotate(path, tmp_path / "out.jsonl", judges=[judge])

    assert (first.counts.asked, first.counts.failed, first.scored) == (10, 2, 5)
    assert first.judges[0].error.startswith("ValueError: ")
    assert (second.counts.asked, second.counts.failed) == (2, 0)


def test_the_estimate_has_the_time_at_the_limits_of_speed(tmp_path: Path) -> None:
    """Of requests or tokens, whichever is less; the slowest judge decides."""
    judges = [ValueJudge("free"), ValueJudge("often"), ValueJudge("much")]
    judges[1].pace = Pace(requests_per_minute=60, tokens_per_minute=1e9)
    judges[2].pace = Pace(requests_per_minute=60, tokens_per_minute=1_100 * 6)

    found = ZeloAnnotator(
        source(tmp_path), tmp_path / "out.jsonl", judges=judges
    ).estimate()

    assert [one.seconds for one in found.judges] == pytest.approx([0.0, 10.0, 100.0])
    assert found.seconds == pytest.approx(100.0)


def test_a_repeated_adaptive_round_has_nothing_left(tmp_path: Path) -> None:
    """Every two documents are judged once, however many rounds are wanted."""
    pairs = PairSettings(mode="adaptive", cycle_num=9)

    done = annotate(
        source(tmp_path), tmp_path / "out.jsonl", judges=[ValueJudge()], pairs=pairs
    )

    assert (done.pairs, done.degrees) == (10, (4, 4))


def test_parts_that_no_battle_compares_are_told(tmp_path: Path) -> None:
    """Where a judge only answers within two groups, their scores stand apart."""
    path = source(tmp_path, query(n=6))

    def within(query: Any, left: Any, right: Any) -> float | None:
        same = int(left.id[1:]) % 2 == int(right.id[1:]) % 2
        return -0.5 if same else None

    done = annotate(
        path,
        tmp_path / "out.jsonl",
        judges=[FunctionJudge("within", within)],
        pairs=PairSettings(mode="dense"),
    )

    assert done.disconnected == ("q1",)
    assert "no chain of battles compares, such as 'q1'" in done.warnings[-1]
    assert done.scored == 6


def test_files_have_the_documented_shapes(tmp_path: Path) -> None:
    """Pairs with both documents, and what each judge said of them."""
    path = source(tmp_path, query(n=2))
    judges = [ValueJudge("openai"), ValueJudge("gemini", fails=frozenset({"d0"}))]

    pairs = PairSettings(cycles="published")
    annotate(path, tmp_path / "out.jsonl", judges=judges, pairs=pairs)

    folder = tmp_path / "out.jsonl.zelo"
    rows = json.loads((folder / "pairs.json").read_text("utf-8"))["pairs"]
    scored = json.loads((folder / "ai_scores.json").read_text("utf-8"))["scored_pairs"]
    assert len(rows) == len(scored) == 8
    first = next(row for row in rows if row["pair_id"] == "q1-d0-d1")
    assert first == {
        "pair_id": "q1-d0-d1",
        "query_id": "q1",
        "query": "Which is the largest?",
        "document_a": {"document_id": "d0", "metadata": {}, "content": "0"},
        "document_b": {"document_id": "d1", "metadata": {}, "content": "7"},
    }
    both = next(row for row in scored if row["pair"] == first)
    assert set(both) == {"pair", "openai_score", "gemini_score"}
    assert both["openai_score"]["score"] == 0.7
    assert both["gemini_score"]["score"] is None
    assert both["gemini_score"]["error"] == "no idea"


def test_swaps_are_even_marked_and_undone(tmp_path: Path) -> None:
    """About half of the pairs are shown the other way; scores do not show it."""
    path = source(tmp_path, query(n=40))
    judge = ValueJudge()

    annotate(path, tmp_path / "out.jsonl", judges=[judge])

    said = kept_judgements(tmp_path / "out.jsonl.zelo")
    turned = [one for one in said if one.swapped]
    assert 50 <= len(turned) <= 110
    assert all(one.reasoning.startswith("(SWAPPED)\nA is ") for one in turned)
    assert not any("SWAPPED" in one.reasoning for one in said if not one.swapped)
    wrong = [
        one
        for one in said
        if one.score is not None
        and one.score * (int(one.right_id[1:]) * 7 % 11 - int(one.left_id[1:]) * 7 % 11)
        < 0
    ]
    assert wrong == []


def test_pairs_and_swaps_do_not_depend_on_what_runs_beside(tmp_path: Path) -> None:
    """Slow and quick judges, alone or together, are shown the same."""
    path = source(tmp_path, *(query(f"q{n}", 6) for n in range(4)))
    alone, beside, slow = ValueJudge("a"), ValueJudge("a"), ValueJudge("b", pause=0.002)

    annotate(path, tmp_path / "one.jsonl", judges=[alone])
    annotate(path, tmp_path / "two.jsonl", judges=[slow, beside])

    assert sorted(alone.seen) == sorted(beside.seen)
    assert sorted(slow.seen) != sorted(alone.seen)


def test_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    """Nor does another target with the same folder; changed texts are judged anew."""
    path = source(tmp_path)
    judge = ValueJudge(price=PAID)
    annotate(path, tmp_path / "out.jsonl", judges=[judge])
    asked = len(judge.seen)

    again = annotate(path, tmp_path / "out.jsonl", judges=[judge])
    other = replace(query(), query=replace(query().query, query="Which?"))
    third = annotate(source(tmp_path, other), tmp_path / "out.jsonl", judges=[judge])

    assert asked == 10
    assert (again.counts.asked, again.counts.reused, again.cost) == (0, 10, 0.0)
    assert again.spent == pytest.approx(20.0)
    assert third.counts.asked == 10


def test_more_circles_only_ask_for_the_new_ones(tmp_path: Path) -> None:
    """The first circles are known."""
    path = source(tmp_path)
    first = annotate(
        path,
        tmp_path / "out.jsonl",
        judges=[ValueJudge()],
        pairs=PairSettings(cycle_num=1),
    )

    more = annotate(path, tmp_path / "out.jsonl", judges=[ValueJudge()])

    assert (first.counts.asked, more.counts.asked, more.counts.reused) == (5, 5, 5)


@pytest.mark.parametrize("mode", ["cycles", "adaptive"])
def test_a_budget_stops_and_a_larger_one_goes_on(mode: Any, tmp_path: Path) -> None:
    """Nothing over the budget is spent, the target waits, nothing is paid twice."""
    path, target = source(tmp_path, query(n=6)), tmp_path / "out.jsonl"
    pairs = PairSettings(mode=mode)

    small = annotate(
        path, target, judges=[ValueJudge(price=PAID)], budget=19.0, pairs=pairs
    )
    early = target.exists()
    whole = annotate(
        path, target, judges=[ValueJudge(price=PAID)], budget=30.0, pairs=pairs
    )
    free = annotate(path, tmp_path / "free.jsonl", judges=[ValueJudge()], pairs=pairs)

    assert (small.stopped, small.target, early) == ("budget", None, False)
    assert small.spent == pytest.approx(18.0)
    assert (whole.stopped, whole.counts.asked) == (None, 15 - 9)
    assert whole.spent == pytest.approx(30.0)
    assert free.counts.asked == 15
    assert order(target) == order(tmp_path / "free.jsonl")


def test_what_is_there_can_be_scored(tmp_path: Path) -> None:
    """Partial asks nothing; documents without an answer are left out."""
    path, target = source(tmp_path, query(n=6)), tmp_path / "out.jsonl"
    judge = ValueJudge(price=PAID)
    annotate(path, target, judges=[judge], budget=6.0)
    before = len(judge.seen)

    done = annotate(path, target, judges=[judge], partial=True)

    (item,) = read_annotated(target)
    assert (before, len(judge.seen), done.counts.asked) == (3, 3, 0)
    assert done.target == target
    assert 2 <= len(item.documents) < 6 or done.disconnected == ("q1",)


def test_a_judge_without_a_price_has_no_budget(tmp_path: Path) -> None:
    """The message says where prices are."""
    with pytest.raises(InputError, match="price of judge 'value' is not known"):
        ZeloAnnotator(
            source(tmp_path),
            tmp_path / "out.jsonl",
            judges=[ValueJudge(price=None)],
            budget=1.0,
        )


@pytest.mark.parametrize(
    ("judges", "message"),
    [([], "no judge"), ([ValueJudge(), ValueJudge()], "Two judges are called 'value'")],
)
def test_an_ensemble_has_different_judges(
    judges: list[Any], message: str, tmp_path: Path
) -> None:
    """At least one, and no name twice."""
    with pytest.raises(InputError, match=message):
        ZeloAnnotator(source(tmp_path), tmp_path / "out.jsonl", judges=judges)


def test_a_judge_that_cannot_be_asked_ends_the_run(tmp_path: Path) -> None:
    """What the other one answered meanwhile is kept."""
    path = source(tmp_path)
    good, bad = ValueJudge("good"), ValueJudge("bad", pause=0.01)
    bad.error = ModelError("The key is refused.")

    with pytest.raises(ModelError, match="The key is refused"):
        annotate(path, tmp_path / "out.jsonl", judges=[good, bad])

    kept = kept_judgements(tmp_path / "out.jsonl.zelo")
    assert {one.judge for one in kept} == {"good"}
    assert len(kept) == len(good.seen)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("came", "retry", "asked"),
    [(True, False, 0), (True, True, 3), (False, False, 3)],
)
def test_failures_are_asked_again_where_that_may_help(
    came: bool, retry: bool, asked: int, tmp_path: Path
) -> None:
    """An answer of no use was paid for and stays; where none came it is asked for."""
    path = source(tmp_path, query(n=4))
    judge = ValueJudge(fails=frozenset({"d2"}))
    judge.came = came
    annotate(path, tmp_path / "out.jsonl", judges=[judge])
    judge.fails = frozenset()

    done = annotate(path, tmp_path / "out.jsonl", judges=[judge], retry_failed=retry)

    assert done.counts.asked == asked
    assert (done.unjudged == ()) == bool(asked)


def test_stopping_waits_for_what_is_under_way(tmp_path: Path) -> None:
    """Answers that were asked for are kept, and the same call goes on."""
    path = source(tmp_path, query(n=10))
    judge = ValueJudge(pause=0.01)
    annotator = ZeloAnnotator(path, tmp_path / "out.jsonl", judges=[judge])

    def stop(stage: str, done: int, total: int | None) -> None:
        if done == 6:
            annotator.stop()

    annotator.progress = stop
    done = annotator.annotate()
    again = annotate(path, tmp_path / "out.jsonl", judges=[judge])

    assert (done.stopped, done.target) == ("interrupted", None)
    assert (
        6
        <= done.counts.asked
        == len(kept_judgements(done.folder)) - 0 - (again.counts.asked)
    )
    assert done.counts.asked + again.counts.asked == 40 == len(judge.seen)


def test_a_run_that_is_cancelled_keeps_its_answers(tmp_path: Path) -> None:
    """As Ctrl-C does a second time."""
    path, judge = source(tmp_path, query(n=10)), ValueJudge(pause=0.02)

    async def cancelled() -> None:
        run = asyncio.create_task(
            aannotate(path, tmp_path / "out.jsonl", judges=[judge])
        )
        await asyncio.sleep(0.15)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    kept = len(kept_judgements(tmp_path / "out.jsonl.zelo"))
    again = annotate(path, tmp_path / "out.jsonl", judges=[ValueJudge()])

    assert kept == len(judge.seen) > 0
    assert (again.counts.reused, again.counts.asked) == (kept, 40 - kept)


class Eager(ValueJudge):
    """Counts what it is asked as it is asked."""

    begun = 0

    def __init__(self, name: str = "eager", *, pause: float = 0.0) -> None:
        super().__init__(name, pause=pause)
        self.asked = asyncio.Event()

    async def judge(self, matchup: Matchup) -> Answer:
        """Count, then answer."""
        self.begun += 1
        self.asked.set()
        return await super().judge(matchup)


def test_a_run_that_is_cancelled_waits_for_what_was_asked(tmp_path: Path) -> None:
    """Once, as by Ctrl-C in a program of one's own: no answer is paid for in vain."""
    path, judge = source(tmp_path, query(n=10)), Eager(pause=0.1)

    async def cancelled() -> None:
        run = asyncio.create_task(
            aannotate(path, tmp_path / "out.jsonl", judges=[judge])
        )
        await asyncio.wait_for(judge.asked.wait(), 30)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())

    kept = len(kept_judgements(tmp_path / "out.jsonl.zelo"))
    assert 0 < kept == judge.begun < 40


def test_a_judge_with_a_defect_ends_the_run_in_order(tmp_path: Path) -> None:
    """Whatever it raises, what another judge was asked is waited for and kept."""
    path = source(tmp_path, query(n=10))
    broken, good = ValueJudge("broken", pause=0.05), Eager("good", pause=0.2)
    broken.error = RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        annotate(path, tmp_path / "out.jsonl", judges=[broken, good])

    kept = kept_judgements(tmp_path / "out.jsonl.zelo")
    assert [one.judge for one in kept] == ["good"] * good.begun
    assert 0 < good.begun < 40


def test_texts_that_no_file_of_lines_takes_are_annotated(tmp_path: Path) -> None:
    """Line separators of Unicode and half characters come back from the folder."""
    odd = query("q\u2028\ud800", 3)
    odd = replace(odd, query=replace(odd.query, query="Which\u2028is\x85it, \ud800?"))

    done = annotate(
        source(tmp_path, odd), tmp_path / "out.jsonl", judges=[ValueJudge()]
    )
    (judged,) = read_judged(tmp_path / "out.jsonl")

    assert done.scored == 3
    assert judged.query == odd.query
    assert len(judged.fitted or {}) == 3


KILLED = """
import sys
from pathlib import Path
from knowtrail.eval.zelo.annotation import annotate
from tests.unit.eval.zelo.cases import ValueJudge
folder = Path(sys.argv[1])
annotate(
    folder / "queries.jsonl", folder / "out.jsonl", judges=[ValueJudge(pause=0.05)]
)
"""


def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    """After kill -9 every answer that was told of is there, and the lock is free."""
    path, folder = source(tmp_path, query(n=10)), tmp_path / "out.jsonl.zelo"
    run = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        cwd=Path(__file__).resolve().parents[4],
    )
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if (folder / JOURNAL).exists() and (folder / JOURNAL).stat().st_size > 2000:
            break
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    kept = len(kept_judgements(folder))

    done = annotate(path, tmp_path / "out.jsonl", judges=[ValueJudge()])

    assert 0 < kept < 40
    assert (done.counts.reused, done.counts.asked) == (kept, 40 - kept)


def test_a_line_that_was_cut_is_dropped(tmp_path: Path) -> None:
    """Only the judgement of that line is asked for again."""
    path, folder = source(tmp_path), tmp_path / "out.jsonl.zelo"
    annotate(path, tmp_path / "out.jsonl", judges=[ValueJudge()])
    data = (folder / JOURNAL).read_bytes()
    (folder / JOURNAL).write_bytes(data[:-20])

    done = annotate(path, tmp_path / "out.jsonl", judges=[ValueJudge()])

    assert (done.counts.reused, done.counts.asked) == (9, 1)
    assert len(kept_judgements(folder)) == 10


def test_a_damaged_line_costs_one_judgement(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told of by its number; the others count."""
    path, folder = source(tmp_path), tmp_path / "out.jsonl.zelo"
    annotate(path, tmp_path / "out.jsonl", judges=[ValueJudge()])
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    lines[4] = b'{"key": "half of a\n'
    (folder / JOURNAL).write_bytes(b"".join(lines))

    done = annotate(path, tmp_path / "out.jsonl", judges=[ValueJudge()])

    assert done.counts.asked == 1
    assert "line 5 is damaged" in caplog.text


def test_two_runs_do_not_write_one_folder(tmp_path: Path) -> None:
    """The second is refused with what to do."""
    path = source(tmp_path)

    with (
        Journal(tmp_path / "work"),
        pytest.raises(InputError, match="Another run writes"),
    ):
        annotate(
            path,
            tmp_path / "out.jsonl",
            judges=[ValueJudge()],
            folder=tmp_path / "work",
        )


def test_a_broken_source_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    """However far down the line stands."""
    path, judge = source(tmp_path), ValueJudge()
    with path.open("a") as file:
        file.write('{"query": \n')

    with pytest.raises(SourceError, match=r"queries\.jsonl, line 2 is no JSON"):
        annotate(path, tmp_path / "out.jsonl", judges=[judge])

    assert judge.seen == []


def test_a_place_that_cannot_be_written_is_told_before(tmp_path: Path) -> None:
    """A folder that is not there costs nothing."""
    judge = ValueJudge()

    with pytest.raises(StorageError, match="no place for a file"):
        annotate(source(tmp_path), tmp_path / "no" / "out.jsonl", judges=[judge])

    assert judge.seen == []


def test_the_target_may_be_the_source(tmp_path: Path) -> None:
    """The file is replaced at the end, with scores."""
    path = source(tmp_path)

    annotate(path, path, judges=[ValueJudge()])

    assert [len(item.documents) for item in read_annotated(path)] == [5]


def test_habits_of_judges_are_told(tmp_path: Path) -> None:
    """One that always ties tells nothing, one that always says A is noise."""
    path = source(tmp_path, query(n=10))
    judges = [
        FunctionJudge("ties", lambda q, a, b: 0.0),
        FunctionJudge("first", lambda q, a, b: -1.0),
        FunctionJudge("second", lambda q, a, b: 0.4),
        ValueJudge(),
    ]

    done = annotate(path, tmp_path / "out.jsonl", judges=judges)

    assert [w.split(" (")[0] for w in done.warnings] == [
        "Judge 'ties' nearly always ties",
        "Judge 'first' nearly always prefers the document shown first",
        "Judge 'second' nearly always prefers the document shown second",
    ]


@pytest.mark.parametrize("score", [float("nan"), 1.5, -7.0, None])
def test_scores_out_of_range_are_failures(score: float | None, tmp_path: Path) -> None:
    """They are not cut to fit, and no vote for either side."""
    judge = FunctionJudge("wild", lambda q, a, b: score)

    done = annotate(source(tmp_path), tmp_path / "out.jsonl", judges=[judge])

    assert (done.judges[0].answered, done.judges[0].failed) == (0, 10)
    assert done.scored == 0


def test_the_estimate_is_what_a_run_asks(tmp_path: Path) -> None:
    """Counted pair by pair; what is known is not counted; nothing is written."""
    path = source(tmp_path, query("q1", 5), query("q2", 3))
    judges = [ValueJudge(price=PAID), ValueJudge("free")]
    annotator = ZeloAnnotator(path, tmp_path / "out.jsonl", judges=judges)

    before = annotator.estimate()
    untouched = sorted(p.name for p in tmp_path.iterdir())
    done = annotator.annotate()
    after = annotator.estimate()

    assert untouched == ["queries.jsonl"]
    assert (before.queries, before.documents, before.pairs) == (2, 8, 13)
    assert before.inferences == done.counts.asked == 26
    assert before.cost == pytest.approx(done.cost) == pytest.approx(26.0)
    assert (after.inferences, after.cost, after.spent) == (0, 0.0, done.spent)


def test_the_estimate_knows_of_rounds_to_come(tmp_path: Path) -> None:
    """Adaptive rounds that nobody chose yet are counted, also after an interruption."""
    path, judge = source(tmp_path, query(n=5)), ValueJudge(price=PAID)
    annotator = ZeloAnnotator(
        path,
        tmp_path / "out.jsonl",
        judges=[judge],
        pairs=PairSettings(mode="adaptive"),
        budget=5.0,
    )

    before = annotator.estimate()
    done = annotator.annotate()
    first = done.counts.asked
    after = annotator.estimate()
    annotator.budget = 5 * PAID.of(1000, 100)
    annotator.annotate()
    round_done = annotator.estimate()

    assert before.inferences == 10
    assert (done.stopped, first) == ("budget", 2)
    assert after.inferences == 8
    assert round_done.inferences == 5
    assert round_done.judges[0].known == 5


@pytest.mark.parametrize(
    ("came", "retry", "asked"), [(False, False, 10), (True, False, 0), (True, True, 10)]
)
def test_the_estimate_counts_failures_as_a_run_does(
    tmp_path: Path, came: bool, retry: bool, asked: int
) -> None:
    """Where no answer came it is asked for again; a useless one if that is wanted."""
    path = source(tmp_path)
    judge = ValueJudge(fails=frozenset(f"d{number}" for number in range(5)))
    judge.came = came
    annotate(path, tmp_path / "out.jsonl", judges=[judge])

    found = ZeloAnnotator(
        path, tmp_path / "out.jsonl", judges=[judge], retry_failed=retry
    ).estimate()

    assert found.inferences == asked


def test_an_unknown_price_makes_the_cost_unknown(tmp_path: Path) -> None:
    """It is not taken for nothing."""
    annotator = ZeloAnnotator(
        source(tmp_path),
        tmp_path / "out.jsonl",
        judges=[ValueJudge(), ValueJudge("other", price=None)],
    )

    assert annotator.estimate().cost is None


async def test_annotating_inside_a_loop(tmp_path: Path) -> None:
    """The call that does not await works in a notebook too."""
    done = annotate(source(tmp_path), tmp_path / "out.jsonl", judges=[ValueJudge()])

    assert done.scored == 5


def test_more_queries_than_are_asked_at_once(tmp_path: Path) -> None:
    """All are judged, and written in their order."""
    names = [f"q{number}" for number in range(70)]
    path = source(tmp_path, *(query(name, 3) for name in names))

    done = annotate(path, tmp_path / "out.jsonl", judges=[ValueJudge()])

    assert [item.query.id for item in read_annotated(tmp_path / "out.jsonl")] == names
    assert (done.queries, done.pairs, done.degrees) == (70, 210, (2, 2))


def test_a_judgement_survives_the_file(tmp_path: Path) -> None:
    """Every field comes back, half characters too."""
    one = Judgement(
        query_id="q",
        left_id="a",
        right_id="b",
        judge="j",
        repetition=2,
        score=-0.5,
        reasoning="ü \ud800",
        swapped=True,
        prompt_tokens=3,
        completion_tokens=4,
        cost=0.5,
        shortened=True,
    )

    with Journal(tmp_path) as journal:
        journal.add("key", one)
        assert journal.get("key") == one
    with Journal(tmp_path) as journal:
        assert journal.get("key") == one
        assert journal.get("other") is None
        assert journal.spent == 0.5

    assert kept_judgements(tmp_path) == [one]

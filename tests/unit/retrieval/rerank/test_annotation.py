"""Files of queries are scored whole, and nothing is scored twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InputError, ModelError, SourceError
from knowtrail.retrieval.rerank import BaseReranker, LocalReranker, load_reranker
from knowtrail.retrieval.rerank.datasets import read_annotated, scores_path
from tests.command_line import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Counting(LocalReranker):
    """Scores by length, counts queries and fails at one of them."""

    def __init__(self, *, fails_at: str = "", name: str = "counting") -> None:
        self.name = name
        self.fails_at = fails_at
        self.asked: list[str] = []

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        self.asked.append(query)
        if query == self.fails_at:
            msg = "the model is gone"
            raise ModelError(msg)
        return [float(len(text)) for text in documents]


class Crowded(BaseReranker):
    """Counts how many queries are scored at once."""

    concurrency = 3

    def __init__(self) -> None:
        self.now = self.most = 0

    async def score(self, query: str, documents: Sequence[str]) -> list[float]:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return [0.0] * len(documents)


def _source(folder: Path, queries: int = 3, documents: int = 3) -> Path:
    path = folder / "queries.jsonl"
    rows = [
        {
            "query": {"id": f"q{q}", "query": f"question {q}"},
            "documents": [
                {"id": f"d{d}", "content": "x" * (d + 1), "metadata": {"n": d}}
                for d in range(documents)
            ],
        }
        for q in range(queries)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_every_document_gets_its_score(tmp_path: Path) -> None:
    """Order, ids and metadata are those of the source."""
    target = tmp_path / "out.jsonl"

    count = await Counting().annotate(_source(tmp_path), target)

    items = list(read_annotated(target))
    assert count == 3
    assert [i.query.id for i in items] == ["q0", "q1", "q2"]
    assert [(d.id, d.score, d.metadata) for d in items[1].documents] == [
        ("d0", 1.0, {"n": 0}),
        ("d1", 2.0, {"n": 1}),
        ("d2", 3.0, {"n": 2}),
    ]
    assert _names(tmp_path) == ["out.jsonl", "queries.jsonl"]


def test_the_synchronous_way_gives_the_same_file(tmp_path: Path) -> None:
    """Both twins write the same bytes."""
    source = _source(tmp_path)

    Counting().annotate_sync(source, tmp_path / "a.jsonl")
    asyncio.run(Counting().annotate(source, tmp_path / "b.jsonl"))

    a, b = (tmp_path / name for name in ("a.jsonl", "b.jsonl"))
    assert a.read_bytes() == b.read_bytes()


def test_an_interrupted_run_continues_where_it_ended(tmp_path: Path) -> None:
    """What was scored before the failure is not asked for again."""
    source, target = _source(tmp_path), tmp_path / "out.jsonl"
    with pytest.raises(ModelError, match="gone"):
        Counting(fails_at="question 2").annotate_sync(source, target)
    assert not target.exists()
    again = Counting()

    again.annotate_sync(source, target)

    assert again.asked == ["question 2"]
    assert len(list(read_annotated(target))) == 3


SLOW = """
import sys, time
from knowtrail.retrieval.rerank import LocalReranker

class Slow(LocalReranker):
    name = "slow"

    def score_sync(self, query, documents):
        time.sleep(0.1)
        return [1.0] * len(documents)

Slow().annotate_sync(*sys.argv[1:])
"""


def test_ctrl_c_ends_a_run_and_keeps_its_scores(tmp_path: Path) -> None:
    """It does not go on to the end of the file, which would take three minutes."""
    source, target = _source(tmp_path, queries=2000), tmp_path / "out.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(source), str(target)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
        # Jobs in the background of a shell ignore Ctrl-C.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            if scores_path(target).exists() and scores_path(target).stat().st_size:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    finally:
        process.kill()

    assert process.returncode == -signal.SIGINT
    assert scores_path(target).read_text().endswith("}\n")
    assert not target.exists()


@pytest.mark.parametrize("end", ['{"key": "ab', '{"key": 1}\n', "[]\nnull\n\x00\n"])
def test_a_line_that_a_crash_cut_is_passed_over(tmp_path: Path, end: str) -> None:
    """The scores that are whole are used, and the next line begins anew."""
    source, target = _source(tmp_path), tmp_path / "out.jsonl"
    with pytest.raises(ModelError):
        Counting(fails_at="question 1").annotate_sync(source, target)
    with scores_path(target).open("a") as file:
        file.write(end)
    with pytest.raises(ModelError):
        Counting(fails_at="question 2").annotate_sync(source, target)
    again = Counting()

    again.annotate_sync(source, target)

    assert again.asked == ["question 2"]


def test_scores_of_another_reranker_or_text_are_not_taken(tmp_path: Path) -> None:
    """Only the same reranker's scores of the same texts are continued with."""
    source, target = _source(tmp_path), tmp_path / "out.jsonl"
    with pytest.raises(ModelError):
        Counting(fails_at="question 2").annotate_sync(source, target)
    source.write_text(source.read_text().replace("question 1", "question one"))
    same, other = Counting(fails_at="question 2"), Counting(name="another")
    with pytest.raises(ModelError):
        same.annotate_sync(source, target)

    other.annotate_sync(source, target)

    assert same.asked == ["question one", "question 2"]
    assert len(other.asked) == 3


def test_only_the_first_documents_are_taken(tmp_path: Path) -> None:
    """The limit goes by the order of the file, and the rest is left out."""
    target = tmp_path / "out.jsonl"

    Counting().annotate_sync(_source(tmp_path), target, document_limit=2)

    assert [d.id for d in next(read_annotated(target)).documents] == ["d0", "d1"]


async def test_so_many_queries_at_once_as_the_reranker_takes(tmp_path: Path) -> None:
    """A service is asked for several, and never for more than it may be."""
    reranker = Crowded()

    await reranker.annotate(_source(tmp_path, queries=8), tmp_path / "out.jsonl")

    assert reranker.most == 3


async def test_the_source_may_be_the_target(tmp_path: Path) -> None:
    """It is read to its end before it is replaced."""
    source = _source(tmp_path)

    await Counting().annotate(source, source)

    assert len(list(read_annotated(source))) == 3


def test_a_query_without_documents_is_written_without(tmp_path: Path) -> None:
    """Nothing to score is no error."""
    target = tmp_path / "out.jsonl"

    load_reranker("bm25").annotate_sync(_source(tmp_path, documents=0), target)

    assert [len(i.documents) for i in read_annotated(target)] == [0, 0, 0]


def test_a_broken_line_stops_the_run_and_keeps_what_was_scored(tmp_path: Path) -> None:
    """The message has the line; the target is not there."""
    source, target = _source(tmp_path), tmp_path / "out.jsonl"
    lines = source.read_text().splitlines()
    source.write_text("\n".join([*lines[:2], '{"query": ', lines[2]]))

    with pytest.raises(SourceError, match="line 3"):
        Counting().annotate_sync(source, target)

    assert not target.exists()
    assert len(scores_path(target).read_text().splitlines()) == 2


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_is_refused(tmp_path: Path, limit: int) -> None:
    """No documents is no benchmark."""
    with pytest.raises(InputError, match="document limit"):
        Counting().annotate_sync(
            _source(tmp_path), tmp_path / "out.jsonl", document_limit=limit
        )


def test_places_are_checked_before_the_work(tmp_path: Path) -> None:
    """A missing source or folder costs nothing."""
    reranker = Counting()
    places = [(tmp_path / "no.jsonl", tmp_path / "out.jsonl")]
    places.append((_source(tmp_path), tmp_path / "no" / "out.jsonl"))
    places.append((_source(tmp_path), tmp_path))

    errors = [_error(reranker, *place) for place in places]

    assert [e.split(" ", 3)[:3] for e in errors[:2]] == [
        ["There", "is", "no"],
        ["There", "is", "no"],
    ]
    assert errors[2].endswith("is a folder: name a file.")
    assert reranker.asked == []


def _error(reranker: BaseReranker, source: Path, target: Path) -> str:
    with pytest.raises(InputError) as raised:
        reranker.annotate_sync(source, target)
    return str(raised.value)

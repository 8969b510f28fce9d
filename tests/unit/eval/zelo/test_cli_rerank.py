"""The commands that rank with rerankers and train one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from knowtrail.eval.zelo.cli import rerank, train
from knowtrail.graph.errors import InputError
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.rerank.datasets import read_annotated
from knowtrail.retrieval.rerank.pointwise import read_model

if TYPE_CHECKING:
    from pathlib import Path

    import click

SETTINGS = Settings(embedder="hash:16")


def _run(command: click.Command, *arguments: object) -> Result:
    """Run a command with a small embedder."""
    return CliRunner().invoke(command, [str(a) for a in arguments], obj=SETTINGS)


@pytest.fixture
def annotated(tmp_path: Path) -> Path:
    """Return six annotated queries."""
    path = tmp_path / "annotated.jsonl"
    rows = [
        {
            "query": {"id": f"q{q}", "query": f"word{q} fox"},
            "documents": [
                {"id": "good", "content": f"a fox of word{q}", "score": 1.5},
                {"id": "fair", "content": "a fox", "score": 0.0},
                {"id": "poor", "content": "an owl", "score": -1.5},
            ],
        }
        for q in range(6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rerank_writes_an_annotated_file(annotated: Path, tmp_path: Path) -> None:
    """Every document has the reranker's score in place of its own."""
    target = tmp_path / "bm25.jsonl"

    ran = _run(rerank, annotated, target, "--with", "bm25")

    scores = [d.score for d in next(read_annotated(target)).documents]
    assert ran.stdout == f"bm25 scored 6 queries: {target}.\n"
    assert scores[0] > scores[1] > scores[2] == 0


def test_rerank_tells_machines_what_it_did(annotated: Path, tmp_path: Path) -> None:
    """As one JSON object."""
    target = tmp_path / "out.jsonl"

    ran = _run(
        rerank,
        annotated,
        target,
        "--with",
        "embedding",
        "--document-limit",
        2,
        "--json",
    )

    assert json.loads(ran.stdout) == {
        "reranker": "embedding",
        "queries": 6,
        "file": str(target),
    }
    assert [len(i.documents) for i in read_annotated(target)] == [2] * 6


def test_train_writes_a_model_and_says_what_it_is_worth(
    annotated: Path, tmp_path: Path
) -> None:
    """Beside the rankings that it is made of."""
    ran = _run(train, annotated, tmp_path / "model.npz")

    assert ran.stdout.startswith("Trained on 5 queries, measured on 1: ")
    assert "embedding" in ran.stdout
    assert "nan" not in ran.stdout
    (own,) = (line for line in ran.stdout.splitlines() if "the model " in line)
    assert "-" not in own
    assert read_model(tmp_path / "model.npz").embedder == "hash:16"


def test_a_trained_model_reranks(annotated: Path, tmp_path: Path) -> None:
    """What one command writes the other reads."""
    model = tmp_path / "model.npz"
    told = json.loads(_run(train, annotated, model, "--json").stdout)

    ran = _run(rerank, annotated, tmp_path / "x.jsonl", "--with", f"pointwise:{model}")

    assert ran.exit_code == 0
    assert told["ndcg"]["value"] == pytest.approx(1)
    assert sorted(told["trained"] + told["held_out"]) == [f"q{n}" for n in range(6)]
    assert [d.id for i in read_annotated(tmp_path / "x.jsonl") for d in i.documents]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--held-out", "1"), "held-out share is 1.0"),
        (("--held-out", "nan"), "held-out share is nan"),
    ],
)
def test_a_share_that_is_none_is_refused(
    annotated: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    """And no model is written."""
    ran = _run(train, annotated, tmp_path / "model.npz", *options)

    assert isinstance(ran.exception, InputError)
    assert said in str(ran.exception)
    assert not (tmp_path / "model.npz").exists()


def test_a_model_has_its_suffix(annotated: Path, tmp_path: Path) -> None:
    """What is made is said by the name, before anything is computed."""
    ran = _run(train, annotated, tmp_path / "model.bin")

    assert isinstance(ran.exception, InputError)
    assert "must end in .npz" in str(ran.exception)

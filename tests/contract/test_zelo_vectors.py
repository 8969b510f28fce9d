"""Fits and metrics are what recorded runs of the published code gave.

The folder is `KNOWTRAIL_VECTORS`, or else the shared one; every `*.json` below its
`zelo` is read (of a folder that is itself so named, every one in it).
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knowtrail.eval.zelo.fit import Battles, fit_battles, preferences, win_matrix
from knowtrail.eval.zelo.metrics import (
    benchmark_accuracy,
    benchmark_ndcg,
    ndcg,
    recall_at_k,
)
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Query,
)
from tests.conftest import SHARED

TOLERANCE = 1e-6


def _folder() -> Path:
    """Return where the vectors are."""
    given = os.environ.get("KNOWTRAIL_VECTORS")
    root = Path(given) if given else SHARED / "vectors"
    return root / "zelo" if (root / "zelo").is_dir() else root


@cache
def _loaded(path: Path) -> dict[str, Any]:
    """Return a file of vectors."""
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return data


def _cases(kind: str) -> list[Any]:
    """Return every recorded case of a kind."""
    return [
        pytest.param(path, number, id=f"{path.stem}-{kind}-{number + 1}")
        for path in sorted(_folder().glob("*.json"))
        for number in range(len(_loaded(path).get(kind, ())))
    ]


def _battles(case: dict[str, Any]) -> Battles:
    """Return the battles of a recorded fit."""
    rows = case["battles"]
    return Battles.of(
        case["n"],
        [row["a"] for row in rows],
        [row["b"] for row in rows],
        np.array([row["scores"] for row in rows], dtype=np.float64).reshape(-1, 3),
    )


@pytest.mark.parametrize(("path", "number"), _cases("elo"))
def test_the_published_fit_is_reproduced(path: Path, number: int) -> None:
    """Wins, scores, losses and their number are those recorded."""
    case = _loaded(path)["elo"][number]
    battles = _battles(case)
    shares = preferences(battles.score, reading="published")

    wins = win_matrix(battles.n, battles.left, battles.right, shares)
    fit = fit_battles(battles, method="published")

    assert np.allclose(wins, case["w"], rtol=0, atol=TOLERANCE)
    assert fit.scores.tolist() == pytest.approx(case["elos"], abs=TOLERANCE)
    assert fit.iterations == case.get("iterations", fit.iterations)
    first = case.get("losses_first3", list(fit.losses[:3]))
    assert fit.losses[: len(first)] == pytest.approx(first, abs=TOLERANCE)
    every = case.get("losses", list(fit.losses))
    assert fit.losses == pytest.approx(every, abs=TOLERANCE)
    final = case.get("final_loss")
    assert final is None or fit.losses[-1] == pytest.approx(final, abs=TOLERANCE)


@pytest.mark.parametrize(("path", "number"), _cases("ndcg"))
def test_ndcg_of_gains_is_reproduced(path: Path, number: int) -> None:
    """Gains that are given, in place of exponentials of scores, are discounted."""
    case = _loaded(path)["ndcg"][number]
    with np.errstate(divide="ignore"):  # a gain of 0 is that of a score of -inf
        truth = np.log(np.array(case["gains"], dtype=np.float64))

    found = ndcg(truth, np.array(case["scores"], dtype=np.float64))

    assert found == pytest.approx(case["ndcg"], abs=TOLERANCE)


def _annotated(rows: list[list[float]]) -> list[AnnotatedQueryDocuments]:
    """Return queries whose documents have the scores given."""
    return [
        AnnotatedQueryDocuments(
            query=Query(id=f"q{number}", query="?"),
            documents=tuple(
                AnnotatedDocument(id=f"d{place}", content="text", score=score)
                for place, score in enumerate(scores)
            ),
        )
        for number, scores in enumerate(rows)
    ]


@pytest.mark.parametrize(("path", "number"), _cases("benchmarks"))
def test_the_published_benchmarks_are_reproduced(path: Path, number: int) -> None:
    """nDCG, accuracy and recall are those recorded, with and without a limit."""
    case = _loaded(path)["benchmarks"][number]
    truth, test = (
        _annotated(case["ground_truth_scores"]),
        _annotated(case["test_scores"]),
    )
    k = case["k"]

    found = {
        "ndcg_limit10": benchmark_ndcg(truth, test, document_limit=10),
        "ndcg_no_limit": benchmark_ndcg(truth, test),
        "accuracy_limit10": benchmark_accuracy(truth, test, document_limit=10),
        "recall_at_k_limit10": recall_at_k(truth, test, k, document_limit=10),
        "recall_k_gt3": recall_at_k(truth, test, k, k_gt=3, document_limit=10),
    }

    expected = {name: case[name] for name in found if name in case}
    assert expected
    assert [value for name in expected for value in found[name]] == pytest.approx(
        [value for values in expected.values() for value in values], abs=TOLERANCE
    )


def test_there_are_vectors() -> None:
    """Without cases there is nothing tested."""
    if not _folder().is_dir():
        if os.environ.get("CI") or os.environ.get("KNOWTRAIL_VECTORS"):
            pytest.fail(f"There are no vectors at {_folder()}")
        pytest.skip(f"put the vectors at {_folder()}")
    assert _cases("elo")
    assert _cases("ndcg")
    assert _cases("benchmarks")

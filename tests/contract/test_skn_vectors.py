"""The metrics of the SKN benchmark give what recorded runs of published code gave.

The folder is `KNOWTRAIL_VECTORS`, or else the shared one; every `*.json` below its
`skn` is read (of a folder that is itself so named, every one in it).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from knowtrail.eval.models import parse_json_reply
from knowtrail.eval.skn.metrics import (
    MEASURES,
    Scored,
    bootstrap_ci,
    calibration_rows,
    summed_gaps,
)
from knowtrail.eval.skn.phases import abstains
from tests.conftest import SHARED

TOLERANCE = 1e-12


def _folder() -> Path:
    """Return where the vectors are."""
    given = os.environ.get("KNOWTRAIL_VECTORS")
    root = Path(given) if given else SHARED / "vectors"
    return root / "skn" if (root / "skn").is_dir() else root


def _cases(kind: str) -> list[Any]:
    """Return the cases of a kind in all files."""
    return [
        pytest.param(case, id=f"{path.stem}-{kind}-{number}")
        for path in sorted(_folder().glob("*.json"))
        for number, case in enumerate(json.loads(path.read_text("utf-8")).get(kind, ()))
    ]


def test_there_are_vectors(shared: Path) -> None:
    """Every kind has cases, wherever the vectors come from."""
    kinds = ("ece", "bootstrap", "abstention", "parse")

    assert [kind for kind in kinds if not _cases(kind)] == []


@pytest.mark.parametrize("case", _cases("ece"))
def test_calibration_error_is_the_published_one(case: dict[str, Any]) -> None:
    """The bins have the same edges and the same weights."""
    rows = calibration_rows(case["confidences"], case["correct"])

    (found,) = summed_gaps(rows.mean(axis=0, keepdims=True))

    assert found == pytest.approx(case["ece"], abs=TOLERANCE)


@pytest.mark.parametrize("case", _cases("bootstrap"))
def test_intervals_are_the_published_ones(case: dict[str, Any]) -> None:
    """The same resamples are drawn, and the same digits are kept."""
    assert bootstrap_ci(case["values"]) == case["result"]


@pytest.mark.parametrize("case", _cases("abstention"))
def test_abstention_is_the_published_one(case: dict[str, Any]) -> None:
    """The same phrases refuse, and the same shares are made of them."""
    refused = [abstains(row["answer"]) for row in case["rows"]]
    samples = [
        _sample(answerable=row["answerable"], abstained=said)
        for row, said in zip(case["rows"], refused, strict=True)
    ]

    found = {of.name: of.value(samples) for of in MEASURES}

    assert refused == [row["abstained"] for row in case["rows"]]
    for name in ("precision", "recall", "f1"):
        assert found[f"abstention_{name}"] == case["metrics"][name]


def _sample(*, answerable: bool, abstained: bool) -> Scored:
    """Return a sample of which nothing else matters."""
    return Scored(
        id="a",
        category="other",
        answerable=answerable,
        correct=None,
        confidence=None,
        hallucinated=False,
        severity=0.0,
        normalized=0.0,
        groundedness=1.0,
        unsupported=0.0,
        abstained=abstained,
    )


@pytest.mark.parametrize("case", _cases("parse"))
def test_replies_are_read_alike(case: dict[str, Any]) -> None:
    """JSON alone, fenced, or among words is the same value."""
    assert parse_json_reply(case["raw"]) == case["parsed"]

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
    abstains,
    abstention_metrics,
    bootstrap_ci,
    expected_calibration_error,
)
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
    found = expected_calibration_error(case["confidences"], case["correct"])

    assert found == pytest.approx(case["ece"], abs=TOLERANCE)


@pytest.mark.parametrize("case", _cases("bootstrap"))
def test_intervals_are_the_published_ones(case: dict[str, Any]) -> None:
    """The same resamples are drawn, and the same digits are kept."""
    assert bootstrap_ci(case["values"]) == case["result"]


@pytest.mark.parametrize("case", _cases("abstention"))
def test_abstention_is_the_published_one(case: dict[str, Any]) -> None:
    """The same phrases refuse, and the same counts are made of them."""
    refused = [abstains(row["answer"]) for row in case["rows"]]
    answers = [
        {"answerable": row["answerable"], "answer": row["answer"]}
        for row in case["rows"]
    ]

    assert refused == [row["abstained"] for row in case["rows"]]
    assert abstention_metrics(answers) == case["metrics"]


@pytest.mark.parametrize("case", _cases("parse"))
def test_replies_are_read_alike(case: dict[str, Any]) -> None:
    """JSON alone, fenced, or among words is the same value."""
    assert parse_json_reply(case["raw"]) == case["parsed"]

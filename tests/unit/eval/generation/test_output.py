"""What `dataset generate` says where there is nothing to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.eval.generation.cli import write_made
from knowtrail.eval.generation.contexts import Grouped
from knowtrail.eval.generation.questions import GeneratedQuestions
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_corpus_without_contexts_is_no_fault_of_the_model(tmp_path: Path) -> None:
    """Where nothing was asked, no larger model is advised, and no file written."""
    path = tmp_path / "asked.jsonl"
    nothing = GeneratedQuestions(questions=(), failures=())
    grouped = Grouped(groups=(), missing={"intra_document": 2})

    with pytest.raises(InputError, match="choose another --grouping"):
        write_made(path, nothing, grouped, [], as_json=False)

    assert not path.exists()

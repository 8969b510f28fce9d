"""The command that measures retrieval, as far as it needs no server."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from graph.cli import knowtrail

DATA = ("eval", "retrieval", "--dataset", "jsonl:none.jsonl,none.jsonl")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--algorithms", "bm25", "--base", "dense"), "--algorithms dense,bm25"),
        (("--algorithms", "bm25", "--base", "bm25"), "Cannot read none.jsonl"),
        (("--algorithms", "bm25,rrf"), "Cannot read none.jsonl"),
    ],
)
def test_a_base_that_was_asked_for_must_be_measured(
    options: tuple[str, ...], said: str
) -> None:
    """Differences from another one would pass for those that were asked for."""
    done = CliRunner().invoke(knowtrail, [*DATA, *options])

    assert done.exit_code != 0
    assert said in f"{done.output}{done.exception}"

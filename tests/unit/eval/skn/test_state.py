"""What is finished is on disk, whole, whatever happens."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InputError, StorageError
from knowtrail.graph.files.journal import State

if TYPE_CHECKING:
    from pathlib import Path


def test_results_outlive_the_run(tmp_path: Path) -> None:
    """A second run has what the first one kept."""
    with State(tmp_path / "new" / "folder") as first:
        first.put("k", {"a": "ä\ud800"}, phase="search")

    with State(tmp_path / "new" / "folder") as second:
        found = second.get("k"), second.get("other")

    assert found == ({"a": "ä\ud800"}, None)
    assert (second.reused, second.added) == (1, 0)


def test_half_a_line_is_dropped(tmp_path: Path) -> None:
    """What a crash left behind neither counts nor spoils what follows."""
    with State(tmp_path) as state:
        state.put("k", 1)
    path = tmp_path / "state.jsonl"
    path.write_bytes(path.read_bytes() + b'{"key": "half", "val')

    with State(tmp_path) as state:
        state.put("next", 2)

    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line["key"] for line in lines] == ["k", "next"]


def test_a_file_of_half_a_line_is_empty(tmp_path: Path) -> None:
    """A crash in the first line leaves nothing."""
    (tmp_path / "state.jsonl").write_bytes(b'{"key"')

    with State(tmp_path) as state:
        state.put("k", 1)

    assert json.loads((tmp_path / "state.jsonl").read_text("utf-8"))["key"] == "k"


def test_a_damaged_line_costs_only_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Results behind a damaged line are still there."""
    lines = ['{"key": "a", "value": 1}', "garbage", "[]", '{"key": "b", "value": 2}']
    (tmp_path / "state.jsonl").write_text("\n".join(lines) + "\n", "utf-8")

    with State(tmp_path) as state:
        found = state.get("a"), state.get("b")

    assert found == (1, 2)
    assert [record.args[1] for record in caplog.records] == [2, 3]


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """A second run in the same folder is told so."""
    with State(tmp_path), pytest.raises(InputError, match="Another run writes to"):
        State(tmp_path)


def test_a_full_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that did not fit is taken back, and the message says what to do."""
    with State(tmp_path) as state:
        state.put("k", 1)
        before = state.path.read_bytes()

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match=r"No space left.*is kept: make room"):
            state.put("other", 2)
        monkeypatch.undo()
        state.put("third", 3)

    assert state.path.read_bytes().startswith(before)
    with State(tmp_path) as again:
        assert [again.get(key) for key in ("k", "other", "third")] == [1, None, 3]


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    """No folder, no run."""
    (tmp_path / "file").write_text("", "utf-8")

    with pytest.raises(StorageError, match=r"Cannot write .* can be written\."):
        State(tmp_path / "file")

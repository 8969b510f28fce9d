"""Lines and JSON Lines, as every reader of them takes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import portalocker
import pytest

from knowtrail.eval.specificity.judging import bundled_questions, load_questions
from knowtrail.eval.specificity.measures import read_results
from knowtrail.graph.errors import SourceError, StorageError
from knowtrail.graph.files import read_json_lines, read_lines, whole_file, write_file
from knowtrail.graph.files.journal import LineJournal
from knowtrail.graph.files.whole import held_file
from knowtrail.graph.server.folder import FolderLock
from knowtrail.retrieval.rerank.datasets import read_queries
from tests.cases import each
from tests.disks import lockless

if TYPE_CHECKING:
    from collections.abc import Callable

ODD = "one\u2028two\u0085three\x0bfour"
"""Characters at which Python splits lines, and JSON does not."""


def _written(path: Path, *rows: object) -> Path:
    """Write JSON Lines with a byte-order mark, nothing escaped that need not be."""
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_bytes("\ufeff{}\r\n\n".format("\n\n".join(lines)).encode())
    return path


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    """Numbers count blank lines, which are passed over."""
    path = _written(tmp_path / "a.jsonl", {"a": ODD}, [1], None)

    assert [number for number, _ in read_lines(path)] == [1, 3, 5]
    assert list(read_json_lines(path)) == [
        (1, {"a": ODD}),
        (3, [1]),
        (5, None),
    ]


def test_every_reader_takes_the_same_lines(tmp_path: Path) -> None:
    """A byte-order mark and U+2028 in a text are read wherever JSON Lines are."""
    label = json.loads(bundled_questions("dev").read_text("utf-8").split("\n")[0])
    query = {"query": {"id": "q", "query": ODD}, "documents": []}
    result = {"session": ODD, "quality": 1.0}
    paths = [
        _written(tmp_path / f"{place}.jsonl", row)
        for place, row in enumerate(({**label, "question": ODD}, query, result))
    ]

    (asked,) = load_questions(paths[0])
    (ranked,) = read_queries(paths[1])

    assert (asked.question, ranked.query.query) == (ODD, ODD)
    assert read_results(paths[2]).sessions == (ODD,)
    assert [value for _, value in read_json_lines(paths[1])] == [query]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n{"a"', "line 2 is no JSON.*breaks off"),
        (b'{"a": 1}\n"\xff"', "line 2 is not UTF-8"),
        (b"[" * 100_000, "line 1: nested too deep"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, data: bytes, message: str) -> None:
    """The message has file and line."""
    path = tmp_path / "bad.jsonl"
    path.write_bytes(data)

    with pytest.raises(SourceError, match=rf"bad\.jsonl, {message}"):
        list(read_json_lines(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """So is what the system says of it."""
    with pytest.raises(SourceError, match=r"none\.jsonl cannot be read: No such file"):
        list(read_lines(tmp_path / "none.jsonl"))


def test_a_file_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses power has the old file or the whole new one."""
    done, sync, replace = [], os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        sync(descriptor)
        done.append(("synced", os.fstat(descriptor).st_size))

    def replaced(path: Path, place: Path) -> Path:
        done.append(("replaced", path.stat().st_size))
        return replace(path, place)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_file(tmp_path / "notes.txt", "x" * 100_000)

    assert done == [("synced", 100_000), ("replaced", 100_000)]


def test_drafts_of_killed_writers_are_removed(tmp_path: Path) -> None:
    """The next write clears them away, but nothing new, of others or being written."""
    drafts = {n: tmp_path / f".{n * 12}.part" for n in "abc"}
    others = tmp_path / ".notes.part"
    killed = (
        "import os, sys; from knowtrail.graph.files import whole_file\n"
        "with whole_file(sys.argv[1]) as file: os._exit(9)"
    )
    run = subprocess.run([sys.executable, "-c", killed, tmp_path / "x"], check=False)
    assert run.returncode == 9
    (left,) = tmp_path.iterdir()
    left.rename(drafts["a"])
    for path in (drafts["b"], drafts["c"], others):
        path.write_bytes(b"")
    for path in (drafts["a"], drafts["c"], others):
        os.utime(path, (0, 0))

    with drafts["c"].open("r+b") as file:
        portalocker.lock(file, portalocker.LOCK_EX)
        write_file(tmp_path / "notes.txt", "new")

    left_names = {path.name for path in tmp_path.iterdir()}
    assert left_names == {drafts["b"].name, drafts["c"].name, others.name, "notes.txt"}


def test_a_draft_is_locked_while_it_is_written(tmp_path: Path) -> None:
    """So nobody takes one for that of a killed writer, however long it takes."""
    with whole_file(tmp_path / "notes.txt"):
        (draft,) = tmp_path.iterdir()
        with (
            draft.open("r+b") as file,
            pytest.raises(portalocker.LockException),
        ):
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)


def test_a_file_takes_its_place_whole_or_not_at_all(tmp_path: Path) -> None:
    """What breaks off leaves the old file and nothing beside it."""
    place = tmp_path / "notes.txt"
    write_file(place, "old\n")

    with suppress(KeyError), whole_file(place) as file:
        file.write("new")
        raise KeyError

    assert place.read_text("utf-8") == "old\n"
    assert list(tmp_path.iterdir()) == [place]
    with pytest.raises(StorageError, match="Choose another place"):
        write_file(tmp_path / "none" / "x.png", b"1")


@each(
    "use",
    [
        lambda folder: held_file(folder / "lock", StorageError("held")).__enter__(),
        lambda folder: LineJournal(folder / "state.jsonl"),
        lambda folder: FolderLock(folder / "a.lock").acquire(timeout=0.1),
    ],
)
def test_a_disk_without_locks_is_told_in_one_line(
    use: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for a file that another command holds."""
    lockless(monkeypatch)

    with pytest.raises(
        StorageError,
        match=r"^Cannot lock [^()]*: \[Errno \d+\] No l[^()]* another disk\.$",
    ):
        use(tmp_path)

"""Sources are looked at before anything is written for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.records import Failure, RawDocument, begun
from knowtrail.ingest.sources.files import FilesSource
from knowtrail.ingest.sources.jsonl import JsonlSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.ingest.records import Item

GOOD = '{"id": "a", "text": "One line."}\n'


def test_failures_before_the_first_document_are_kept(tmp_path: Path) -> None:
    """Bad lines fail alone, in their order, wherever they stand."""
    path = tmp_path / "a.jsonl"
    path.write_text(f"one\ntwo\n{GOOD}three\n")

    with begun([JsonlSource([path])]) as begin:
        items = list(begin)

    assert [type(item) for item in items] == [Failure, Failure, RawDocument, Failure]


def test_lines_of_no_use_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    """The error is raised by looking at the source, not by reading it on."""
    path = tmp_path / "a.jsonl"
    path.write_text("one\ntwo\n")

    with pytest.raises(SourceError, match=r"No line of a.jsonl .* a.jsonl:1: not JSON"):
        begun([JsonlSource([path])]).__enter__()


def test_a_folder_of_no_use_is_refused(tmp_path: Path) -> None:
    """Files that are all no text are one error, with the first of them."""
    (tmp_path / "a.txt").write_bytes(b"\0\0")
    (tmp_path / "b.txt").write_bytes(b"\xff")

    with pytest.raises(SourceError, match=r"Nothing in .*: a.txt: not text"):
        begun([FilesSource(tmp_path)]).__enter__()


def test_a_source_that_is_left_is_closed(tmp_path: Path) -> None:
    """At once, not when the collector comes to it: an error may keep it for long."""
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD * 10)
    ended = []

    class Told(JsonlSource):
        def items(self) -> Iterator[Item]:
            try:
                yield from super().items()
            finally:
                ended.append(True)

    with pytest.raises(RuntimeError), begun([Told([path])]) as items:  # noqa: PT012
        kept = items
        next(items)
        raise RuntimeError

    assert ended == [True]
    assert list(kept) == []

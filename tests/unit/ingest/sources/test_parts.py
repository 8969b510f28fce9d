"""Pieces of sources together have what the whole has, however they are cut."""

from __future__ import annotations

import bz2
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.ingest.records import Damage
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.sources.files import FilesSource
from knowtrail.ingest.sources.jsonl import JsonlSource
from tests.dumps import HEAD, TAIL, dump, multistream, page

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [page(f"Ä {n}", f"Text <page> {n}. " * 9, number=n) for n in range(12)]
WHOLE = dump(*PAGES)
STREAMS = multistream(PAGES, each=3)
CUT_ANYWHERE = b"".join(
    bz2.compress(WHOLE.encode()[n : n + 500]) for n in range(0, len(WHOLE) + 99, 500)
)


def _in_pieces(source: Any, size: int) -> tuple[int, list[Any]]:
    parts = list(source.parts(size))
    return len(parts), [item for part in parts for item in source.part_items(part)]


@pytest.mark.parametrize("size", [1, 700, 1 << 20])
@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (WHOLE.encode(), 13),
        (b"\xef\xbb\xbf" + WHOLE.encode(), 13),
        (STREAMS, 5),
        (bz2.compress(WHOLE.encode()), 1),
        (CUT_ANYWHERE, 1),
        (gzip.compress(WHOLE.encode()), 1),
        (WHOLE.encode("utf-16"), 1),
        (WHOLE[:-300].encode(), 13),
        (STREAMS[:-40], 5),
    ],
    ids=["plain", "bom", "multistream", "one stream", "streams cut anywhere", "gzip",
         "utf-16", "broken off", "streams broken off"],
)  # fmt: skip
def test_pieces_of_a_dump_are_the_dump(
    tmp_path: Path, data: bytes, pieces: int, size: int
) -> None:
    """Where a dump breaks off, all pages before are there, and it is told."""
    path = tmp_path / "dump"
    path.write_bytes(data)
    source = DumpSource([path])

    count, items = _in_pieces(source, size)

    whole = list(source.items())
    assert [i for i in items if not isinstance(i, Damage)] == [
        i for i in whole if not isinstance(i, Damage)
    ]
    assert [type(i) for i in items] == [type(i) for i in whole]
    assert count == (pieces if size == 1 else 1 if size == 1 << 20 else count)


@pytest.mark.parametrize("size", [1, 90, 1 << 20])
@pytest.mark.parametrize("end", ["\n", ""])
def test_pieces_of_lines_number_them_as_the_whole_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, end: str
) -> None:
    """Records without id have the key of their line, failures its number."""
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({"text": f"Ein Täxt {n}.", "n": n}) for n in range(20)]
    rows[7:7] = ["", "no JSON", "x" * 400]
    path = tmp_path / "rows.jsonl"
    path.write_text("\ufeff" + "\n".join(rows) + end, "utf-8")
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    source = JsonlSource([path.relative_to(tmp_path), packed])
    whole, length = list(source.items()), source.size

    parts = list(source.parts(size))
    monkeypatch.chdir("/")  # as the folder of a worker is another
    items = [item for part in parts for item in source.part_items(part)]

    assert items == whole
    assert (len(parts) == 2) == (size == 1 << 20)
    assert sum(part.weight for part in parts) == length


def test_pieces_of_files_link_to_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is the same document, with its links, in a piece of its own."""
    monkeypatch.chdir(tmp_path)
    for n in range(5):
        text = f"# Title {n}\n\nTo [next](f{n + 1}.md), [[f{(n + 2) % 5}]].\n"
        (tmp_path / f"f{n}.md").write_text(text)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    source = FilesSource(["."])
    source.settle(None, new=True)
    whole = list(source.items())

    parts = list(source.parts(1))
    monkeypatch.chdir("/")
    items = [item for part in parts for item in source.part_items(part)]

    assert (len(parts), sorted(items, key=repr)) == (6, sorted(whole, key=repr))


def test_standard_input_is_for_one_process() -> None:
    """It says what to do."""
    with pytest.raises(InputError, match="name a file"):
        list(JsonlSource(["-"]).parts(1))


def test_a_dump_without_pages_is_one_piece(tmp_path: Path) -> None:
    """Nor are there pages in the piece."""
    path = tmp_path / "dump.xml"
    path.write_text(HEAD + TAIL)

    assert _in_pieces(DumpSource([path]), 1) == (1, [])

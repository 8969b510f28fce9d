"""JSON Lines as a source."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.records import (
    Damage,
    Failure,
    LeftOut,
    Link,
    RawDocument,
    Section,
)
from knowtrail.ingest.sources.jsonl import JsonlSource

GOOD = b'{"id": "a", "text": "A text."}\n'


def _read(path: Path, data: bytes, **options: Any) -> list[Any]:
    path.write_bytes(data)
    return list(JsonlSource([path], **options).items())


def _one(tmp_path: Path, record: dict[str, Any]) -> Any:
    """Read one record beside a good one, so that the file is usable."""
    line = json.dumps(record).encode()
    return _read(tmp_path / "f.jsonl", line + b"\n" + GOOD)[0]


def test_every_known_key_arrives(tmp_path: Path) -> None:
    """Keys with a meaning go to their fields, the others to metadata."""
    record = {
        "id": "q1",
        "title": "Rivers",
        "text": "The Nile is long. It floods.",
        "url": "https://example.org/rivers",
        "revision": 7,
        "language": "en-GB",
        "links": [{"start": 4, "end": 8, "target": "Nile"}],
        "sections": [{"title": "Floods", "start": 18}],
        "categories": ["Water"],
        "metadata": {"score": 0.5, "none": None},
        "checked": True,
    }

    found = _one(tmp_path, record)

    assert found == RawDocument(
        source_id="q1",
        title="Rivers",
        raw="The Nile is long. It floods.",
        url="https://example.org/rivers",
        revision="7",
        language="en-GB",
        links=(Link(start=4, end=8, target="Nile"),),
        sections=(Section(title="Floods", start=18, level=2),),
        categories=("Water",),
        source="f.jsonl",
        metadata={"score": 0.5, "checked": True},
    )


def test_ready_made_sentences_make_the_text(tmp_path: Path) -> None:
    """Sentences are joined by one space and kept."""
    found = _one(tmp_path, {"title": "T", "sentences": ["One.", "Two."]})

    assert (found.raw, found.sentences) == ("One. Two.", ("One.", "Two."))


def test_id_falls_back_to_title_then_to_the_place(tmp_path: Path) -> None:
    """Records without id or title get a key of file name and line."""
    data = b'{"title": "T", "text": "x"}\n{"text": "x"}\n{"text": "x"}\n'

    titled, second, third = _read(tmp_path / "f.jsonl", data)
    again = _read(tmp_path / "f.jsonl", data)

    assert titled.source_id == "T"
    assert second.source_id != third.source_id
    assert [again[1].source_id, again[1].title] == [second.source_id, "f.jsonl:2"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"title": "T"}, "neither 'text' nor 'sentences'"),
        ({"text": 5}, "'text' is the number 5"),
        ({"text": "x", "title": ["a"]}, "'title' is a list"),
        ({"text": "x", "id": True}, "'id' is true or false"),
        ({"text": "x", "sentences": ["y"]}, "not the join"),
        ({"sentences": "x"}, "'sentences' is not a list"),
        ({"sentences": ["x", None]}, "has a null"),
        ({"text": "x", "metadata": []}, "'metadata' is not an object"),
        ({"text": "x", "metadata": {" ": 1}}, "is blank"),
        ({"text": "x", "a\0b": 1}, "has a NUL"),
        ({"text": "x", "big": 2**63}, "at most 64 bits"),
        ({"text": "x", "big": [2**63]}, "at most 64 bits"),
        ({"text": "x", "links": [{"start": 0, "end": 2, "target": "A"}]}, "not fit"),
        ({"text": "x", "links": [{"start": 0, "end": 1, "target": " "}]}, "not fit"),
        ({"text": "x", "links": [[0, 1, "A"]]}, "no whole number 'start'"),
        ({"text": "x", "links": {"start": 0}}, "'links' is not a list"),
        ({"text": "x", "sections": [{"start": 9, "title": "S"}]}, "does not fit"),
        ({"text": "x", "sections": [{"start": 0, "title": "S", "level": 9}]}, "levels"),
        ({"text": "x", "categories": [1]}, "'categories' is the number 1"),
    ],
)
def test_wrong_value_fails_its_line_only(
    tmp_path: Path, record: dict[str, Any], reason: str
) -> None:
    """The failure names the line and the reason; the next line is read."""
    data = json.dumps(record).encode() + b"\n" + GOOD

    failure, document = _read(tmp_path / "f.jsonl", data)

    assert isinstance(failure, Failure)
    assert failure.title == "f.jsonl:1"
    assert reason in failure.message
    assert document.source_id == "a"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "\xff"}', "invalid UTF-8 at byte 10"),
        (b'{"text": "x"', "not JSON"),
        (b'["x"]', "not a JSON object"),
        (b'{"text": "x", "score": NaN}', "NaN is no JSON number"),
        (b"[" * 100_000, "not usable JSON"),
        (b'{"text": "x", "n": ' + b"9" * 5_000 + b"}", "not usable JSON"),
        (b'{"text": "x", "n": 1e999}', "'n' is the number inf"),
    ],
)
def test_unreadable_line_fails_alone(tmp_path: Path, line: bytes, reason: str) -> None:
    """Broken bytes or broken JSON cost one line."""
    failure, document = _read(tmp_path / "f.jsonl", line + b"\n" + GOOD)

    assert reason in failure.message
    assert document.source_id == "a"


def test_long_line_fails_without_being_held(tmp_path: Path) -> None:
    """A line beyond the limit is passed over in small pieces."""
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"text": "' + b"x" * 30_000_000 + b'"}\n' + GOOD)
    source = JsonlSource([path], max_line=100_000)

    tracemalloc.start()
    failure, document = list(source.items())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert "longer than 100,000 bytes" in failure.message
    assert document.source_id == "a"
    assert peak < 3_000_000


def test_blank_text_is_left_out(tmp_path: Path) -> None:
    """A record without anything to read is counted, not stored."""
    found = _one(tmp_path, {"title": "T", "text": " \n"})

    assert found == LeftOut(title="T", reason="empty", source_id="T")


def test_stray_surrogates_are_replaced(tmp_path: Path) -> None:
    """An escape that is half a character cannot reach the database."""
    found = _one(tmp_path, {"title": "\ud800", "text": "a\udfffb", "m": "\ud800"})

    assert (found.title, found.raw, found.metadata) == (
        "\ufffd",
        "a\ufffdb",
        {"m": "\ufffd"},
    )


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, bytes])
def test_compression_is_told_by_the_content(tmp_path: Path, compress: Any) -> None:
    """The name of the file does not matter."""
    found = _read(tmp_path / "f.dat", compress(b"\xef\xbb\xbf" + GOOD + b"\n\n" + GOOD))

    assert [document.source_id for document in found] == ["a", "a"]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_truncated_file_keeps_what_came_before(tmp_path: Path, compress: Any) -> None:
    """The damage says after which line the file breaks off."""
    lines = b"".join(
        json.dumps({"id": str(i), "text": f"{i * 7919 % 100_003}"}).encode() + b"\n"
        for i in range(20_000)
    )
    data = compress(lines)

    found = _read(tmp_path / "f.gz", data[: len(data) * 2 // 3])

    assert isinstance(found[-1], Damage)
    assert all(isinstance(item, RawDocument) for item in found[:-1])
    assert f"after line {len(found) - 1}" in found[-1].message


def test_file_without_a_usable_line_is_refused_at_its_end(tmp_path: Path) -> None:
    """The error quotes the first line's reason."""
    path = tmp_path / "f.jsonl"
    path.write_text("one\ntwo\n")
    seen = []

    with pytest.raises(SourceError, match=r"No line of f\.jsonl.*f\.jsonl:1: not JSON"):
        seen.extend(JsonlSource([path]).items())


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (["a", "b"], ["a", "b"]),
        ([1, None, 2], [1, 2]),
        ([1, 2.5], [1.0, 2.5]),
        ([True, False], [True, False]),
        ([], []),
        ([1, "a"], '[1, "a"]'),
        ([1, True], "[1, true]"),
        ([["a"]], '[["a"]]'),
        ({"b": 1, "a": {"ü": None}}, '{"a": {"ü": null}, "b": 1}'),
    ],
)
def test_lists_stay_lists_and_what_is_nested_becomes_json(
    tmp_path: Path, value: object, stored: object
) -> None:
    """A record with more than scalars is stored, with all that it says."""
    loose = _one(tmp_path, {"text": "x", "more": value})
    given = _one(tmp_path, {"text": "x", "metadata": {"more": value}})

    found = loose.metadata["more"], given.metadata["more"]

    assert repr(found) == repr((stored, stored))


def test_records_without_id_or_title_are_known_by_the_path_of_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of one name in two folders differ, however the paths are written."""
    paths = [Path(folder, "part-0.jsonl") for folder in ("a", "b")]
    for path in paths:
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text('{"text": "One."}\n')
    monkeypatch.chdir(tmp_path)

    ids = [item.source_id for item in JsonlSource(paths).items()]
    whole = [item.source_id for item in JsonlSource(map(Path.absolute, paths)).items()]

    assert len(set(ids)) == 2
    assert whole == ids


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_empty_file_is_refused(tmp_path: Path, data: bytes) -> None:
    """Nothing to read is an error of the caller's."""
    with pytest.raises(SourceError, match="one JSON object a line"):
        _read(tmp_path / "f.jsonl", data)


def test_missing_file_folder_and_no_file_are_refused(tmp_path: Path) -> None:
    """The error comes before anything is read."""
    with pytest.raises(SourceError, match="No such file"):
        JsonlSource([tmp_path / "none.jsonl"]).items()
    with pytest.raises(SourceError, match="is a folder"):
        JsonlSource([tmp_path]).items()
    with pytest.raises(SourceError, match="name at least one"):
        JsonlSource([]).items()


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads standard input, which stays open."""
    stream = io.TextIOWrapper(io.BytesIO(GOOD + b"bad\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    source = JsonlSource(["-"])

    document, failure = source.items()

    assert (document.source_id, failure.title) == ("a", "stdin:2")
    assert (source.size, source.name, stream.closed) == (None, "stdin", False)


def test_position_reaches_the_size_and_reading_starts_again(tmp_path: Path) -> None:
    """Progress counts bytes on disk over all files, for every reading anew."""
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    paths[0].write_bytes(GOOD)
    paths[1].write_bytes(gzip.compress(GOOD))
    source = JsonlSource(paths)

    first = list(source.items())
    second = list(source.items())

    assert first == second
    assert source.position == source.size

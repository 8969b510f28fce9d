"""Files of institutions: CSV and JSON Lines, sound and broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from graph.errors import InputError, SourceError
from ingest.custodians import CustodianFile

if TYPE_CHECKING:
    from pathlib import Path


def _file(folder: Path, text: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_rows_are_read_by_field(tmp_path: Path) -> None:
    """Columns are renamed, blanks left out, quoted commas kept."""
    path = _file(
        tmp_path,
        '\ufefftitle,institution_address,website\r\n"A, B","1 Road,Leeds",\r\n',
    )

    (found,) = CustodianFile(path).rows()

    assert found == ("rows.csv:2", {"name": "A, B", "address": "1 Road,Leeds"})


def test_json_lines_are_read_by_field(tmp_path: Path) -> None:
    """Numbers become text and nulls are left out."""
    record = {"name": "N", "founded": 1887, "budget": 1.5, "isil": None}
    path = _file(tmp_path, "\n" + json.dumps(record) + "\n", "rows.jsonl")

    (found,) = CustodianFile(path).rows()

    assert found == ("rows.jsonl:2", {"name": "N", "founded": "1887", "budget": "1.5"})


def test_columns_of_later_records_count(tmp_path: Path) -> None:
    """A field that only the second record has is read too."""
    path = _file(tmp_path, '{"name": "A"}\n{"name": "B", "city": "Ghent"}\n', "r.jsonl")

    rows = [row for _, row in CustodianFile(path).rows()]

    assert rows == [{"name": "A"}, {"name": "B", "city": "Ghent"}]


def test_mapping_chooses_the_column(tmp_path: Path) -> None:
    """What the caller says goes before the names."""
    path = _file(tmp_path, "name,label\nA,B\n")

    (found,) = CustodianFile(path, {"name": "label"}).rows()

    assert found[1] == {"name": "B"}


def test_unusable_rows_are_told_and_the_rest_read(tmp_path: Path) -> None:
    """Broken JSON, another shape and nested values fail alone."""
    lines = ['{"name": "A"}', "{", "[1]", '{"name": ["B"]}', '{"name": true}']
    path = _file(tmp_path, "\n".join(lines), "rows.jsonl")

    file = CustodianFile(path)

    assert [place for place, _ in file.problems] == [
        "rows.jsonl:2",
        "rows.jsonl:3",
        "rows.jsonl:4",
        "rows.jsonl:5",
    ]
    assert (file.rows_total, len(list(file.rows()))) == (5, 1)


def test_row_with_too_many_cells_fails_alone(tmp_path: Path) -> None:
    """A comma that is not quoted does not shift values into other columns."""
    path = _file(tmp_path, "name,city\nA,Leeds\nB,Leeds,extra\n")

    file = CustodianFile(path)

    assert [message for _, message in file.problems] == [
        "3 cells, but 2 columns: quote cells that have commas"
    ]
    assert [row["name"] for _, row in file.rows()] == ["A"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no usable row"),
        (b"name,city\n", "no usable row"),
        (b"name\nCaf\xe9\n", "not UTF-8"),
        (b'name\n"open\n', "rows.csv:2 is no CSV"),
        (b'name\nA\n"open\n', "rows.csv:3 is no CSV.*quote that is not closed"),
        (b"name,city,name\nA,B,C\n", "several columns 'name'"),
        (b"name;city\nA;B\n", "semicolons between its columns"),
        (b"{\n", "no usable row"),
    ],
)
def test_file_that_is_none_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    """The message says what is wrong with the file."""
    path = tmp_path / "rows.csv"
    path.write_bytes(data)

    with pytest.raises(SourceError, match=reason):
        CustodianFile(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """A path that is not there, and a folder, are the user's mistake."""
    with pytest.raises(SourceError, match="Cannot read"):
        CustodianFile(tmp_path / "none.csv")
    with pytest.raises(SourceError, match="Cannot read"):
        CustodianFile(tmp_path)


def test_file_without_names_is_refused(tmp_path: Path) -> None:
    """Without a column for the name the message tells how to say which."""
    path = _file(tmp_path, "label\nA\n")

    with pytest.raises(InputError, match="--map name=COLUMN"):
        CustodianFile(path)


def test_website_in_another_column_is_found(tmp_path: Path) -> None:
    """A row whose cells have moved gives its website, and says where it stood."""
    text = "title,area,website\nN,http://n.org/a,\nM,Kent,http://m.org\n"

    rows = [row for _, row in CustodianFile(_file(tmp_path, text)).rows()]

    assert rows == [
        {"name": "N", "url": "http://n.org/a", "url_column": "area"},
        {"name": "M", "url": "http://m.org"},
    ]

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


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "r.jsonl:2: not JSON: .*Nothing was stored"),
        ("[1]", "r.jsonl:2: not a JSON object"),
        ('{"name": ["B"]}', "r.jsonl:2: 'name' is no text or number"),
        ('{"name": true}', "r.jsonl:2: 'name' is no text or number"),
        ('{"name": "' + "x" * 1_000_000 + '"}', "r.jsonl:2: the line is longer than"),
        ("{\n[", "r.jsonl:2: not JSON: .*character 2.*; 2 rows in all cannot be read"),
    ],
)
def test_one_broken_line_refuses_the_file(
    tmp_path: Path, line: str, reason: str
) -> None:
    """What cannot be read is told by its place before anything is made of the rest."""
    path = _file(tmp_path, f'{{"name": "A"}}\n{line}\n{{"name": "C"}}\n', "r.jsonl")

    with pytest.raises(SourceError, match=reason):
        CustodianFile(path)


def test_nested_values_that_no_field_is_read_from_are_left_alone(
    tmp_path: Path,
) -> None:
    """A list in a column that means nothing here does no harm."""
    path = _file(tmp_path, '{"name": "A", "tags": ["x"], "open": true}\n', "r.jsonl")

    rows = [row for _, row in CustodianFile(path).rows()]

    assert rows == [{"name": "A"}]


def test_row_with_too_many_cells_refuses_the_file(tmp_path: Path) -> None:
    """A comma that is not quoted does not shift values into other columns."""
    path = _file(tmp_path, "name,city\nA,Leeds\nB,Leeds,extra\n")

    with pytest.raises(SourceError, match=r"rows.csv:3: 3 cells, but 2 columns: quote"):
        CustodianFile(path)


def test_a_file_that_is_broken_later_is_not_read_on(tmp_path: Path) -> None:
    """A row that was sound before and is no more ends the reading."""
    path = _file(tmp_path, '{"name": "A"}\n{"name": "B"}\n', "r.jsonl")
    file = CustodianFile(path)
    path.write_text('{"name": "A"}\n{', encoding="utf-8")

    with pytest.raises(SourceError, match="changed while it was read"):
        list(file.rows())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "has no row"),
        (b"name,city\n", "has no row"),
        (b"name\nCaf\xe9\n", "not UTF-8"),
        (b'name\n"open\n', "rows.csv:2 is no CSV"),
        (b'name\nA\n"open\n', "rows.csv:3 is no CSV.*quote that is not closed"),
        (b"name,city,name\nA,B,C\n", "several columns 'name'"),
        (b"name;city\nA;B\n", "semicolons between its columns"),
        (b"{\n", "rows.csv:1: not JSON"),
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

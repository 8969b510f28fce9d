"""Tables of results, as text, HTML, Markdown and separated values."""

from __future__ import annotations

import csv
import datetime
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo import Node, Record, Table

KEYS = ["name", "age", "f", "list"]
ROWS = [
    ["Alice", 33, 1.5, None],
    ["Bob | x", None, 2.25, [1, "a"]],
    ['<b>"C"</b>,\nnew\x1b[31m', 55, -3.125, {"a": True}],
]
CELLS = st.one_of(
    st.none(), st.integers(-99, 99), st.text(st.characters(codec="utf-8"))
)


def _written(table: Table, method: str, *args: Any, **options: Any) -> str:
    """Return what a method writes."""
    file = io.StringIO()
    getattr(table, method)(*args, file, **options)
    return file.getvalue()


@pytest.fixture
def table() -> Table:
    """Return a table of three rows."""
    return Table(ROWS, keys=KEYS)


def test_text_is_aligned_and_numbers_are_right(table: Table) -> None:
    """Columns are as wide as their widest value; control characters are shown."""
    assert _written(table, "write", header=True) == (
        " name          |  age |      f | list      \r\n"
        "---------------|------|--------|-----------\r\n"
        " Alice         |   33 |    1.5 | null      \r\n"
        " Bob | x       | null |   2.25 | [1, 'a']  \r\n"
        ' <b>"C"</b>,   |   55 | -3.125 | {a: true} \r\n'
        " new\\u001b[31m |      |        |           \r\n"
    )


def test_repr_is_the_text_with_its_header(table: Table) -> None:
    """`print(table)` draws the table."""
    assert repr(table) == _written(table, "write", header=True)


def test_text_takes_its_options(table: Table) -> None:
    """Rows, sides, padding, separator and line ends can be chosen."""
    written = _written(
        table,
        "write",
        skip=1,
        limit=1,
        auto_align=False,
        padding=0,
        separator=";",
        newline="\n",
    )

    assert written == "Bob | x;null;2.25;[1, 'a']\n"


def test_wide_characters_take_two_columns() -> None:
    """A column of a terminal is counted, not a character."""
    table = Table([["日本"], ["e\u0301"], ["abcd"]], keys=["k"])

    assert _written(table, "write", newline="\n") == " 日本 \n e\u0301    \n abcd \n"


def test_html_holds_no_markup_from_the_data(table: Table) -> None:
    """Texts and names of fields are escaped; numbers stand right."""
    written = _written(table, "write_html", header=True, skip=2)

    assert written == (
        "<table><tr><th>name</th><th>age</th><th>f</th><th>list</th></tr>"
        '<tr><td style="text-align:left">&lt;b&gt;&quot;C&quot;&lt;/b&gt;,\nnew'
        '\\u001b[31m</td><td style="text-align:right">55</td>'
        '<td style="text-align:right">-3.125</td>'
        '<td style="text-align:left">{a: true}</td></tr></table>'
    )
    assert table._repr_html_() == _written(table, "write_html", header=True)


def test_html_of_a_hostile_name_of_a_field() -> None:
    """A query can name a column as it likes."""
    written = _written(Table([], keys=["<script>"]), "write_html", header=True)

    assert "<script>" not in written


@given(st.text())
def test_html_and_markdown_never_hold_a_tag_of_the_data(text: str) -> None:
    """Every `<` of a cell is escaped."""
    table = Table([[f"<img {text}"]], keys=["k"])

    assert "<img" not in _written(table, "write_html")
    assert "<img" not in _written(table, "write_markdown")


def test_markdown_is_a_table_of_github(table: Table) -> None:
    """Marks of Markdown are escaped, and a line end becomes a break."""
    assert _written(table, "write_markdown") == (
        "| name | age | f | list |\n"
        "| --- | ---: | ---: | --- |\n"
        "| Alice | 33 | 1.5 | null |\n"
        "| Bob \\| x | null | 2.25 | \\[1, 'a'\\] |\n"
        '| &lt;b&gt;"C"&lt;/b&gt;,<br>new\\\\u001b\\[31m | 55 | -3.125 |'
        " \\{a: true\\} |\n"
    )


def test_separated_values_quote_what_needs_it(table: Table) -> None:
    """CSV is RFC 4180's: null is empty, texts are as they are."""
    assert _written(table, "write_csv", header=True) == (
        "name,age,f,list\r\n"
        "Alice,33,1.5,\r\n"
        "Bob | x,,2.25,\"[1, 'a']\"\r\n"
        '"<b>""C""</b>,\nnew\x1b[31m",55,-3.125,{a: true}\r\n'
    )


def test_separated_values_take_their_options(table: Table) -> None:
    """Separator, quote, line ends and rows can be chosen."""
    written = _written(
        table, "write_separated_values", "|", quote="'", newline=";\n", limit=2
    )

    assert written == "Alice|33|1.5|;\n'Bob | x'||2.25|'[1, ''a'']';\n"


def test_tsv_quotes_tabs() -> None:
    """A tab in a text does not make a field."""
    table = Table([["a\tb", 1]], keys=["k", "n"])

    assert _written(table, "write_tsv") == '"a\tb"\t1\r\n'


def test_dates_are_separated_as_iso_text() -> None:
    """Other programs read dates as ISO 8601; people read Cypher."""
    table = Table([[datetime.date(2020, 1, 2)]], keys=["d"])

    assert _written(table, "write_csv") == "2020-01-02\r\n"
    assert _written(table, "write") == " date('2020-01-02') \r\n"


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1))
def test_csv_reads_back(rows: list[tuple[Any, Any]]) -> None:
    """Python's reader gets the texts that were written."""
    written = _written(Table(rows, keys=["a", "b"]), "write_csv")

    found = list(csv.reader(io.StringIO(written, newline="")))

    assert found == [["" if c is None else str(c) for c in row] for row in rows]


def test_fields_are_described(table: Table) -> None:
    """Types of the values, whether they are numbers, whether one is missing."""
    assert table.field("name") == {"type": str, "numeric": False, "optional": False}
    assert table.field(1) == {"type": int, "numeric": True, "optional": True}
    assert table.field(-1)["type"] == (dict, list)
    assert table.keys() == KEYS
    with pytest.raises(KeyError, match="nope"):
        table.field("nope")
    with pytest.raises(IndexError):
        table.field(4)


def test_truth_values_are_no_numbers() -> None:
    """A column of booleans stands left."""
    assert Table([[True]], keys=["k"]).field(0)["numeric"] is False


def test_records_bring_their_names() -> None:
    """A list of records needs no keys, and stays one of records."""
    record = Record(["a", "b"], [1, Node("Person", name="Al")])

    table = Table([record])

    assert table.keys() == ["a", "b"]
    assert table[0]["a"] == 1
    assert _written(table, "write") == " 1 | (:Person {name: 'Al'}) \r\n"


def test_dictionaries_are_read_by_name() -> None:
    """A row can be a dictionary."""
    assert (
        _written(Table([{"b": 2, "a": 1}], keys=["a", "b"]), "write_csv") == "1,2\r\n"
    )


def test_number_of_records_is_returned(table: Table) -> None:
    """Each way of writing says how many records it wrote."""
    file = io.StringIO()

    assert table.write(file, limit=2) == 2
    assert table.write_html(file, skip=2) == 1
    assert table.write_markdown(file, skip=3) == 0
    assert table.write_tsv(file, header=True) == 3


def test_empty_table_is_drawn_as_its_header() -> None:
    """No rows are no error."""
    assert repr(Table([], keys=["a"])) == " a \r\n---\r\n"


def test_bad_tables_are_refused(table: Table) -> None:
    """Names are needed, a value a field, and no negative numbers."""
    with pytest.raises(ValueError, match="no names"):
        Table([[1]])
    with pytest.raises(InputError, match="Record 2 has 1 values for 2 fields"):
        Table([[1, 2], [3]], keys=["a", "b"])
    with pytest.raises(InputError, match="skip=-1"):
        table.write(io.StringIO(), skip=-1)


def test_without_a_file_it_is_printed(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output is the default."""
    table.write_tsv(limit=1)

    assert capsys.readouterr().out.startswith("Alice\t33")

"""Values of an answer as JSON, as CSV and as cells."""

from __future__ import annotations

import csv
import io
import json

from neo4j.spatial import CartesianPoint
from neo4j.time import Date, DateTime, Duration, Time

from knowtrail.graph.cli.rows import cell_text, plain_value, write_csv, write_json
from tests.cases import each


@each(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (2**62, 2**62),
        (0.5, 0.5),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
        ("naïve", "naïve"),
        ([1, [None]], [1, [None]]),
        ({"a": {"b": float("nan")}}, {"a": {"b": "NaN"}}),
        (b"\x00\xff", "AP8="),
        (Date(2024, 2, 29), "2024-02-29"),
        (Time(1, 2, 3), "01:02:03.000000000"),
        (DateTime(2024, 1, 1), "2024-01-01T00:00:00.000000000"),
        (Duration(months=1, days=2), "P1M2D"),
        (CartesianPoint((1.0, 2.0, 3.0)), {"srid": 9157, "x": 1.0, "y": 2.0, "z": 3.0}),
    ],
)
def test_values_become_json(value: object, plain: object) -> None:
    """Whatever the server sends has a form that every JSON reader takes."""
    assert plain_value(value) == plain
    json.dumps(plain_value(value), allow_nan=False)


@each(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b]0;title\x07", " ]0;title "),
        ("to\u202egnp.exe", "to gnp.exe"),
        (
            "\u0645\u06cc\u200c\u062f\u0627\u0646\u06cc",
            "\u0645\u06cc\u200c\u062f\u0627\u0646\u06cc",
        ),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (DateTime(2024, 1, 1), "2024-01-01 00:00:00"),
        (float("nan"), "NaN"),
        ([1, "a"], '[1, "a"]'),
        ({"k": [1]}, "{k: [1]}"),
        (list(range(100)), "[0, 1, 2, … 100 numbers]"),
        ([0.5] * 8, "[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]"),
    ],
)
def test_cells_are_one_short_line(value: object, text: str) -> None:
    """A cell is short, and nothing in it can steer the terminal."""
    assert cell_text(value) == text


def test_long_text_is_cut() -> None:
    """A cell holds the beginning of a long text."""
    assert len(cell_text("x" * 10_000)) == 400
    assert cell_text("x" * 10_000).endswith("…")


def test_json_comes_row_by_row() -> None:
    """A row is written before the next one is asked for."""
    file = io.StringIO()
    written: list[str] = []

    def rows() -> object:
        yield [1]
        written.append(file.getvalue())
        yield [2]

    write_json(["n"], rows(), file)

    assert written == ['[\n{"n": 1}']
    assert json.loads(file.getvalue()) == [{"n": 1}, {"n": 2}]


def test_no_rows_is_an_empty_array() -> None:
    """An answer without rows is still one JSON array."""
    file = io.StringIO()

    write_json(["n"], [], file)

    assert json.loads(file.getvalue()) == []


def test_a_carriage_return_begins_no_row_of_csv() -> None:
    """A text with any line end in it is one field."""
    file, texts = io.StringIO(newline=""), ["a\r=1+1", "b\nc", "d\r\ne"]

    write_csv(["text"], [[text] for text in texts], file)

    rows = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert list(rows) == [["text"], *([text] for text in texts)]
    assert file.getvalue().startswith('text\n"a\r=1+1"\n')


def test_csv_has_a_header_even_without_rows() -> None:
    """Readers of the file learn the columns."""
    file = io.StringIO()

    write_csv(["a", "b c"], [], file)

    assert file.getvalue() == "a,b c\n"

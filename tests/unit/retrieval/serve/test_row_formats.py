"""Rows as CSV, for LOAD CSV and for others."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.retrieval.serve.row_formats import csv_text, escapes_for
from tests.cases import each


def test_header_comes_first_and_lines_end_as_the_standard_has_them() -> None:
    """A table without rows is its header."""
    assert csv_text(["rank", "text"], []) == "rank,text\r\n"


@each(
    ("value", "field"),
    [
        (None, ""),
        ("", '""'),
        ("plain", "plain"),
        ("a, b", '"a, b"'),
        ('say "x"', '"say ""x"""'),
        ("two\nlines", '"two\nlines"'),
        ("back\\slash", "back\\slash"),
        ("Größe — 大きさ", "Größe — 大きさ"),
        (0.25, "0.25"),
        (3, "3"),
        (True, "true"),
        (["a", 'b"'], '"[""a"", ""b\\""""]"'),
        ([], "[]"),
    ],
)
def test_each_kind_of_value(value: object, field: str) -> None:
    """Null is empty, the empty text is quoted, lists are JSON."""
    assert csv_text(["v"], [{"v": value}]) == f"v\r\n{field}\r\n"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("plain\\", "plain\\"),
        ("a, b\\", '"a, b\\\\"'),
        ('\\" ,', '"\\\\"" ,"'),
    ],
)
def test_backslashes_in_quotes_are_doubled_for_neo4j(value: str, field: str) -> None:
    """A backslash before the closing quote would otherwise swallow it."""
    assert csv_text(["v"], [{"v": value}], escaped=True) == f"v\r\n{field}\r\n"


def test_missing_column_is_null() -> None:
    """A row need not have every column."""
    assert csv_text(["a", "b"], [{"b": 1}]) == "a,b\r\n,1\r\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1)))
def test_python_reads_back_every_text(texts: list[str]) -> None:
    """What the standard's readers read is what was written."""
    text = csv_text(["n", "v"], [{"n": 1, "v": value} for value in texts])

    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))

    assert read == [["n", "v"], *(["1", value] for value in texts)]


@pytest.mark.parametrize(
    ("agent", "asked", "escaped"),
    [
        ("NeoLoadCSV_Java/25.0.2", None, True),
        ("curl/8.5", None, False),
        ("NeoLoadCSV_Java/25.0.2", "rfc4180", False),
        ("curl/8.5", "neo4j", True),
    ],
)
def test_reader_decides_unless_told(
    agent: str, asked: str | None, escaped: bool
) -> None:
    """Neo4j says who it is; a parameter wins."""
    assert escapes_for(agent, asked) is escaped

"""Tables where they are piped: as wide as asked for, and nothing behind a row."""

from __future__ import annotations

import io
from datetime import UTC

import pytest
from neo4j.time import DateTime

from knowtrail.graph.cli.rows import cell_text
from knowtrail.graph.cli.tables import draw_rows
from knowtrail.graph.rdf.evaluation import LiveResult

NAME = "triangulation_geometric_3d"
ROWS = [[NAME, "How far is it? " * 20, 3], ["auto", "Why?", 1]]


def drawn(width: str | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines of a table in a pipe, where COLUMNS is set or not."""
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", width)
    file = io.StringIO()
    draw_rows(["algorithm", "question", "hops"], ROWS, file=file)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [None, "0", "wide"])
def test_piped_rows_are_below_200_characters(
    width: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where COLUMNS says nothing of use."""
    lines = drawn(width, monkeypatch)

    assert 150 < max(map(len, lines)) < 200
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("width", ["60", "80", "250"])
def test_piped_rows_are_as_wide_as_columns_says(
    width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No name is split, and no blank stands at the end of a line."""
    lines = drawn(width, monkeypatch)

    assert int(width) - 20 < max(map(len, lines)) <= int(width)
    assert [line for line in lines if line != line.rstrip()] == []
    assert any(line.startswith(f"{NAME} ") for line in lines)


def test_what_was_found_has_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a narrow table, though columns behind it would fit beside it."""
    monkeypatch.setenv("COLUMNS", "80")
    names = ["step", "title", "found", "reason", "milliseconds", "stored"]
    rows = [
        [n, f"Tide {n}", f"It is {n} and so. " * 20, f"near to {n}", 12.5 + n, True]
        for n in range(2)
    ]
    file = io.StringIO()

    draw_rows(names, rows, file=file, once=True)

    lines = file.getvalue().splitlines()
    assert lines[0].split()[:3] == names[:3]
    assert "milliseconds" not in lines[0]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "In all rows: stored: true"
    assert len(lines) < 20


def test_what_is_not_shown_is_named_in_lines_of_the_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However many columns there are."""
    monkeypatch.setenv("COLUMNS", "40")
    names = [f"column{number:012}" for number in range(9)]

    draw_rows(names, [names])

    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines).startswith("Not shown: column000000000001, ")


def test_a_time_is_shown_to_the_second() -> None:
    """In a table; other forms of output have all of it."""
    time = DateTime(2026, 1, 2, 3, 4, 5, 678_901_234)

    assert cell_text(time) == "2026-01-02 03:04:05"
    assert cell_text(time.replace(tzinfo=UTC)) == "2026-01-02 03:04:05Z"


@pytest.mark.parametrize(
    ("iri", "shown"),
    [
        ("https://schema.org/name", "schema:name"),
        ("https://schema.org/x/y", r"schema:x\/y"),
        ("https://schema.org/", "https://schema.org/"),
        ("https://schema.org/a?b", "https://schema.org/a?b"),
        ("https://schema.org/a.", "https://schema.org/a."),
        ("https://other.org/name", "https://other.org/name"),
    ],
)
def test_iris_are_shown_as_a_query_may_write_them(iri: str, shown: str) -> None:
    """With the longest prefix that leaves a name; else in full."""
    prefixes = {"short": "https://sch", "schema": "https://schema.org/"}
    answer = LiveResult(lambda: {"type_": "ASK", "askAnswer": True}, prefixes.items)

    assert answer.short(iri) == shown

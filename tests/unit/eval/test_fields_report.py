"""The report: bounded, escaped, self-contained."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.eval.fields.report import (
    COLUMNS,
    SHOWN_FIELDS,
    WORST,
    ReportGatherer,
    Table,
    marked_difference,
    report_page,
    shown_text,
)
from knowtrail.eval.fields.results import (
    FieldResult,
    RunAccumulator,
    build_record_result,
)
from knowtrail.eval.fields.runs import RunNumbers, run_intervals

VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Checks that every element is closed, and keeps text and attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that the innermost element ends."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.text.append(data)


def read(page: str) -> Reader:
    """Parse a page."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def field(
    path: str, gold: Any, extracted: Any, status: str = "mismatch"
) -> FieldResult:
    """Return a result."""
    score = 1.0 if status == "match" else 0.0
    return FieldResult(path, score, "exact", gold, extracted, status, f"{path}?")


def page_of(
    records: list[list[FieldResult]], ids: list[str] | None = None, **more: Any
) -> str:
    """Return the report on records of these fields."""
    run, numbers, gatherer = RunAccumulator(), RunNumbers(), ReportGatherer()
    for index, results in enumerate(records):
        name = ids[index] if ids else index
        record = build_record_result(name, results, {}, {})
        run.add(record)
        numbers.add(record)
        gatherer.add(record)
    intervals = run_intervals(numbers, resamples=50)
    given = {"title": "T", "facts": {}} | more
    return report_page(run.result(), intervals, gatherer, **given)


def test_a_report_needs_nothing_else() -> None:
    """No script, no address, no element that loads, and a policy that forbids it."""
    page = page_of([[field("a", "x", "y")]])

    reader = read(page)
    assert reader.tags.isdisjoint({"script", "link", "img", "iframe", "object", "base"})
    assert not re.search(r"https?:|//|url\(|@import", page)
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in (
        reader.attributes
    )


NASTY = '</td><script>alert("x")</script>\'"<img src=x onerror=y>&amp;'


def test_everything_is_escaped() -> None:
    """Paths, values, ids, reasons, titles, facts and tables are text."""
    page = page_of(
        [[field(NASTY, NASTY, f"{NASTY}!"), field("b", NASTY, NASTY, "match")]],
        ids=[NASTY],
        title=NASTY,
        facts={NASTY: NASTY},
        tables=[Table(title=NASTY, note=NASTY, columns=[NASTY], rows=[[NASTY]])],
    )

    reader = read(page)
    assert reader.tags.isdisjoint({"script", "img"})
    assert not {name for name, _ in reader.attributes if name.startswith("on")}
    assert "".join(reader.text).count("alert(") >= 9


@given(st.text(), st.text())
def test_any_texts_are_shown_whole(gold: str, extracted: str) -> None:
    """Marks aside, both sides are what was given."""
    one, two = marked_difference(gold, extracted)

    plain = [re.sub(r"</?mark>", "", side) for side in (one, two)]
    assert plain == [shown_text(gold), shown_text(extracted)]


def test_words_that_differ_are_marked() -> None:
    """Only those."""
    assert marked_difference("grown in argon.", "grown in pure neon.") == (
        "grown in <mark>argon</mark>.",
        "grown in <mark>pure neon</mark>.",
    )


@pytest.mark.parametrize("odd", ["\x00", "\x1b[2J", "\ud800", "\x85"])
def test_control_characters_are_made_visible(odd: str) -> None:
    """They neither break the page nor vanish."""
    page = page_of([[field("a", odd, "y")]])

    page.encode("utf-8")
    assert "\\" in page


def test_a_thousand_records_have_few_columns() -> None:
    """Columns grow wider; the counts of all records stay in the map."""
    records = [
        [field("a", 1, n % 2, "match" if n % 2 else "mismatch")] for n in range(1000)
    ]
    gatherer = ReportGatherer()
    for index, results in enumerate(records):
        gatherer.add(build_record_result(index, results, {}, {}))

    heat = gatherer.heat
    assert (heat.width, len(heat.cells["a"])) == (16, 63)
    assert sum(count for _, count in heat.cells["a"]) == 1000
    assert heat.mean("a") == 0.5
    assert len(gatherer.worst) == WORST


@pytest.mark.parametrize("count", [1, 2, COLUMNS, COLUMNS + 1, 3 * COLUMNS])
def test_columns_hold_their_own_records(count: int) -> None:
    """The last record is in the last column, whatever was merged before."""
    gatherer = ReportGatherer()
    for index in range(count):
        status = "match" if index == count - 1 else "mismatch"
        record = [field("a", 1, 1, status)]
        gatherer.add(build_record_result(index, record, {}, {}))

    row = gatherer.heat.cells["a"]
    assert len(row) == -(-count // gatherer.heat.width) <= COLUMNS
    assert [total for total, _ in row] == [0.0] * (len(row) - 1) + [1.0]


def test_the_worst_come_first() -> None:
    """By F1, equal ones in their order; perfect records are not among them."""
    records = [
        [field("a", 1, 1, "match"), field("b", 1, 2)],
        [field("a", 1, 1, "match")],
        [field("a", 1, 2)],
        [field("a", 1, 2), field("b", 1, 2)],
        [],
    ]
    gatherer = ReportGatherer()
    for index, results in enumerate(records):
        gatherer.add(build_record_result(f"r{index}", results, {}, {}))

    assert [record["record_id"] for record in gatherer.worst] == ["r2", "r3", "r0"]


def test_a_perfect_run_says_so() -> None:
    """There is no worst record."""
    page = page_of([[field("a", 1, 1, "match")]] * 2)

    assert "None: every scored field of the 2 records is a match." in page


def test_size_is_bounded() -> None:
    """Long values, many fields and many records make no page beyond a few megabytes."""
    wide = [
        [field(f"f{n}", "x" * 5_000, "y" * 5_000) for n in range(1_500)]
        for _ in range(3)
    ]
    many = [[field(f"f{n}", 1, 2) for n in range(10)] for _ in range(500)]

    page = page_of(wide + many)

    read(page)
    assert len(page) < 4_000_000
    assert f"{1_500 - SHOWN_FIELDS:,} more wrong fields are not shown." in page
    assert "1350 more fields are not shown." in page


def test_long_tables_are_cut() -> None:
    """And say how much is left out."""
    table = Table(title="t", note="n", columns=["a"], rows=[["x"]] * 250)

    assert "50 more rows are not shown." in page_of([[]], tables=[table])

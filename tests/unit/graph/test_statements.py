"""Statement files are found by name, with their headers."""

from __future__ import annotations

import re

import pytest

from knowtrail.graph.db.statements import statement, statement_names, statement_record


def test_text_has_no_header() -> None:
    """The server gets the statement alone."""
    assert statement("schema/version_read").startswith("MATCH")


def test_record_reads_the_header() -> None:
    """Purpose, parameters, version and fallback come from the header."""
    record = statement_record("retrieval/anchors_search")

    assert (record.params[0], record.since, record.fallback) == (
        "corpus",
        "2026.01",
        "retrieval/anchors_index",
    )


def test_statement_without_parameters_has_none() -> None:
    """An empty list of parameters is empty, not one empty name."""
    assert statement_record("schema/version_read").params == ()


def test_saved_query_has_a_title() -> None:
    """The title of a saved query is what people choose it by."""
    assert statement_record("inspect/documents").title


def test_saved_queries_mark_the_texts_that_they_cut_and_no_others() -> None:
    """A text that is short enough, or not there, gets no mark of a cut."""
    cut = re.compile(
        r"\bleft\(([\w.\[\]]+), (\d+)\)"
        r"( \+ CASE WHEN size\(\1\) > \2 THEN '…' ELSE '' END)?"
    )
    texts = {
        name: statement(name)
        for name in statement_names()
        if name.startswith("inspect/")
    }
    found = [(name, one) for name, text in texts.items() for one in cut.finditer(text)]

    assert [(name, one[0]) for name, one in found if one[3] is None] == []
    assert len(found) == sum(text.count("'…'") for text in texts.values()) > 0


def test_unknown_name_is_a_programming_error() -> None:
    """A name without a file is not silently empty."""
    with pytest.raises(KeyError, match="schema/none"):
        statement("schema/none")


def test_names_are_sorted_and_relative() -> None:
    """Names are paths below the folder, without the suffix, in order."""
    names = statement_names()

    assert names == tuple(sorted(names))
    assert "schema/version_read" in names

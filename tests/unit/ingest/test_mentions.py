"""Titles are found in texts where they stand for one document."""

from __future__ import annotations

import pytest

from knowtrail.ingest.mentions import Mention, TitleFinder, TitleIndex, chunk_mentions


def test_title_resolves_to_its_document_or_through_redirects():
    """A key is a document's own title, or leads to one by at most five redirects."""
    index = TitleIndex(
        [("d1", "Tide"), ("d2", "Sextant")],
        {"Tides": "Tide", "High tides": "Tides", "Lost": "Nowhere"},
    )

    assert [index.resolve(k) for k in ("Tide", "Tides", "High tides", "Lost", "X")] == [
        "d1",
        "d1",
        "d1",
        None,
        None,
    ]


def test_shared_title_stands_for_no_document():
    """Two documents of one title make it ambiguous, for redirects to it too."""
    index = TitleIndex([("d1", "Mercury"), ("d2", "Mercury")], {"Hg": "Mercury"})

    assert [index.resolve(key) for key in ("Mercury", "Hg")] == [None, None]
    assert [index.is_shared(key) for key in ("Mercury", "Hg", "X")] == [
        *(True, True, False)
    ]
    assert [index.resolve(key) for key in ("#d2", "#d3", "d2")] == ["d2", None, None]


def test_circle_of_redirects_ends():
    """Redirects that point to each other resolve to nothing."""
    assert TitleIndex([], {"A": "B", "B": "A"}).resolve("A") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The tide rises.", ["tide"]),
        ("Tide tables; atides, tides and Tidewater.", ["Tide tables"]),
        ("TIDE and tIDE are other words.", []),
        ("A high tide.", ["high tide"]),
        ("", []),
    ],
)
def test_titles_are_found_at_word_boundaries(text, found):
    """The longest title wins, its first letter in either case."""
    finder = TitleFinder([("Tide", "d1"), ("Tide tables", "d2"), ("High tide", "d3")])

    mentions = finder.find(text, but="none")

    assert [text[m.start : m.end] for m in mentions] == found


def test_short_titles_and_the_document_itself_are_left_out():
    """Titles under four characters are ambiguous; a document does not name itself."""
    finder = TitleFinder([("Sea", "d1"), ("Ocean", "d2"), ("Harbour", "d3")])

    found = finder.find("Sea, ocean and harbour.", but="d2")

    assert [m.document for m in found] == ["d3"]


def test_chunk_mentions_keep_the_first_words_of_each_document():
    """A mention counts for every chunk that holds it whole, once a document."""
    text = "tide here. more tide. a sextant."
    mentions = [Mention(0, 4, "d1"), Mention(16, 20, "d1"), Mention(24, 31, "d2")]
    chunks = [("c1", 0, 21), ("c2", 11, 32), ("c3", 26, 32)]

    assert chunk_mentions(mentions, chunks, text) == [
        ("c1", "d1", "tide"),
        ("c2", "d1", "tide"),
        ("c2", "d2", "sextant"),
    ]

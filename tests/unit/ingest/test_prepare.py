"""From a raw document to rows: keys, hashes, windows, properties."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.ingest.keys import content_key, normalise_name, normalise_title
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.prepare import content_hash, prepare
from knowtrail.ingest.records import Link, RawDocument, Section
from tests.cases import each

RAW = RawDocument(
    source_id="1",
    title="A title",
    raw="One is here. Two is here. Three is here. Four is here.",
    links=(Link(start=0, end=3, target="some_page#part"),),
    sections=(Section(title="Top", start=0),),
    categories=("first_one", "First one", "second"),
    metadata={"year": 1735, "text": "reserved"},
)


def test_rows_of_a_document():
    """Chunks span their sentences; names and links are normalised."""
    prepared = prepare(RAW, corpus="c", options=IngestOptions())

    assert [row["text"] for row in prepared.chunks] == [
        "One is here. Two is here. Three is here.",
        "Two is here. Three is here. Four is here.",
    ]
    assert prepared.members == ((0, 2), (1, 3))
    assert prepared.categories == ("First one", "Second")
    assert prepared.properties["linkTargets"] == ["Some page#part"]
    assert prepared.properties["year"] == 1735
    assert prepared.properties["meta_text"] == "reserved"
    assert prepared.properties["text"] == RAW.raw
    assert prepared.size == 6


def test_ids_differ_between_corpora_and_places_but_not_between_runs():
    """A key hangs on corpus, source id and offsets."""
    one = prepare(RAW, corpus="c", options=IngestOptions())
    again = prepare(RAW, corpus="c", options=IngestOptions())
    other = prepare(RAW, corpus="d", options=IngestOptions())
    ids = [row["id"] for p in (one, other) for row in (*p.sentences, *p.chunks)]

    assert one == again
    assert len(set(ids)) == len(ids)


@each(
    "change",
    [
        {"title": "B"},
        {"raw": "x"},
        {"revision": "2"},
        {"links": ()},
        {"links": (replace(RAW.links[0], source_id="2"),)},
        {"sections": ()},
        {"categories": ()},
        {"metadata": {}},
        {"language": "bg"},
        {"url": "u"},
        {"sentences": ("x",)},
        {"markup": "wikitext"},
    ],
)
def test_any_change_of_content_changes_the_hash(change):
    """Whatever the source says of a document is covered by its hash."""
    assert content_hash(replace(RAW, **change)) != content_hash(RAW)


def test_the_file_a_document_came_from_does_not_change_the_hash():
    """A dump may be moved."""
    assert content_hash(replace(RAW, source="elsewhere")) == content_hash(RAW)


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_keys_are_equal_only_for_equal_parts(one, two):
    """Parts are delimited, so that no two lists of parts run together."""
    assert (content_key(*one) == content_key(*two)) == (one == two)


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("autism", "Autism"),
        ("  Marine__chronometer ", "Marine chronometer"),
        ("C#", "C#"),
        (":Category:Seas", "Category:Seas"),
        ("", ""),
        ("é", "É"),
        ("#top", "#top"),
    ],
)
def test_titles_are_normalised_as_links_need(title, key):
    """Underscores, a leading colon and the first letter's case go."""
    assert normalise_title(title) == key


@pytest.mark.parametrize(
    ("target", "key"), [("Tide#Causes", "Tide"), ("tide_ #x", "Tide"), ("#top", "")]
)
def test_a_fragment_goes_where_a_target_has_one(target, key):
    """It is that of MediaWiki, whose titles have no `#`."""
    assert normalise_title(target, fragment=True) == key


def test_names_are_compared_without_case_and_spaces():
    """Themes that differ in case or spaces are one theme."""
    assert normalise_name(" Deep_Sea  Tides") == normalise_name("deep sea tides")

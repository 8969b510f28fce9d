"""Raw documents to text and sentences."""

# ruff: noqa: RUF001 - other alphabets are meant

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.prepare import clean_plain, parse, sentence_spans
from knowtrail.ingest.records import Link, RawDocument, Section


def _raw(text: str, **fields: object) -> RawDocument:
    return RawDocument(source_id="a", title="A", raw=text, **fields)  # type: ignore[arg-type]


@given(st.text(st.characters(exclude_categories=())))
def test_cleaning_keeps_length_and_gives_storable_text(text: str) -> None:
    """Offsets stay valid, and the result can be encoded."""
    cleaned = clean_plain(text)

    assert len(cleaned) == len(text)
    assert "\x00" not in cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned


def test_plain_text_keeps_breaks_links_and_sections() -> None:
    """Only unreadable characters are replaced."""
    link, section = Link(start=4, end=8, target="Nile"), Section(title="S", start=0)
    raw = _raw("The\x00Nile\n\nruns.\r\nOn.", links=(link,), sections=(section,))

    parsed = parse(raw)

    assert parsed.text == "The Nile\n\nruns.\r\nOn."
    assert (parsed.links, parsed.sections) == ((link,), (section,))


def test_categories_come_once_in_order() -> None:
    """A category that is named twice is kept where it came first."""
    assert parse(_raw("x", categories=("B", "A", "B"))).categories == ("B", "A")


def test_ready_made_sentences_keep_their_boundaries() -> None:
    """No splitter touches them; blank ones go, white space is outside the spans."""
    sentences = ("Dr. A. saw it. Twice.", " ", " padded ", "", "End")
    raw = _raw(" ".join(sentences), sentences=sentences)

    parsed = parse(raw)
    spans = sentence_spans(raw, parsed)

    texts = [parsed.text[span.start : span.end] for span in spans]
    assert texts == ["Dr. A. saw it. Twice.", "padded", "End"]


def test_sentences_that_do_not_make_the_text_are_refused() -> None:
    """Spans would point to the wrong words."""
    raw = _raw("One. Two.", sentences=("One.", "Three."))

    with pytest.raises(SourceError, match="do not make its text"):
        sentence_spans(raw, parse(raw))


def test_other_text_is_split() -> None:
    """Without ready-made sentences the splitter finds them."""
    raw = _raw("Той е роден през 1876 г. в София. Умира тук.", language="bg")

    assert len(sentence_spans(raw, parse(raw))) == 2

"""Text in pictures: on one line, cut, and never markup."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from knowtrail.retrieval.views.labels import (
    cut,
    cut_apart,
    markup,
    plain,
    wrapped,
)
from knowtrail.retrieval.views.palette import style_documents


@given(st.text(max_size=200), st.integers(1, 60))
def test_cut_text_is_no_wider_than_asked(text: str, most: int) -> None:
    """A cut text fits its columns and has no character that breaks a file."""
    shown = cut(text, most)

    assert cell_len(shown) <= most
    assert plain(shown) == shown
    assert (
        ElementTree.fromstring(  # noqa: S314 - our own text
            f"<t>{escape(shown)}</t>"
        ).tag
        == "t"
    )


@given(st.lists(st.text("ab\u6771", max_size=30), max_size=6), st.integers(8, 20))
def test_different_texts_stay_different(texts: list[str], most: int) -> None:
    """However they begin and end; equal ones stay equal, and all fit."""
    shown = cut_apart(texts, most)

    assert len(set(shown)) == len(set(texts))
    assert all(cell_len(label) <= most for label in shown)


def test_texts_that_begin_alike_are_cut_in_the_middle() -> None:
    """What tells them apart is often the end."""
    shown = cut_apart(["documents/first", "documents/other", "short"], 10)

    assert shown == ["docum\u2026irst", "docum\u2026ther", "short"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b\nc\u2028d", "a b c d"),
        ("one \u202etwo\u202c", "one two"),
        ("\ud800lone", "lone"),
        ("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
    ],
)
def test_characters_that_no_picture_holds_go(text: str, shown: str) -> None:
    """Controls and marks that turn the text around them are taken out."""
    assert plain(text) == shown


def test_wide_characters_count_twice() -> None:
    """East Asian titles are cut to the same width as others."""
    assert (
        cut("\u6771\u4eac\u90fd\u5e81\u820e", 7)
        == "\u6771\u4eac\u90fd\N{HORIZONTAL ELLIPSIS}"
    )


def test_markup_of_text_is_escaped() -> None:
    """What Plotly would read as a tag or entity becomes text."""
    assert markup("<b>&amp;") == "&lt;b&gt;&amp;amp;"


@given(st.text(max_size=900))
def test_wrapped_text_has_only_our_tags(text: str) -> None:
    """A hover label has line breaks of ours and no other tag."""
    assert "<" not in wrapped(text).replace("<br>", "")
    assert wrapped(text).count("<br>") <= 5


def test_each_of_a_hundred_documents_looks_different() -> None:
    """Up to 144 documents no two have the same colour and mark."""
    styles = style_documents([], {f"d{n}": n for n in range(100)})

    assert len({(s.color, s.mark) for s in styles.values()}) == 100
    assert all(style.named for style in styles.values())


def test_documents_of_the_walk_have_the_strong_colours() -> None:
    """The walk's come first, then the longest; what is left over is grey."""
    sizes = {f"d{n}": n for n in range(300)}

    styles = style_documents(["d3", "d1", "d3"], sizes)

    assert list(styles)[:3] == ["d3", "d1", "d299"]
    assert [s.named for s in styles.values()].count(False) == 300 - 144

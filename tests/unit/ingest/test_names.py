"""Names in texts: how people write them, in several scripts."""

# ruff: noqa: RUF001 - other alphabets are what is tested

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.ingest.names import is_nameable, names_in, small_words, words_of
from tests.cases import each

CERTAIN = [
    ("She met J. R. R. Tolkien there.", ["J. R. R. Tolkien"]),
    ("They saw Apollo 11 and Apollo 12.", ["Apollo 11", "Apollo 12"]),
    ("at the University of the Arts in Rome", ["University of the Arts", "Rome"]),
    ("mit Ludwig van Beethoven in Wien", ["Ludwig van Beethoven", "Wien"]),
    ("the works of Jean-Paul Sartre's friend", ["Jean-Paul Sartre"]),
    ("by O'Neill and d'Artagnan", ["O'Neill", "Artagnan"]),
    ("they left St. Louis for the U.S. in May", ["St. Louis", "U.S.", "May"]),
    ("after World War II. Then came peace", ["World War II"]),
    ("sold by AT&T and by Marks & Spencer", ["AT&T", "Marks & Spencer"]),
    ("an iPhone of NATO", ["iPhone of NATO"]),
    ("fans of The Beatles and the Beatles", ["Beatles", "Beatles"]),
    ("живее в София до Стара Загора", ["София", "Стара Загора"]),
    ("член на Академия на науките", ["Академия"]),
    ("η πόλη της Αθήνας", ["Αθήνας"]),
    ("Paris is old, London is older", ["London"]),
    ("Barack Obama spoke", ["Obama"]),
    ("«Then» he said. However, nobody came", []),
    ("東京は日本の首都です", []),
    ("北京的Apple公司和IBM", ["Apple", "IBM"]),
    ("هذه منظمة NATO", ["NATO"]),
    ("हिन्दी भारत की भाषा है", []),
    ("A HEADING IN CAPITALS", []),
    ("", []),
]


@each(("text", "names"), CERTAIN)
def test_names_inside_sentences_are_certain(text: str, names: list[str]) -> None:
    """Initials, numbers, small words, hyphens and apostrophes hold a name together."""
    assert [name.label for name in names_in(text) if name.certain] == names


def test_a_name_at_the_beginning_of_a_sentence_is_uncertain() -> None:
    """The first word's capital says nothing, with or without a quotation mark."""
    found = names_in('Obama spoke. "Rain fell." Barack Obama left.')

    assert [(n.label, n.certain) for n in found] == [
        ("Obama", False),
        ("Rain", False),
        ("Barack Obama", False),
        ("Obama", True),
    ]


def test_a_long_run_of_capitals_is_no_name() -> None:
    """Title case of a whole line is a heading."""
    assert not list(names_in("see One Two Three Four Five Six Seven Eight Nine Ten"))


@each(
    ("text", "words"),
    [
        ("The U.S.'s Coca-Cola", ["the", "u", "s", "s", "coca", "cola"]),
        ("Straße ﬁne ÉCOLE", ["strasse", "fine", "ecole"]),
        ("İstanbul ISTANBUL ıstanbul", ["istanbul"] * 3),
        ("Dvořák Łódź Ærø", ["dvorak", "lodz", "aero"]),
        ("ΑΘΗΝΑΣ Αθήνας", ["αθηνασ"] * 2),
        ("كِتَاب كتاب", ["كتاب"] * 2),
        ("ガ", ["ガ"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("snake_case", ["snake", "case"]),
    ],
)
def test_words_are_folded_and_split_by_script(text: str, words: list[str]) -> None:
    """Case, accents and punctuation go, other marks stay, unspaced scripts split."""
    assert words_of(text) == words


def test_small_words_are_those_without_a_capital() -> None:
    """Numbers and names are not among them."""
    text = "The moon, moon of Earth à \u0131 in 1969"

    assert small_words(text) == {"moon", "of", "a", "i", "in"}


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("Io", False),
        ("Ohm", True),
        ("東京", True),
        ("水", False),
        ("x " * 17, False),
        ("x" * 1_000, True),
        ("x" * 1_001, False),
        ("я" * 501, False),
    ],
)
def test_names_that_are_too_short_or_too_long_are_left(name: str, usable: bool) -> None:
    """Two letters say too little in an alphabet, and enough in characters."""
    assert is_nameable(words_of(name)) is usable


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    """Labels are pieces of the text and have words."""
    plain = " ".join(text.split())

    for name in names_in(text):
        assert name.label in plain
        assert words_of(name.label)

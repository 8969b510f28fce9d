"""Which column means what, and how values are read."""

from __future__ import annotations

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.ingest.custodians.columns import (
    FIELDS,
    columns_of,
    read_budget,
    read_date,
    read_type,
)
from knowtrail.ingest.custodians.institution import CLASS_NAMES, TYPE_WORDS
from knowtrail.retrieval.specificity.class_scores import load_lookup
from knowtrail.retrieval.specificity.vocabulary import type_words
from tests.cases import each


def test_known_names_are_found_in_any_case() -> None:
    """A column of a known name is taken without being told."""
    found = columns_of(["Title", "WEBSITE", "ISIL", "other"], {})

    assert found == {"name": "Title", "url": "WEBSITE", "isil": "ISIL"}


def test_first_known_name_wins() -> None:
    """A column `name` goes before `title`."""
    assert columns_of(["title", "name"], {})["name"] == "name"


def test_governing_body_is_not_taken_for_a_type() -> None:
    """A column `institution_type` means a type only where the caller says so."""
    names = ["title", "institution_type"]

    assert "type" not in columns_of(names, {})
    assert columns_of(names, {"type": "institution_type"})["type"] == "institution_type"


@pytest.mark.parametrize(
    ("names", "given", "reason"),
    [
        (["title"], {"colour": "title"}, "No field 'colour'"),
        (["title"], {"city": "town"}, "No column 'town'"),
        (["label", "city"], {}, "--map name=COLUMN"),
    ],
)
def test_unusable_mapping_is_refused(
    names: list[str], given: dict[str, str], reason: str
) -> None:
    """The message says what there is instead."""
    with pytest.raises(InputError, match=reason):
        columns_of(names, given)


@pytest.mark.parametrize(
    ("text", "letter"),
    [("A", "A"), ("m", "M"), ("Library", "L"), ("holy site", "H"), (" G ", "G")],
)
def test_type_is_read_as_letter_class_or_word(text: str, letter: str) -> None:
    """A letter, the name of a class and a word mean the same."""
    assert read_type(text) == letter


@pytest.mark.parametrize("text", ["Local government", "Z", "AM", "", "heritage"])
def test_unknown_type_is_refused(text: str) -> None:
    """A type is not guessed from a word that is none."""
    with pytest.raises(InputError, match="is not one of the letters"):
        read_type(text)


@pytest.mark.parametrize(
    ("text", "date", "year"),
    [
        ("1887", "1887", 1887),
        ("987", "0987", 987),
        ("1887-05", "1887-05", 1887),
        (" 1884-02-29 ", "1884-02-29", 1884),
    ],
)
def test_date_is_read(text: str, date: str, year: int) -> None:
    """Years, months and days are kept as ISO 8601 writes them."""
    assert read_date(text) == (date, year)


@pytest.mark.parametrize(
    "text",
    [
        *("1887-13", "1887-00", "1887-02-30", "1887-05-00"),
        *("c. 1887", "87", "1887-5-1", "0000", "-1887"),
    ],
)
def test_impossible_date_is_refused(text: str) -> None:
    """What is no date is not made one."""
    with pytest.raises(InputError, match="is no date"):
        read_date(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1250000", 1_250_000.0),
        ("1,250,000", 1_250_000.0),
        ("€ 1,250,000.50", 1_250_000.5),
        ("0", 0.0),
        ("12.5", 12.5),
    ],
)
def test_budget_is_read(text: str, amount: float) -> None:
    """Digits with commas between thousands and a point for cents are euros."""
    assert read_budget(text) == amount


@each(
    "text",
    [
        "1.250",
        "1.250.000",
        "£100",
        "100 USD",
        "1 million",
        "-5",
        "nan",
        "1,25",
        "9" * 400,
    ],
)
def test_ambiguous_budget_is_refused(text: str) -> None:
    """Another currency or way of writing is refused rather than guessed."""
    with pytest.raises(InputError, match="no amount in euros"):
        read_budget(text)


def test_type_words_do_not_collide() -> None:
    """Every letter has a class and a word of its own."""
    assert len(set(CLASS_NAMES.values())) == len(CLASS_NAMES) == 19
    assert len(set(TYPE_WORDS.values())) == len(TYPE_WORDS) == 19


def test_classes_are_those_of_the_schema() -> None:
    """The classes by letter are the ones that questions are scored by."""
    scored = {
        found.institution_type: name
        for name, found in load_lookup().classes.items()
        if found.institution_type
    }

    assert {letter: scored.get(letter) for letter in CLASS_NAMES} == CLASS_NAMES
    assert set(type_words().shown) == set(CLASS_NAMES)


def test_fields_have_a_column_of_their_own() -> None:
    """No column can mean two fields."""
    columns = [name.casefold() for known in FIELDS.values() for name in known]

    assert len(columns) == len(set(columns))

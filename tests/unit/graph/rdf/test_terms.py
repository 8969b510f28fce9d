"""Literals of rdflib and of files, as the graph holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rdflib import XSD, Literal

from graph.errors import RdfError
from graph.rdf.mapping import Mapping
from graph.rdf.parsing import parse
from graph.rdf.staging import Staging
from graph.rdf.terms import candidates, value_of_term
from graph.rdf.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

MAPPING = Mapping(Vocabulary(), {"ex": "http://example.org/"})


@pytest.mark.parametrize("stored", ["colour@en", "colour@EN"])
def test_short_language_tags_are_looked_for_in_any_case(stored: str) -> None:
    """A tag means the same in capitals."""
    assert stored in (candidates(MAPPING, Literal("colour", lang="en")) or ())


def test_long_language_tags_are_compared_as_terms() -> None:
    """Tags with a region are written in many ways, which Cypher cannot compare."""
    assert candidates(MAPPING, Literal("colour", lang="en-GB")) is None


@pytest.mark.parametrize("text", ["NaN", "INF", "-INF"])
def test_numbers_that_are_none_are_written_as_xsd_has_them(text: str) -> None:
    """In Python they are written in a way that no datatype of XSD allows."""
    assert value_of_term(Literal(text, datatype=XSD.double)).text == text


@pytest.mark.parametrize(
    ("name", "form", "text"),
    [
        ("a.ttl", "turtle", '<urn:a> <urn:b> "x\\ud800y" .'),
        ("a.jsonld", "json-ld", '{"@id": "urn:a", "urn:b": "x\\ud800y"}'),
        ("a.nt", "nt", '<urn:a> <urn:b> "x\\uD800y" .'),
    ],
)
def test_half_a_character_is_refused(
    tmp_path: Path, name: str, form: str, text: str
) -> None:
    """What no database can hold is an error of the file, in every format."""
    path = tmp_path / name
    path.write_text(text, "utf-8")
    staging = Staging(tmp_path, "d", Vocabulary())

    with pytest.raises(RdfError, match="character") as caught:
        parse(path, staging, form=form, base="urn:x:")

    staging.close()
    assert str(caught.value).encode("utf-8")

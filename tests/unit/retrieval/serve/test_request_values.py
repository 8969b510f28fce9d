"""Parameters of URLs and of bodies."""

from __future__ import annotations

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.serve.request_values import read_body, read_query, read_values


def test_url_is_decoded() -> None:
    """Percent signs, plus signs and repeated names are read as browsers write them."""
    found = read_query(b"question=a%20%26%20b+%C3%A9&x=1&x=2&empty=")

    assert found == {"question": ["a & b é"], "x": ["1", "2"], "empty": [""]}


def test_raw_utf8_is_read_too() -> None:
    """LOAD CSV sends letters as they are."""
    assert read_query("question=Größe".encode()) == {"question": ["Größe"]}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (b"question=%FF", "not UTF-8"),
        (b"question=\xff", "not UTF-8"),
        (b"&".join(b"a=1" for _ in range(101)), "more than 100"),
    ],
)
def test_bad_urls_are_refused(query: bytes, message: str) -> None:
    """The message says what to do."""
    with pytest.raises(InputError, match=message):
        read_query(query)


@pytest.mark.parametrize(
    "body", [b"{", b"[1]", b'"text"', b"NaN", b'{"a": NaN}', b"\xff", b"[" * 100_000]
)
def test_bodies_that_are_no_object_are_refused(body: bytes) -> None:
    """Only a JSON object has parameters."""
    with pytest.raises(InputError, match="The body is"):
        read_body(body)


@pytest.mark.parametrize("body", [b'{"a": ["\\ud800"]}', b'{"\\udc00": 1}'])
def test_half_a_character_is_refused(body: bytes) -> None:
    """No door gets a text that cannot be written."""
    with pytest.raises(InputError, match="half a character"):
        read_body(body)


def test_empty_body_has_no_parameters() -> None:
    """A POST may have everything in its URL."""
    assert read_body(b" ") == {}


def test_texts_become_values_of_the_options_types() -> None:
    """Numbers, truth, lists and maps are read as the table of options says."""
    query = {
        "question": ["5"],
        "maxSentences": ["5"],
        "record": ["false"],
        "seconds": ["1.5"],
        "algorithms": ["kg_traversal, basic_retrieval"],
        "filter": ['{"category": "Autism"}'],
    }

    assert read_values(query, {}) == {
        "question": "5",
        "maxSentences": 5,
        "record": False,
        "seconds": 1.5,
        "algorithms": ["kg_traversal", "basic_retrieval"],
        "filter": {"category": "Autism"},
    }


def test_empty_and_null_are_not_given() -> None:
    """A form sends its empty fields; a map may have null."""
    assert read_values({"corpus": [""]}, {"k": None}) == {}


def test_lists_may_be_repeated() -> None:
    """As most HTTP clients write them."""
    assert read_values({"algorithms": ["a", "b"]}, {}) == {"algorithms": ["a", "b"]}


@pytest.mark.parametrize(
    ("query", "body", "message"),
    [
        ({"k": ["1", "2"]}, {}, "'k' is given 2 times"),
        ({"k": ["1"]}, {"k": 1}, "'k' is in URL and body"),
        ({"k": ["one"]}, {}, "k is 'one': give a whole number"),
        ({"record": ["maybe"]}, {}, "give true or false"),
        ({"filter": ["{"]}, {}, "give a map"),
    ],
)
def test_bad_parameters_are_refused(
    query: dict[str, list[str]], body: dict[str, object], message: str
) -> None:
    """What, value, what to do."""
    with pytest.raises(InputError, match=message):
        read_values(query, body)

"""Rows of the database, when something is deleted while a statement reads it."""

import pytest

from knowtrail.graph.errors import DatabaseError
from knowtrail.retrieval.readers.cypher import _hits, _terms, _visits

CHUNK = ["c", "Text.", 0, 0, 0, 0, 5, "d", "Title", None, ""]
SENTENCE = ["s", "Text.", 0, 0, 5, [1.0, 0.0]]
NEIGHBOUR = ["n", [0.0, 1.0], ["t"]]


def test_terms_and_chunks_without_a_name_are_passed_over() -> None:
    """A gone chunk has no names, a gone term none, and one without chunks no rarity."""
    found = [[0, "c", "Text.", "Title"], [1, None, None, None]]
    terms = [["tide", 2, [0, 1]], [None, 0, [0]], ["ebb", 0, [0]], ["reef", 0, []]]
    read = _terms([[7, found, terms]])
    assert read.named == {"c": ("tide",)}
    assert read.counts == {"tide": 2}
    assert read.texts == {"c": "Text."}


def test_chunks_sentences_and_neighbours_without_an_id_are_passed_over() -> None:
    """What is left of a chunk is read as if the rest had never been there."""
    gone = [None] * len(CHUNK)
    row = [CHUNK, [SENTENCE, [None] * 6], [NEIGHBOUR, [None, None, []]]]
    visits = _visits([[[row, [gone, [], []]]]])
    assert list(visits) == ["c"]
    assert [sentence.id for sentence in visits["c"].sentences] == ["s"]
    assert visits["c"].neighbours.ids == ("n",)


@pytest.mark.parametrize(
    ("ids", "vectors"), [(["c", None], [[1.0], [0.5]]), (["c", "e"], [[1.0]])]
)
def test_hits_that_cannot_be_told_apart_are_refused(
    ids: list[str | None], vectors: list[list[float]]
) -> None:
    """Ids and vectors of which some are gone do not belong together any more."""
    with pytest.raises(DatabaseError, match="changed while it was searched: ask again"):
        _hits([ids, vectors, [], [], []], complete=True)


def test_a_hit_by_words_without_an_id_is_passed_over() -> None:
    """It has nothing that could be ranked."""
    worded = [["e", [0.5], "d"], [None, None, None]]
    assert _hits([["c"], [[1.0]], [], [], worded], complete=True).by_words == ("e",)

"""Passages as documents, and whose sentences are whose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowtrail.eval.retrieval.bench import corpus_name
from knowtrail.eval.retrieval.dataset import (
    Passage,
    PassageSource,
    Unit,
    halves,
    passage_sentences,
    raw_document,
    sentence_numbers,
)
from knowtrail.ingest.prepare import prepare
from tests.rankings import dataset, question

PLAIN = Passage(id="p", title="Kelp", text="It grows. It sways.")


def test_a_whole_passage_is_title_line_text() -> None:
    """One chunk, in which the title is a line of its own."""
    raw = raw_document(PLAIN, title=True)

    prepared = prepare(raw, corpus="c", options=Unit().options())

    assert [chunk["text"] for chunk in prepared.chunks] == ["Kelp\nIt grows. It sways."]


@pytest.mark.parametrize("title", [True, False])
@pytest.mark.parametrize(
    ("passage", "numbers"),
    [
        (PLAIN, (0, 1)),
        (replace(PLAIN, sentences=("It grows.", " ", "It sways.")), (0, 2)),
    ],
)
def test_sentences_keep_their_numbers(
    passage: Passage, numbers: tuple[int, ...], title: bool
) -> None:
    """With the title or without, and where a ready-made sentence is blank."""
    if passage.sentences:
        passage = replace(passage, text=" ".join(passage.sentences))

    assert sentence_numbers(passage, title=title) == numbers


def test_a_title_that_is_a_sentence_has_no_number() -> None:
    """A title with a question mark becomes a sentence of its own."""
    passage = replace(PLAIN, title="Who is afraid?")

    assert sentence_numbers(passage, title=True)[-2:] == (0, 1)
    assert passage_sentences(passage) == ("It grows.", "It sways.")


def test_a_passage_without_title_has_its_id() -> None:
    """A document must be called something; its text is left as it is."""
    raw = raw_document(replace(PLAIN, title=""), title=True)

    assert (raw.title, raw.raw) == ("p", "It grows. It sways.")


def test_the_source_yields_every_passage_and_counts_them() -> None:
    """Its position is that of the last one."""
    source = PassageSource(dataset(question("q", "ash")), title=False)

    items = list(source.items())

    assert (len(items), source.position, source.size, source.name) == (4, 4, 4, "trees")


def test_a_corpus_is_named_after_all_that_makes_it() -> None:
    """Another unit, embedder or passage is another corpus; questions are not."""
    one = dataset(question("q", "ash"))
    names = [
        corpus_name(one, Unit(), "m"),
        corpus_name(one, Unit(title=False), "m"),
        corpus_name(one, Unit(name="windows"), "m"),
        corpus_name(one, Unit(), "other"),
        corpus_name(replace(one, passages=one.passages[:2]), Unit(), "m"),
    ]

    assert len(set(names)) == 5
    assert corpus_name(dataset(question("r", "ash")), Unit(), "m") == names[0]
    assert all(name.startswith("eval-trees-") for name in names)


def test_halves_are_even_and_odd_places() -> None:
    """The first question is for development."""
    assert halves(5) == ((0, 2, 4), (1, 3))

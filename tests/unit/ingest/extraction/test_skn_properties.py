"""What is written reads back the same, and no text breaks the readers."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from knowtrail.ingest.extraction.skn import parse, parse_forgiving, write
from knowtrail.ingest.extraction.skn.notation import (
    SknBlock,
    SknError,
    SknFact,
    SknLink,
    SknRisk,
    SknSource,
)
from knowtrail.ingest.extraction.skn.repairs import _is_strange, _Reading

MARKS = st.sampled_from([
    *(
        '"',
        "\\",
        "\n",
        "\r\n",
        "[",
        "]",
        "[/SKN]",
        "[SKN]",
        "->",
        "\N{RIGHTWARDS ARROW}",
    ),
    *(
        "@facts",
        "@gaps",
        "|",
        "fresh:",
        "high",
        "!",
        "~",
        ".",
        "- ",
        " ",
        "\t",
        "\u2028",
    ),
    *("\N{LEFT DOUBLE QUOTATION MARK}", "0.5", "```", "\x00", "\ud800"),
])
TEXTS = st.lists(MARKS | st.text(max_size=8), min_size=1, max_size=6).map("".join)
VISIBLE = TEXTS.filter(lambda text: bool(text.strip()))
NUMBERS = st.none() | st.floats(0, 1)
LEVELS = st.sampled_from(["high", "medium", "low"])
MAYBE = st.none() | LEVELS
SOURCES = st.builds(SknSource, domain=VISIBLE, freshness=MAYBE, reliability=NUMBERS)
FACTS = st.builds(
    SknFact,
    text=VISIBLE,
    priority=st.sampled_from(["critical", "supporting", "uncertain"]),
    confidence=NUMBERS,
)
LINKS = st.builds(SknLink, cause=VISIBLE, effect=VISIBLE, strength=NUMBERS)
RISKS = st.builds(SknRisk, misdirection=LEVELS, missing_context=MAYBE) | st.builds(
    SknRisk, misdirection=MAYBE, missing_context=LEVELS
)
BLOCKS = st.builds(
    SknBlock,
    source=st.none() | SOURCES,
    facts=st.lists(FACTS, max_size=4).map(tuple),
    causal=st.lists(LINKS, max_size=3).map(tuple),
    gaps=st.lists(VISIBLE, max_size=3).map(tuple),
    risk=st.none() | RISKS,
)
WORDS = st.text(st.characters(categories=["Lu", "Ll"]), min_size=2, max_size=12).filter(
    lambda text: text.isalpha()
)
PLAIN_BLOCKS = st.builds(
    SknBlock,
    source=st.builds(
        SknSource,
        domain=WORDS.map("field of ".__add__),
        freshness=LEVELS,
        reliability=st.floats(0.01, 1),
    ),
    facts=st.lists(
        st.builds(
            SknFact,
            text=WORDS.map("It is ".__add__),
            priority=st.sampled_from(["critical", "supporting", "uncertain"]),
            confidence=st.integers(0, 100).map(lambda n: n / 100),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda fact: fact.text,
    ).map(tuple),
    risk=st.builds(SknRisk, misdirection=LEVELS, missing_context=LEVELS),
)


@given(BLOCKS)
def test_what_is_written_reads_back_the_same(block: SknBlock) -> None:
    """Any text survives, whatever marks of the language are in it."""
    assert parse(write(block)) == block


@given(BLOCKS)
def test_writing_is_canonical(block: SknBlock) -> None:
    """The text of a block is the only one that is written for it."""
    assert write(parse(write(block))) == write(block)


@given(BLOCKS.filter(lambda block: not block.is_empty and not _is_strange(block)))
def test_forgiving_reader_leaves_good_blocks_alone(block: SknBlock) -> None:
    """Where nothing is wrong, nothing is put right."""
    assert parse_forgiving(write(block)) == (block, ())


@given(PLAIN_BLOCKS)
def test_scanner_and_grammar_agree(block: SknBlock) -> None:
    """The line reader finds in a good block what the grammar finds."""
    reading = _Reading(None)

    reading.read(write(block))

    assert reading.block() == block
    assert reading.repairs == []


@given(st.lists(MARKS | st.text(max_size=20) | BLOCKS.map(write), max_size=8))
def test_any_answer_is_read_or_refused(pieces: list[str]) -> None:
    """A model may say anything: there is a block that can be written, or an error."""
    try:
        block, _ = parse_forgiving("".join(pieces))
    except SknError:
        return

    assert parse(write(block)) == block

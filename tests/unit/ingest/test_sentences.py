"""Sentence boundaries."""

# ruff: noqa: RUF001 - other alphabets are what this module is about

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sentencex
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.ingest.sentences import MAX_SENTENCE, split_sentences
from tests.cases import each

CASES = json.loads(
    Path(__file__).with_name("sentence_cases.json").read_text(encoding="utf-8")
)
ABBREVIATIONS = json.loads(
    Path(__file__).with_name("abbreviations.json").read_text(encoding="utf-8")
)
AROUND = {
    "en": ("They came home.", "Nobody knew it."),
    "nl": ("Eerst viel er regen.", "Daarna was het stil."),
    "de": ("Zuerst fiel Regen.", "Danach war es still."),
    "fr": ("La pluie tomba longtemps.", "Ensuite tout fut calme."),
}
MISSED = [case for case in CASES if case["name"] == "Japanese quotation"]

_PIECES = [
    *("Dr. ", "a", " ", "\n\n", "\n", ". ", "! ", "(", ") ", "1. ", "word" * 300),
    *("「", "。", "é", "e\u0301" * 700, "—", "Б"),
    *("\ud800", "\u200d", "\u2029", "\t"),
]
_TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(st.sampled_from(_PIECES), max_size=40).map("".join),
)


def _split(text: str, language: str = "en") -> list[str]:
    return [text[s.start : s.end] for s in split_sentences(text, language=language)]


def _joined_and_split(case: dict[str, Any]) -> list[str]:
    return _split(case.get("joined", " ").join(case["sentences"]), case["language"])


@each("case", [case for case in CASES if case not in MISSED])
def test_hard_case(case: dict[str, Any]) -> None:
    """The sentences of the case come out again after joining."""
    assert _joined_and_split(case) == case["sentences"]


@pytest.mark.xfail(
    strict=True, reason="a full stop inside a quotation is taken for the end"
)
@pytest.mark.parametrize("case", MISSED, ids=lambda case: case["name"])
def test_case_that_is_too_hard(case: dict[str, Any]) -> None:
    """The sentences of the case would come out again after joining."""
    assert _joined_and_split(case) == case["sentences"]


def test_abbreviations_end_no_sentence() -> None:
    """Nearly three hundred, each in a sentence between two, in four languages."""
    wrong = [
        found
        for language, sentences in ABBREVIATIONS.items()
        for before, after in [AROUND[language]]
        for sentence in sentences
        if (found := _split(f"{before} {sentence} {after}", language))
        != [before, sentence, after]
    ]

    assert sum(map(len, ABBREVIATIONS.values())) > 200
    assert wrong == []


@each(
    ("language", "first", "second"),
    [
        ("en", "It weighs 5 oz.", "The case is light."),
        ("en", "They sold apples, pears etc.", "The rest was given away."),
        ("en", "He came at 5 p.m.", "She had left."),
        ("en", "She lived in the U.S.S.R.", "He did not."),
        ("en", "She has a Ph.D.", "He has none."),
        ("en", "It is in the vol.", "She wrote it."),
        ("en", "He went to Mass.", "Nobody else did."),
        ("en", "It was his ex.", "A man came."),
        ("en", "It was his ex.", "Nobody else came."),
        ("nl", "Hij zag het deel.", "Daarna ging hij."),
        ("de", "Es war am 19.", "Danach kam er."),
        ("fr", "Il naquit en 50 av. J.-C.", "Rome brûla."),
    ],
)
def test_what_looks_abbreviated_may_end_a_sentence(
    language: str, first: str, second: str
) -> None:
    """A capital after a unit, a degree or an hour begins the next one."""
    assert _split(f"{first} {second}", language) == [first, second]


@given(_TEXTS)
def test_spans_cover_every_character_once(text: str) -> None:
    """Spans are ordered and disjoint, and only white space lies outside them."""
    spans = split_sentences(text)

    edges = [edge for span in spans for edge in (span.start, span.end)]
    inside = sum(span.end - span.start for span in spans)
    outside = text
    for span in reversed(spans):
        outside = outside[: span.start] + outside[span.end :]
    assert edges == sorted(edges)
    assert inside + len(outside) == len(text)
    assert not outside.strip()


@given(_TEXTS)
def test_spans_are_stripped_and_within_the_limit(text: str) -> None:
    """No span is empty, starts or ends with white space, or is too long."""
    found = _split(text)

    assert all(sentence and sentence == sentence.strip() for sentence in found)
    assert all(len(sentence) <= MAX_SENTENCE for sentence in found)


@given(_TEXTS.filter(lambda text: len(text) <= MAX_SENTENCE))
def test_no_span_is_mute_beside_others(text: str) -> None:
    """Punctuation never stands alone where there is a neighbour to take it."""
    found = _split(text)

    mute = [s for s in found if not any(char.isalnum() for char in s)]
    assert not mute or len(found) == 1


def test_only_punctuation_is_one_span() -> None:
    """A text without letters is kept whole rather than lost."""
    assert _split(" ...\n\n*** ") == ["...\n\n***"]


@pytest.mark.parametrize("text", ["", " \n\t\n ", "\u2029"])
def test_white_space_has_no_sentences(text: str) -> None:
    """There is nothing to read in white space."""
    assert split_sentences(text) == []


def test_long_sentence_is_cut_at_clauses() -> None:
    """A sentence beyond the limit breaks after a comma or semicolon."""
    clause = "the river ran on between low banks of clay and reeds,"
    text = " ".join([clause] * 40) + " and that was all."

    found = _split(text)

    assert len(found) == 3
    assert all(part.endswith(",") for part in found[:-1])


def test_long_word_is_cut_between_characters() -> None:
    """Text without white space is cut all the same, never inside a character."""
    text = "e\u0301" * 900

    found = _split(text)

    assert "".join(found) == text
    assert all(part.startswith("e") for part in found)


def test_run_of_combining_marks_is_cut_all_the_same() -> None:
    """Where every place is inside a character, the limit still holds."""
    found = _split("e" + "\u0301" * 2_500)

    assert max(len(part) for part in found) <= MAX_SENTENCE


@each("space", ["\u00a0", "\u2028", "\u3000", "\u0085", "\u00a0 \u00a0"])
def test_an_initial_may_have_any_white_space_behind_it(space: str) -> None:
    """The splitter breaks off there in Rust, which ends the process of who asks."""
    for language in ("en", "de", "fr", "bg", "ja"):
        text = f"By J{space}. Smith. It rains."

        spans = split_sentences(text, language=language)

        assert text[spans[-1].start : spans[-1].end] == "It rains."


def test_what_the_splitter_fails_on_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A panic of Rust is told as an error that an ingest notes; Ctrl-C is not."""

    class PanicException(BaseException):
        """What PyO3 raises where Rust panics."""

    def broken(error: BaseException) -> None:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr(sentencex, "get_sentence_boundaries", fail)

    broken(PanicException("not a char boundary"))
    with pytest.raises(InputError, match="No sentences are found in 'A text'"):
        split_sentences("A text")
    broken(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        split_sentences("A text")


@pytest.mark.parametrize("language", ["xx", "", "../etc", "en-GB", "EN", "tlh-Latn"])
def test_unknown_language_is_read_as_english(language: str) -> None:
    """English abbreviations are known whatever the code says."""
    text = "Dr. Smith arrived late. Mrs. Jones had left."

    found = _split(text, language)

    assert found == ["Dr. Smith arrived late.", "Mrs. Jones had left."]


def test_bulgarian_paragraph() -> None:
    """Cyrillic abbreviations do not end sentences."""
    text = "Проф. Иванов е роден в с. Баня. Той учи 3 г. в Пловдив, т.е. до 1912 г."

    found = _split(text, "bg")

    assert found == [
        "Проф. Иванов е роден в с. Баня.",
        "Той учи 3 г. в Пловдив, т.е. до 1912 г.",
    ]


def test_list_lines_are_sentences() -> None:
    """A line that begins a list item ends the sentence before it."""
    text = "You need:\n- flour\n- water\n1. Mix them\nwell."

    found = _split(text)

    assert found == ["You need:", "- flour", "- water", "1. Mix them\nwell."]


@pytest.mark.thorough
@each("unit", ["A. ", "(", '"', "...", "\n\n", "é. ", "Dr. ", "(a.) ", "[1]", "x"])
def test_time_grows_with_the_text_only(unit: str) -> None:
    """Repetition does not make the splitter slow: 20,000 units take a second."""
    units = 200_000
    text = unit * units

    begin = time.process_time()
    split_sentences(text)

    assert time.process_time() - begin < units / 20_000


def test_what_few_need_is_loaded_by_them_alone() -> None:
    """Neither the table of abbreviations at import, nor click for data sets."""
    code = (
        "import sys\n"
        "import knowtrail.ingest.sentences\n"
        "from knowtrail.graph.files.packaged import packaged\n"
        "read = packaged.cache_info().misses\n"
        "import knowtrail.eval.datasets.formats\n"
        "print(read, 'click' in sys.modules)"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, check=True, capture_output=True, text=True)

    assert done.stdout == "0 False\n"

"""Extraction from a text: one answer or two, in passages, merged."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.graph.models.prompts import estimated_tokens
from knowtrail.ingest.extraction import Extracted, extract_text
from knowtrail.ingest.extraction.skn import parse
from knowtrail.ingest.extraction.skn.notation import Repair, SknBlock
from knowtrail.ingest.extraction.text_extraction import merged, passages
from knowtrail.ingest.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowtrail.graph.models.language_models import LanguageModel

    Saying = Callable[..., tuple[LanguageModel, list[str]]]

TEXT = "Ice is water that froze. Cold makes it."
BLOCK = """[SKN]
@src physics | fresh:low | reliability:0.9
@facts
  ! "Ice is frozen water" [0.95]
@causal
  cold -> ice [0.9]
@gaps
  - the temperature
@risk misdirection:low | missing_context:high
[/SKN]"""
VALUE = {
    "entities": [{"name": "Ice", "type": "substance", "attributes": {}}],
    "relationships": [],
    "claims": [{"statement": "Ice is frozen water", "category": "fact"}],
}


def test_valid_block_is_taken_as_it_is(saying: Saying) -> None:
    """One answer, nothing put right, and the text reads back."""
    model, asked = saying(BLOCK)

    found = extract_text(TEXT, variant="skn", model=model)

    assert (found.status, found.attempts, found.repairs) == ("ok", 1, ())
    assert found.value == parse(BLOCK)
    assert found.text == BLOCK
    assert found.raw == BLOCK
    assert TEXT in asked[0]
    assert found.read_characters == found.source_characters == len(TEXT)


def test_block_is_put_right_without_asking_again(saying: Saying) -> None:
    """What can be put right costs no second answer, and is told with its line."""
    model, asked = saying(BLOCK.replace("->", "\N{RIGHTWARDS ARROW}"))

    found = extract_text(TEXT, variant="skn", model=model)

    assert found.status == "repaired"
    assert [(r.line, r.code) for r in found.repairs] == [(6, "arrow")]
    assert found.text == BLOCK
    assert len(asked) == 1


def test_second_answer_is_asked_for_with_the_problem(saying: Saying) -> None:
    """The validator's message goes to the model, which then does better."""
    model, asked = saying("I cannot do that.", BLOCK)

    found = extract_text(TEXT, variant="skn", model=model)

    assert (found.status, found.attempts) == ("ok", 2)
    assert found.error is None
    assert "line 1, column 1: Found 'I cannot do that.'" in asked[1]
    assert asked[1].startswith(asked[0])


def test_two_bad_answers_have_failed(saying: Saying) -> None:
    """The raw text of the last answer stays, and why it is of no use."""
    model, _ = saying("no", "never")

    found = extract_text(TEXT, variant="skn", model=model)

    assert (found.status, found.value, found.text) == ("failed", None, "")
    assert found.raw == "never"
    assert found.error is not None
    assert "Found 'never'" in found.error


@pytest.mark.parametrize("section", ["gaps", "causal", "risk"])
def test_section_that_a_variant_lacks_is_left_out(saying: Saying, section: str) -> None:
    """A model that adds the ablated section does not spoil the comparison."""
    model, _ = saying(BLOCK)

    found = extract_text(TEXT, variant=f"skn_no_{section}", model=model)

    assert isinstance(found.value, SknBlock)
    assert not getattr(found.value, section)
    assert [r.code for r in found.repairs] == ["left_out"]
    assert f"@{section}" not in found.text


def test_valid_json_is_taken_as_it_is(saying: Saying) -> None:
    """The value fits the schema and is shown indented."""
    model, asked = saying(json.dumps(VALUE))

    found = extract_text(TEXT, variant="json", model=model)

    assert (found.status, found.value) == ("ok", VALUE)
    assert found.text == json.dumps(VALUE, indent=2)
    assert "fits this schema" in asked[0]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (f"```json\n{json.dumps(VALUE)}\n```", "text_around"),
        (json.dumps(VALUE)[:-30], "cut"),
        (json.dumps({"claims": VALUE["claims"]}), "missing_array"),
        (json.dumps(VALUE | {"claims": ["Ice is frozen water"]}), "bare_text"),
        (json.dumps(VALUE | {"notes": 1}), "unknown_key"),
        (json.dumps(VALUE).replace('"fact"', '"truth"'), "category"),
        (json.dumps(VALUE).replace("{}", "[]"), "attributes"),
    ],
)
def test_json_is_put_right(saying: Saying, answer: str, code: str) -> None:
    """Fences, cuts, missing arrays and strange values cost no second answer."""
    model, _ = saying(answer)

    found = extract_text(TEXT, variant="json", model=model)

    assert (found.status, found.attempts) == ("repaired", 1)
    assert code in [r.code for r in found.repairs]
    assert isinstance(found.value, dict)
    assert set(found.value) == {"entities", "relationships", "claims"}


def test_numbers_that_json_cannot_write_are_refused(saying: Saying) -> None:
    """An infinity among the attributes would break every file it is written to."""
    entity = {"name": "Ice", "type": "", "attributes": {"cold": 0}}
    answer = json.dumps(VALUE | {"entities": [entity]}).replace("0}", "1e999}")
    model, _ = saying(answer, answer)

    found = extract_text(TEXT, variant="json", model=model)

    assert (found.status, found.value) == ("failed", None)
    assert "1e999 is no JSON number" in (found.error or "")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        *((0.7, 0.7), ("high", 0.9), ("85%", 0.85), (1.2, 1.0)),
        *((1234567890, None), (10**400, None)),
    ],
)
def test_confidence_of_a_claim_is_from_0_to_1(
    saying: Saying, said: Any, meant: float | None
) -> None:
    """Words and percentages are numbers; what means nothing is null."""
    claim = {"statement": "Ice is cold", "category": "fact", "confidence": said}
    model, _ = saying(json.dumps(VALUE | {"claims": [claim]}))

    found = extract_text(TEXT, variant="json_conf", model=model)

    assert isinstance(found.value, dict)
    assert found.value["claims"][0]["confidence"] == meant
    assert (found.status == "ok") == (said == 0.7)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "The text is empty"),
        (" \n ", "The text is empty"),
        ("\x00\x01\x02\ufffdPNG" * 50, "The text is not readable"),
    ],
)
def test_nothing_to_read_costs_nothing(saying: Saying, text: str, told: str) -> None:
    """Empty and binary texts fail without asking the model."""
    model, asked = saying()

    found = extract_text(text, variant="skn", model=model)

    assert (found.status, found.attempts, asked) == ("failed", 0, [])
    assert found.error is not None
    assert found.error.startswith(told)


def test_long_text_is_read_to_its_end(saying: Saying) -> None:
    """In passages that end with a sentence; equal facts have the largest confidence."""
    other = BLOCK.replace('."', '"').replace("[0.95]", "[0.5]")
    text = " ".join(f"Ice number {n} is cold." for n in range(1_200))
    model, asked = saying(BLOCK.replace("0.95", "0.4"), BLOCK, *[other] * 20)

    found = extract_text(text, variant="skn", model=model)

    assert (found.status, found.passages) == ("ok", len(asked))
    assert found.read_characters == found.source_characters == len(text)
    assert isinstance(found.value, SknBlock)
    assert [(f.text, f.confidence) for f in found.value.facts] == [
        ("Ice is frozen water", 0.95)
    ]
    shown = [re.findall(r"Ice number (\d+) is cold\.", prompt) for prompt in asked]
    assert [int(n) for one in shown for n in one] == list(range(1_200))


def test_passage_that_fails_is_no_reason_to_lose_the_others(saying: Saying) -> None:
    """The status says that a part was not read, how much, and why."""
    text = " ".join(f"Ice number {n} is cold." for n in range(400))
    model, asked = saying(BLOCK, "no", "never", *[BLOCK] * 20)

    found = extract_text(text, variant="skn", model=model)

    assert (found.status, found.attempts) == ("partial", len(asked))
    assert 0 < found.read_characters < found.source_characters == len(text)
    assert found.error is not None
    assert found.error.startswith(f"Passage 2 of {found.passages}: line 1")
    assert found.text == BLOCK


def test_all_passages_that_fail_are_a_failed_extraction(saying: Saying) -> None:
    """Nothing was read then."""
    model, _ = saying(*["no"] * 40)

    found = extract_text("Ice is cold. " * 1_000, variant="skn", model=model)

    assert (found.status, found.value, found.read_characters) == ("failed", None, 0)


@pytest.mark.parametrize(
    ("variant", "answer"),
    [
        ("json", json.dumps(VALUE).replace("is frozen", r"\ud800 is frozen")),
        ("skn", BLOCK.replace("is frozen", r"\ud800 is frozen")),
    ],
)
def test_half_characters_never_leave_the_answer(
    saying: Saying, variant: str, answer: str
) -> None:
    """What no database stores is replaced."""
    model, _ = saying(answer)

    found = extract_text(TEXT, variant=variant, model=model)

    assert found.text.encode()
    assert "\N{REPLACEMENT CHARACTER} is frozen" in found.text


def test_results_of_equal_calls_are_equal_but_for_time(saying: Saying) -> None:
    """Everything but the time hangs on the input alone."""
    model, _ = saying(BLOCK, BLOCK)

    first, second = (
        extract_text(TEXT, variant="skn", model=model, question="Why?")
        for _ in range(2)
    )

    assert isinstance(first, Extracted)
    assert first.prompt_hash == second.prompt_hash
    assert first.text == second.text


def test_unknown_variant_is_refused_before_asking(saying: Saying) -> None:
    """A mistake of the caller costs nothing."""
    model, asked = saying()

    with pytest.raises(InputError, match="Unknown variant"):
        extract_text(TEXT, variant="yaml", model=model)

    assert asked == []


FIRST = """[SKN]
@src seas | fresh:high | reliability:0.9
@facts
  . "Tides follow the Moon" [0.4]
  ~ "Ports differ" [0.3]
@causal
  Moon -> tide [0.5]
@gaps
  - the height of the tide
  - the names of ports
@risk misdirection:low | missing_context:high
[/SKN]"""
SECOND = """[SKN]
@src ports | fresh:medium | reliability:0.6
@facts
  ! "The height of the tide is four metres" [0.8]
  ! "tides follow  the moon" [0.7]
@causal
  moon -> Tide [0.9]
@gaps
  - The names of ports
@risk misdirection:medium | missing_context:low
[/SKN]"""


def _said(value: Any, **about: Any) -> Extracted:
    return Extracted(
        **{"variant": "skn", "model": "m", "status": "ok", "raw": "r"} | about,
        value=value,
    )


def test_blocks_become_one() -> None:
    """Equal facts and links once with the largest number; filled gaps go."""
    found = merged([_said(parse(FIRST)), _said(parse(SECOND))])

    assert (
        found.text
        == """[SKN]
@src seas | fresh:medium | reliability:0.6
@facts
  ! "Tides follow the Moon" [0.7]
  ! "The height of the tide is four metres" [0.8]
  ~ "Ports differ" [0.3]
@causal
  Moon -> tide [0.9]
@gaps
  - the names of ports
@risk misdirection:medium | missing_context:high
[/SKN]"""
    )


def test_gap_that_its_own_passage_contradicts_stays() -> None:
    """A model that calls missing what it has just stated is not put right here."""
    said = FIRST.replace("Ports differ", "The names of ports are many")

    found = merged([_said(parse(said)), _said(SknBlock())])

    assert isinstance(found.value, SknBlock)
    assert found.value.gaps == ("the height of the tide", "the names of ports")


def test_objects_become_one() -> None:
    """Entities by name, links by all three, claims by what they state."""
    one: dict[str, Any] = {
        "entities": [{"name": "Ice", "type": "solid", "attributes": {"hue": "blue"}}],
        "relationships": [{"source": "Ice", "relation": "is", "target": "water"}],
        "claims": [{"statement": "Ice floats", "category": "fact", "confidence": None}],
    }
    two: dict[str, Any] = {
        "entities": [
            {"name": "ice", "type": "", "attributes": {"hue": "white", "cold": "very"}}
        ],
        "relationships": [
            {"source": "ice", "relation": "is", "target": "Water"},
            {"source": "ice", "relation": "on", "target": "sea"},
        ],
        "claims": [
            {"statement": "ice  floats", "category": "fact", "confidence": 0.8},
            {"statement": "Seas freeze", "category": "fact", "confidence": 0.1},
        ],
    }

    found = merged([_said(one), _said(two)]).value

    assert found == {
        "entities": [
            {
                "name": "Ice",
                "type": "solid",
                "attributes": {"hue": "blue", "cold": "very"},
            }
        ],
        "relationships": [one["relationships"][0], two["relationships"][1]],
        "claims": [one["claims"][0] | {"confidence": 0.8}, two["claims"][1]],
    }


def test_repairs_name_their_passage_and_costs_add_up() -> None:
    """One that was put right makes the whole one that was."""
    repair = Repair(line=3, code="cut", message="no end")
    parts = [
        _said(parse(FIRST), prompt_tokens=5, attempts=1, seconds=1.0),
        _said(
            parse(SECOND),
            status="repaired",
            repairs=(repair,),
            completion_tokens=4,
            attempts=2,
            seconds=0.5,
        ),
    ]

    found = merged(parts)

    assert (found.status, found.error) == ("repaired", None)
    assert [str(one) for one in found.repairs] == ["line 3: passage 2: no end (cut)"]
    assert (found.prompt_tokens, found.completion_tokens) == (5, 4)
    assert (found.attempts, found.seconds, found.passages) == (3, 1.5, 2)
    assert found.raw == "r\n\nr"


@given(st.text(max_size=400), st.integers(2, 60))
def test_passages_are_the_whole_text(text: str, tokens: int) -> None:
    """Nothing is lost or said twice, and each has its room, in any alphabet."""
    found = passages(text, tokens)

    assert "".join(found) == text
    assert all(estimated_tokens(one) <= tokens for one in found)
    assert all(found) or found == [""]


def test_passages_end_where_sentences_end() -> None:
    """As many sentences as there is room for, also behind an abbreviation."""
    text = "Dr. Ice came, e.g. at noon. " * 30

    found = passages(text, 40)

    assert len(found) == 8
    starts = {span.start for span in split_sentences(text)}
    assert {len("".join(found[:n])) for n in range(8)} <= starts


def test_sentence_without_room_is_cut() -> None:
    """A passage is never empty, whatever its sentences are like."""
    assert passages("abcdef" * 3, 2) == ["abcdef"] * 3

"""One extraction: valid, put right, asked for twice, failed; never anything else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from graph.errors import InputError
from ingest.extraction import Extracted, extract_text
from ingest.extraction.skn import SknBlock, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from graph.language_models import LanguageModel

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
    assert "1e999 is no number of JSON" in (found.error or "")


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


def test_five_megabytes_are_shortened(saying: Saying) -> None:
    """A huge page is read as far as it fits, which is recorded."""
    model, asked = saying(BLOCK)

    found = extract_text("Ice is cold. " * 400_000, variant="skn", model=model)

    assert found.status == "ok"
    assert found.source_characters == 5_200_000
    assert 1_000 < found.read_characters < 12_000
    assert len(asked[0]) < 15_000


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

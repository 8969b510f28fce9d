"""Gold values that stand in a prompt or a training text."""

from __future__ import annotations

import pytest

from knowtrail.eval.fields.contamination import TextIndex, contamination
from knowtrail.graph.errors import InputError

PROMPT = """
Extract the process. Example: "The film was grown by reactive magnetron sputtering at
450 degrees in argon." Answer: sputtering.
"""


def by_field(records: list[object], text: str, words: int = 5) -> dict[str, object]:
    """Return the contamination by field."""
    index = TextIndex(text.splitlines(), words=words)
    return {one.field: one for one in contamination(records, index)}


def test_values_of_the_prompt_are_found() -> None:
    """A short value as a whole, a long one by its runs, case and commas aside."""
    records = [
        {
            "method": "Sputtering",
            "gas": "argon",
            "note": "grown by: reactive magnetron",
        },
        {"method": "evaporation", "gas": "argon", "note": "grown by hand"},
    ]

    found = by_field(records, PROMPT)

    shares = {name: one.verbatim for name, one in found.items()}  # type: ignore[attr-defined]
    assert shares == {"gas": 1.0, "method": 0.5, "note": 0.5}
    assert list(found) == ["gas", "method", "note"]
    assert found["note"].examples == ("grown by: reactive magnetron",)  # type: ignore[attr-defined]


def test_a_long_value_is_found_in_part() -> None:
    """Of four runs of five words two stand there."""
    text = "a b c d e f"

    (one,) = by_field([{"t": "a b c d e f x y"}], text).values()

    assert (one.verbatim, one.overlap, one.mean_words) == (0.0, 0.5, 8.0)  # type: ignore[attr-defined]


def test_runs_go_across_lines() -> None:
    """A line break is white space."""
    (one,) = by_field([{"t": "sputtering at 450 degrees"}], PROMPT).values()

    assert one.verbatim == 1.0  # type: ignore[attr-defined]


def test_order_of_words_counts() -> None:
    """The same words in another order are another run."""
    (one,) = by_field([{"t": "at sputtering"}], PROMPT).values()

    assert one.overlap == 0.0  # type: ignore[attr-defined]


def test_elements_share_their_field_and_null_has_no_words() -> None:
    """Numbers are words, null, truth and punctuation are not."""
    records = [{"a": [{"t": 450}, {"t": 7}], "b": None, "c": True, "d": "--"}]

    found = by_field(records, PROMPT)

    assert {name: one.values for name, one in found.items()} == {"a[].t": 2}  # type: ignore[attr-defined]
    assert found["a[].t"].overlap == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [0, 21])
def test_runs_of_odd_lengths_are_refused(words: int) -> None:
    """Nothing to look up, or too much to keep."""
    with pytest.raises(InputError, match="choose 1 to 20"):
        TextIndex([], words=words)


def test_examples_are_few_and_short() -> None:
    """The longest five, each cut."""
    text = " ".join(f"w{n}" for n in range(400))
    records = [{"t": " ".join(f"w{n}" for n in range(40 + k))} for k in range(9)]

    (one,) = by_field(records, text).values()

    assert one.verbatim == 1.0  # type: ignore[attr-defined]
    assert len(one.examples) <= 5  # type: ignore[attr-defined]
    assert max(map(len, one.examples)) <= 80  # type: ignore[attr-defined]

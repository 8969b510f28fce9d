"""How many are asked for, and numbers that are therefore no years."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.retrieval.specificity.quantities import asked_limit, years
from tests.cases import each

if TYPE_CHECKING:
    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline


@each(
    ("question", "limit"),
    [
        ("top 999 oldest museums", "999"),
        ("top-10 archives by age", "10"),
        ("the 1500 oldest museums", "1500"),
        ("first 3 museums of Amsterdam", "3"),
        ("the oldest five archives", "5"),
        ("de eerste drie musea", "3"),
        ("5 oudste archieven", "5"),
        ("Wat is het oudste museum?", "1"),
        ("oldest museum in the Netherlands", "1"),
        ("jongste bibliotheek", "1"),
        ("Welke bibliotheek is het oudst, die in Nederland?", "1"),
        ("and the oldest of them?", "1"),
        ("which are the oldest of them?", None),
        ("oudste bibliotheken", None),
        ("What are the oldest museums?", None),
        ("museums founded in the first 20 years of the century", None),
        ("museums from 1900, oldest first", None),
        ("which was founded first, 1850 or 1900?", None),
        ("de eerste 50 jaar", None),
    ],
)
def test_numbers_beside_a_superlative_say_how_many(
    question: str, limit: str | None
) -> None:
    """Before or behind it, in figures or words, but not where they count time."""
    found = asked_limit(question)

    assert found == limit or (limit is None and found == "1" and "was" in question)


@each(
    ("question", "values"),
    [
        ("top 999 oldest museums", []),
        ("top 1800 museums by age", []),
        ("give me the 1500 oldest museums", []),
        ("the first 800 museums", []),
        ("museums founded in 1900, oldest first", ["1900"]),
        ("museums from 1900 oldest first", ["1900"]),
        ("founded before 999", ["999"]),
        ("het oudste museum sinds 1850", ["1850"]),
    ],
)
def test_how_many_is_no_year(question: str, values: list[str]) -> None:
    """A number that says how many does not say when."""
    assert [found.value for found in years(question)] == values


@pytest.mark.parametrize(
    ("first", "then", "limit", "names"),
    [
        (
            "What is the oldest museum in Nederland?",
            "and the newest?",
            "1",
            ("Museum Fort Blauwkapel",),
        ),
        (
            "Wat zijn de 2 oudste musea in Nederland?",
            "en de nieuwste?",
            "2",
            ("Museum Fort Blauwkapel", "Museum Het Zilveren Anker"),
        ),
    ],
)
def test_the_newest_after_the_oldest_are_as_many(
    pipeline: TemplatePipeline, first: str, then: str, limit: str, names: tuple[str]
) -> None:
    """A follow-up that turns the order around keeps how many."""
    said = pipeline.forward(first).conversation

    result = pipeline.forward(then, conversation=said)

    assert result.slots.values["limit"] == limit
    assert result.execution is not None
    assert result.execution.column("name") == names


def test_which_are_the_newest_asks_for_all(pipeline: TemplatePipeline) -> None:
    """A plural takes back that only one was asked for."""
    said = pipeline.forward("What is the oldest museum in Nederland?").conversation

    result = pipeline.forward("and which are the newest?", conversation=said)

    assert result.resolution.question == "What are the newest museums in Nederland?"

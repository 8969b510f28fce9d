"""Every word of a question is heeded by its query, or told as left out."""

from __future__ import annotations

import pytest

from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
from knowtrail.retrieval.specificity.routes import choose_route
from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline
from tests.heritage import gazetteer_rows, rdf_custodians

PIPELINE = TemplatePipeline(rdf_custodians(), build_gazetteer(gazetteer_rows()))
LEFT_OUT = [
    ("Which purple museums are in Amsterdam?", ("purple",)),
    ("Which museums near Amsterdam are there?", ("near",)),
    ("Which large museums are in Utrecht?", ("large",)),
    ("Welke gratis musea zijn er in Amsterdam?", ("gratis",)),
    ("Are there no archives in Amsterdam?", ("no",)),
]
HEEDED = [
    "Which museums are in Amsterdam?",
    "Welk museum in Utrecht is het oudste?",
    "Which museums were founded before 1950?",
    "Does Amsterdam have more museums than Utrecht?",
    "Welke musea hebben een budget van meer dan 500.000 euro?",
    "Could you please tell me which archives there are in Utrecht",
]


@pytest.mark.parametrize(("question", "words"), LEFT_OUT)
def test_an_answer_begins_with_what_it_leaves_out(
    question: str, words: tuple[str, ...]
) -> None:
    """The words are told before the rows, and such a question is not routed here."""
    result = PIPELINE.forward(question)
    told = " ".join(words)
    begin = "I did not take" if result.language == "en" else "Met"

    assert (result.status, result.left_out) == ("answered", words)
    assert result.answer.startswith(f"{begin} '{told}'")
    assert result.as_dict()["leftOut"] == list(words)
    assert choose_route(PIPELINE, question).name == "graph"


@pytest.mark.parametrize(("question", "words"), LEFT_OUT)
def test_strict_refuses_instead(question: str, words: tuple[str, ...]) -> None:
    """No query is run."""
    result = PIPELINE.forward(question, strict=True)

    assert (result.status, result.execution) == ("none", None)
    assert " ".join(words) in result.answer


def test_what_is_left_out_is_told_where_it_asks_back() -> None:
    """The condition is not lost with the answer to that; strictly it is refused."""
    question = "Which museums have free entry?"
    asking = PIPELINE.forward(question)
    strict = PIPELINE.forward(question, strict=True)

    assert asking.status == "missing"
    assert asking.answer.startswith("I did not take 'free', 'entry' into account.")
    assert "Please say which" in asking.answer
    assert strict.status == "none"
    assert "'free', 'entry'" in strict.answer


def test_one_of_two_years_is_strictly_refused() -> None:
    """A count for the first alone would be wrong, whatever a note says."""
    question = "How many archives were founded in 1955 or 1956?"
    first = PIPELINE.forward(question)
    strict = PIPELINE.forward(question, strict=True)

    assert "1956" in first.notes[0]
    assert strict.status == "none"
    assert "'1956'" in strict.answer


def test_each_type_is_asked_for_in_its_own_place() -> None:
    """Two types with a place each are two queries, and no product."""
    result = PIPELINE.forward("Archives from Utrecht and museums from Amsterdam")
    turned = PIPELINE.forward("Museums from Utrecht and archives from Amsterdam")

    assert set(result.names) == {
        "Domarchief Utrecht",
        "Grachtenmuseum De Spiegel",
        "Museum Het Zilveren Anker",
    }
    assert set(turned.names) == {"Museum Fort Blauwkapel", "Stadsarchief Waterkant"}
    assert result.left_out == turned.left_out == ()


EXCLUDED = [
    ("Which archives in the Netherlands are not in Amsterdam?", {"Domarchief Utrecht"}),
    (
        "Welke musea in Nederland, behalve in Amsterdam en Utrecht?",
        {"Middelburg Zeemuseum"},
    ),
    (
        "Welke musea in Nederland zonder Amsterdam?",
        {"Middelburg Zeemuseum", "Museum Fort Blauwkapel"},
    ),
    (
        "Which institutions in Utrecht are not museums?",
        {"Bibliotheek De Leeszolder", "Domarchief Utrecht"},
    ),
    (
        "Welke musea in Nederland zijn niet in de twintigste eeuw opgericht?",
        {"Middelburg Zeemuseum"},
    ),
    (
        "Museums in the Netherlands except the Middelburg Zeemuseum and Amsterdam",
        {"Museum Fort Blauwkapel"},
    ),
]


@pytest.mark.parametrize(("question", "names"), EXCLUDED)
def test_what_is_excluded_is_not_found(question: str, names: set[str]) -> None:
    """An exclusion is part of the query, and the answer says so."""
    result = PIPELINE.forward(question)

    assert set(result.names) == names
    assert result.answer.startswith(("Without", "Zonder"))
    assert "FILTER" in result.instantiated.runs[0].sparql


def test_what_is_excluded_is_not_counted() -> None:
    """Of four archives one is in Amsterdam."""
    result = PIPELINE.forward("How many archives are not in Amsterdam?")

    assert "3 archives" in result.answer


@pytest.mark.parametrize("question", HEEDED)
def test_nothing_is_left_out_of_what_a_query_heeds(question: str) -> None:
    """Orders, bounds, comparisons and small words need no notice."""
    result = PIPELINE.forward(question, strict=True)

    assert (result.status, result.left_out) == ("answered", ())

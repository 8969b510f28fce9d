"""Questions for a number where the template lists, and lists that are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from retrieval.specificity.counting import total_of
from retrieval.specificity.execution import Execution, execute, summed
from retrieval.specificity.instantiation import Instantiated, Run, TemplateInstantiator
from retrieval.specificity.limiting import body_of
from retrieval.specificity.pipeline import PipelineOptions, TemplatePipeline
from retrieval.specificity.templates import load_templates

if TYPE_CHECKING:
    from rdflib import Graph

    from retrieval.specificity.gazetteer import Gazetteer


@pytest.mark.parametrize(
    ("question", "total", "answer"),
    [
        (
            "How many museums were founded before 1900?",
            1,
            "There is 1 museum founded before 1900:\n- Middelburg Zeemuseum (1888)",
        ),
        (
            "Hoeveel archieven zijn opgericht tussen 1800 en 1850?",
            2,
            "Er zijn 2 archieven opgericht tussen 1800 en 1850:\n- Archief Sche",
        ),
        (
            "How many institutions have a budget above 5 million euro?",
            2,
            "There are 2 institutions with a budget above 5,000,000 euro:\n- Museum",
        ),
        (
            "Hoeveel musea zijn opgericht in 1700?",
            0,
            "Er zijn geen musea opgericht in 1700 in de graaf.",
        ),
    ],
)
def test_a_question_for_a_number_is_answered_with_one(
    pipeline: TemplatePipeline, question: str, total: int, answer: str
) -> None:
    """Also where the template lists; the list follows."""
    result = pipeline.forward(question)

    assert (result.counted, result.total) == (True, total)
    assert result.as_dict()["total"] == total
    assert result.answer.startswith(answer)


@pytest.mark.parametrize(
    ("first", "then", "resolved"),
    [
        (
            "How many museums were founded before 1950?",
            "and in Belgium?",
            "How many museums in Belgium were founded before 1950?",
        ),
        (
            "Which museums were founded before 1950?",
            "how many are there?",
            "How many museums were founded before 1950?",
        ),
        (
            "Hoeveel musea zijn opgericht voor 1950?",
            "en welke archieven?",
            "Welke archieven zijn opgericht voor 1950?",
        ),
        (
            "How many archives have a budget above 1 million euro?",
            "which ones?",
            "Which archives have a budget of more than 1 million euro?",
        ),
    ],
)
def test_follow_ups_keep_what_is_counted(
    pipeline: TemplatePipeline, first: str, then: str, resolved: str
) -> None:
    """Date and budget are not lost between a number and a list."""
    said = pipeline.forward(first).conversation

    assert pipeline.forward(then, conversation=said).resolution.question == resolved


def test_a_cut_list_says_how_many_there_are(graph: Graph, gazetteer: Gazetteer) -> None:
    """Not how many rows were fetched."""
    options = PipelineOptions(rows=2)
    pipeline = TemplatePipeline(graph, gazetteer, options=options)

    result = pipeline.forward("Which museums are in the Netherlands?")

    assert result.execution is not None
    assert result.execution.cut
    assert result.answer.startswith("4 museums in the Netherlands:\n")


def test_templates_fetch_more_rows_than_are_shown() -> None:
    """So that a list which is not whole is known to be cut."""
    queries = [v.sparql for t in load_templates().values() for v in t.variants]
    limits = {q.rpartition("LIMIT ")[2] for q in queries if "LIMIT " in q}

    assert limits == {"1001", "50"}
    assert PipelineOptions().rows == 1000


def test_a_query_that_cannot_be_counted_has_no_total(graph: Graph) -> None:
    """One that finds groups is not counted by its body alone."""
    sparql = "SELECT ?custodian WHERE { ?custodian a hc:Custodian } GROUP BY ?custodian"
    query = Instantiated(template_id="own", runs=(Run(sparql=sparql, bindings={}),))
    found = execute(graph, query, rows=1)

    assert total_of(graph, query, found) is None


def test_the_body_of_a_query_holds_its_groups() -> None:
    """Braces in texts and comments end nothing."""
    sparql = 'SELECT ?a WHERE { ?a ?b "}" . { ?a ?c ?d } # }\n} LIMIT 1'

    begin, end = body_of(sparql) or (0, 0)

    assert sparql[begin:end] == '{ ?a ?b "}" . { ?a ?c ?d } # }\n}'


def test_counts_of_one_place_are_added_up() -> None:
    """Those of other places stay apart."""
    rows = (("A", 1), ("B", 2), ("A", 3))
    found = Execution(columns=("place", "count"), rows=rows, seconds=0.0)

    assert summed(found).rows == (("A", 4), ("B", 2))


def test_several_types_and_places_are_one_query_each() -> None:
    """With labels that tell their rows."""
    template = load_templates()["list_institutions_by_type_city"]
    slots = {"institution_type": ("A", "M"), "city": ("Gent", "Ulm")}

    made = TemplateInstantiator().instantiate(template, slots)

    assert [dict(run.label) for run in made.runs] == [
        {"type": "A", "place": "Gent"},
        {"type": "A", "place": "Ulm"},
        {"type": "M", "place": "Gent"},
        {"type": "M", "place": "Ulm"},
    ]

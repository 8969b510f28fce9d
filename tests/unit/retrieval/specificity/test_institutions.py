"""How many institutions queries find, and queries limited to one corpus."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from rdflib import Literal, URIRef

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.specificity.execution import Execution, execute, summed
from knowtrail.retrieval.specificity.institutions import (
    CORPUS,
    body_of,
    narrowed,
    total_of,
)
from knowtrail.retrieval.specificity.query_templates import (
    Instantiated,
    Run,
    TemplateInstantiator,
    load_templates,
)
from knowtrail.retrieval.specificity.template_pipeline import (
    PipelineOptions,
    TemplatePipeline,
)
from tests.heritage import rdf_custodians

if TYPE_CHECKING:
    from rdflib import Graph

    from knowtrail.retrieval.specificity.gazetteer import Gazetteer


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
            "Ik ken geen musea opgericht in 1700.",
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

    assert total_of(query, found, partial(execute, graph)) is None


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


IN_CORPUS = URIRef("https://knowtrail.example/property/corpus")
NAME = URIRef("https://schema.org/name")


def _two_corpora() -> Graph:
    """Return the institutions, one museum of them in a corpus of its own."""
    graph = rdf_custodians()
    for subject, name in list(graph.subject_objects(NAME)):
        corpus = "b" if str(name) == "Museum Het Zilveren Anker" else "a"
        graph.add((subject, IN_CORPUS, Literal(corpus)))
    return graph


def _query(sparql: str) -> Instantiated:
    """Return a query without values."""
    return Instantiated(template_id="mine", runs=(Run(sparql=sparql, bindings={}),))


@pytest.mark.parametrize(
    ("corpus", "found"),
    [("a", {"Grachtenmuseum De Spiegel"}), ("b", {"Museum Het Zilveren Anker"})],
)
def test_only_institutions_of_the_corpus_are_found(
    gazetteer: Gazetteer, corpus: str, found: set[str]
) -> None:
    """Lists, counts and comparisons all keep to it, and say so in their bindings."""
    pipeline = TemplatePipeline(
        _two_corpora(), gazetteer, options=PipelineOptions(corpus=corpus)
    )

    listed = pipeline.forward("Which museums are in Amsterdam?")
    counted = pipeline.forward("How many museums are in Amsterdam?")

    assert listed.execution is not None
    assert listed.instantiated is not None
    assert counted.execution is not None
    assert set(listed.execution.column("name")) == found
    assert counted.execution.column("count") == (1,)
    assert listed.instantiated.runs[0].bindings[CORPUS].value == corpus


@pytest.mark.thorough
def test_every_query_of_the_product_can_be_limited() -> None:
    """None of them finds institutions under another name."""
    runs = tuple(
        Run(sparql=variant.sparql, bindings={})
        for template in load_templates().values()
        for variant in template.variants
    )

    done = narrowed(Instantiated(template_id="all", runs=runs), {}, corpus="a")

    assert len(done.runs) == len(runs) > 20
    assert all(f"?{CORPUS}" in run.sparql for run in done.runs)


@pytest.mark.parametrize(
    "sparql",
    [
        "SELECT ?custodian { ?custodian schema:name ?n }",
        "SELECT ?custodian { ?custodian schema:name ?n . }",
        'SELECT ?custodian { ?custodian schema:name ?n FILTER(?n != "}") # }\n }',
        "SELECT ?custodian { { SELECT ?custodian { ?custodian schema:name ?n } } }",
        "SELECT ?custodian { ?custodian schema:name ?n } ORDER BY ?n LIMIT 50",
        "SELECT ?custodian { { ?custodian hc:isil ?i } UNION "
        "{ ?custodian schema:name ?n } }",
    ],
)
def test_braces_elsewhere_do_not_end_the_query(sparql: str) -> None:
    """The pattern stands in the body, whatever else has a brace."""
    found = execute(_two_corpora(), narrowed(_query(sparql), {}, corpus="b"))

    assert len(set(found.column("custodian"))) == 1


@pytest.mark.parametrize(
    "sparql",
    [
        "SELECT ?c { ?c schema:name ?n }",
        "SELECT ?n { ?c a ?d { SELECT (COUNT(?custodian) AS ?n) "
        "{ ?custodian schema:name ?x } } }",
        "SELECT ?n { ?c schema:name ?n OPTIONAL { ?custodian hc:isil ?i } }",
        "SELECT (EXISTS { ?custodian a ?x } AS ?e) { ?custodian a ?x }",
    ],
)
def test_a_query_that_cannot_be_limited_is_refused(sparql: str) -> None:
    """It would find institutions of other corpora."""
    with pytest.raises(InputError, match=r"'mine' cannot be limited to corpus 'b'"):
        narrowed(_query(sparql), {}, corpus="b")


def test_the_name_of_a_corpus_is_only_ever_a_value() -> None:
    """Nothing of it comes into the text of the query."""
    name = '" } DROP ALL #'
    query = _query("SELECT ?custodian { ?custodian schema:name ?n }")

    done = narrowed(query, {}, corpus=name)

    assert name not in done.runs[0].sparql
    assert execute(_two_corpora(), done).rows == ()

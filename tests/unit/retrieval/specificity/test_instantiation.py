"""Slot values are bound, never written into a query."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.errors import InputError, QueryTimeoutError
from retrieval.specificity.execution import check_reading, execute
from retrieval.specificity.instantiation import (
    Binding,
    Instantiated,
    Run,
    TemplateInstantiator,
    missing_slots,
)
from retrieval.specificity.templates import load_templates
from tests.heritage import rdf_custodians

if TYPE_CHECKING:
    from rdflib import Graph

TEMPLATES = load_templates()
MAKE = TemplateInstantiator()
INJECTION = (
    '" } DROP ALL # \\" . ?s ?p ?o } UNION { <x> \' ) ; DELETE WHERE { ?a ?b ?c }'
)
FULL: dict[str, str | tuple[str, ...]] = {
    "institution_type": "M",
    "city": "Amsterdam",
    "region": "NL-NH",
    "country": "NL",
    "name": "Scheldemuseum",
    "identifier": "BE-AntAS",
}
TEXTS = [
    (template.id, name)
    for template in TEMPLATES.values()
    for name, slot in template.slots.items()
    if slot.type in FULL and template.variants
]
GRAPH = rdf_custodians()


def slots_with(template_id: str, name: str, value: str) -> dict[str, str]:
    """Return slots of a template, with one value put in."""
    template = TEMPLATES[template_id]
    found = {
        n: str(FULL[s.type])
        for n, s in template.slots.items()
        if s.required and s.type in FULL
    }
    if "budget" in template.slots:
        found["budget"] = "1"
    if template.one_of and name not in template.one_of:
        found["city"] = "Nowhere"
    return {**found, name: value}


@pytest.mark.parametrize(("template_id", "name"), TEXTS)
def test_injection_is_only_ever_a_string(template_id: str, name: str) -> None:
    """In every slot, the text of the query stays and nothing is found or changed."""
    before = len(GRAPH)
    slots: dict[str, str | tuple[str, ...]] = dict(
        slots_with(template_id, name, INJECTION)
    )
    if TEMPLATES[template_id].each:
        slots = {"city": (INJECTION, "Utrecht"), "institution_type": "M"}

    query = MAKE.instantiate(TEMPLATES[template_id], slots)
    found = execute(GRAPH, query)

    texts = {variant.sparql for variant in TEMPLATES[template_id].variants}
    assert {run.sparql for run in query.runs} <= texts
    assert [row for row in found.rows if INJECTION not in row and row[-1]] == [
        row for row in found.rows if row[0] == "Utrecht"
    ]
    assert len(GRAPH) == before


@given(value=st.text(min_size=1, max_size=60))
def test_any_text_can_be_a_city(value: str) -> None:
    """Whatever a user writes is a value, and unknown."""
    slots = {"institution_type": "M", "city": value}
    query = MAKE.instantiate(TEMPLATES["list_institutions_by_type_city"], slots)

    assert execute(GRAPH, query).rows == ()


@pytest.mark.parametrize(
    ("template_id", "slots", "missing"),
    [
        ("list_institutions_by_type_city", {"city": "x"}, ("institution_type",)),
        ("list_institutions_by_type_city", {}, ("institution_type", "city")),
        (
            "count_institutions_by_type_location",
            {"institution_type": "M"},
            ("city|region|country",),
        ),
        ("compare_locations", {"city": ("x",)}, ("city|region|country",)),
        ("compare_locations", {"city": ("x",), "country": ("NL",)}, ()),
        ("count_institutions_by_type", {}, ()),
        ("find_custodians_by_budget_threshold", {}, ("budget",)),
    ],
)
def test_missing_slots_are_named(
    template_id: str, slots: dict[str, str | tuple[str, ...]], missing: tuple[str, ...]
) -> None:
    """What has no value is told by name."""
    assert missing_slots(TEMPLATES[template_id], slots) == missing


@pytest.mark.parametrize(
    ("template_id", "slots", "said"),
    [
        ("list_institutions_by_type_city", {"city": "x"}, "institution_type"),
        ("list_institutions_by_type_city", {"town": "x"}, "no slot 'town'"),
        ("find_custodians_by_budget_threshold", {"budget": "a lot"}, "'budget'"),
        ("find_custodians_by_budget_threshold", {"budget": "NaN"}, "'budget'"),
        ("find_custodians_by_budget_threshold", {"budget": "1e99"}, "'budget'"),
        ("find_institutions_by_founding_date", {"date": "long ago"}, "'date'"),
        ("find_institutions_by_founding_date", {"date": "1/2/3"}, "'date'"),
        ("find_institutions_by_founding_date", {"order": "biggest"}, "'order'"),
        ("find_institution_by_name", {"name": ("x", "y")}, "takes one"),
        ("none", {}, "no query"),
    ],
)
def test_values_of_the_wrong_form_are_refused(
    template_id: str, slots: dict[str, str | tuple[str, ...]], said: str
) -> None:
    """The message names the slot."""
    with pytest.raises(InputError, match=said):
        MAKE.instantiate(TEMPLATES[template_id], slots)


@pytest.mark.parametrize(
    ("slots", "first", "last"),
    [
        ({"date": "1850"}, "1850", "1850"),
        ({"date": "1850", "date_relation": "before"}, "-9999", "1849"),
        ({"date": "1850", "date_relation": "after"}, "1851", "9999"),
        ({"date": "1850", "date_relation": "since"}, "1850", "9999"),
        ({"date": "1850", "date_relation": "until"}, "-9999", "1850"),
        ({"date": "1801/1900"}, "1801", "1900"),
        ({"date": "1801/1900", "date_relation": "before"}, "-9999", "1800"),
        ({}, "-9999", "9999"),
    ],
)
def test_dates_are_ranges_of_years(
    slots: dict[str, str | tuple[str, ...]], first: str, last: str
) -> None:
    """A relation says which end is open."""
    query = MAKE.instantiate(TEMPLATES["find_institutions_by_founding_date"], slots)

    bound = query.runs[0].bindings
    assert (bound["date_from"].value, bound["date_to"].value) == (first, last)


def test_several_types_are_asked_one_by_one(graph: Graph) -> None:
    """The rows say which type they are of."""
    slots: dict[str, str | tuple[str, ...]] = {
        "institution_type": ("A", "L"),
        "city": "Utrecht",
    }
    query = MAKE.instantiate(TEMPLATES["list_institutions_by_type_city"], slots)

    found = execute(graph, query)

    assert found.column("type") == ("A", "L")
    assert found.column("name") == ("Domarchief Utrecht", "Bibliotheek De Leeszolder")


@pytest.mark.parametrize(
    "text",
    [
        "DELETE WHERE { ?a ?b ?c }",
        "INSERT DATA { <a> <b> <c> }",
        "DROP ALL",
        "LOAD <http://x.example/>",
        "CONSTRUCT { ?a ?b ?c } WHERE { ?a ?b ?c }",
        "SELECT ?a WHERE { OPTIONAL { SERVICE <http://x.example/> { ?a ?b ?c } } }",
        "SELECT ?a FROM <http://x.example/> WHERE { ?a ?b ?c }",
        "",
    ],
)
def test_only_reading_the_graph_itself_is_possible(text: str) -> None:
    """What writes, makes triples or asks elsewhere is refused."""
    with pytest.raises(InputError):
        check_reading(text)


def test_an_endless_query_is_ended(graph: Graph) -> None:
    """A join of everything with everything has no more time than it was given."""
    text = "SELECT ?a WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(?a = 3) }"
    query = Instantiated(template_id="x", runs=(Run(sparql=text, bindings={}),))

    with pytest.raises(QueryTimeoutError, match=r"longer than 0\.2 s"):
        execute(graph, query, seconds=0.2)


def test_rows_are_limited(graph: Graph) -> None:
    """More rows than wanted are cut, and that is told."""
    text = "SELECT ?a WHERE { ?a ?b ?c }"
    query = Instantiated(template_id="x", runs=(Run(sparql=text, bindings={}),))

    found = execute(graph, query, rows=5)

    assert (len(found.rows), found.cut) == (5, True)


def test_one_query_run_by_many_threads_gives_each_its_own_rows() -> None:
    """What one thread binds is never seen by another that runs the same template."""
    from rdflib import Graph, Literal, URIRef

    graph = Graph()
    for number in range(60):
        graph.add((URIRef(f"u:{number}"), URIRef("u:n"), Literal(number)))
    text = "SELECT ?o { ?s <u:n> ?o FILTER(?o >= ?low && ?o < ?high) }"

    def rows_from(low: int) -> bool:
        values = {"low": low, "high": low + 3}
        bindings = {
            name: Binding(value=str(value), datatype="integer")
            for name, value in values.items()
        }
        query = Instantiated(
            template_id="x", runs=(Run(sparql=text, bindings=bindings),)
        )
        found = sorted(int(str(row[0])) for row in execute(graph, query).rows)
        return found == [low, low + 1, low + 2]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(6) as pool:
            right = list(pool.map(rows_from, [0, 7, 14, 21, 28, 35] * 8))
    finally:
        sys.setswitchinterval(before)

    assert all(right)

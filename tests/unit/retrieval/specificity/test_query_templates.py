"""Query templates: what is read, what is refused, and queries made by values."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError, QueryTimeoutError
from knowtrail.graph.rdf import Vocabulary
from knowtrail.retrieval.specificity.class_scores import SPARQL_TO_CONTEXT
from knowtrail.retrieval.specificity.execution import execute, namespaces, select_query
from knowtrail.retrieval.specificity.query_templates import (
    Binding,
    Instantiated,
    Run,
    TemplateInstantiator,
    load_templates,
    missing_slots,
)
from tests.cases import each
from tests.heritage import rdf_custodians

if TYPE_CHECKING:
    from pathlib import Path

    from rdflib import Graph

    from knowtrail.retrieval.specificity.query_templates import Template

GOOD = """templates:
  - id: by_city
    description: Lists.
    slots:
      - {name: city, type: city, required: true}
    examples: {en: ["Who is in {city}?"], nl: ["Wie is er in {city}?"]}
    sparql: SELECT ?c WHERE { ?c schema:addressLocality ?city }
  - id: none
    description: Nothing.
    slots: []
    examples: {en: ["Why?"], nl: ["Waarom?"]}
"""


def read(tmp_path: Path, text: str) -> dict[str, Template]:
    """Load a file with a text."""
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    return load_templates(path)


def test_own_templates_are_those_of_the_table() -> None:
    """Every template of the mapping is there, and no other."""
    assert set(load_templates()) == set(SPARQL_TO_CONTEXT)


@pytest.mark.thorough
def test_own_templates_hold_as_a_file_of_others_must() -> None:
    """Their queries are not parsed when they are loaded, but they could be."""
    own = resources.files("knowtrail.retrieval.specificity").joinpath(
        "data", "templates.yaml"
    )

    with resources.as_file(own) as path:
        assert load_templates(path) == load_templates()


def test_own_templates_have_examples_in_both_languages() -> None:
    """Enough to be near: ten a language at least, none in two templates."""
    templates = [t for t in load_templates().values() if t.intent != "near"]
    texts = [t for x in templates for language in x.examples.values() for t in language]

    assert min(len(e) for x in templates for e in x.examples.values()) >= 10
    assert len(texts) == len(set(texts))


def test_a_small_file_is_read(tmp_path: Path) -> None:
    """The smallest useful file."""
    templates = read(tmp_path, GOOD)

    assert list(templates) == ["by_city", "none"]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("type: city", "type: town", 5, "type is 'town'"),
        ("name: city", "name: City!", 5, "name is 'City!'"),
        ("required: true", "required: maybe", 5, "required is 'maybe'"),
        ("Who is in {city}", "Who is in {town}", 6, "names no slot"),
        ("nl: [", "fr: [", 6, "languages"),
        ("?city }", "?town }", 7, "no variable ?city"),
        ("SELECT ?c WHERE", "DELETE WHERE", 7, "read-only"),
        ("SELECT ?c WHERE {", "SELECT ?c WHERE {{", 7, "cannot be understood"),
        ("schema:address", "nobody:address", 7, "cannot be understood"),
        ("SELECT ?c WHERE {", "ASK {", 7, "SELECT"),
        ("WHERE { ?c", "FROM <http://x.example/> WHERE { ?c", 7, "leave out FROM"),
        ("WHERE {", "WHERE { SERVICE <http://x.example/> { ?a ?b 1 }", 7, "SERVICE"),
        ("description: Lists.", "description: ''", 3, "description"),
        ("id: by_city", "id: By City", 2, "an id is made of"),
        ("id: none", "id: other", 8, "sparql is missing"),
        ("description: Lists.", "descriptoin: Lists.", 3, "unknown key"),
        ("description: Lists.", "id: again", 3, "twice"),
        ("slots: []", "slots: {}", 10, "must be a list"),
        ("Lists.", "Lists.\n    intent: guess", 4, "intent is 'guess'"),
        ("Lists.", "&a Lists.", 3, "anchors"),
        ("{en: [", "{en: ]", 6, "no YAML"),
        ("templates:", "template:", 1, "one key"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    """Each mistake is refused with the line where it is."""
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))

    assert f"mine.yaml, line {line}" in str(caught.value)
    assert said in str(caught.value)


def test_error_names_the_template(tmp_path: Path) -> None:
    """Who reads the message knows which template."""
    with pytest.raises(InputError, match="template 'by_city'"):
        read(tmp_path, GOOD.replace("type: city", "type: town"))


def test_an_id_that_occurs_twice_is_told(tmp_path: Path) -> None:
    """The second is refused, where it stands."""
    head, rest = GOOD.split("  - id: none")
    first = head.removeprefix("templates:\n")

    with pytest.raises(InputError, match=r"line 8: template 'by_city': this id occurs"):
        read(tmp_path, f"{head}{first}  - id: none{rest}")


def test_a_file_without_none_is_refused(tmp_path: Path) -> None:
    """Something must be taken where no other fits."""
    head = GOOD.split("  - id: none")[0]

    with pytest.raises(InputError, match="no template `none`"):
        read(tmp_path, head)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """The path is in the message."""
    with pytest.raises(InputError, match=r"nothing\.yaml"):
        load_templates(tmp_path / "nothing.yaml")


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


@each(("template_id", "name"), TEXTS)
def test_injection_is_only_ever_a_string(template_id: str, name: str) -> None:
    """In every slot, the text of the query stays and nothing is found or changed."""
    before = len(GRAPH)
    slots: dict[str, str | tuple[str, ...]] = dict(
        slots_with(template_id, name, INJECTION)
    )
    if "name" in TEMPLATES[template_id].each:
        slots = {"name": (INJECTION, "Nobody")}
    elif TEMPLATES[template_id].each:
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


@each(
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


@each(
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


@each(
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
        select_query(text)


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


def test_each_run_of_a_query_has_rows_of_its_own(graph: Graph) -> None:
    """Those of the first type leave room for those of the second."""
    runs = tuple(
        Run(sparql="SELECT ?a WHERE { ?a ?b ?c }", bindings={}, label={"type": name})
        for name in ("one", "two")
    )

    found = execute(graph, Instantiated(template_id="x", runs=runs), rows=5)

    assert found.column("type") == ("one",) * 5 + ("two",) * 5
    assert found.cut


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


@pytest.mark.parametrize("base", ["https://a.example/b", "https://a.example/b/"])
def test_a_base_may_end_with_a_slash_or_not(base: str) -> None:
    """With or without a slash a base gives the namespace that the graph has."""
    found = str(namespaces(base)["hc"])

    assert (
        found == "https://a.example/b/ontology/heritage#" == Vocabulary(base).heritage
    )

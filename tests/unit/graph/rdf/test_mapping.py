"""The table of the RDF mapping: the page about it, and the way back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import SettingsError
from knowtrail.graph.rdf.mapping import EMBEDDINGS, LABELS, TERMS, Mapping
from knowtrail.graph.rdf.vocabulary import (
    PREFIXES,
    Value,
    Vocabulary,
    decode_name,
    encode_name,
    is_iri,
)
from tests.cases import each

PAGE = (
    Path(__file__).resolve().parents[4] / "docs" / "reference" / "rdf-mapping.md"
).read_text("utf-8")
ROWS = [
    [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|")
]
MAPPING = Mapping(Vocabulary(), {"ex": "http://ex.org/"})
SPACES = PREFIXES | Vocabulary().prefixes
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def _short(iri: str) -> str:
    """Write an IRI with its prefix."""
    prefix, namespace = max(
        ((p, n) for p, n in SPACES.items() if iri.startswith(n)),
        key=lambda pair: len(pair[1]),
    )
    return f"{prefix}:{iri.removeprefix(namespace)}"


def test_page_has_every_label_with_its_types_and_no_other() -> None:
    """The table of nodes is that of the code."""
    wanted = {}
    for label, rule in LABELS.items():
        own = f"kt:{label}/KEY"
        iri = f"its uri, else {own}" if rule.uri else own
        types = ", ".join(_short(t) for t in (MAPPING.own_type(label), *rule.types))
        wanted[label] = [rule.key, iri, types]
    wanted["Resource"] = ["uri", "its uri", ""]

    start = ROWS.index(["label", "key", "IRI", "types"]) + 2
    found = {row[0]: row[1:] for row in ROWS[start : start + len(LABELS)]}

    assert found == wanted


def test_page_has_every_term_and_no_other() -> None:
    """The table of standard predicates is that of the code."""
    start = ROWS.index(["label", "property", "predicate", "values"]) + 2
    shown = [tuple(row[:3]) for row in ROWS[start : start + len(TERMS)]]

    assert shown == [(r.label, r.name, _short(MAPPING.term(r))) for r in TERMS]
    assert ROWS[start + len(TERMS)][0] == "value"


def test_page_has_every_prefix() -> None:
    """The table of prefixes is that of the code."""
    shown = {row[0].removesuffix(":"): row[1] for row in ROWS if row[0].endswith(":")}

    assert shown == SPACES


def test_page_names_the_vectors_that_can_be_left_out() -> None:
    """The option's properties are named."""
    assert all(f"`{name}`" in PAGE for name in EMBEDDINGS)


def test_predicates_lead_back_to_one_property() -> None:
    """No two properties of a label have the same predicate."""
    pairs = [(rule.label, MAPPING.term(rule)) for rule in TERMS]

    assert len(set(pairs)) == len(pairs)


@given(TEXT)
def test_names_come_back(name: str) -> None:
    """Any name survives as the end of an IRI, and XML can take it apart."""
    text = encode_name(name)

    assert decode_name(text) == name
    assert is_iri(f"http://x/{text}")
    assert re.search(r"[A-Za-z_][A-Za-z0-9_.-]*$", text)


@given(TEXT)
def test_texts_that_are_no_names_are_told(text: str) -> None:
    """What is decoded is what would be encoded so, and nothing else."""
    name = decode_name(text)

    assert name is None or encode_name(name) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_keys_come_back(key: str) -> None:
    """A node's IRI is one, and gives label and key back, whatever the key holds."""
    iri = Vocabulary().node("Chunk", key)

    assert Vocabulary().parse_node(iri) == ("Chunk", key)
    assert key == "" or is_iri(iri)
    assert not iri.endswith(("/.", "/.."))


@given(TEXT, TEXT, TEXT, st.integers(0, 10**6))
def test_statements_come_back(source: str, name: str, target: str, number: int) -> None:
    """A statement's IRI gives both ends, type and number back."""
    words = Vocabulary()
    ends = words.node("Chunk", source), "urn:x:" + target.encode().hex()

    iri = words.statement(ends[0], name, ends[1], number)

    assert is_iri(iri)
    assert words.parse_statement(iri) == (ends[0], name, ends[1], number)


@pytest.mark.parametrize("base", ["", "x", "http://a b/", "http://a/?q", "http://a/#"])
def test_bad_bases_are_refused(base: str) -> None:
    """A base that would make no IRIs is a mistake of the user."""
    with pytest.raises(SettingsError, match="base"):
        Vocabulary(base)


def test_base_ends_with_a_slash() -> None:
    """A base without its slash gets one."""
    assert Vocabulary("http://a.example/x").node("Chunk", "1") == (
        "http://a.example/x/Chunk/1"
    )


@each(
    ("label", "properties", "iri"),
    [
        ("Document", {"id": "a/b"}, "https://knowtrail.example/Document/a%2Fb"),
        (
            "Document",
            {"id": "a", "uri": "urn:x:y"},
            "https://knowtrail.example/Document/a",
        ),
        ("Corpus", {"name": "c"}, "https://knowtrail.example/Corpus/c"),
        ("Custodian", {"id": "a", "uri": "urn:x:y"}, "urn:x:y"),
        (
            "Custodian",
            {"id": "a", "uri": "no iri"},
            "https://knowtrail.example/Custodian/a",
        ),
        ("Custodian", {"uri": "urn:x:y"}, "urn:x:y"),
        ("Resource", {"uri": "bnode://b1"}, "_:b1"),
        ("Resource", {"id": "a"}, None),
        ("Chunk", {"id": 5}, None),
        ("Chunk", {}, None),
        (
            "Custodian",
            {"id": "a", "uri": "https://knowtrail.example/Chunk/x"},
            "https://knowtrail.example/Custodian/a",
        ),
    ],
)
def test_nodes_are_named(
    label: str, properties: dict[str, object], iri: str | None
) -> None:
    """A key, or an own IRI where the label has one, names a node."""
    assert MAPPING.node_iri(label, properties) == iri


def test_types_follow_labels() -> None:
    """The first label of the table decides; others add types of their own."""
    assert MAPPING.types(["Favourite", "Document", "ex__Thing"], "Document") == [
        "http://ex.org/Thing",
        "https://knowtrail.example/class/Document",
        "https://knowtrail.example/class/Favourite",
        "https://schema.org/Article",
    ]
    assert MAPPING.primary(["Theme", "Document"]) == "Document"
    assert MAPPING.primary(["Stray"]) is None


XSD = "http://www.w3.org/2001/XMLSchema#"


@each(
    ("name", "value", "predicate", "literals"),
    [
        ("founded", "1850", "schema:foundingDate", [("1850", "gYear")]),
        ("founded", "1850-02", "schema:foundingDate", [("1850-02", "gYearMonth")]),
        ("founded", "1850-13", "ktp:founded", [("1850-13", "")]),
        ("founded", "1850-02-28", "schema:foundingDate", [("1850-02-28", "date")]),
        ("founded", "1850-02-31", "ktp:founded", [("1850-02-31", "")]),
        ("founded", "c. 1850", "ktp:founded", [("c. 1850", "")]),
        ("budget", 12.5, "hc:annualBudget", [("12.5", "decimal")]),
        ("budget", 3, "ktp:budget", [("3", "integer")]),
        ("name", ["a", "b"], "schema:name", [("a", ""), ("b", "")]),
        ("flag", True, "ktp:flag", [("true", "boolean")]),
    ],
)
def test_values_choose_their_predicate(
    name: str, value: object, predicate: str, literals: list[tuple[str, str]]
) -> None:
    """A value that does not fit the standard term has the general predicate."""
    wanted = [Value(text, XSD + kind if kind else "") for text, kind in literals]

    ((found, values),) = MAPPING.property_values("Custodian", name, value)

    assert (_short(found), values) == (predicate, wanted)


def test_lists_say_their_order_where_it_is_not_plain() -> None:
    """Members are triples; what they do not say is in one literal more."""
    ((_, members), (predicate, order)) = MAPPING.property_values(
        "Fact", "x", ["b", "a", "b"]
    )

    assert [member.text for member in members] == ["a", "b"]
    assert predicate == "https://knowtrail.example/list/x"
    assert order[0].text == "1 0 1"
    assert len(MAPPING.property_values("Fact", "x", ["a", "b"])) == 1
    assert len(MAPPING.property_values("Fact", "x", ["a"])) == 2
    assert len(MAPPING.property_values("Fact", "x", [])) == 1


@pytest.mark.parametrize(
    ("stored", "literal"),
    [
        ("plain", Value("plain")),
        ("Ann@en", Value("Ann", "", "en")),
        ("30^^ex__age", Value("30", "http://ex.org/age")),
        ("30^^no__age", Value("30^^no__age")),
    ],
)
def test_text_of_others_is_read_as_neosemantics_writes_it(
    stored: str, literal: Value
) -> None:
    """Languages and datatypes are at the end of the text."""
    assert MAPPING.property_values("Resource", "ex__p", stored) == [
        ("http://ex.org/p", [literal])
    ]

"""The Cypher that SPARQL becomes: it is planned, and no name leaves its quotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, BNode, Literal, URIRef, Variable

from knowtrail.graph.rdf.clauses import merge_text, page_text, pairs_text
from knowtrail.graph.rdf.mapping import LABELS, TERMS, Mapping
from knowtrail.graph.rdf.plan import Component, solve
from knowtrail.graph.rdf.vocabulary import Vocabulary
from tests.tiers import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.db.connection import Connection

pytestmark = pytest.mark.integration

WORDS = Vocabulary()
MAPPING = Mapping(WORDS, {"ex": "http://ex.org/", "odd": "http://ex.org/odd/"})
HOSTILE = "x`]) DETACH DELETE (n"
NAMES = st.sampled_from([
    "score",
    "name",
    "page number",
    HOSTILE,
    "ü",
    "\\u0060",
    "$p0",
    "a'b",
    "1",
]) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
VARIABLES = st.sampled_from([Variable(name) for name in "abcd"])
NODES = (
    VARIABLES
    | st.builds(
        lambda label, key: URIRef(WORDS.node(label, key)),
        st.sampled_from(sorted(set(LABELS) - {"Resource"})),
        NAMES,
    )
    | st.sampled_from([URIRef("http://ex.org/thing"), BNode("b")])
)
PREDICATES = st.one_of(
    st.builds(lambda name: URIRef(WORDS.property(name)), NAMES),
    st.builds(lambda name: URIRef(WORDS.order(name)), NAMES),
    st.builds(lambda name: URIRef(WORDS.relationship(name)), NAMES),
    st.builds(lambda name: URIRef("http://ex.org/" + name.encode().hex()), NAMES),
    st.sampled_from([URIRef(MAPPING.term(rule)) for rule in TERMS]),
    st.sampled_from([RDF.type, RDF.subject, RDF.predicate, RDF.object]),
)
OBJECTS = st.one_of(
    NODES,
    st.builds(Literal, NAMES),
    st.builds(Literal, st.integers(-5, 5) | st.floats(allow_nan=False)),
    st.builds(lambda name: URIRef(WORDS.own_class(name)), NAMES),
    st.sampled_from([URIRef(WORDS.heritage + "Museum"), RDF.Statement]),
)
PATTERNS = st.lists(
    st.tuples(NODES, PREDICATES, OBJECTS), min_size=1, max_size=4, unique=True
)
FORMS = re.compile(
    r"(?:UNWIND|MATCH|OPTIONAL|WHERE|WITH|RETURN|CALL|UNION|ALL|CASE|WHEN|THEN|ELSE|"
    r"END|AND|OR|NOT|AS|IN|IS|NULL|COUNT|DISTINCT|INTEGER|FLOAT|LIST|ANY|any|coalesce|labels|"
    r"size|keys|type|elementId|properties|true|false|null|row|rows\d*|x|l|k|i|b\d+[st]?|id|uri|"
    r"name|n\d+|r\d+|p\d+|c\d+|Corpus|Custodian|OntologyClass|INSTANCE_OF)"
)


def _statements(
    patterns: list[Any], rows: list[dict[Any, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the statements that patterns become."""
    sent: list[tuple[str, dict[str, Any]]] = []

    def run(text: str, params: dict[str, Any]) -> Iterator[Any]:
        sent.append((text, params))
        return iter(())

    list(solve([Component(MAPPING, patterns, {})], run, rows))
    yield from sent


@given(patterns=PATTERNS, bound=st.booleans())
@settings(
    max_examples=amount(8, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_statements_are_understood_and_keep_names_in_quotes(
    session_connection: Connection, patterns: list[Any], bound: bool
) -> None:
    """Whatever a query names, the server plans the statement, which only reads."""
    row = {Variable("a"): URIRef(WORDS.node("Chunk", HOSTILE))} if bound else {}

    for text, params in _statements(patterns, [row]):
        outside = re.sub(r"`[A-Za-z_][A-Za-z0-9_]*`", " ", text)
        outside = outside.replace(">= ['']", " ")
        words = re.findall(r"[^\W\d]\w*", outside)
        assert [word for word in words if not FORMS.fullmatch(word)] == []
        assert not re.search(r"[`'\";\\]", outside)
        session_connection.query(f"EXPLAIN\n{text}", params)


@pytest.mark.thorough
def test_statements_of_files_are_understood(session_connection: Connection) -> None:
    """The server plans what exports and imports run for each label."""
    params: dict[str, Any] = {"after": "", "limit": 1, "corpus": "", "rows": []}
    texts = [
        text
        for label in LABELS
        for key in [LABELS[label].key]
        for text in (
            page_text(label, key, first=True, unkeyed=False, corpus=True),
            page_text(label, key, first=False, unkeyed=True, corpus=False),
            merge_text(label, key),
            *(
                pairs_text(label, key, "Chunk", "id", then=then)
                for then in ("read", "create", "change")
            ),
        )
    ]

    plans = [
        session_connection.query(f"EXPLAIN\n{text}", params | {"name": HOSTILE})
        for text in texts
    ]

    assert plans == [[]] * len(texts)

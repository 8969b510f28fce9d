"""Every label of the graph: what a node is known by, found by, and called in RDF.

From this one table come the constraints and indexes of the schema, what is wiped, and
the classes of an export.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label of ours.

    Attributes:
        since: The schema version that brought its constraint; 0 where it has none.
        key: The property that names a node; unique.
        indexes: Schema version -> what is indexed since then, each one property or
            several, `a, b`. An index is called after its last one, since version 12
            after all of them.
        points: The same for properties that are points.
        texts: Whether it is part of a corpus, as walks and results are not.
        uri: Whether a node's own `uri`, where it has one, is its IRI in RDF.
        types: Its standard types in RDF, as `prefix:name`, beside the label's own.
        own: The label's own type below the base; empty for `class/LABEL`.
    """

    since: int
    key: str = "id"
    indexes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    points: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    texts: bool = False
    uri: bool = False
    types: tuple[str, ...] = ()
    own: str = ""

    def schema(self, label: str) -> Iterator[tuple[int, str, str]]:
        """Yield schema version, name and command of the constraint and indexes."""
        called = _snake(label)
        if self.since:
            name = f"{called}_{self.key}"
            on = f"FOR (n:{label}) REQUIRE n.{self.key} IS UNIQUE"
            yield self.since, name, f"CREATE CONSTRAINT {name} IF NOT EXISTS {on}"
        for kind, table in (("", self.indexes), ("POINT ", self.points)):
            for since, indexed in table.items():
                for properties in indexed:
                    names = properties.split(", ")
                    named = names if since >= 12 else names[-1:]
                    name = "_".join([called, *map(_snake, named)])
                    on = f"FOR (n:{label}) ON ({', '.join(f'n.{n}' for n in names)})"
                    yield since, name, f"CREATE {kind}INDEX {name} IF NOT EXISTS {on}"


PROPERTY = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
"""Names of properties that people give and statements may have, in backticks."""


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


_BY_CORPUS = {9: ("corpus",)}
"""For labels whose nodes are counted, checked or deleted by their corpus."""
_RESEARCHED = {13: ("corpus",)}

LABELS: dict[str, Label] = {
    "Corpus": Label(since=1, key="name", texts=True),
    "Document": Label(
        since=1, indexes=_BY_CORPUS | {12: ("corpus, titleKey",)}, texts=True,
        types=("schema:Article",),
    ),
    "Chunk": Label(
        since=1, indexes=_BY_CORPUS | {12: ("corpus, similarLost",)}, texts=True,
        types=("nif:Context",),
    ),
    "Sentence": Label(since=1, indexes=_BY_CORPUS, texts=True, types=("nif:Context",)),
    "Theme": Label(
        since=1, indexes={9: ("corpus", "corpus, name")}, texts=True,
        types=("skos:Concept",),
    ),
    "Term": Label(
        since=6, indexes={6: ("corpus, name",)} | _BY_CORPUS, texts=True,
        types=("skos:Concept",),
    ),
    "Category": Label(
        since=1, indexes=_BY_CORPUS, texts=True, types=("skos:Concept",)
    ),
    "Redirect": Label(since=1, indexes=_BY_CORPUS, texts=True),
    "Query": Label(since=2, indexes=_BY_CORPUS),
    "Traversal": Label(since=2, indexes=_BY_CORPUS, types=("prov:Activity",)),
    "Step": Label(since=2, indexes=_BY_CORPUS),
    "Extraction": Label(since=3, indexes=_BY_CORPUS, types=("prov:Activity",)),
    "Fact": Label(since=4, indexes=_BY_CORPUS),
    "Concept": Label(since=4, indexes=_BY_CORPUS),
    "Gap": Label(since=4, indexes=_BY_CORPUS),
    "Entity": Label(since=4, indexes=_BY_CORPUS),
    "SearchResult": Label(since=4, indexes=_BY_CORPUS),
    "Research": Label(since=13, indexes=_RESEARCHED, types=("prov:Activity",)),
    "SubQuestion": Label(since=13, indexes=_RESEARCHED),
    "Finding": Label(since=13, indexes=_RESEARCHED),
    "Claim": Label(since=13, indexes=_RESEARCHED),
    "Verdict": Label(since=13, indexes=_RESEARCHED),
    "EvalRun": Label(since=3, types=("prov:Activity",)),
    "EvalRecord": Label(since=3),
    "FieldResult": Label(since=3),
    "Metric": Label(since=3, types=("dqv:QualityMeasurement",)),
    "Battle": Label(since=4, indexes=_BY_CORPUS),
    "OntologyClass": Label(
        since=4, indexes={5: ("uri",)}, uri=True, types=("owl:Class",)
    ),
    "Custodian": Label(
        since=4,
        indexes=_BY_CORPUS | {
            5: ("uri",),
            7: ("isil", "ghcid", "city"),
            8: (
                "institutionType", "region", "subregionCode", "countryCode", "founded",
                "budget",
            ),
        },
        points={11: ("location",)},
        uri=True,
        own="ontology/heritage#Custodian",
    ),
    "Conversation": Label(since=4, uri=True),
    "Turn": Label(since=4, uri=True),
    "Resource": Label(since=0, key="uri", uri=True),
    "SchemaVersion": Label(since=1),
}  # fmt: skip
"""Label -> what is known of it. In RDF a node with several has the rule of the first.

`Resource` is what an import of others' RDF makes, `SchemaVersion` the schema's own.
"""

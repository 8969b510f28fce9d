"""Every label of the graph: what a node is known by, found by, and called in RDF.

From this one table come the constraints and indexes of the schema, what is wiped, and
the classes of an export.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from knowtrail.graph.files.packaged import packaged


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


BARE_FIELDS = {
    "title": "document.title",
    "url": "document.url",
    "source": "document.source",
    "revision": "document.revision",
    "language": "document.language",
    "aliases": "document.aliases",
    "doc_id": "document.id",
    "chunk_id": "chunk.id",
    "className": "chunk.className",
    "class_name": "chunk.className",
    "index": "chunk.index",
    "sentence_start": "chunk.firstSentence",
    "sentence_end": "chunk.lastSentence",
    "start_index": "chunk.startChar",
    "end_index": "chunk.endChar",
}
"""What filters name without an owner -> the property it stands for."""
PROPERTY = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
"""Names of properties that people give and statements may have, in backticks."""
COPIED = "document_"
"""What the names of properties begin with that chunks have of their documents."""
MOST_INDEXED = 8_000
"""Bytes of a value in an index; the server refuses one with a little more."""
LONGEST_COPY = 1_000
"""Characters of a text that chunks have of their documents, for the vector index."""


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _label(told: dict[str, Any]) -> Label:
    tables = {
        name: {int(since): tuple(names) for since, names in told.get(name, {}).items()}
        for name in ("indexes", "points")
    }
    return Label(**told | tables | {"types": tuple(told.get("types", ()))})


LABELS: dict[str, Label] = {
    name: _label(told) for name, told in packaged(__package__, "labels.toml").items()
}
"""Label -> what is known of it; the order decides where a node has several."""

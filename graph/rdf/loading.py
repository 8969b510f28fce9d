"""Read RDF into the graph: the whole file first, then batches of nodes and edges.

A file that is not well-formed changes nothing. What is stored is stored batch by batch,
each in a transaction, and may be stored again: the same import a second time, or after
it was interrupted, ends with the same graph.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph.progress import silent
from graph.rdf.clauses import arms_of, merge_text, node_text, pairs_text
from graph.rdf.export import format_of
from graph.rdf.lengths import check_lengths
from graph.rdf.mapping import LABELS, Mapping
from graph.rdf.parsing import digest_of, parse
from graph.rdf.rows import NodeRow, Rows
from graph.rdf.run import Run
from graph.rdf.staging import Staging
from graph.rdf.statements import content_of
from graph.rdf.vocabulary import DEFAULT_BASE, Vocabulary
from graph.schema import apply_schema, vector_dimensions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graph.connection import Connection
    from graph.progress import Progress
    from graph.rdf.vocabulary import Value

__all__ = ["ImportReport", "import_rdf"]

_BATCH = 500
_FOREVER = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import read and changed.

    Attributes:
        triples: Triples of the file.
        nodes: Nodes that they describe.
        relationships: Relationships between them.
        foreign: How many of the nodes are RDF of others, stored as `:Resource`.
        missing: Relationships left out, for one of their nodes is not there.
        nodes_created: Nodes that were not there before.
        relationships_created: Relationships that were not there before.
    """

    triples: int
    nodes: int
    relationships: int
    foreign: int
    missing: int
    nodes_created: int
    relationships_created: int


def import_rdf(
    connection: Connection,
    source: Path | str,
    *,
    format: str | None = None,  # noqa: A002 - the word of rdflib and of the command
    base: str = DEFAULT_BASE,
    progress: Progress = silent,
) -> ImportReport:
    """Store the triples of a file in the graph.

    Nodes are found by their keys and get the properties that the file has for them;
    properties that it does not speak of stay. IRIs that are not ours become
    `:Resource` nodes as neosemantics has them.

    Args:
        connection: The database.
        source: An RDF file in UTF-8.
        format: `turtle`, `nt`, `json-ld` or `xml`; None to go by the file's name.
        base: What the IRIs of nodes, properties and relationships begin with.
        progress: Told of triples as they are read and of nodes as they are stored.

    Raises:
        RdfError: If the file is not well-formed, or has what the database cannot
            hold; nothing is then stored.
        SourceError: If it cannot be read.
        DatabaseError: If the database fails; the same import again goes on.
    """
    path = Path(source)
    form = format_of(path.name, format)
    run = Run(connection, Vocabulary(base), _FOREVER)
    with tempfile.TemporaryDirectory(prefix="knowtrail-rdf-") as folder:
        staging = Staging(Path(folder), digest_of(path), run.mapping.vocabulary)
        try:
            parse(path, staging, form=form, base=run.mapping.vocabulary.base)
            staging.finish()
            progress("Reading RDF", staging.count, staging.count)
            return _Import(connection, run, staging, progress).work()
        finally:
            staging.close()


class _Import:
    """One import, from staged triples to the graph.

    Args:
        connection: The database.
        run: Reads the database.
        staging: The triples.
        progress: Told of nodes and relationships as they are stored.
    """

    def __init__(
        self, connection: Connection, run: Run, staging: Staging, progress: Progress
    ) -> None:
        self._connection = connection
        self._run = run
        self._staging = staging
        self._progress = progress
        self._rows = Rows(run.mapping, staging.prefixes)
        self._mapping: Mapping = self._rows.mapping
        self._counts: Counter[str] = Counter()
        self._classes: dict[str, bool] = {}
        self._has_resources = False

    def work(self) -> ImportReport:
        """Store nodes, then relationships, and say what changed."""
        check_lengths(self._staging, self._rows)
        apply_schema(self._connection)
        for batch in _batches(self._staging.subjects()):
            self._store_subjects(batch)
        self._place_rest()
        for batch in _batches(self._staging.edges()):
            self._store_edges(batch)
            self._progress("Storing relationships", self._counts["edges"], None)
        counts = self._counts
        return ImportReport(
            triples=self._staging.count,
            nodes=counts["nodes"],
            relationships=counts["edges"],
            foreign=counts["foreign"],
            missing=self._staging.count_edges() - counts["edges"],
            nodes_created=counts["nodes_created"],
            relationships_created=counts["edges_created"],
        )

    def _store_subjects(
        self, batch: list[tuple[str, list[tuple[str, str | Value]]]]
    ) -> None:
        """Store the nodes of some subjects; note their relationships."""
        nodes = []
        for iri, facts in batch:
            stated = self._rows.statement(iri, facts)
            if stated is None:
                nodes.append((iri, facts))
            else:
                self._staging.state(*stated, iri)
        unclear = [
            iri
            for iri, facts in nodes
            if self._rows.label_of(iri, [o for _, o in facts if isinstance(o, str)])
            == "Resource"
        ]
        found = self._stored(unclear)
        rows = []
        for iri, facts in nodes:
            row = self._rows.node(iri, facts, found.get(iri))
            for name, target in row.edges:
                self._staging.connect(iri, name, target)
            labels = list(row.labels)
            for kind in row.classes:
                if self._is_class(kind):
                    self._staging.connect(iri, "INSTANCE_OF", kind)
                else:
                    labels.append(self._rows.short(kind))
            rows.append((row, labels))
        self._write_nodes(rows)

    def _is_class(self, iri: str) -> bool:
        """Return whether a type of a custodian is a class of the ontology."""
        if iri not in self._classes:
            vocabulary = self._mapping.vocabulary
            parsed = vocabulary.parse_node(iri)
            self._classes[iri] = (
                iri.startswith(vocabulary.heritage)
                or (parsed is not None and parsed[0] == "OntologyClass")
                or self._staging.is_class(iri, self._mapping.own_type("OntologyClass"))
                or self._stored([iri]).get(iri) == "OntologyClass"
            )
        return self._classes[iri]

    def _stored(self, iris: list[str]) -> dict[str, str]:
        """Return the labels of the nodes that are there already, by IRI."""
        by_arms: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for iri in iris:
            arms = arms_of(self._mapping, iri)
            by_arms.setdefault(tuple(arms), []).append({"b": list(arms.values())})
        found: dict[str, str] = {}
        for keys, rows in by_arms.items():
            for _, labels, properties in self._run(node_text(keys), {"rows": rows}):
                label = self._mapping.primary(labels)
                known = label and self._mapping.node_iri(label, properties)
                if label and known:
                    found[known] = label
        return found

    def _write_nodes(self, rows: list[tuple[NodeRow, list[str]]]) -> None:
        """Store nodes in one transaction, with the prefixes that they need."""
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row, labels in rows:
            self._staging.place(row.iri, row.label, row.name, row.key)
            vectors = [{"name": n, "vector": v} for n, v in sorted(row.vectors.items())]
            groups.setdefault((row.label, row.name), []).append({
                "key": row.key,
                "labels": sorted(labels),
                "properties": row.properties,
                "vectors": vectors,
            })
            self._counts["nodes"] += 1
            self._counts["foreign"] += row.label == "Resource"
            self._make_indexes(row)
        steps: list[tuple[str, dict[str, Any]]] = []
        if self._rows.new_prefixes:
            from graph.statements import statement

            held = dict(self._rows.new_prefixes)
            self._rows.new_prefixes.clear()
            steps.append((statement("rdf/add_prefixes"), {"prefixes": held}))
        steps += [
            (merge_text(label, name), {"rows": group})
            for (label, name), group in sorted(groups.items())
        ]
        self._counts["nodes_created"] += self._write(steps)[0]
        self._progress("Storing nodes", self._counts["nodes"], None)

    def _make_indexes(self, row: NodeRow) -> None:
        """Make what must be there before a node: a constraint, vector indexes."""
        if row.label == "Resource" and not self._has_resources:
            from graph.statements import statement

            self._connection.run_schema(statement("rdf/constraint_resource_uri"))
            self._has_resources = True
        dimensions = row.properties.get("dimensions")
        sized = row.label == "Corpus" and isinstance(dimensions, int)
        if sized and vector_dimensions(self._connection) is None:
            apply_schema(self._connection, dimensions=dimensions)

    def _write(self, steps: list[tuple[str, dict[str, Any]]]) -> tuple[int, int]:
        """Run statements in one transaction; return nodes and relationships created."""
        from graph.driver import Counters, translate_errors

        def work(tx: Any) -> Counters:
            total = Counters()
            for text, params in steps:
                total += Counters.of(tx.run(text, params).consume())
            return total

        with (
            translate_errors(),
            self._connection.driver.session(
                database=self._connection.database,
                bookmark_manager=self._connection.driver.execute_query_bookmark_manager,
            ) as session,
        ):
            total = session.execute_write(work)
        return total.nodes_created, total.relationships_created

    def _place_rest(self) -> None:
        """Find, or make, the nodes that relationships lead to but the file has not."""
        while iris := self._staging.unplaced(_BATCH):
            found = self._stored(iris)
            rows = []
            for iri in iris:
                parsed = self._mapping.vocabulary.parse_node(iri)
                ours = parsed is not None and parsed[0] in LABELS
                heritage = self._mapping.vocabulary.heritage
                if iri in found:
                    row = self._rows.node(iri, [], found[iri])
                    self._staging.place(iri, row.label, row.name, row.key)
                elif ours or self._mapping.vocabulary.parse_statement(iri):
                    self._staging.place(iri, "", "", "")
                elif iri.startswith(heritage) and self._classes.get(iri):
                    name = iri.removeprefix(heritage)
                    properties = {"id": iri, "uri": iri, "name": name}
                    row = NodeRow(
                        iri=iri,
                        label="OntologyClass",
                        name="id",
                        key=iri,
                        properties=properties,
                    )
                    rows.append((row, list[str]()))
                else:
                    rows.append((self._rows.node(iri, [], "Resource"), []))
            if rows:
                self._write_nodes(rows)

    def _store_edges(self, batch: list[tuple[Any, ...]]) -> None:
        """Store relationships that are not there, or not as often as they should."""
        steps = []
        for kind, group in itertools.groupby(batch, key=lambda row: row[:5]):
            name, *ends = kind
            if "" in ends:
                continue
            edges = list(group)
            steps += self._edge_steps(name, tuple(ends), edges)
            self._counts["edges"] += len(edges)
        if self._rows.new_prefixes:
            self._write_nodes([])
        if steps:
            self._counts["edges_created"] += self._write(steps)[1]

    def _edge_steps(
        self, name: str, ends: tuple[str, ...], edges: list[tuple[Any, ...]]
    ) -> list[tuple[str, dict[str, Any]]]:
        """Return the statements that store relationships of one kind.

        One that is there keeps the properties that the file does not speak of.
        """
        rows = [{"a": row[5], "b": row[6], "i": i} for i, row in enumerate(edges)]
        params = {"rows": rows, "name": name}
        there = {row[0]: row[1] for row in self._run(pairs_text(*ends), params)}
        created, changed = [], []
        for place, row in enumerate(edges):
            stated = self._staging.statements(row[7], name, row[8])
            wanted = [self._rows.properties("", facts) for facts in stated] or [{}]
            held = there.get(place, [])
            if held and not stated:
                continue
            pair = rows[place] | {}
            if len(held) == 1 and len(wanted) == 1:
                if self._content(held[0] | wanted[0]) != self._content(held[0]):
                    changed.append(pair | {"properties": wanted[0]})
                continue
            left = Counter(map(self._content, held))
            for properties in wanted:
                content = self._content(properties)
                if left[content] > 0:
                    left[content] -= 1
                else:
                    created.append(pair | {"properties": properties})
        steps = []
        if created:
            text = pairs_text(*ends, then="create")
            steps.append((text, {"rows": created, "name": name}))
        if changed:
            text = pairs_text(*ends, then="change")
            steps.append((text, {"rows": changed, "name": name}))
        return steps

    def _content(self, properties: dict[str, Any]) -> str:
        """Return a text that equal properties share."""
        return content_of(self._mapping, properties)


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield lists of a few hundred items."""
    waiting = iter(items)
    while batch := list(itertools.islice(waiting, _BATCH)):
        yield batch

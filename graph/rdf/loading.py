"""Read RDF into the graph: the whole file first, then batches of nodes and edges.

A file that is not well-formed changes nothing. What is stored is stored batch by batch,
each in a transaction, and may be stored again: the same import a second time, or after
it was interrupted, ends with the same graph. To the corpora that it changes an import
is what an ingest is: see `Corpora`.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.batches import batched
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.db.corpus_lock import corpus_lock
from knowtrail.graph.db.driver import Counters, translate_errors
from knowtrail.graph.db.labels import LABELS as ALL_LABELS
from knowtrail.graph.db.labels import MOST_INDEXED
from knowtrail.graph.db.schema import (
    apply_schema,
    indexed_properties,
    vector_dimensions,
)
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import RdfError
from knowtrail.graph.rdf.clauses import arms_of, merge_text, node_text, pairs_text
from knowtrail.graph.rdf.export import format_of
from knowtrail.graph.rdf.mapping import LABELS, Mapping, content_of
from knowtrail.graph.rdf.patterns import TYPE
from knowtrail.graph.rdf.run import Run
from knowtrail.graph.rdf.staging import Facts, NodeRow, Rows, Staging, parse
from knowtrail.graph.rdf.vocabulary import DEFAULT_BASE, Vocabulary
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowtrail.graph.db.connection import Connection

_TEXTS = frozenset(label for label, rule in ALL_LABELS.items() if rule.texts)
"""Labels that make a corpus; walks, extractions and institutions are beside it."""

_BATCH = 500

_Step = tuple[str, dict[str, Any], bool]
"""A statement, its parameters, and whether it returns corpora that it changes."""


def _check_lengths(staging: Staging, rows: Rows) -> None:
    for subject, predicate, found, is_literal in staging.ask("longer", MOST_INDEXED):
        for iri in [subject] if is_literal else [subject, found]:
            if len(iri.encode()) > MOST_INDEXED:
                _refuse(f"The IRI {iri[:60]!r}...", iri)
        label = rows.label_of(subject, staging.about(subject))
        name = rows.name_of(label, predicate)
        if name in {"id", "uri"} | indexed_properties(label):
            _refuse(f"The {name} of {subject[:200]}", found)


def _refuse(what: str, text: str) -> None:
    raise RdfError(
        f"{what} has {len(text.encode()):,} bytes and an index of Neo4j holds "
        f"{MOST_INDEXED:,}: shorten it. Nothing was stored."
    )


class Corpora:
    """What an import does to corpora, which `locks` keep from other processes.

    A corpus that was there gets a new version with the first change, and is unfinished
    until the import has ended; one that comes with the file keeps the version that the
    file says, and is unfinished for as long.
    """

    def __init__(self, connection: Connection, home: Path, locks: ExitStack) -> None:
        self._connection = connection
        self._home = home
        self._locks = locks
        self._held: set[str] = set()
        self._touched: set[str] = set()
        self._ends: dict[str, tuple[str, Any]] = {}
        self._before = {
            row["name"]: (row["version"] or 0, row["status"])
            for row in connection.read("corpus/list")
        }

    def hold(self, names: Iterable[str]) -> None:
        """Lock corpora, or raise `InputError` where another process writes to one."""
        for name in sorted(set(names) - self._held):
            self._locks.enter_context(corpus_lock(self._home, self._connection, name))
            self._held.add(name)

    def settled(self, row: NodeRow) -> dict[str, Any]:
        """Return the properties of a node without the state that is not the file's."""
        properties = dict(row.properties)
        if row.label == "Corpus":
            status, version = properties.pop("status", None), properties.get("version")
            for own in ("linkState", "copied", "filters"):
                properties.pop(own, None)
            if isinstance(status, str):
                self._ends[row.key] = status, version
            if row.key in self._before:
                properties.pop("version", None)
            elif status is not None:
                properties["status"] = "unfinished"
        elif (
            row.label in {"Document", "Chunk"}
            and properties.get("corpus") in self._before
        ):
            properties.pop("corpusVersion", None)
        return properties

    def mark(self, tx: Any, names: set[str]) -> None:
        """Hold corpora that a transaction changes, and count a new version of them."""
        self.hold(names)
        self._touched |= names
        for name in sorted(names):
            tx.run(statement("rdf/corpus_unfiltered"), {"name": name}).consume()
            if name in self._before:
                params = {"name": name, "version": self._version(name)}
                tx.run(statement("ingest/corpus_begin"), params).consume()

    def _version(self, name: str) -> int:
        """Return the version that the import makes of a corpus that was there."""
        version, status = self._before[name]
        return int(version) + (1 if status == "complete" else 0)

    def complete(self) -> None:
        """Say that everything of the file is stored.

        A corpus that was unfinished has been so by an ingest, and stays so, unless it
        has the version of the file: then an import of it was interrupted.
        """
        for name in sorted(self._touched | self._ends.keys()):
            end, version = self._ends.get(name, (None, None))
            if name in self._before:
                if name in self._touched:
                    self._connection.write(
                        "rdf/corpus_documents", name=name, version=self._version(name)
                    )
                stored, status = self._before[name]
                end = end if status != "complete" and stored == version else status
            if end is not None:
                self._connection.write("rdf/corpus_settle", name=name, status=end)


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
        relationships_created: The same of relationships.
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
    home: Path | None = None,
) -> ImportReport:
    """Store the triples of a file in the graph.

    Nodes are found by their keys and get the properties that the file has for them;
    properties that it does not speak of stay. IRIs that do not begin with `base` become
    `:Resource` nodes as neosemantics has them.

    The file is in UTF-8, and its format `turtle`, `nt`, `json-ld` or `xml`, by default
    that of its name. Corpora are locked in `home`, by default that of the settings.

    Raises:
        InputError: If another process writes to a corpus of the file.
        RdfError: If the file is not well-formed, or has what the database cannot
            hold; nothing is then stored.
        SourceError: If it cannot be read.
        DatabaseError: If the database fails; the same import again goes on.
    """
    path = Path(source)
    form = format_of(path.name, format)
    run = Run(connection, Vocabulary(base))
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="knowtrail-rdf-")
        )
        staging = Staging(Path(folder), run.mapping.vocabulary)
        stack.callback(staging.close)
        parse(path, staging, form=form, base=run.mapping.vocabulary.base)
        staging.finish()
        progress("Reading RDF", staging.count, staging.count)
        corpora = Corpora(connection, home or Settings.from_env().home, stack)
        return _Import(connection, run, staging, progress, corpora).work()


@dataclass
class _Import:
    """One import, from staged triples to the graph."""

    _connection: Connection
    _run: Run
    _staging: Staging
    _progress: Progress
    _corpora: Corpora

    def __post_init__(self) -> None:
        self._rows = Rows(self._run.mapping, self._staging.prefixes)
        self._mapping: Mapping = self._rows.mapping
        self._counts: Counter[str] = Counter()
        self._classes: dict[str, bool] = {}
        self._has_resources = False

    def work(self) -> ImportReport:
        _check_lengths(self._staging, self._rows)
        named = self._staging.texts(
            lambda predicate: self._rows.name_of("Document", predicate) == "corpus"
        )
        self._corpora.hold(named)
        apply_schema(self._connection, progress=self._progress)
        for batch in batched(self._staging.subjects(), _BATCH):
            self._store_subjects(batch)
        self._place_rest()
        for batch in batched(self._staging.ask("edges"), _BATCH):
            self._store_edges(batch)
            self._progress("Storing relationships", self._counts["relationships"], None)
        self._corpora.complete()
        self._counts["triples"] = self._staging.count
        return ImportReport(**{
            one.name: self._counts[one.name] for one in fields(ImportReport)
        })

    def _store_subjects(self, batch: list[tuple[str, Facts]]) -> None:
        """Store the nodes of some subjects; note their relationships."""
        nodes = []
        for iri, facts in batch:
            stated = self._rows.statement(iri, facts)
            if stated is None:
                nodes.append((iri, facts))
            else:
                self._staging.ask("edge", *stated)
                self._staging.ask("stated", *stated, iri)
        unclear = [
            iri for iri, facts in nodes if self._rows.label_of(iri, facts) == "Resource"
        ]
        found = self._stored(unclear)
        rows = []
        for iri, facts in nodes:
            row = self._rows.node(iri, facts, found.get(iri))
            for name, target in row.edges:
                self._staging.ask("edge", iri, name, target)
            for kind in row.classes:
                if self._is_class(kind):
                    self._staging.ask("edge", iri, "INSTANCE_OF", kind)
                else:
                    row.labels.append(self._rows.short(kind))
            rows.append(row)
        self._write_nodes(rows)

    def _is_class(self, iri: str) -> bool:
        if iri not in self._classes:
            vocabulary = self._mapping.vocabulary
            parsed = vocabulary.parse_node(iri)
            own = self._mapping.own_type("OntologyClass")
            self._classes[iri] = (
                iri.startswith(vocabulary.heritage)
                or (parsed is not None and parsed[0] == "OntologyClass")
                or (TYPE, own) in self._staging.about(iri)
                or self._stored([iri]).get(iri) == "OntologyClass"
            )
        return self._classes[iri]

    def _stored(self, iris: list[str]) -> dict[str, str]:
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

    def _write_nodes(self, rows: list[NodeRow]) -> None:
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in rows:
            self._staging.ask("node", row.iri, row.label, row.name, row.key)
            vectors = [{"name": n, "vector": v} for n, v in sorted(row.vectors.items())]
            groups.setdefault((row.label, row.name), []).append({
                "key": row.key,
                "labels": sorted(row.labels),
                "properties": self._corpora.settled(row),
                "vectors": vectors,
            })
            self._counts["nodes"] += 1
            self._counts["foreign"] += row.label == "Resource"
            self._make_indexes(row)
        steps: list[_Step] = []
        if self._rows.new_prefixes:
            held = dict(self._rows.new_prefixes)
            self._rows.new_prefixes.clear()
            steps.append((statement("rdf/add_prefixes"), {"prefixes": held}, False))
        steps += [
            (merge_text(label, name), {"rows": group}, label in _TEXTS)
            for (label, name), group in sorted(groups.items())
        ]
        self._counts["nodes_created"] += self._write(steps).nodes_created
        self._progress("Storing nodes", self._counts["nodes"], None)

    def _make_indexes(self, row: NodeRow) -> None:
        """Make what must be there before a node: a constraint, vector indexes."""
        if row.label == "Resource" and not self._has_resources:
            self._connection.run_schema(statement("rdf/constraint_resource_uri"))
            self._has_resources = True
        dimensions = row.properties.get("dimensions")
        sized = row.label == "Corpus" and isinstance(dimensions, int)
        if sized and vector_dimensions(self._connection) is None:
            apply_schema(self._connection, dimensions=dimensions)

    def _write(self, steps: list[_Step]) -> Counters:
        """Run statements in one transaction; return nodes and relationships created."""

        # The corpora whose texts they change are marked in the same transaction.
        def work(tx: Any) -> Counters:
            total, touched = Counters(), set[str]()
            for text, params, marks in steps:
                result = tx.run(text, params)
                if marks:
                    touched |= {row["corpus"] for row in result if row["corpus"]}
                total += Counters.of(result.consume())
            self._corpora.mark(tx, touched)
            self._connection.check_commit(tx)
            return total

        with translate_errors(), self._connection.session() as session:
            return session.execute_write(work)

    def _place_rest(self) -> None:
        """Find, or make, the nodes that relationships lead to but the file has not."""
        while iris := [iri for (iri,) in self._staging.ask("unplaced", _BATCH)]:
            found = self._stored(iris)
            rows = []
            for iri in iris:
                parsed = self._mapping.vocabulary.parse_node(iri)
                ours = parsed is not None and parsed[0] in LABELS
                heritage = self._mapping.vocabulary.heritage
                if iri in found:
                    row = self._rows.node(iri, [], found[iri])
                    self._staging.ask("node", iri, row.label, row.name, row.key)
                elif ours or self._mapping.vocabulary.parse_statement(iri):
                    self._staging.ask("node", iri, "", "", "")
                elif iri.startswith(heritage) and self._classes.get(iri):
                    name = iri.removeprefix(heritage)
                    row = NodeRow(iri=iri, label="OntologyClass", name="id", key=iri)
                    row.properties |= {"id": iri, "uri": iri, "name": name}
                    rows.append(row)
                else:
                    rows.append(self._rows.node(iri, [], "Resource"))
            if rows:
                self._write_nodes(rows)

    def _store_edges(self, batch: list[tuple[Any, ...]]) -> None:
        """Store relationships that are not there, or not as often as they should."""
        steps = []
        for kind, group in itertools.groupby(batch, key=lambda row: row[:5]):
            name, *ends = kind
            edges = list(group)
            self._counts["missing" if "" in ends else "relationships"] += len(edges)
            if "" not in ends:
                steps += self._edge_steps(name, tuple(ends), edges)
        if self._rows.new_prefixes:
            self._write_nodes([])
        if steps:
            created = self._write(steps).relationships_created
            self._counts["relationships_created"] += created

    def _edge_steps(
        self, name: str, ends: tuple[str, ...], edges: list[tuple[Any, ...]]
    ) -> list[_Step]:
        # One that is there keeps the properties that the file does not speak of.
        pairs = [{"a": row[5], "b": row[6], "i": i} for i, row in enumerate(edges)]
        params = {"rows": pairs, "name": name}
        there = {row[0]: row[1] for row in self._run(pairs_text(*ends), params)}
        content = partial(content_of, self._mapping)
        created, changed = [], []
        for place, row in enumerate(edges):
            stated = self._staging.statements(row[7], name, row[8])
            wanted = [self._rows.properties("", facts) for facts in stated] or [{}]
            held = there.get(place, [])
            if held and not stated:
                continue
            pair = pairs[place]
            if len(held) == 1 and len(wanted) == 1:
                if content(held[0] | wanted[0]) != content(held[0]):
                    changed.append(pair | {"properties": wanted[0]})
                continue
            left = Counter(map(content, held))
            for properties in wanted:
                told = content(properties)
                if left[told] > 0:
                    left[told] -= 1
                else:
                    created.append(pair | {"properties": properties})
        marks = _TEXTS.issuperset((ends[0], ends[2]))
        return [
            (pairs_text(*ends, then=then), {"rows": rows, "name": name}, marks)
            for then, rows in (("create", created), ("change", changed))
            if rows
        ]

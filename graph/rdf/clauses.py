"""The closed set of Cypher clauses that SPARQL becomes.

Names of labels, properties and relationship types stand in a statement only between
backticks and only where they are letters, digits and underscores; any other name, and
every value, is a parameter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.statements import statement
from knowtrail.graph.rdf.mapping import LABELS, Mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_URI_LABELS = tuple(label for label, rule in LABELS.items() if rule.uri)

Arm = tuple[str, str]
"""A label and the property that a node of it is looked up by."""


def arms_of(mapping: Mapping, iri: str) -> dict[Arm, str]:
    """Return where a node of an IRI is found: label and property -> the value."""
    if iri.startswith("_:"):
        return {("Resource", "uri"): f"bnode://{iri.removeprefix('_:')}"}
    parsed = mapping.vocabulary.parse_node(iri)
    if parsed is not None and parsed[0] in LABELS and LABELS[parsed[0]].key != "uri":
        return {(parsed[0], LABELS[parsed[0]].key): parsed[1]}
    return dict.fromkeys(((label, "uri") for label in _URI_LABELS), iri)


@dataclass(slots=True)
class Statement:
    """A statement under construction: its clauses, and the columns that it returns.

    `distinct` is whether it could return a row twice, `number` its place among the
    statements that are sent as one.
    """

    lines: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    distinct: bool = False
    number: int = 0

    @property
    def rows(self) -> str:
        """Return the name of the parameter that has its rows."""
        return f"rows{self.number or ''}"

    def param(self, value: Any) -> str:
        """Add a parameter and return its place in the text."""
        name = f"p{self.number * 1000 + len(self.params)}"
        self.params[name] = value
        return f"${name}"

    def column(self, expression: str) -> int:
        """Add a column, once, and return its number."""
        if expression not in self.columns:
            self.columns.append(expression)
        return self.columns.index(expression)

    def text(self, width: int) -> str:
        """Return the statement, its number the first of so many columns and one."""
        columns = [f"{self.number} AS i"]
        columns += [f"{c} AS c{i}" for i, c in enumerate(self.columns)]
        columns += [f"null AS c{i}" for i in range(len(self.columns), width)]
        distinct = "DISTINCT " if self.distinct else ""
        return "\n".join([*self.lines, f"RETURN {distinct}{', '.join(columns)}"])

    def counted_text(
        self, variable: str, key: int | None, values: Sequence[str]
    ) -> str:
        """Return the statement that counts plain nodes and reads all others.

        A plain node has an `id`, no `uri`, and texts as values. The last two columns
        are how many there are, 0 for a node that is none, and how many `id`s.
        """
        texts = "".join(f" AND {value} IS :: STRING" for value in values)
        plain = f"{variable}.uri IS NULL AND {variable}.id IS :: STRING NOT NULL{texts}"
        columns = [
            f"{f'CASE WHEN {plain} THEN $x ELSE {c} END' if i == key else c} AS c{i}"
            for i, c in enumerate(self.columns)
        ]
        last = len(columns)
        columns += [
            f"sum(CASE WHEN {plain} THEN 1 ELSE 0 END) AS c{last}",
            f"count(DISTINCT CASE WHEN {plain} THEN {variable}.id END) AS c{last + 1}",
        ]
        return "\n".join([*self.lines, f"RETURN 0 AS i, {', '.join(columns)}"])

    def property(self, variable: str, name: str) -> str:
        """Return the expression of a property."""
        if _PLAIN.fullmatch(name):
            return f"{variable}.`{name}`"
        return f"{variable}[{self.param(name)}]"

    def members(self, variable: str, names: Sequence[str]) -> str:
        """Return the expression of all members of some properties, as one list."""
        parts = (f"coalesce({self.property(variable, name)}, [])" for name in names)
        return " + ".join(["[]", *parts])

    def has_value(self, variable: str, name: str, values: str) -> str:
        """Return the condition that a property, or a member of it, is one of some."""
        held = self.property(variable, name)
        return (
            f"CASE WHEN {held} IN {values} THEN true "
            f"WHEN {held} IS :: LIST<ANY> THEN any(x IN {held} WHERE x IN {values}) "
            "ELSE false END"
        )

    def can_seek(self, variable: str, name: str, values: str) -> str:
        """Return a condition that some texts can only meet, and that an index answers.

        A list of texts is not less than the list of the empty text, whatever it has.
        """
        held = self.property(variable, name)
        return f"({held} IN {values} OR {held} >= [''])"

    def has_label(self, variable: str, labels: Iterable[str]) -> str:
        """Return the condition that a node has one of some labels."""
        plain = [label for label in labels if _PLAIN.fullmatch(label)]
        odd = [label for label in labels if not _PLAIN.fullmatch(label)]
        parts = [variable + _either(plain)] if plain else []
        if odd:
            parts.append(
                f"any(l IN labels({variable}) WHERE l IN {self.param(list(odd))})"
            )
        return f"({' OR '.join(parts)})" if parts else "false"

    def node(self, variable: str, labels: Sequence[str]) -> None:
        """Match a node by its labels alone; any label where none is given."""
        self.lines.append(f"MATCH ({variable}{_either(labels)})")
        if labels and not _either(labels):
            self.where(self.has_label(variable, labels))

    def lookup(self, variable: str, arms: Sequence[Arm], value: str) -> None:
        """Match the node that one of some keys has."""
        found = [
            f"MATCH ({variable}:`{label}` {{`{name}`: {value}[{number}]}})"
            for number, (label, name) in enumerate(arms)
        ]
        if len(found) > 1:
            parts = " UNION ".join(f"{one} RETURN {variable}" for one in found)
            found = [f"CALL (row) {{ {parts} }}"]
        self.lines += found

    def edge(self, edge: str, source: str, target: str, names: Sequence[str]) -> None:
        """Match a relationship of one of some types; of any where none is given."""
        self.lines.append(f"MATCH ({source})-[{edge}{_either(names)}]->({target})")
        if names and not _either(names):
            self.where(f"type({edge}) IN {self.param(list(names))}")

    def where(self, condition: str) -> None:
        """Add a condition on what was matched so far."""
        if self.lines[-1].startswith("WHERE "):
            self.lines[-1] += f" AND {condition}"
        elif self.lines[-1].startswith("MATCH "):
            self.lines.append(f"WHERE {condition}")
        else:
            self.lines += ["WITH *", f"WHERE {condition}"]


def _either(names: Sequence[str]) -> str:
    """Return labels or types of which one is meant, nothing where one is not plain."""
    plain = bool(names) and all(_PLAIN.fullmatch(name) for name in names)
    return ":" + "|".join(f"`{name}`" for name in names) if plain else ""


def page_text(label: str, key: str, *, first: bool, unkeyed: bool, corpus: bool) -> str:
    """Return the statement that reads a page of the nodes of a label, by their key."""
    conditions = [f"n.`{key}` {'>=' if first else '>'} $after"]
    if unkeyed:
        # NOT n.id IS :: STRING NOT NULL makes 5.26 read the index of n.id, in which
        # nodes without one are not.
        conditions.append("(n.id IS NULL OR NOT n.id IS :: STRING)")
    if corpus:
        conditions.append(f"n.{'name' if label == 'Corpus' else 'corpus'} = $corpus")
    return (
        f"MATCH (n:`{label}`)\nWHERE {' AND '.join(conditions)}\n"
        f"RETURN n.`{key}` AS k, elementId(n) AS e, labels(n) AS l, "
        "properties(n) AS p\n"
        f"ORDER BY k\nLIMIT $limit"
    )


def node_text(arms: Sequence[Arm], *, incoming: bool = False) -> str:
    """Return the statement that reads the nodes that some keys have.

    Or only the types of the relationships into them.
    """
    found = Statement(lines=["UNWIND $rows AS row"])
    found.lookup("n", arms, "row.b")
    read = "RETURN elementId(n), labels(n), properties(n)"
    types = "MATCH ()-[r]->(n)\nRETURN DISTINCT type(r)"
    return "\n".join([*found.lines, types if incoming else read])


def merge_text(label: str, name: str) -> str:
    """Return the statement that stores nodes of a label, found by a property.

    Nodes that are as the rows say are left alone; the corpora of others are returned.
    """
    return _about("merge", LABEL=label, KEY=name)


def pairs_text(
    source: str, by: str, target: str, to: str, *, then: str = "read"
) -> str:
    """Return the statement about relationships of the type `$name` between pairs.

    It is to `read` what is there, or to `create` one or `change` the only one, which
    return the corpora of the nodes.
    """
    return _about(f"pairs_{then}", SOURCE=source, BY=by, TARGET=target, TO=to)


def _about(name: str, **names: str) -> str:
    """Return a stored statement with names of the table in place of others."""
    text = statement(f"rdf/{name}")
    for place, given in names.items():
        text = text.replace(f"`{place}`", f"`{given}`")
    return text

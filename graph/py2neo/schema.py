"""The schema as py2neo saw it: labels, types, indexes and uniqueness constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.errors import InputError
from graph.py2neo.cypher_writing import cypher_escape
from graph.py2neo.errors import ClientError
from graph.statements import statement

if TYPE_CHECKING:
    from graph.py2neo.graph import Graph

__all__ = ["Schema"]


class Schema:
    """Indexes and uniqueness constraints of a graph.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    def node_labels(self) -> frozenset[str]:
        """Return the labels that the graph knows, of nodes and of its schema."""
        return self._names("py2neo/labels")

    @property
    def relationship_types(self) -> frozenset[str]:
        """Return the types that the graph knows, of relationships and of its schema."""
        return self._names("py2neo/types")

    def create_index(self, label: str, *property_keys: str) -> None:
        """Create an index on one property, or on several together.

        Args:
            label: Label of the nodes.
            *property_keys: Keys of the properties.

        Raises:
            ClientError: If there is such an index already.
            InputError: If there is no key, or a name is empty.
        """
        if not property_keys:
            msg = f"An index on {label!r} needs a property: give at least one key."
            raise InputError(msg)
        keys = ", ".join(f"_.{cypher_escape(key)}" for key in property_keys)
        self.graph.update(f"CREATE INDEX FOR (_:{cypher_escape(label)}) ON ({keys})")

    def create_uniqueness_constraint(self, label: str, property_key: str) -> None:
        """Say that no two nodes of a label have one value of a property.

        Args:
            label: Label of the nodes.
            property_key: Key of the property.

        Raises:
            ClientError: If there is such a constraint already, or nodes break it.
            InputError: If a name is empty.
        """
        self.graph.update(
            f"CREATE CONSTRAINT FOR (_:{cypher_escape(label)}) "
            f"REQUIRE _.{cypher_escape(property_key)} IS UNIQUE"
        )

    def drop_index(self, label: str, *property_keys: str) -> None:
        """Drop the index on one property, or on several together.

        Args:
            label: Label of the nodes.
            *property_keys: Keys of the properties, in the order of the index.

        Raises:
            ClientError: If there is no such index.
        """
        name = self._found("py2neo/indexes", label, property_keys)
        if name is None:
            raise _missing("index", label, property_keys)
        self.graph.update(f"DROP INDEX {cypher_escape(name)}")

    def drop_uniqueness_constraint(self, label: str, property_key: str) -> None:
        """Drop the uniqueness constraint on a property.

        Args:
            label: Label of the nodes.
            property_key: Key of the property.

        Raises:
            ClientError: If there is no such constraint.
        """
        name = self._found("py2neo/constraints", label, (property_key,))
        if name is None:
            raise _missing("constraint", label, (property_key,))
        self.graph.update(f"DROP CONSTRAINT {cypher_escape(name)}")

    def get_indexes(self, label: str) -> list[tuple[str, ...]]:
        """Return the keys of each index on a label.

        Args:
            label: Label of the nodes.

        Returns:
            A tuple of keys an index; those that belong to a constraint are left out.
        """
        return [tuple(keys) for _, keys in self._listed("py2neo/indexes", label)]

    def get_uniqueness_constraints(self, label: str) -> list[str]:
        """Return the properties that are unique on a label.

        Args:
            label: Label of the nodes.

        Returns:
            The key of each constraint on one property.
        """
        return [
            keys[0]
            for _, keys in self._listed("py2neo/constraints", label)
            if len(keys) == 1
        ]

    def _names(self, name: str) -> frozenset[str]:
        """Return the names that a statement lists."""
        return frozenset(record[0] for record in self.graph.query(statement(name)))

    def _listed(self, what: str, label: str) -> list[tuple[str, list[str]]]:
        """Return names with keys of what a statement lists for a label."""
        cypher_escape(label)
        found = self.graph.query(statement(what), {"label": label})
        return [(name, list(keys)) for name, keys in found]

    def _found(self, what: str, label: str, keys: tuple[str, ...]) -> str | None:
        """Return the name of what a statement lists on some keys."""
        for name, found in self._listed(what, label):
            if found == list(keys):
                return name
        return None


def _missing(what: str, label: str, keys: tuple[str, ...]) -> ClientError:
    """Return the error for something that cannot be dropped."""
    title = "IndexNotFound" if what == "index" else "ConstraintNotFound"
    return ClientError(
        f"There is no {what} on :{label}({', '.join(keys)}).",
        f"Neo.ClientError.Schema.{title}",
    )

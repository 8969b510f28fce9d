"""Relationships as reified statements: which of several parallel ones is which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as Dictionary

    from graph.rdf.mapping import Mapping

__all__ = ["content_of", "numbered"]


def content_of(mapping: Mapping, properties: Dictionary[str, Any]) -> str:
    """Return a text that relationships with the same properties share.

    Args:
        mapping: The mapping of the database.
        properties: Those of one relationship.
    """
    return repr([
        (name, [(p, list(map(repr, literals))) for p, literals in found])
        for name in sorted(properties)
        if (found := mapping.property_values("", name, properties[name]))
        or properties[name] == []
    ])


def numbered(
    mapping: Mapping, siblings: Iterable[tuple[str, Dictionary[str, Any]]]
) -> dict[str, int]:
    """Number the relationships of one type from one node to another.

    The numbers follow from the properties; those with the same ones, which nothing else
    tells apart, are numbered as the database has them.

    Args:
        mapping: The mapping of the database.
        siblings: The server's name and the properties of each.

    Returns:
        The server's name -> the number, from 0.
    """
    keyed = sorted((content_of(mapping, held), name) for name, held in siblings)
    return {name: number for number, (_, name) in enumerate(keyed)}

"""The parsed form of an eval schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eval.fields.paths import last_key
from eval.fields.specs import ComparatorSpec, TransformSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SchemaNode", "iter_schema", "schema_children"]


@dataclass(slots=True)
class SchemaNode:
    """One place of an eval schema.

    Attributes:
        path: Schema path, such as `sensors[].name`; empty at the root.
        json_type: The declared type, "multi" where there are several.
        comparator: How it is scored; without a name its children are.
        children: Properties of an object, or the one element of an array.
        skip: Whether it is not scored.
        transforms: What is done to both values before they are compared.
        align: How an array's elements are paired; None is by position.
        allowed_types: The types of a "multi" node.
    """

    path: str
    json_type: str
    comparator: ComparatorSpec = field(default_factory=ComparatorSpec)
    children: list[SchemaNode] = field(default_factory=list)
    skip: bool = False
    transforms: list[TransformSpec] = field(default_factory=list)
    align: dict[str, Any] | None = None
    allowed_types: list[str] | None = None

    @property
    def key(self) -> str:
        """The property's name; empty at the root and for elements."""
        return last_key(self.path)

    @property
    def is_array(self) -> bool:
        """Whether the only child stands for the elements of an array."""
        return len(self.children) == 1 and self.children[0].path == f"{self.path}[]"


def iter_schema(node: SchemaNode) -> Iterator[SchemaNode]:
    """Yield a node and all below it, each before its children."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def schema_children(
    schema: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the properties and the element schema that a raw schema has.

    The declared type is not consulted. Only one of the two is given, properties first;
    a schema with several types has neither.

    Args:
        schema: One place of a raw schema.
    """
    if isinstance(kind := schema.get("type"), list) and (
        len({str(name) for name in kind} - {"null"}) != 1
    ):
        return {}, None
    properties = schema.get("properties")
    if isinstance(properties, dict):
        found = {
            name: value for name, value in properties.items() if isinstance(value, dict)
        }
        if found:
            return found, None
    items = schema.get("items")
    return {}, items if isinstance(items, dict) else None

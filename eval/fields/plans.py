"""A schema made ready for scoring: names looked up once, not once a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eval.fields.comparators import get_comparator, is_batch
from eval.fields.paths import key_step
from eval.fields.transforms import get_transform

if TYPE_CHECKING:
    from eval.fields.schema import SchemaNode
    from eval.fields.specs import Comparator, Transform

__all__ = ["Plan", "batch_params", "plan"]


@dataclass(slots=True, kw_only=True)
class Plan:
    """One place of a schema, ready to be scored.

    Attributes:
        path: Its schema path.
        key: The property's name.
        step: What its path adds to that of its parent.
        kind: "leaf", "object" or "array": how two present values are scored.
        comparator: The comparator's name.
        compare: What scores a leaf; None for a batch comparator, and for none at all.
        params: The comparator's parameters.
        transforms: Done to both values first.
        skip: Whether it is not scored.
        children: Plans of properties, or of the one element.
        by_key: The same, by property name.
        align: "ordered", "hungarian", or "key_field".
        align_key: The key of "key_field".
        has_batch: Whether it, or anything below it, waits for a batch comparator.
    """

    path: str
    key: str
    step: str
    kind: str
    comparator: str
    compare: Comparator | None
    params: dict[str, Any]
    transforms: list[tuple[Transform, dict[str, Any]]]
    skip: bool
    children: list[Plan] = field(default_factory=list)
    by_key: dict[str, Plan] = field(default_factory=dict)
    align: str = "ordered"
    align_key: str = ""
    has_batch: bool = False

    @property
    def has_parts(self) -> bool:
        """Whether a missing value is told part by part."""
        return bool(self.children)

    @property
    def is_list(self) -> bool:
        """Whether its one child stands for the elements of an array."""
        return len(self.children) == 1 and self.children[0].step == "[]"


def plan(node: SchemaNode) -> Plan:
    """Return a schema ready for scoring, with comparators as registered now.

    Args:
        node: The parsed schema.

    Raises:
        ComparatorNotFoundError: If a leaf has no known comparator.
        TransformNotFoundError: If a transform is not known.
    """
    children = [plan(child) for child in node.children]
    name, structural = node.comparator.name, bool(children)
    made = Plan(
        path=node.path,
        key=node.key,
        step="[]" if node.path.endswith("[]") else key_step(node.key),
        kind="leaf",
        comparator=name,
        compare=None,
        params=node.comparator.params,
        transforms=[
            (get_transform(spec.name), spec.params) for spec in node.transforms
        ],
        skip=node.skip,
        children=children,
        by_key={child.key: child for child in children},
    )
    if structural and not name:
        made.kind = "array" if node.is_array else "object"
    elif name or not node.skip:
        comparator = get_comparator(name)
        made.has_batch = is_batch(comparator)
        if not made.has_batch:
            made.compare = comparator  # type: ignore[assignment]
    made.has_batch |= any(child.has_batch for child in children)
    align = node.align or {}
    if not align.get("ordered") and align.get("match_by"):
        made.align, made.align_key = align["match_by"], align.get("key", "")
    return made


def batch_params(root: Plan) -> dict[str, dict[str, Any]]:
    """Return the parameters of every leaf with a batch comparator, by schema path."""
    found, waiting = {}, [root]
    while waiting:
        node = waiting.pop()
        if node.kind == "leaf" and node.has_batch and node.compare is None:
            found[node.path] = node.params
        waiting.extend(node.children)
    return found

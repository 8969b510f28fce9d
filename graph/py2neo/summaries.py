"""What a statement did and how it ran, to be read as attributes or by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import neo4j

__all__ = ["CypherPlan", "CypherStats"]


class _Named(Mapping[str, Any]):
    """Values that are attributes too; equal to a dictionary of the same."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        """Return a value.

        Raises:
            KeyError: If there is none of that name.
        """
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        """Return a value.

        Raises:
            AttributeError: If there is none of that name.
        """
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        known = ", ".join(values)
        msg = f"{type(self).__name__} has no {name!r}: there are {known}."
        raise AttributeError(msg)

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self._values)

    def __repr__(self) -> str:
        """Return the names and values, one on a line."""
        return "\n".join(f"{name}: {value!r}" for name, value in self.items())


class CypherStats(_Named):
    """What a statement changed: every count, 0 too, and `contained_updates`.

    Args:
        counters: What the driver counted; None where nothing was run.
    """

    def __init__(self, counters: neo4j.SummaryCounters | None = None) -> None:
        counts = {name: int(getattr(counters, name, 0) or 0) for name in _COUNTS}
        super().__init__(counts | {"contained_updates": any(counts.values())})


class CypherPlan(_Named):
    """A step of a plan: `operator_type`, `identifiers`, `args` and `children`.

    Args:
        plan: The plan as the driver has it.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        super().__init__({
            "operator_type": plan.get("operatorType"),
            "identifiers": list(plan.get("identifiers") or ()),
            "args": dict(plan.get("args") or {}),
            "children": [CypherPlan(child) for child in plan.get("children") or ()],
        })


_COUNTS = (
    "constraints_added",
    "constraints_removed",
    "indexes_added",
    "indexes_removed",
    "labels_added",
    "labels_removed",
    "nodes_created",
    "nodes_deleted",
    "properties_set",
    "relationships_created",
    "relationships_deleted",
    "system_updates",
)

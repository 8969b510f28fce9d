"""What comparators and transforms are, are asked and answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BatchComparator",
    "BatchItem",
    "Comparator",
    "ComparatorResult",
    "ComparatorSpec",
    "Transform",
    "TransformSpec",
]


@dataclass(slots=True)
class ComparatorSpec:
    """Which comparator a field has; an empty name is none.

    Attributes:
        name: Its registered name.
        params: Its parameters.
    """

    name: str = ""
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class TransformSpec:
    """One step of a field's transforms.

    Attributes:
        name: Its registered name.
        params: Its parameters.
    """

    name: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparatorResult:
    """What a comparator says of two values.

    Attributes:
        score: 1 for equal, 0 for different, or between; other finite numbers are
            taken as they are.
        comparator: Its name; the field's result has the schema's name.
        reason: Why the score is not 1.
        skip: Whether the field is not to be scored at all.
    """

    score: float
    comparator: str
    reason: str | None = None
    skip: bool = False


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One field that a batch comparator is asked about.

    Attributes:
        path: Instance path; in arrays aligned by content the schema path.
        gold_raw: The value as gold has it.
        extracted_raw: The value as it was extracted.
        gold_compared: The gold value after the transforms.
        extracted_compared: The extracted value after the transforms.
        params: The comparator's parameters for this field.
    """

    path: str
    gold_raw: Any
    extracted_raw: Any
    gold_compared: Any
    extracted_compared: Any
    params: dict[str, Any] = field(default_factory=dict)


class Comparator(Protocol):
    """Scores one field.

    A `check_params(params)` attribute, where there is one, is called when a schema is
    parsed; what it raises as `ValueError` or `TypeError` becomes a `SchemaError`.
    """

    def __call__(
        self, gold: Any, extracted: Any, params: dict[str, Any], /
    ) -> ComparatorResult:
        """Compare two values, both after their transforms."""
        ...


@runtime_checkable
class BatchComparator(Protocol):
    """Scores all fields of a record that name it, in one call."""

    is_batch: bool

    def __call__(self, items: list[BatchItem], /) -> Sequence[ComparatorResult | None]:
        """Return one result an item, in order; None where it has none."""
        ...


class Transform(Protocol):
    """Changes a value before it is compared; None comes in as well."""

    def __call__(self, value: Any, params: dict[str, Any], /) -> Any:
        """Return what is to be compared in the value's place."""
        ...

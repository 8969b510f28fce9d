"""Field-level evaluation of structured extraction: gold records against extracted."""

from eval.fields.errors import GoldValidationError, SchemaError
from eval.fields.results import FieldAggregation, FieldResult, RecordResult, RunResult
from eval.fields.schema import SchemaNode
from eval.fields.specs import (
    BatchItem,
    ComparatorResult,
    ComparatorSpec,
    TransformSpec,
)

__all__ = [
    "BatchItem",
    "ComparatorResult",
    "ComparatorSpec",
    "FieldAggregation",
    "FieldResult",
    "GoldValidationError",
    "RecordResult",
    "RunResult",
    "SchemaError",
    "SchemaNode",
    "TransformSpec",
]

"""Section 1: the names, signatures and data that callers may rely on."""

from __future__ import annotations

import dataclasses
import inspect

import knowtrail.eval.fields as fields
from tests.cases import each

NAMES = [
    "evaluate",
    "infer_schema",
    "resolve_schema_references",
    "annotate_xeval",
    "parse_eval_schema",
    "parse_xeval_entry",
    "set_type_default",
    "reset_type_defaults",
    "validate_gold",
    "score_record",
    "register",
    "register_transform",
    "reclassify_nulls",
    "propagate_batch_errors",
    "NullHandling",
    "ComparatorSpec",
    "ComparatorResult",
    "CompoundComparator",
    "BatchItem",
    "SemanticBatchComparator",
    "JudgeItem",
    "FakeJudge",
    "TransformSpec",
    "FieldResult",
    "FieldAggregation",
    "RecordResult",
    "RunResult",
    "SchemaNode",
    "SchemaError",
    "GoldValidationError",
    "is_batch",
    "compare_exact",
    "compare_numeric",
    "compare_oneof",
    "transform_lowercase",
    "transform_strip",
    "transform_normalize_whitespace",
    "transform_sort_tokens",
    "transform_round_digits",
    "transform_type_convert",
]

SIGNATURES = {
    "evaluate": "gold, extracted, schema, id_field=None, post_process=None",
    "infer_schema": "values, path=''",
    "resolve_schema_references": "schema",
    "annotate_xeval": "schema",
    "parse_eval_schema": "raw_schema",
    "parse_xeval_entry": "entry",
    "set_type_default": "json_type, comparator",
    "reset_type_defaults": "",
    "validate_gold": (
        "gold, schema, id_field=None, warn_missing=True, strict_types=False"
    ),
    "score_record": "schema, gold, extracted",
    "register": "name, fn, *, overwrite=False",
    "register_transform": "name, fn",
    "reclassify_nulls": "field_results, config",
    "propagate_batch_errors": "field_results",
    "SchemaError": "message, path=''",
    "GoldValidationError": "message, record_id='', path=''",
    "SemanticBatchComparator": "judge, name='semantic'",
    "FakeJudge": "responses=None, default_score=None",
    "CompoundComparator": "fields, primary, name='compound'",
}

DATA = {
    "ComparatorResult": (True, "score comparator reason skip"),
    "BatchItem": (
        True,
        "path gold_raw extracted_raw gold_compared extracted_compared params",
    ),
    "ComparatorSpec": (False, "name params"),
    "TransformSpec": (False, "name params"),
    "SchemaNode": (
        False,
        "path json_type comparator children skip transforms align allowed_types",
    ),
    "FieldResult": (
        False,
        "path score comparator gold_value extracted_value status reason "
        "gold_compared extracted_compared",
    ),
    "RecordResult": (
        True,
        "record_id field_results gold extracted precision recall f1 by_position",
    ),
    "FieldAggregation": (
        True,
        "mean_score matches mismatches omissions hallucinations",
    ),
    "RunResult": (
        True,
        "records mean_precision mean_recall mean_f1 total_records total_fields "
        "total_omissions total_hallucinations total_batch_errors per_field "
        "per_schema_path by_position",
    ),
    "NullHandling": (True, "absent_values both_absent_skip"),
    "JudgeItem": (True, "path gold extracted"),
}


@each("name", NAMES)
def test_root_has_name(name: str) -> None:
    """Every documented name is at the root."""
    assert name in fields.__all__
    assert hasattr(fields, name)


@each(("name", "expected"), SIGNATURES.items())
def test_signature(name: str, expected: str) -> None:
    """Functions and constructors take what is documented."""
    signature = inspect.signature(getattr(fields, name))
    plain = signature.replace(
        parameters=[
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in signature.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )

    assert str(plain) == f"({expected})"


@each(("name", "expected"), DATA.items())
def test_data(name: str, expected: tuple[bool, str]) -> None:
    """Dataclasses have the documented fields, and are frozen where they should be."""
    frozen, names = expected
    kind = getattr(fields, name)

    assert [field.name for field in dataclasses.fields(kind)] == names.split()
    assert kind.__dataclass_params__.frozen is frozen


def test_schema_error_says_where() -> None:
    """The path stands before the message, where there is one."""
    assert str(fields.SchemaError("wrong", "a.b")) == "a.b: wrong"
    assert str(fields.SchemaError("wrong")) == "wrong"
    assert fields.SchemaError("wrong", "a.b").path == "a.b"


def test_specs_compare_by_value() -> None:
    """Two specifications of the same are equal."""
    assert fields.ComparatorSpec("exact") == fields.ComparatorSpec("exact", {})
    assert fields.TransformSpec("strip") == fields.TransformSpec("strip", {})

"""Field-level evaluation of structured extraction: gold records against extracted.

The schema is the one place where it is said how every field is scored:
`infer_schema` or `resolve_schema_references` make one, `annotate_xeval` puts in the
defaults, its writer reviews them, and `evaluate` uses it.

Example:
    >>> gold = [{"method": "sputtering", "temperature": 300}]
    >>> schema = annotate_xeval(infer_schema(gold))
    >>> evaluate(gold, [{"method": "sputtering", "temperature": 301}], schema).mean_f1
    0.5
"""

from knowtrail.eval.fields.comparators import (
    BatchComparator,
    BatchItem,
    Comparator,
    ComparatorResult,
    ComparatorSpec,
    CompoundComparator,
    Transform,
    TransformSpec,
    compare_exact,
    compare_numeric,
    compare_oneof,
    get_comparator,
    get_transform,
    is_batch,
    register,
    register_transform,
    transform_lowercase,
    transform_normalize_whitespace,
    transform_round_digits,
    transform_sort_tokens,
    transform_strip,
    transform_type_convert,
)
from knowtrail.eval.fields.errors import (
    ComparatorNotFoundError,
    GoldValidationError,
    NestingError,
    RecordIdError,
    SchemaError,
    ScoringError,
    TransformNotFoundError,
)
from knowtrail.eval.fields.judges import (
    FakeJudge,
    Judge,
    JudgeItem,
    ModelJudge,
    SemanticBatchComparator,
)
from knowtrail.eval.fields.records import infer_schema, validate_gold
from knowtrail.eval.fields.results import (
    FieldAggregation,
    FieldResult,
    NullHandling,
    RecordResult,
    RunResult,
    build_record_result,
    build_run_result,
    propagate_batch_errors,
    reclassify_nulls,
)
from knowtrail.eval.fields.schema import (
    SchemaNode,
    annotate_xeval,
    iter_schema,
    parse_eval_schema,
    parse_xeval_entry,
    reset_type_defaults,
    resolve_schema_references,
    set_type_default,
)
from knowtrail.eval.fields.scoring import evaluate, score_record

__all__ = [
    "BatchComparator",
    "BatchItem",
    "Comparator",
    "ComparatorNotFoundError",
    "ComparatorResult",
    "ComparatorSpec",
    "CompoundComparator",
    "FakeJudge",
    "FieldAggregation",
    "FieldResult",
    "GoldValidationError",
    "Judge",
    "JudgeItem",
    "ModelJudge",
    "NestingError",
    "NullHandling",
    "RecordIdError",
    "RecordResult",
    "RunResult",
    "SchemaError",
    "SchemaNode",
    "ScoringError",
    "SemanticBatchComparator",
    "Transform",
    "TransformNotFoundError",
    "TransformSpec",
    "annotate_xeval",
    "build_record_result",
    "build_run_result",
    "compare_exact",
    "compare_numeric",
    "compare_oneof",
    "evaluate",
    "get_comparator",
    "get_transform",
    "infer_schema",
    "is_batch",
    "iter_schema",
    "parse_eval_schema",
    "parse_xeval_entry",
    "propagate_batch_errors",
    "reclassify_nulls",
    "register",
    "register_transform",
    "reset_type_defaults",
    "resolve_schema_references",
    "score_record",
    "set_type_default",
    "transform_lowercase",
    "transform_normalize_whitespace",
    "transform_round_digits",
    "transform_sort_tokens",
    "transform_strip",
    "transform_type_convert",
    "validate_gold",
]

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

from eval.fields.annotation import (
    annotate_xeval,
    parse_xeval_entry,
    reset_type_defaults,
    set_type_default,
)
from eval.fields.batches import process_batches
from eval.fields.comparators import (
    compare_exact,
    compare_numeric,
    compare_oneof,
    get_comparator,
    is_batch,
    register,
)
from eval.fields.compound import CompoundComparator
from eval.fields.errors import (
    ComparatorNotFoundError,
    GoldValidationError,
    NestingError,
    RecordIdError,
    SchemaError,
    ScoringError,
    TransformNotFoundError,
)
from eval.fields.evaluation import evaluate, evaluate_stream, iter_records, read_jsonl
from eval.fields.inference import infer_schema
from eval.fields.judges import ModelJudge
from eval.fields.metrics import (
    OTHER_PATHS,
    RunAccumulator,
    build_record_result,
    build_run_result,
)
from eval.fields.parsing import parse_eval_schema
from eval.fields.paths import schema_path
from eval.fields.postprocessing import (
    NullHandling,
    propagate_batch_errors,
    reclassify_nulls,
)
from eval.fields.references import resolve_schema_references
from eval.fields.results import FieldAggregation, FieldResult, RecordResult, RunResult
from eval.fields.schema import SchemaNode, iter_schema
from eval.fields.scoring import score_record
from eval.fields.semantic import (
    FakeJudge,
    Judge,
    JudgeItem,
    SemanticBatchComparator,
)
from eval.fields.specs import (
    BatchComparator,
    BatchItem,
    Comparator,
    ComparatorResult,
    ComparatorSpec,
    Transform,
    TransformSpec,
)
from eval.fields.transforms import (
    get_transform,
    register_transform,
    transform_lowercase,
    transform_normalize_whitespace,
    transform_round_digits,
    transform_sort_tokens,
    transform_strip,
    transform_type_convert,
)
from eval.fields.validation import validate_gold

__all__ = [
    "OTHER_PATHS",
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
    "RunAccumulator",
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
    "evaluate_stream",
    "get_comparator",
    "get_transform",
    "infer_schema",
    "is_batch",
    "iter_records",
    "iter_schema",
    "parse_eval_schema",
    "parse_xeval_entry",
    "process_batches",
    "propagate_batch_errors",
    "read_jsonl",
    "reclassify_nulls",
    "register",
    "register_transform",
    "reset_type_defaults",
    "resolve_schema_references",
    "schema_path",
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

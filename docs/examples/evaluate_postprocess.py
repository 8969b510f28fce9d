"""Change the results of each record before they are counted: nulls, and rules."""

from __future__ import annotations

from knowtrail.eval.fields import (
    FieldResult,
    NullHandling,
    annotate_xeval,
    evaluate,
    infer_schema,
    propagate_batch_errors,
    reclassify_nulls,
)

GOLD = [
    {"method": "PVD", "pressure": None, "note": None},
    {"method": "ALD", "pressure": 3.5, "note": "slow"},
]
EXTRACTED = [  # this extractor writes every key, and null for what it did not find
    {"method": "PVD", "pressure": 2.0, "note": None},
    {"method": "ALD", "pressure": None, "note": "n/a", "operator": "Mara"},
]
ABSENT = NullHandling(absent_values=[None, "n/a"])


def post_process(results: list[FieldResult]) -> list[FieldResult]:
    """Take nulls for absent, and let nobody be blamed for a key that we never asked."""
    results = reclassify_nulls(propagate_batch_errors(results), ABSENT)
    for result in results:
        if result.path == "operator":
            result.status, result.reason = "skipped", "not asked for"
    return results


schema = annotate_xeval(infer_schema(GOLD))
for name, steps in (("as they are", None), ("post-processed", post_process)):
    found = evaluate(GOLD, EXTRACTED, schema, post_process=steps)
    print(
        f"{name}: F1 {found.mean_f1:.2f}, {found.total_omissions} omissions, "
        f"{found.total_hallucinations} hallucinations"
    )
    for record in found.records:
        print("  ", {field.path: field.status for field in record.field_results})

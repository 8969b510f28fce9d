"""Score extracted records against gold in three steps, with nothing adjusted."""

from __future__ import annotations

from knowtrail.eval.fields import (
    annotate_xeval,
    evaluate,
    infer_schema,
    parse_eval_schema,
    validate_gold,
)
from knowtrail.eval.fields.runs import RunNumbers, run_intervals

GOLD = [
    {"method": "sputtering", "temperature": 300, "lab_id": "A1"},
    {"method": "evaporation", "temperature": 450, "lab_id": "B2"},
    {"method": "deposition", "temperature": 200, "lab_id": "A1"},
]
EXTRACTED = [
    {"method": "sputtering", "temperature": 300, "lab_id": "A1"},
    {"method": "evaporation", "temperature": 460, "lab_id": "B3"},
    {"method": "deposition", "lab_id": "A1", "operator": "Mara"},
]

schema = annotate_xeval(infer_schema(GOLD))
parse_eval_schema(schema)
validate_gold(GOLD, schema)
result = evaluate(GOLD, EXTRACTED, schema)

for name, interval in run_intervals(RunNumbers(result.records)).items():
    print(f"{name}: {interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})")
for path, field in result.per_field.items():
    print(
        f"{path}: {field.mean_score:.2f}, {field.matches} right, {field.mismatches} "
        f"wrong, {field.omissions} missing, {field.hallucinations} made up"
    )

"""Pair the elements of arrays by place, by a key, or by what fits best."""

from __future__ import annotations

from knowtrail.eval.fields import annotate_xeval, evaluate, infer_schema

GOLD = [
    {
        "sensors": [
            {"name": "door", "volts": 3.3},
            {"name": "roof", "volts": 5.0},
            {"name": "yard", "volts": 12.0},
        ]
    }
]
EXTRACTED = [
    {
        "sensors": [
            {"name": "yard", "volts": 12.0},
            {"name": "door", "volts": 3.3},
            {"name": "rooof", "volts": 5.0},
        ]
    }
]
ALIGNMENTS = {
    "ordered": {"ordered": True},
    "key_field": {"match_by": "key_field", "key": "name"},
    "hungarian": {"match_by": "hungarian"},
}

for name, alignment in ALIGNMENTS.items():
    schema = annotate_xeval(infer_schema(GOLD))
    schema["properties"]["sensors"]["x-eval-align"] = alignment
    result = evaluate(GOLD, EXTRACTED, schema)
    print(f"{name}: F1 {result.mean_f1:.2f}")
    for path, field in result.per_schema_path.items():
        print(
            f"  {path}: {field.matches} right, {field.mismatches} wrong, "
            f"{field.omissions} missing, {field.hallucinations} made up"
        )

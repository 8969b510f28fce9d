"""Judge free text by its meaning.

The judge here has its answers written down, so that the example runs anywhere. For a
language model write `ModelJudge()`, from `knowtrail.eval.fields` too: it asks the
Ollama model of the settings, or any LangChain chat model, once a record.
"""

from __future__ import annotations

from knowtrail.eval.fields import (
    FakeJudge,
    SemanticBatchComparator,
    annotate_xeval,
    evaluate,
    infer_schema,
    register,
)

GOLD = [
    {"lab": "A1", "finding": "The film cracked.", "cause": "thermal stress"},
    {"lab": "B2", "finding": "No anomalies were seen.", "cause": "none"},
]
EXTRACTED = [
    {"lab": "A1", "finding": "Cracks formed in the film.", "cause": "humidity"},
    {"lab": "B2", "finding": "No anomalies were seen.", "cause": "none"},
]

judge = FakeJudge({
    ("The film cracked.", "Cracks formed in the film."): 1.0,
    ("thermal stress", "humidity"): 0.0,
})
register("semantic", SemanticBatchComparator(judge), overwrite=True)

schema = annotate_xeval(infer_schema(GOLD))
for name in ("finding", "cause"):
    schema["properties"][name]["x-eval-compare"] = "semantic"
result = evaluate(GOLD, EXTRACTED, schema)

for record in result.records:
    for field in record.field_results:
        print(f"{record.record_id} {field.path}: {field.status} ({field.reason})")
print(f"F1 {result.mean_f1:.2f}, {len(judge.calls)} call for {len(GOLD)} records")

"""Say for each field what counts as right: tolerances, synonyms, transforms, dates."""

from __future__ import annotations

from datetime import date
from typing import Any

from knowtrail.eval.fields import (
    ComparatorResult,
    annotate_xeval,
    evaluate,
    infer_schema,
    register,
)

GOLD = [
    {"id": 1, "method": "PVD", "temperature": 300, "lab": "Jena", "made": "2024-05-02"}
]
EXTRACTED = [
    {
        "id": 9,
        "method": "Sputtering",
        "temperature": 301,
        "lab": " JENA",
        "made": "2.5.2024",
    }
]


def compare_date(gold: Any, extracted: Any, params: dict[str, Any]) -> ComparatorResult:
    """Read 2.5.2024 as 2024-05-02."""

    def read(text: str) -> date:
        parts = [int(part) for part in text.replace("-", ".").split(".")]
        return date(*parts) if parts[0] > 31 else date(*reversed(parts))

    same = read(gold) == read(extracted)
    return ComparatorResult(float(same), "date", None if same else "another day")


register("date", compare_date, overwrite=True)

schema = annotate_xeval(infer_schema(GOLD))
plain = evaluate(GOLD, EXTRACTED, schema)

fields = schema["properties"]
fields["id"] = {"type": "integer", "x-eval-skip": True}
fields["method"]["x-eval-compare"] = {"oneof": {"values": ["PVD", "Sputtering"]}}
fields["temperature"]["x-eval-compare"] = {"numeric": {"tolerance": {"rel": 0.01}}}
fields["lab"]["x-eval-transform"] = ["strip", "lowercase"]
fields["made"]["x-eval-compare"] = "date"
adjusted = evaluate(GOLD, EXTRACTED, schema)

print(f"F1 with defaults: {plain.mean_f1:.2f}")
print(f"F1 with what the fields mean: {adjusted.mean_f1:.2f}")

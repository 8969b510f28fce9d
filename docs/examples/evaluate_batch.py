"""Score all fields of a record in one call, as an API or a model would want it."""

from __future__ import annotations

from knowtrail.eval.fields import (
    BatchItem,
    ComparatorResult,
    annotate_xeval,
    evaluate,
    infer_schema,
    register,
)

GOLD = [
    {"city": "Den Haag", "country": "Nederland", "visitors": 12},
    {"city": "Wien", "country": "Austria", "visitors": 30},
]
EXTRACTED = [
    {"city": "The Hague", "country": "Netherlands", "visitors": 12},
    {"city": "Vienna", "country": "Atlantis", "visitors": 31},
]
SAME = [{"Den Haag", "The Hague"}, {"Nederland", "Netherlands"}, {"Wien", "Vienna"}]
KNOWN = set().union(*SAME) | {"Austria"}


class Gazetteer:
    """Looks names of places up, those of a record together."""

    is_batch = True

    def __init__(self) -> None:
        """Count the calls."""
        self.calls = 0

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | None]:
        """Return a result for each pair in order, None for a name it does not know."""
        self.calls += 1
        return [self._result(item) for item in items]

    def _result(self, item: BatchItem) -> ComparatorResult | None:
        names = {item.gold_compared, item.extracted_compared}
        if not names <= KNOWN:
            return None
        return ComparatorResult(float(len(names) == 1 or names in SAME), "gazetteer")


gazetteer = Gazetteer()
register("gazetteer", gazetteer, overwrite=True)

schema = annotate_xeval(infer_schema(GOLD))
for name in ("city", "country"):
    schema["properties"][name]["x-eval-compare"] = "gazetteer"
result = evaluate(GOLD, EXTRACTED, schema)

for record in result.records:
    print({field.path: field.status for field in record.field_results})
print(f"{gazetteer.calls} calls, {result.total_batch_errors} fields without a score")

"""Score fields that are right only together, such as the parts of a name."""

from __future__ import annotations

from typing import Any

from knowtrail.eval.fields import (
    CompoundComparator,
    annotate_xeval,
    evaluate,
    infer_schema,
    register,
)

GOLD = [
    {"author": {"given": "Maria", "family": "Sklodowska"}, "year": 1898},
    {"author": {"given": "Lise", "family": "Meitner"}, "year": 1939},
]
EXTRACTED = [
    {"author": {"given": "M.", "family": "Sklodowska"}, "year": 1898},
    {"author": {"given": "Otto", "family": "Meitner"}, "year": 1939},
]


class NameComparator(CompoundComparator):
    """Takes an initial for a given name, if the family is the same."""

    def compare(
        self, gold_dict: dict[str, Any], extracted_dict: dict[str, Any]
    ) -> float:
        """Return 1 for one person."""
        given, found = gold_dict["given"], extracted_dict["given"]
        initial = found.endswith(".") and given.startswith(found[:-1])
        same_family = gold_dict["family"] == extracted_dict["family"]
        return float(same_family and (given == found or initial))


register("name", NameComparator(["given", "family"], primary="family"), overwrite=True)

schema = annotate_xeval(infer_schema(GOLD))
for part in schema["properties"]["author"]["properties"].values():
    part["x-eval-compare"] = "name"

for record in evaluate(GOLD, EXTRACTED, schema).records:
    for field in record.field_results:
        print(f"{record.record_id} {field.path}: {field.status}, {field.reason}")

"""Two ways to an eval schema: from gold records, or from a JSON Schema there is."""

from __future__ import annotations

import json

from knowtrail.eval.fields import (
    annotate_xeval,
    infer_schema,
    resolve_schema_references,
)

GOLD = [
    {"method": "sputtering", "temperature": 300, "layers": [{"metal": "Ag"}]},
    {"method": "evaporation", "temperature": 450.5, "operator": "Mara"},
]
EXISTING = {
    "type": "object",
    "$defs": {"layer": {"type": "object", "properties": {"metal": {"type": "string"}}}},
    "properties": {
        "method": {"type": "string"},
        "temperature": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "layers": {"type": "array", "items": {"$ref": "#/$defs/layer"}},
    },
}

for name, resolved in (
    ("inferred", infer_schema(GOLD)),
    ("resolved", resolve_schema_references(EXISTING)),
):
    # Leaves get a default comparator; review the schema before it is used.
    print(f"{name}: {json.dumps(annotate_xeval(resolved))}")

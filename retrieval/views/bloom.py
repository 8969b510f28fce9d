"""A perspective for Neo4j Bloom and a style sheet for Neo4j Browser.

Both are made of the tables in `styles`; the search phrases of the perspective are the
statements in `cypher/bloom/`. What is the same in every perspective, ids and times
among it, stands in `perspective.json`, so that the files are the same every time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.statements import statement, statement_record
from knowtrail.retrieval.views.page import rendered
from knowtrail.retrieval.views.palette import darker
from knowtrail.retrieval.views.styles import NODES, RELATIONSHIPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowtrail.retrieval.views.styles import NodeStyle, RelationshipStyle

_FORMS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("perspective.json").read_bytes()
)
"""What each part of a perspective has; null is filled in here."""

FORMAT: str = _FORMS["perspective"]["version"]
"""The perspective format that is written."""

PHRASES: Mapping[str, str] = _FORMS["phrases"]
"""What one types in Bloom -> the statement that answers."""

_SUGGESTIONS = _FORMS["suggestions"]
"""Parameter -> the label and property whose values Bloom suggests for it."""

_CREATED: int = _FORMS["perspective"]["createdAt"]
_INDEXED = ("id", "name", "title")


def perspective_text() -> str:
    """Return the perspective as the text of a JSON file."""
    return json.dumps(perspective(), ensure_ascii=False, indent=2) + "\n"


def perspective() -> dict[str, Any]:
    """Return the perspective as JSON values."""
    return _FORMS["perspective"] | {
        "categories": [_category(n, style) for n, style in enumerate(NODES, start=1)],
        "labels": {s.label: _properties(s.label, s.properties) for s in NODES},
        "relationshipTypes": [_relationship(style) for style in RELATIONSHIPS],
        "templates": [
            _template(number, text, name)
            for number, (text, name) in enumerate(PHRASES.items())
        ],
        "palette": {
            "colors": [style.color for style in NODES],
            "currentIndex": len(NODES) - 1,
        },
        "metadata": {
            "pathSegments": [
                {"source": s.start, "relationshipType": s.type, "target": s.end}
                for s in RELATIONSHIPS
            ],
            "indexes": [
                {
                    "label": style.label,
                    "type": "native",
                    "propertyKeys": [
                        {"key": key, "metadataProp": False}
                        for key in _INDEXED
                        if key in style.properties
                    ],
                }
                for style in NODES
            ],
        },
    }


def grass_text() -> str:
    """Return the style sheet for Neo4j Browser."""
    return rendered(
        "browser.grass", nodes=NODES, relationships=RELATIONSHIPS, darker=darker
    )


def _properties(owner: str, properties: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"propertyKey": name, "type": owner, "dataType": kind}
        for name, kind in properties.items()
    ]


def _category(number: int, style: NodeStyle) -> dict[str, Any]:
    return _FORMS["category"] | {
        "id": number,
        "name": style.label,
        "labels": [style.label],
        "properties": [
            {"name": name, "exclude": name in style.hidden, "dataType": kind}
            for name, kind in style.properties.items()
        ],
        "color": style.color,
        "size": style.size,
        "captions": [_FORMS["caption"] | {"key": style.caption, "type": "property"}],
        "captionKeys": [style.caption],
    }


def _relationship(style: RelationshipStyle) -> dict[str, Any]:
    key = style.caption or style.type
    kind = "property" if style.caption else "relationship"
    return _FORMS["relationship"] | {
        "id": style.type,
        "name": style.type,
        "color": style.color,
        "properties": _properties(style.type, style.properties),
        "size": max(1, style.width),
        "captions": [_FORMS["caption"] | {"key": key, "type": kind}],
        "captionKeys": [key],
    }


def _template(number: int, text: str, name: str) -> dict[str, Any]:
    record = statement_record(name)
    return _FORMS["template"] | {
        "id": f"tmpl:{_CREATED + number}",
        "createdAt": _CREATED + number,
        "name": record.purpose,
        "text": text,
        "cypher": statement(name),
        "params": [_parameter(param) for param in record.params],
    }


def _parameter(name: str) -> dict[str, Any]:
    label, key = _SUGGESTIONS[name]
    return _FORMS["parameter"] | {
        "name": f"${name}",
        "suggestionLabel": label,
        "suggestionProp": key,
    }

"""A perspective for Neo4j Bloom and a style sheet for Neo4j Browser.

Both are made of the tables in `styles`; the search phrases of the perspective are the
statements in `cypher/bloom/`. The files are the same every time: ids are derived from
names and times are fixed.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.statements import statement, statement_record
from knowtrail.retrieval.views.palette import darker
from knowtrail.retrieval.views.styles import NODES, RELATIONSHIPS

if TYPE_CHECKING:
    from knowtrail.retrieval.views.styles import NodeStyle, RelationshipStyle

FORMAT = "2.21.0"
"""The perspective format that is written."""

PHRASES = {
    "Path of $traversal": "bloom/path_of_traversal",
    "Sentences of $traversal": "bloom/sentences_of_traversal",
    "Walks of $question": "bloom/walks_of_question",
    "Around $title": "bloom/around_document",
    "Documents about $theme": "bloom/documents_about",
    "Bridges from $title to $other": "bloom/bridges_between",
    "Terms between $title and $other": "bloom/terms_between",
    "Where $term is named": "bloom/where_named",
    "Walk from $question": "bloom/walk_from_question",
    "Walk in $corpus from $question": "bloom/walk_in_corpus",
}
"""What one types in Bloom -> the statement that answers."""

_SUGGESTIONS = {
    "traversal": ("Traversal", "id"),
    "question": ("Query", "text"),
    "title": ("Document", "title"),
    "other": ("Document", "title"),
    "theme": ("Theme", "name"),
    "term": ("Term", "label"),
    "corpus": ("Corpus", "name"),
}
"""Parameter -> the label and property whose values Bloom suggests for it."""

_CREATED = 1_767_225_600_000
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "knowtrail.perspective")
_INDEXED = ("id", "name", "title")


def perspective_text() -> str:
    """Return the perspective as the text of a JSON file."""
    return json.dumps(perspective(), ensure_ascii=False, indent=2) + "\n"


def perspective() -> dict[str, Any]:
    """Return the perspective as JSON values."""
    return {
        "name": "Knowtrail",
        "version": FORMAT,
        "id": str(uuid.uuid5(_NAMESPACE, "Knowtrail")),
        "createdAt": _CREATED,
        "lastEditedAt": _CREATED,
        "type": "STANDARD_PERSPECTIVE",
        "hideUncategorisedData": False,
        "maxLimitToastMsgEnabled": False,
        "parentPerspectiveId": None,
        "categories": [_category(n, style) for n, style in enumerate(NODES, start=1)],
        "labels": {
            style.label: [
                {"propertyKey": name, "type": style.label, "dataType": kind}
                for name, kind in style.properties.items()
            ]
            for style in NODES
        },
        "relationshipTypes": [_relationship(style) for style in RELATIONSHIPS],
        "templates": [
            _template(number, text, name)
            for number, (text, name) in enumerate(PHRASES.items())
        ],
        "sceneActions": [],
        "hiddenRelationshipTypes": [],
        "palette": {
            "colors": [style.color for style in NODES],
            "currentIndex": len(NODES) - 1,
        },
        "metadata": {
            "pathSegments": [
                {
                    "source": style.start,
                    "relationshipType": style.type,
                    "target": style.end,
                }
                for style in RELATIONSHIPS
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
    rules = [
        _rule(
            "node",
            {
                "diameter": "50px",
                "color": "#A5ABB6",
                "border-color": "#9AA1AC",
                "border-width": "2px",
                "text-color-internal": "#FFFFFF",
                "font-size": "10px",
            },
        ),
        _rule(
            "relationship",
            {
                "color": "#A5ABB6",
                "shaft-width": "1px",
                "font-size": "8px",
                "padding": "3px",
                "text-color-external": "#000000",
                "text-color-internal": "#FFFFFF",
                "caption": "'<type>'",
            },
        ),
    ]
    rules += [
        _rule(
            f"node.{style.label}",
            {
                "diameter": f"{round(50 * style.size)}px",
                "color": style.color,
                "border-color": darker(style.color),
                "text-color-internal": style.ink,
                "caption": f"'{{{style.caption}}}'",
            },
        )
        for style in NODES
    ]
    rules += [
        _rule(
            f"relationship.{style.type}",
            {
                "color": style.color,
                "shaft-width": f"{style.width}px",
                "caption": f"'{{{style.caption}}}'" if style.caption else "'<type>'",
            },
        )
        for style in RELATIONSHIPS
    ]
    return "\n".join(rules)


def _category(number: int, style: NodeStyle) -> dict[str, Any]:
    return {
        "id": number,
        "name": style.label,
        "labels": [style.label],
        "properties": [
            {"name": name, "exclude": name in style.hidden, "dataType": kind}
            for name, kind in style.properties.items()
        ],
        "color": style.color,
        "icon": "no-icon",
        "size": style.size,
        "textSize": 1,
        "textAlign": "top",
        "captions": [_caption(style.caption, "property")],
        "captionKeys": [style.caption],
        "styleRules": [],
        "createdAt": _CREATED,
        "lastEditedAt": _CREATED,
    }


def _relationship(style: RelationshipStyle) -> dict[str, Any]:
    key = style.caption or style.type
    return {
        "id": style.type,
        "name": style.type,
        "color": style.color,
        "properties": [
            {"propertyKey": name, "type": style.type, "dataType": kind}
            for name, kind in style.properties.items()
        ],
        "size": max(1, style.width),
        "textSize": 1,
        "textAlign": "top",
        "captions": [_caption(key, "property" if style.caption else "relationship")],
        "captionKeys": [key],
        "styleRules": [],
    }


def _caption(key: str, kind: str) -> dict[str, Any]:
    return {
        "key": key,
        "type": kind,
        "isCaption": True,
        "inTooltip": True,
        "styles": [],
        "isGdsData": False,
    }


def _template(number: int, text: str, name: str) -> dict[str, Any]:
    record = statement_record(name)
    return {
        "id": f"tmpl:{_CREATED + number}",
        "createdAt": _CREATED + number,
        "name": record.purpose,
        "text": text,
        "cypher": statement(name),
        "isUpdateQuery": False,
        "hasCypherErrors": False,
        "params": [_parameter(param) for param in record.params],
    }


def _parameter(name: str) -> dict[str, Any]:
    label, key = _SUGGESTIONS[name]
    return {
        "name": f"${name}",
        "dataType": "String",
        "collapsed": False,
        "suggestionLabel": label,
        "suggestionProp": key,
        "suggestionBoolean": False,
        "cypher": None,
    }


def _rule(selector: str, declarations: dict[str, str]) -> str:
    lines = "".join(f"  {name}: {value};\n" for name, value in declarations.items())
    return f"{selector} {{\n{lines}}}\n"

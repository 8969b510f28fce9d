"""How the OpenAPI document describes the routes of a procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrieval.serve.signatures import parameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retrieval.procedures import Field, Procedure

__all__ = ["QUERY_ID", "get_description", "post_description"]

QUERY_ID = "queryId"
_TYPES: dict[str, dict[str, Any]] = {
    "STRING": {"type": "string"},
    "INTEGER": {"type": "integer"},
    "FLOAT": {"type": "number"},
    "BOOLEAN": {"type": "boolean"},
    "MAP": {"type": "object"},
    "LIST<STRING>": {"type": "array", "items": {"type": "string"}},
}
_QUERY_ID = {
    "name": QUERY_ID,
    "in": "query",
    "description": "id of a stored Query, in place of question",
    "schema": {"type": "string"},
}
_CSV = (
    {
        "name": "escape",
        "in": "query",
        "description": "how a backslash is written; by default as the client reads it",
        "schema": {"type": "string", "enum": ["neo4j", "rfc4180"]},
    },
    {
        "name": "key",
        "in": "query",
        "description": "the key, for LOAD CSV, which sends no headers of its own",
        "schema": {"type": "string"},
    },
)
_PROBLEM = {
    "description": "What was wrong and what to do.",
    "content": {"application/problem+json": {"schema": {"type": "object"}}},
}


def get_description(procedure: Procedure, media_type: str) -> dict[str, Any]:
    """Return what OpenAPI says of a GET of a procedure.

    Args:
        procedure: The procedure.
        media_type: What it answers with.
    """
    needed = {field.name for field in procedure.arguments} - {"question"}
    return {
        "parameters": [
            *(
                {**_parameter(field), "required": field.name in needed}
                for field in parameters(procedure)
            ),
            _QUERY_ID,
            *(_CSV if media_type == "text/csv" else ()),
        ],
        "responses": _responses(procedure, media_type),
    }


def post_description(procedure: Procedure, media_type: str) -> dict[str, Any]:
    """Return what OpenAPI says of a POST of a procedure; see `get_description`."""
    body = {
        **_object(parameters(procedure)),
        "required": [f.name for f in procedure.arguments if f.name != "question"],
        "additionalProperties": False,
    }
    body["properties"][QUERY_ID] = _QUERY_ID["schema"]
    return {
        "requestBody": {"content": {"application/json": {"schema": body}}},
        "responses": _responses(procedure, media_type),
    }


def _parameter(field: Field) -> dict[str, Any]:
    """Return a parameter of a URL; maps are JSON there, lists have commas."""
    shown: dict[str, Any] = {
        "name": field.name,
        "in": "query",
        "description": field.description,
    }
    if field.kind == "MAP":
        return shown | {"content": {"application/json": {"schema": _TYPES["MAP"]}}}
    if field.kind.startswith("LIST"):
        shown |= {"style": "form", "explode": False}
    return shown | {"schema": _TYPES[field.kind]}


def _object(fields: Iterable[Field]) -> dict[str, Any]:
    """Return the JSON schema of an object with some fields."""
    return {
        "type": "object",
        "properties": {
            field.name: {**_TYPES[field.kind], "description": field.description}
            for field in fields
        },
    }


def _responses(procedure: Procedure, media_type: str) -> dict[str, Any]:
    """Return what comes back."""
    text: dict[str, Any] = {"type": "string"}
    answer = {
        "type": "object",
        "properties": {
            "procedure": text,
            "columns": {"type": "array", "items": text},
            "rows": {"type": "array", "items": _object(procedure.columns)},
        },
    }
    schema = answer if media_type == "application/json" else text
    return {
        "200": {
            "description": "The rows.",
            "content": {media_type: {"schema": schema}},
        },
        "4XX": _PROBLEM,
        "5XX": _PROBLEM,
    }

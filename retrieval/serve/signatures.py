"""Procedures as HTTP shows them: signatures and OpenAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.procedures import OPTIONS, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from knowtrail.retrieval.procedures import Procedure


def parameters(procedure: Procedure) -> tuple[Field, ...]:
    """Return what a call may give, arguments first."""
    return (*procedure.arguments, *(OPTIONS[name] for name in procedure.options))


def signature(procedure: Procedure) -> dict[str, Any]:
    """Return a procedure's name, arguments, options and columns as JSON values."""
    needed = procedure.arguments
    return {
        "name": procedure.name,
        "description": procedure.description,
        "arguments": [_shown(field) for field in needed],
        "options": [_shown(field) for field in parameters(procedure)[len(needed) :]],
        "columns": [_shown(field) for field in procedure.columns],
    }


def _shown(field: Field) -> dict[str, str]:
    return {"name": field.name, "type": field.kind, "description": field.description}


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
    "description": "id of a stored Query, in place of question: give one of the two",
    "schema": {"type": "string"},
}
_TEMPLATE: dict[str, dict[str, Any]] = {
    name: {"description": description, "schema": schema}
    for name, description, schema in (
        ("question", "what is asked, in Dutch or English", {"type": "string"}),
        ("conversation", "id of what it follows up", {"type": "string"}),
        ("corpus", "whose institutions alone are found", {"type": "string"}),
        ("language", "of the question; else it is guessed", {"enum": ["nl", "en"]}),
        ("k", "answers at most", {"type": "integer", "minimum": 1, "maximum": 1000}),
        ("strict", "refuse to leave a word out of account", {"type": "boolean"}),
    )
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
    """Return what OpenAPI says of a GET of a procedure."""
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
        "oneOf": [{"required": ["question"]}, {"required": [QUERY_ID]}],
    }
    body["properties"][QUERY_ID] = _QUERY_ID["schema"]
    return {
        "requestBody": {"content": {"application/json": {"schema": body}}},
        "responses": _responses(procedure, media_type),
    }


def metrics_description() -> dict[str, Any]:
    """Return what OpenAPI says of the metrics, which are text."""
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {
        "responses": {
            "200": {"description": "For Prometheus.", "content": content},
            "5XX": _PROBLEM,
        }
    }


def template_description(method: str) -> dict[str, Any]:
    """Return what OpenAPI says of questions that are answered by templates."""
    answer = {"application/json": {"schema": {"type": "object"}}}
    said: dict[str, Any] = {
        "responses": {
            "200": {"description": "The answer with every step.", "content": answer},
            "4XX": _PROBLEM,
            "5XX": _PROBLEM,
        }
    }
    if method == "GET":
        given = [
            {"name": name, "in": "query", "required": name == "question", **about}
            for name, about in _TEMPLATE.items()
        ]
        return {"parameters": given, **said}
    body = {
        "type": "object",
        "properties": {
            name: {**about["schema"], "description": about["description"]}
            for name, about in _TEMPLATE.items()
        },
        "required": ["question"],
        "additionalProperties": False,
    }
    return {"requestBody": {"content": {"application/json": {"schema": body}}}, **said}


def with_keys(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a document that says how a key is shown, where the server asks for one."""
    document = make()
    schemes = {name: {"type": "http", "scheme": name} for name in ("bearer", "basic")}
    document.setdefault("components", {})["securitySchemes"] = schemes
    document["security"] = [{}, *({name: []} for name in schemes)]
    return document


def _parameter(field: Field) -> dict[str, Any]:
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


def _row(columns: Iterable[Field]) -> dict[str, Any]:
    """Return the JSON schema of a row: what there is not is null."""
    row = _object(columns)
    for shown in row["properties"].values():
        shown["type"] = [shown["type"], "null"]
    return row


def _responses(procedure: Procedure, media_type: str) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    answer = {
        "type": "object",
        "properties": {
            "procedure": text,
            "columns": {"type": "array", "items": text},
            "rows": {"type": "array", "items": _row(procedure.columns)},
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

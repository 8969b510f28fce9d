"""Procedures as HTTP shows them: signatures and OpenAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.graph.files.packaged import packaged
from knowtrail.retrieval.procedures.registry import OPTIONS, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from knowtrail.retrieval.procedures.registry import Procedure

_TABLE = packaged(__package__, "openapi.toml")
_TYPES: dict[str, dict[str, Any]] = _TABLE["types"]
QUERY_ID: str = _TABLE["query_id"]["name"]
TEMPLATE_FIELDS = frozenset(_TABLE["templates"])
"""Parameters of questions that are answered by templates."""


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


def procedure_description(
    procedure: Procedure, media_type: str, method: str
) -> dict[str, Any]:
    """Return what OpenAPI says of a GET or POST of a procedure."""
    needed = {field.name for field in procedure.arguments} - {"question"}
    columns = _schemas(procedure.columns)
    for shown in columns.values():
        shown["type"] = [shown["type"], "null"]  # what there is not is null
    text: dict[str, Any] = {"type": "string"}
    row = {"type": "object", "properties": columns}
    answer = {
        "type": "object",
        "properties": {
            "procedure": text,
            "columns": {"type": "array", "items": text},
            "rows": {"type": "array", "items": row},
        },
    }
    schema = answer if media_type == "application/json" else text
    responses = _responses("The rows.", {media_type: {"schema": schema}})
    if method == "GET":
        given = [
            {**_parameter(field), "required": field.name in needed}
            for field in parameters(procedure)
        ]
        more = _TABLE["csv"] if media_type == "text/csv" else []
        return {"parameters": [*given, _TABLE["query_id"], *more], **responses}
    properties = _schemas(parameters(procedure))
    properties[QUERY_ID] = _TABLE["query_id"]["schema"]
    either = [{"required": ["question"]}, {"required": [QUERY_ID]}]
    return _body(properties, sorted(needed), oneOf=either) | responses


def metrics_description() -> dict[str, Any]:
    """Return what OpenAPI says of the metrics, which are text."""
    return {"responses": _TABLE["metrics"]["responses"] | {"5XX": _TABLE["problem"]}}


def template_description(method: str) -> dict[str, Any]:
    """Return what OpenAPI says of questions that are answered by templates."""
    answer = {"application/json": {"schema": {"type": "object"}}}
    responses = _responses("The answer with every step.", answer)
    fields = _TABLE["templates"].items()
    if method == "GET":
        given = [
            {"name": name, "in": "query", "required": name == "question", **about}
            for name, about in fields
        ]
        return {"parameters": given, **responses}
    properties = {
        name: {**about["schema"], "description": about["description"]}
        for name, about in fields
    }
    return _body(properties, ["question"]) | responses


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


def _schemas(fields: Iterable[Field]) -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of fields by name."""
    return {
        field.name: {**_TYPES[field.kind], "description": field.description}
        for field in fields
    }


def _body(
    properties: dict[str, Any], required: list[str], **more: Any
) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **more,
    }
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


def _responses(description: str, content: dict[str, Any]) -> dict[str, Any]:
    told = {"description": description, "content": content}
    problem = _TABLE["problem"]
    return {"responses": {"200": told, "4XX": problem, "5XX": problem}}

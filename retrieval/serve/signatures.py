"""The signature of a procedure as HTTP shows it: arguments and options side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrieval.procedures import OPTIONS, Field

if TYPE_CHECKING:
    from retrieval.procedures import Procedure

__all__ = ["parameters", "signature"]


def parameters(procedure: Procedure) -> tuple[Field, ...]:
    """Return what a call may give, arguments first."""
    return (
        *procedure.arguments,
        *(
            Field(
                name=option.public_name,
                kind=option.kind,
                description=option.description,
            )
            for option in (OPTIONS[name] for name in procedure.options)
        ),
    )


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
    """Return a field as JSON values."""
    return {"name": field.name, "type": field.kind, "description": field.description}

"""Values, signatures and errors between Python and Neo4j's Java.

Only the server's process uses this. The two Neo4j lines differ in how an error must be
made so that the server can tell it: what one line can encode leaves the client of the
other waiting for ever. So constructors are looked for, and the last resort is an
exception that both can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.errors import CorpusDriftError, InputError, KnowtrailError, SettingsError
from graph.prompts import whole_characters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.procedures.options import Kind
    from retrieval.procedures.registry import Procedure
    from retrieval.procedures.rows import Row

__all__ = ["JavaTypes"]

_PROCEDURES = "org.neo4j.internal.kernel.api.procs"
_DEEPEST = 20


class JavaTypes:
    """The Java classes that procedures are made of, found once."""

    def __init__(self) -> None:
        from jpype import JClass

        self._class = JClass
        self._name = JClass(f"{_PROCEDURES}.QualifiedName")
        self._signature = JClass(f"{_PROCEDURES}.ProcedureSignature")
        self._default = JClass(f"{_PROCEDURES}.DefaultParameterValue")
        types = JClass(f"{_PROCEDURES}.Neo4jTypes")
        self._types: dict[Kind, Any] = {
            "STRING": types.NTString,
            "INTEGER": types.NTInteger,
            "FLOAT": types.NTFloat,
            "BOOLEAN": types.NTBoolean,
            "MAP": types.NTMap,
            "LIST<STRING>": types.NTList(types.NTString),
        }
        self._values = JClass("org.neo4j.values.storable.Values")
        self._lists = JClass("org.neo4j.values.virtual.VirtualValues")
        self._any = JClass("org.neo4j.values.AnyValue")
        self._rows = JClass("org.neo4j.collection.ResourceRawIterator")
        self._status = JClass("org.neo4j.kernel.api.exceptions.Status")
        self._error = JClass(
            "org.neo4j.internal.kernel.api.exceptions.ProcedureException"
        )
        self._runtime_error = JClass("java.lang.RuntimeException")

    def signature(self, procedure: Procedure) -> Any:
        """Return the signature of a procedure, typed and described."""
        builder = self._signature.procedureSignature(
            self._name("knowtrail", procedure.name)
        )
        for field in procedure.arguments:
            builder = builder.in_(field.name, self._types[field.kind])
        no_options = self._default.ntMap(self._class("java.util.HashMap")())
        builder = builder.in_("options", self._types["MAP"], no_options)
        for column in procedure.columns:
            builder = builder.out(column.name, self._types[column.kind])
        mode = self._class("org.neo4j.procedure.Mode")
        return builder.mode(mode.READ).description(_description(procedure)).build()

    def to_python(self, value: Any) -> Any:
        """Return a Java value as Python's own.

        Raises:
            InputError: If it is a node, a date or another value without a counterpart.
        """
        return self._python(value, _DEEPEST)

    def _python(self, value: Any, depth: int) -> Any:
        """Convert a value that may hold others."""
        from jpype import JArray

        if depth == 0:
            msg = f"A value is nested more than {_DEEPEST} deep: flatten it."
            raise InputError(msg)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, self._class("java.lang.Boolean")):
            return bool(value)
        if isinstance(value, self._class("java.lang.String")):
            return str(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, self._class("java.util.Map")):
            return {
                str(entry.getKey()): self._python(entry.getValue(), depth - 1)
                for entry in value.entrySet()
            }
        if isinstance(value, self._class("java.util.List") | JArray):
            return [self._python(part, depth - 1) for part in value]
        kind = type(value).__name__.rpartition(".")[2]
        msg = f"A value is a {kind}: give texts, numbers, booleans, lists and maps."
        raise InputError(msg)

    def rows(self, procedure: Procedure, rows: Sequence[Row]) -> Any:
        """Return rows as Neo4j takes them."""
        from jpype import JArray

        array = JArray(self._any)
        made = [
            array([self._value(c.kind, row[c.name]) for c in procedure.columns])
            for row in rows
        ]
        return self._rows.of(JArray(array)(made))

    def _value(self, kind: Kind, value: Any) -> Any:
        """Return a value of a column as Neo4j's."""
        if value is None:
            return self._values.NO_VALUE
        if kind == "INTEGER":
            return self._values.longValue(value)
        if kind == "FLOAT":
            return self._values.doubleValue(value)
        if kind == "BOOLEAN":
            return self._values.booleanValue(value)
        if kind == "LIST<STRING>":
            from jpype import JArray

            texts = [self._values.stringValue(whole_characters(text)) for text in value]
            return self._lists.list(JArray(self._any)(texts))
        return self._values.stringValue(whole_characters(value))

    def failure(self, name: str, error: Exception) -> Any:
        """Return an error as the exception that this Neo4j line can tell.

        What the caller can mend is an argument error; the rest is a failed call.
        """
        mendable = InputError | SettingsError | CorpusDriftError
        status = (
            self._status.Statement.ArgumentError
            if isinstance(error, mendable)
            else self._status.Procedure.ProcedureCallFailed
        )
        message = str(error) if isinstance(error, KnowtrailError) else repr(error)
        message = whole_characters(f"knowtrail.{name}: {message}")
        make = getattr(self._error, "generalProcedureExceptionNoCause", None)
        try:
            if make is not None:
                return make(f"knowtrail.{name}", status, self._runtime_error(message))
            return self._error(status, message, [])
        except TypeError:
            return self._runtime_error(message)

    def is_terminated(self, transaction: Any) -> bool:
        """Return whether a transaction ended while its call was at work."""
        return bool(transaction.terminationReason().isPresent())

    def may_write(self, transaction: Any) -> bool:
        """Return whether the caller's session may write; one that reads may not."""
        routing = None if transaction is None else transaction.routingInfo()
        return routing is None or str(routing.accessMode()) != "READ"


def _description(procedure: Procedure) -> str:
    """Return what SHOW PROCEDURES says."""
    from retrieval.procedures.options import OPTIONS

    options = ", ".join(
        f"{OPTIONS[name].public_name} ({OPTIONS[name].kind})"
        for name in procedure.options
    )
    return f"{procedure.description} Options: {options}."

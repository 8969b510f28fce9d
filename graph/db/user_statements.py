"""Cypher that a person typed: checked, run once, streamed.

Without leave to write, three things keep a statement from changing anything: the
server explains it first and says what kind it is; procedures and commands that act on
the server itself (ending transactions or connections, clearing caches) or that load
files and addresses are refused by name; and it runs in read access mode, in which Neo4j
refuses every write, schema change and administration command. A statement is explained
with its parameters: then the server keeps the plan for the run.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.driver import Counters, translate_errors
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import neo4j

    from knowtrail.graph.db.connection import AsyncConnection, Connection

FETCH_ROWS = 500
"""Rows that the driver holds at once."""

_KEYWORD = re.compile(
    r"""
    (?: \s | //[^\r\n]*(?:[\r\n]|$) | /\*.*?\*/ )*+
    (?: CYPHER \b (?: \s+ (?: \d+(?:\.\d+)? \b | \w+ \s* = \s* \w+ ) )*
        (?: \s | //[^\r\n]*(?:[\r\n]|$) | /\*.*?\*/ )*+ )?
    (?P<word> [A-Za-z]+ )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"(?:dbms\.(?:components|info|list\w+|queryJmx|showCurrentUser"
    r"|(?:cluster\.)?routing\.getRoutingTable)|tx\.getMetaData)\("
)
"""Procedures of mode DBMS that only look."""

_POSITION = re.compile(r"\(line (\d+), column (\d+)(?: \(offset: \d+\))?\)")
_JAVA_CLASS = re.compile(r" for (?:[a-z]\w*\.)+[\w$]+(?:@\w+)?")
_JAVA_VALUE = re.compile(r"\b(?:String|Long|Double|Boolean)\(([^()]*)\)")
_READ_ONLY = (
    "The statement would {}, and this command only reads: add --write if you mean it."
)
_LOADING = (
    "The statement would load files or addresses, or call procedures that may: add "
    "--write if you mean it."
)
_NO_LOADING = (
    "The statement would load files or call procedures that are not the database's own "
    "(db.): leave that out."
)
_OWN = re.compile(r"db\.")
_KNOWN = re.compile(
    r"(?:db|dbms|tx|knowtrail)\.|gds\.(?:\w+\.)*(?:stream|stats|estimate|list|exists)\("
)
"""Procedures that, where they only read, stay in the database."""
_NESTED_LOAD = re.compile(r"\bLOAD\s+CSV\b", re.IGNORECASE)
_NESTED_CALL = re.compile(r"\bCALL\s+`?(\w[\w.`]*\()", re.IGNORECASE)
"""In details: an expression's subquery has no operators of its own in a plan."""
_REACHING = re.compile(r"\b(?:ai|apoc|genai)\.[\w.]+\(")
"""Functions of plugins, of which some reach other machines."""
_NO_WRITING = "The statement would {}, and only reading is allowed."
_GIVE, _GIVE_THEM = "Give each with -p NAME=VALUE.", "Give each in parameters."
"""What a person is told who types a command, and what a program is that calls."""


class RunningStatement:
    """The rows of a statement, streamed.

    How the server runs it (`plan`, if that was asked for) and what it doubts
    (`warnings`) are known after the last row or `finish`.
    """

    def __init__(self, result: neo4j.Result, *, added_lines: int = 0) -> None:
        self._result = result
        self._added_lines = added_lines
        self.columns: tuple[str, ...] = tuple(result.keys())
        self._counters = Counters()
        self._schema_changes = 0
        self.plan = ""
        self.warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield the values of each row, in the order of the columns."""
        for record in self._result:
            yield list(record.values())
        self.finish()

    def finish(self) -> None:
        """Drop the rows that are left, so that the statement comes to its end."""
        summary = self._result.consume()
        self._counters = Counters.of(summary)
        c = summary.counters
        self._schema_changes = (
            c.indexes_added
            + c.indexes_removed
            + c.constraints_added
            + c.constraints_removed
            + c.system_updates
        )
        plan = summary.profile or summary.plan
        self.plan = "\n".join(_plan_lines(plan)) if plan else ""
        self.warnings = tuple(self._doubts(summary))

    def _doubts(self, summary: neo4j.ResultSummary) -> Iterator[str]:
        """Yield the warnings of the server, each as one line with its place."""
        for status in summary.gql_status_objects:
            if status.is_notification and status.raw_severity == "WARNING":
                text = " ".join(status.status_description.split())
                said = text.partition(". ")[2] or text  # behind the kind of warning
                at, where = status.position, ""
                if at is not None:
                    line = max(1, at.line - self._added_lines)
                    where = f" (line {line}, column {at.column})"
                yield f"{said.rstrip('.')}{where}."

    @property
    def changes(self) -> str:
        """Say what was changed, empty where nothing was; known after the last row."""
        counts = asdict(self._counters) | {"schema_changes": self._schema_changes}
        told = (f"{n} {what.replace('_', ' ')}" for what, n in counts.items() if n)
        return ", ".join(told)


@contextmanager
def run_statement(
    connection: Connection,
    text: str,
    params: Mapping[str, Any] | None = None,
    *,
    write: bool = False,
) -> Iterator[RunningStatement]:
    """Run a statement in a transaction of its own and yield its rows.

    It is never run a second time: a person who writes sees every failure.

    Raises:
        InputError: If the statement cannot be understood, lacks a parameter, fails on
            its own account, or would write without leave.
        DatabaseError: If the server refuses or fails.
    """
    _check_text(text)
    with (
        translate_errors(),
        connection.session(
            default_access_mode="WRITE" if write else "READ",
            fetch_size=FETCH_ROWS,
            notifications_min_severity="WARNING",
        ) as session,
    ):
        added_lines, given = 0, dict(params or {})
        if not write:
            word, bare = _without_mode(text)
            explained = f"EXPLAIN\n{bare}"
            if word == "EXPLAIN":  # that it begins so is ours to see to
                text, added_lines = explained, 1
            else:
                with _explain_mistakes(added_lines=1):
                    summary = session.run(explained, given).consume()
                _check_plan(summary, _READ_ONLY, _KNOWN, _LOADING)
        with _explain_mistakes(added_lines=added_lines):
            result = session.run(text, given)
            yield RunningStatement(result, added_lines=added_lines)


async def aread_statement(
    connection: AsyncConnection,
    text: str,
    params: Mapping[str, Any] | None = None,
    *,
    limit: int,
) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Run a statement that reads this database alone; return columns and first rows.

    For programs that nobody watches: it may not load files or addresses either, nor
    call procedures but the database's own (`db.`). The rest of the rows is not asked
    for. Cancelled, it ends on the server too.

    Raises:
        InputError: As `run_statement` does.
        DatabaseError: If the server refuses or fails.
    """
    _check_text(text)
    with translate_errors():
        reading = connection.session(default_access_mode="READ", fetch_size=limit)
        async with reading as session:
            word, bare = _without_mode(text)
            explained, given = f"EXPLAIN\n{bare}", dict(params or {})
            if word == "EXPLAIN":
                text = explained
            else:
                with _explain_mistakes(_NO_WRITING, _GIVE_THEM, added_lines=1):
                    summary = await (await session.run(explained, given)).consume()
                _check_plan(summary, _NO_WRITING, _OWN, _NO_LOADING)
            added_lines = int(word == "EXPLAIN")
            with _explain_mistakes(_NO_WRITING, _GIVE_THEM, added_lines=added_lines):
                result = await session.run(text, given)
                rows = await result.fetch(limit)
                return tuple(result.keys()), [list(row.values()) for row in rows]


def _check_text(text: str) -> None:
    if not text.strip():
        msg = "The statement is empty: write one, such as 'MATCH (n) RETURN count(n)'."
        raise InputError(msg)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = f"The statement is not valid text at character {error.start + 1}."
        raise InputError(msg) from error


def _check_plan(
    summary: neo4j.ResultSummary, refusal: str, known: re.Pattern[str], loading: str
) -> None:
    """Refuse what, as explained, writes, or may reach files or other machines."""
    if summary.query_type not in {"r", "s"}:
        raise InputError(refusal.format("write"))
    operators = list(_operators(summary.plan or {}))
    if any(name.startswith("TerminateTransactions") for name, _ in operators):
        raise InputError(refusal.format("end transactions"))
    if summary.query_type == "s":
        # Commands of administration do not tell reading from writing: in read access
        # mode the server refuses what writes.
        shows = any(name.startswith("AdministrationCommand") for name, _ in operators)
        calls = [detail for name, detail in operators if name.startswith("Procedure")]
        if not (calls or shows) or not all(map(_HARMLESS.match, calls)):
            raise InputError(refusal.format("change the server"))
    for name, detail in operators:
        called = [detail] if name.startswith("Procedure") else []
        called += _NESTED_CALL.findall(detail)
        loads = name.startswith("LoadCSV") or _NESTED_LOAD.search(detail)
        if loads or _REACHING.search(detail) or not all(map(known.match, called)):
            raise InputError(loading)


def _without_mode(text: str) -> tuple[str, str]:
    """Return the first keyword of a statement, and it without EXPLAIN or PROFILE."""
    found = _KEYWORD.match(text)
    if found is None:
        return "", text
    start, end = found.span("word")
    word = found["word"].upper()
    if word in {"EXPLAIN", "PROFILE"}:
        return word, text[:start] + " " * (end - start) + text[end:]
    return word, text


def _operators(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield plan.get("operatorType", ""), str(plan.get("args", {}).get("Details", ""))
    for child in plan.get("children", ()):
        yield from _operators(child)


def _plan_lines(plan: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    arguments = plan.get("args", {})
    name = plan.get("operatorType", "").partition("@")[0]
    details = " ".join(str(arguments.get("Details", "")).split())
    rows = arguments.get("Rows", arguments.get("EstimatedRows"))
    count = "" if rows is None else f"  [{rows:.4g} rows]"
    yield f"{'  ' * depth}{name} {details}".rstrip() + count
    for child in plan.get("children", ()):
        yield from _plan_lines(child, depth + 1)


@contextmanager
def _explain_mistakes(
    refusal: str = _READ_ONLY, give: str = _GIVE, *, added_lines: int = 0
) -> Iterator[None]:
    """Turn what the server says about a statement into one line for its author."""
    from neo4j import exceptions as ne

    try:
        yield
    except ne.ClientError as error:
        code = error.code or ""
        if code == "Neo.ClientError.Statement.AccessMode":
            raise InputError(refusal.format("write")) from error
        if code.startswith("Neo.ClientError.Statement") or code in {
            "Neo.ClientError.Procedure.ProcedureNotFound",
            "Neo.ClientError.Procedure.TypeError",
        }:
            line = _one_line(error.message or code, added_lines=added_lines)
            if code == "Neo.ClientError.Statement.ParameterMissing":
                line += f" {give}"
            raise InputError(line) from error
        raise


def _one_line(message: str, *, added_lines: int = 0) -> str:
    found = _POSITION.search(message)
    text = _JAVA_CLASS.sub("", message.splitlines()[0])
    text = _JAVA_VALUE.sub(r"\1", text)
    where = ""
    if found:
        text = text.replace(found[0], "").strip()
        line = max(1, int(found[1]) - added_lines)
        where = f" (line {line}, column {found[2]})"
    if len(text) > 160 and ": expected " in text:
        text = text.split(": expected ")[0]
    return f"{text.rstrip('. ')}{where}."

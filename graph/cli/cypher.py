"""`knowtrail cypher`: run a statement and show its rows."""

from __future__ import annotations

import json
import sys
from itertools import compress, islice
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit, emit_rows
from knowtrail.graph.cli.options import check_form, told_options
from knowtrail.graph.errors import InputError, near_name
from knowtrail.graph.files.lines import no_constant
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.settings import own_command

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.db.statements import Statement
    from knowtrail.graph.db.user_statements import RunningStatement
    from knowtrail.graph.settings import Settings

_SAVED = "inspect/"
_WHOLE = frozenset({"limit", "links"})
_NUMBERS = _WHOLE | {"confidence"}
"""Parameters of saved queries that are numbers; all others are text."""


def _saved_names(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[str]:
    return [name for name in _saved_queries() if name.startswith(incomplete)]


@click.command()
@click.argument("text", metavar="[STATEMENT]", required=False)
@told_options("knowtrail.graph", "cypher", saved={"shell_complete": _saved_names})
@click.pass_obj
def cypher(
    settings: Settings,
    *,
    text: str | None,
    assignments: tuple[str, ...],
    saved: str | None,
    listing: bool,
    as_csv: bool,
    as_json: bool,
    rows: int,
    wide: bool,
    write: bool,
) -> None:
    """Run one Cypher statement; it cannot change anything without --write.

    STATEMENT `-` reads it from standard input. The rows go to standard output: a
    table for people, or all rows as CSV or JSON.

    \b
    knowtrail cypher "MATCH (d:Document) RETURN d.title AS title"
    knowtrail cypher --saved mentions -p title=Volcano
    """  # noqa: D301 - click reads the backspace
    check_form(as_json=as_json, as_csv=as_csv)
    if listing:
        _list_saved(settings.home, as_json=as_json)
        return
    text, params = _statement(text, saved, assignments)
    from knowtrail.graph.db.user_statements import run_statement
    from knowtrail.graph.session import open_connection
    from knowtrail.graph.settings import as_typed

    with (
        open_connection(settings) as connection,
        run_statement(connection, text, params, write=write) as running,
    ):

        def show() -> None:
            empty = not _show(running, rows, wide=wide, saved=saved is not None)
            if empty and running.columns and not running.plan:
                why = "" if saved is None else _why_empty(connection, saved, params)
                click.echo(f"No rows.{as_typed(why, settings.home)}", err=True)

        emit_rows(running.columns, running, show, as_json=as_json, as_csv=as_csv)
        running.finish()
        if saved is None:
            for line in dict.fromkeys(running.warnings):
                click.echo(f"Warning: {line}", err=True)
        if running.changes:
            click.echo(f"Changed: {running.changes}.", err=True)


def _statement(
    text: str | None, saved: str | None, assignments: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    if (text is None) == (saved is None):
        msg = "Give one statement, or --saved NAME (--list names them)."
        raise click.UsageError(msg)
    params = _parameters(assignments, as_text=saved is not None)
    if saved is not None:
        query = _saved_query(saved)
        if unknown := sorted(set(params) - set(query.params)):
            known = ", ".join(query.params) or "none"
            raise InputError(
                f"Saved query {saved!r} has no {unknown[0]!r}; its parameters: {known}."
            )
        for key in _NUMBERS & params.keys():
            _check_number(key, params[key])
        return query.text, dict.fromkeys(query.params) | params
    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError as error:
            msg = f"Standard input is not UTF-8: {error.reason} at byte {error.start}."
            raise InputError(msg) from error
    return text or "", params


def _check_number(key: str, value: Any) -> None:
    """Refuse what is no number, before a server names objects of Java."""
    from knowtrail.graph.cli.rows import shown_value

    kinds = (int,) if key in _WHOLE else (int, float)
    if value is not None and (type(value) not in kinds or value < 0):
        what = "a whole number" if key in _WHOLE else "a number"
        rows = " of rows" if key == "limit" else ""
        raise InputError(f"{key} is {shown_value(value)}: give {what}{rows}.")


def _parameters(assignments: tuple[str, ...], *, as_text: bool) -> dict[str, Any]:
    """Read `key=value` pairs, those of a saved query as text but for numbers."""
    params: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        key = key.strip().removeprefix("$")
        if not equals or not key:
            raise InputError(f"Parameter {assignment!r}: write key=value.")
        if key in params:
            raise InputError(f"Parameter {key!r} is given twice.")
        text = as_text and key not in _NUMBERS and value[:1] != '"' and value != "null"
        params[key] = _checked(key, value) if text else _value(key, value)
    return params


def _checked(key: str, text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = f"Parameter {key!r} is not valid text at character {error.start + 1}."
        raise InputError(msg) from error
    return text


def _value(key: str, text: str) -> Any:
    _checked(key, text)
    try:
        value = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        return text
    if _has_wide_integer(value):
        msg = f"Parameter {key!r}: Neo4j's integers have 64 bits, {text[:40]} has more."
        raise InputError(msg)
    return value


def _has_wide_integer(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_wide_integer, value.values()))
    if isinstance(value, list):
        return any(map(_has_wide_integer, value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _saved_queries() -> dict[str, Statement]:
    from knowtrail.graph.db.statements import statement_names, statement_record

    return {
        name.removeprefix(_SAVED): statement_record(name)
        for name in statement_names()
        if name.startswith(_SAVED)
    }


def _saved_query(name: str) -> Statement:
    queries = _saved_queries()
    if name in queries:
        return queries[name]
    hint = near_name(name, queries, none="--list names them.")
    raise InputError(f"No saved query {name!r}: {hint}")


def _why_empty(connection: Connection, name: str, params: dict[str, Any]) -> str:
    """Say why a saved query has no rows: what it asks for, or what it reads, lacks."""
    text = _saved_query(name).text
    given = {k: v for k, v in params.items() if k != "limit" and v is not None}
    corpora = [row["name"] for row in connection.read("retrieval/corpora")]
    if given.get("traversal") and "title" not in given:
        walks = connection.read("retrieval/view_traversal", id=given["traversal"])
        if walks and given.get("corpus") in {None, walks[0]["corpus"]}:
            return _why_nothing_of_walk(connection, text, given["traversal"])
    if given and (given.keys() != {"corpus"} or given["corpus"] not in corpora):
        from knowtrail.graph.cli.rows import plain_text

        wanted = plain_text(", ".join(f"{k}={v}" for k, v in given.items()))
        said = f" Nothing that is stored matches {wanted}."
        exact = "title" in given and "toLower($title)" not in text
        return f"{said} Titles are matched exactly as written." if exact else said
    fillers = packaged(__package__, "cypher.toml")["filled_by"]
    filler = next(filler for mark, filler in fillers.items() if mark in text)
    return f" What it reads comes from: knowtrail {filler}"


def _why_nothing_of_walk(connection: Connection, text: str, walk: str) -> str:
    if ":CONSIDERED" not in text:
        return f" The walk {walk} has no steps."
    candidates = "inspect/traversal_candidates"
    if connection.read(candidates, corpus=None, traversal=walk, limit=1):
        return ""
    return f" The walk {walk} has no trace; one is kept by: knowtrail traverse --trace"


def _list_saved(home: Path, *, as_json: bool) -> None:
    queries = _saved_queries()
    rows = [
        {"name": name, "title": query.title, "params": query.params}
        for name, query in queries.items()
    ]
    own = own_command(home)
    lines = []
    for name, query in queries.items():
        options = " ".join(f"[-p {param}=...]" for param in query.params)
        lines.append(f"{name}: {query.title}")
        lines.append(f"  {own} cypher --saved {name} {options}".rstrip())
    emit(rows, "\n".join(lines), as_json=as_json)


def _show(running: RunningStatement, limit: int, *, wide: bool, saved: bool) -> bool:
    """Draw the first rows as a table, and the plan of an explained statement."""
    # A saved query may have columns for some parameters alone: empty ones are left out.
    from knowtrail.graph.cli.tables import draw_rows

    rows = iter(running)
    shown = list(islice(rows, limit))
    more = next(rows, None) is not None
    if running.columns and shown:
        full = [
            not saved or any(v is not None for v in c) for c in zip(*shown, strict=True)
        ]
        columns = list(compress(running.columns, full))
        cells = [list(compress(row, full)) for row in shown]
        draw_rows(columns, cells, wide=wide, once=saved, more="--wide")
    if running.plan:
        click.echo(running.plan)
    if more:
        click.echo(
            f"The first {limit} rows: --rows shows more, --csv and --json all.",
            err=True,
        )
    return bool(shown)

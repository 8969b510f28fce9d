"""`knowtrail cypher`: run a statement and show its rows."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from graph.errors import InputError

if TYPE_CHECKING:
    from graph.settings import Settings
    from graph.statements import Statement
    from graph.user_statements import RunningStatement

__all__ = ["cypher"]

TABLE_ROWS = 100
_SAVED = "inspect/"


@click.command()
@click.argument("text", metavar="[STATEMENT]", required=False)
@click.option(
    "-p",
    "--param",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter; VALUE is JSON where it is valid JSON, otherwise text.",
)
@click.option("--saved", metavar="NAME", help="Run a saved query.")
@click.option("--list", "listing", is_flag=True, help="List the saved queries.")
@click.option("--csv", "as_csv", is_flag=True, help="Write every row as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Write every row as JSON.")
@click.option(
    "--rows",
    type=click.IntRange(1, 10_000),
    default=TABLE_ROWS,
    show_default=True,
    help="Rows that the table shows.",
)
@click.option("--write", is_flag=True, help="Let the statement change the database.")
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
    write: bool,
) -> None:
    """Run one Cypher statement; it cannot change anything without --write.

    STATEMENT `-` reads it from standard input. The rows go to standard output: a
    table for people, or all rows as CSV or JSON.

    \b
    knowtrail cypher "MATCH (d:Document) RETURN d.title AS title"
    knowtrail cypher --saved mentions -p title=Volcano
    """  # noqa: D301 - click reads the backspace
    if as_csv and as_json:
        msg = "Choose one of --csv and --json."
        raise click.UsageError(msg)
    if listing:
        _list_saved(as_json=as_json)
        return
    text, params = _statement(text, saved, assignments)

    from graph.cli_session import open_connection
    from graph.rows import write_csv, write_json
    from graph.user_statements import run_statement

    with (
        open_connection(settings) as connection,
        run_statement(connection, text, params, write=write) as running,
    ):
        if as_json:
            write_json(running.columns, running, sys.stdout)
        elif as_csv:
            write_csv(running.columns, running, sys.stdout)
        else:
            _show(running, rows)
        if write:
            running.finish()
        if running.changes:
            click.echo(f"Changed: {running.changes}.", err=True)


def _statement(
    text: str | None, saved: str | None, assignments: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    """Return the statement that was asked for, with its parameters."""
    if (text is None) == (saved is None):
        msg = "Give one statement, or --saved NAME (--list names them)."
        raise click.UsageError(msg)
    params = _parameters(assignments)
    if saved is not None:
        query = _saved_query(saved)
        if unknown := sorted(set(params) - set(query.params)):
            known = ", ".join(query.params) or "none"
            msg = (
                f"Saved query {saved!r} has no {unknown[0]!r}; its parameters: {known}."
            )
            raise InputError(msg)
        return query.text, dict.fromkeys(query.params) | params
    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError as error:
            msg = f"Standard input is not UTF-8: {error.reason} at byte {error.start}."
            raise InputError(msg) from error
    return text or "", params


def _parameters(assignments: tuple[str, ...]) -> dict[str, Any]:
    """Read `key=value` pairs."""
    params: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        key = key.strip().removeprefix("$")
        if not equals or not key:
            msg = f"Parameter {assignment!r}: write key=value."
            raise InputError(msg)
        if key in params:
            msg = f"Parameter {key!r} is given twice."
            raise InputError(msg)
        params[key] = _value(key, value)
    return params


def _value(key: str, text: str) -> Any:
    """Read a parameter's value: JSON where it is valid JSON, otherwise text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = f"Parameter {key!r} is not valid text at character {error.start + 1}."
        raise InputError(msg) from error
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    if _has_wide_integer(value):
        msg = f"Parameter {key!r}: Neo4j's integers have 64 bits, {text[:40]} has more."
        raise InputError(msg)
    return value


def _no_constant(name: str) -> float:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError(name)


def _has_wide_integer(value: Any) -> bool:
    """Return whether a value holds an integer that Neo4j cannot store."""
    if isinstance(value, dict):
        return any(map(_has_wide_integer, value.values()))
    if isinstance(value, list):
        return any(map(_has_wide_integer, value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _saved_queries() -> dict[str, Statement]:
    """Return the saved queries by name."""
    from graph.statements import statement_names, statement_record

    return {
        name.removeprefix(_SAVED): statement_record(name)
        for name in statement_names()
        if name.startswith(_SAVED)
    }


def _saved_query(name: str) -> Statement:
    """Find a saved query; suggest a near name where there is none."""
    queries = _saved_queries()
    if name in queries:
        return queries[name]
    near = get_close_matches(name, queries, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "--list names them."
    msg = f"No saved query {name!r}: {hint}"
    raise InputError(msg)


def _list_saved(*, as_json: bool) -> None:
    """Write names, titles and parameters of the saved queries."""
    queries = _saved_queries()
    if as_json:
        rows = [
            {"name": name, "title": query.title, "params": list(query.params)}
            for name, query in queries.items()
        ]
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    for name, query in queries.items():
        options = " ".join(f"[-p {param}=...]" for param in query.params)
        click.echo(f"{name}: {query.title}")
        click.echo(f"  knowtrail cypher --saved {name} {options}".rstrip())


def _show(running: RunningStatement, limit: int) -> None:
    """Draw the first rows as a table, and the plan of an explained statement."""
    rows = iter(running)
    shown = list(islice(rows, limit))
    more = next(rows, None) is not None
    if running.columns and shown:
        _draw_table(running.columns, shown)
    elif running.columns and not running.plan:
        click.echo("No rows.", err=True)
    if running.plan:
        click.echo(running.plan)
    if more:
        click.echo(
            f"The first {limit} rows: --rows shows more, --csv and --json all.",
            err=True,
        )


def _draw_table(columns: tuple[str, ...], rows: list[list[Any]]) -> None:
    """Draw rows on standard output, as wide as the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from graph.rows import cell_text

    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, highlight=False, width=100_000)
    numeric = [
        all(isinstance(row[i], int | float) for row in rows)
        for i in range(len(columns))
    ]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, right in zip(columns, numeric, strict=True):
        table.add_column(
            Text(cell_text(name)), justify="right" if right else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell_text(value)) for value in row))
    console.print(table)

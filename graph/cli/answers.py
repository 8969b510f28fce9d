"""Answers of commands, for machines or for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.options import option
from knowtrail.graph.cli.rows import counted, plain_text
from knowtrail.graph.files.templates import templates

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment

json_option = option("json")


@cache
def _texts(folder: Path) -> Environment:
    """Return the templates of texts for a terminal, which nothing in them steers."""
    made = templates(folder, escape=partial(plain_text, lines=True))
    made.filters["n"] = "{:,}".format
    made.globals["counted"] = counted
    return made


def told_by(folder: Path, template: str, /, **given: Any) -> str:
    """Return the text of a template below a folder, with what is given put in."""
    return _texts(folder).get_template(template).render(given).rstrip("\n")


def emit(
    answer: Any,
    told: str | Callable[[], object],
    *,
    as_json: bool,
    indent: int | None = None,
) -> None:
    """Write an answer: as JSON for machines, or what people are told or are shown.

    Data classes, also inside, are written as their fields; what JSON lacks as text.
    """
    if as_json:
        text = json.dumps(answer, ensure_ascii=False, indent=indent, default=_plain)
        # Half surrogate pairs, which UTF-8 lacks, stay the escapes that JSON has.
        click.echo(text.encode("utf-8", "backslashreplace").decode())
    elif isinstance(told, str):
        click.echo(told)
    else:
        told()


def _plain(value: Any) -> Any:
    """Return what JSON has of a value that it lacks."""
    return asdict(value) if is_dataclass(value) else str(value)  # type: ignore[arg-type]


def emit_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    told: Callable[[], object],
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Write rows as they come: as JSON or CSV, or as people are shown."""
    from knowtrail.graph.cli.rows import write_csv, write_json

    if as_json or as_csv:
        (write_json if as_json else write_csv)(columns, rows, sys.stdout)
    else:
        told()

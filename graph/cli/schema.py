"""`knowtrail schema`: constraints, indexes, users who read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import options, told_options
from knowtrail.graph.session import open_connection

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings


@click.group(cls=NearGroup)
def schema() -> None:
    """Show, apply or drop constraints and indexes; make readers."""


@schema.command()
@json_option
@click.pass_obj
def show(settings: Settings, *, as_json: bool) -> None:
    """Show the constraints and indexes, and those of ours that are missing."""
    from knowtrail.graph.db.schema import SCHEMA_VERSION, schema_version, show_schema
    from knowtrail.graph.settings import own_command

    with open_connection(settings) as connection:
        version = schema_version(connection)
        items = show_schema(connection)
    lines = [f"Schema version {version}; this Knowtrail has {SCHEMA_VERSION}."]
    width = max((len(item.name) for item in items), default=0)
    for item in items:
        owner = "" if item.ours else "  (not Knowtrail's)"
        what = f"{item.kind} {item.on}".strip()
        line = f"{item.name:<{width}}  {item.state:<10}  {what}{owner}"
        lines.append(line.rstrip())
    record = {"version": version, "knows": SCHEMA_VERSION, "items": items}
    emit(record, "\n".join(lines), as_json=as_json)
    if not as_json and version < SCHEMA_VERSION:
        apply = f"{own_command(settings.home)} schema apply"
        click.echo(f"To bring it up to date: {apply}", err=True)


@schema.command()
@told_options("knowtrail.graph", "apply", also={"default": ()})
@click.pass_obj
def apply(
    settings: Settings,
    *,
    dimensions: int | None,
    also: tuple[str, ...],
    index_m: int | None,
    index_ef: int | None,
    filters: tuple[str, ...],
    as_json: bool,
) -> None:
    """Bring constraints and indexes to this version; running twice changes nothing.

    The vector index of chunks is made by the first ingest, which knows the length of
    the embedder's vectors, or here by --dimensions. With other --index-m or --index-ef
    than it was made with, it is made anew: larger ones find more, and take longer.
    Questions with a filter are answered faster by far where its property is declared,
    --filter-property: the vector index is filtered by it, and is made anew for that.
    """
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.db.schema import (
        SCHEMA_VERSION,
        apply_schema,
        filter_property,
    )

    with open_connection(settings) as connection, progress_bars() as progress:
        hnsw = {"m": index_m, "ef_construction": index_ef}
        found = apply_schema(
            connection,
            dimensions=dimensions,
            also=also,
            hnsw={name: value for name, value in hnsw.items() if value is not None},
            filters=filters,
            progress=progress,
        )
    record = {"before": found, "version": SCHEMA_VERSION, "dimensions": dimensions}
    told = f"Brought the schema from version {found} to {SCHEMA_VERSION}."
    if found == SCHEMA_VERSION:
        told = f"The schema has version {SCHEMA_VERSION} already."
    names = [*map(filter_property, filters)]
    told += f" Filters have an index of {', '.join(names)}." if names else ""
    emit(record | {"filters": names}, told, as_json=as_json)


@schema.command()
@options("yes", "json")
@click.pass_obj
def drop(settings: Settings, *, yes: bool, as_json: bool) -> None:
    """Drop Knowtrail's constraints and indexes; the data and those of others stay."""
    from knowtrail.graph.db.schema import drop_schema, show_schema

    with open_connection(settings) as connection:
        items = show_schema(connection)
        names = [i.name for i in items if i.ours and i.state != "MISSING"]
        if names and not yes:
            click.confirm(
                f"Drop {len(names)} constraints and indexes? Search needs them.",
                abort=True,
                err=True,
            )
        drop_schema(connection)
    told = f"Dropped {', '.join(names)}." if names else "Nothing of ours was there."
    emit({"dropped": names}, told, as_json=as_json)


@schema.command()
@click.option("--read", "name", required=True, help="Name of a user who only reads.")
@json_option
@click.pass_obj
def user(settings: Settings, *, name: str, as_json: bool) -> None:
    """Make a user who may read this database and nothing else.

    For Enterprise and Aura: Community has no roles. The password is shown once.
    """
    from knowtrail.graph.db.schema import create_reader

    with open_connection(settings) as connection:
        password = create_reader(connection, name)
    told = f"{name} may read {settings.database}, with the password {password}"
    emit({"username": name, "password": password}, told, as_json=as_json)

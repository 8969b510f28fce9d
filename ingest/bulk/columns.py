"""Column files of nodes and relationships, as `neo4j-admin database import` reads them.

A Parquet file holds the nodes of a label, or the relationships of a type; the names of
its columns carry their types. Documents may have any properties: one whose properties
do not fit the columns of a file, by name or by type, goes into another of its label.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from knowtrail.graph.db.labels import LABELS
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import private_folder
from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.vector_file import storage_errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.parquet as pq

ENDS: dict[str, list[str]] = packaged(__package__, "spool.toml")["ends"]
INPUT = "--input-type=parquet"
"""The import tool's argument that tells what kind of files they are."""
_NODES = 4096
_RELATIONSHIPS = 1 << 17
"""Rows that are held before they are written."""
_CHARACTERS = 32_000_000
"""Characters of text that are held, at most, with those of one row more."""
_EMPTY = "[]"
"""The type of an empty list: it fits any list."""


class ColumnFiles:
    """A folder of column files that are being written, and how much was added.

    Use it as a context manager; the files are whole when it is left without an error.
    Empty strings of documents, which the import tool leaves out, are in `blanks`, as
    rows of `id` and `properties`.
    """

    def __init__(self, folder: Path) -> None:
        if any(sign in str(folder) for sign in ",="):
            msg = f"Folder {folder}: Neo4j's import tool reads no path with , or =."
            raise InputError(msg)
        self._folder = folder
        self._tables: dict[str, list[_Table]] = {}
        self.nodes = self.relationships = 0
        self.blanks: list[dict[str, Any]] = []
        with storage_errors(folder):
            private_folder(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Write what is held and close the files."""
        with storage_errors(self._folder):
            for tables in self._tables.values():
                for table in tables:
                    table.close()

    def add_nodes(self, label: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add nodes; a float32 array is a vector, None no property."""
        tables = self._tables.setdefault(label, [])
        key = LABELS[label].key
        for row in rows:
            kinds = {n: _kind(v) for n, v in row.items() if v is not None}
            table = next((t for t in tables if t.fits(kinds)), None)
            if table is None:
                path = self._folder / f"{label}-{len(tables)}.parquet"
                table = _Table(path, {key: f"{key}:ID({label})"}, _NODES)
                tables.append(table)
            blank = {n: v for n, v in row.items() if isinstance(v, str) and not v}
            if blank and label == "Document":
                self.blanks.append({"id": row[key], "properties": blank})
            with storage_errors(self._folder):
                table.add(kinds, {n: [row[n]] for n in kinds}, 1)
        self.nodes += len(rows)

    def add_relationships(
        self,
        kind: str,
        starts: Sequence[str],
        ends: Sequence[str],
        **properties: Sequence[Any],
    ) -> None:
        """Add relationships: the keys of their ends, and their properties."""
        if not starts:
            return
        if kind not in self._tables:
            start, end = ENDS[kind]
            names = {"start": f":START_ID({start})", "end": f":END_ID({end})"}
            path = self._folder / f"{kind}.parquet"
            self._tables[kind] = [_Table(path, names, _RELATIONSHIPS)]
        columns = {"start": starts, "end": ends, **properties}
        kinds = {name: _kind(values[0]) for name, values in columns.items()}
        with storage_errors(self._folder):
            self._tables[kind][0].add(kinds, columns, len(starts))
        self.relationships += len(starts)

    def arguments(self) -> list[str]:
        """Return the arguments that name the files to the import tool."""
        out = []
        for name, tables in sorted(self._tables.items()):
            option = "relationships" if name in ENDS else "nodes"
            out += [f"--{option}={name}={table.path}" for table in tables]
        return out


class _Table:
    """One file: columns that are held, and a writer once the first were written."""

    def __init__(self, path: Path, headers: dict[str, str], most: int) -> None:
        self.path = path
        self._headers = headers
        self._most = most
        self._kinds: dict[str, str] = {}
        self._held: dict[str, list[Any]] = {}
        self._rows = self._characters = 0
        self._writer: pq.ParquetWriter | None = None

    def fits(self, kinds: Mapping[str, str]) -> bool:
        """Return whether a row with properties of these types can be added."""
        return all(
            self._writer is None if name not in self._kinds
            else _common(self._kinds[name], kind) is not None
            for name, kind in kinds.items()
        )  # fmt: skip

    def add(
        self, kinds: Mapping[str, str], columns: Mapping[str, Sequence[Any]], rows: int
    ) -> None:
        """Add rows of these columns; the other columns have nothing there."""
        for name, kind in kinds.items():
            self._kinds[name] = _common(self._kinds.get(name, kind), kind) or kind
            held = self._held.setdefault(name, [])
            held += [None] * (self._rows - len(held))
            held += columns[name]
            if rows == 1 and kind == "string":
                self._characters += len(columns[name][0])
        self._rows += rows
        if self._rows >= self._most or self._characters >= _CHARACTERS:
            self._flush()

    def close(self) -> None:
        """Write what is held and close the file."""
        self._flush()
        if self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._rows:
            return
        if self._writer is None:
            self._kinds = {
                n: "string[]" if kind == _EMPTY else kind
                for n, kind in self._kinds.items()
            }
        arrays = {}
        for name, kind in self._kinds.items():
            held = self._held.get(name, [])
            held += [None] * (self._rows - len(held))
            header = self._headers.get(name, f"{name}:{kind}")
            arrays[header] = _array(held, kind)
        table = pa.table(arrays)
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self.path, table.schema, compression="snappy", use_dictionary=False
            )
        self._writer.write_table(table)
        self._held.clear()
        self._rows = self._characters = 0


def _kind(value: Any) -> str:
    """Return the import tool's name of a value's type."""
    if isinstance(value, np.ndarray):
        return "float[]"
    if isinstance(value, list | tuple):
        if not value:
            return _EMPTY
        kinds = {_kind(one) for one in value}
        return f"{'double' if kinds == {'double', 'long'} else kinds.pop()}[]"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "long"
    if isinstance(value, float):
        return "double"
    return "string" if isinstance(value, str) else "datetime"


def _common(one: str, other: str) -> str | None:
    """Return the type of a column for values of two types, None if there is none."""
    if one == other or (other == _EMPTY and one.endswith("[]")):
        return one
    return other if one == _EMPTY and other.endswith("[]") else None


def _array(values: list[Any], kind: str) -> pa.Array:
    import pyarrow as pa

    plain = {
        "string": pa.string(),
        "boolean": pa.bool_(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "datetime": pa.string(),
    }
    if kind == "datetime":
        values = [None if v is None else _iso(v) for v in values]
    item = plain[kind.removesuffix("[]")]
    return pa.array(values, pa.list_(item) if kind.endswith("[]") else item)


def _iso(value: Any) -> str:
    """Return a point in time, Python's or the driver's, as ISO 8601 has it."""
    return value.isoformat() if isinstance(value, datetime) else value.iso_format()

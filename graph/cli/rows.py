"""Rows of an answer as plain JSON, as CSV, and as cells that people read."""

from __future__ import annotations

import base64
import csv
import json
import math
import re
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any, TextIO

_TURNING = "\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff"
_UNFIT = re.compile(rf"[\x00-\x09\x0b-\x1f\x7f-\x9f{_TURNING}]+")
_UNFIT_OR_NEWLINE = re.compile(rf"[\x00-\x1f\x7f-\x9f{_TURNING}]+")
_PARTS_OF_SECONDS = re.compile(r"\.\d+")
CELL_LENGTH = 400
_NAME_LENGTH = 48
_NAMING = ("index", "title", "name", "label", "algorithm", "text", "id")
"""Properties that name a node of a path, the first that it has."""
NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""Numbers that JSON lacks, as Python writes them -> as Cypher does."""
SHORT_LIST = 8
"""Lists of numbers that are longer are shown by their beginning."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 step` or `2 steps`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shown_value(value: object, most: int = 80) -> str:
    """Return a value for a message: a text in quotes, others as Cypher and JSON do."""
    if isinstance(value, str):
        return repr(value[:most])
    return json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)[:most]


def iso_text(value: Any) -> str:
    """Return a date, moment or duration of the driver in ISO 8601.

    Zones may be of `zoneinfo`, and offsets have seconds, as before standard time.
    """
    if getattr(value, "tzinfo", None) is None:
        return str(value.iso_format())
    native = value.to_native()
    offset = native.isoformat()[len(native.replace(tzinfo=None).isoformat()) :]
    return f"{value.replace(tzinfo=None).iso_format()}{offset}"


def plain_value(value: Any) -> Any:
    """Return a value of the driver's as something that JSON has.

    Nodes become `{"labels", "properties"}`, relationships `{"type", "properties"}` with
    the ids of their ends, paths `{"nodes", "relationships"}`, points their coordinates,
    dates, times and durations ISO 8601 text, bytes Base64 text. Numbers that JSON lacks
    become the texts `NaN`, `Infinity` and `-Infinity`.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else NOT_FINITE[str(value)]
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    return _plain_driver_value(value)


def _plain_driver_value(value: Any) -> Any:
    from neo4j.graph import Node, Path, Relationship
    from neo4j.spatial import Point

    if isinstance(value, Node):
        return {
            "id": value.element_id,
            "labels": sorted(value.labels),
            "properties": plain_value(dict(value)),
        }
    if isinstance(value, Relationship):
        ends = [None if n is None else n.element_id for n in value.nodes]
        return {
            "type": value.type,
            "start": ends[0],
            "end": ends[1],
            "properties": plain_value(dict(value)),
        }
    if isinstance(value, Path):
        return {
            "nodes": [plain_value(node) for node in value.nodes],
            "relationships": [plain_value(edge) for edge in value.relationships],
        }
    if isinstance(value, Point):
        axes = dict(zip("xyz", map(plain_value, value), strict=False))
        return {"srid": value.srid, **axes}
    if hasattr(value, "iso_format"):
        return iso_text(value)
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if hasattr(value, "to_native"):
        return plain_value(value.to_native())
    return str(value)


def plain_text(text: str, *, lines: bool = False) -> str:
    """Return a text that steers no terminal and no page.

    Controls, line feeds but with `lines`, lone surrogates, and marks that would turn
    the order of the text around them become one space.
    """
    return (_UNFIT if lines else _UNFIT_OR_NEWLINE).sub(" ", text)


def cell_text(value: Any) -> str:
    """Return a value as one line of a table's cell, short, that steers no terminal."""
    text = value if isinstance(value, str) else _cypher_like(value)
    text = plain_text(text)
    return text if len(text) <= CELL_LENGTH else text[: CELL_LENGTH - 1] + "…"


def _cypher_like(value: Any) -> str:
    from neo4j.graph import Node, Path, Relationship
    from neo4j.time import DateTime

    if isinstance(value, Node):
        labels = "".join(f":{label}" for label in sorted(value.labels))
        return f"({labels} {_cypher_like(dict(value))})"
    if isinstance(value, Relationship):
        return f"[:{value.type} {_cypher_like(dict(value))}]"
    if isinstance(value, Path):
        return _path_text(value)
    if isinstance(value, dict):
        items = (f"{key}: {_cypher_like(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        if len(value) > SHORT_LIST and all(isinstance(x, int | float) for x in value):
            head = ", ".join(f"{x:.4g}" for x in value[:3])
            return f"[{head}, … {len(value)} numbers]"
        return f"[{', '.join(map(_cypher_like, value))}]"
    plain = plain_value(value)
    if isinstance(value, str) or not isinstance(plain, str):
        return json.dumps(plain, ensure_ascii=False)
    if isinstance(value, DateTime):
        return _PARTS_OF_SECONDS.sub("", plain.replace("T", " ")).replace("+00:00", "Z")
    return plain


def _path_text(path: Any) -> str:
    """Write a path with what names its nodes, arrows in their stored direction."""
    parts = [_named(path.nodes[0])]
    for edge, node in zip(path.relationships, path.nodes[1:], strict=True):
        forward = edge.end_node == node
        parts.append(f"-[:{edge.type}]->" if forward else f"<-[:{edge.type}]-")
        parts.append(_named(node))
    return "".join(parts)


def _named(node: Any) -> str:
    """Write a node with its labels and the property that tells most, shortened."""
    labels = "".join(f":{label}" for label in sorted(node.labels))
    name = next((n for n in _NAMING if node.get(n) is not None), None)
    if name is None:
        return f"({labels})"
    text = _cypher_like(node[name])
    short = text if len(text) <= _NAME_LENGTH else text[: _NAME_LENGTH - 2] + '…"'
    return f"({labels} {{{name}: {short}}})"


def write_json(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], file: TextIO
) -> None:
    """Write rows as one JSON array of objects, one a line, as they come."""
    file.write("[")
    separator = "\n"
    for row in rows:
        record = dict(zip(columns, map(plain_value, row), strict=True))
        file.write(separator + json.dumps(record, ensure_ascii=False, allow_nan=False))
        separator = ",\n"
    file.write("]\n" if separator == "\n" else "\n]\n")


def write_csv(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], file: TextIO
) -> None:
    """Write a header and rows as CSV, as they come: other values than texts as JSON."""
    # A carriage return within a field is quoted where it is part of the line's end.
    ends = SimpleNamespace(
        write=lambda row: file.write(row.removesuffix("\r\n") + "\n")
    )
    writer = csv.writer(ends, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_field(value) for value in row])


def _csv_field(value: Any) -> str:
    plain = plain_value(value)
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

"""Rows of an answer as plain JSON, as CSV, and as cells that people read."""

from __future__ import annotations

import base64
import csv
import json
import math
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["cell_text", "counted", "plain_value", "write_csv", "write_json"]

CELL_LENGTH = 400
SHORT_LIST = 8
"""Lists of numbers that are longer are shown by their beginning."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 step` or `2 steps`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def plain_value(value: Any) -> Any:
    """Return a value of an answer as something that JSON has.

    Nodes become `{"labels", "properties"}`, relationships `{"type", "properties"}` with
    the ids of their ends, paths `{"nodes", "relationships"}`, points their coordinates,
    dates, times and durations ISO 8601 text, bytes Base64 text. Numbers that JSON lacks
    become the texts `NaN`, `Infinity` and `-Infinity`.

    Args:
        value: What the driver gave.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    return _plain_driver_value(value)


def _not_finite(value: float) -> str:
    """Return the name of a number that JSON lacks."""
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _plain_driver_value(value: Any) -> Any:
    """Return a graph, spatial, temporal or vector value, or a list, as JSON."""
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
        return value.iso_format()
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if hasattr(value, "to_native"):
        return plain_value(value.to_native())
    return str(value)


def cell_text(value: Any) -> str:
    """Return a value as one line of a table's cell, shortened.

    Args:
        value: What the driver gave.

    Returns:
        Text without control characters, so that stored text cannot steer a terminal.
    """
    text = value if isinstance(value, str) else _cypher_like(value)
    text = "".join(c if c.isprintable() else _visible(c) for c in text)
    return text if len(text) <= CELL_LENGTH else text[: CELL_LENGTH - 1] + "…"


def _visible(character: str) -> str:
    """Return a space for white space, a replacement for any other control character."""
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def _cypher_like(value: Any) -> str:
    """Write a value in the manner of Cypher."""
    from neo4j.graph import Node, Path, Relationship

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
    return plain


def _path_text(path: Any) -> str:
    """Write a path with the arrows in their stored direction."""
    parts = [_cypher_like(path.nodes[0])]
    for edge, node in zip(path.relationships, path.nodes[1:], strict=True):
        forward = edge.end_node == node
        parts.append(
            f"-{_cypher_like(edge)}->" if forward else f"<-{_cypher_like(edge)}-"
        )
        parts.append(_cypher_like(node))
    return "".join(parts)


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
    """Write a header and rows as CSV, as they come.

    Text stands as it is, null is an empty field, anything else is its JSON.
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_field(value) for value in row])


def _csv_field(value: Any) -> str:
    """Return a value as a CSV field."""
    plain = plain_value(value)
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

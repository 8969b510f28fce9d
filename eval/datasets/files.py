"""Files of data sets: read whole, with their checksums, and refused where they break.

What a file says is checked as it is taken out, and every message names the file and
the place in it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from typing import TYPE_CHECKING, Any, NoReturn

from eval.retrieval.dataset import SourceFile
from graph.errors import SourceError
from ingest.parsing import clean_plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = [
    "JsonObject",
    "as_list",
    "as_object",
    "json_lines",
    "json_text",
    "read_json",
    "read_table",
    "read_text",
    "shown",
    "text_of",
]

_LONGEST_FIELD = 50_000_000


class JsonObject(dict[str, Any]):
    """An object of JSON that remembers its members in order, repeated names too."""

    __slots__ = ("members",)

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        super().__init__(members)
        self.members = members


def read_text(path: Path) -> tuple[str, SourceFile]:
    """Return the text of a file and what the file is.

    Raises:
        SourceError: If it is missing, empty, a folder or no UTF-8.
    """
    try:
        data = path.read_bytes()
    except IsADirectoryError as error:
        raise SourceError(f"{path} is a folder: name a file.") from error
    except OSError as error:
        msg = f"Cannot read {path}: {error.strerror}. Check the path."
        raise SourceError(msg) from error
    except ValueError as error:
        raise SourceError(f"{str(path)!r:.200} is no path: {error}.") from error
    if not data.strip():
        raise SourceError(f"{path} is empty: get the file again.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 at byte {error.start}: save it as UTF-8."
        raise SourceError(msg) from error
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return text, SourceFile(name=path.name, size=len(data), checksum=digest)


def read_json(path: Path) -> tuple[Any, SourceFile]:
    """Return the value of a JSON file and what the file is; objects are `JsonObject`s.

    Raises:
        SourceError: If it cannot be read, or is no JSON, such as one that breaks off.
    """
    text, file = read_text(path)
    try:
        return _value(text, str(path)), file
    except json.JSONDecodeError as error:
        _refuse_json(path, text, error)


def _value(text: str, place: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        JSONDecodeError: If it is no JSON.
        SourceError: If it is nested too deeply, or has a number of too many digits.
    """
    try:
        return json.loads(text, object_pairs_hook=JsonObject)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise SourceError(f"{place} is nested too deeply.") from error
    except ValueError as error:
        raise SourceError(f"{place} has a number of too many digits.") from error


def _refuse_json(path: Path, text: str, error: json.JSONDecodeError) -> NoReturn:
    """Say where a file is no JSON, and whether it breaks off there."""
    where = f"line {error.lineno}, character {error.colno}"
    if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated"):
        msg = f"{path} breaks off at {where}: get the whole file again."
    else:
        msg = f"{path} is not JSON at {where}: {error.msg}."
    raise SourceError(msg) from error


def json_lines(path: Path) -> tuple[list[tuple[str, JsonObject]], SourceFile]:
    """Return the objects of a JSON Lines file, each with its place, and the file.

    Blank lines are passed over.

    Raises:
        SourceError: If a line is no object; the message says which.
    """
    text, file = read_text(path)
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path.name}:{number}"
        try:
            value = _value(line, place)
        except json.JSONDecodeError as error:
            msg = (
                f"{place} is not JSON at character {error.pos}: {error.msg}. Write one "
                "object a line; a last line that breaks off means a truncated file."
            )
            raise SourceError(msg) from error
        rows.append((place, as_object(value, place)))
    return rows, file


def read_table(
    path: Path, *, delimiter: str = ","
) -> tuple[Iterator[dict[str, str]], SourceFile]:
    """Return the rows of a table with a header by column, and what the file is.

    Raises:
        SourceError: If it cannot be read; while reading, if a quoted cell never ends.
    """
    text, file = read_text(path)
    return _rows(path, text, delimiter), file


def _rows(path: Path, text: str, delimiter: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table."""
    csv.field_size_limit(_LONGEST_FIELD)
    stream = io.StringIO(text, newline="")
    reader = (
        csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE, restval="")
        if delimiter == "\t"
        else csv.DictReader(stream, delimiter=delimiter, strict=True, restval="")
    )
    try:
        for row in reader:
            yield {name: cell for name, cell in row.items() if name is not None}
    except csv.Error as error:
        msg = (
            f"{path} is no table at line {reader.line_num}: {error}. A quoted cell "
            "that never ends means a truncated file."
        )
        raise SourceError(msg) from error


def json_text(text: str, place: str) -> Any:
    """Return the value of a JSON text that stands inside a file.

    Args:
        text: The text.
        place: Where it stands, for the message.

    Raises:
        SourceError: If it is no JSON.
    """
    try:
        return _value(text, place)
    except json.JSONDecodeError as error:
        msg = f"{place} breaks off or is no JSON: {error.msg}."
        raise SourceError(msg) from error


def as_object(value: object, place: str) -> JsonObject:
    """Return a value as an object.

    Args:
        value: Any JSON value.
        place: Where it stands, for the message.

    Raises:
        SourceError: If it is something else.
    """
    if isinstance(value, JsonObject):
        return value
    raise SourceError(f"{place} is {shown(value)}: an object is wanted.")


def as_list(value: object, place: str) -> Sequence[Any]:
    """Return a value as a list.

    Raises:
        SourceError: If it is something else.
    """
    if isinstance(value, list):
        return value
    raise SourceError(f"{place} is {shown(value)}: a list is wanted.")


def text_of(
    row: JsonObject, *names: str, place: str, default: str | None = None
) -> str:
    """Return the text that an object has under the first of some names.

    Characters that no reader sees and no database takes are replaced; whole numbers
    are taken as their digits.

    Args:
        row: The object.
        *names: Names to look for, in this order.
        place: Where the object stands, for the message.
        default: What is returned where there is none of them.

    Raises:
        SourceError: If there is none and no default, or it is no text.
    """
    for name in names:
        value = row.get(name)
        if value is None:
            continue
        if isinstance(value, str):
            return clean_plain(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        msg = f"{place} has {shown(value)} as {name!r}: a text is wanted."
        raise SourceError(msg)
    if default is None:
        raise SourceError(f"{place} has no {' or '.join(map(repr, names))}.")
    return default


def shown(value: object) -> str:
    """Return a value as a message shows it: its kind, and not for long."""
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return repr(value)[:60]

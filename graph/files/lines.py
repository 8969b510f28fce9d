"""Text files of lines, JSON Lines, which have one JSON value a line, and JSON.

A line ends at a line feed and nowhere else, since JSON texts may hold every other
character that ends a line, such as U+2028, as it is. Blank lines are passed over, and
so is a byte-order mark. One line is in memory at a time.
"""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from knowtrail.graph.errors import SourceError
from knowtrail.graph.files.whole import disk_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    PairsHook: TypeAlias = Callable[[list[tuple[str, Any]]], Any]

_UNREAD = "{path} cannot be read: {reason}."


def text_encoding(name: str) -> str:
    """Return Python's name of an encoding of texts.

    Raises:
        LookupError: If it knows none of that name; `base64`, which it knows, is none.
    """
    try:
        b"a".decode(name, "ignore")
    except UnicodeError as error:  # `undefined` is one that decodes nothing
        raise LookupError(name) from error
    return codecs.lookup(name).name


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers from 1.

    Raises:
        SourceError: If the file cannot be read, or a line is not UTF-8.
    """
    number = 0
    try:
        with (
            disk_errors(SourceError, _UNREAD, path=path),
            Path(path).open("rb") as lines,
        ):
            for number, data in enumerate(lines, start=1):
                text = data.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as error:
        msg = f"{path}, line {number} is not UTF-8 text: {error.reason}."
        raise SourceError(msg) from error


def read_json_lines(path: str | Path) -> Iterator[tuple[int, Any]]:
    """Yield the values of a JSON Lines file with the numbers of their lines.

    Raises:
        SourceError: As `read_lines`, or if a line is no JSON; the message has its
            number.
    """
    for number, line in read_lines(path):
        yield number, json_value(line, f"{path}, line {number}")


def read_json(path: str | Path, *, pairs: PairsHook | None = None) -> Any:
    """Return the value of a JSON file.

    `pairs` makes an object of its members; None makes dictionaries.

    Raises:
        SourceError: If the file cannot be read or is no JSON.
    """
    try:
        with disk_errors(SourceError, _UNREAD, path=path):
            text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text: {error.reason} at byte {error.start}."
        raise SourceError(msg) from error
    return json_value(text, str(path), pairs=pairs)


def json_value(text: str, place: str, *, pairs: PairsHook | None = None) -> Any:
    """Return the value of a JSON text; the message has the place where it stands.

    Raises:
        SourceError: If it is no JSON, such as one that breaks off, or nested too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except RecursionError as error:
        raise SourceError(f"{place}: nested too deep to be read.") from error
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        told = " It breaks off there: get all of it again." if ends else ""
        raise SourceError(f"{place} is no JSON: {error}.{told}") from error
    except ValueError as error:
        raise SourceError(f"{place} is no JSON: {error}.") from error


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, which are not JSON: a `parse_constant`."""
    raise ValueError(f"{name} is no JSON number")

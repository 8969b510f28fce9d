"""One JSON record as a document: which keys there are and what they must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from knowtrail.ingest.records import LeftOut, Link, RawDocument, Section
from knowtrail.ingest.sources._values import (
    BadValueError,
    as_text,
    repaired,
    stored_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = (
    *("id", "title", "text", "sentences", "url", "language", "revision"),
    *("links", "sections", "categories", "metadata"),
)
"""Keys with a meaning; every other one is metadata."""

_Made = TypeVar("_Made")


def document_of(
    record: dict[str, Any], *, key: str, place: str, source: str, language: str
) -> RawDocument | LeftOut:
    """Return the document that a record describes, or that its text is blank.

    Where it has neither id nor title, `key` is its id and `place` its title.

    Raises:
        BadValueError: If a value is not what its key asks for.
    """
    identity = _identity(record.get("id"), "id")
    title = (as_text(record.get("title"), "title") or "").strip()
    text, sentences = _text(record)
    if not text.strip():
        return LeftOut(
            title=title or identity or place,
            reason="empty",
            source_id=identity or title or key,
        )
    return RawDocument(
        source_id=identity or title or key,
        title=title or identity or place,
        raw=text,
        sentences=sentences,
        links=_each(record, "links", lambda row: _link(row, len(text))),
        sections=_each(record, "sections", lambda row: _section(row, len(text))),
        categories=_each(record, "categories", _category),
        url=as_text(record.get("url"), "url"),
        source=source,
        revision=_identity(record.get("revision"), "revision"),
        language=as_text(record.get("language"), "language") or language,
        metadata=_metadata(record),
    )


def _identity(value: object, name: str) -> str | None:
    """Return an id given as a string or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = as_text(value, name)
    return text.strip() or None if text else None


def _text(record: dict[str, Any]) -> tuple[str, tuple[str, ...] | None]:
    """Return the text and the ready-made sentences it consists of."""
    text = as_text(record.get("text"), "text")
    if record.get("sentences") is None:
        if text is None:
            msg = "it has neither 'text' nor 'sentences': one of them is needed"
            raise BadValueError(msg)
        return text, None
    sentences = _each(record, "sentences", lambda row: _required(row, "sentences"))
    joined = " ".join(sentences)
    if text is not None and text != joined:
        msg = (
            "'text' is not the join of 'sentences' by one space: give one of the two, "
            "or sentences that make the text"
        )
        raise BadValueError(msg)
    return joined, sentences


def _each(
    record: dict[str, Any], name: str, make: Callable[[Any], _Made]
) -> tuple[_Made, ...]:
    """Make something of every member of a list; a missing list is empty."""
    rows = record.get(name)
    if rows is None:
        return ()
    if not isinstance(rows, list):
        msg = f"{name!r} is not a list"
        raise BadValueError(msg)
    return tuple(make(row) for row in rows)


def _required(value: object, name: str) -> str:
    text = as_text(value, name)
    if text is None:
        msg = f"{name!r} has a null in it: leave the member out"
        raise BadValueError(msg)
    return text


def _category(value: object) -> str:
    return _required(value, "categories")


def _link(row: Any, length: int) -> Link:
    """Return a link whose place lies in the text."""
    start, end = _offset(row, "links", "start"), _offset(row, "links", "end")
    target = _required(row.get("target"), "links")
    if not start < end <= length or not target.strip():
        msg = (
            f"a link from {start} to {end} to {target[:40]!r} does not fit a text of "
            f"{length} characters: offsets count characters, the end is exclusive"
        )
        raise BadValueError(msg)
    return Link(start=start, end=end, target=target)


def _section(row: Any, length: int) -> Section:
    """Return a heading whose place lies in the text."""
    start, level = _offset(row, "sections", "start"), row.get("level", 2)
    title = _required(row.get("title"), "sections")
    if start > length or isinstance(level, bool) or level not in range(1, 7):
        msg = (
            f"the section {title[:40]!r} at {start} with level {str(level)[:20]} does "
            f"not fit a text of {length} characters and levels 1 to 6"
        )
        raise BadValueError(msg)
    return Section(title=title, start=start, level=level)


def _offset(row: Any, name: str, field: str) -> int:
    """Return a place in the text out of an object."""
    value = row.get(field) if isinstance(row, dict) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        msg = f"a member of {name!r} has no whole number {field!r} of 0 or more"
        raise BadValueError(msg)
    return value


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    """Return unknown keys and, winning over them, those of `metadata`."""
    given = record.get("metadata")
    if not isinstance(given, dict | None):
        msg = "'metadata' is not an object"
        raise BadValueError(msg)
    loose = {repaired(k): v for k, v in record.items() if k not in KEYS}
    kept = stored_metadata(loose, "the record")
    return kept | stored_metadata(given or {}, "'metadata'")

"""Where texts come from: documents and chunks of a corpus, searches of the web."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from graph.errors import InputError
from ingest.extraction.storing import ExtractionSource
from ingest.extraction.web import results_text
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graph.connection import Connection
    from ingest.extraction.web import WebResult

__all__ = ["Unit", "search_source", "stored_sources", "with_text"]

Unit = Literal["document", "chunk"]


def stored_sources(
    connection: Connection,
    corpus: str,
    *,
    unit: Unit = "document",
    only: Sequence[str] = (),
) -> list[ExtractionSource]:
    """Return the documents or chunks of a corpus, without their texts.

    Args:
        connection: The database.
        corpus: Name of a stored corpus.
        unit: What is read at a time.
        only: Titles, aliases or ids of the documents wanted; none for all.

    Raises:
        InputError: If one of them is not in the corpus; suggests a near title.
    """
    wanted = list(only) or None
    rows = connection.read(f"extraction/{unit}s", corpus=corpus, only=wanted)
    known = {
        name for row in rows for name in (row["id"], row["title"], row["document"])
    }
    known |= {alias for row in rows for alias in row["aliases"] or ()}
    for name in only:
        if name not in known:
            raise InputError(_unknown(connection, corpus, name))
    return [
        ExtractionSource(
            id=row["id"],
            title=row["title"],
            content_hash=row["contentHash"],
            document=row["document"],
        )
        for row in rows
    ]


def _unknown(connection: Connection, corpus: str, name: str) -> str:
    """Say that there is no such document, and which is near."""
    rows = connection.read("extraction/documents", corpus=corpus, only=None)
    titles = [row["title"] for row in rows]
    near = difflib.get_close_matches(name, titles, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "give a title or an id."
    return f"No document {name!r} in corpus {corpus!r}: {hint}"


def search_source(
    query: str, results: Sequence[WebResult], *, corpus: str
) -> ExtractionSource:
    """Return what a search found as one source.

    Args:
        query: What was searched.
        results: What was found.
        corpus: Name of the corpus that it is stored with.
    """
    text = results_text(results)
    return ExtractionSource(
        id=content_key("search", corpus, query),
        title=query,
        content_hash=content_key("results", text),
        results=tuple(results),
        text=text,
    )


def with_text(connection: Connection, source: ExtractionSource) -> ExtractionSource:
    """Return a source with its text, read from the graph where it is not known."""
    if source.text is not None:
        return source
    (row,) = connection.read("extraction/texts", ids=[source.id])
    return replace(source, text=row["text"])

"""Web search as a source: results live or recorded, with retries.

A file of recorded results is JSON: an object of question -> list of results, each with
`title`, `url` and `content`; or the list of objects with `question` and `results`
(or `raw_text`) that the benchmark writes.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import InputError, MissingExtraError, SourceError
from knowtrail.graph.extras import extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_LOG = logging.getLogger(__name__)
TRIES = 3
BASE_SECONDS = 2.0

RecordedResults = dict[str, "tuple[WebResult, ...]"]
"""Question -> what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """One result of a web search, as text."""

    title: str
    url: str
    content: str


def search_results(
    query: str,
    *,
    count: int = 5,
    recorded: Mapping[str, Sequence[WebResult]] | None = None,
    recorded_only: bool = False,
    sleep: Callable[[float], object] = time.sleep,
) -> tuple[WebResult, ...]:
    """Search the web, or look up what was found before.

    A search that fails is tried three times, 2 and 4 seconds apart.

    Raises:
        InputError: If the query is empty, or not recorded although it must be.
        MissingExtraError: If a live search needs the extra `search`.
        SourceError: If every try failed.
    """
    if not query.strip():
        msg = f"The search is {query!r}: write what to look for."
        raise InputError(msg)
    if recorded is not None and query in recorded:
        return tuple(recorded[query])[:count]
    if recorded_only:
        msg = f"No results are recorded for {query[:80]!r}: search live, or add them."
        raise InputError(msg)
    for attempt in range(1, TRIES + 1):
        try:
            return _live(query, count)
        except MissingExtraError:
            raise
        except Exception as error:  # the client's engines raise what they like
            _LOG.warning("Search %d of %d failed: %.200s", attempt, TRIES, error)
            if attempt == TRIES:
                said = " ".join(str(error).split())[:200]
                msg = f"The search failed {TRIES} times: {said}. Is there a network?"
                raise SourceError(msg) from error
            sleep(BASE_SECONDS**attempt)
    return ()


def _live(query: str, count: int) -> tuple[WebResult, ...]:
    """Ask a search engine."""
    with extra("search", "Web search"):
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException
    try:
        found = DDGS().text(query, max_results=count)
    except DDGSException as error:
        if "no results" in str(error).casefold():
            return ()
        raise
    return tuple(
        WebResult(
            title=str(row.get("title", ""))[:500],
            url=str(row.get("href", ""))[:2000],
            content=str(row.get("body", "")),
        )
        for row in found[:count]
    )


def results_text(results: Sequence[WebResult]) -> str:
    """Return results as one text, numbered, with title and address."""
    return "\n\n".join(
        f"[Result {number}]\nTitle: {r.title}\nURL: {r.url}\nContent: {r.content}"
        for number, r in enumerate(results, start=1)
    )


def read_recorded(path: Path) -> RecordedResults:
    """Read a file of recorded results.

    Raises:
        SourceError: If it is not such a file; says where.
    """
    data = _loaded(path)
    if isinstance(data, list):
        pairs = [
            (row.get("question"), row.get("results", row.get("raw_text")))
            if isinstance(row, dict)
            else (None, None)
            for row in data
        ]
    else:
        pairs = list(data.items())
    return {
        _question(question, path, number): _results(found, path, number)
        for number, (question, found) in enumerate(pairs, start=1)
    }


def _loaded(path: Path) -> list[Any] | dict[str, Any]:
    """Return the list or object of a file of recorded results."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        msg = f"Cannot read the search results {path}: {error.strerror}."
        raise SourceError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"The search results {path} are not JSON: {error}."
        raise SourceError(msg) from error
    if isinstance(data, list | dict):
        return data
    msg = f"{path} holds {str(data)[:40]!r}: write a list or object of search results."
    raise SourceError(msg)


def _question(question: object, path: Path, number: int) -> str:
    """Return the question of a record."""
    if isinstance(question, str) and question.strip():
        return question
    msg = f"Record {number} of {path} has no question."
    raise SourceError(msg)


def _results(found: object, path: Path, number: int) -> tuple[WebResult, ...]:
    """Return the results of a record; a text is one result."""
    if isinstance(found, str):
        found = [{"title": "", "url": "", "content": found}] if found else []
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        msg = f"Record {number} of {path} has no list of results."
        raise SourceError(msg)
    return tuple(_result(row) for row in found)


def _result(row: dict[str, Any]) -> WebResult:
    """Return a result, by our names or those of search clients."""
    return WebResult(
        title=str(row.get("title", ""))[:500],
        url=str(row.get("url", row.get("href", "")))[:2000],
        content=str(row.get("content", row.get("body", ""))),
    )


def add_recorded(path: Path, found: Mapping[str, Sequence[WebResult]]) -> None:
    """Add to a file of recorded results, whole or not at all.

    What the file has already stays as it is, in the form that it has.

    Raises:
        SourceError: If the file is there and holds something else.
        StorageError: If it cannot be written.
    """
    from knowtrail.graph.errors import StorageError
    from knowtrail.graph.files import whole_file

    new = {question: [asdict(r) for r in rows] for question, rows in found.items()}
    data = _loaded(path) if path.exists() else {}
    if isinstance(data, list):
        data = data + [{"question": q, "results": rows} for q, rows in new.items()]
    else:
        data = {**data, **new}
    failure = "Cannot write {path}: {reason}."
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = failure.format(path=path, reason=error.strerror)
        raise StorageError(msg) from error
    with whole_file(path, failure=failure) as file:
        json.dump(data, file, ensure_ascii=False, indent=2)

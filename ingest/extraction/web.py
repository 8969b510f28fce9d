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

from knowtrail.graph.errors import (
    InputError,
    MissingExtraError,
    SourceError,
    StorageError,
)
from knowtrail.graph.extras import extra
from knowtrail.graph.files import disk_errors, read_json, whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

_LOG = logging.getLogger(__name__)
TRIES = 3
BASE_SECONDS = 2.0
_LONGEST = {"title": 500, "url": 2000}
"""Characters of a result that are kept."""

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
        raise InputError(f"The search is {query!r}: write what to look for.")
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
            title=str(row.get("title", ""))[: _LONGEST["title"]],
            url=str(row.get("href", ""))[: _LONGEST["url"]],
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
    """Read a file of recorded results."""
    found: RecordedResults = {}
    for where, entry in recorded_entries(path):
        question = entry.get("question")
        if not isinstance(question, str) or not question.strip():
            raise SourceError(f"{where} has no question.")
        results = entry_results(entry, where)
        if isinstance(results, str):
            text = WebResult(title="", url="", content=results)
            results = (text,) if results else ()
        found[question] = results
    return found


def recorded_entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each entry of a file of recorded results stands, and what it says."""
    listed = _loaded(path)
    if isinstance(listed, dict):
        listed = [{"question": q, "results": found} for q, found in listed.items()]
    for number, entry in enumerate(listed):
        where = f"{path}, entry {number} (counted from 0)"
        if not isinstance(entry, dict):
            raise SourceError(f"{where} is {str(entry)[:60]!r}: write an object.")
        yield where, entry


def _loaded(path: Path) -> list[Any] | dict[str, Any]:
    data = read_json(path)
    if isinstance(data, list | dict):
        return data
    msg = f"{path} holds {str(data)[:40]!r}: write a JSON list or object of results."
    raise SourceError(msg)


def entry_results(entry: Mapping[str, Any], where: str) -> tuple[WebResult, ...] | str:
    """Return the results of an entry, or their text where it has only that."""
    found = entry.get("results")
    if found is None:
        found = entry.get("raw_text")
    if isinstance(found, str):
        return found
    if not isinstance(found, list):
        msg = f"{where}: results is {str(found)[:60]!r}: write a list of objects."
        raise SourceError(msg)
    return tuple(_result(one, f"{where}, result {n}") for n, one in enumerate(found))


def _result(row: Any, where: str) -> WebResult:
    """Return a result, by our names or those of search clients."""
    if not isinstance(row, dict):
        msg = f"{where} is {str(row)[:40]!r}: write title, url and content."
        raise SourceError(msg)
    texts = {}
    for name, other in (("title", "title"), ("url", "href"), ("content", "body")):
        text = row.get(name) or row.get(other) or ""
        if not isinstance(text, str):
            msg = f"{where}: {name} is no text: write title, url and content."
            raise SourceError(msg)
        texts[name] = text[: _LONGEST.get(name)]
    return WebResult(**texts)


def add_recorded(path: Path, found: Mapping[str, Sequence[WebResult]]) -> None:
    """Add to a file of recorded results, whole or not at all.

    What the file has already stays as it is, in the form that it has.

    Raises:
        SourceError: If the file is there and holds something else.
        StorageError: If it cannot be written.
    """
    new = {question: [asdict(r) for r in rows] for question, rows in found.items()}
    data = _loaded(path) if path.exists() else {}
    if isinstance(data, list):
        data = data + [{"question": q, "results": rows} for q, rows in new.items()]
    else:
        data = {**data, **new}
    failure = "Cannot write {path}: {reason}."
    with disk_errors(StorageError, failure, path=path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, failure=failure) as file:
        json.dump(data, file, ensure_ascii=False, indent=2)

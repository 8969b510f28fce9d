"""Search results of the benchmark: recorded ones first, else the web."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from eval.skn.samples import json_file
from graph.errors import InputError, SourceError
from graph.prompts import whole_characters
from ingest.extraction.web import WebResult, results_text, search_results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from eval.skn.samples import Sample

__all__ = [
    "RESULTS",
    "Found",
    "load_search_results",
    "search_web",
    "searched",
]

NOTHING = "the search found nothing, or failed three times"
RESULTS = 5
"""How many results of a search are taken."""
LONGEST_PAGE = 20_000
"""Characters that are taken of a page."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search gave.

    Attributes:
        raw_text: The results as one text, empty where there are none.
        results: The results, where they are known one by one.
        seconds: Time that it took; 0 for recorded ones.
        recorded: Whether it comes from a file.
        error: Why there is nothing, where a search of the web found nothing.
    """

    raw_text: str
    results: tuple[WebResult, ...] = ()
    seconds: float = 0.0
    recorded: bool = False
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, results: Sequence[WebResult], **about: Any) -> Found:
        """Return results with their text; of a page only text is taken."""
        tidied = tuple(_tidied(result) for result in results)
        return cls(raw_text=results_text(tidied), results=tidied, **about)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Found:
        """Return what `as_dict` gave."""
        results = tuple(WebResult(**result) for result in value["results"])
        return cls(**{**value, "results": results})


def _tidy(text: str) -> str:
    """Return a page's text without what is no text, cut where it is too long."""
    return _CONTROL.sub(" ", whole_characters(text[:LONGEST_PAGE])).strip()


def _tidied(result: WebResult) -> WebResult:
    """Return a result of which only text is left."""
    return WebResult(
        title=_tidy(result.title), url=_tidy(result.url), content=_tidy(result.content)
    )


def search_web(query: str, num_results: int = RESULTS) -> str:
    """Search the web and return the results as one text.

    Args:
        query: What is searched for.
        num_results: How many results.

    Returns:
        The results; empty where nothing is found or the search fails three times.

    Raises:
        MissingExtraError: If the extra `search` is not installed.
    """
    return _live(query, num_results).raw_text


def _live(query: str, count: int) -> Found:
    """Search the web; that nothing is found is told in the result."""
    start = time.monotonic()
    results = search_results(query, count=count)
    taken = time.monotonic() - start
    return Found.of(results, seconds=taken, error=None if results else NOTHING)


def searched(
    sample: Sample,
    recorded: Mapping[str, Found],
    *,
    recorded_only: bool = False,
    count: int = RESULTS,
) -> Found:
    """Return the search results for a sample.

    Args:
        sample: Whose question is searched for.
        recorded: What `load_search_results` gave.
        recorded_only: Whether the web is left alone.
        count: How many results are taken of the web.

    Raises:
        InputError: If there is no recorded result and the web is left alone.
        MissingExtraError: If the web is asked and the extra `search` is missing.
    """
    found = recorded.get(sample.question) or recorded.get(f"id:{sample.id}")
    if found is not None:
        return found
    if recorded_only:
        msg = (
            f"No recorded search result for sample {sample.id!r}, "
            f"{sample.question[:60]!r}: add it to the file, or leave --recorded-only "
            "out."
        )
        raise InputError(msg)
    return _live(sample.question, count)


def load_search_results(path: Path) -> dict[str, Found]:
    """Return recorded search results by question, or by id where they have none.

    Args:
        path: A JSON list of objects with `question` or `id`, and `results` (objects
            with `title`, `url`, `content`) or `raw_text`: so a run's own
            `search_results.json` can be given too. Or an object of question ->
            results, as `knowtrail extract --search-results` writes it.

    Raises:
        SourceError: If it is not such a list; the message says where.
    """
    listed = json_file(path, what="file of search results")
    if isinstance(listed, dict):
        listed = [{"question": q, "results": found} for q, found in listed.items()]
    if not isinstance(listed, list):
        msg = f"{path} is no file of search results: write a JSON list of objects."
        raise SourceError(msg)
    found = {}
    for number, entry in enumerate(listed):
        where = f"{path}, entry {number} (counted from 0)"
        if not isinstance(entry, dict):
            msg = f"{where} is {str(entry)[:60]!r}: write an object."
            raise SourceError(msg)
        question = entry.get("question")
        if isinstance(question, str) and question.strip():
            found[question.strip()] = _recorded(entry, where)
        elif entry.get("id") is not None:
            found[f"id:{entry['id']}"] = _recorded(entry, where)
        else:
            msg = f"{where} has neither question nor id: give one."
            raise SourceError(msg)
    return found


def _recorded(entry: Mapping[str, Any], where: str) -> Found:
    """Return one recorded search."""
    results, raw_text = entry.get("results"), entry.get("raw_text")
    if results is None and isinstance(raw_text, str):
        return Found(raw_text=raw_text.strip(), recorded=True)
    if not isinstance(results, list):
        msg = f"{where}: results is {str(results)[:60]!r}: write a list of objects."
        raise SourceError(msg)
    return Found.of(
        [_result(one, f"{where}, result {n}") for n, one in enumerate(results)],
        recorded=True,
    )


def _result(value: Any, where: str) -> WebResult:
    """Return one recorded result."""
    texts = []
    for name in ("title", "url", "content"):
        text = value.get(name, "") if isinstance(value, dict) else None
        if not isinstance(text, str):
            msg = f"{where}: {name} is no text: write title, url and content."
            raise SourceError(msg)
        texts.append(text)
    title, url, content = texts
    return WebResult(title=title, url=url, content=content)

"""Questions of the benchmark, and search results: recorded ones first, else the web."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import read_json
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.ingest.extraction.web import WebResult, results_text, search_results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNKNOWN_CATEGORY = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question with its answer.

    Attributes:
        id: What it is called in all results.
        ground_truth: The answer, for the judge.
    """

    id: str | int
    category: str
    question: str
    ground_truth: str
    answerable: bool = True


_DATA = Path(str(resources.files("knowtrail.eval.skn") / "data"))


def bundled_samples() -> Path:
    """Return the file with the questions that come with Knowtrail."""
    return _DATA / "samples.json"


def bundled_search_results() -> Path:
    """Return the file with the search results written for these questions."""
    return _DATA / "search_results.json"


def load_samples(
    path: Path | str | None = None, *, limit: int | None = None
) -> tuple[Sample, ...]:
    """Return the samples of a file, checked.

    Args:
        path: A JSON list of objects with `id`, `question`, `ground_truth`, and where
            given `category` and `answerable` (true). None takes the bundled ones.
        limit: How many are taken, from the first; None takes all.

    Raises:
        SourceError: If the file cannot be read, is not such a list, or an id occurs
            twice; the message says which sample.
    """
    file = bundled_samples() if path is None else Path(path)
    listed = read_json(file)
    if not isinstance(listed, list) or not listed:
        msg = (
            f"{file} is not a data set: write a JSON list of objects with id, question "
            "and ground_truth."
        )
        raise SourceError(msg)
    samples = [_sample(entry, f"{file}, sample {n}") for n, entry in enumerate(listed)]
    _check_ids(file, samples)
    return tuple(samples if limit is None else samples[:limit])


def _sample(entry: Any, where: str) -> Sample:
    """Return one entry of a data set, checked."""
    if not isinstance(entry, dict):
        msg = f"{where} (counted from 0) is {str(entry)[:60]!r}: write an object."
        raise SourceError(msg)
    where = f"{where} (counted from 0), id {entry.get('id')!r}"
    if not isinstance(entry.get("id"), str | int) or isinstance(entry["id"], bool):
        msg = f"{where}: give it an id, a number or a text."
        raise SourceError(msg)
    entry = {"category": UNKNOWN_CATEGORY, "answerable": True} | entry
    texts = {name: entry.get(name) for name in ("category", "question", "ground_truth")}
    for name, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            msg = f"{where}: {name} is {value!r}, not a text; write one."
            raise SourceError(msg)
    if not isinstance(entry["answerable"], bool):
        msg = f"{where}: answerable is {entry['answerable']!r}: write true or false."
        raise SourceError(msg)
    return Sample(
        id=entry["id"],
        answerable=entry["answerable"],
        **{name: str(value).strip() for name, value in texts.items()},
    )


def _check_ids(file: Path, samples: Sequence[Sample]) -> None:
    """Refuse a data set in which an id occurs twice."""
    counted = Counter(str(sample.id) for sample in samples)
    twice = [name for name, count in counted.items() if count > 1]
    if twice:
        msg = (
            f"{file}: the id {twice[0]!r} occurs {counted[twice[0]]} times: ids differ."
        )
        raise SourceError(msg)


NOTHING = "the search found nothing"
RESULTS = 5
"""How many results of a search are taken."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search gave.

    Attributes:
        raw_text: The results as one text, empty where there are none.
        results: The results, where they are known one by one.
        seconds: Time that it took; 0 for recorded ones.
        error: Why there is nothing, where a search of the web found nothing.
        failed: Whether the search failed, and so says nothing about the web.
    """

    raw_text: str
    results: tuple[WebResult, ...] = ()
    seconds: float = 0.0
    recorded: bool = False
    error: str | None = None
    failed: bool = False

    @classmethod
    def of(cls, results: Sequence[WebResult], **about: Any) -> Found:
        """Return results with their text; of a page only text is taken."""
        tidied = tuple(_tidied(result) for result in results)
        return cls(raw_text=results_text(tidied), results=tidied, **about)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Found:
        """Return what `asdict` gave."""
        results = tuple(WebResult(**result) for result in value["results"])
        return cls(**{**value, "results": results})


def _tidy(text: str) -> str:
    """Return a page's text without what is no text."""
    return _CONTROL.sub(" ", whole_characters(text)).strip()


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
    try:
        results, error = search_results(query, count=count), None
    except SourceError as problem:
        results, error = (), str(problem)
    return Found.of(
        results,
        seconds=time.monotonic() - start,
        error=error if error or results else NOTHING,
        failed=error is not None,
    )


def recorded_search(sample: Sample, recorded: Mapping[str, Found]) -> Found | None:
    """Return what `load_search_results` has for a sample, None where it has nothing."""
    return recorded.get(sample.question) or recorded.get(f"id:{sample.id}")


def searched(
    sample: Sample,
    recorded: Mapping[str, Found],
    *,
    recorded_only: bool = False,
    count: int = RESULTS,
) -> Found:
    """Return the search results for a sample, of the web where none are recorded."""
    found = recorded_search(sample, recorded)
    if found is None and recorded_only:
        msg = (
            f"No recorded search result for sample {sample.id!r}, "
            f"{sample.question[:60]!r}: add it to the file, or leave --recorded-only "
            "out."
        )
        raise InputError(msg)
    return found or _live(sample.question, count)


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
    listed = read_json(path)
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

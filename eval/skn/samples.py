"""Questions of the benchmark, and search results: recorded ones first, else the web."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import read_json
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.ingest.extraction.web import (
    WebResult,
    entry_results,
    recorded_entries,
    results_text,
    search_results,
)

UNKNOWN_CATEGORY = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question with its answer."""

    id: str | int
    category: str
    question: str
    ground_truth: str
    answerable: bool = True


_DATA = Path(str(resources.files("knowtrail.eval.skn") / "data"))
BUNDLED_SAMPLES = _DATA / "samples.json"
BUNDLED_SEARCH_RESULTS = _DATA / "search_results.json"
ABSTENTIONS = _DATA / "abstention_phrases.txt"


def load_samples(
    path: Path | str | None = None, *, limit: int | None = None
) -> tuple[Sample, ...]:
    """Return the first samples of a file, checked; None is ours."""
    file = BUNDLED_SAMPLES if path is None else Path(path)
    listed = read_json(file)
    if not isinstance(listed, list) or not listed:
        raise SourceError(
            f"{file} is not a data set: write a JSON list of objects with id, question "
            "and ground_truth."
        )
    samples = [_sample(entry, f"{file}, sample {n}") for n, entry in enumerate(listed)]
    _check_ids(file, samples)
    return tuple(samples if limit is None else samples[:limit])


def _sample(entry: Any, where: str) -> Sample:
    if not isinstance(entry, dict):
        msg = f"{where} (counted from 0) is {str(entry)[:60]!r}: write an object."
        raise SourceError(msg)
    where = f"{where} (counted from 0), id {entry.get('id')!r}"
    if not isinstance(entry.get("id"), str | int) or isinstance(entry["id"], bool):
        raise SourceError(f"{where}: give it an id, a number or a text.")
    entry = {"category": UNKNOWN_CATEGORY, "answerable": True} | entry
    texts = {name: entry.get(name) for name in ("category", "question", "ground_truth")}
    for name, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            raise SourceError(f"{where}: {name} is {value!r}, not a text; write one.")
    if not isinstance(entry["answerable"], bool):
        msg = f"{where}: answerable is {entry['answerable']!r}: write true or false."
        raise SourceError(msg)
    return Sample(
        id=entry["id"],
        answerable=entry["answerable"],
        **{name: str(value).strip() for name, value in texts.items()},
    )


def _check_ids(file: Path, samples: Sequence[Sample]) -> None:
    counted = Counter(str(sample.id) for sample in samples)
    twice = [name for name, count in counted.items() if count > 1]
    if twice:
        raise SourceError(
            f"{file}: the id {twice[0]!r} occurs {counted[twice[0]]} times: ids differ."
        )


NOTHING = "the search found nothing"
RESULTS = 5
"""How many results of a search are taken."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search gave; one that `failed` says nothing about the web."""

    raw_text: str
    results: tuple[WebResult, ...] = ()
    seconds: float = 0.0
    recorded: bool = False
    error: str | None = None
    failed: bool = False

    @classmethod
    def of(cls, results: Sequence[WebResult], **about: Any) -> Found:
        """Return results with their text; of a page only text is taken."""
        tidied = tuple(
            WebResult(**{name: _tidy(text) for name, text in asdict(result).items()})
            for result in results
        )
        return cls(raw_text=results_text(tidied), results=tidied, **about)


def _tidy(text: str) -> str:
    return _CONTROL.sub(" ", whole_characters(text)).strip()


def search_web(query: str, num_results: int = RESULTS) -> str:
    """Search the web and return the results as one text.

    It is empty where nothing is found or the search fails three times.
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
        raise InputError(
            f"No recorded search result for sample {sample.id!r}, "
            f"{sample.question[:60]!r}: add it to the file, or leave --recorded-only "
            "out."
        )
    return found or _live(sample.question, count)


def load_search_results(path: Path) -> dict[str, Found]:
    """Return recorded search results by question, or by id where they have none.

    Args:
        path: A JSON list of objects with `question` or `id`, and `results` (objects
            with `title`, `url`, `content`) or `raw_text`: so a run's own
            `search_results.json` can be given too. Or an object of question ->
            results, as `knowtrail extract --search-results` writes it.
    """
    found = {}
    for where, entry in recorded_entries(path):
        question = entry.get("question")
        if isinstance(question, str) and question.strip():
            name = question.strip()
        elif entry.get("id") is not None:
            name = f"id:{entry['id']}"
        else:
            raise SourceError(f"{where} has neither question nor id: give one.")
        results = entry_results(entry, where)
        found[name] = (
            Found(raw_text=results.strip(), recorded=True)
            if isinstance(results, str)
            else Found.of(results, recorded=True)
        )
    return found

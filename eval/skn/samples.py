"""Questions of the benchmark: read from a file, checked, or those that are bundled."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "NO_ANSWER",
    "Sample",
    "bundled_samples",
    "bundled_search_results",
    "json_file",
    "load_samples",
]

NO_ANSWER = "INSUFFICIENT_INFO"
"""Ground truth of a question that has no answer."""

UNKNOWN_CATEGORY = "other"
LARGEST_FILE = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question with its answer.

    Attributes:
        id: What it is called in all results.
        category: What kind of question it is.
        question: What is searched for and asked.
        ground_truth: The answer, for the judge.
        answerable: Whether it has one.
    """

    id: str | int
    category: str
    question: str
    ground_truth: str
    answerable: bool = True


def bundled_samples() -> Path:
    """Return the file with the questions that come with Knowtrail."""
    return Path(str(resources.files("eval.skn") / "data" / "samples.json"))


def bundled_search_results() -> Path:
    """Return the file with recorded search results for these questions."""
    return Path(str(resources.files("eval.skn") / "data" / "search_results.json"))


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
    listed = json_file(file, what="data set")
    if not isinstance(listed, list) or not listed:
        msg = (
            f"{file} is not a data set: write a JSON list of objects with id, question "
            "and ground_truth."
        )
        raise SourceError(msg)
    samples = [_sample(entry, f"{file}, sample {n}") for n, entry in enumerate(listed)]
    _check_ids(file, samples)
    return tuple(samples if limit is None else samples[:limit])


def json_file(path: Path, *, what: str) -> Any:
    """Return the value of a JSON file.

    Args:
        path: The file.
        what: What it is, for messages.

    Raises:
        SourceError: If it cannot be read or is no JSON.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            msg = f"{path} has more than {LARGEST_FILE:,} bytes: split the {what}."
            raise SourceError(msg)
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        msg = f"The {what} {path} cannot be read: {error.strerror}."
        raise SourceError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"The {what} {path} is not JSON: {error}."
        raise SourceError(msg) from error


def _sample(entry: Any, where: str) -> Sample:
    """Return one entry of a data set, checked."""
    if not isinstance(entry, dict):
        msg = f"{where} (counted from 0) is {str(entry)[:60]!r}: write an object."
        raise SourceError(msg)
    where = f"{where} (counted from 0), id {entry.get('id')!r}"
    if not isinstance(entry.get("id"), str | int) or isinstance(entry["id"], bool):
        msg = f"{where}: give it an id, a number or a text."
        raise SourceError(msg)
    for name in ("question", "ground_truth"):
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            msg = f"{where}: {name} is {entry.get(name)!r}, not a text; write one."
            raise SourceError(msg)
    answerable = entry.get("answerable", True)
    if not isinstance(answerable, bool):
        msg = f"{where}: answerable is {answerable!r}: write true or false."
        raise SourceError(msg)
    category = entry.get("category", UNKNOWN_CATEGORY)
    if not isinstance(category, str) or not category.strip():
        msg = f"{where}: category is {category!r}: write a text or leave it out."
        raise SourceError(msg)
    return Sample(
        id=entry["id"],
        category=category.strip(),
        question=entry["question"].strip(),
        ground_truth=entry["ground_truth"].strip(),
        answerable=answerable,
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

"""The small corpus that travels with the package: articles, and questions on them.

Fourteen encyclopaedic articles on navigation and timekeeping, written for this
project, and questions with gold sentences, some of which need two articles.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.ingest.records import Source

_PACKAGE = "knowtrail.ingest.data.quickstart"


def articles() -> Iterator[dict[str, object]]:
    """Yield the articles in their fixed order.

    Yields:
        `id`, `title`, `text` (paragraphs separated by a blank line), `url` (None),
        `language`, `sections` (`title`, `start`), `links` (`start`, `end`, `target`:
        the title of another article), `categories` and `metadata`. Offsets count
        characters of `text`.
    """
    yield from _rows("articles.jsonl")


def questions() -> Iterator[dict[str, object]]:
    """Yield the questions in their fixed order.

    Yields:
        `id`, `question`, `answer` (a few words), `gold` (`document`, `sentence`: one
        whole sentence of that article), `documents` (ids, in the order of `gold`) and
        `hops`, the number of articles that are needed together.
    """
    yield from _rows("questions.jsonl")


@contextmanager
def bundled_source() -> Iterator[Source]:
    """Yield the articles as a source to ingest, which counts them."""
    from knowtrail.ingest.records import Limited
    from knowtrail.ingest.sources.jsonl import JsonlSource

    file = resources.files(_PACKAGE).joinpath("articles.jsonl")
    with resources.as_file(file) as path:
        yield Limited(JsonlSource([path]), sum(1 for _ in articles()))


def _rows(name: str) -> Iterator[dict[str, object]]:
    with resources.files(_PACKAGE).joinpath(name).open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)

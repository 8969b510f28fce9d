"""Small corpora and sources that tests of several packages use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument, RawRedirect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.records import Item

WORDS = (
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "glacier", "harbour",
    "island", "jasper", "kelp", "lagoon", "meadow", "nectar", "opal", "prairie",
    "quartz", "reef", "summit", "tundra", "umber", "valley", "willow",
)  # fmt: skip


class ListSource:
    """A source that yields items held in memory."""

    name = "memory"
    size = None
    position = 0

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = list(items)

    def items(self) -> Iterator[Item]:
        """Yield the items."""
        yield from self._items


def article(number: int, *, version: int = 0, sentences: int = 6) -> RawDocument:
    """Return a made-up article that names others and changes with its version."""
    title = f"{WORDS[number % len(WORDS)].title()} {WORDS[number // 7 % 23].title()}"
    lines = [
        f"{WORDS[(number * 5 + line * 3 + version) % 23].title()} and "
        f"{WORDS[(number + line) % 23]} shape the {WORDS[(line * 7 + version) % 23]} "
        f"near {title_of((number + line * 2 + version) % 23)} in part {line}."
        for line in range(sentences)
    ]
    return RawDocument(
        source_id=f"page-{number}",
        title=f"{title} {number}",
        raw=" ".join(lines),
        categories=(f"Kind {number % 3}", f"Size {number % 2}"),
        metadata={"number": number},
    )


def store_articles(
    connection: Connection, settings: Settings, corpus: str, count: int
) -> None:
    """Ingest so many made-up articles, with vectors of 32 dimensions."""
    ingest_corpus(
        connection,
        [ListSource(article(n) for n in range(count))],
        corpus=corpus,
        embedder=HashEmbedder(32),
        settings=settings,
        options=IngestOptions(themes="none"),
    )


def title_of(number: int) -> str:
    """Return the title of a made-up article."""
    return (
        f"{WORDS[number % len(WORDS)].title()} {WORDS[number // 7 % 23].title()} "
        f"{number}"
    )


def redirect(number: int, *, target: int) -> RawRedirect:
    """Return a redirect from an alias to an article."""
    return RawRedirect(title=f"Alias {number}", target=title_of(target))

"""From a raw document to the rows of its part of the graph, vectors apart.

Everything here is a pure function of the document, the corpus name and the options.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.rows import plain_value
from knowtrail.ingest.keys import (
    content_key,
    document_key,
    normalise_name,
    normalise_title,
)
from knowtrail.ingest.parsing import parse, sentence_spans
from knowtrail.ingest.records import Span
from knowtrail.ingest.windows import windows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.records import Link, ParsedDocument, RawDocument

PIPELINE_VERSION = 2
"""Raised when the same raw text would give another graph."""

RESERVED = frozenset({
    "aliases", "contentHash", "corpus", "corpusVersion", "id", "language",
    "linkEnds", "linkStarts", "linkTargets", "revision", "sectionLevels",
    "sectionStarts", "sectionTitles", "source", "sourceId", "status", "text",
    "themeEmbedding", "themeLost", "title", "titleKey", "url",
})  # fmt: skip
"""Properties of a document's node that are ours, not its source's."""
_SENTENCES = 15_000
"""Most of a document: it is written in one transaction, in the server's memory."""
_GIVEN = "meta_"
"""What a metadata name begins with where a property of ours has its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDocument:
    """A document split into sentences and windows, ready to be embedded.

    Attributes:
        id: Key of the document.
        properties: Properties of its node.
        categories: Names of its categories.
        sentences: Properties of its sentences, in order.
        chunks: Properties of its chunks, in order.
        members: For each chunk, its (first, last) sentence, both inclusive.
    """

    id: str
    properties: dict[str, Any]
    categories: tuple[str, ...]
    sentences: tuple[dict[str, Any], ...]
    chunks: tuple[dict[str, Any], ...]
    members: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """Return the number of texts to embed."""
        return len(self.sentences) + len(self.chunks)


def given_metadata(
    pairs: Iterable[tuple[str, Any]], *, taken: Collection[str]
) -> dict[str, Any]:
    """Return what a source said of a document, as JSON has it.

    Args:
        pairs: Names and values of the document's node that are not `RESERVED`.
        taken: Names that have another meaning; a value of such a name is marked.
    """
    found = {}
    for name, value in pairs:
        bare = name.removeprefix(_GIVEN)
        free = bare if bare in RESERVED else name
        found[f"{_GIVEN}{free}" if free in taken else free] = plain_value(value)
    return found


def too_long(document: PreparedDocument) -> str | None:
    """Return why a document is too long to be stored, None where it is not."""
    if (count := len(document.sentences)) <= _SENTENCES:
        return None
    return f"it has {count:,} sentences, more than {_SENTENCES:,}: split it"


def document_id(corpus: str, source_id: str) -> str:
    """Return the key of a document."""
    return content_key(corpus, "document", source_id)


def redirect_id(corpus: str, title_key: str) -> str:
    """Return the key of a redirect."""
    return content_key(corpus, "redirect", title_key)


def theme_id(corpus: str, name: str) -> str:
    """Return the key of a theme of this (normalised) name."""
    return content_key(corpus, "theme", normalise_name(name))


def category_name(name: str) -> str:
    """Return a category's name as it is stored."""
    return normalise_title(name)


def content_hash(raw: RawDocument) -> str:
    """Return the hash that tells whether a document changed since it was stored.

    It covers everything the source says of the document, and the version of this
    pipeline, but not the name of the file it came from.
    """
    return content_key(
        PIPELINE_VERSION,
        raw.title,
        raw.raw,
        raw.markup,
        json.dumps(
            [
                raw.sentences,
                [
                    (link.start, link.end, link.target, *filter(None, [link.source_id]))
                    for link in raw.links
                ],
                [(s.start, s.level, s.title) for s in raw.sections],
                raw.categories,
                raw.url,
                raw.revision,
                raw.language,
                sorted(raw.metadata.items()),
            ],
            ensure_ascii=False,
        ),
    )


def prepare(
    raw: RawDocument, *, corpus: str, options: IngestOptions
) -> PreparedDocument:
    """Parse, split and window a document.

    Args:
        raw: The document.
        corpus: Name of its corpus.
        options: Window and stride.

    Returns:
        Its rows; without sentences if it has no text.
    """
    parsed = parse(raw)
    spans = sentence_spans(raw, parsed)
    identity = document_id(corpus, raw.source_id)
    sentences = tuple(
        _row(corpus, "sentence", raw.source_id, index, parsed.text, span)
        for index, span in enumerate(spans)
    )
    members = tuple(windows(len(spans), size=options.window, stride=options.stride))
    chunks = tuple(
        _row(
            corpus,
            "chunk",
            raw.source_id,
            index,
            parsed.text,
            Span(spans[first].start, spans[last].end),
        )
        | {"firstSentence": first, "lastSentence": last}
        for index, (first, last) in enumerate(members)
    )
    return PreparedDocument(
        id=identity,
        properties=_properties(raw, parsed, identity=identity, corpus=corpus),
        categories=tuple(
            dict.fromkeys(name for c in parsed.categories if (name := category_name(c)))
        ),
        sentences=sentences,
        chunks=chunks,
        members=members,
    )


def _row(
    corpus: str, kind: str, source_id: str, index: int, text: str, span: Span
) -> dict[str, Any]:
    """Return the properties of a sentence or chunk."""
    return {
        "id": content_key(corpus, kind, source_id, span.start, span.end),
        "corpus": corpus,
        "index": index,
        "text": text[span.start : span.end],
        "startChar": span.start,
        "endChar": span.end,
    }


def _link_key(corpus: str, link: Link) -> str:
    """Return what a link leads to: a document, else a title; "" for nothing."""
    if link.source_id is not None:
        return document_key(document_id(corpus, link.source_id))
    return normalise_title(link.target)


def _properties(
    raw: RawDocument, parsed: ParsedDocument, *, identity: str, corpus: str
) -> dict[str, Any]:
    """Return the properties of a document's node; None values are not stored."""
    links = [(link, key) for link in parsed.links if (key := _link_key(corpus, link))]
    extra = {
        (f"{_GIVEN}{name}" if name in RESERVED else name): value
        for name, value in raw.metadata.items()
    }
    return extra | {
        "id": identity,
        "corpus": corpus,
        "sourceId": raw.source_id,
        "title": raw.title,
        "titleKey": normalise_title(raw.title),
        "url": raw.url,
        "source": raw.source or None,
        "revision": raw.revision,
        "language": raw.language,
        "contentHash": content_hash(raw),
        "text": parsed.text,
        "linkTargets": [target for _, target in links],
        "linkStarts": [link.start for link, _ in links],
        "linkEnds": [link.end for link, _ in links],
        "sectionTitles": [s.title for s in parsed.sections],
        "sectionStarts": [s.start for s in parsed.sections],
        "sectionLevels": [s.level for s in parsed.sections],
        "aliases": [],
        "status": "stored",
    }

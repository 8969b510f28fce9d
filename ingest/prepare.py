"""From a raw document to the rows of its part of the graph, vectors apart.

Everything here is a pure function of the document, the corpus name and the options.
Plain text is kept as the source has it, because links, sections and ready-made
sentences point into it: only characters that no reader sees and no database takes
(control characters, stray surrogates) are replaced, each by one other character, so
that every offset stays valid. Line and paragraph breaks stay.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from knowtrail.graph.cli.rows import plain_value
from knowtrail.graph.errors import SourceError
from knowtrail.ingest.keys import (
    content_key,
    document_key,
    normalise_name,
    normalise_title,
)
from knowtrail.ingest.records import ParsedDocument, RawDocument, Span
from knowtrail.ingest.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.records import Link


_REPLACED: dict[int, str] = (
    {
        code: " "
        for code in (*range(0x20), *range(0x7F, 0xA0))
        if chr(code) not in "\t\n\f\r"
    }
    | {0x85: "\n", 0xFEFF: " "}
    | dict.fromkeys(range(55296, 57344), "�")
)


def clean_plain(text: str) -> str:
    """Replace control characters and surrogates, keeping the length.

    Control characters and byte order marks become spaces, NEL a line break, stray
    surrogates the replacement character.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_REPLACED)


def parse(raw: RawDocument) -> ParsedDocument:
    """Return the readable text of a document and what was found in it.

    Categories that the source knows come before those of the text, each once.
    """
    if raw.markup == "wikitext":
        from knowtrail.ingest.wikitext import parse_wikitext

        parsed = parse_wikitext(raw.raw, language=raw.language)
    else:
        parsed = ParsedDocument(
            text=clean_plain(raw.raw), links=raw.links, sections=raw.sections
        )
    categories = tuple(dict.fromkeys((*raw.categories, *parsed.categories)))
    return replace(parsed, categories=categories)


def sentence_spans(raw: RawDocument, parsed: ParsedDocument) -> list[Span]:
    """Return the sentences of a parsed document, in order, as spans of its text.

    Ready-made sentences keep their boundaries, however long they are; blank ones are
    left out. Otherwise `split_sentences` finds them.

    Raises:
        SourceError: If ready-made sentences are not what the text is made of.
    """
    if raw.sentences is None:
        return split_sentences(parsed.text, language=raw.language)
    if " ".join(raw.sentences) != raw.raw:
        raise SourceError(
            f"The sentences of {raw.title!r} do not make its text: a source that gives "
            f"sentences must give their join by one space as the text."
        )
    spans = []
    start = 0
    for sentence in raw.sentences:
        piece = parsed.text[start : start + len(sentence)]
        left = start + len(piece) - len(piece.lstrip())
        if piece.strip():
            spans.append(Span(left, left + len(piece.strip())))
        start += len(sentence) + 1
    return spans


def windows(count: int, *, size: int = 3, stride: int = 1) -> list[tuple[int, int]]:
    """Return the windows over `count` sentences as (first, last), both inclusive.

    The list ends at the first window that reaches the last sentence, which is shorter
    than the others where the stride leaves a remainder. Fewer sentences than `size`
    make one window; no sentence is left out of every window.

    `IngestOptions` sees to it that the stride is between 1 and the size.

    Example:
        >>> windows(5)
        [(0, 2), (1, 3), (2, 4)]
        >>> windows(6, size=3, stride=2)
        [(0, 2), (2, 4), (4, 5)]
    """
    steps = 0 if count == 0 else 1 + max(0, -(-(count - size) // stride))
    return [
        (step * stride, min(step * stride + size, count) - 1) for step in range(steps)
    ]


_LOG = logging.getLogger(__name__)
PIPELINE_VERSION = 3
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


Keyed: TypeAlias = tuple[str, int, int]
"""Key, start and end of a sentence or chunk; the rest follows from them."""


@dataclass(frozen=True, kw_only=True)
class PreparedDocument:
    """A document split into sentences and windows, ready to be embedded.

    It has the properties of its node, where its sentences and chunks are, in order, and
    the (first, last) sentence of each chunk, both inclusive.
    """

    properties: dict[str, Any]
    categories: Sequence[str]
    sentence_spans: Sequence[Keyed]
    chunk_spans: Sequence[Keyed]
    members: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the document of a `body`, which JSON may have had."""
        places = ("sentence_spans", "chunk_spans", "members")
        spans = {name: tuple(map(tuple, body[name])) for name in places}
        return cls(**{**body, **spans, "categories": tuple(body["categories"])})

    @property
    def id(self) -> str:
        """Return its key."""
        return str(self.properties["id"])

    @property
    def size(self) -> int:
        """Return the number of texts to embed."""
        return len(self.sentence_spans) + len(self.chunk_spans)

    @property
    def body(self) -> dict[str, Any]:
        """Return what it is made of, as JSON has it, texts but once."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def sentences(self) -> tuple[dict[str, Any], ...]:
        """Return the properties of its sentences."""
        return self._rows(self.sentence_spans)

    @cached_property
    def chunks(self) -> tuple[dict[str, Any], ...]:
        """Return the properties of its chunks."""
        members = zip(self._rows(self.chunk_spans), self.members, strict=True)
        return tuple(
            row | {"firstSentence": first, "lastSentence": last}
            for row, (first, last) in members
        )

    def _rows(self, spans: Sequence[Keyed]) -> tuple[dict[str, Any], ...]:
        text, corpus = self.properties["text"], self.properties["corpus"]
        return tuple(
            {
                "id": key,
                "corpus": corpus,
                "index": index,
                "text": text[start:end],
                "startChar": start,
                "endChar": end,
            }
            for index, (key, start, end) in enumerate(spans)
        )


def given_metadata(
    pairs: Iterable[tuple[str, Any]], *, taken: Collection[str]
) -> dict[str, Any]:
    """Return what a source said of a document, as JSON has it.

    The pairs are the properties of its node that are not `RESERVED`; names that are
    taken have another meaning, and are marked.
    """
    found = {}
    for name, value in pairs:
        bare = name.removeprefix(_GIVEN)
        free = bare if bare in RESERVED else name
        found[f"{_GIVEN}{free}" if free in taken else free] = plain_value(value)
    return found


def too_long(document: PreparedDocument) -> str | None:
    """Return why a document is too long to be stored, None where it is not."""
    if (count := len(document.sentence_spans)) <= _SENTENCES:
        return None
    return f"it has {count:,} sentences, more than {_SENTENCES:,}: split it"


def prepared_or_why(
    raw: RawDocument, *, corpus: str, options: IngestOptions
) -> PreparedDocument | str:
    """Return a prepared document, or why it cannot be stored."""
    try:
        document = prepare(raw, corpus=corpus, options=options)
    except Exception as error:  # one text that nobody foresaw ends no ingest
        _LOG.debug("%r cannot be prepared", raw.title, exc_info=True)
        what = " ".join(f"{type(error).__name__}: {error}".split())
        return f"its text cannot be taken apart ({what}): leave it out"
    return too_long(document) or document


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
    # What has a # in a name was stored otherwise once, and alone is prepared again: one
    # that is loses what was extracted from it.
    names = (raw.title, *raw.categories, *(link.target for link in raw.links))
    return content_key(
        PIPELINE_VERSION + any("#" in name for name in names),
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
    """Parse, split and window a document; without sentences it has no text."""
    parsed = parse(raw)
    spans = sentence_spans(raw, parsed)
    members = tuple(windows(len(spans), size=options.window, stride=options.stride))
    wider = [Span(spans[first].start, spans[last].end) for first, last in members]
    return PreparedDocument(
        properties=_properties(raw, parsed, corpus=corpus),
        categories=tuple(
            dict.fromkeys(name for c in parsed.categories if (name := category_name(c)))
        ),
        sentence_spans=_keyed(corpus, "sentence", raw.source_id, parsed.text, spans),
        chunk_spans=_keyed(corpus, "chunk", raw.source_id, parsed.text, wider),
        members=members,
    )


def _keyed(
    corpus: str, kind: str, source_id: str, text: str, spans: Iterable[Span]
) -> tuple[Keyed, ...]:
    """Return spans with their keys; what is edited elsewhere changes no key."""
    times, keyed = Counter[str](), []
    for span in spans:
        part = text[span.start : span.end]
        times[part] += 1
        key = content_key(corpus, kind, source_id, part, times[part])
        keyed.append((key, span.start, span.end))
    return tuple(keyed)


def _link_key(corpus: str, link: Link) -> str:
    """Return what a link leads to: a document, else a title; "" for nothing."""
    if link.source_id is not None:
        return document_key(document_id(corpus, link.source_id))
    return normalise_title(link.target)


def _properties(
    raw: RawDocument, parsed: ParsedDocument, *, corpus: str
) -> dict[str, Any]:
    links = [(link, key) for link in parsed.links if (key := _link_key(corpus, link))]
    extra = {
        (f"{_GIVEN}{name}" if name in RESERVED else name): value
        for name, value in raw.metadata.items()
    }
    return extra | {
        "id": document_id(corpus, raw.source_id),
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

"""From a raw document to readable text and its sentences.

Plain text is kept as the source has it, because links, sections and ready-made
sentences point into it: only characters that no reader sees and no database takes
(control characters, stray surrogates) are replaced, each by one other character, so
that every offset stays valid. Line and paragraph breaks stay.
"""

from __future__ import annotations

from dataclasses import replace

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.records import ParsedDocument, RawDocument, Span
from knowtrail.ingest.sentences import split_sentences

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

    Args:
        raw: Wikitext or plain text.

    Returns:
        Text with links and sections that point into it.
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
    """Return the sentences of a parsed document as spans of its text.

    Ready-made sentences keep their boundaries, however long they are; blank ones are
    left out. Otherwise `split_sentences` finds them.

    Args:
        raw: The document as the source gave it.
        parsed: What `parse` made of it.

    Returns:
        Spans in order that do not overlap.

    Raises:
        SourceError: If ready-made sentences are not what the text is made of.
    """
    if raw.sentences is None:
        return split_sentences(parsed.text, language=raw.language)
    if " ".join(raw.sentences) != raw.raw:
        msg = (
            f"The sentences of {raw.title!r} do not make its text: a source that gives "
            f"sentences must give their join by one space as the text."
        )
        raise SourceError(msg)
    spans = []
    start = 0
    for sentence in raw.sentences:
        piece = parsed.text[start : start + len(sentence)]
        left = start + len(piece) - len(piece.lstrip())
        if piece.strip():
            spans.append(Span(left, left + len(piece.strip())))
        start += len(sentence) + 1
    return spans

"""Titles found in texts: which document a piece of text speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowtrail.ingest.keys import page_key

SHORTEST = 4
"""Characters of the shortest title that is looked for; shorter ones are ambiguous."""
_LONGEST_CHAIN = 5
_SHARED = ""


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """A document named at `text[start:end]`."""

    start: int
    end: int
    document: str


class TitleIndex:
    """Which document a link leads to: by its id, its title, or through redirects.

    A title that two documents share stands for none of them. Titles are (document,
    title key) pairs; `#` and a document's id is a key too.
    """

    def __init__(
        self, titles: Iterable[tuple[str, str]], redirects: Mapping[str, str]
    ) -> None:
        self._documents: dict[str, str] = {}
        self._ids: set[str] = set()
        for document, key in titles:
            self._documents[key] = _SHARED if key in self._documents else document
            self._ids.add(document)
        self._redirects = redirects

    def resolve(self, key: str) -> str | None:
        """Return the document that a key stands for, None if none or several."""
        return self._found(key) or None

    def is_shared(self, key: str) -> bool:
        """Return whether a key is a title of several documents."""
        return self._found(key) == _SHARED

    def _found(self, key: str) -> str | None:
        """Return a document, `_SHARED` for several, None for none."""
        if key.startswith("#") and key[1:] in self._ids:
            return key[1:]
        if key not in self._documents and key not in self._redirects:
            key = page_key(key)
        for _ in range(_LONGEST_CHAIN):
            if key in self._documents:
                return self._documents[key]
            following = self._redirects.get(key)
            if following is None:
                return None
            key = following
        return None


class TitleFinder:
    """Finds the titles of documents in texts, all in one pass.

    Titles are (title as people write it, document) pairs. One matches with its first
    letter in either case, as MediaWiki treats it, at word boundaries; where titles
    overlap the one that starts first wins, then the longest.
    """

    def __init__(self, titles: Iterable[tuple[str, str]]) -> None:
        import ahocorasick

        self._automaton = ahocorasick.Automaton()
        count = 0
        for title, document in titles:
            if len(title) < SHORTEST:
                continue
            for form in {title, title[0].lower() + title[1:]}:
                self._automaton.add_word(form, (len(form), document))
                count += 1
        self._empty = count == 0
        if count:
            self._automaton.make_automaton()

    def find(self, text: str, *, but: str) -> list[Mention]:
        """Return the documents named in a text, except `but`, in text order."""
        if self._empty:
            return []
        hits = [
            Mention(end - length + 1, end + 1, document)
            for end, (length, document) in self._automaton.iter(text)
            if _is_word(text, end - length + 1, end + 1)
        ]
        hits.sort(key=lambda m: (m.start, -m.end))
        found: list[Mention] = []
        free = 0
        for hit in hits:
            if hit.start >= free:
                free = hit.end
                if hit.document != but:
                    found.append(hit)
        return found


def _is_word(text: str, start: int, end: int) -> bool:
    """Return whether a piece of text neither begins nor ends inside a word."""
    return not (start > 0 and text[start - 1].isalnum()) and not (
        end < len(text) and text[end].isalnum()
    )


def chunk_mentions(
    mentions: Sequence[Mention], chunks: Sequence[tuple[str, int, int]], text: str
) -> list[tuple[str, str, str]]:
    """Return (chunk, document, anchor) for each document that a chunk names, each once.

    Chunks are (id, start, end) in order; the anchor is that of the first mention.
    """
    ordered = sorted(mentions)
    out: dict[tuple[str, str], str] = {}
    first = 0
    for chunk, start, end in chunks:
        while first < len(ordered) and ordered[first].start < start:
            first += 1
        for mention in ordered[first:]:
            if mention.start >= end:
                break
            if mention.end <= end:
                out.setdefault(
                    (chunk, mention.document), text[mention.start : mention.end]
                )
    return [(chunk, document, anchor) for (chunk, document), anchor in out.items()]

"""Links between pages and to other sites, found with templates from the inside out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

from knowtrail.ingest.keys import normalise_title
from knowtrail.ingest.wikitext.marks import (
    EMPTIED,
    LINK_END,
    LINK_LIMIT,
    MARKS,
    link_start,
    unguard,
)
from knowtrail.ingest.wikitext.templates import render_template
from knowtrail.ingest.wikitext.words import LANGUAGE_CODES, WORDS

_MARKS = re.compile(MARKS)
_CATEGORIES = frozenset(WORDS["category_prefixes"])
_FILES = frozenset(WORDS["file_prefixes"])
_ELSEWHERE = frozenset(WORDS["interwiki_prefixes"] + WORDS["other_namespaces"])
_NOT_IN_TITLES = frozenset("<>{}[]\n")
_EXTERNAL = re.compile(
    r"\[(?:(?:https?:|ftps?:|news:|irc:)?//|mailto:)[^\s\[\]<>\"]{1,4000}"
    r"([ \t][^\[\]\n]{0,2000}(?:\[[^\[\]\n]{0,200}\][^\[\]\n]{0,2000})?)?\]"
)
_EMPTY_EXTERNAL = re.compile(r"\[https?://[^\s\[\]<>\"]{1,4000}")
_DEPTH = 40
_TOKEN = re.compile(r"\{\{+|\}\}+|\[\[|\]\]+|\|")
_TRAIL = re.compile("[a-zß-öø-ÿа-яѐ-џґα-ώ]+")
_Kind: TypeAlias = Literal["template", "parameter", "link"]


class Links:
    """Collects the links and categories of a page.

    The number in a mark is the index of the title that it points to; categories are in
    order of appearance.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self.targets: list[str] = []
        self.categories: dict[str, None] = {}

    def render(self, parts: list[str], trail: str) -> tuple[str, bool]:
        """Return what a link shows and whether the letters behind it belong to it."""
        target = unguard(_MARKS.sub("", parts[0])).replace("_", " ").strip()
        label = "|".join(parts[1:]).replace("\n", " ").strip()
        if len(target) > 1000 or not _NOT_IN_TITLES.isdisjoint(target):
            return f"{parts[0]} {label}".strip(), False
        prefix, colon, rest = target.lstrip(":").partition(":")
        if colon:
            special = self._special(
                target.startswith(":"), prefix.strip(), rest.strip(), label
            )
            if special is not None:
                return special, False
        return self._anchor(target, label, trail), True

    def _special(self, shown: bool, prefix: str, rest: str, label: str) -> str | None:
        """Return what a link outside the articles shows, None for an article."""
        name = " ".join(prefix.lower().split())
        if name in _CATEGORIES:
            if shown:
                return label or rest
            category = normalise_title(_MARKS.sub("", rest), fragment=True)
            if category:
                self.categories.setdefault(category)
            return ""
        if name in _FILES or prefix in LANGUAGE_CODES:
            return label or rest if shown else ""
        if name in _ELSEWHERE:
            return label or rest.rpartition(":")[2]
        return None

    def _anchor(self, target: str, label: str, trail: str) -> str:
        text = (label or _shown_title(target)) + trail
        title = normalise_title(target, fragment=True)
        full = len(self.targets) >= LINK_LIMIT
        if full or not title or not text.strip() or LINK_END in text:
            return text
        self.targets.append(title)
        return link_start(len(self.targets) - 1) + text + LINK_END


def _shown_title(target: str) -> str:
    page, _, fragment = target.lstrip(":").partition("#")
    return page.strip() or fragment.strip()


def strip_external_links(text: str) -> str:
    """Reduce links to other sites to their labels; without one, to nothing."""
    if "//" not in text and "mailto:" not in text:
        return text
    text = _EXTERNAL.sub(lambda match: (match[1] or "").strip(), text)
    return _EMPTY_EXTERNAL.sub("", text)


@dataclass(slots=True)
class _Frame:
    """An opening bracket that waits for its other half, with the places of its `|`."""

    kind: _Kind
    start: int
    bars: list[int] = field(default_factory=list)


def expand_brackets(text: str, links: Links) -> str:
    """Replace templates by what they show and links by marked anchors.

    A bracket without its other half stays in the text, for later passes to remove; what
    it seemed to enclose is kept. Beyond 40 levels nothing is shown.
    """
    return _Brackets(text, links).run()


class _Brackets:
    def __init__(self, text: str, links: Links) -> None:
        self._text = text
        self._links = links
        self._out: list[str] = []
        self._stack: list[_Frame] = []
        self._braces: list[int] = []
        self._position = 0

    def run(self) -> str:
        while match := _TOKEN.search(self._text, self._position):
            self._out.append(self._text[self._position : match.start()])
            self._position = match.end()
            found = match[0]
            if found == "|":
                if self._stack:
                    self._stack[-1].bars.append(len(self._out))
                self._out.append("|")
            elif found == "[[":
                self._open("link", found)
            elif found[0] == "{":
                self._open_braces(len(found))
            elif found[0] == "}":
                self._close_braces(len(found))
            else:
                self._close_link(len(found))
        self._out.append(self._text[self._position :])
        return "".join(self._out)

    def _open(self, kind: _Kind, token: str) -> None:
        """Push a frame; its bracket stays in the output until it is closed."""
        self._out.append(token)
        if kind != "link":
            self._braces.append(len(self._stack))
        self._stack.append(_Frame(kind, len(self._out)))

    def _open_braces(self, count: int) -> None:
        """Open as many templates as a run of braces can mean."""
        if count == 3:
            self._open("parameter", "{{{")
            return
        if count % 2:
            self._out.append("{")
        for _ in range(count // 2):
            self._open("template", "{{")

    def _close_braces(self, count: int) -> None:
        """Close the innermost templates, as many as a run of braces can."""
        while count >= 2 and self._braces:
            index = self._braces.pop()
            frame = self._stack[index]
            for inner in self._stack[index + 1 :]:
                frame.bars.extend(inner.bars)
            del self._stack[index:]
            parts = self._take(frame)
            if frame.kind == "parameter" and count >= 3:
                count -= 3
                continue
            if frame.kind == "parameter":
                self._out.append("{")
            count -= 2
            if len(self._stack) < _DEPTH:
                self._out.append(self._shown(parts))
        self._out.append("}" * count)

    def _shown(self, parts: list[str]) -> str:
        shown = render_template(parts, self._links.language)
        if not shown and self._text.startswith("'", self._position):
            return EMPTIED
        return shown

    def _close_link(self, count: int) -> None:
        """Close as many links as a run of brackets can, the innermost first."""
        while count >= 2 and self._stack and self._stack[-1].kind == "link":
            frame = self._stack.pop()
            if count == 3 and _unclosed_bracket(self._out[frame.start :]):
                self._out.append("]")
                count -= 1
            count -= 2
            parts = self._take(frame)
            if len(self._stack) < _DEPTH:
                self._show_link(parts, trailing=count == 0)
        self._out.append("]" * count)

    def _show_link(self, parts: list[str], *, trailing: bool) -> None:
        """Put a link's anchor into the output, with the letters right after it."""
        trail = _TRAIL.match(self._text, self._position) if trailing else None
        shown, used = self._links.render(parts, trail[0] if trail else "")
        self._out.append(shown)
        if used and trail:
            self._position = trail.end()

    def _take(self, frame: _Frame) -> list[str]:
        edges = [frame.start - 1, *frame.bars, len(self._out)]
        parts = [
            "".join(self._out[left + 1 : right]) for left, right in pairwise(edges)
        ]
        del self._out[frame.start - 1 :]
        return parts


def _unclosed_bracket(pieces: list[str]) -> bool:
    text = "".join(pieces)
    return text.rfind("[") > text.rfind("]")

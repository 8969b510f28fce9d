"""Templates and links, from the inside out, in one pass with a stack."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from ingest.wikitext.marks import EMPTIED
from ingest.wikitext.templates import render_template

if TYPE_CHECKING:
    from ingest.wikitext.links import Links

__all__ = ["expand_brackets"]

_DEPTH = 40
_TOKEN = re.compile(r"\{\{+|\}\}+|\[\[|\]\]+|\|")
_TRAIL = re.compile("[a-zß-öø-ÿа-яѐ-џґα-ώ]+")
_Kind: TypeAlias = Literal["template", "parameter", "link"]


@dataclass(slots=True)
class _Frame:
    """An opening bracket that waits for its closing one.

    Attributes:
        kind: What it opens.
        start: Place in the output of the first piece after the bracket.
        bars: Places in the output of the `|` that belong to it.
    """

    kind: _Kind
    start: int
    bars: list[int] = field(default_factory=list)


def expand_brackets(text: str, links: Links) -> str:
    """Replace templates by what they show and links by marked anchors.

    A bracket without its other half stays in the text, for later passes to remove;
    what it seemed to enclose is kept. Beyond 40 levels nothing is shown.

    Args:
        text: Wikitext without comments and extension tags.
        links: Collects links and categories.
    """
    return _Brackets(text, links).run()


class _Brackets:
    """The state of one pass."""

    def __init__(self, text: str, links: Links) -> None:
        self._text = text
        self._links = links
        self._out: list[str] = []
        self._stack: list[_Frame] = []
        self._braces: list[int] = []
        self._position = 0

    def run(self) -> str:
        """Return the text without templates and links."""
        while match := _TOKEN.search(self._text, self._position):
            self._out.append(self._text[self._position : match.start()])
            self._position = match.end()
            found = match[0]
            if found == "|":
                self._bar()
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

    def _bar(self) -> None:
        """Note a separator."""
        if self._stack:
            self._stack[-1].bars.append(len(self._out))
        self._out.append("|")

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
        """Return what a template shows."""
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
        """Remove a frame's bracket and content; return its parts."""
        edges = [frame.start - 1, *frame.bars, len(self._out)]
        parts = [
            "".join(self._out[left + 1 : right]) for left, right in pairwise(edges)
        ]
        del self._out[frame.start - 1 :]
        return parts


def _unclosed_bracket(pieces: list[str]) -> bool:
    """Say whether a single square bracket is open at the end."""
    text = "".join(pieces)
    return text.rfind("[") > text.rfind("]")

"""Comments, extension tags and HTML: what is hidden goes, what is shown stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from knowtrail.ingest.wikitext.formulas import readable_formula, superscript
from knowtrail.ingest.wikitext.languages import words
from knowtrail.ingest.wikitext.marks import BREAK, guard

if TYPE_CHECKING:
    from collections.abc import Callable

_DROPPED = words(
    "ref|references|gallery|timeline|score|imagemap|templatestyles|mapframe|maplink|"
    "graph|inputbox|indicator|syntaxhighlight|source|style|script|hiero|includeonly|"
    "categorytree|rss|charinsert|phonos|pre"
)
_SHOWN: dict[str, Callable[[str], str]] = {
    "nowiki": guard,
    "math": lambda body: guard(readable_formula(body)),
    "chem": lambda body: guard(readable_formula(body)),
    "ce": lambda body: guard(readable_formula(body)),
}
_OPENING = re.compile(
    rf"<!--|<({'|'.join(sorted(_DROPPED | set(_SHOWN)))})\b([^<>]{{0,2000}})>",
    re.IGNORECASE,
)
_OWN_LINE = re.compile(r"[ \t]*\n")


def strip_extensions(text: str) -> str:
    """Drop comments, references and the like; show nowiki and formulas as text.

    A tag that is never closed is dropped alone. What nowiki and formulas show is
    guarded, so that later passes see no markup in it.
    """
    return _Extensions(text).run()


class _Extensions:
    """One pass over a text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._out: list[str] = []
        self._closings: dict[str, re.Match[str] | None] = {}

    def run(self) -> str:
        """Return the text without extension tags."""
        position = 0
        while match := _OPENING.search(self._text, position):
            self._out.append(self._text[position : match.start()])
            if match[1] is None:
                position = self._after_comment(match)
            else:
                position = self._after_tag(match)
        self._out.append(self._text[position:])
        return "".join(self._out)

    def _after_comment(self, match: re.Match[str]) -> int:
        """Skip a comment; with its whole line where it stands alone."""
        end = self._text.find("-->", match.end())
        if end < 0:
            return len(self._text)
        before = self._out[-1].rstrip(" \t")
        rest = _OWN_LINE.match(self._text, end + 3)
        alone = match.start() == 0 or before.endswith("\n")
        if rest is None or not alone:
            return end + 3
        self._out[-1] = before
        return rest.end()

    def _after_tag(self, match: re.Match[str]) -> int:
        """Skip an extension tag, or show its content."""
        name = match[1].lower()
        if match[2].endswith("/"):
            return match.end()
        closing = self._closing(name, match.end())
        if closing is None:
            return match.end()
        show = _SHOWN.get(name)
        if show is not None:
            self._out.append(show(self._text[match.end() : closing.start()]))
        return closing.end()

    def _closing(self, name: str, position: int) -> re.Match[str] | None:
        """Find the closing tag after a position; each is searched for once."""
        known = self._closings.get(name)
        if known is None and name in self._closings:
            return None
        if known is None or known.start() < position:
            pattern = re.compile(rf"</{name}\s*>", re.IGNORECASE)
            known = pattern.search(self._text, position)
            self._closings[name] = known
        return known


_PLAIN = words(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|nobr|"
    "noinclude|noscript|nowiki|onlyinclude|poem|q|rb|rp|rt|rtc|ruby|s|samp|small|"
    "span|strike|strong|sub|sup|time|tt|u|var|wbr|references|ref|gallery|section|"
    "includeonly|math|translate|tvar|languages|img|input|button|label|tbody|thead|"
    "tfoot|colgroup|col|chem|ce|hr"
)
_REPLACED = {
    "br": BREAK,
    "p": "\n\n", "div": "\n\n", "blockquote": "\n\n", "center": "\n\n",
    "ul": "\n\n", "ol": "\n\n", "dl": "\n\n", "address": "\n\n",
    "h1": "\n\n", "h2": "\n\n", "h3": "\n\n", "h4": "\n\n", "h5": "\n\n", "h6": "\n\n",
    "table": "\n{|\n", "tr": "\n|-\n", "td": "\n| ", "th": "\n! ", "caption": "\n|+ ",
    "li": "\n* ", "dt": "\n;", "dd": "\n:",
}  # fmt: skip
_CLOSED = {"table": "\n|}\n", "td": "", "th": "", "li": "\n", "dt": "", "dd": "",
           "tr": "", "caption": "", "br": BREAK}  # fmt: skip
_HTML = re.compile(
    rf"<(/?)({'|'.join(sorted({*_PLAIN, *_REPLACED}, key=len, reverse=True))})"
    r"(?=[\s/>])([^<>]{0,2000})>",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"<span[^<>]{0,300}display\s*:\s*none[^<>]{0,300}>[^<>]{0,300}</span\s*>",
    re.IGNORECASE,
)
_RAISED = re.compile(r"<sup\b[^<>]{0,300}>([^<>]{0,60})</sup\s*>", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"""(?:row|col)span\s*=\s*["']?\d+["']?""", re.IGNORECASE)


def strip_html(text: str) -> str:
    """Drop the HTML tags that MediaWiki knows; blocks become lines, tables tables."""
    if "<" not in text:
        return text
    text = _HIDDEN.sub("", text)
    text = _RAISED.sub(lambda match: superscript(match[1]), text)
    return _HTML.sub(_html, text)


def _html(match: re.Match[str]) -> str:
    """Return what stands in the text for one tag."""
    name = match[2].lower()
    if match[1]:
        return _CLOSED.get(name, _REPLACED.get(name, ""))
    if name in {"td", "th"}:
        spans = " ".join(_ATTRIBUTES.findall(match[3]))
        return f"{_REPLACED[name]}{spans} | " if spans else _REPLACED[name]
    return _REPLACED.get(name, "")

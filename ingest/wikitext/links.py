"""Links between pages and to other sites."""

from __future__ import annotations

import re

from ingest.keys import normalise_title
from ingest.wikitext.languages import (
    CATEGORY_PREFIXES,
    FILE_PREFIXES,
    INTERWIKI_PREFIXES,
    LANGUAGE_CODES,
    OTHER_NAMESPACES,
)
from ingest.wikitext.marks import LINK_END, LINK_LIMIT, MARKS, link_start, unguard

__all__ = ["Links", "strip_external_links"]

_MARKS = re.compile(MARKS)
_NOT_IN_TITLES = frozenset("<>{}[]\n")
_EXTERNAL = re.compile(
    r"\[(?:(?:https?:|ftps?:|news:|irc:)?//|mailto:)[^\s\[\]<>\"]{1,4000}"
    r"([ \t][^\[\]\n]{0,2000}(?:\[[^\[\]\n]{0,200}\][^\[\]\n]{0,2000})?)?\]"
)
_EMPTY_EXTERNAL = re.compile(r"\[https?://[^\s\[\]<>\"]{1,4000}")


class Links:
    """Collects the links and categories of a page.

    Attributes:
        language: Language of the wiki.
        targets: Titles that anchors point to; the number in a mark is the index.
        categories: Names of categories in order of appearance.
    """

    def __init__(self, language: str) -> None:
        """Start without links."""
        self.language = language
        self.targets: list[str] = []
        self.categories: dict[str, None] = {}

    def render(self, parts: list[str], trail: str) -> tuple[str, bool]:
        """Return what a link shows and whether the letters after it belong to it.

        Args:
            parts: Target and what follows it, as they were separated by `|`.
            trail: Letters that directly follow the link.
        """
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
        """Return what a link outside the articles shows, None for an article.

        Args:
            shown: Whether a leading colon asks for the link to be shown.
            prefix: What stands before the first colon.
            rest: What stands after it.
            label: Text to show, if any.
        """
        name = " ".join(prefix.lower().split())
        if name in CATEGORY_PREFIXES:
            if shown:
                return label or rest
            category = normalise_title(_MARKS.sub("", rest))
            if category:
                self.categories.setdefault(category)
            return ""
        if name in FILE_PREFIXES:
            return label or rest if shown else ""
        if prefix in LANGUAGE_CODES:
            return label or rest if shown else ""
        if name in INTERWIKI_PREFIXES or name in OTHER_NAMESPACES:
            return label or rest.rpartition(":")[2]
        return None

    def _anchor(self, target: str, label: str, trail: str) -> str:
        """Return the marked anchor of a link to an article."""
        text = (label or _shown_title(target)) + trail
        title = normalise_title(target)
        if not title or not text.strip() or len(self.targets) >= LINK_LIMIT:
            return text
        if LINK_END in text:
            return text
        self.targets.append(title)
        return link_start(len(self.targets) - 1) + text + LINK_END


def _shown_title(target: str) -> str:
    """Return what a link without a label shows."""
    page, _, fragment = target.lstrip(":").partition("#")
    return page.strip() or fragment.strip()


def strip_external_links(text: str) -> str:
    """Reduce links to other sites to their labels; without one, to nothing."""
    if "//" not in text and "mailto:" not in text:
        return text
    text = _EXTERNAL.sub(lambda match: (match[1] or "").strip(), text)
    return _EMPTY_EXTERNAL.sub("", text)

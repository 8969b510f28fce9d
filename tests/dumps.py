"""MediaWiki dumps made for a test: written page by page, or cut from a real one."""

from __future__ import annotations

import bz2
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" xml:lang="en">
  <siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname>
  <base>https://en.wikipedia.org/wiki/Main_Page</base></siteinfo>
"""
TAIL = "</mediawiki>\n"
ENGLISH = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
BULGARIAN = "bgwiki-latest-pages-articles-shortened.xml.bz2"
TABLES = "enwiki-table-markup.xml.bz2"
_PAGE = re.compile(r"<page>.*?</page>\s*", re.DOTALL)
_TITLE = re.compile(r"<title>(.*?)</title>")


def page(title: str, text: str, *, number: int) -> str:
    """Return a page as dumps have it."""
    return (
        f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id>"
        f"<revision><id>{number}00</id>"
        f'<text xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )


def dump(*pages: str) -> str:
    """Return a whole dump of pages."""
    return HEAD + "".join(pages) + TAIL


def multistream(pages: Sequence[str], *, each: int) -> bytes:
    """Return a dump as Wikipedia packs it: head, so many pages and end as streams."""
    groups = ["".join(pages[n : n + each]) for n in range(0, len(pages), each)]
    return b"".join(bz2.compress(text.encode()) for text in (HEAD, *groups, TAIL))


def sample(shared: Path, name: str = ENGLISH) -> Path:
    """Return the path of a real dump."""
    return shared / "data" / "wikipedia" / name


def cut(shared: Path, target: Path, *, titles: Collection[str]) -> Path:
    """Write the pages of these titles, from the English dump, as a dump of its own.

    Args:
        shared: The folder of shared data.
        target: File to write, compressed with bzip2.
        titles: Titles of the pages to keep.

    Returns:
        The target.
    """
    kept = [text for text in pages(shared) if _title(text) in titles]
    target.write_bytes(bz2.compress(dump(*kept).encode()))
    return target


def pages(shared: Path) -> list[str]:
    """Return the pages of the English dump."""
    whole = bz2.decompress(sample(shared).read_bytes()).decode()
    return _PAGE.findall(whole)


def _title(text: str) -> str:
    """Return the title of a page's XML."""
    found = _TITLE.search(text)
    return "" if found is None else found[1]

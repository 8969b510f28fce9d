"""The real dumps give the pages, links and texts that they hold."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from knowtrail.ingest.keys import normalise_title
from knowtrail.ingest.records import LeftOut, RawDocument, RawRedirect
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.wikitext import parse_wikitext
from tests.cases import each

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.ingest.records import Item, ParsedDocument

ENGLISH = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
BULGARIAN = "bgwiki-latest-pages-articles-shortened.xml.bz2"
TABLES = "enwiki-table-markup.xml.bz2"


def _read(shared: Path, name: str) -> list[Item]:
    return list(DumpSource([shared / "data" / "wikipedia" / name]).items())


def _parsed(items: list[Item]) -> dict[str, ParsedDocument]:
    return {
        item.title: parse_wikitext(item.raw, language=item.language)
        for item in items
        if isinstance(item, RawDocument)
    }


@pytest.fixture(scope="module")
def english(shared: Path) -> list[Item]:
    """Return the items of the English dump."""
    return _read(shared, ENGLISH)


@pytest.fixture(scope="module")
def timed(english: list[Item]) -> tuple[dict[str, ParsedDocument], float]:
    """Return its articles, parsed, by title, and the seconds that this took."""
    started = time.process_time()
    return _parsed(english), time.process_time() - started


@pytest.fixture(scope="module")
def pages(
    timed: tuple[dict[str, ParsedDocument], float],
) -> dict[str, ParsedDocument]:
    """Return its articles, parsed, by title."""
    return timed[0]


@pytest.fixture(scope="module")
def tables(shared: Path) -> dict[str, ParsedDocument]:
    """Return the articles of the table-heavy dump, parsed, by title."""
    return _parsed(_read(shared, TABLES))


@pytest.fixture(scope="module")
def every_page(
    pages: dict[str, ParsedDocument],
    tables: dict[str, ParsedDocument],
    shared: Path,
) -> dict[str, ParsedDocument]:
    """Return all articles of all three dumps."""
    return {**tables, **pages, **_parsed(_read(shared, BULGARIAN))}


def test_english_dump_has_its_pages(english: list[Item]) -> None:
    """98 articles, 100 redirects, 8 disambiguation pages, and nothing failed."""
    kinds = Counter(type(item) for item in english)
    reasons = Counter(item.reason for item in english if isinstance(item, LeftOut))

    assert kinds == {RawDocument: 98, RawRedirect: 100, LeftOut: 8}
    assert reasons == {"disambiguation": 8}


def test_redirects_that_reach_an_article(english: list[Item]) -> None:
    """13 point into the sample, 87 wait for their target."""
    titles = {
        normalise_title(item.title) for item in english if isinstance(item, RawDocument)
    }

    inside = [
        item
        for item in english
        if isinstance(item, RawRedirect) and item.target in titles
    ]

    assert len(inside) == 13


def test_bulgarian_dump_is_read(shared: Path) -> None:
    """UTF-16: one article, two project pages left out."""
    items = _read(shared, BULGARIAN)

    reasons = [item.reason for item in items if isinstance(item, LeftOut)]
    (page,) = _parsed(items).values()

    assert reasons == ["namespace", "namespace"]
    assert page.text.startswith("Григорианският календар (понякога наричан")
    assert page.categories == ("Календари",)
    assert [section.title for section in page.sections] == [
        "Описание",
        "Григорианската промяна",
    ]


def test_pages_of_tables_read_on(tables: dict[str, ParsedDocument]) -> None:
    """Five articles; the one that is nearly all tables keeps its rows."""
    awards = tables["Academy Award for Best Production Design"].text

    assert len(tables) == 5
    assert min(len(page.text) for page in tables.values()) > 4_000
    assert "Interior decorator: William Cameron Menzies; Film: The Dove." in awards
    assert "Film:" not in tables["Brahui language"].text


LEFTOVERS = {
    "braces": r"\{\{|\}\}|\{\||\|\}",
    "links": r"\[\[|\]\]|\[http",
    "headings": r"==|^=|=$",
    "references": r"<ref|</ref|cite (?:web|book|news|journal)",
    "tags": r"</?(?:br|small|sup|sub|div|span|p|i|b|center|nowiki|math|gallery)\b",
    "attributes": r"(?:style|align|class|colspan|rowspan|bgcolor|width) ?=",
    "pictures": r"\bthumb\||\b\d+px\b|\.(?:jpg|jpeg|svg|png|gif)\b(?!\w)",
    "namespaces": r"\b(?:File|Image|Category|Template):\w",
    "quotes": r"''",
    "empty brackets": r"\( *\)|\[ *\]|⟨ *⟩|\(\s|\s\)|\([,;]|[,;]\)",
    "spaces": r"  |^ | $|\t| ,(?=\s)| \.(?=\s)",
    "punctuation": r",,|,\.(?=\s)|;;|;\.",
    "entities": r"&(?:nbsp|ndash|mdash|amp|lt|gt|quot|#\d+);",
    "invisible": r"[\x00-\x09\x0b-\x1f\x7f-\xa0\u200b\ufeff\U000f0000-\U0010ffff]",
    "lines": r"^[|!*#:;](?!\S*-)|^[,.](?!\.)|\n\n\n",
    "magic words": r"__[A-Z]+__",
}  # fmt: skip


@each("pattern", LEFTOVERS)
def test_no_markup_is_left(every_page: dict[str, ParsedDocument], pattern: str) -> None:
    """No page of the sample shows a trace of how it was written."""
    left = re.compile(pattern, re.MULTILINE)

    found = [
        (title, page.text[max(0, match.start() - 30) : match.end() + 30])
        for title, page in every_page.items()
        for match in left.finditer(page.text)
    ]

    assert found == []


def test_bars_and_braces_are_the_authors_own(
    every_page: dict[str, ParsedDocument],
) -> None:
    """Single bars and braces are left only where the articles are about them."""
    titles = {
        title for title, page in every_page.items() if re.search(r"[|{}]", page.text)
    }

    assert titles == {"ASCII", "Ambiguity", "Analysis of variance", "Afghanistan"}


def test_links_name_what_they_show(every_page: dict[str, ParsedDocument]) -> None:
    """Every anchor is visible text without markup, every target a title."""
    wrong = [
        (title, page.text[link.start : link.end], link.target)
        for title, page in every_page.items()
        for link in page.links
        if not page.text[link.start : link.end].strip()
        or link.target != normalise_title(link.target)
        or re.search(r"[\n\[\]{}|]", link.target)
    ]

    assert wrong == []
    assert sum(len(page.links) for page in every_page.values()) > 15_000


@pytest.mark.parametrize(
    ("title", "sentence"),
    [
        ("Autism", "Autism is a neurodevelopmental disorder characterized by impaired "
         "social interaction, verbal and non-verbal communication, and restricted and "
         "repetitive behavior."),
        ("Autism", "Controversies surround other proposed environmental causes; for "
         "example, the vaccine hypotheses have been disproven."),
        ("Alkane", "For example, methane is CH4, in which n = 1 (n being the number of "
         "carbon atoms)."),
        ("Aikido", "Aikido (合気道, Aikidō) is a modern Japanese martial art developed "
         "by Morihei Ueshiba"),
        ("Apollo 11", "on July 20, 1969, at 20:18 UTC. Armstrong became the first"),
        ("Acid", "concentration of hydrogen ions (H⁺), or more accurately, hydronium "
         "ions (H3O⁺), when dissolved in water."),
        ("Ayn Rand", "from the Hebrew word עין (ayin, meaning \"eye\")."),
    ],
)  # fmt: skip
def test_sentences_read_as_on_the_page(
    pages: dict[str, ParsedDocument], title: str, sentence: str
) -> None:
    """Sentences with templates, formulas and other scripts are whole."""
    assert sentence in pages[title].text


def test_trailing_sections_are_gone(every_page: dict[str, ParsedDocument]) -> None:
    """No page keeps its references, and the sections before them are there."""
    titles = {
        section.title for page in every_page.values() for section in page.sections
    }
    autism = [section.title for section in every_page["Autism"].sections]

    assert titles.isdisjoint({"References", "External links", "See also", "Notes"})
    assert autism[0] == "Characteristics"
    assert autism[-1] == "History"


KEPT = {
    2: "He said “hello” and ‘bye’ – yes — no… end.",  # noqa: RUF001 - typography stays
    3: "A table row after.",  # a table begins with its line
    4: r"""Name \"quoted\" and it\'s \n new \t tab.""",  # wikitext has no escapes
    6: "x == y == z stays?",  # no heading: it does not begin the line
    7: "One two three four [a] five.",  # and the space before the full stop goes
    8: "NOTES are kept. == Notes == cut == Legacy == also cut",  # nor is this one
}
"""Vectors of the reference whose outcome would not serve a reader, and ours."""


@each("number", range(9))
def test_reference_cleaning(shared: Path, number: int) -> None:
    """The published cleaning is followed, apart from its defects."""
    path = shared / "vectors" / "traversal" / "wiki_cleaning.json"
    vector = json.loads(path.read_text("utf-8"))["cleaning"][number]

    text = " ".join(parse_wikitext(vector["raw"]).text.split())

    assert text == KEPT.get(number, vector["cleaned"])


def test_parsing_is_fast(timed: tuple[dict[str, ParsedDocument], float]) -> None:
    """Six megabytes of wikitext take a small part of what embedding them takes."""
    pages, seconds = timed

    assert len(pages) == 98
    assert seconds < 8

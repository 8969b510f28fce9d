"""A page of wikitext: a redirect, a disambiguation page, or the text of an article."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from knowtrail.ingest.records import Link, ParsedDocument, Section
from knowtrail.ingest.wikitext.blocks import read_blocks
from knowtrail.ingest.wikitext.links import Links, expand_brackets, strip_external_links
from knowtrail.ingest.wikitext.marks import clean_input
from knowtrail.ingest.wikitext.tags import strip_extensions, strip_html
from knowtrail.ingest.wikitext.tidy import locate_links, tidy

if TYPE_CHECKING:
    from knowtrail.ingest.wikitext.blocks import Block

DISAMBIGUATION_TEMPLATES = frozenset({
    # English
    "disambiguation", "disambig", "disamb", "dab", "disam", "dbig", "disambiguate",
    "disambiguation page", "disambiguation cleanup", "disambig-cleanup",
    "disambig cleanup", "hndis", "hndisambig", "hndis-cleanup", "human name dab",
    "human name disambiguation", "geodis", "geodab", "place name disambiguation",
    "numberdis", "number disambiguation", "schooldis", "school disambiguation",
    "hospitaldis", "hospital disambiguation", "mathdab", "mathematical disambiguation",
    "mathematics disambiguation", "airport disambiguation", "biology disambiguation",
    "call sign disambiguation", "callsigndis", "caselaw disambiguation",
    "chinese title disambiguation", "church disambiguation", "churchdis",
    "genus disambiguation", "letter disambiguation", "letter-number combination "
    "disambiguation", "letter-numbercombdisambig", "molformdisambig",
    "molecular formula disambiguation", "music disambiguation", "opus disambiguation",
    "phonetics disambiguation", "portal disambiguation", "roaddis",
    "road disambiguation", "species latin name disambiguation", "latindab",
    "species latin name abbreviation disambiguation", "station disambiguation",
    "synagogue disambiguation", "taxonomic authority disambiguation",
    "template disambiguation", "3cc", "4cc", "tla", "tladisambig",
    # German, French, Spanish, Italian, Portuguese, Catalan, Dutch
    "begriffsklärung", "homonymie", "homonyme", "paronymie", "patronyme",
    "desambiguación", "desambiguacion", "desambig", "des", "disambigua",
    "desambiguação", "desambiguació", "doorverwijspagina", "dp",
    # Slavic languages
    "пояснение", "неоднозначность", "многозначность", "disambig-more",
    "фамилия-тёзки", "список однофамильцев", "список однофамильцев-тёзок",
    "багатозначність", "неоднозначнасць", "вишезначна одредница",
    "вишезначна", "појаснување", "ujednoznacznienie", "rozcestník", "rozlišovacia "
    "stránka", "razločitev", "višeznačna odrednica", "razdvojba", "višeznačnica",
    # Nordic and Baltic languages, Finnish, Estonian, Hungarian
    "förgrening", "gaffelsida", "grensida", "flertydig", "peker", "pekerside",
    "peiker", "aðgreining", "täsmennyssivu", "täpsustuslehekülg", "täpsustus",
    "egyért", "egyértelműsítő lap", "egyértelműsítő", "nozīmju atdalīšana",
    "nuorodinis straipsnis",
    # Romanian, Turkish, Greek, Hebrew, Arabic, Persian
    "dezambiguizare", "anlam ayrımı", "anlam ayrım", "αποσαφήνιση", "αποσαφ",
    "פירושונים", "توضيح", "صفحة توضيح", "ابهام‌زدایی", "ابهام زدایی",
    # East and South-East Asia
    "aimai", "曖昧さ回避", "人名の曖昧さ回避", "地名の曖昧さ回避", "消歧义", "消歧義",
    "消歧义页", "消歧義頁", "동음이의", "동명이인", "định hướng", "trang định hướng",
    "disambigu", "disambiguasi", "แก้ความกำกวม",
})  # fmt: skip
"""Names of templates that mark such a page, in lower case."""

_TEMPLATE = re.compile(r"\{\{\s*([^{}|<>\n\[\]]{1,60}?)\s*(?=[|}\n<])")
_MAGIC = re.compile(r"__DISAMBIG__", re.IGNORECASE)
_REDIRECT = re.compile(
    r"\s*#\s*(?:REDIRECT(?:ION|ED)?|WEITERLEITUNG|REDIRECCI[OÓ]N|REDIRECIONAMENTO|"
    r"RINVIA|DOORVERWIJZING|OMDIRIGERING|OMDIRIGER|UUDELLEENOHJAUS|OHJAUS|SUUNA|"
    r"PATRZ|PRZEKIERUJ|TAM|P[RŘ]ESM[EĚ]RUJ|ÁTIRÁNYÍTÁS|Y[OÖ]NLEND[İI]RME?|"
    r"REDIRECTEAZA|ALIH|ПЕРЕНАПРАВЛЕНИЕ|ПЕРЕНАПР|ПЕРЕНАПРАВЛЕННЯ|ПРЕНАСОЧВАНЕ|"
    r"ВИЖ|ПРЕУСМЕРИ|ΑΝΑΚΑΤΕΥΘΥΝΣΗ|הפניה|تحويل|تغییر_?مسیر|転送|リダイレクト|"
    r"重定向|넘겨주기|ĐỔI)"
    r"\s*:?\s*\[\[([^\[\]|\n]{1,500})(?:\|[^\[\]]{0,500})?\]\]",
    re.IGNORECASE,
)


def is_disambiguation(raw: str) -> bool:
    """Say whether a page only tells the meanings of its title apart."""
    return _is_marked(raw) and _is_marked(strip_extensions(raw))


def _is_marked(text: str) -> bool:
    """Say whether a text has a mark of such pages."""
    if _MAGIC.search(text):
        return True
    return any(
        match[1].replace("_", " ").lower() in DISAMBIGUATION_TEMPLATES
        for match in _TEMPLATE.finditer(text)
    )


def redirect_target(raw: str) -> str | None:
    """Return the title that a page redirects to, as it is written, or None."""
    match = _REDIRECT.match(raw)
    return match[1].strip() if match else None


def parse_wikitext(raw: str, *, language: str = "en") -> ParsedDocument:
    """Return a page's text as a person would read it, and what it contains.

    Boxes, notes, references, pictures and navigation are gone; so are tables, unless
    they are most of the page, when each row becomes a sentence. Headings are not in
    the text. Nothing in `raw` makes this raise, and its time is linear in `raw`.

    Args:
        raw: Wikitext of a page.
        language: Language of the wiki, for its prefixes and headings.

    Example:
        >>> parse_wikitext("A '''[[cat]]''' {{convert|4|kg}}.").text
        'A cat 4 kg.'
    """
    links = Links(language)
    text = strip_extensions(clean_input(raw))
    text = expand_brackets(text, links)
    text = strip_external_links(strip_html(text))
    return _assembled(read_blocks(text, language), links)


def _assembled(blocks: list[Block], links: Links) -> ParsedDocument:
    """Join blocks to a document."""
    texts: list[str] = []
    found: list[Link] = []
    headings: list[Section] = []
    length = 0
    for block in blocks:
        start = length + 2 if texts else 0
        if block.kind == "heading":
            title = tidy(block.text, links.language).replace("\n", " ")
            headings.append(Section(title=title, start=start, level=block.level))
            continue
        text, located = locate_links(tidy(block.text, links.language), links.targets)
        if not text:
            continue
        texts.append(text)
        found.extend(
            Link(start=start + link.start, end=start + link.end, target=link.target)
            for link in located
        )
        length = start + len(text)
    return ParsedDocument(
        text="\n\n".join(texts),
        links=tuple(found),
        sections=_with_text(headings, length),
        categories=tuple(links.categories),
    )


def _with_text(headings: list[Section], length: int) -> tuple[Section, ...]:
    """Leave out sections without any text, also of their sub-sections."""
    kept: list[Section] = []
    open_sections: list[Section] = []
    for section in [*headings, Section(title="", start=length + 2, level=0)]:
        while open_sections and open_sections[-1].level >= section.level:
            done = open_sections.pop()
            if done.start < min(section.start, length):
                kept.append(done)
        open_sections.append(section)
    return tuple(sorted(kept, key=lambda section: (section.start, section.level)))

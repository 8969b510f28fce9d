"""What kind of page a wikitext is: a redirect, a disambiguation page, an article."""

from __future__ import annotations

import re

from ingest.wikitext.tags import strip_extensions

__all__ = ["DISAMBIGUATION_TEMPLATES", "is_disambiguation", "redirect_target"]

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
    """Say whether a page only tells the meanings of its title apart.

    Args:
        raw: Wikitext; templates inside comments do not count.
    """
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

"""Names of the templates that show something, sorted by what they show."""

from __future__ import annotations

import re

from ingest.wikitext.marks import BREAK
from ingest.wikitext.words import words

__all__ = [
    "CONSTANTS",
    "FIRST_NAMES",
    "JOINED",
    "LAST_NAMES",
    "MONEY",
    "PRONUNCIATIONS",
    "QUOTES",
    "SHIPS",
]

PRONUNCIATIONS = re.compile(
    r"ipac?-.+|age|time ago|respell|pron(?:-.*|unciation)?|usdict|audio(?:-.*)?|"
    r"pronunciation|listen|мфа|api|lautschrift|afi|fonetisch"
)
CONSTANTS = {
    "'": "'", "'s": "'s", "' \"": "'\"", "\" '": "\"'", "-\"": "\"", "\"": "\"",
    "!": "|", "=": "=", "((": "{{", "))": "}}", "!!": "||", "!-": "|-", "(!": "{|",
    "!)": "|}", "pipe": "|", "nbsp": " ", "sp": " ", "space": " ", "spaces": " ",
    "thinsp": " ", "hairsp": " ", "nnbsp": " ", "ensp": " ", "emsp": " ", "pad": " ",
    "ndash": "–", "mdash": "—", "spaced ndash": " – ", "snd": " – ", "snds": " – ",
    "spnd": " – ", "spndash": " – ", "spaced en dash": " – ", "nsndns": " – ",
    "spaced mdash": " — ", "mdashb": " — ", "sems": " — ", "emdash": "—",
    "endash": "–", "·": " · ", "dot": " · ", "middot": " · ", "•": " • ",
    "bull": " • ", "bullet": " • ", "*": " • ", "**": " • ", "\\": " / ",
    "ellipsis": "…", "...": "…", "asterisk": "*", "dagger": "†", "double-dagger": "‡",
    "shy": "", "wbr": "", "zwj": "\u200d", "zwnj": "\u200c", "okina": "ʻ",
    "hamza": "ʾ", "ayin": "ʿ", "prime": "′", "minus": "−", "times": "×", "deg": "°",
    "carbon": "C", "hydrogen": "H", "oxygen": "O", "nitrogen": "N", "eqm": " ⇌ ",
    "n/a": "", "dunno": "?", "yes": "Yes", "no": "No", "tick": "Yes", "cross": "No",
    "partial": "Partial", "won": "Won", "nom": "Nominated", "pending": "Pending",
    "tba": "TBA", "tbd": "TBD", "bce": "BCE", "ce": "CE", "bc": "BC", "ad": "AD",
    "euro": "€", "currentyear": "", "br": BREAK, "break": BREAK, "-": "\n",
    "clear": "\n",
    "end plainlist": "\n", "col-begin": "\n", "col-end": "\n", "col-break": "\n",
}  # fmt: skip

FIRST_NAMES = words(
    "nowrap|nobr|nwr|small|smaller|big|bigger|large|larger|huge|center|nobold|"
    "noitalic|noitalics|normal|sc|smallcaps|smallcaps2|allcaps|aut|vanchor|abbr|"
    "abbrlink|tooltip|math|mvar|var|mono|tt|code|kbd|samp|overline|underline|"
    "strikethrough|strike|sub|em|strong|gloss|nastaliq|naskh|polytonic|unicode|grc|"
    "hebrew|hebr|arabic|iast|flag|flagcountry|flagu|flagathlete|cn-span|delink|"
    "highlight|blockindent|longitem|sigfig|rnd|typo|pre2|dfn|ruby|marriage|ordinal|"
    "cyrl"
) | {
    "visible anchor", "not a typo", "as written", "proper name", "citation needed span",
    "clarify span", "fact span", "disputed span", "block indent", "small caps",
    "script/hebrew", "script/nastaliq", "script/arabic", "no wrap", "no bold",
    "lang-unspecified", "nobold", "noredlink", "мало", "пп",
}  # fmt: skip
LAST_NAMES = words(
    "lang|transl|transliteration|script|rtl-lang|resize|font|color|colour|fontcolor|"
    "align|bg|wikt-lang|tlit|lang2|langue"
) | {"font color", "background color", "rtl lang"}
JOINED = {
    "keypress": "+", "key press": "+", "key": "+", "hlist": ", ",
    "ubl": ", ", "unbulleted list": ", ", "vunblist": ", ", "enum": ", ", "chem": "",
    "chem2": "", "date": " ", "linktext": " ", "bibleref": " ", "bibleverse": " ",
    "bibleref2": " ",
}  # fmt: skip
QUOTES = frozenset({
    "quote", "blockquote", "quotation", "cquote", "bquote", "block quote", "rquote",
    "quote1", "quotation1", "centered quote", "long quote", "verse translation",
    "poem quote", "poemquote", "цитат", "zitat", "cita", "citazione", "citaat",
    "quoteblock", "talkquote", "epigraph",
})  # fmt: skip
SHIPS = words(
    "uss|hms|ss|ms|mv|rms|hmas|hmcs|hmnzs|usns|usat|sms|rv|hmhs|usrc|uscgc|ins|nms|"
    "gts|ps|pt|rfa|css"
)
MONEY = {
    "us$": "US$", "usd": "US$", "us dollar": "US$", "gbp": "£", "£": "£", "eur": "€",
    "€": "€", "inr": "₹", "indian rupee": "₹", "₹": "₹", "jpy": "¥", "¥": "¥",
    "cny": "CN¥", "a$": "A$", "aud": "A$", "au$": "A$", "c$": "C$", "cad": "C$",
    "canadian dollar": "C$", "nz$": "NZ$", "hk$": "HK$", "rub": "₽", "krw": "₩",
    "₩": "₩", "php": "₱", "s$": "S$", "chf": "CHF ", "brl": "R$", "pound": "£",
}  # fmt: skip

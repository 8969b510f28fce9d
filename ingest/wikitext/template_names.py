"""Names of the templates that show something, sorted by what they show.

Codes of countries are such names too: {{FRA}} shows France.
"""

from __future__ import annotations

import re

from knowtrail.ingest.wikitext.languages import words
from knowtrail.ingest.wikitext.marks import BREAK

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


_NAMES = """
ABW Aruba|AFG Afghanistan|AGO Angola|AIA Anguilla|ALB Albania|AND Andorra|ANG Angola|
ARE United Arab Emirates|ARG Argentina|ARM Armenia|ATG Antigua and Barbuda|
AUS Australia|AUT Austria|AZE Azerbaijan|BDI Burundi|BEL Belgium|BEN Benin|
BFA Burkina Faso|BGD Bangladesh|BGR Bulgaria|BHR Bahrain|BHS Bahamas|
BIH Bosnia and Herzegovina|BLR Belarus|BLZ Belize|BMU Bermuda|BOL Bolivia|BRA Brazil|
BRB Barbados|BRN Brunei|BTN Bhutan|BUL Bulgaria|BVT Bouvet Island|BWA Botswana|
CAF Central African Republic|CAN Canada|CHE Switzerland|CHI Chile|CHL Chile|CHN China|
CIV Ivory Coast|CMR Cameroon|COD Democratic Republic of the Congo|
COG Republic of the Congo|COL Colombia|COM Comoros|CPV Cape Verde|CRI Costa Rica|
CRO Croatia|CUB Cuba|CUR Curaçao|CUW Curaçao|CYM Cayman Islands|CYP Cyprus|
CZE Czech Republic|DEN Denmark|DEU Germany|DJI Djibouti|DMA Dominica|DNK Denmark|
DOM Dominican Republic|DZA Algeria|ALG Algeria|ECU Ecuador|EGY Egypt|ENG England|
ERI Eritrea|ESH Western Sahara|ESP Spain|EST Estonia|ETH Ethiopia|FIN Finland|FJI Fiji|
FLK Falkland Islands|FRA France|FRO Faroe Islands|FSM Federated States of Micronesia|
GAB Gabon|GBR United Kingdom|GEO Georgia|GER Germany|GGY Guernsey|GHA Ghana|
GIB Gibraltar|GIN Guinea|GLP Guadeloupe|GMB Gambia|GNB Guinea-Bissau|
GNQ Equatorial Guinea|GRC Greece|GRE Greece|GRD Grenada|GRL Greenland|GTM Guatemala|
GUF French Guiana|GUM Guam|GUY Guyana|HKG Hong Kong|HND Honduras|HON Honduras|
HRV Croatia|HTI Haiti|HUN Hungary|IDN Indonesia|IMN Isle of Man|IOM Isle of Man|
IND India|IRI Iran|IRL Ireland|IRN Iran|IRQ Iraq|ISL Iceland|ISR Israel|ITA Italy|
JAM Jamaica|JEY Jersey|JOR Jordan|JPN Japan|KAZ Kazakhstan|KEN Kenya|KGZ Kyrgyzstan|
KHM Cambodia|KIR Kiribati|KNA Saint Kitts and Nevis|SKN Saint Kitts and Nevis|
KOR South Korea|KOS Kosovo|KSA Saudi Arabia|KWT Kuwait|LAO Laos|LBN Lebanon|
LBR Liberia|LBY Libya|LCA Saint Lucia|LIE Liechtenstein|LKA Sri Lanka|LSO Lesotho|
LTU Lithuania|LUX Luxembourg|LVA Latvia|MAC Macau|MAF Saint Martin|MAR Morocco|
MCO Monaco|MDA Moldova|MDG Madagascar|MDV Maldives|MEX Mexico|MHL Marshall Islands|
MKD Macedonia|MLI Mali|MLT Malta|MMR Myanmar|MNE Montenegro|MNG Mongolia|
MOZ Mozambique|MRT Mauritania|MSR Montserrat|MTQ Martinique|MUS Mauritius|MWI Malawi|
MYS Malaysia|NAM Namibia|NCL New Caledonia|NED Netherlands|NER Niger|NGA Nigeria|
NGR Nigeria|NIC Nicaragua|NLD Netherlands|NOR Norway|NPL Nepal|NRU Nauru|
NZL New Zealand|OMN Oman|PAK Pakistan|PAN Panama|PER Peru|PHI Philippines|
PHL Philippines|PLW Palau|PNG Papua New Guinea|POL Poland|POR Portugal|
PRI Puerto Rico|PRK North Korea|PRT Portugal|PRY Paraguay|PSE Palestine|QAT Qatar|
ROM Romania|ROU Romania|RSA South Africa|RUS Russia|RWA Rwanda|SAU Saudi Arabia|
SCO Scotland|SDN Sudan|SEN Senegal|SGP Singapore|
SGS South Georgia and the South Sandwich Islands|SHN Saint Helena|SLB Solomon Islands|
SLE Sierra Leone|SLV El Salvador|SMR San Marino|SOM Somalia|SRB Serbia|
SSD South Sudan|STP São Tomé and Príncipe|SUI Switzerland|SUR Suriname|SVK Slovakia|
SVN Slovenia|SLO Slovenia|SWE Sweden|SWZ Swaziland|SXM Sint Maarten|SYC Seychelles|
SYR Syria|TCA Turks and Caicos Islands|TCD Chad|TGO Togo|THA Thailand|TJK Tajikistan|
TKM Turkmenistan|TLS East Timor|TON Tonga|TTO Trinidad and Tobago|TUN Tunisia|
TUR Turkey|TUV Tuvalu|TWN Taiwan|TZA Tanzania|UAE United Arab Emirates|UGA Uganda|
UK United Kingdom|UKR Ukraine|URS Soviet Union|URU Uruguay|URY Uruguay|
USA United States|UZB Uzbekistan|VAT Vatican City|
VCT Saint Vincent and the Grenadines|VEN Venezuela|VGB British Virgin Islands|
VIR United States Virgin Islands|VNM Vietnam|VUT Vanuatu|WAL Wales|WSM Samoa|
YEM Yemen|YUG Yugoslavia|ZAF South Africa|ZMB Zambia|ZWE Zimbabwe|TCH Czechoslovakia
"""
COUNTRIES = dict(entry.split(" ", 1) for entry in _NAMES.replace("\n", "").split("|"))
"""English names by three-letter code, of ISO 3166 and of sports."""

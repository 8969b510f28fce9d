"""Templates whose visible text belongs to the sentence, with numbers and measures.

All others show nothing. The tables are modest on purpose: what a reader would miss in a
sentence is here, boxes, notes about the article, navigation and citations are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from knowtrail.ingest.wikitext.marks import BREAK, DROPPED
from knowtrail.ingest.wikitext.words import LANGUAGE_CODES, WORDS

_UNITS: dict[str, str] = WORDS["units"]
_RANGES: dict[str, str] = WORDS["ranges"]
_PLAIN_NUMBER = re.compile(r"([-−+]?)(\d+)((?:\.\d+)?)")
_POINT_GROUPS = frozenset(WORDS["point_groups"])
_SPACE_GROUPS = frozenset(WORDS["space_groups"])


def with_separators(number: str, language: str = "en") -> str:
    """Return a plain number with its thousands apart, anything else as it is."""
    match = _PLAIN_NUMBER.fullmatch(number.strip())
    if match is None or len(match[2]) < 4 or len(match[2]) > 60:
        return number.strip()
    base = language.partition("-")[0]
    grouped = f"{int(match[2]):,}"
    if base in _POINT_GROUPS:
        return match[1] + grouped.replace(",", ".") + match[3].replace(".", ",")
    if base in _SPACE_GROUPS:
        return match[1] + grouped.replace(",", " ") + match[3].replace(".", ",")
    return match[1] + grouped + match[3]


def measure(values: list[str], language: str = "en") -> str:
    """Return a quantity such as `10 km`, `5 ft 8 in` or `3 to 4 m`.

    The values are those of the convert template: numbers, words of a range, the unit,
    then what to convert to, which is not shown.
    """
    if not values:
        return ""
    shown = _quantity(values[0], language)
    index = 1
    while index + 1 < len(values) and values[index].strip().lower() in _RANGES:
        joint = _RANGES[values[index].strip().lower()]
        shown += joint + _quantity(values[index + 1], language)
        index += 2
    if index >= len(values) or not values[index].strip():
        return shown
    shown += f" {_unit(values[index])}"
    if _is_compound(values, index):
        shown += f" {_quantity(values[index + 1], language)} {_unit(values[index + 2])}"
    return shown


def _is_compound(values: list[str], index: int) -> bool:
    return (
        len(values) > index + 2
        and values[index].strip() in {"ft", "lb", "st", "mi", "yd", "foot"}
        and re.fullmatch(r"[\d.+/]+", values[index + 1].strip()) is not None
        and values[index + 2].strip() in {"in", "oz", "lb", "ft", "yd", "chain"}
    )


def _quantity(value: str, language: str) -> str:
    value = re.sub(r"^(\d+)\+(\d+/+\d+)$", r"\1 \2", value.strip()).replace("//", "/")
    if value.startswith("-"):
        value = "−" + value[1:]
    return with_separators(value, language)


def _unit(code: str) -> str:
    code = code.strip()
    if code in {"C", "F"}:
        return f"°{code}"
    return _UNITS.get(code.lower(), code)


_CONSTANTS: dict[str, str] = WORDS["constants"] | {"br": BREAK, "break": BREAK}
_COUNTRIES: dict[str, str] = WORDS["countries"]
_LANGUAGES: dict[str, str] = WORDS["language_names"]
_PRONUNCIATIONS = re.compile(
    r"ipac?-.+|age|time ago|respell|pron(?:-.*|unciation)?|usdict|audio(?:-.*)?|"
    r"pronunciation|listen|мфа|api|lautschrift|afi|fonetisch"
)
_NAMED = re.compile(r"\s*([\w .()/-]{1,40}?)\s*=(.*)", re.DOTALL)
_Handler: TypeAlias = "Callable[[Arguments], str]"
_SPACES = re.compile(r"[\s_]+")
_MONTHS: list[str] = WORDS["months"]


class Arguments:
    """Positional and named arguments, white space around them removed.

    `2=text` sets the second positional one.
    """

    def __init__(self, parts: list[str], language: str) -> None:
        self.positional: list[str] = []
        self.language = language
        self._named: dict[str, str] = {}
        for part in parts[1:]:
            match = _NAMED.fullmatch(part)
            if match is None:
                self.positional.append(part.strip())
            elif match[1] in {"1", "2", "3", "4", "5"}:
                self._place(int(match[1]), match[2].strip())
            else:
                self._named[match[1].lower()] = match[2].strip()

    def get(self, key: int | str) -> str:
        """Return an argument by its place from 1 or by its name, empty if absent."""
        if isinstance(key, str):
            return self._named.get(key, "")
        return self.positional[key - 1] if key <= len(self.positional) else ""

    def _place(self, place: int, value: str) -> None:
        while len(self.positional) < place:
            self.positional.append("")
        self.positional[place - 1] = value


def render_template(parts: list[str], language: str) -> str:
    """Return what a template, rendered inside, shows in a sentence, mostly nothing."""
    name = _SPACES.sub(" ", parts[0]).strip().lower().removeprefix("template:")
    if name in _CONSTANTS:
        if len(parts) > 1 and name in {"yes", "no", "partial", "won", "nom", "n/a"}:
            return Arguments(parts, language).get(1) or _CONSTANTS[name]
        return _CONSTANTS[name]
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(Arguments(parts, language))
    if name.startswith("lang-"):
        return _named_language(name[5:], Arguments(parts, language))
    if _PRONUNCIATIONS.fullmatch(name):
        return DROPPED
    code = parts[0].strip()
    if code in _COUNTRIES and language.partition("-")[0] == "en":
        return _COUNTRIES[code]
    function, colon, value = parts[0].partition(":")
    if colon:
        return _function(function.strip().lower(), value, language)
    return ""


def _function(name: str, value: str, language: str) -> str:
    value = value.strip()
    if name == "formatnum":
        return with_separators(value, language)
    if name == "lc":
        return value.lower()
    if name == "uc":
        return value.upper()
    if name == "ucfirst":
        return value[:1].upper() + value[1:]
    return value[:1].lower() + value[1:] if name == "lcfirst" else ""


def _last(arguments: Arguments) -> str:
    return arguments.positional[-1] if arguments.positional else arguments.get("text")


def _joined(separator: str) -> _Handler:
    return lambda arguments: separator.join(filter(None, arguments.positional))


def _money(symbol: str) -> _Handler:
    def show(arguments: Arguments) -> str:
        amount = with_separators(arguments.get(1), arguments.language)
        return f"{symbol}{amount}" if amount else symbol.strip()

    return show


def _named_language(code: str, arguments: Arguments) -> str:
    """Show text in another language, after its name where the wiki is English."""
    text = arguments.get(1)
    name = _LANGUAGES.get(code) or _LANGUAGES.get(code.partition("-")[0])
    if not text or name is None or arguments.language.partition("-")[0] != "en":
        return text
    return text if arguments.get("label") == "none" else f"{name}: {text}"


def _value(arguments: Arguments) -> str:
    number = with_separators(arguments.get(1), arguments.language)
    spread = arguments.get(2)
    if spread.startswith("("):
        number += spread
    elif spread:
        number += f" ± {spread}"
    if arguments.get("e"):
        number += f" × 10^{arguments.get('e')}"
    unit = arguments.get("u") or arguments.get("ul") or arguments.get("up")
    return f"{number} {unit}" if unit else number


def _fraction(arguments: Arguments) -> str:
    values = [value for value in arguments.positional if value]
    if len(values) == 1:
        return f"1/{values[0]}"
    if len(values) >= 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return "/".join(
        f"({value})" if " " in value and len(values) > 1 else value for value in values
    )


def _as_of(arguments: Arguments) -> str:
    if arguments.get("alt"):
        return arguments.get("alt")
    date = _date(arguments.positional)
    start = "Since" if arguments.get("since") else "As of"
    if arguments.get("lc"):
        start = start.lower()
    return f"{start} {date}{arguments.get('post')}" if date else ""


def _date(values: list[str]) -> str:
    values = [value.strip() for value in values if value.strip()]
    if not values or not values[0][:4].isdigit():
        return values[0] if values else ""
    numbers = values[1:3]
    if numbers and numbers[0].isdigit() and 1 <= int(numbers[0]) <= 12:
        numbers[0] = _MONTHS[int(numbers[0]) - 1]
    return " ".join([*reversed(numbers), values[0]])


def _circa(arguments: Arguments) -> str:
    dates = [f"c. {date}" for date in arguments.positional[:2] if date]
    return " – ".join(dates) or "c."


def _phonetic(arguments: Arguments) -> str:
    """Show a sound that the sentence is about; drop a whole pronunciation."""
    text = arguments.get(1)
    return text if len(arguments.positional) == 1 and len(text) <= 12 else DROPPED


def _english_sound(arguments: Arguments) -> str:
    """Show a single sound between slashes; drop the pronunciation of a word."""
    sounds = arguments.positional
    shown = "".join(sounds).replace("'", "ˈ").replace("_", " ")
    return f"/{shown}/" if 1 <= len(sounds) <= 2 else DROPPED


def _author_and_year(arguments: Arguments) -> str:
    *authors, year = arguments.positional or [""]
    joined = " and ".join([", ".join(authors[:-1]), authors[-1]]) if authors else ""
    return f"{joined.removeprefix(' and ')} {year}".strip()


def _coordinates(arguments: Arguments) -> str:
    """Show a place on the globe, unless it only stands beside the title."""
    if arguments.get("display") in {"title", "t"}:
        return ""
    shown, signs = "", iter("°′″")
    for value in arguments.positional[:8]:
        if value.upper() in {"N", "S", "E", "W"}:
            shown += f"{'' if shown.endswith(('°', '′', '″')) else '°'}{value.upper()} "
            signs = iter("°′″")
            if value.upper() in {"E", "W"}:
                return shown.strip()
        else:
            shown += value + next(signs, "")
    return ""


def _density(arguments: Arguments) -> str:
    try:
        density = float(arguments.get(1)) / float(arguments.get(2))
    except (ValueError, ZeroDivisionError):
        return ""
    unit = measure(["", arguments.get(3)]).strip()
    return f"{density:,.1f} per {unit}"


def _nihongo(arguments: Arguments) -> str:
    english, *others = [*arguments.positional, "", "", ""][:4]
    inner = ", ".join(filter(None, others))
    return f"{english} ({inner})" if english and inner else english or inner


def _quote(arguments: Arguments) -> str:
    text = arguments.get("text") or arguments.get("quote") or arguments.get(1)
    return f"\n\n{text}\n\n"


def _ordered(arguments: Arguments) -> str:
    items = [f"# {item}" for item in arguments.positional if item]
    return "\n" + "\n".join(items) + "\n"


def _foreign_link(arguments: Arguments) -> str:
    """Show a link to an article that exists only in another language."""
    if arguments.get("lt"):
        return arguments.get("lt")
    values = [value for value in arguments.positional if value]
    if len(values) >= 2 and values[0] in LANGUAGE_CODES:
        return values[2] if len(values) > 2 else values[1]
    return values[0] if values else ""


def _ship(prefix: str) -> _Handler:
    def show(arguments: Arguments) -> str:
        name, hull, form = [*arguments.positional, "", "", ""][:3]
        if form in {"2", "6"} or not hull:
            return f"{prefix} {name}" if form != "6" else name
        return f"{prefix} {name} ({hull})"

    return show


def _old_style_date(arguments: Arguments) -> str:
    day, year, old = [*arguments.positional, "", "", ""][:3]
    shown = f"{day} {year}".strip()
    return f"{shown} [O.S. {old}]" if old else shown


def _nuclide(arguments: Arguments) -> str:
    element, mass = [*arguments.positional, "", ""][:2]
    return f"{element}-{mass}" if mass else element


def _music(arguments: Arguments) -> str:
    signs = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮"}
    return signs.get(arguments.get(1).lower(), arguments.get(1))


def _french_century(arguments: Arguments) -> str:
    if arguments.language.partition("-")[0] != "fr":
        return arguments.get(1)
    return f"{arguments.get(1)}{arguments.get(2)} siècle"


_SHOWN: dict[str, _Handler] = {
    "convert": lambda arguments: measure(arguments.positional, arguments.language),
    "columns": lambda arguments: f"\n{_last(arguments)}\n",
    "plain_list": lambda arguments: f"\n{arguments.get(1)}\n",
    "ordered": _ordered,
    "foreign_link": _foreign_link,
    "circa": _circa,
    "fraction": _fraction,
    "nuclide": _nuclide,
    "gauge": lambda arguments: re.sub(r"(?<=\d)(?=[a-z])", " ", arguments.get(1)),
    "raised": lambda arguments: f"<sup>{arguments.get(1)}</sup>",
    "author_and_year": _author_and_year,
    "angled": lambda arguments: f"⟨{arguments.get(1)}⟩",
    "number": lambda arguments: with_separators(arguments.get(1), arguments.language),
    "date": lambda arguments: _date(arguments.positional),
    "nihongo": _nihongo,
    "as_of": _as_of,
    "exponent": lambda arguments: f" × 10<sup>{arguments.get(1)}</sup>",
    "phonetic": _phonetic,
    "century": _french_century,
    "floruit": lambda arguments: f"fl. {arguments.get(1)}".strip(),
    "born": lambda arguments: f"née {arguments.get(1)}".strip(),
}
"""Kind of templates -> what one shows; their names are in `words.toml`."""
_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(WORDS["first_names"], lambda arguments: arguments.get(1)),
    **dict.fromkeys(WORDS["last_names"], _last),
    **{name: _joined(separator) for name, separator in WORDS["joined"].items()},
    **dict.fromkeys(WORDS["quotes"], _quote),
    **{name: _ship(name.upper()) for name in WORDS["ships"]},
    **{name: _money(symbol) for name, symbol in WORDS["money"].items()},
    **{name: show for kind, show in _SHOWN.items() for name in WORDS["shown"][kind]},
    "coord": _coordinates,
    "pop density": _density,
    "us patent": lambda arguments: f"US patent {arguments.get(1)}",
    "ipac-en": _english_sound,
    "val": _value,
    "pow": lambda arguments: f"{arguments.get(1)}<sup>{arguments.get(2)}</sup>",
    "ship": lambda arguments: " ".join(filter(None, arguments.positional[:2])),
    "oldstyledate": _old_style_date,
    "music": _music,
    "sic": lambda arguments: "".join(
        value for value in arguments.positional if value not in {"hyphen", "?"}
    ),
    "reign": lambda arguments: "r. " + "–".join(arguments.positional),
    "height": lambda arguments: measure(
        [*arguments.positional, ""] if arguments.positional else []
    ),
}

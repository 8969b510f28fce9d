"""Numbers and measures as templates show them."""

from __future__ import annotations

import re

_SYMBOLS = {
    "sqmi": "sq mi", "sqft": "sq ft", "sqin": "sq in", "sqyd": "sq yd", "km2": "km²",
    "m2": "m²", "cm2": "cm²", "mm2": "mm²", "sqkm": "km²", "sqm": "m²", "km3": "km³",
    "m3": "m³", "cm3": "cm³", "cumi": "cu mi", "cuft": "cu ft", "cuin": "cu in",
    "cuyd": "cu yd", "c": "°C", "f": "°F", "k": "K", "°c": "°C", "°f": "°F",
    "c-change": "°C", "f-change": "°F", "acre": "acres", "acres": "acres",
    "mile": "miles", "kph": "km/h", "kmph": "km/h", "km/h": "km/h", "kn": "knots",
    "knot": "knots", "nmi": "nautical miles", "impgal": "imperial gallons",
    "usgal": "US gallons", "u.s.gal": "US gallons", "l": "L", "inch": "inches",
    "/sqmi": "per square mile", "/km2": "per square kilometre", "pd/sqmi": "per "
    "square mile", "pd/km2": "per square kilometre", "lbs": "lb", "foot": "ft",
    "feet": "ft", "t": "tonnes", "lt": "long tons", "st": "short tons", "tonne":
    "tonnes", "oilbbl": "barrels", "oilbbl/d": "barrels per day", "hp": "hp",
    "cuft/s": "cu ft/s", "m3/s": "m³/s", "g/cm3": "g/cm³", "kg/m3": "kg/m³",
    "lb/cuft": "lb/cu ft", "ha": "hectares", "lb·ft": "lb⋅ft", "lbft": "lb⋅ft",
    "bhp": "bhp", "fathom": "fathoms", "day": "days", "ft2": "sq ft", "mi2": "sq mi",
    "ftin": "ft", "ly": "light-years", "pc": "parsecs", "au": "AU",
}  # fmt: skip
_RANGES = {
    "to": " to ", "-": "–", "–": "–", "and": " and ", "by": " by ", "x": " × ",
    "×": " × ", "or": " or ", "+/-": " ± ", "±": " ± ", "to(-)": " to ", "&": " & ",
    "*": " × ", "xx": " × ", "e": " × 10^",
}  # fmt: skip
_PLAIN_NUMBER = re.compile(r"([-−+]?)(\d+)((?:\.\d+)?)")
_POINT_GROUPS = frozenset({"de", "es", "it", "nl", "tr", "id", "da", "pt", "el", "ca"})
_SPACE_GROUPS = frozenset({
    "fr", "bg", "ru", "pl", "cs", "uk", "be", "sv", "no", "nb", "fi", "hu", "sk",
})  # fmt: skip


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
    shown = _number(values[0], language)
    index = 1
    while index + 1 < len(values) and values[index].strip().lower() in _RANGES:
        joint = _RANGES[values[index].strip().lower()]
        shown += joint + _number(values[index + 1], language)
        index += 2
    if index >= len(values) or not values[index].strip():
        return shown
    shown += f" {_unit(values[index])}"
    if _is_compound(values, index):
        shown += f" {_number(values[index + 1], language)} {_unit(values[index + 2])}"
    return shown


def _is_compound(values: list[str], index: int) -> bool:
    """Say whether a second number and unit belong to the quantity: 5 ft 8 in."""
    return (
        len(values) > index + 2
        and values[index].strip() in {"ft", "lb", "st", "mi", "yd", "foot"}
        and re.fullmatch(r"[\d.+/]+", values[index + 1].strip()) is not None
        and values[index + 2].strip() in {"in", "oz", "lb", "ft", "yd", "chain"}
    )


def _number(value: str, language: str) -> str:
    """Return a number as it is shown."""
    value = re.sub(r"^(\d+)\+(\d+/+\d+)$", r"\1 \2", value.strip()).replace("//", "/")
    if value.startswith("-"):
        value = "−" + value[1:]
    return with_separators(value, language)


def _unit(code: str) -> str:
    """Return a unit as it is shown."""
    code = code.strip()
    if code in {"C", "F"}:
        return f"°{code}"
    return _SYMBOLS.get(code.lower(), code)

"""One place that a list writes in several ways: `St Albans`, `St. Albans`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrieval.specificity.words import data_file, normal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["usual_spellings"]

_ARTICLES = ("the ", "de ", "het ")


def usual_spellings(
    rows: Mapping[str, int], countries: Mapping[str, frozenset[str]], *, key: str
) -> dict[str, str]:
    """Return for each name of a place the one that it is written with most.

    Names are one if they differ in hyphens, dots, accents, case or an article, or if
    they are that place's in several languages and in the same countries.

    Args:
        rows: Name -> how many institutions have it.
        countries: Name -> where they are.
        key: Which names in several languages, `cities` or `regions`.
    """
    languages = {
        normal(name): number
        for number, same in enumerate(data_file("places.yaml")[key])
        for name in same
    }
    groups: dict[str, list[str]] = {}
    for name in rows:
        form = normal(name)
        for article in _ARTICLES:
            form = form.removeprefix(article)
        groups.setdefault(form, []).append(name)
    joined: dict[object, list[str]] = {}
    for form, names in groups.items():
        where: frozenset[str] = frozenset()
        where = where.union(*(countries.get(n, frozenset()) for n in names))
        number = languages.get(form, languages.get(normal(names[0])))
        same: object = form if number is None else (number, where)
        joined.setdefault(same, []).extend(names)
    usual: dict[str, str] = {}
    for names in joined.values():
        best = min(names, key=lambda n: (-rows[n], n))
        usual |= dict.fromkeys(names, best)
    return usual

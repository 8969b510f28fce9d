"""The queries of the template pipeline, as it asks them."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowtrail.retrieval.specificity.query_templates import Instantiated

__all__ = ["asked"]

_SLOTS: dict[str, tuple[str, dict[str, str | tuple[str, ...]]]] = {
    "type in a city": (
        "list_institutions_by_type_city",
        {"institution_type": "M", "city": "City 7"},
    ),
    "type in a region": (
        "list_institutions_by_type_region",
        {"institution_type": "L", "region": "Region 3"},
    ),
    "type in a subregion": (
        "list_institutions_by_type_region",
        {"institution_type": "A", "region": "GB-R3"},
    ),
    "type in a country": (
        "list_institutions_by_type_country",
        {"institution_type": "A", "country": "GB"},
    ),
    "count in a city": (
        "count_institutions_by_type_location",
        {"institution_type": "L", "city": "City 7"},
    ),
    "count in a country": ("count_institutions_by_type_location", {"country": "GB"}),
    "count of a type": ("count_institutions_by_type", {"institution_type": "M"}),
    "count by type": ("count_institutions_by_type", {}),
    "all in a city": ("list_all_institutions_in_city", {"city": "City 11"}),
    "by name": (
        "find_institution_by_name",
        {"name": "Library of Harbour House 17"},
    ),
    "by identifier": ("find_institution_by_identifier", {"identifier": "GB-4321"}),
    "by year of a type": (
        "find_institutions_by_founding_date",
        {"institution_type": "A", "date": "1800/1850"},
    ),
    "by year in a city": (
        "find_institutions_by_founding_date",
        {"city": "City 7", "date": "1900", "date_relation": "before"},
    ),
    "by budget": (
        "find_custodians_by_budget_threshold",
        {"budget": "9500000", "comparison": "above"},
    ),
    "by budget in a city": (
        "find_custodians_by_budget_threshold",
        {"budget": "1000000", "city": "City 7"},
    ),
    "two cities": (
        "compare_locations",
        {"city": ("City 1", "City 2"), "institution_type": "L"},
    ),
    "nobody's identifier": (
        "find_institution_by_identifier",
        {"identifier": "NL-FictAmsAVR"},
    ),
    "nobody's city": ("list_all_institutions_in_city", {"city": "Atlantis"}),
    "nobody's budget": (
        "find_custodians_by_budget_threshold",
        {"budget": "1", "comparison": "below", "institution_type": "H"},
    ),
}


def asked() -> dict[str, Callable[[Any], Counter[Any]]]:
    """Return what asks each query of a graph, and returns its rows."""
    from knowtrail.retrieval.specificity.query_templates import (
        TemplateInstantiator,
        load_templates,
    )

    templates = load_templates()
    make = TemplateInstantiator()
    return {
        name: partial(_rows, make.instantiate(templates[template], slots))
        for name, (template, slots) in _SLOTS.items()
    }


def _rows(query: Instantiated, graph: Any) -> Counter[Any]:
    """Return the rows of a query."""
    from knowtrail.retrieval.specificity.execution import execute

    return Counter(execute(graph, query, seconds=60).rows)

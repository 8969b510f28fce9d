"""From a query template to a context template, by which classes are scored."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "INSTITUTION_TYPE_TO_CONTEXT",
    "SPARQL_TO_CONTEXT",
    "ContextTemplate",
    "SPARQLToContextMapper",
]


class ContextTemplate(StrEnum):
    """The kinds of question that a class can be more or less specific to."""

    ARCHIVE_SEARCH = "archive_search"
    MUSEUM_SEARCH = "museum_search"
    LIBRARY_SEARCH = "library_search"
    COLLECTION_DISCOVERY = "collection_discovery"
    PERSON_RESEARCH = "person_research"
    LOCATION_BROWSE = "location_browse"
    IDENTIFIER_LOOKUP = "identifier_lookup"
    ORGANIZATIONAL_CHANGE = "organizational_change"
    DIGITAL_PLATFORM = "digital_platform"
    GENERAL_HERITAGE = "general_heritage"


_C = ContextTemplate

SPARQL_TO_CONTEXT: Mapping[str, ContextTemplate] = {
    "list_institutions_by_type_city": _C.LOCATION_BROWSE,
    "list_institutions_by_type_region": _C.LOCATION_BROWSE,
    "list_institutions_by_type_country": _C.LOCATION_BROWSE,
    "count_institutions_by_type_location": _C.LOCATION_BROWSE,
    "count_institutions_by_type": _C.GENERAL_HERITAGE,
    "find_institution_by_name": _C.GENERAL_HERITAGE,
    "list_all_institutions_in_city": _C.LOCATION_BROWSE,
    "find_institutions_by_founding_date": _C.ORGANIZATIONAL_CHANGE,
    "find_institution_by_identifier": _C.IDENTIFIER_LOOKUP,
    "compare_locations": _C.LOCATION_BROWSE,
    "find_custodians_by_budget_threshold": _C.GENERAL_HERITAGE,
    "none": _C.GENERAL_HERITAGE,
}
"""Id of a query template -> context template."""

INSTITUTION_TYPE_TO_CONTEXT: Mapping[str, ContextTemplate] = {
    "A": _C.ARCHIVE_SEARCH,
    "M": _C.MUSEUM_SEARCH,
    "L": _C.LIBRARY_SEARCH,
    "G": _C.MUSEUM_SEARCH,
    "R": _C.GENERAL_HERITAGE,
    "C": _C.GENERAL_HERITAGE,
    "H": _C.GENERAL_HERITAGE,
    "D": _C.DIGITAL_PLATFORM,
}
"""Letter of an institution type -> the context template that goes before."""


class SPARQLToContextMapper:
    """Maps what a question was classified as to a context template."""

    def map(
        self, sparql_template_id: str, extracted_slots: Mapping[str, str] | None = None
    ) -> ContextTemplate:
        """Return the context template of a classified question.

        Args:
            sparql_template_id: Id of a query template; an unknown one is general.
            extracted_slots: Slot values; `institution_type`, where its letter is in
                the table, goes before the template.
        """
        letter = (extracted_slots or {}).get("institution_type", "")
        return INSTITUTION_TYPE_TO_CONTEXT.get(letter) or SPARQL_TO_CONTEXT.get(
            sparql_template_id, ContextTemplate.GENERAL_HERITAGE
        )

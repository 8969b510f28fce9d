"""Query templates to context templates: exactly the table."""

from __future__ import annotations

import pytest

from retrieval.specificity.mapping import ContextTemplate, SPARQLToContextMapper

TABLE = {
    "list_institutions_by_type_city": "location_browse",
    "list_institutions_by_type_region": "location_browse",
    "list_institutions_by_type_country": "location_browse",
    "count_institutions_by_type_location": "location_browse",
    "count_institutions_by_type": "general_heritage",
    "find_institution_by_name": "general_heritage",
    "list_all_institutions_in_city": "location_browse",
    "find_institutions_by_founding_date": "organizational_change",
    "find_institution_by_identifier": "identifier_lookup",
    "compare_locations": "location_browse",
    "find_custodians_by_budget_threshold": "general_heritage",
    "none": "general_heritage",
    "something_else": "general_heritage",
}
TYPES = {
    "A": "archive_search",
    "M": "museum_search",
    "L": "library_search",
    "G": "museum_search",
    "R": "general_heritage",
    "C": "general_heritage",
    "H": "general_heritage",
    "D": "digital_platform",
}


@pytest.mark.parametrize(("template", "context"), TABLE.items())
def test_template_has_its_context(template: str, context: str) -> None:
    """Without a type the template decides; an unknown one is general."""
    assert SPARQLToContextMapper().map(template) == context


@pytest.mark.parametrize(("letter", "context"), TYPES.items())
def test_type_goes_before_the_template(letter: str, context: str) -> None:
    """A type of the table decides."""
    slots = {"institution_type": letter}

    assert SPARQLToContextMapper().map("compare_locations", slots) == context


@pytest.mark.parametrize("letter", ["B", "U", "", "zz"])
def test_other_types_leave_it_to_the_template(letter: str) -> None:
    """A letter that is not in the table changes nothing."""
    slots = {"institution_type": letter}

    found = SPARQLToContextMapper().map("find_institution_by_identifier", slots)

    assert found is ContextTemplate.IDENTIFIER_LOOKUP


def test_there_are_ten_contexts() -> None:
    """The closed list of the scores."""
    assert len(ContextTemplate) == 10

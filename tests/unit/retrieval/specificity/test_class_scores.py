"""Scores of classes from LinkML files, and the contexts by which they are scored."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.ingest.custodians.institution import CLASS_NAMES
from knowtrail.retrieval.specificity import class_scores
from knowtrail.retrieval.specificity.class_scores import (
    ClassFilter,
    ContextTemplate,
    SPARQLToContextMapper,
    load_lookup,
)
from tests.cases import each

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """id: https://x.example/schema
name: x
prefixes: {linkml: "https://w3id.org/linkml/"}
classes:
"""
CLASS = """  Archive:
    description: Keeps records.
    annotations:
      specificity_score: 0.7
      template_specificity:
        archive_search: 0.95
"""


def schema(tmp_path: Path, *texts: str) -> Path:
    """Write class files; return the folder of the schema."""
    folder = tmp_path / "modules" / "classes"
    folder.mkdir(parents=True)
    for number, text in enumerate(texts):
        (folder / f"c{number}.yaml").write_text(HEAD + text, "utf-8")
    return tmp_path


def test_own_schema_scores_every_class_in_every_context() -> None:
    """No class of ours leaves a context to the default."""
    lookup = load_lookup()

    assert {len(c.scores) for c in lookup.classes.values()} == {len(ContextTemplate)}


def test_own_schema_has_the_class_of_every_type() -> None:
    """Ingest and schema name the classes of types alike."""
    classes = load_lookup().classes.values()
    of_types = {c.institution_type: c.name for c in classes if c.institution_type}

    assert of_types == CLASS_NAMES


@each("context", ContextTemplate)
def test_own_filter_keeps_some_and_drops_some(context: str) -> None:
    """At the usual threshold each context reduces the classes."""
    lookup = load_lookup()

    assert 0 < len(lookup.filter_classes(context)) < len(lookup.classes)


def test_scores_are_read_and_fall_back(tmp_path: Path) -> None:
    """A context's own score, else the general one, else 0.5."""
    lookup = load_lookup(schema(tmp_path, CLASS + "  Plain:\n    description: x\n"))

    assert lookup.get_score("Archive", "archive_search") == 0.95
    assert lookup.get_score("Archive", "museum_search") == 0.7
    assert lookup.get_score("Plain", "museum_search") == 0.5
    assert lookup.get_score("Nobody", "museum_search") == 0.5
    assert lookup.filter_classes("archive_search", 0.95) == ["Archive"]


def test_a_class_file_without_scores_filters_nothing(tmp_path: Path) -> None:
    """Every class has the default in every context, which is the threshold."""
    bare = "  Archive:\n    description: x\n  Museum:\n    description: y\n"
    lookup = load_lookup(schema(tmp_path, bare))
    scores = lookup.get_all_scores("archive_search")

    assert scores == {"Archive": 0.5, "Museum": 0.5}
    assert ClassFilter(0.5).filter(scores, {}).dropped == {}


def test_both_forms_of_scores_are_taken(tmp_path: Path) -> None:
    """A mapping under `value`, as LinkML has it, is the same."""
    text = CLASS.replace(
        "        archive_search", "        value:\n          archive_search"
    )

    lookup = load_lookup(schema(tmp_path, text))

    assert lookup.get_score("Archive", "archive_search") == 0.95


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0.95", "1.01", "'Archive': archive_search is 1.01"),
        ("0.95", "-0.1", "archive_search is -0.1"),
        ("0.95", "high", "archive_search is high"),
        ("0.95", "true", "from 0 to 1"),
        ("0.95", ".nan", "from 0 to 1"),
        ("0.7", "7", "'Archive': specificity_score is 7"),
        ("archive_search", "archiv_search", "unknown context template 'archiv_search'"),
        ("description", "descriptoin", "Archive"),
        ("template_specificity:", "template_specificity: [", "no YAML"),
        ("template_specificity:", "a: " + "[" * 100_000, "nested more than 50 deep"),
        ("description: Keeps records.", "is_a: Nothing", "'Nothing', which is nowhere"),
        ("description: Keeps records.", "is_a: Archive", "circle: Archive -> Archive"),
    ],
)
def test_what_is_wrong_names_the_class(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    """Scores out of range, unknown contexts and broken files are load errors."""
    assert old in CLASS
    with pytest.raises(InputError) as caught:
        load_lookup(schema(tmp_path, CLASS.replace(old, new, 1)))

    assert said in str(caught.value)


def test_a_circle_over_files_is_told(tmp_path: Path) -> None:
    """Every class of the circle is in the message."""
    texts = [f"  {a}:\n    is_a: {b}\n" for a, b in ("AB", "BC", "CA")]

    with pytest.raises(InputError, match="A -> B -> C -> A"):
        load_lookup(schema(tmp_path, *texts))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("mixins: [B]", "A -> B -> A"),
        ("mixins: [A]", "A -> A"),
        ("is_a: C\n    mixins: [B]", "A -> B -> A"),
        ("mixins: [Nowhere]", "'Nowhere', which is nowhere"),
    ],
)
def test_mixins_are_parents_too(tmp_path: Path, body: str, said: str) -> None:
    """A circle over mixins, or a mixin that is not there, names the classes."""
    texts = [f"  A:\n    {body}\n", "  B:\n    is_a: A\n", "  C:\n    mixin: true\n"]

    with pytest.raises(InputError, match=said):
        load_lookup(schema(tmp_path, *texts))


def test_a_class_has_two_ways_to_one_parent(tmp_path: Path) -> None:
    """That is no circle."""
    texts = [
        "  A:\n    is_a: B\n    mixins: [C]\n",
        "  B:\n    mixins: [D]\n",
        "  C:\n    is_a: D\n",
        "  D:\n    mixin: true\n",
    ]

    classes = load_lookup(schema(tmp_path, *texts)).classes

    assert (classes["A"].parent, classes["A"].mixins) == ("B", ("C",))


def test_a_class_in_two_files_is_told(tmp_path: Path) -> None:
    """Which score would hold is not guessed."""
    with pytest.raises(InputError, match="'Archive' is in another file"):
        load_lookup(schema(tmp_path, CLASS, CLASS))


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    """The folder that was looked into is named."""
    with pytest.raises(InputError, match="no class files"):
        load_lookup(tmp_path)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), True])
def test_a_threshold_is_a_share(threshold: float) -> None:
    """Nothing but a number from 0 to 1."""
    with pytest.raises(InputError, match="threshold"):
        load_lookup().filter_classes("archive_search", threshold)


def test_scores_that_are_no_mapping_name_the_class(tmp_path: Path) -> None:
    """A number where contexts should be is told with file and class."""
    text = CLASS.replace(
        "template_specificity:\n        archive_search: 0.95",
        "template_specificity: 0.95",
    )

    with pytest.raises(InputError, match="class 'Archive': template_specificity"):
        load_lookup(schema(tmp_path, text))


def test_compiled_classes_are_those_of_the_schema() -> None:
    """What is kept for a quick start says what the class files say, without LinkML."""
    own = resources.files("knowtrail.retrieval.specificity").joinpath("data", "schema")
    code = (
        "import sys\n"
        "from knowtrail.retrieval.specificity import load_lookup\n"
        "load_lookup()\n"
        "sys.exit('linkml_runtime' in sys.modules)"
    )

    with resources.as_file(own) as folder:
        assert load_lookup(folder).classes == load_lookup().classes
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
    "rank_institutions_by_budget": "general_heritage",
    "total_budgets": "general_heritage",
    "compare_institutions": "general_heritage",
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


@each(("template", "context"), TABLE.items())
def test_template_has_its_context(template: str, context: str) -> None:
    """Without a type the template decides; an unknown one is general."""
    assert SPARQLToContextMapper().map(template) == context


@each(("letter", "context"), TYPES.items())
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


@pytest.mark.parametrize("text", [None, "", "[{", "null", '[{"name": "Archive"}]'])
def test_classes_are_read_from_their_schema_where_the_compiled_ones_are_of_no_use(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing, empty, cut off, or without what a class has."""
    (tmp_path / "schema").symlink_to(class_scores.DATA / "schema")
    if text is not None:
        (tmp_path / class_scores.COMPILED).write_text(text, "utf-8")
    wanted = load_lookup()
    monkeypatch.setattr(class_scores, "DATA", tmp_path)

    assert class_scores._built_in.__wrapped__().classes == wanted.classes

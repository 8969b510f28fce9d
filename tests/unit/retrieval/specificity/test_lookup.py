"""Scores of classes: read from LinkML, defaults, refusals that name the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graph.errors import InputError
from ingest.custodians.records import CLASS_NAMES
from retrieval.specificity.lookup import load_lookup
from retrieval.specificity.mapping import ContextTemplate

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
    lookup = load_lookup()

    assert {letter: lookup.of_type(letter) for letter in CLASS_NAMES} == CLASS_NAMES


@pytest.mark.parametrize("context", ContextTemplate)
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

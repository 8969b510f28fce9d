"""Template files: what is taken, and what is refused with file, template and line."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import pytest

from graph.errors import InputError
from retrieval.specificity.mapping import SPARQL_TO_CONTEXT
from retrieval.specificity.templates import load_templates

if TYPE_CHECKING:
    from pathlib import Path

    from retrieval.specificity.templates import Template

GOOD = """templates:
  - id: by_city
    description: Lists.
    slots:
      - {name: city, type: city, required: true}
    examples: {en: ["Who is in {city}?"], nl: ["Wie is er in {city}?"]}
    sparql: SELECT ?c WHERE { ?c schema:addressLocality ?city }
  - id: none
    description: Nothing.
    slots: []
    examples: {en: ["Why?"], nl: ["Waarom?"]}
"""


def read(tmp_path: Path, text: str) -> dict[str, Template]:
    """Load a file with a text."""
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    return load_templates(path)


def test_own_templates_are_those_of_the_table() -> None:
    """Every template of the mapping is there, and no other."""
    assert set(load_templates()) == set(SPARQL_TO_CONTEXT)


def test_own_templates_hold_as_a_file_of_others_must() -> None:
    """Their queries are not parsed when they are loaded, but they could be."""
    own = resources.files("retrieval.specificity").joinpath("data", "templates.yaml")

    with resources.as_file(own) as path:
        assert load_templates(path) == load_templates()


def test_own_templates_have_examples_in_both_languages() -> None:
    """Enough to be near: ten a language at least, none in two templates."""
    templates = load_templates().values()
    texts = [t for x in templates for language in x.examples.values() for t in language]

    assert min(len(e) for x in templates for e in x.examples.values()) >= 10
    assert len(texts) == len(set(texts))


def test_a_small_file_is_read(tmp_path: Path) -> None:
    """The smallest useful file."""
    templates = read(tmp_path, GOOD)

    assert list(templates) == ["by_city", "none"]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("type: city", "type: town", 5, "type is 'town'"),
        ("name: city", "name: City!", 5, "name is 'City!'"),
        ("required: true", "required: maybe", 5, "required is 'maybe'"),
        ("Who is in {city}", "Who is in {town}", 6, "names no slot"),
        ("nl: [", "fr: [", 6, "languages"),
        ("?city }", "?town }", 7, "no variable ?city"),
        ("SELECT ?c WHERE", "DELETE WHERE", 7, "nothing can be changed"),
        ("SELECT ?c WHERE {", "SELECT ?c WHERE {{", 7, "no SPARQL"),
        ("schema:address", "nobody:address", 7, "no SPARQL"),
        ("SELECT ?c WHERE {", "ASK {", 7, "SELECT"),
        ("WHERE { ?c", "FROM <http://x.example/> WHERE { ?c", 7, "SERVICE and FROM"),
        ("WHERE {", "WHERE { SERVICE <http://x.example/> { ?a ?b 1 }", 7, "SERVICE"),
        ("description: Lists.", "description: ''", 3, "description"),
        ("id: by_city", "id: By City", 2, "an id is made of"),
        ("id: none", "id: other", 8, "sparql is missing"),
        ("description: Lists.", "descriptoin: Lists.", 3, "unknown key"),
        ("description: Lists.", "id: again", 3, "twice"),
        ("slots: []", "slots: {}", 10, "must be a list"),
        ("Lists.", "Lists.\n    intent: guess", 4, "intent is 'guess'"),
        ("Lists.", "&a Lists.", 3, "anchors"),
        ("{en: [", "{en: ]", 6, "no YAML"),
        ("templates:", "template:", 1, "one key"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    """Each mistake is refused with the line where it is."""
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))

    assert f"mine.yaml, line {line}" in str(caught.value)
    assert said in str(caught.value)


def test_error_names_the_template(tmp_path: Path) -> None:
    """Who reads the message knows which template."""
    with pytest.raises(InputError, match="template 'by_city'"):
        read(tmp_path, GOOD.replace("type: city", "type: town"))


def test_an_id_that_occurs_twice_is_told(tmp_path: Path) -> None:
    """The second is refused, where it stands."""
    head, rest = GOOD.split("  - id: none")
    first = head.removeprefix("templates:\n")

    with pytest.raises(InputError, match=r"line 8: template 'by_city': this id occurs"):
        read(tmp_path, f"{head}{first}  - id: none{rest}")


def test_a_file_without_none_is_refused(tmp_path: Path) -> None:
    """Something must be taken where no other fits."""
    head = GOOD.split("  - id: none")[0]

    with pytest.raises(InputError, match="no template `none`"):
        read(tmp_path, head)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """The path is in the message."""
    with pytest.raises(InputError, match=r"nothing\.yaml"):
        load_templates(tmp_path / "nothing.yaml")

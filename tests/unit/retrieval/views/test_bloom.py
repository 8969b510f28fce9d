"""The perspective and the style sheet: whole, and about the graph that there is."""

from __future__ import annotations

import json
import re
import uuid

from knowtrail.graph.db.labels import LABELS
from knowtrail.graph.db.statements import statement_names, statement_record
from knowtrail.retrieval.views.styles import (
    FORMAT,
    NODES,
    PHRASES,
    RELATIONSHIPS,
    grass_text,
    perspective,
    perspective_text,
)
from tests.cases import each

KINDS = {"string", "bigint", "number", "boolean"}
ROOT_KEYS = {
    "name",
    "version",
    "id",
    "createdAt",
    "lastEditedAt",
    "type",
    "hideUncategorisedData",
    "maxLimitToastMsgEnabled",
    "parentPerspectiveId",
    "categories",
    "labels",
    "relationshipTypes",
    "templates",
    "sceneActions",
    "hiddenRelationshipTypes",
    "palette",
    "metadata",
}
CATEGORY_KEYS = {
    "id",
    "name",
    "labels",
    "properties",
    "color",
    "icon",
    "size",
    "textSize",
    "textAlign",
    "captions",
    "captionKeys",
    "styleRules",
}
RELATIONSHIP_KEYS = CATEGORY_KEYS - {"labels", "icon"}


def test_perspective_has_every_part_of_its_format() -> None:
    """The root has the keys of the format, and a fixed identity."""
    whole = perspective()

    assert whole.keys() == ROOT_KEYS
    assert (whole["version"], whole["type"]) == (FORMAT, "STANDARD_PERSPECTIVE")
    assert uuid.UUID(whole["id"])
    assert json.loads(perspective_text()) == json.loads(perspective_text()) == whole


def test_categories_are_whole() -> None:
    """Each label has one category with a caption that is one of its properties."""
    categories = perspective()["categories"]

    names = [[p["name"] for p in c["properties"]] for c in categories]
    captions = [c["captions"][0]["key"] for c in categories]
    assert all(c.keys() >= CATEGORY_KEYS for c in categories)
    assert [c["labels"] for c in categories] == [[style.label] for style in NODES]
    assert all(key in known for key, known in zip(captions, names, strict=True))
    assert {p["dataType"] for c in categories for p in c["properties"]} <= KINDS
    assert len({c["id"] for c in categories}) == len(categories)


def test_every_label_of_the_schema_has_a_style() -> None:
    """Whatever the product writes is drawn with a colour and a caption of its own."""
    assert {style.label for style in NODES} == {*LABELS} - {"Resource"}


def test_every_relationship_type_that_is_written_has_a_style() -> None:
    """Each type that a statement merges or creates is drawn in a colour of its own."""
    written = {
        kind
        for name in statement_names()
        for clause in re.findall(
            r"^\s*(?:MERGE|CREATE) (\(.*)", statement_record(name).text, re.MULTILINE
        )
        for kind in re.findall(r"\[\w*:(\w+)", clause)
    }

    assert len(written) > 30
    assert written == {style.type for style in RELATIONSHIPS}
    assert all(f"relationship.{kind} " in grass_text() for kind in written)


def test_vectors_are_excluded() -> None:
    """Nobody wants to read 384 numbers in an inspector."""
    properties = [p for c in perspective()["categories"] for p in c["properties"]]

    vectors = [p for p in properties if p["name"].lower().endswith("embedding")]
    assert len(vectors) == 5
    assert all(p["exclude"] for p in vectors)


def test_relationship_types_are_whole() -> None:
    """Each type has a size, which Bloom needs, and a caption."""
    types = perspective()["relationshipTypes"]

    assert all(t.keys() >= RELATIONSHIP_KEYS and t["size"] >= 1 for t in types)
    assert [t["name"] for t in types] == [style.type for style in RELATIONSHIPS]
    assert {c["type"] for t in types for c in t["captions"]} == {
        "property",
        "relationship",
    }


def test_ends_of_relationships_are_known_labels() -> None:
    """Path segments lead between categories."""
    labels = {style.label for style in NODES}
    segments = perspective()["metadata"]["pathSegments"]

    assert {s["source"] for s in segments} | {s["target"] for s in segments} <= labels


@each("text", list(PHRASES))
def test_phrase_takes_what_its_statement_takes(text: str) -> None:
    """The parameters in the words are those of the Cypher, each with suggestions."""
    (template,) = (t for t in perspective()["templates"] if t["text"] == text)

    named = re.findall(r"\$\w+", text)
    record = statement_record(PHRASES[text])
    assert sorted(p["name"] for p in template["params"]) == sorted(named)
    assert sorted(record.params) == sorted(name[1:] for name in named)
    assert template["cypher"] == record.text
    suggested = {
        (p["suggestionLabel"], p["suggestionProp"]) for p in template["params"]
    }
    known = {(style.label, key) for style in NODES for key in style.properties}
    assert suggested <= known


def test_every_phrase_is_shipped() -> None:
    """Each statement of the folder is a phrase; the two of the issue are among them."""
    shipped = {name for name in statement_names() if name.startswith("bloom/")}

    assert set(PHRASES.values()) == shipped
    assert {"Path of $traversal", "Walk from $question"} <= set(PHRASES)


def test_style_sheet_is_well_formed() -> None:
    """Rules are selectors with declarations, one for each label and type."""
    text = grass_text()

    rules = re.findall(
        r"^([\w.]+) \{\n((?:  [\w-]+: [^;]+;\n)+)\}$", text, re.MULTILINE
    )
    selectors = [selector for selector, _ in rules]
    assert len("".join(f"{s} {{\n{d}}}\n\n" for s, d in rules)) == len(text) + 1
    assert selectors == [
        "node",
        "relationship",
        *(f"node.{style.label}" for style in NODES),
        *(f"relationship.{style.type}" for style in RELATIONSHIPS),
    ]
    assert "caption: '{title}'" in dict(rules)["node.Document"]

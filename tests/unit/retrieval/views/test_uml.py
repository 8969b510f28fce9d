"""The class diagram: well-formed, whole, shaded or filtered by score."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.specificity.class_scores import (
    ClassScores,
    diagram,
    load_lookup,
)
from knowtrail.retrieval.views.uml import uml_svg

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg: str) -> ET.Element:
    """Return a diagram as XML."""
    return ET.fromstring(svg)  # noqa: S314 - we made it


def names_in(svg: str) -> set[str]:
    """Return the classes that a diagram shows, by their tooltips."""
    titles = drawn(svg).iter(f"{SVG}title")
    return {str(t.text).split(":")[0] for t in titles if ":" in str(t.text)}


def test_every_class_is_drawn() -> None:
    """Shading leaves no class out, and the picture is well-formed XML."""
    assert names_in(diagram(context="archive_search")) == set(load_lookup().classes)


def test_a_filter_keeps_parents_of_what_is_kept() -> None:
    """Nothing hangs in the air."""
    shown = names_in(diagram(context="archive_search", only_kept=True))

    assert shown >= set(load_lookup().filter_classes("archive_search"))
    assert "HeritageEntity" in shown
    assert "Museum" not in shown


def boxes_in(svg: str) -> list[tuple[float, ...]]:
    """Return left, top, right and bottom of each class."""
    found: list[tuple[float, ...]] = []
    for group in drawn(svg).iter(f"{SVG}g"):
        x, y, w, h = (
            float(group[1].get(n, "0")) for n in ("x", "y", "width", "height")
        )
        found.append((x, y, x + w, y + h))
    return found


def lines_in(svg: str) -> list[tuple[float, ...]]:
    """Return left, top, right and bottom of each straight part of each arrow."""
    found: list[tuple[float, ...]] = []
    for path in drawn(svg).findall(f"{SVG}path"):
        steps = re.findall("([MHV])([0-9., -]+)", path.get("d", ""))
        x = y = 0.0
        for letter, numbers in steps:
            old = (x, y)
            given = [float(n) for n in re.split("[ ,]+", numbers.strip())]
            x = x if letter == "V" else given[0]
            y = y if letter == "H" else given[-1]
            if letter != "M":
                found.append((
                    min(old[0], x),
                    min(old[1], y),
                    max(old[0], x),
                    max(old[1], y),
                ))
    return found


def many(count: int, shape: str) -> str:
    """Return the diagram of made-up classes: each has five kinds, or one has all."""
    items = [
        ClassScores(
            name=f"Class{n}",
            parent=f"Class{(n - 1) // 5 if shape == 'deep' else 0}" if n else None,
            attributes=tuple((f"a{i}", "string") for i in range(n * 7 % 6)),
        )
        for n in range(count)
    ]
    scores = {item.name: n * 37 % 100 / 100 for n, item in enumerate(items)}
    return uml_svg({item.name: item for item in items}, scores, title="Many")


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["deep", "flat"])
@pytest.mark.parametrize("count", [1, 5, 40, 200])
def test_boxes_and_lines_are_apart(count: int, shape: str) -> None:
    """Every class has a place of its own, and no line runs through one."""
    svg = many(count, shape)

    boxes = boxes_in(svg)

    things = [*boxes, *lines_in(svg)]
    over = [
        (a, b)
        for n, a in enumerate(boxes)
        for b in things[n + 1 :]
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]
    assert (len(boxes), over) == (count, [])
    assert bool(lines_in(svg)) == (count > 1)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["deep", "flat"])
def test_many_classes_stand_in_columns(shape: str) -> None:
    """Two hundred fill a picture of about the shape of a screen."""
    root = drawn(many(200, shape))
    width, height = (float(root.get(n, "0")) for n in ("width", "height"))

    assert 0.8 < width / height < 2.0
    assert max(width, height) < 3000


def test_texts_of_a_schema_are_only_text() -> None:
    """A class may be described in any characters."""
    item = ClassScores(name="A<b>&", description='"><script>x</script>')

    svg = uml_svg({"A<b>&": item}, {"A<b>&": 0.7}, title="<x>")

    assert "<script>" not in svg
    assert drawn(svg).tag == f"{SVG}svg"


def test_a_page_reaches_nothing() -> None:
    """A policy in the page forbids it."""
    page = diagram(suffix=".html")

    assert "default-src 'none'" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace(
        "http-equiv", ""
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"context": "archiv_search"}, "did you mean 'archive_search'"),
        ({"threshold": 2.0}, "threshold"),
        ({"threshold": 1.0, "only_kept": True}, "lower --threshold"),
    ],
)
def test_bad_wishes_are_refused(given: dict[str, object], said: str) -> None:
    """The message says what to write."""
    with pytest.raises(InputError, match=said):
        diagram(**given)  # type: ignore[arg-type]


def test_a_schema_of_ones_own_is_drawn(tmp_path: Path) -> None:
    """Any folder with class files."""
    folder = tmp_path / "modules" / "classes"
    folder.mkdir(parents=True)
    text = "id: https://x.example/s\nname: s\nclasses: {One: {description: x}}\n"
    (folder / "one.yaml").write_text(text, "utf-8")

    assert names_in(diagram(tmp_path)) == {"One"}


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("Archive", ["Archive"]),
        ("NonGovernmentalOrganisation", ["NonGovernmental", "Organisation"]),
        ("M" * 60, ["M" * 12 + "\u2026"]),
    ],
)
def test_long_names_end_before_their_score(name: str, lines: list[str]) -> None:
    """A name that would run into its score goes on below it, and is cut there."""
    svg = uml_svg({name: ClassScores(name=name)}, {name: 0.5}, title="T")

    texts = [text.text for text in drawn(svg).iter(f"{SVG}text")]
    bold = texts[texts.index("0.50") - len(lines) : texts.index("0.50")]

    assert bold == lines

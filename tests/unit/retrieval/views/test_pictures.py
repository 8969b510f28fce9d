"""Pictures as files: whole, the same every time, offline, and not to be broken out."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
from matplotlib.image import imread
from mpl_toolkits.mplot3d.proj3d import proj_transform

from knowtrail.graph.errors import InputError, MissingExtraError, StorageError
from knowtrail.graph.files import check_output, write_file
from knowtrail.retrieval.views import static
from knowtrail.retrieval.views.layout import Heading
from knowtrail.retrieval.views.matrix import (
    global_panel,
    panel_of,
    sequential_panels,
)
from knowtrail.retrieval.views.page import page_of
from knowtrail.retrieval.views.palette import style_documents
from knowtrail.retrieval.views.reading import Edge, Passages, PicturedDocument
from knowtrail.retrieval.views.scene import (
    Scene,
    leaders,
    rounded,
    scene_layout,
    scene_traces,
)
from knowtrail.retrieval.views.space import stride, strongest
from knowtrail.retrieval.views.static import path_picture, scene_picture

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowtrail.retrieval.views.matrix import Panel
    from knowtrail.retrieval.walk import Walk

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<a href='javascript:alert(1)'>x</a> & <b>bold</b> %{x}",
    "$\\frac{1}{0}$ \x00\x0b \u202eturned",
    "\u05d9\u05e8\u05d5\u05e9\u05dc\u05d9\u05dd " * 40,
    "",
)
SAID = Heading(title="What is said?", about="A walk of some steps.")


def panels_of(walk: Walk, visited: Passages, layout: str) -> Sequence[Panel]:
    """Return the matrices of a picture."""
    if layout == "global":
        return [global_panel(walk, visited)]
    return sequential_panels(walk, visited)


def data_of(page: str) -> dict[str, Any]:
    """Read a page's data as a browser does: up to the end of the script element."""
    (text,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script', page, re.DOTALL
    )
    data: dict[str, Any] = json.loads(text)
    return data


def titled(walk: Walk, visited: Passages, title: str) -> tuple[Walk, Passages]:
    """Return both with one title and text everywhere."""
    steps = tuple(
        replace(s, chunk=replace(s.chunk, title=title, text=title), reason=title)
        for s in walk.steps
    )
    rows = tuple(replace(row, title=title, text=title) for row in visited.rows)
    return replace(walk, steps=steps), replace(visited, rows=rows)


def scene_of(walk: Walk | None, visited: Passages) -> Scene:
    """Return a picture in space."""
    generator = np.random.default_rng(0)
    sizes = {row.document: 1 for row in visited.rows}
    walked = [] if walk is None else [s.chunk.document_id for s in walk.steps]
    ids = [row.id for row in visited.rows]
    return Scene(
        rows=visited.rows,
        points=generator.standard_normal((len(visited.rows), 3)),
        edges=[
            Edge(source=ids[0], target=ids[1], score=0.9, scope="intra"),
            Edge(source=ids[0], target=ids[-1], score=0.5, scope="inter"),
        ],
        styles=style_documents(walked, sizes),
        walk=walk,
        query=None if walk is None else np.zeros(3),
        scores=None if walk is None else generator.random(len(visited.rows)),
        axes=("PC 1 (7 %)", "PC 2 (6 %)", "PC 3 (4 %)"),
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("layout", "suffix"),
    [
        ("sequential", ".png"),
        ("global", ".svg"),
        pytest.param("global", ".png", marks=pytest.mark.thorough),
        pytest.param("sequential", ".svg", marks=pytest.mark.thorough),
    ],
)
def test_static_pictures_are_the_same_every_time(
    walk: Walk, visited: Passages, layout: str, suffix: str
) -> None:
    """Two pictures of a walk have the same bytes and no date."""
    panels = panels_of(walk, visited, layout)

    first = path_picture(panels, SAID, suffix)

    assert first == path_picture(panels, SAID, suffix)
    assert first.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")
    assert not re.search(rb"date>|20\d\d-\d\d-\d\d", first.replace(b"1999/", b""))


@pytest.mark.thorough
@pytest.mark.parametrize("text", HOSTILE)
def test_svg_is_sound_and_holds_text_as_text(
    walk: Walk, visited: Passages, text: str
) -> None:
    """Whatever titles hold, the file can be read and has no script."""
    hostile, rows = titled(walk, visited, text)

    picture = path_picture(
        panels_of(hostile, rows, "global"), Heading(title=text, about=text), ".svg"
    )

    root = ElementTree.fromstring(picture)  # noqa: S314 - our own file
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert "text" in tags
    assert not tags & {"script", "a", "foreignObject"}


@pytest.mark.thorough
@pytest.mark.parametrize("layout", ["global", "sequential"])
@pytest.mark.parametrize(
    "title",
    [
        pytest.param("Tide", marks=pytest.mark.thorough),
        "Royal Observatory, Greenwich",
    ],
)
def test_nothing_is_clipped(
    walk: Walk, visited: Passages, layout: str, title: str
) -> None:
    """The border of a picture is white: no title beside a matrix runs into it."""
    named, rows = titled(walk, visited, title)

    picture = imread(
        io.BytesIO(path_picture(panels_of(named, rows, layout), SAID, ".png"))
    )[..., :3]

    border = [picture[:9], picture[-9:], picture[:, :9], picture[:, -9:]]
    assert [part.min() for part in border] == [1.0] * 4


@pytest.mark.parametrize("layout", ["global", "sequential"])
def test_every_step_has_a_number_that_covers_no_other(
    walk: Walk, visited: Passages, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the renderer has measured them; they stand close where the steps do."""
    drawn: list[Any] = []
    monkeypatch.setattr(static, "picture_bytes", lambda one, _: drawn.append(one))
    many = replace(walk, steps=walk.steps[:1] + walk.steps[1:12])

    path_picture(panels_of(many, visited, layout), SAID, ".png")

    drawn[0].draw_without_rendering()
    for axes in drawn[0].axes:
        numbers = [text for text in axes.texts if text.get_bbox_patch()]
        boxes = [text.get_bbox_patch().get_window_extent() for text in numbers]
        pairs = combinations(boxes, 2)
        assert not [1 for one, other in pairs if one.overlaps(other)]
    said = [t.get_text() for axes in drawn[0].axes for t in axes.texts]
    assert {str(step.index) for step in many.steps} <= set(said)


@pytest.mark.thorough
@pytest.mark.parametrize("steps", [1, 2, None])
def test_the_legend_has_what_is_drawn(
    walk: Walk, visited: Passages, steps: int | None
) -> None:
    """A walk explains hops, jumps and lines to numbers where it has them."""
    (panel,) = panels_of(replace(walk, steps=walk.steps[:steps]), visited, "global")
    jumps = {hop.jump for hop in panel.hops}
    lines = {"hop": False in jumps, "jump to another document": True in jumps}
    lines["from a number to its step"] = any(mark.aside for mark in panel.marks)
    wanted = {name for name, drawn in lines.items() if drawn}

    picture = path_picture([panel], SAID, ".svg").decode()
    page = path_picture([panel], SAID, ".html")

    for shown in (picture, str(page)):
        assert {name for name in lines if f">{name}<" in shown} == wanted


@pytest.mark.parametrize("layout", ["global", "sequential"])
def test_axes_of_matrices_are_named(
    walk: Walk, visited: Passages, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both say that they count chunks, where no titles stand along the side."""
    drawn: list[Any] = []
    monkeypatch.setattr(static, "picture_bytes", lambda one, _: drawn.append(one))
    one = {row.id for row in visited.rows if row.document == visited.rows[0].document}
    steps = tuple(step for step in walk.steps if step.chunk.id in one)
    walk = walk if layout == "sequential" else replace(walk, steps=steps)
    rows = [n for n, row in enumerate(visited.rows) if row.id in one]
    if layout == "global":
        visited = Passages(
            rows=tuple(visited.rows[n] for n in rows), vectors=visited.vectors[rows]
        )
    panels = panels_of(walk, visited, layout)

    path_picture(panels, SAID, ".png")

    first = drawn[0].axes[0]
    assert (first.get_xlabel(), first.get_ylabel()) == ("chunk", "chunk")


def test_axes_of_space_are_named_and_nothing_covers_the_question(
    walk: Walk, visited: Passages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its star is drawn over points and hops, and no number stands on it."""
    drawn: list[Any] = []
    monkeypatch.setattr(static, "picture_bytes", lambda one, _: drawn.append(one))
    scene = scene_of(walk, visited)
    walked = {step.chunk.id for step in walk.steps}
    scene.points[[row.id in walked for row in visited.rows]] = 0.0  # at the question

    scene_picture(scene, SAID, ".png")
    page = scene_layout(scene)["scene"]

    drawn[0].draw_without_rendering()
    axes = drawn[0].axes[0]
    names = (axes.get_xlabel(), axes.get_ylabel(), axes.get_zlabel())
    (star,) = (line for line in axes.lines if line.get_label() == "question")
    others = [*axes.collections, *(line for line in axes.lines if line is not star)]
    at = axes.transData.transform(proj_transform(0, 0, 0, axes.get_proj())[:2])
    boxes = [t.get_bbox_patch() for t in axes.texts if t.get_bbox_patch()]
    assert names == scene.axes
    assert tuple(page[f"{axis}axis"]["title"]["text"] for axis in "xyz") == scene.axes
    assert not axes.computed_zorder
    assert star.zorder > max(other.zorder for other in others)
    assert len(boxes) == len(walk.steps)
    assert not any(box.get_window_extent().contains(*at) for box in boxes)


@pytest.mark.thorough
def test_space_picture_is_the_same_every_time(walk: Walk, visited: Passages) -> None:
    """In space too: two pictures of a walk have the same bytes."""
    scene = scene_of(walk, visited)

    first = scene_picture(scene, SAID, ".png")

    assert first.startswith(b"\x89PNG")
    assert first == scene_picture(scene, SAID, ".png")
    assert first != scene_picture(scene_of(None, visited), SAID, ".png")


@pytest.mark.thorough
def test_numbers_in_space_cover_no_other_and_nothing_is_clipped(
    walk: Walk, visited: Passages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all steps are at one place, too; lines lead to where that is seen."""
    drawn: list[Any] = []
    scene = scene_of(walk, visited)
    walked = {step.chunk.id for step in walk.steps}
    scene.points[[row.id in walked for row in visited.rows]] = 0.5

    picture = imread(io.BytesIO(scene_picture(scene, SAID, ".png")))[..., :3]
    monkeypatch.setattr(static, "picture_bytes", lambda one, _: drawn.append(one))
    scene_picture(scene, SAID, ".png")
    drawn[0].draw_without_rendering()
    axes = drawn[0].axes[0]
    numbers = [text for text in axes.texts if text.get_bbox_patch()]
    boxes = [text.get_bbox_patch().get_window_extent() for text in numbers]
    place = proj_transform(0.5, 0.5, 0.5, axes.get_proj())[:2]

    assert len(numbers) == len(walk.steps) > 3
    assert not [1 for one, other in combinations(boxes, 2) if one.overlaps(other)]
    assert [text.xy for text in numbers] == [pytest.approx(place)] * len(numbers)
    assert picture[:, :9].min() == picture[:, -9:].min() == picture[-9:].min() == 1


@pytest.mark.thorough
def test_matrix_picture_has_its_title(visited: Passages) -> None:
    """The title of a document stands in the file, cut where it is long."""
    said = Heading(title="Long " * 90, about="Cosines.")

    picture = path_picture([panel_of(visited)], said, ".svg").decode()

    assert ">anchor<" not in picture
    assert "Long Long" in picture
    assert "Long " * 60 not in picture
    assert "Cosines." in picture


@pytest.mark.thorough
@pytest.mark.parametrize("layout", ["global", "sequential"])
def test_pages_tell_of_every_cell_and_step(
    walk: Walk, visited: Passages, layout: str
) -> None:
    """A page has a picture with what is pointed at, and the values of the cells."""
    panels = panels_of(walk, visited, layout)

    page = str(path_picture(panels, SAID, ".html"))

    told = data_of(page)["panels"]
    for number, (panel, said) in enumerate(zip(panels, told, strict=True)):
        values = np.frombuffer(base64.b64decode(said["values"]), "<f4")
        assert values.tolist() == panel.grid.values.ravel().tolist()
        assert len(said["names"]) == len(panel.grid.values)
        assert len(said["steps"]) == len(panel.marks)
        assert all(f'<g id="{place}">' in page for place in said["steps"])
        assert f'<g id="matrix-{number}">' in page
    assert page == path_picture(panels, SAID, ".html")


def test_no_text_can_become_markup(walk: Walk, visited: Passages) -> None:
    """Titles, texts and questions stay data on the page and text in its picture."""
    few = replace(walk, steps=walk.steps[:3])
    usual = str(path_picture(panels_of(few, visited, "global"), SAID, ".html"))

    for text in HOSTILE:
        hostile, rows = titled(few, visited, text)
        said = Heading(title=text, about="")
        page = str(path_picture(panels_of(hostile, rows, "global"), said, ".html"))

        for tag in ("<script", "</script", "<a ", "<b>bold"):
            assert page.lower().count(tag) == usual.lower().count(tag), text
        svg = page[page.index("<svg") : page.index("</svg>") + 6]
        assert ElementTree.fromstring(svg) is not None  # noqa: S314 - our own file


@pytest.mark.parametrize("text", HOSTILE)
def test_points_in_space_are_escaped(walk: Walk, visited: Passages, text: str) -> None:
    """Hover labels and legend have no tag but ours."""
    hostile, rows = titled(walk, visited, text)
    scene = scene_of(replace(hostile, question=text), rows)

    labels = json.dumps([scene_traces(scene), scene_layout(scene)])

    assert "<" not in re.sub(r"</?b>|</?i>|<br>", "", labels)


def test_page_needs_no_network(walk: Walk, visited: Passages) -> None:
    """What draws it is inside, and a policy forbids every connection."""
    pages = [path_picture([panel_of(visited)], SAID, ".html"), page_of(SAID, [], {})]

    for page in map(str, pages):
        assert "default-src 'none'" in page
        assert "connect-src" not in page
        assert not re.search(r"<(script|link|img)[^>]+(src|href)=", page)
    assert [len(page) > 3_000_000 for page in pages] == [False, True]


@pytest.mark.thorough
@pytest.mark.parametrize("with_walk", [True, False])
def test_space_is_what_plotly_takes(
    walk: Walk, visited: Passages, with_walk: bool
) -> None:
    """Every chunk is a point, and every step of the walk too."""
    scene = scene_of(walk if with_walk else None, visited)

    figure = go.Figure([*scene_traces(scene), leaders(scene)], scene_layout(scene))

    named = {t.name: t for t in figure.data}
    points = sum(
        len(t.x) for t in figure.data if t.mode == "markers" and "walk" not in t.name
    )
    assert points == len(visited.rows) + with_walk
    assert ("walk: anchor, steps, end" in named) is with_walk
    steps = [s for s in walk.steps if s.chunk.id in {r.id for r in visited.rows}]
    assert not with_walk or len(named["walk: anchor, steps, end"].x) == len(steps)


def test_leader_lines_in_space_are_no_edges(walk: Walk, visited: Passages) -> None:
    """Each number and the question stand at the end of a dotted line from a point."""
    scene = scene_of(walk, visited)

    notes = scene_layout(scene)["scene"]["annotations"]
    line = leaders(scene)

    labels = [note for note in notes if note["text"].startswith("<b>")]
    points = {tuple(rounded(point)) for point in (*scene.points, scene.query)}
    ends = list(zip(line["x"], line["y"], line["z"], strict=True))
    assert line["line"]["dash"] == "dot"
    assert not any(note.get("showarrow", True) for note in notes)
    assert set(ends[::3]) <= points
    assert ends[1::3] == [(note["x"], note["y"], note["z"]) for note in labels]
    assert len(labels) == len({step.chunk.id for step in walk.steps}) + 1


def test_pictures_of_a_walk_have_one_legend(
    walk: Walk, visited: Passages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matrices and space explain the same signs in one order; jumps are dashed."""
    drawn: list[Any] = []
    monkeypatch.setattr(static, "picture_bytes", lambda one, _: drawn.append(one))
    panels = panels_of(walk, visited, "sequential")

    path_picture(panels, SAID, ".png")
    scene_picture(scene_of(walk, visited), SAID, ".png")

    legend, in_space = (one.legends[0] for one in drawn)
    (jump,) = (
        t for t in scene_traces(scene_of(walk, visited)) if t.get("name") == "jump"
    )
    assert jump["line"]["dash"] == "dash"
    shown = [text.get_text() for text in legend.get_texts()]
    assert [text.get_text() for text in in_space.get_texts()] == shown
    assert len(shown) > 3


def test_sample_fits_and_takes_from_every_document() -> None:
    """As many chunks as fit are shown, every n-th of each document."""
    documents = [
        PicturedDocument(id=f"d{n}", title="", chunks=n * 7) for n in range(95)
    ]

    shown, every = stride(documents, 3_000)

    count = [-(-d.chunks // every) for d in shown]
    assert [d.id for d in shown] == [d.id for d in documents[1:]]
    assert sum(count) <= 3_000
    assert sum(-(-d.chunks // (every - 1)) for d in shown) > 3_000


def test_sample_of_very_many_documents_skips_some() -> None:
    """Where one chunk of each is too much, documents are skipped evenly."""
    documents = [PicturedDocument(id=f"d{n}", title="", chunks=2) for n in range(9_000)]

    shown, every = stride(documents, 1_000)

    assert (len(shown), every) == (1_000, 2)
    assert shown[1].id == "d9"


def test_edges_are_the_strongest_of_both_kinds() -> None:
    """Half are between documents; each pair is drawn once."""
    ids = [f"c{n}" for n in range(40)]
    edges = [
        Edge(
            source=ids[n],
            target=ids[n + 1],
            score=(n + 1) / 50,
            scope="inter" if n % 4 == 0 else "intra",
        )
        for n in range(39)
    ]
    back = [replace(e, source=e.target, target=e.source) for e in edges]
    outside = Edge(source="c1", target="other", score=1.0, scope="inter")

    chosen = strongest([*edges, *back, outside], ids, 10)

    inter = [e for e in chosen if e.scope == "inter"]
    assert (len(chosen), len(inter)) == (10, 5)
    assert inter[0].score == max(e.score for e in edges if e.scope == "inter")


def test_missing_extra_says_what_to_install(
    walk: Walk, visited: Passages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the packages there is one line with the extra's name."""
    panels = panels_of(walk, visited, "global")
    for name in ("matplotlib", "plotly.offline"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(MissingExtraError, match="the extra `view`: "):
        path_picture(panels, SAID, ".png")
    with pytest.raises(MissingExtraError, match="the extra `view`: "):
        page_of(SAID, [], {})


@pytest.mark.parametrize(
    ("name", "said"),
    [("a.gif", r"\.html or \.png"), ("a", "must end"), ("no/a.png", "no folder")],
)
def test_output_is_checked_first(tmp_path: Path, name: str, said: str) -> None:
    """An unknown kind and a missing folder are refused with what to do.

    The file is named as it was typed, by whatever argument or option.
    """
    with pytest.raises(InputError, match=said) as refused:
        check_output(tmp_path / name, (".html", ".png"))

    assert str(tmp_path / name) in str(refused.value)
    assert "--" not in str(refused.value)


def test_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    """`.PNG` is `.png`."""
    assert check_output(tmp_path / "A.PNG", (".html", ".png")) == ".png"


def test_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """What cannot be moved to its place leaves nothing behind."""
    (tmp_path / "taken.png").mkdir()

    write_file(tmp_path / "a.png", b"picture")
    with pytest.raises(StorageError, match="Cannot write"):
        write_file(tmp_path / "taken.png", b"picture")

    assert (tmp_path / "a.png").read_bytes() == b"picture"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "taken.png"]

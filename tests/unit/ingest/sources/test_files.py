"""A folder of text and Markdown files as a source."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.errors import SourceError
from ingest.records import Failure, LeftOut, RawDocument
from ingest.sources._markdown import read_markdown
from ingest.sources.files import FilesSource

if TYPE_CHECKING:
    from pathlib import Path


def _write(folder: Path, **files: str | bytes) -> None:
    """Write files; `__` in a name is a slash, `_` a dot."""
    for name, data in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


def _read(folder: Path, **options: Any) -> dict[str, Any]:
    """Return the items of a folder by id or title."""
    return {
        getattr(item, "source_id", None) or item.title: item
        for item in FilesSource(folder, **options).items()
    }


def test_files_come_sorted_with_relative_ids(tmp_path: Path) -> None:
    """Sub-folders are read, other names and hidden files are not."""
    _write(tmp_path, b_txt="B.", a__z_MD="# Zed\n\nZ.", a__x_py="no", _hidden_txt="no")

    found = list(FilesSource(tmp_path).items())

    assert [(d.source_id, d.title, d.raw) for d in found] == [
        ("a/z.MD", "Zed", "Z."),
        ("b.txt", "b", "B."),
    ]


def test_markdown_reads_as_text(tmp_path: Path) -> None:
    """Headings become sections; emphasis, code blocks, images and HTML go."""
    _write(
        tmp_path,
        page_md="# Rivers\n\nA *long* `x=1` <b>one</b>\nruns ![map](m.png) on.\n\n"
        "## Parts\n\n- source\n- mouth\n\n```\ncode\n```\n\n"
        "| name | km |\n|---|---|\n| Nile | 6650 |\n\n## End\n",
    )

    page = _read(tmp_path)["page.md"]

    assert page.title == "Rivers"
    assert page.raw == (
        "A long x=1 one runs  on.\n\nsource\n\nmouth\n\nname | km\n\nNile | 6650"
    )
    assert [(s.title, s.level, page.raw[s.start :][:6]) for s in page.sections] == [
        ("Parts", 2, "source"),
        ("End", 2, ""),
    ]


def test_links_lead_to_titles_of_files(tmp_path: Path) -> None:
    """Relative and wiki links are resolved; others keep only their words."""
    _write(
        tmp_path,
        sub__a_md="See [the Nile](../my%20nile.md#top), [[my nile|that]], [[Congo]], "
        "[web](https://x.org/my%20nile.md), [none](gone.md), ![[embed]] and [[note]].",
        note_txt="n",
    )
    (tmp_path / "my nile.md").write_text("---\ntitle: The Nile\n---\ntext")

    page = _read(tmp_path)["sub/a.md"]

    assert page.raw == "See the Nile, that, Congo, web, none,  and note."
    assert [(page.raw[li.start : li.end], li.target) for li in page.links] == [
        ("the Nile", "The Nile"),
        ("that", "The Nile"),
        ("Congo", "Congo"),
        ("note", "note"),
    ]


def test_links_to_later_and_odd_files(tmp_path: Path) -> None:
    """Titles are looked up before the file's turn; bad addresses lead nowhere."""
    _write(
        tmp_path,
        a_md="[one](z.md) [[sub/z.md]] [two](http://[bad) [three](./x/../y.md) [f](#f)",
        y_md=b"\xff\xff",
        z_md="# Zed\n",
    )

    found = _read(tmp_path)

    assert [link.target for link in found["a.md"].links] == ["Zed", "Zed", "y"]
    assert isinstance(found["y.md"], Failure)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission_fail_alone(tmp_path: Path) -> None:
    """A file and a folder that may not be opened cost themselves."""
    _write(tmp_path, a_md="[z](z.md)", z_md="# Zed", sub__b_md="B.")
    (tmp_path / "z.md").chmod(0)
    (tmp_path / "sub").chmod(0)

    found = _read(tmp_path)
    (tmp_path / "sub").chmod(0o700)

    assert found["a.md"].links[0].target == "z"
    assert "Permission denied" in found["z.md"].message
    assert "Permission denied" in found["sub"].message


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: Plain words # note\nx: 1\n---\n# Heading\n", "Plain words"),
        ("---\ntitle: 'Quoted: words'\n---\n", "Quoted: words"),
        ("---\r\ntitle: Windows\r\n---\r\ntext", "Windows"),
        ("---\ntitle: |\n  block\n---\n# Heading\n", "Heading"),
        ("---\ntags: [a]\n...\n## Second *level*\n", "Second level"),
        ("Setext\n======\ntext", "Setext"),
        ("---\n\nnot front matter", None),
        ("", None),
    ],
)
def test_title_of_a_markdown_page(source: str, title: str | None) -> None:
    """Plain front matter wins over the first heading."""
    assert read_markdown(source).title == title


@given(st.text() | st.text("#[]()|-`*_ \n!<>:a\\&", max_size=80))
def test_markdown_never_fails_and_links_stay_inside(source: str) -> None:
    """Whatever the file says, offsets lie in the text."""
    page = read_markdown(source)

    assert all(0 <= li.start < li.end <= len(page.text) for li in page.links)
    assert all(0 <= s.start <= len(page.text) for s in page.sections)


def test_bad_files_fail_alone(tmp_path: Path) -> None:
    """Binary, wrongly encoded and large files, and broken links, cost themselves."""
    _write(
        tmp_path,
        binary_txt=b"a\0b",
        latin_txt="caf\u00e9".encode("latin-1"),
        large_txt="x" * 101,
        good_txt="Good.",
        blank_txt=" \n",
        wide_txt="Широко.".encode("utf-16"),
        bom_txt=b"\xef\xbb\xbfMarked.",
    )
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "gone.txt")
    (tmp_path / "ring.txt").symlink_to(tmp_path / "ring.txt")
    os.mkfifo(tmp_path / "pipe.txt")

    found = _read(tmp_path, max_file=100)

    messages = {k: i.message for k, i in found.items() if isinstance(i, Failure)}
    assert sorted(messages) == [
        *("binary.txt", "dangling.txt", "large.txt", "latin.txt", "pipe.txt"),
        "ring.txt",
    ]
    assert "NUL" in messages["binary.txt"]
    assert "invalid UTF-8 at byte 3" in messages["latin.txt"]
    assert "larger than 100 bytes" in messages["large.txt"]
    assert found["good.txt"].raw == "Good."
    assert found["wide.txt"].raw == "Широко."
    assert found["bom.txt"].raw == "Marked."
    assert found["blank.txt"] == LeftOut(
        title="blank", reason="empty", source_id="blank.txt"
    )


def test_folder_links_that_lead_back_are_not_followed(tmp_path: Path) -> None:
    """A ring of folders ends; a link to a folder elsewhere is read."""
    root, other = tmp_path / "root", tmp_path / "other"
    _write(root, sub__a_txt="A.")
    _write(other, b_txt="B.")
    (root / "sub" / "up").symlink_to(root)
    (root / "twice").symlink_to(root / "sub")
    (root / "else").symlink_to(other)
    (other / "back").symlink_to(root)

    found = _read(root)

    assert sorted(k for k, i in found.items() if isinstance(i, RawDocument)) == [
        "else/b.txt",
        "sub/a.txt",
    ]
    assert sorted(k for k, i in found.items() if isinstance(i, Failure)) == [
        "else/back",
        "sub/up",
        "twice",
    ]


def test_missing_folder_and_no_match_are_refused(tmp_path: Path) -> None:
    """The error comes before anything is read."""
    _write(tmp_path, a_py="x")

    with pytest.raises(SourceError, match="no such folder"):
        FilesSource(tmp_path / "none").items()
    with pytest.raises(SourceError, match="not a folder"):
        FilesSource(tmp_path / "a.py").items()
    with pytest.raises(SourceError, match=r"matches \*\.txt, \*\.md"):
        FilesSource(tmp_path).items()


def test_progress_counts_files(tmp_path: Path) -> None:
    """The position ends at the size."""
    _write(tmp_path, a_txt="A.", b_txt=b"\0")
    source = FilesSource(tmp_path)

    assert source.size is None
    list(source.items())

    assert (source.position, source.size, source.name) == (2, 2, str(tmp_path))

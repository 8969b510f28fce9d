"""A folder of text and Markdown files as a source."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import SettingsError, SourceError
from knowtrail.ingest.records import Failure, LeftOut, Link, RawDocument
from knowtrail.ingest.sources._pages import read_html, read_markdown, read_rst
from knowtrail.ingest.sources.files import FilesSource
from tests.cases import each

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


def _parted(source: FilesSource) -> tuple[list[RawDocument], list[tuple[str, str]]]:
    """Return the documents of a source, and what it left out, and why."""
    items = list(source.items())
    documents = [item for item in items if isinstance(item, RawDocument)]
    left = [(item.title, item.reason) for item in items if isinstance(item, LeftOut)]
    return documents, left


def test_files_come_sorted_with_relative_ids(tmp_path: Path) -> None:
    """Sub-folders are read; other names and hidden files are not, which is told."""
    _write(tmp_path, b_txt="B.", a__z_MD="# Zed\n\nZ.", a__x_py="no", _hidden_txt="no")
    _write(tmp_path, LICENSE="no")

    documents, passed = _parted(FilesSource(tmp_path))

    assert [(d.source_id, d.title, d.raw) for d in documents] == [
        ("a/z.MD", "Zed", "Z."),
        ("b.txt", "b", "B."),
    ]
    assert sorted(passed) == [
        (".hidden.txt", "hidden"),
        ("LICENSE", "without an ending"),
        ("a/x.py", ".py"),
    ]


def test_files_folders_and_patterns_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file once, in that order, known by its path from the working folder."""
    monkeypatch.chdir(tmp_path)
    _write(tmp_path, a__x_md="X. [z](../b/z.txt)", a__y_log="Y.", b__z_txt="Z.")
    _write(tmp_path, c__p_png=b"\x89PNG\0\0", c__w_txt="W.", a___h_md="no")

    found = FilesSource(["b", "a/*", tmp_path / "c" / "p.png", "**/*.txt", "a/x.md"])
    documents, passed = _parted(found)

    assert [d.source_id for d in documents] == [
        *("b/z.txt", "a/x.md", "a/y.log", "c/w.txt")
    ]
    assert documents[1].links[0].source_id == "b/z.txt"
    assert passed == [("c/p.png", ".png")]
    for bad, told in (("b/*.pdf", "nothing matches"), ("gone.md", "no such file")):
        with pytest.raises(SourceError, match=told):
            FilesSource(["b", bad]).items()


def test_html_reads_as_its_content(tmp_path: Path) -> None:
    """Without navigation, scripts and code; the rest as of Markdown."""
    _write(
        tmp_path,
        page_html="<!doctype html><html lang=nl><head><title>The  Nile</title>"
        "<style>p{}</style></head><body><nav>Home</nav><main><h1>The Nile</h1>"
        "<p>A <b>long</b>\n river<!-- x -->, see <a href='b.html#a'>the <i>sea</i></a>."
        "<script>no</script><h2>Parts<a class=headerlink href='#'>¶</a></h2>"
        "<ul><li>source<li>mouth</ul><pre>code</pre>after"
        "<table><tr><th>name<th><p>km</p><tr><td>Nile<td>6650</table></main>"
        "<footer>(c)</footer></body></html>",
        b_html="<title>Sea</title><p>Salt &amp; water.<p>Deep."
        + "<div>" * 1000
        + "End.",
        empty_htm="",
    )

    found = _read(tmp_path)
    page = found["page.html"]

    assert (page.title, page.language) == ("The Nile", "nl")
    assert page.raw == (
        "A long river, see the sea.\n\nsource\n\nmouth\n\nafter\n\n"
        "name | km\n\nNile | 6650"
    )
    assert [(page.raw[li.start : li.end], li.source_id) for li in page.links] == [
        ("the sea", "b.html")
    ]
    assert [(s.title, page.raw[s.start :][:6]) for s in page.sections] == [
        ("Parts", "source")
    ]
    assert found["b.html"].raw == "Salt & water.\n\nDeep.\n\nEnd."
    assert found["empty.htm"] == LeftOut(
        title="empty", reason="empty", source_id="empty.htm"
    )


def test_rst_reads_as_text(tmp_path: Path) -> None:
    """Of what only Sphinx knows the words stay; no file is read, no warning told."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    _write(
        tmp_path,
        doc__page_rst="=====\nNiles\n=====\n\nA *long* ``x`` river, see "
        "`the sea <b.txt>`_ and :ref:`lakes <lake>`.\n\n.. toctree::\n   b\n\n"
        f".. include:: {secret}\n\n.. raw:: html\n   :file: {secret}\n\n"
        ".. note:: It floods.\n\nParts\n-----\n\n- source\n\n::\n\n   code\n\n"
        "Broken |sub| and `ref`_.\n",
        doc__b_txt="B.",
    )

    page = _read(tmp_path / "doc")["page.rst"]

    assert page.title == "Niles"
    assert page.raw.startswith("A long x river, see the sea and lakes.\n\n")
    assert "It floods." in page.raw
    assert "secret" not in page.raw
    assert "code" not in page.raw
    assert [(s.title, page.raw[s.start :][:6]) for s in page.sections] == [
        ("Parts", "source")
    ]
    assert [link.source_id for link in page.links] == ["b.txt"]


def _pdf(path: Path, *pages: str, password: str | None = None) -> None:
    """Write a PDF with a line of text on each page."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject({
        NameObject("/Type"): NameObject("/Font"),
        NameObject("/Subtype"): NameObject("/Type1"),
        NameObject("/BaseFont"): NameObject("/Helvetica"),
    })
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
    for text in pages:
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        lines = ") Tj 0 -14 Td (".join(text.split("\n"))
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({lines}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    writer.add_metadata({"/Title": "On rivers"})
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(path)


def test_pdf_reads_page_by_page(tmp_path: Path) -> None:
    """Pages are sections, parted words are joined; scans and locked files are told."""
    _pdf(tmp_path / "a.pdf", "The river is ve-\nry long. It", "flows.")
    _pdf(tmp_path / "open.pdf", "Open.", password="")
    _pdf(tmp_path / "locked.pdf", "No.", password="x")
    _pdf(tmp_path / "scan.pdf", "", "")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")

    found = _read(tmp_path)
    page = found["a.pdf"]

    assert (page.title, found["open.pdf"].raw.strip()) == ("On rivers", "Open.")
    assert page.raw.split() == ["The", "river", "is", "very", "long.", "It", "flows."]
    assert [(s.title, page.raw[s.start :][:5]) for s in page.sections] == [
        ("Page 1", "The r"),
        ("Page 2", "flows"),
    ]
    messages = {k: i.message for k, i in found.items() if isinstance(i, Failure)}
    assert sorted(messages) == ["broken.pdf", "locked.pdf", "scan.pdf"]
    assert "cannot be read as PDF" in messages["broken.pdf"]
    assert "password" in messages["locked.pdf"]
    assert "OCR" in messages["scan.pdf"]


def test_encodings_are_told_or_declared(tmp_path: Path) -> None:
    """`encoding` is for what is no UTF-8; HTML may say its own; others are refused."""
    _write(
        tmp_path,
        a_txt="café".encode("cp1252"),
        b_html="<meta charset='windows-1252'><p>café".encode("cp1252"),
        c_html="<meta charset='no-such'><p>café",
        h_html="<meta charset='uu'><p>café",
        d_txt="naïve café",
        e_txt=b"a \x81 b",
        f_txt=b"a \x81\0 b",
        g_txt=b"a \0 b",
    )

    told, found = _read(tmp_path, encoding="CP1252"), _read(tmp_path)

    assert (told["a.txt"].raw, told["d.txt"].raw) == ("café", "naïve café")
    assert "name its encoding, such as --encoding windows" in found["a.txt"].message
    assert "it is not CP1252 either, or not text" in told["e.txt"].message
    nul = {read[name].message for read in (told, found) for name in ("f.txt", "g.txt")}
    assert nul == {"not text: it has NUL bytes"}
    assert {found[f"{name}.html"].raw for name in "bch"} == {"café"}
    for name in ("latin-x", "base64"):
        with pytest.raises(SettingsError, match=f"'{name}' is no encoding"):
            FilesSource(tmp_path, encoding=name)


@given(st.text() | st.text("<>/abphdtrl =\"'&;!-", max_size=80))
def test_html_and_rst_never_fail_and_places_stay_inside(source: str) -> None:
    """Whatever the file says, offsets lie in the text."""
    for page in (read_html(source), read_rst(source)):
        assert all(0 <= li.start < li.end <= len(page.text) for li in page.links)
        assert all(0 <= s.start <= len(page.text) for s in page.sections)


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


def test_links_lead_to_files(tmp_path: Path) -> None:
    """Relative and wiki links are resolved; others keep a title, or their words."""
    _write(
        tmp_path,
        sub__a_md="See [the Nile](../my%20nile.md#top), [[my nile|that]], [[Congo]], "
        "[web](https://x.org/my%20nile.md), [none](gone.md), ![[embed]] and [[note]].",
        note_txt="n",
    )
    (tmp_path / "my nile.md").write_text("---\ntitle: The Nile\n---\ntext")

    page = _read(tmp_path)["sub/a.md"]

    assert page.raw == "See the Nile, that, Congo, web, none,  and note."
    assert [_lead(page, link) for link in page.links] == [
        ("the Nile", "my nile.md"),
        ("that", "my nile.md"),
        ("Congo", ":Congo"),
        ("note", "note.txt"),
    ]


def _lead(page: RawDocument, link: Link) -> tuple[str, str]:
    """Return a link's words, and its file or, behind a colon, the title it leads to."""
    return page.raw[link.start : link.end], link.source_id or f":{link.target}"


def test_wiki_links_lead_to_the_file_that_is_meant(tmp_path: Path) -> None:
    """Of files of one name that of the folder named, else that of the own folder."""
    named = "[[note]] [[b/note]] [[B/Note.md]] [[sub/b/note|words]]"
    _write(tmp_path, a__note_md="A", b__note_md="B", sub__b__note_md="S")
    _write(tmp_path, b__x_md=named, top_txt=f"{named} ![[note]]")

    found = _read(tmp_path)

    for page, first in (("b/x.md", "b/note.md"), ("top.txt", "a/note.md")):
        assert [link.source_id for link in found[page].links] == [
            *(first, "b/note.md", "b/note.md", "sub/b/note.md")
        ]
    assert found["top.txt"].raw == f"{named} ![[note]]"
    assert _lead(found["top.txt"], found["top.txt"].links[3])[0] == "words"


def test_a_file_is_known_in_the_folder_of_its_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is named; files of another folder are others, and links lead there."""
    _write(tmp_path, notes__a_md="[b](../b.md)", b_md="[a](notes/a.md)", other__a_md="")
    monkeypatch.chdir(tmp_path)
    notes = str(tmp_path / "notes")

    def ids(root: str | None, *named: str, new: bool = False) -> tuple[Any, list[str]]:
        source = FilesSource(named)
        kept = source.settle(root, new=new)
        return kept, [item.source_id for item in source.items()]  # type: ignore[union-attr]

    assert ids(None, "notes") == (notes, ["a.md"])
    assert ids(notes, "notes/a.md") == (notes, ["a.md"])
    assert ids(notes, "b.md", "notes") == (notes, ["../b.md", "a.md"])
    assert ids(notes, ".") == (notes, ["../b.md", "a.md", "../other/a.md"])
    assert ids(notes, "other") == (notes, ["../other/a.md"])
    gone, other = str(tmp_path / "gone"), str(tmp_path / "other")
    assert ids(gone, "other") == (other, ["a.md"])
    assert ids(gone, "other/a.md") == (gone, ["../other/a.md"])
    assert ids(None, "notes/a.md") == (None, ["notes/a.md"])
    assert ids(None, "notes/a.md", new=True) == (str(tmp_path), ["notes/a.md"])
    assert ids(str(tmp_path), "notes") == (str(tmp_path), ["notes/a.md"])
    source = FilesSource(".")
    source.settle(notes)
    linked = [
        d.links[0].source_id for d in source.items() if isinstance(d, RawDocument)
    ]
    assert linked == ["a.md", "../b.md"]
    inside = FilesSource("notes")
    (page,) = inside.items()
    assert isinstance(page, RawDocument)
    assert [link.source_id for link in page.links] == ["../b.md"]


def test_links_to_later_and_odd_files(tmp_path: Path) -> None:
    """Titles are looked up before the file's turn; bad addresses lead nowhere."""
    _write(
        tmp_path,
        a_md="[one](z.md) [[sub/z.md]] [two](http://[bad) [three](./x/../y.md) [f](#f)",
        y_md=b"\xff\xff",
        z_md="# Zed\n",
    )

    found = _read(tmp_path)

    assert [link.source_id for link in found["a.md"].links] == ["z.md", "z.md", "y.md"]
    assert isinstance(found["y.md"], Failure)


@pytest.mark.skipif(
    os.geteuid() == 0, reason="run as a user other than root, who may read everything"
)
def test_files_without_permission_fail_alone(tmp_path: Path) -> None:
    """A file and a folder that may not be opened cost themselves."""
    _write(tmp_path, a_md="[z](z.md)", z_md="# Zed", sub__b_md="B.")
    (tmp_path / "z.md").chmod(0)
    (tmp_path / "sub").chmod(0)

    found = _read(tmp_path)
    (tmp_path / "sub").chmod(0o700)

    assert found["a.md"].links[0].source_id == "z.md"
    assert "Permission denied" in found["z.md"].message
    assert "Permission denied" in found["sub"].message


@each(
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

    with pytest.raises(SourceError, match="no such file or folder"):
        FilesSource(tmp_path / "none").items()
    with pytest.raises(SourceError, match=r"matches \*\.txt, \*\.md"):
        FilesSource(tmp_path).items()


def test_progress_counts_files(tmp_path: Path) -> None:
    """The position ends at the size."""
    _write(tmp_path, a_txt="A.", b_txt=b"\0")
    source = FilesSource(tmp_path)

    assert source.size is None
    list(source.items())

    assert (source.position, source.size, source.name) == (2, 2, str(tmp_path))

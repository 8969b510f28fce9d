"""Dumps are read page by page, whatever happens to the file."""

from __future__ import annotations

import bz2
import gzip
import random
import tracemalloc
from functools import partial
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.records import Damage, Failure, LeftOut, RawDocument, RawRedirect
from knowtrail.ingest.sources.dump import DumpSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knowtrail.ingest.records import Item

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" xml:lang="en">
  <siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname>
  <base>https://en.wikipedia.org/wiki/Main_Page</base></siteinfo>
"""
TAIL = "</mediawiki>\n"


def _page(title: str, text: str, *, number: int = 7, ns: int = 0) -> str:
    return (
        f"<page><title>{escape(title)}</title><ns>{ns}</ns><id>{number}</id>"
        f"<revision><id>{number}00</id><contributor><id>3</id></contributor>"
        f'<text xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )


def _dump(*pages: str) -> str:
    return HEAD + "".join(pages) + TAIL


def _written(folder: Path, content: str | bytes, name: str = "dump.xml") -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(data)
    return path


def _items(path: Path, **options: object) -> list[Item]:
    return list(DumpSource([path], **options).items())  # type: ignore[arg-type]


def _titles(items: list[Item]) -> list[str]:
    return [item.title for item in items if isinstance(item, RawDocument)]


WIKI = "en.wikipedia.org"
TWO = _dump(_page("Cat", "A [[dog]]."), _page("Dog", "A cat & more.", number=8))


def test_a_document_carries_what_the_dump_says(tmp_path: Path) -> None:
    """Id, revision, address, language and raw text come from the page and the head."""
    path = _written(tmp_path, _dump(_page("AC/DC & Söhne", "A band.", number=42)))

    items = _items(path)

    assert items == [
        RawDocument(
            source_id=f"{WIKI}/42",
            title="AC/DC & Söhne",
            raw="A band.",
            markup="wikitext",
            url="https://en.wikipedia.org/wiki/AC/DC_%26_S%C3%B6hne",
            source="dump.xml",
            revision="4200",
            language="en",
        )
    ]


@pytest.mark.parametrize(
    "encoded",
    [
        TWO.encode(),
        b"\xef\xbb\xbf" + TWO.encode(),
        TWO.encode("utf-16"),
        TWO.encode("utf-16-be").join([b"\xfe\xff", b""]),
        b'<?xml version="1.0" encoding="ISO-8859-1"?>' + TWO.encode("latin-1"),
        b'<?xml version="1.0" encoding="UTF-16"?>'.decode().encode("utf-16")
        + TWO.encode("utf-16-le"),
        bz2.compress(TWO.encode()),
        bz2.compress(TWO[:500].encode()) + bz2.compress(TWO[500:].encode()),
        bz2.compress(TWO.encode("utf-16")),
        gzip.compress(TWO.encode()),
    ],
    ids=["utf-8", "utf-8 bom", "utf-16", "utf-16 be", "latin-1", "utf-16 declared",
         "bz2", "multistream", "bz2 utf-16", "gz"],
)  # fmt: skip
def test_compression_and_encoding_are_told_by_content(
    tmp_path: Path, encoded: bytes
) -> None:
    """The name of a file says nothing; its first bytes do."""
    path = _written(tmp_path, encoded, "download")

    items = _items(path)

    assert _titles(items) == ["Cat", "Dog"]
    assert items[1].raw == "A cat & more."  # type: ignore[union-attr]


def test_pages_are_sorted_by_kind(tmp_path: Path) -> None:
    """Redirects, other namespaces, empty and disambiguation pages are told apart."""
    redirect = _page("Kitty", "#REDIRECT [[x]]").replace(
        "<ns>0</ns>", '<ns>0</ns><redirect title="big_cat#Paws" />'
    )
    path = _written(
        tmp_path,
        _dump(
            redirect,
            _page("Puss", "#REDIRECT [[cat#Names]]", number=8),
            _page("Talk:Cat", "hm", ns=1, number=9),
            _page("Nothing", "  \n ", number=10),
            _page("Cats", "* a\n{{disambig}}", number=11),
            _page("Cat", "An animal."),
        ),
    )

    items = _items(path)

    assert items[:5] == [
        RawRedirect(
            title="Kitty",
            target="Big cat",
            source="dump.xml",
            source_id=f"{WIKI}/7",
        ),
        RawRedirect(
            title="Puss",
            target="Cat",
            source="dump.xml",
            source_id=f"{WIKI}/8",
        ),
        LeftOut(title="Talk:Cat", reason="namespace"),
        LeftOut(title="Nothing", reason="empty", source_id=f"{WIKI}/10"),
        LeftOut(title="Cats", reason="disambiguation", source_id=f"{WIKI}/11"),
    ]
    assert _titles(items) == ["Cat"]


def test_options_keep_more_pages(tmp_path: Path) -> None:
    """Namespaces and disambiguation pages can be asked for."""
    path = _written(
        tmp_path, _dump(_page("Talk:Cat", "hm", ns=1), _page("Cats", "{{dab}}"))
    )

    assert _titles(_items(path, namespaces=[0, 1])) == ["Talk:Cat"]
    assert _titles(_items(path, keep_disambiguation=True)) == ["Cats"]


def test_titles_of_every_kind_survive(tmp_path: Path) -> None:
    """Quotes, backticks, emoji and right-to-left letters are only characters."""
    titles = ["'\"`", "😀 {x}", "مرحبا", "a\\b$c", "Ünï?#"]
    path = _written(tmp_path, _dump(*[_page(title, "Text.") for title in titles]))

    documents = [item for item in _items(path) if isinstance(item, RawDocument)]

    assert [document.title for document in documents] == titles
    assert documents[4].url == "https://en.wikipedia.org/wiki/%C3%9Cn%C3%AF%3F%23"


def test_a_dump_without_head_is_read(tmp_path: Path) -> None:
    """Excerpts lack it: then there is no address, and the language is the root's."""
    path = _written(
        tmp_path, f'<mediawiki xml:lang="bg">{_page("Котка", "Животно.")}</mediawiki>'
    )

    (document,) = _items(path)

    assert isinstance(document, RawDocument)
    assert (document.url, document.language) == (None, "bg")


def test_the_last_revision_in_the_file_counts(tmp_path: Path) -> None:
    """A history dump gives a page once."""
    page = _page("Cat", "Old.").replace(
        "</page>", "<revision><id>9</id><text>New.</text></revision></page>"
    )

    (document,) = _items(_written(tmp_path, _dump(page)))

    assert isinstance(document, RawDocument)
    assert (document.raw, document.revision) == ("New.", "9")


def test_several_files_are_one_source_with_progress(tmp_path: Path) -> None:
    """Pages come in the order of the files; the position ends at the size."""
    paths = [
        _written(tmp_path, _dump(_page("A", "x")), "a.xml"),
        _written(tmp_path, bz2.compress(_dump(_page("B", "y")).encode()), "b.bz2"),
    ]
    source = DumpSource(paths)

    titles = [_titles(list(source.items())) for _ in range(2)]

    assert titles == [["A", "B"], ["A", "B"]]
    assert source.name == "a.xml, b.bz2"
    assert source.position == source.size == sum(p.stat().st_size for p in paths)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (bz2.compress(b""), "empty"),
        (b"PK\x03\x04rest", "zip"),
        (b"%PDF-1.7", "PDF"),
        (b'{"pages": []}', "JSON"),
        (b"<!DOCTYPE html><html></html>", "HTML"),
        (b"<html><body>Not found</body></html>", "HTML"),
        (b"just words", "not XML"),
        (b"<rss><channel/></rss>", "<rss>"),
        (b"<mediawiki", "ends early"),
        (b"\x00\xff\x13\x37" * 9, "not XML"),
        (b"BZh9 this is no bzip2", "corrupt"),
        (bz2.compress(TWO.encode())[:40], "ends early"),
        (b'<?xml version="1.0" encoding="klingon"?><mediawiki/>', "klingon"),
        (b'<?xml version="1.0" encoding="base64"?><mediawiki/>', "base64"),
        (b"\xfd7zXZ\x00abc", "xz"),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, content: bytes, word: str) -> None:
    """One line says what the file is instead."""
    path = _written(tmp_path, content)

    with pytest.raises(SourceError) as caught:
        _items(path)

    assert word in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_are_refused_before_any_page(tmp_path: Path) -> None:
    """A bad second file is reported before the first one is read; so is none."""
    good = _written(tmp_path, TWO)

    with pytest.raises(SourceError, match="No such file"):
        DumpSource([good, tmp_path / "absent.xml"]).items()
    with pytest.raises(SourceError, match="opened"):
        DumpSource([tmp_path]).items()
    with pytest.raises(SourceError, match="No dump file"):
        DumpSource([]).items()
    assert DumpSource([tmp_path / "absent.xml"]).size is None


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE m SYSTEM "http://example.org/evil.dtd">',
        '<!DOCTYPE m [<!ENTITY % p SYSTEM "http://example.org/e"> %p;]>',
    ],
    ids=["bomb", "file", "dtd", "parameter"],
)
def test_entity_tricks_are_refused(tmp_path: Path, declaration: str) -> None:
    """A document type is never needed, so none is read."""
    path = _written(tmp_path, declaration + TWO.replace("more", "&amp;"))

    with pytest.raises(SourceError, match="document type"):
        _items(path)


def test_undeclared_entities_are_damage(tmp_path: Path) -> None:
    """Without a declaration an entity is a break of the XML."""
    path = _written(tmp_path, TWO.replace("&amp; more", "&boom; more"))

    items = _items(path)

    assert _titles(items) == ["Cat"]
    assert isinstance(items[-1], Damage)


def test_a_truncated_dump_gives_its_complete_pages(tmp_path: Path) -> None:
    """The damage says after which page, inside which one and where."""
    whole = _dump(_page("Cat", "One."), _page("Dog", "Two." * 50), _page("Eel", "x"))
    path = _written(tmp_path, whole[: whole.index("Two.Two.") + 20])

    items = _items(path)

    assert _titles(items) == ["Cat"]
    (damage,) = items[1:]
    assert isinstance(damage, Damage)
    assert "dump.xml is damaged after 1 complete page, the last one" in damage.message
    assert "'Cat'" in damage.message
    assert "'Dog'" in damage.message
    assert f"byte {path.stat().st_size:,}" in damage.message


def _big_dump() -> str:
    """Return a dump that fills several blocks of either compression."""
    numbers = random.Random(7)
    words = [f"{numbers.getrandbits(64):x}" for _ in range(120_000)]
    pages = [" ".join(words[n : n + 600]) for n in range(0, len(words), 600)]
    return _dump(*[_page(f"P{n}", text) for n, text in enumerate(pages)])


@pytest.mark.parametrize(
    "compress", [gzip.compress, partial(bz2.compress, compresslevel=1)]
)
def test_cut_compression_gives_the_pages_before_it(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    """Complete pages first, then one damage."""
    data = compress(_big_dump().encode())
    path = _written(tmp_path, data[: len(data) // 2])

    items = _items(path)

    assert 50 < len(_titles(items)) == len(items) - 1 < 150
    assert isinstance(items[-1], Damage)
    assert "the compressed data ends early" in items[-1].message


@pytest.mark.parametrize("place", [0.3, 0.5, 0.7, 0.9])
def test_altered_compression_gives_the_pages_before_it(
    tmp_path: Path, place: float
) -> None:
    """Nothing of a block that does not match its checksum is used."""
    whole = _items(_written(tmp_path, _big_dump()))
    data = bytearray(bz2.compress(_big_dump().encode(), compresslevel=1))
    data[int(len(data) * place)] ^= 0xFF
    path = _written(tmp_path, bytes(data))

    items = _items(path)

    assert items[:-1] == whole[: len(items) - 1]
    assert len(items) < 200
    assert isinstance(items[-1], Damage)
    assert "the compressed data is corrupt" in items[-1].message


def test_a_broken_stream_of_many_is_damage(tmp_path: Path) -> None:
    """Multistream dumps end where a stream cannot be read."""
    streams = [
        bytearray(bz2.compress(part.encode()))
        for part in (HEAD + _page("Cat", "One."), _page("Dog", "Two." * 900), TAIL)
    ]
    streams[1][30] ^= 0xFF
    path = _written(tmp_path, b"".join(streams))

    items = _items(path)

    assert _titles(items) == ["Cat"]
    assert isinstance(items[-1], Damage)


def test_other_files_are_read_after_a_damaged_one(tmp_path: Path) -> None:
    """The damage names its file."""
    bad = _written(tmp_path, TWO[:-60], "bad.xml")
    good = _written(tmp_path, _dump(_page("Eel", "A fish.")), "good.xml")

    items = list(DumpSource([bad, good]).items())

    assert _titles(items) == ["Cat", "Eel"]
    assert [i.message[:7] for i in items if isinstance(i, Damage)] == ["bad.xml"]


def test_invalid_text_fails_its_page_only(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are reported with the page; the next page is read."""
    data = _dump(_page("Bad", "x@y"), _page("Good \ufffd", "A \ufffd stays."))
    path = _written(tmp_path, data.encode().replace(b"x@y", b"x\xff\xc3y"))

    items = _items(path)

    assert isinstance(items[0], Failure)
    assert items[0].title == "Bad"
    assert "not valid text" in items[0].message
    assert _titles(items) == ["Good \ufffd"]


def test_a_page_without_id_or_title_fails(tmp_path: Path) -> None:
    """Without either it could not be kept apart from others."""
    path = _written(
        tmp_path,
        _dump(
            _page("", "x"),
            _page("A", "x").replace("<id>7</id>", ""),
            _page("t" * 2000, "x"),
            _page("B", "x"),
        ),
    )

    items = _items(path)

    assert [type(item) for item in items] == [Failure, Failure, Failure, RawDocument]


@pytest.mark.thorough
def test_a_huge_page_fails_in_bounded_memory(tmp_path: Path) -> None:
    """Twenty megabytes of one page are counted, not kept."""
    path = _written(
        tmp_path,
        bz2.compress(
            _dump(_page("Huge", "words " * 3_500_000), _page("Cat", "x")).encode()
        ),
    )
    tracemalloc.start()

    items = _items(path, max_page_chars=100_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert isinstance(items[0], Failure)
    assert "'Huge' has 21,000,000 characters" in items[0].message
    assert _titles(items) == ["Cat"]
    assert peak < 8_000_000


def test_a_huge_tag_is_damage_in_bounded_memory(tmp_path: Path) -> None:
    """An attribute without end is not collected."""
    whole = _dump(_page("Cat", "x"), f'<page a="{"y" * 12_000_000}"></page>')
    path = _written(tmp_path, bz2.compress(whole.encode()))

    items = _items(path)

    assert _titles(items) == ["Cat"]
    assert isinstance(items[-1], Damage)
    assert "longer than" in items[-1].message


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    """No dump needs a hundred levels."""
    path = _written(tmp_path, HEAD + "<a>" * 200)

    with pytest.raises(SourceError, match="nested"):
        _items(path)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    cut=st.integers(0, 700),
    noise=st.lists(st.tuples(st.integers(0, 699), st.integers(0, 255)), max_size=4),
    packed=st.booleans(),
)
def test_any_damage_ends_in_an_item_or_a_clear_error(
    tmp_path: Path, cut: int, noise: list[tuple[int, int]], packed: bool
) -> None:
    """No cut and no altered byte makes anything else be raised."""
    data = bytearray(bz2.compress(TWO.encode()) if packed else TWO.encode())
    for place, value in noise:
        data[place % len(data)] = value
    path = _written(tmp_path, bytes(data[:cut]))

    try:
        items = _items(path)
    except SourceError as error:
        items = [Damage(message=str(error))]

    assert items == [] or all("\n" not in repr(item) for item in items)

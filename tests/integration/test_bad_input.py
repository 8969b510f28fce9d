"""Bad input, as a user would give it: one clear line, an exit code, nothing lost."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import resource
import shutil
import socket
import subprocess
import time
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knowtrail.graph.db.statements import statement_record
from knowtrail.ingest.corpus import list_corpora
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from tests.command_line import PROGRAM, ROOT, CommandLine
from tests.dumps import dump, page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.command_line import Outcome
    from tests.databases import Database

pytestmark = pytest.mark.integration

KEPT = [
    {
        "id": "kept-1",
        "title": "Tide",
        "text": "The tide rises. It falls again. Moons pull.",
    },
    {
        "id": "kept-2",
        "title": "Moon",
        "text": "The moon is near. A tide follows it. So.",
    },
]
WORDS = "Rivers carry sand to the sea. Waves sort it by size. Wind dries it."


UNFINISHED = statement_record("corpus/verify_unfinished").purpose


class User(CommandLine):
    """Somebody at the command line, with one sound corpus, `kept`."""

    def __init__(
        self,
        settings: Settings,
        connection: Connection,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        super().__init__(settings, capsys, "hash:32")
        self.connection = connection

    def ingest(self, kind: str, *words: str | Path, **given: str) -> Outcome:
        """Ingest into the corpus `kept`."""
        return self.run("ingest", kind, *words, "--corpus=kept", "--themes=none")

    def titles(self, corpus: str = "kept") -> list[str]:
        """Return the titles of the stored documents."""
        rows = self.connection.query(
            "MATCH (d:Document {corpus: $corpus}) RETURN d.title AS title",
            {"corpus": corpus},
        )
        return sorted(row["title"] for row in rows)

    def digest(self) -> str:
        """Return the digest of the corpus `kept`."""
        return corpus_digest(self.connection, "kept").value

    def status(self, corpus: str = "kept") -> str | None:
        """Return the status that a corpus is listed with, None where it is not."""
        rows = {row["name"]: row for row in list_corpora(self.connection)}
        return rows[corpus]["status"] if corpus in rows else None

    def wrong(self) -> list[str]:
        """Return what `corpus verify` finds."""
        return [f.check for f in verify_corpus(self.connection, "kept") if f.count]


@pytest.fixture
def user(
    server: Settings,
    database: Database,
    session_connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> User:
    """Return a user whose corpus `kept` has two documents."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    user = User(server, session_connection, capsys)

    def fill() -> None:
        stored = user.ingest("jsonl", _jsonl(tmp_path / "kept.jsonl", *KEPT))
        assert stored.code == 0, stored.errors

    database.holding("tide and moon", fill, small=True)
    return user


def _jsonl(path: Path, *records: object) -> Path:
    """Write records as JSON lines."""
    path.write_text("".join(json.dumps(r) + "\n" for r in records), "utf-8")
    return path


def _file(path: Path, content: str | bytes) -> Path:
    """Write a file."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _pages(count: int) -> list[str]:
    """Return pages of some length that differ from each other."""
    rng = np.random.default_rng(5)
    return [
        page(f"Page {n}", f"{WORDS} {rng.bytes(3000).hex()} ends it.", number=n + 1)
        for n in range(count)
    ]


GOOD = dump(*_pages(2))


NO_DUMPS = [
    ("empty.xml", b"", "is empty"),
    ("empty.xml.bz2", bz2.compress(b""), "is an empty file"),
    ("page.html", b"<!DOCTYPE html><html></html>", "is an HTML page"),
    ("data.json", b'{"a": 1}', "is a JSON file"),
    ("all.zip", b"PK\x03\x04" + bytes(99), "is a zip archive"),
    ("other.xml", b"<rss><channel/></rss>", "not a usable MediaWiki XML dump"),
    ("bomb.xml", b'<!DOCTYPE a [<!ENTITY b "c">]><mediawiki/>', "MediaWiki XML"),
    ("noise.bz2", b"BZh9" + bytes(range(200)), "damaged before its first page"),
    ("cut.gz", gzip.compress(GOOD.encode())[:15], "damaged before its first page"),
]


def test_what_is_no_dump_is_refused(user: User, tmp_path: Path) -> None:
    """A file that is not a dump is named with what it is, and nothing changes."""
    before = user.digest()

    done = [
        user.ingest("dump", _file(tmp_path / name, content))
        for name, content, _ in NO_DUMPS
    ]

    assert [
        (name, did)
        for (name, _, says), did in zip(NO_DUMPS, done, strict=True)
        if (did.code, did.out, len(did.errors)) != (2, "", 1)
        or says not in did.errors[0]
        or name not in did.errors[0]
    ] == []
    assert (user.digest(), user.wrong()) == (before, [])


def test_what_is_missing_is_refused(user: User, tmp_path: Path) -> None:
    """A path that leads nowhere is named, before anything is written."""
    kinds = {"dump": "No such file", "jsonl": "No such file", "files": "nowhere"}
    before = user.digest()

    done = {kind: user.ingest(kind, tmp_path / "nowhere") for kind in kinds}

    assert {kind: (did.code, len(did.errors)) for kind, did in done.items()} == (
        dict.fromkeys(kinds, (2, 1))
    )
    assert [kind for kind in kinds if kinds[kind] not in done[kind].errors[0]] == []
    assert user.digest() == before


def test_a_missing_file_among_others_stops_before_any_is_read(
    user: User, tmp_path: Path
) -> None:
    """Of two files the second is missing: the first is not stored either."""
    before = user.digest()

    done = user.ingest("dump", _file(tmp_path / "a.xml", GOOD), tmp_path / "b.xml")

    assert (done.code, len(done.errors), user.digest()) == (2, 1, before)


def test_a_new_corpus_of_a_bad_file_is_not_left_behind(
    user: User, tmp_path: Path
) -> None:
    """A corpus that nothing could be read for does not come into being."""
    done = user.run("ingest", "dump", tmp_path / "nowhere", "--corpus=new")

    assert done.code == 2
    assert [row["name"] for row in list_corpora(user.connection)] == ["kept"]


def test_working_files_go_where_the_user_says(user: User, tmp_path: Path) -> None:
    """What is no folder is refused in a line, and the same command goes on there."""
    path, work = tmp_path / "pages.jsonl", tmp_path / "working"
    rows = [{"title": f"Reef {n}", "text": f"The Coral Reef {n} grows."} for n in "ab"]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    words = ("ingest", "jsonl", path, "--corpus=new", "--themes=none", "--work", work)
    shutil.rmtree(user.settings.home / "work", ignore_errors=True)
    work.write_text("no folder", "utf-8")

    refused = user.run(*words)
    work.unlink()
    done = user.run(*words)

    assert (refused.code, done.code) == (2, 0)
    assert str(work) in refused.errors[-1]
    assert any(each.is_file() for each in work.rglob("*"))
    assert not (user.settings.home / "work").exists()


def _truncated(data: bytes) -> bytes:
    """Return a little more than the first half."""
    return data[: len(data) * 6 // 10]


def _altered(data: bytes) -> bytes:
    """Return data with some bytes in the second half changed."""
    middle = len(data) * 7 // 10
    return data[:middle] + bytes(40) + data[middle + 40 :]


def _many_streams(text: str) -> bytes:
    """Compress as multistream dumps are: a few pages a stream."""
    pieces = text.split("</page>\n")
    return b"".join(bz2.compress(f"{p}</page>\n".encode()) for p in pieces[:-1])


def _plain(text: str) -> bytes:
    """Leave the text as it is."""
    return text.encode()


@pytest.mark.parametrize(
    ("damage", "pack"),
    [
        (_truncated, _many_streams),
        (_altered, _plain),
        pytest.param(_truncated, _plain, marks=pytest.mark.thorough),
        pytest.param(_altered, _many_streams, marks=pytest.mark.thorough),
    ],
)
def test_pages_before_the_damage_are_stored(
    user: User,
    tmp_path: Path,
    damage: Callable[[bytes], bytes],
    pack: Callable[[str], bytes],
) -> None:
    """A damaged dump gives its complete pages and says where it broke off."""
    path = _file(tmp_path / "broken.xml", damage(pack(dump(*_pages(12)))))

    done = user.ingest("dump", path)

    stored = [title for title in user.titles() if title.startswith("Page")]
    assert (done.code, len(done.errors)) == (1, 1)
    assert "broken.xml is damaged after" in done.errors[0]
    assert f"{len(stored)} complete pages" in done.errors[0]
    assert "byte " in done.errors[0]
    assert 5 <= len(stored) < 12
    assert (user.status(), user.wrong()) == ("unfinished", [UNFINISHED])


_FIRST = dump(*_pages(1))


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        (_FIRST[:-900], 2, "damaged after 0 complete pages"),
        (dump(page("A", "", number=1), *_pages(1))[:-900], 1, "after 1 complete page,"),
    ],
    ids=["no page", "an empty page"],
)
def test_a_dump_that_gives_no_text_leaves_no_corpus(
    user: User, tmp_path: Path, text: str, code: int, told: str
) -> None:
    """A new corpus that would be empty is not there at all; one that is stays."""
    path = _file(tmp_path / "d.xml", text)
    before = user.digest()

    new = user.run("ingest", "dump", path, "--corpus=new", "--themes=none")
    user.ingest("dump", path)

    assert (new.code, len(new.errors)) == (code, 1)
    assert told in new.errors[0]
    assert (user.status("new"), user.digest()) == (None, before)


def test_no_to_a_deletion_deletes_nothing(user: User) -> None:
    """Who does not want it after all exits 1 and reads no complaint."""
    done = user.spawn("corpus", "delete", "kept", input="n\n")

    assert (done.code, done.out.strip()) == (1, "")
    assert done.errors == ["Delete corpus 'kept'? [y/N]:"]
    assert user.run("corpus", "show", "kept").code == 0


def test_documents_are_forgotten_by_title_and_only_when_meant(
    user: User, tmp_path: Path
) -> None:
    """An unknown title is told with a near one, and nothing goes without a yes."""
    sun = {"title": "Sun", "text": "The sun is far."}
    user.ingest("jsonl", _jsonl(tmp_path / "more.jsonl", sun))
    before = user.digest()

    unknown = user.run("corpus", "forget", "kept", "Sun", "Moons", "--yes")
    refused = user.spawn("corpus", "forget", "kept", "Sun", input="n\n")
    untouched = user.digest() == before
    done = user.run("corpus", "forget", "kept", "Sun", "--yes", "--json")

    assert (unknown.code, refused.code, untouched) == (2, 1, True)
    assert "did you mean 'Moon'?" in unknown.errors[0]
    assert refused.errors == ["Forget 1 document of corpus kept ('Sun')? [y/N]:"]
    assert json.loads(done.out)["documents"] == ["Sun"]
    assert (user.titles(), user.wrong()) == (["Moon", "Tide"], [])


def test_corpus_is_shown_sorted_with_its_counts(user: User) -> None:
    """The number of terms is told, not the setting of that name."""
    done = user.run("corpus", "show", "kept")

    shown = dict(line.split(": ", 1) for line in done.out.splitlines())
    assert list(shown) == sorted(shown)
    assert shown["terms"].isdecimal()


def test_corpus_that_no_ingest_made_is_told(user: User) -> None:
    """A Corpus node made by hand is named and can be deleted, and harms no other."""
    made = "CREATE (:Corpus {name: 'by hand'}), (:Corpus)"
    assert user.run("cypher", "--write", made).code == 0

    shown = user.run("corpus", "show", "by hand")
    listed = user.run("corpus", "list")
    missing = user.run("corpus", "show", "by hands")
    gone = user.run("corpus", "delete", "by hand", "--yes")
    user.run("cypher", "--write", "MATCH (k:Corpus) WHERE k.name IS NULL DELETE k")

    assert shown.code == 2
    (said,) = shown.errors
    assert "was not made by an ingest (its node has no dimensions, " in said
    assert re.search(r"knowtrail .*corpus delete 'by hand', then ingest\.$", said)
    assert "by hand: 0 institutions, not made by an ingest" in listed.out
    assert "did you mean 'by hand'?" in missing.errors[0]
    assert (gone.code, user.run("corpus", "list").code) == (0, 0)


@pytest.mark.thorough
def test_whole_file_after_a_damaged_one_completes_the_corpus(
    user: User, tmp_path: Path
) -> None:
    """The rest arrives with the mended file, and what was there is not written again.

    The graph is then that of the whole file alone.
    """
    whole = dump(*_pages(8))
    user.ingest("dump", _file(tmp_path / "d.xml", _truncated(whole.encode())))
    before = len(user.titles())

    done = user.ingest("dump", _file(tmp_path / "d.xml", whole))

    mended = user.digest()
    assert (user.status(), user.wrong()) == ("complete", [])
    assert (done.code, f"{before - 2} skipped" in done.out) == (0, True)
    user.run("corpus", "delete", "kept", "--yes")
    user.ingest("jsonl", _jsonl(tmp_path / "kept.jsonl", *KEPT))
    user.ingest("dump", tmp_path / "d.xml")
    assert user.digest() == mended


def test_full_cleanup_of_a_damaged_dump_deletes_nothing(
    user: User, tmp_path: Path
) -> None:
    """What a broken file did not show is not taken to be gone."""
    path = _file(tmp_path / "d.xml", _truncated(dump(*_pages(4)).encode()))

    done = user.run(
        "ingest", "dump", path, "--corpus=kept", "--themes=none", "--cleanup=full"
    )

    assert done.code == 1
    assert {"Tide", "Moon"} <= set(user.titles())
    assert user.wrong() == [UNFINISHED]


@pytest.mark.thorough
def test_a_new_corpus_is_complete_when_its_ingest_has_ended(
    user: User, tmp_path: Path
) -> None:
    """One that is killed before anything is stored leaves none that is called so."""
    record = json.dumps({"id": "1", "title": "Sea", "text": "The sea is deep."}) + "\n"
    words = [*PROGRAM, *user.options()]
    words += ["ingest", "jsonl", "-", "--corpus=new", "--themes=none"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as run:
        assert run.stdin is not None
        run.stdin.write(record)
        run.stdin.flush()
        while run.poll() is None and user.status("new") is None:
            time.sleep(0.05)
        run.kill()

    left = user.status("new")
    path = _file(tmp_path / "sea.jsonl", record)
    again = user.run("ingest", "jsonl", path, "--corpus=new", "--themes=none")

    assert left == "unfinished"
    assert (again.code, user.status("new")) == (0, "complete")
    assert user.titles("new") == ["Sea"]


def test_bad_pages_fail_alone(user: User, tmp_path: Path) -> None:
    """Invalid UTF-8 and 20 MB cost their page; one without text is only counted."""
    pages = [
        page("First", WORDS, number=1),
        page("Broken", "It is wr\udcffng.", number=2),
        page("Huge", "A long word. " * 1_600_000, number=3),
        page("Blank", " \n ", number=4),
        page("Only a template", "{{Stub}}", number=5),
        page("Last", WORDS, number=6),
    ]
    data = dump(*pages).encode("utf-8", "surrogateescape")

    done = user.ingest("dump", _file(tmp_path / "d.xml", data))

    assert user.titles() == ["First", "Last", "Moon", "Tide"]
    assert (done.code, len(done.errors)) == (1, 2)
    assert "'Broken' holds bytes that are not valid text" in done.errors[0]
    assert "'Huge' has 20,800,000 characters" in done.errors[1]
    assert "2 added" in done.out
    assert "2 failed" in done.out
    assert "Left out: 2 empty" in done.out
    assert user.wrong() == []


def test_bad_lines_fail_alone(user: User, tmp_path: Path) -> None:
    """A JSON line that cannot be used is named by its number; the others are stored."""
    lines = [
        b'{"id": "a", "title": "First", "text": "One line. And more."}',
        b'{"id": "b", "text": "\xff"}',
        b"not JSON",
        b'{"id": "c", "title": "No text"}',
        b'{"id": "d", "title": "Last", "text": "The end."}',
    ]

    done = user.ingest("jsonl", _file(tmp_path / "a.jsonl", b"\n".join(lines)))

    assert user.titles() == ["First", "Last", "Moon", "Tide"]
    assert done.code == 1
    assert [line.split(": ")[1] for line in done.errors] == [
        "a.jsonl:2",
        "a.jsonl:3",
        "a.jsonl:4",
    ]
    assert user.wrong() == []


def test_bad_files_fail_alone(user: User, tmp_path: Path) -> None:
    """Of a folder, a file that is no text is named; the others are stored."""
    folder = tmp_path / "texts"
    folder.mkdir()
    _file(folder / "a.txt", "A short text. It ends.")
    _file(folder / "b.txt", b"no \xfa text \x9c")
    _file(folder / "c.md", "# Sand\n\nWind moves it.")

    done = user.ingest("files", folder)

    assert user.titles() == ["Moon", "Sand", "Tide", "a"]
    assert (done.code, len(done.errors)) == (1, 1)
    assert "b.txt" in done.errors[0]
    assert user.wrong() == []


def test_links_between_files_do_not_hang_on_titles(user: User, tmp_path: Path) -> None:
    """They hold where titles are shared; a link by a title that is shared is told."""
    folder = tmp_path / "texts"
    folder.mkdir()
    _file(folder / "a.md", "# Same\n\nSee [the other](b.md). It ends.")
    _file(folder / "b.md", "# Same\n\nSee [[c]]. It is short.")
    _file(folder / "c.md", "# End\n\nSee [[Same]]. Nothing more.")

    done = user.ingest("files", folder)
    _file(folder / "b.md", "# Another\n\nSee [[c]]. It is short.")
    renamed = user.ingest("files", folder)

    told = "End: its link to 'Same' is left out, because several documents have that"
    assert (done.code, renamed.code) == (0, 0)
    assert [line for line in done.errors if told in line] == done.errors != []
    assert renamed.errors == []
    assert user.connection.query(
        "MATCH (d:Document)-[r:LINKS_TO]->(t:Document) RETURN d.sourceId AS one, "
        "t.sourceId AS other, r.anchor AS words ORDER BY one"
    ) == [
        {"one": "a.md", "other": "b.md", "words": "the other"},
        {"one": "b.md", "other": "c.md", "words": "c"},
        {"one": "c.md", "other": "a.md", "words": "Same"},
    ]
    assert user.wrong() == []


@pytest.mark.thorough
@pytest.mark.parametrize("first", ["texts", "texts/a.md"])
def test_a_file_is_one_document_however_it_is_named(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """By its own path, in its folder, from elsewhere: in any order."""
    (tmp_path / "texts").mkdir()
    _file(tmp_path / "texts" / "a.md", "# Sand\n\nWind moves it.")
    _file(tmp_path / "texts" / "b.md", "# Reed\n\nIt grows in water.")
    monkeypatch.chdir(tmp_path)
    names = [first, "texts", "texts/a.md", "../" + tmp_path.name + "/texts/b.md", "."]

    def ingest(name: str) -> Outcome:
        words = ("--corpus=new", "--themes=none", "--limit=9")
        return user.run("ingest", "files", name, *words)

    for name in names:
        assert ingest(name).code == 0
    _file(tmp_path / "texts" / "a.md", "# Sand\n\nWaves move it.")
    monkeypatch.chdir(tmp_path / "texts")
    changed = ingest("a.md")

    assert user.titles("new") == ["Reed", "Sand"]
    assert "0 added, 1 updated" in changed.out


def test_what_is_not_read_is_counted(user: User, tmp_path: Path) -> None:
    """By its ending; the limit holds, and the next ingest goes on."""
    folder = tmp_path / "texts"
    folder.mkdir()
    _file(folder / "a.html", "<title>Reed</title><p>A short text.")
    _file(folder / "b.rst", "Sand\n====\n\nWind moves it.")
    _file(folder / "c.png", b"\x89PNG")
    _file(folder / ".d.txt", "Hidden.")

    first = user.ingest("files", folder, "--limit=1")
    assert user.titles() == ["Moon", "Reed", "Tide"]
    rest = user.ingest("files", folder)

    assert (first.code, rest.code) == (0, 0)
    assert "1 added, 0 updated, 1 skipped" in rest.out
    assert "Left out: 1 .png, 1 hidden" in rest.out
    assert user.titles() == ["Moon", "Reed", "Sand", "Tide"]
    assert user.wrong() == []


ODD_TITLES = [
    "`MATCH (n) DETACH DELETE n`",
    "'; DROP CONSTRAINT chunk_id; //",
    'She said "so" \\ and left',
    "{$title} %s \N{WHITE SMILING FACE}",
    "\N{FOX FACE}\N{ZERO WIDTH JOINER}\N{SNOWFLAKE}",
    "שלום עולם",
    "مرحبا بالعالم",
    "\N{RIGHT-TO-LEFT OVERRIDE}gnorw",
    "İstanbul \N{LATIN SMALL LETTER SHARP S} \N{GREEK SMALL LETTER FINAL SIGMA}",
]


def test_titles_of_every_kind_are_stored_found_and_mentioned(
    user: User, tmp_path: Path
) -> None:
    """Quotes, backticks, emoji and right-to-left titles are names like any other."""
    pages = [
        page(title, f"{WORDS} See [[{ODD_TITLES[n - 1]}]].", number=n + 1)
        for n, title in enumerate(ODD_TITLES)
        if "{" not in title
    ]

    done = user.ingest("dump", _file(tmp_path / "d.xml", dump(*pages)))

    assert (done.code, done.errors, user.wrong()) == (0, [], [])
    for title in (t for t in ODD_TITLES if "{" not in t):
        found = user.run(
            *("search", WORDS, "--corpus=kept", "--json", "--filter"),
            json.dumps({"title": {"$eq": title}}),
        )
        titles = {hit["title"] for hit in json.loads(found.out)["results"]}
        assert titles == {title}


def test_equal_titles_are_two_documents(user: User, tmp_path: Path) -> None:
    """Two pages of one title are both kept; a link to it stands for neither."""
    pages = [
        page("Sand", WORDS, number=1),
        page("Sand", "Other sand. It is grey.", number=2),
        page("Beach", "It has [[Sand]]. Much of it.", number=3),
    ]

    done = user.ingest("dump", _file(tmp_path / "d.xml", dump(*pages)))

    assert (done.code, user.wrong()) == (0, [])
    assert user.titles() == ["Beach", "Moon", "Sand", "Sand", "Tide"]


def test_sentences_of_no_length_are_left_out(user: User, tmp_path: Path) -> None:
    """Ready-made sentences that are blank make no node; only blank ones, no document.

    Offsets still point at the sentences.
    """
    path = _jsonl(
        tmp_path / "s.jsonl",
        {"id": "a", "title": "Some", "sentences": ["", "One.", " ", "", "Two.", ""]},
        {"id": "b", "title": "None", "sentences": ["", " "]},
        {"id": "c", "title": "Nothing", "sentences": []},
    )

    done = user.ingest("jsonl", path)

    rows = user.connection.query(
        "MATCH (d:Document {title: 'Some'})<-[:FROM_DOCUMENT]-()-[:HAS_SENTENCE]->(s) "
        "RETURN substring(d.text, s.startChar, s.endChar - s.startChar) AS text "
        "ORDER BY s.index"
    )
    assert done.code == 0
    assert "Left out: 2 empty" in done.out
    assert [row["text"] for row in rows] == ["One.", "Two."]
    assert user.wrong() == []


@pytest.fixture
def spoiled_model(tmp_path: Path) -> str:
    """Return a real model whose vectors of two words are NaN and zero."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    vocabulary = ["[UNK]", "nan", "nought", "the", "tide", "moon", "rises"]
    tokenizer = Tokenizer(
        WordLevel({word: n for n, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.random.default_rng(3).normal(size=(len(vocabulary), 32))
    weights[1], weights[2] = np.nan, 0.0
    model = SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu"
    )
    folder = tmp_path / "model"
    model.save_pretrained(str(folder), create_model_card=False)
    return f"static:{folder}"


def test_vectors_that_cannot_be_used_cost_only_their_document(
    user: User, tmp_path: Path, spoiled_model: str
) -> None:
    """A model that gives NaN or a zero vector loses that document and no other."""
    user.run("corpus", "delete", "kept", "--yes")
    path = _jsonl(
        tmp_path / "d.jsonl",
        {"id": "1", "title": "Good", "text": "the tide rises"},
        {"id": "2", "title": "Bad", "text": "nan nan"},
        {"id": "3", "title": "Also good", "text": "the moon rises"},
        {"id": "4", "title": "Worse", "text": "nought nought"},
    )

    done = user.run(
        *("ingest", "jsonl", path, "--corpus=kept", "--themes=none"),
        embedder=spoiled_model,
    )

    assert (done.code, len(done.errors)) == (1, 2)
    assert done.errors[0].startswith("Error: Bad: The embedder static:")
    assert "not finite" in done.errors[0]
    assert done.errors[1].startswith("Error: Worse: The embedder static:")
    assert "zero" in done.errors[1]
    assert user.titles() == ["Also good", "Good"]
    assert user.wrong() == []


def test_question_without_a_vector_is_refused(
    user: User, tmp_path: Path, spoiled_model: str
) -> None:
    """A question that the model has no usable vector for gets one line."""
    user.run("corpus", "delete", "kept", "--yes")
    path = _jsonl(tmp_path / "d.jsonl", {"id": "1", "text": "the tide rises"})
    user.run(
        *("ingest", "jsonl", path, "--corpus=kept", "--themes=none"),
        embedder=spoiled_model,
    )

    done = user.run("search", "nan", "--corpus=kept", embedder=spoiled_model)

    assert (done.code, done.out, len(done.errors)) == (2, "", 1)
    assert "no usable vector" in done.errors[0]


def test_wrong_credentials_are_one_line(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused password exits 1, names the user and never the password."""
    before = user.digest()
    monkeypatch.setenv("NEO4J_PASSWORD", "guessed-wrong")

    done = user.ingest("dump", _file(tmp_path / "d.xml", GOOD))

    assert (done.code, done.out, len(done.errors)) == (1, "", 1)
    assert "refused" in done.errors[0]
    assert "guessed-wrong" not in done.errors[0]
    assert user.digest() == before


def test_server_that_is_not_there_is_one_line(user: User, tmp_path: Path) -> None:
    """Every command says which address does not answer."""
    commands = [
        ("ingest", "dump", _file(tmp_path / "d.xml", GOOD), "--corpus=kept"),
        ("search", "Why tides?"),
        ("corpus", "list"),
        ("cypher", "RETURN 1"),
        ("quickstart",),
    ]
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        uri = f"bolt://127.0.0.1:{taken.getsockname()[1]}"

        done = [user.run(*words, uri=uri) for words in commands]

    assert [(did.code, len(did.errors)) for did in done] == [(1, 1)] * 5
    assert [did.out for did in done[:-1]] == [""] * 4
    told = f"{uri.removeprefix('bolt://')} does not answer"
    assert [did for did in done if told not in did.errors[0]] == []


def test_address_that_is_none_is_a_mistake(user: User) -> None:
    """An address of another kind exits 2 and says which kinds there are."""
    addresses = ["http://127.0.0.1:7474", "nonsense", "bolt://"]

    done = [user.run("corpus", "list", uri=uri) for uri in addresses]

    assert [(did.code, len(did.errors)) for did in done] == [(2, 1)] * 3
    assert [
        uri
        for uri, did in zip(addresses, done, strict=True)
        if uri not in did.errors[0]
    ] == []


def _with_little_space(user: User, *words: str | Path, limit: int) -> Outcome:
    """Run a command in a process whose files cannot grow beyond a limit."""
    return user.spawn(
        *words,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


@pytest.mark.thorough
def test_no_space_for_working_files_is_one_line_and_can_be_mended(
    user: User, tmp_path: Path
) -> None:
    """Without space beside the database it is said; the next run completes all."""
    path = _file(tmp_path / "d.xml", dump(*_pages(12)))

    full = _with_little_space(
        user,
        *("ingest", "dump", path, "--corpus=kept", "--themes=none"),
        limit=1000,
    )

    assert (full.code, full.out, len(full.errors)) == (1, "", 1)
    assert re.search(r"No space|cannot be written .*: free some space", full.errors[0])
    assert {"Moon", "Tide"} <= set(user.titles())
    assert user.ingest("dump", path).code == 0
    assert user.wrong() == []
    assert len(user.titles()) == 14


@pytest.mark.thorough
def test_no_space_for_a_picture_leaves_the_old_one(user: User, tmp_path: Path) -> None:
    """A picture that does not fit is one line, and the last one stays whole."""
    picture = tmp_path / "walk.html"
    assert user.run("quickstart", "--picture", picture).code == 0
    before = picture.read_bytes()

    done = _with_little_space(user, "quickstart", "--picture", picture, limit=9000)

    assert (done.code, len(done.errors)) == (1, 1)
    assert f"Cannot write {picture}" in done.errors[0]
    assert [path.name for path in tmp_path.glob("*walk*")] == ["walk.html"]
    assert picture.read_bytes() == before


def test_picture_in_a_folder_that_is_not_there(user: User, tmp_path: Path) -> None:
    """The folder of a picture is looked at before any work is done."""
    picture = tmp_path / "nowhere" / "walk.html"

    done = user.run("quickstart", "--picture", picture)

    assert (done.code, len(done.errors)) == (2, 1)
    assert "nowhere" in done.errors[0]
    assert user.titles("quickstart") == []


def test_taken_port_is_one_line(user: User, tmp_path: Path) -> None:
    """A port that somebody else listens on is named, and no server is left."""
    home = tmp_path / "home"
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]

        done = user.run("server", "start", "--home", home, "--port", str(port))

    assert (done.code, done.out, len(done.errors)) == (1, "", 1)
    assert str(port) in done.errors[0]
    assert user.run("server", "status", "--home", home).code == 1


UNKNOWN = {
    ("search", "Why tides?", "--corpus=kepd"): "'kept'",
    ("corpus", "show", "kepd"): "'kept'",
    ("corpus", "verify", "kepd"): "'kept'",
    ("corpus", "delete", "kepd", "--yes"): "'kept'",
    ("search", "Why?", "--algorithm=query_travesal"): "'query_traversal'",
    ("search", "Why?", "--corpus=kept", '--filter={"title": {"$like'): "--filter",
    ("serch", "Why?"): "'search'",
    ("ingest", "dumb", "x"): "dumb",
}


def test_unknown_names_are_mistakes_with_a_suggestion(user: User) -> None:
    """A name that is almost right is suggested; nothing is touched."""
    before = user.digest()

    done = {words: user.run(*words) for words in UNKNOWN}

    assert [
        (words, did)
        for words, did in done.items()
        if (did.code, did.out) != (2, "") or UNKNOWN[words] not in did.errors[-1]
    ] == []
    assert user.digest() == before


def test_another_embedder_is_refused(user: User, tmp_path: Path) -> None:
    """One database has vectors of one embedder; the line says what to do."""
    before = user.digest()

    done = user.run(
        *("ingest", "dump", _file(tmp_path / "d.xml", GOOD), "--corpus=new"),
        embedder="hash:48",
    )

    assert (done.code, len(done.errors)) == (2, 1)
    assert "another database or --home" in done.errors[0]
    assert user.digest() == before


def test_document_of_too_many_sentences_fails_alone(user: User, tmp_path: Path) -> None:
    """What the server cannot take in one transaction is refused before it tries."""
    path = _jsonl(
        tmp_path / "d.jsonl",
        {"id": "a", "title": "Endless", "text": "It goes on. " * 15_001},
        {"id": "b", "title": "Short", "text": "It ends."},
    )

    done = user.ingest("jsonl", path)

    assert (done.code, len(done.errors)) == (1, 1)
    assert "Endless: it has 15,001 sentences, more than 15,000" in done.errors[0]
    assert user.titles() == ["Moon", "Short", "Tide"]


@pytest.mark.thorough
def test_no_space_for_temporary_files_is_one_line(user: User, tmp_path: Path) -> None:
    """The list of what was seen moves to disk when it is long, and says if it cannot.

    What was stored before is whole.
    """
    before = user.titles()
    redirects = [page(f"R{n}", f"#REDIRECT [[T{n}]]", number=n) for n in range(60_000)]
    path = _file(tmp_path / "d.xml", dump(*redirects))

    done = _with_little_space(
        user,
        *("ingest", "dump", path, "--corpus=kept", "--themes=none"),
        limit=1000,
    )

    assert (done.code, done.out, len(done.errors)) == (1, "", 1)
    assert "No space for temporary files" in done.errors[0]
    assert user.titles() == before

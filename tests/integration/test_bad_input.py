"""Bad input, as a user would give it: one clear line, an exit code, nothing lost."""

from __future__ import annotations

import bz2
import gzip
import json
import resource
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.corpus import list_corpora
from ingest.digest import corpus_digest
from ingest.verify import verify_corpus
from tests.command_line import CommandLine
from tests.dumps import dump, page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from graph.connection import Connection
    from graph.settings import Settings
    from tests.command_line import Outcome

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

    def wrong(self) -> list[str]:
        """Return what `corpus verify` finds."""
        return [f.check for f in verify_corpus(self.connection, "kept") if f.count]


@pytest.fixture
def user(
    server: Settings,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> User:
    """Return a user whose corpus `kept` has two documents."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    user = User(server, connection, capsys)
    stored = user.ingest("jsonl", _jsonl(tmp_path / "kept.jsonl", *KEPT))
    assert stored.code == 0, stored.errors
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


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.xml", b"", "is empty"),
        ("empty.xml.bz2", bz2.compress(b""), "is an empty file"),
        ("page.html", b"<!DOCTYPE html><html></html>", "is an HTML page"),
        ("data.json", b'{"a": 1}', "is a JSON file"),
        ("all.zip", b"PK\x03\x04" + bytes(99), "is a zip archive"),
        ("other.xml", b"<rss><channel/></rss>", "not a usable MediaWiki XML dump"),
        ("bomb.xml", b'<!DOCTYPE a [<!ENTITY b "c">]><mediawiki/>', "MediaWiki XML"),
        ("noise.bz2", b"BZh9" + bytes(range(200)), "damaged before its first page"),
        ("cut.gz", gzip.compress(GOOD.encode())[:15], "damaged before its first page"),
    ],
)
def test_what_is_no_dump_is_refused(
    user: User, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    """A file that is not a dump is named with what it is, and nothing changes."""
    before = user.digest()

    done = user.ingest("dump", _file(tmp_path / name, content))

    assert (done.code, done.out, len(done.errors)) == (2, "", 1)
    assert says in done.errors[0]
    assert name in done.errors[0]
    assert (user.digest(), user.wrong()) == (before, [])


@pytest.mark.parametrize(
    ("kind", "says"),
    [("dump", "No such file"), ("jsonl", "No such file"), ("files", "nowhere")],
)
def test_what_is_missing_is_refused(
    user: User, tmp_path: Path, kind: str, says: str
) -> None:
    """A path that leads nowhere is named, before anything is written."""
    before = user.digest()

    done = user.ingest(kind, tmp_path / "nowhere")

    assert (done.code, len(done.errors)) == (2, 1)
    assert says in done.errors[0]
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


@pytest.mark.parametrize("damage", [_truncated, _altered])
@pytest.mark.parametrize("pack", [_many_streams, lambda text: text.encode()])
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
    assert user.wrong() == []


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
    assert user.wrong() == []


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


@pytest.mark.parametrize(("word", "kind"), [("nan", "not finite"), ("nought", "zero")])
def test_vectors_that_cannot_be_used_cost_only_their_document(
    user: User, tmp_path: Path, spoiled_model: str, word: str, kind: str
) -> None:
    """A model that gives NaN or a zero vector loses that document and no other."""
    user.run("corpus", "delete", "kept", "--yes")
    path = _jsonl(
        tmp_path / "d.jsonl",
        {"id": "1", "title": "Good", "text": "the tide rises"},
        {"id": "2", "title": "Bad", "text": f"{word} {word}"},
        {"id": "3", "title": "Also good", "text": "the moon rises"},
    )

    done = user.run(
        *("ingest", "jsonl", path, "--corpus=kept", "--themes=none"),
        embedder=spoiled_model,
    )

    assert (done.code, len(done.errors)) == (1, 1)
    assert done.errors[0].startswith("Error: Bad: The embedder static:")
    assert kind in done.errors[0]
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


@pytest.mark.parametrize(
    "words",
    [
        ("ingest", "dump", "{path}", "--corpus=kept"),
        ("search", "Why tides?"),
        ("corpus", "list"),
        ("cypher", "RETURN 1"),
        ("quickstart",),
    ],
)
def test_server_that_is_not_there_is_one_line(
    user: User, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Every command says which address does not answer."""
    path = _file(tmp_path / "d.xml", GOOD)
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        uri = f"bolt://127.0.0.1:{taken.getsockname()[1]}"

        done = user.run(*(word.format(path=path) for word in words), uri=uri)

    assert (done.code, done.out, len(done.errors)) == (1, "", 1)
    assert f"{uri} does not answer" in done.errors[0]


@pytest.mark.parametrize("uri", ["http://127.0.0.1:7474", "nonsense", "bolt://"])
def test_address_that_is_none_is_a_mistake(user: User, uri: str) -> None:
    """An address of another kind exits 2 and says which kinds there are."""
    done = user.run("corpus", "list", uri=uri)

    assert (done.code, len(done.errors)) == (2, 1)
    assert uri in done.errors[0]


def _with_little_space(user: User, *words: str | Path, limit: int) -> Outcome:
    """Run a command in a process whose files cannot grow beyond a limit."""
    return user.spawn(
        *words,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


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
    assert "No space for temporary files" in full.errors[0]
    assert {"Moon", "Tide"} <= set(user.titles())
    assert user.ingest("dump", path).code == 0
    assert user.wrong() == []
    assert len(user.titles()) == 14


def test_no_space_for_a_picture_leaves_the_old_one(user: User, tmp_path: Path) -> None:
    """A picture that does not fit is one line, and the last one stays whole."""
    picture = tmp_path / "walk.html"
    assert user.run("quickstart", "--picture", picture).code == 0
    before = picture.read_bytes()

    done = _with_little_space(user, "quickstart", "--picture", picture, limit=9000)

    assert (done.code, len(done.errors)) == (1, 1)
    assert f"Cannot write the picture {picture}" in done.errors[0]
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


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("search", "Why tides?", "--corpus=kepd"), "'kept'"),
        (("corpus", "show", "kepd"), "'kept'"),
        (("corpus", "verify", "kepd"), "'kept'"),
        (("corpus", "delete", "kepd", "--yes"), "'kept'"),
        (("search", "Why?", "--algorithm=query_travesal"), "'query_traversal'"),
        (("search", "Why?", "--corpus=kept", '--filter={"title": {"$like'), "--filter"),
        (("serch", "Why?"), "'search'"),
        (("ingest", "dumb", "x"), "dumb"),
    ],
)
def test_unknown_names_are_mistakes_with_a_suggestion(
    user: User, words: tuple[str, ...], hint: str
) -> None:
    """A name that is almost right is suggested; nothing is touched."""
    before = user.digest()

    done = user.run(*words)

    assert (done.code, done.out) == (2, "")
    assert hint in done.errors[-1]
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

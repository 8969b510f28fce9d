"""Dumps and files of the web are ingested by the command line as those of a folder."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.verify import corpus_digest
from tests.command_line import CommandLine
from tests.dumps import multistream, page
from tests.web_files import s3_files, web_files

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = [pytest.mark.integration, pytest.mark.one_line]


@pytest.fixture
def user(
    server: Settings,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Return a command line on the emptied server, with the hash embedder."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    return CommandLine(server, capsys, "hash:32")


def _skipped(told: str) -> int:
    found = re.search(r"(\d+) skipped", told)
    assert found is not None
    return int(found[1])


@pytest.mark.thorough
def test_the_graph_is_that_of_the_files(
    user: CommandLine,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dump, lines without ids and a folder of a bucket; where it is does not matter."""
    folder = tmp_path / "all" / "bucket"
    (folder / "notes").mkdir(parents=True)
    monkeypatch.chdir(folder)
    pages = [page(f"P {n}", f"Star {n} shines.\n" * 9, number=n) for n in range(30)]
    (folder / "dump.bz2").write_bytes(multistream(pages, each=3))
    rows = [json.dumps({"text": f"Planet {n} turns. " * 3}) for n in range(9)]
    (folder / "part-1.jsonl").write_text("\n".join(rows))
    (folder / "notes" / "a.md").write_text("# One\n\nTo [two](b.md).\n")
    (folder / "notes" / "b.md").write_text("# Two\n\nText of two.\n")
    with web_files(folder) as web, s3_files(folder.parent) as query:
        for kind, local, remote in (
            ("dump", "dump.bz2", f"{web.address}/dump.bz2"),
            ("jsonl", "part-1.jsonl", f"s3://bucket/part-*.jsonl{query}"),
            ("files", "notes", f"s3://bucket/notes{query}"),
        ):
            words = ("--corpus", "far", "--themes=none")
            done = user.run("ingest", kind, local, *words)
            assert (done.code, done.errors) == (0, [])
            wanted = corpus_digest(connection, "far").value
            if kind != "files":  # of which a folder elsewhere is another one
                again = user.run("ingest", kind, remote, *words)
                assert " 0 added, 0 updated, " in again.out
            delete_corpus(connection, "far", work=user.settings.home / "work")
            done = user.run("ingest", kind, remote, *words)
            assert (done.code, done.errors) == (0, [])
            assert corpus_digest(connection, "far").value == wanted
            delete_corpus(connection, "far", work=user.settings.home / "work")


@pytest.mark.thorough
def test_a_cut_on_the_way_leaves_whole_documents(
    user: CommandLine, connection: Connection, tmp_path: Path
) -> None:
    """It is one line; the same command then goes on to the graph of the whole."""
    rows = [{"id": n, "text": f"Star {n % 97}" + " shines" * 40} for n in range(1000)]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines)
    words = ("--corpus", "far", "--themes=none", "--no-terms")
    done = user.run("ingest", "jsonl", tmp_path / "rows.jsonl", *words)
    wanted = corpus_digest(connection, "far").value
    delete_corpus(connection, "far", work=user.settings.home / "work")
    with web_files(tmp_path) as web:
        address = web.address.replace("//", "//me:s3cret@")
        gone = user.run("ingest", "jsonl", f"{address}/none.jsonl", *words)
        web.login = "me:s3cret"
        web.last = 200_000
        cut = user.run("ingest", "jsonl", f"{address}/rows.jsonl", *words)
        web.last = None
        done = user.run("ingest", "jsonl", f"{address}/rows.jsonl", *words)

    assert (gone.code, len(gone.errors), "no such file" in gone.errors[0]) == (2, 1, 1)
    assert (cut.code, len(cut.errors)) == (2, 1)
    assert f"Cannot read {web.address}/rows.jsonl: " in cut.errors[0]
    assert not [s for s in (gone, cut, done) if "s3cret" in f"{s}"]
    assert done.code == 0
    assert 0 < _skipped(done.out) < len(rows)
    assert corpus_digest(connection, "far").value == wanted


def test_a_cut_before_anything_is_stored_leaves_no_corpus(
    user: CommandLine, connection: Connection, tmp_path: Path
) -> None:
    """Its first document was read, but never written."""
    rows = [{"id": n, "text": "It is.", "note": "x" * 9000} for n in range(30)]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines)
    with web_files(tmp_path) as web:
        web.last = 100_000
        cut = user.run("ingest", "jsonl", f"{web.address}/rows.jsonl", "--corpus=far")

    assert (cut.code, len(cut.errors)) == (2, 1)
    assert connection.read("corpus/list") == []

"""Files of the web and of buckets give what the same files on this machine give."""

from __future__ import annotations

import gzip
import json
import logging
import pickle
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.sources import _remote
from knowtrail.ingest.sources._remote import RemoteFile
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.sources.files import FilesSource
from knowtrail.ingest.sources.jsonl import JsonlSource
from tests.dumps import multistream, page
from tests.web_files import google_files, s3_files, web_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.web_files import WebFiles

PAGES = [page(f"Ä {n}", f"Text <page> {n}. " * 9, number=n) for n in range(12)]
ROWS = "".join(json.dumps({"text": f"Ein Täxt {n}."}) + "\n" for n in range(20))
KINDS = ["web", "s3", "gs"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with a dump, lines and a folder of files."""
    home = tmp_path / "all" / "bucket"
    (home / "notes" / "in").mkdir(parents=True)
    (home / "dump.bz2").write_bytes(multistream(PAGES, each=3))
    (home / "part-1.jsonl").write_text(ROWS)
    (home / "part 2.jsonl").write_bytes(gzip.compress(ROWS.encode()))
    (home / "notes" / "a.md").write_text("# One\n\nTo [two](in/b.md), [[b]].\n")
    (home / "notes" / "in" / "b.md").write_text("# Two\n\nBack [home](../a.md).\n")
    (home / "notes" / "in" / ".hidden.md").write_text("no")
    (home / "notes" / "x.png").write_bytes(b"\x89PNG")
    monkeypatch.chdir(home)
    monkeypatch.setattr(_remote, "_PAUSE", 0.01)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    return home


@pytest.fixture
def web(folder: Path) -> Iterator[WebFiles]:
    """Serve the working folder."""
    with web_files(folder) as files:
        yield files


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, folder: Path) -> Iterator[Any]:
    """Yield what makes an address of a path in the working folder."""
    if request.param == "web":
        with web_files(folder) as files:
            yield lambda path: f"{files.address}/{path.replace(' ', '%20')}?key=hush"
    elif request.param == "s3":
        with s3_files(folder.parent) as query:
            yield lambda path: f"s3://bucket/{path}{query}"
    else:
        with google_files(folder.parent) as query:
            yield lambda path: f"gs://anonymous@bucket/{path}{query}"


def _in_pieces(source: Any, size: int) -> tuple[int, list[Any]]:
    """Return how many pieces there are, and what another process reads of them."""
    parts = list(source.parts(size))
    there = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own
    return len(parts), [item for part in parts for item in there.part_items(part)]


@pytest.mark.parametrize(
    ("kind", "name", "pieces"),
    [
        (DumpSource, "dump.bz2", 5),
        (JsonlSource, "part-1.jsonl", 20),
        (JsonlSource, "part 2.jsonl", 1),
    ],
)
def test_a_remote_file_gives_what_the_file_gives(
    address: Callable[[str], str],
    kind: Any,
    name: str,
    pieces: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a whole and in pieces, with the same ids, names and size."""
    local = kind([name])
    remote = kind([address(name)])
    wanted = list(local.items())

    assert (remote.name, remote.size) == (local.name, local.size)
    assert list(remote.items()) == wanted
    assert remote.position == local.size
    monkeypatch.chdir("/")
    assert _in_pieces(remote, 1) == (pieces, wanted)
    assert _in_pieces(remote, 1 << 20)[0] == 1


@pytest.mark.parametrize("address", ["s3", "gs"], indirect=True)
def test_buckets_have_patterns_and_folders(
    address: Callable[[str], str], folder: Path
) -> None:
    """They are the files in the order of their paths, and the folder is the root."""
    lines = JsonlSource([address("part*.jsonl")])
    assert lines.name == "part 2.jsonl, part-1.jsonl"
    local, remote = FilesSource("notes"), FilesSource(address("notes/"))

    wanted = list(local.items())

    assert len([item for item in wanted if isinstance(item, RawDocument)]) == 2
    assert list(remote.items()) == wanted
    assert _in_pieces(remote, 1) == _in_pieces(local, 1)
    assert [item.source_id for item in FilesSource(address("*/a.md")).items()] == [
        "notes/a.md"
    ]
    with pytest.raises(SourceError, match="no such file"):
        JsonlSource([address("none-*.jsonl")])
    with pytest.raises(SourceError, match="is a folder"):
        list(DumpSource([address("notes")]).items())


def test_ids_of_files_hang_on_the_folder_of_the_corpus(
    folder: Path, web: WebFiles
) -> None:
    """A page of the web is a file of the working folder, or of one in a bucket."""
    page = FilesSource([f"{web.address}/notes/a.md"])
    assert page.settle(None, new=True) == str(folder)
    (local,) = FilesSource(["notes/a.md"]).items()
    found = list(page.items())
    assert found == [local]
    assert page.settle("s3://bucket/notes") == "s3://bucket/notes"
    assert [item.source_id for item in page.items()] == ["notes/a.md"]
    with s3_files(folder.parent) as query:
        source = FilesSource([f"s3://bucket/notes{query}"])
        assert source.settle(None) == "s3://bucket/notes"
        again = FilesSource([f"s3://bucket/notes/a.md{query}"])
        again.settle("s3://bucket/notes")
        assert [item.source_id for item in again.items()] == ["a.md"]
        moved = FilesSource(["notes"])
        assert moved.settle("s3://bucket/notes") == str(folder / "notes")


@pytest.mark.thorough
def test_it_is_read_by_ranges_in_bounded_memory(
    folder: Path, web: WebFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never as a whole; to be cut it is looked at in places."""
    monkeypatch.setattr(_remote, "_MOST", 1 << 19)
    noise = random.Random(0)
    large = [page(f"P {n}", noise.randbytes(75_000).hex(), number=n) for n in range(40)]
    data = multistream(large, each=1)
    (folder / "large.bz2").write_bytes(data)
    source = DumpSource([f"{web.address}/large.bz2"])

    parts = list(source.parts(4_000_000))
    looked = list(web.asked)
    items = [item for part in parts for item in source.part_items(part)]

    assert len(items) == 40
    assert items == list(source.items())
    assert len(parts) == 3
    assert None not in web.asked
    assert max(length for _, length in web.asked if length) <= 1 << 19
    assert sum(length for _, length in looked) < len(data) * 0.75


def test_a_server_without_ranges_is_read_in_a_row(web: WebFiles) -> None:
    """It cannot be read in pieces, and says so."""
    web.ranges = False
    source = DumpSource([f"{web.address}/dump.bz2"])

    assert list(source.items()) == list(DumpSource(["dump.bz2"]).items())
    assert list(JsonlSource([f"{web.address}/part-1.jsonl"]).items()) == list(
        JsonlSource(["part-1.jsonl"]).items()
    )
    with pytest.raises(SourceError, match=r"no ranges of it.*--engine local"):
        list(source.parts(1))
    web.cuts = 9
    with pytest.raises(SourceError, match=r"cut .* and the server gives no ranges"):
        list(JsonlSource([f"{web.address}/part-1.jsonl"]).items())


def test_a_connection_that_is_cut_is_taken_up(web: WebFiles) -> None:
    """Three times; then it is told, and is no damage of the file."""
    source = JsonlSource([f"{web.address}/part-1.jsonl"])
    wanted = list(JsonlSource(["part-1.jsonl"]).items())
    web.cuts = 3
    assert list(source.items()) == wanted

    for kind, name in [(JsonlSource, "part-1.jsonl"), (DumpSource, "dump.bz2")]:
        web.cuts = 9
        with pytest.raises(SourceError, match=f"Cannot read {web.address}/{name}: "):
            list(kind([f"{web.address}/{name}"]).items())


@pytest.mark.parametrize(
    ("status", "told"),
    [(404, "no such file"), (403, "answered 403"), (503, "answered 503")],
)
def test_what_a_server_refuses_is_told(web: WebFiles, status: int, told: str) -> None:
    """What may pass is asked for again before."""
    web.status = status
    with pytest.raises(SourceError, match=told):
        list(JsonlSource([f"{web.address}/part-1.jsonl"]).items())
    assert len(web.asked) == (4 if status == 503 else 1)


def test_a_file_that_changes_meanwhile_is_told(folder: Path, web: WebFiles) -> None:
    """What was read before is of another file."""
    (folder / "long.jsonl").write_text(ROWS * 2000)
    items = iter(JsonlSource([f"{web.address}/long.jsonl"]).items())
    next(items)
    web.version = "Fri, 02 Jan 2026 00:00:00 GMT"
    with pytest.raises(SourceError, match="changed while it was read"):
        list(items)


@pytest.mark.parametrize("path", ["part-1.jsonl", "part*.jsonl"])
def test_a_bucket_that_denies_access_is_told(folder: Path, path: str) -> None:
    """In one line with bucket, key and the right that is lacking."""
    with (
        s3_files(folder.parent, denied=True) as query,
        pytest.raises(SourceError) as error,
    ):
        list(JsonlSource([f"s3://bucket/{path}{query}"]).items())

    told = str(error.value)
    assert f"Cannot read s3://bucket/{path}: access to '{path}' in bucket" in told
    assert "'bucket' is denied. Give credentials with the right s3:GetObject" in told
    assert "\n" not in told


@pytest.mark.parametrize("rows", [ROWS.replace("Ein", "Das"), ROWS * 2, ""])
def test_a_file_of_a_bucket_that_changes_meanwhile_is_told(
    folder: Path, rows: str
) -> None:
    """Whether it stays as long, grows or is emptied."""
    file = folder / "long.jsonl"
    file.write_text(ROWS * 2000)
    with s3_files(folder.parent) as query:
        items = iter(JsonlSource([f"s3://bucket/long.jsonl{query}"]).items())
        next(items)
        file.write_text(rows * 2000)
        with pytest.raises(SourceError, match="changed while it was read"):
            list(items)


def test_an_empty_file_is_told(folder: Path, web: WebFiles) -> None:
    """As one of this machine is."""
    (folder / "empty").touch()
    for kind in (JsonlSource, DumpSource):
        with pytest.raises(SourceError, match="is empty"):
            list(kind([f"{web.address}/empty"]).items())


def test_secrets_are_used_and_not_told(
    web: WebFiles, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither password nor signature is in names, pieces, messages and logs."""
    caplog.set_level(logging.INFO)
    web.login = "user:s3cret"
    place = web.address.removeprefix("http://")
    source = JsonlSource([f"http://user:s3cret@{place}/part-1.jsonl?sig=hush"])
    items = list(source.items())
    parts = list(source.parts(1))
    wrong = JsonlSource([f"http://user:s3cretly@{place}/part-1.jsonl?sig=hush"])
    with pytest.raises(SourceError, match="answered 401") as told:
        list(wrong.items())
    away = JsonlSource(["http://user:s3cret@127.0.0.1:9/x?sig=hush"])
    with pytest.raises(SourceError, match="refused") as closed:
        list(away.items())

    said = f"{source.name} {vars(source)} {items} {parts} {told} {closed} {caplog.text}"
    assert f"http://{place}/part-1.jsonl" in said
    assert not [word for word in ("s3cret", "hush") if word in said]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("ftp://host/x", "^ftp:// is not read: http://, https://, s3:// and gs:// are"),
        ("https:///x", "no usable host"),
        ("s3://KEY:se/cret@bucket/x", "no usable host"),
    ],
)
def test_an_address_of_no_use_is_told(address: str, told: str) -> None:
    """Without what may be a secret in it."""
    with pytest.raises(SourceError, match=told) as error:
        RemoteFile(address)
    assert "cret" not in str(error.value)


def test_two_files_of_one_path_are_refused(web: WebFiles) -> None:
    """Their records without ids would have the same."""
    other = f"s3://else/part-1.jsonl, {web.address}"
    with pytest.raises(SourceError, match="have one path"):
        JsonlSource([*other.split(", ")[:1], f"{web.address}/part-1.jsonl"])


def test_files_of_this_machine_need_nothing_of_it(folder: Path) -> None:
    """No client is loaded for them."""
    code = (
        "import sys\n"
        "from knowtrail.ingest.sources.jsonl import JsonlSource\n"
        "assert len(list(JsonlSource(['part-1.jsonl']).items())) == 20\n"
        "sys.exit(' '.join({'httpx', 'pyarrow', 'tenacity'} & set(sys.modules)) or 0)"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

"""On a cluster the graph is that of one machine, whatever of the cluster is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from knowtrail.graph.settings import Settings
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.sources.jsonl import JsonlSource
from knowtrail.ingest.verify import corpus_digest
from tests.command_line import ROOT, spawn
from tests.databases import drop_vector_indexes
from tests.dumps import multistream, page, pages
from tests.integration.ray_child import CORPUS, OPTIONS, SlowEmbedder
from tests.web_files import web_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection

pytestmark = [
    pytest.mark.integration,
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.one_line,
    pytest.mark.timeout(600),
]


def _child(*words: str | Path, password: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integration.ray_child", *map(str, words)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NEO4J_PASSWORD": password},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.fixture
def cluster() -> Iterator[subprocess.Popen[str]]:
    """Yield the process that three nodes of Ray are children of."""
    with _child("cluster") as process:
        yield process
        process.communicate(timeout=60)


def _until(there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 240
    while not there():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.05)


def _kill_worker(cluster: subprocess.Popen[str]) -> None:
    """Kill a process that embeds."""
    for process in psutil.Process(cluster.pid).children(recursive=True):
        if any("MapWorker" in word for word in process.cmdline()):
            process.kill()
            return
    pytest.fail("nothing embeds")


def test_kills_leave_the_digest_of_one_machine(
    connection: Connection,
    server: Settings,
    tmp_path: Path,
    cluster: subprocess.Popen[str],
) -> None:
    """A worker, a node and the driver are killed; what was finished is kept."""
    drop_vector_indexes(connection)
    file = tmp_path / "rows.jsonl"
    rows = [
        {"id": f"r{n}", "title": f"Star {n}", "text": f"Star {n % 7} shines. " * 9}
        for n in range(240)
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    settings = Settings(home=tmp_path / "home")
    ingest_corpus(
        connection,
        [JsonlSource([file])],
        corpus=CORPUS,
        embedder=SlowEmbedder(16),
        settings=settings,
        options=OPTIONS,
    )
    wanted = corpus_digest(connection, CORPUS).value
    delete_corpus(connection, CORPUS, work=settings.home / "work")
    assert cluster.stdout is not None
    assert cluster.stdin is not None
    address = cluster.stdout.readline().strip()
    work = tmp_path / "work"

    def drive(home: str) -> subprocess.Popen[str]:
        words = (server.uri or "", tmp_path / home, address, work, file)
        return _child("ingest", *words, password=server.password or "")

    def made() -> dict[str, int]:
        return {p.name: p.stat().st_mtime_ns for p in work.glob("ray-*/*.parquet")}

    with drive("home") as driver:
        _until(lambda: len(made()) >= 1, driver)
        _kill_worker(cluster)
        before = len(made())
        _until(lambda: len(made()) > before, driver)
        cluster.stdin.write("one\n")
        cluster.stdin.flush()
        assert cluster.stdout.readline() == "gone\n"
        before = len(made())
        _until(lambda: len(made()) > before, driver)
        driver.kill()
    time.sleep(2)  # workers of a driver that is gone end by themselves
    kept = made()
    with drive("home") as driver:
        _until(lambda: len(made()) > len(kept), driver)
        again = made()
        with drive("other-home") as second:
            _, told = second.communicate(timeout=120)
        out, err = driver.communicate(timeout=300)

    assert (second.returncode, "is being written by" in told) == (3, True), told
    assert (driver.returncode, "Traceback" in err) == (0, False)
    assert sum(map(int, out.split())) == len(rows)
    assert kept.items() <= again.items()
    assert corpus_digest(connection, CORPUS).value == wanted
    assert not made()


def test_workers_read_ranges_of_the_web(
    connection: Connection,
    server: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: subprocess.Popen[str],
) -> None:
    """The graph is that of the local file; no secret of the address is in a file."""
    drop_vector_indexes(connection)
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({"text": f"Planet {n} turns. " * 9}) for n in range(60)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    pages = [page(f"P {n}", f"Star {n} shines.\n" * 9, number=n) for n in range(60)]
    (tmp_path / "dump.bz2").write_bytes(multistream(pages, each=3))
    assert cluster.stdout is not None
    address = cluster.stdout.readline().strip()
    work = tmp_path / "work"
    for source in (JsonlSource(["rows.jsonl"]), DumpSource(["dump.bz2"])):
        ingest_corpus(
            connection,
            [source],
            corpus=CORPUS,
            embedder=SlowEmbedder(16),
            settings=Settings(home=tmp_path / "home"),
            options=OPTIONS,
        )
        wanted = corpus_digest(connection, CORPUS).value
        delete_corpus(connection, CORPUS, work=tmp_path / "home" / "work")
        with web_files(tmp_path) as web:
            web.login = "me:s3cret"
            place = web.address.replace("//", "//me:s3cret@")
            words = (server.uri or "", tmp_path / "home", address, work)
            driver = _child(
                "ingest",
                *words,
                f"{place}/{source.name}?sig=hush",
                password=server.password or "",
            )
            with driver:
                _until(lambda: any(work.glob("ray-*/manifest.json")), driver)
                (manifest,) = (p.read_text() for p in work.glob("ray-*/manifest.json"))
                out, err = driver.communicate(timeout=300)
            asked = {place for place in web.asked if place}

        assert (driver.returncode, out, "Traceback" in err) == (0, "60 0\n", False), err
        assert len(json.loads(manifest)["shards"]) > 2
        assert not [word for word in ("s3cret", "hush") if word in manifest]
        assert len(asked) > 2
        assert corpus_digest(connection, CORPUS).value == wanted
        delete_corpus(connection, CORPUS, work=tmp_path / "home" / "work")


def test_the_command_has_the_graph_of_one_machine(
    connection: Connection,
    server: Settings,
    shared: Path,
    tmp_path: Path,
) -> None:
    """Ray is started for it, on all cores; real pages in streams, as Wikipedia has."""
    drop_vector_indexes(connection)
    file = tmp_path / "pages.xml.bz2"
    file.write_bytes(multistream(pages(shared)[:100], each=4))
    found = []
    for engine in ("local", "ray"):
        home = tmp_path / engine
        words = ("--uri", server.uri or "", "--home", home, "--embedder", "hash:32")
        asked = ("ingest", "dump", file, "--corpus", CORPUS, "--engine", engine)
        password = {"NEO4J_PASSWORD": server.password or ""}
        done = spawn(*words, *asked, env=password, timeout=500)
        assert done.code == 0, done
        found.append((corpus_digest(connection, CORPUS).value, done.out.split("\n")[0]))
        delete_corpus(connection, CORPUS, work=home / "work")

    assert found[0] == found[1]

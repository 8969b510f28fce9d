"""On a cluster the graph is that of one machine, whatever of the cluster is killed."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pytest

from knowtrail.graph.errors import InputError
from knowtrail.graph.settings import Settings
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.neighbour_index import ROWS, NeighbourIndex
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.ray_engine import RayEngine, ray_itself
from knowtrail.ingest.similarity import Comparison
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.sources.jsonl import JsonlSource
from knowtrail.ingest.vector_file import VectorFile
from knowtrail.ingest.verify import corpus_digest
from tests.command_line import ROOT, spawn
from tests.databases import drop_vector_indexes
from tests.dumps import multistream, page, pages
from tests.integration.ray_child import CORPUS, OPTIONS, SlowEmbedder, slow_block
from tests.web_files import web_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def _busy(cluster: subprocess.Popen[str], work: str) -> list[psutil.Process]:
    """Return the workers that do something now."""
    found = []
    for process in psutil.Process(cluster.pid).children(recursive=True):
        with suppress(psutil.Error):  # it has ended by now
            found += [process] * any(work in word for word in process.cmdline())
    return found


def _killed(cluster: subprocess.Popen[str], work: str) -> bool:
    """Kill a worker that does something now, and return whether there was one."""
    found = _busy(cluster, work)
    for process in found[:1]:
        process.kill()
    return bool(found)


def _on_one_machine(connection: Connection, file: Path, home: Path) -> str:
    """Return the digest of an ingest without a cluster, which is deleted again."""
    ingest_corpus(
        connection,
        [JsonlSource([file])],
        corpus=CORPUS,
        embedder=SlowEmbedder(16),
        settings=Settings(home=home),
        options=OPTIONS,
    )
    digest = corpus_digest(connection, CORPUS).value
    delete_corpus(connection, CORPUS, work=home / "work")
    return digest


def test_kills_leave_the_digest_of_one_machine(
    connection: Connection,
    server: Settings,
    tmp_path: Path,
    cluster: subprocess.Popen[str],
) -> None:
    """Workers that read, embed and link, a node, the driver: nothing is lost."""
    drop_vector_indexes(connection)
    file = tmp_path / "rows.jsonl"
    rows = [
        {"id": f"r{n}", "title": f"Star {n}", "text": f"Star {n % 7} shines. " * 9}
        for n in range(240)
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    wanted = _on_one_machine(connection, file, tmp_path / "home")
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
        _until(lambda: _killed(cluster, "prepare_shard"), driver)
        _until(lambda: len(made()) >= 1, driver)
        _until(lambda: _killed(cluster, "MapWorker"), driver)
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
        _until(partial(_killed, cluster, "slow_counted"), driver)
        _until(lambda: bool(_busy(cluster, "slow_edges")), driver)
        driver.kill()
    _until(lambda: not _busy(cluster, "slow_edges"), cluster)
    whole = made()
    with drive("home") as driver:
        _until(partial(_killed, cluster, "slow_edges"), driver)
        assert made() == whole  # none of them is made again
        out, err = driver.communicate(timeout=300)

    assert (second.returncode, "is being written by" in told) == (3, True), told
    assert (driver.returncode, "Traceback" in err) == (0, False)
    assert sum(map(int, out.split())) == len(rows)
    assert kept.items() <= again.items()
    assert corpus_digest(connection, CORPUS).value == wanted
    assert not made()


def test_workers_search_the_blocks_of_an_index(
    cluster: subprocess.Popen[str], tmp_path: Path
) -> None:
    """They come in order and as here, though a worker is killed."""
    assert cluster.stdout is not None
    address, ray = cluster.stdout.readline().strip(), ray_itself()
    vectors = np.random.default_rng(5).standard_normal((120_000, 32), dtype=np.float32)
    with VectorFile(tmp_path, "some") as file:
        file.extend((f"d{n // 9}", f"{n:032x}", v) for n, v in enumerate(vectors))
        compared = Comparison(
            vectors=file.vectors,
            groups=file.groups,
            ids=file.ranks,
            numbers=file.numbers,
            top=3,
            threshold=0.2,
        )
        search = NeighbourIndex(compared, file.index_path, lambda: None)
        wanted = list(search.blocks(ROWS))
        starts = range(ROWS, len(vectors), ROWS)
        killed: list[int] = []

        def kill() -> None:
            _until(lambda: _killed(cluster, "slow_block"), cluster)
            killed.append(1)

        engine = RayEngine(address=address)
        engine._connect(ray, tmp_path)
        try:
            killer = Thread(target=kill)
            killer.start()
            found = list(engine.mapped(slow_block, starts, search))
            killer.join()
        finally:
            ray.shutdown()

    assert killed
    assert vectors[7].tobytes() not in pickle.dumps(search)
    assert [(one.start, one.stop) for one in found] == [
        (ROWS, 2 * ROWS),
        (2 * ROWS, 3 * ROWS),
        (3 * ROWS, len(vectors)),
    ]
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one.rows, other.rows)
        assert np.array_equal(one.columns, other.columns)
        assert np.array_equal(one.scores, other.scores)


def test_what_memory_does_not_hold_goes_to_the_folder_of_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Ray that is started here spills there, and reads it back."""
    ray = ray_itself()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "init", partial(ray.init, object_store_memory=80 << 20))
    RayEngine()._connect(ray, tmp_path / "spilled")
    try:
        kept = [ray.put(np.full(10_000_000, n, dtype=np.uint8)) for n in range(20)]
        found = [int(ray.get(one).max()) for one in kept]
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        spilled = sum(path.stat().st_size for path in files)
    finally:
        ray.shutdown()

    assert found == list(range(20))
    assert spilled > 50_000_000


def test_a_cluster_of_another_version_is_refused() -> None:
    """In one line, which names both."""
    with _child("older") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        ray = ray_itself()
        with pytest.raises(InputError) as told:
            RayEngine(address=address)._connect(ray, Path())
        process.communicate(timeout=60)

    assert "Ray: 2.1.0" in str(told.value)
    assert f"Ray: {ray.__version__}" in str(told.value)
    assert "\n" not in str(told.value)


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

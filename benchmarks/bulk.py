"""A first load by the bulk door against the same ingest by Bolt.

Documents of 30 sentences are generated, with words as often as in real texts and with
ready vectors that lie around subjects, so that neither side waits for a model. Each
door fills an empty server of its own until all indexes answer.
"""

from __future__ import annotations

import resource
import tempfile
import time
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from measure import Table
from sample import DIMENSIONS, OPTIONS

from knowtrail.graph.server.folder import server_status, stop_server
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.ingest.bulk.load import load_corpus
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.verify import corpus_digest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    import numpy.typing as npt

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.ingest.ray_engine import RayEngine
    from knowtrail.ingest.records import Source
    from knowtrail.ingest.report import IngestReport

SENTENCES = 30
WORDS = 60_000
CORPUS = "benchmark"


class Generated:
    """Documents with words that are as frequent as their rank says; seed fixed.

    Each sentence begins with a word that twenty documents share.
    """

    name = "generated"
    position = 0

    def __init__(self, documents: int) -> None:
        self.size = documents

    def items(self) -> Iterator[RawDocument]:
        """Yield the documents."""
        generator = np.random.default_rng(5)
        letters = np.array(list("aeinorstlumdcgk"))
        lengths = generator.integers(3, 11, size=WORDS)
        words = ["".join(generator.choice(letters, size=n)) for n in lengths]
        weights = 1 / np.arange(2, WORDS + 2)
        edges = np.cumsum(weights / weights.sum())
        for number in range(self.size):
            self.position = number
            picks = np.searchsorted(edges, generator.random(SENTENCES * 18))
            rows = np.minimum(picks, WORDS - 1).reshape(SENTENCES, 18)
            lines = []
            for row in rows:
                line = [words[n] for n in row]
                line[0] = words[(5000 + number // 20) % WORDS]
                line[5] = line[5].title() if row[5] > 300 else line[5]
                lines.append(" ".join(line).capitalize() + ".")
            title = f"{words[number % WORDS]} {words[number * 7 % WORDS]} {number}"
            yield RawDocument(
                source_id=str(number), title=title.title(), raw=" ".join(lines)
            )


class Ready:
    """Vectors that cost next to nothing: the first word's, moved by the text's."""

    name = "ready"
    query_prompt = ""

    def __init__(self) -> None:
        generator = np.random.default_rng(6)
        shape = (1 << 14, DIMENSIONS)
        self._subjects = generator.standard_normal(shape, dtype=np.float32)
        self._moves = generator.standard_normal(shape, dtype=np.float32)

    def embed_array(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return a vector for each text."""
        keys = np.array([zlib.crc32(text.encode()) for text in texts])
        firsts = [zlib.crc32(text.split(" ", 1)[0].encode()) for text in texts]
        vectors = self._subjects[np.array(firsts) % (1 << 14)]
        vectors = vectors + 0.8 * self._moves[keys >> 18]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors, dtype=np.float32)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return vectors as lists."""
        rows: list[list[float]] = self.embed_array(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embed_documents([text])[0]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--sizes", type=int, nargs="+", help="chunks (10000)")
    parser.add_argument("--no-bolt", action="store_true", help="the bulk door alone")


def run(given: argparse.Namespace) -> None:
    """Measure each size by both doors and print the table."""
    table = Table(
        title="bulk: a first load by both doors",
        columns=(
            "chunks", "door", "whole s", "CPU s: own, import, server", "stages s",
            "nodes + relationships", "imported a second", "GB on disk", "peak MiB",
            "digest",
        ),
    )  # fmt: skip
    for size in given.sizes or ([1000] if given.small else [10_000]):
        for door in ("bulk",) if given.no_bolt else ("bulk", "bolt"):
            table.add(f"{size:,}", door, *_measured(size, door))
            print(table.rows[-1], flush=True)
    table.print()


def _measured(size: int, door: str) -> tuple[str, ...]:
    """Return the cells of one door."""
    with tempfile.TemporaryDirectory(prefix="knowtrail-benchmark-") as name:
        settings = Settings.from_env(env={}, home=Path(name))
        try:
            return _cells(size, door, settings)
        finally:
            stop_server(settings.home)


def _cells(size: int, door: str, settings: Settings) -> tuple[str, ...]:
    """Load through a door and say what it cost."""
    with open_connection(settings, stay=True):
        before = _cpu(settings)
    start = time.perf_counter()
    report = loaded_by(door, size, settings)
    took = time.perf_counter() - start
    after = _cpu(settings)
    started = door == "bulk"  # a server of its own for the indexes
    spent = [b - a for a, b in zip(before[:2], after[:2], strict=True)]
    spent.append(after[2] - (0 if started else before[2]))
    with open_connection(settings) as connection:
        digest = corpus_digest(connection, CORPUS).value
    files = (settings.home / "server" / "data").rglob("*")
    disk = sum(path.stat().st_size for path in files if path.is_file())
    made = report.written.nodes_created + report.written.relationships_created
    seconds = report.seconds
    rate = f"{made / seconds['import']:,.0f}" if "import" in seconds else "-"
    return (
        f"{took:.0f}",
        ", ".join(f"{value:.0f}" for value in spent),
        ", ".join(f"{key} {value:.0f}" for key, value in seconds.items()),
        f"{made:,}",
        rate,
        f"{disk / 1e9:.2f}",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}",
        digest[:8],
    )


def _cpu(settings: Settings) -> tuple[float, float, float]:
    """Return the CPU seconds of this process, its children and the server."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    server = server_status(settings.home)
    times = psutil.Process(server.pid).cpu_times() if server else None
    return (
        time.process_time(),
        children.ru_utime + children.ru_stime,
        times.user + times.system if times else 0.0,
    )


def loaded_by(
    door: str,
    size: int,
    settings: Settings,
    *,
    source: Source | None = None,
    embedder: Embedder | None = None,
    engine: RayEngine | None = None,
) -> IngestReport:
    """Ingest generated chunks by a door, until the indexes are made."""
    sources = [source or Generated(size // SENTENCES)]
    common: dict[str, Any] = {
        "corpus": CORPUS,
        "embedder": embedder or Ready(),
        "settings": settings,
        "options": OPTIONS,
        "engine": engine,
    }
    with ExitStack() as stack:
        connection = stack.enter_context(open_connection(settings, stay=True))
        if door == "bulk":
            return load_corpus(connection, sources, leave=stack.close, **common)
        report = ingest_corpus(connection, sources, **common)
        _await_indexes(connection)
        return report


def _await_indexes(connection: Connection) -> None:
    """Wait until every index answers."""
    connection.run_schema("CALL db.awaitIndexes(36000)")

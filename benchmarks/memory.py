"""Peak memory of the ingesting process, for a corpus and one four times as large.

Counted is anonymous memory (RssAnon), sampled while a process of its own ingests
generated documents from a JSON Lines file; taken off is what a process needs that
loads the model, embeds one batch of the same texts and names one document's themes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from measure import MIB, Table, served
from sample import generated

from knowtrail.graph.settings import DEFAULT_EMBEDDER

if TYPE_CHECKING:
    import argparse

    import numpy.typing as npt
    from measure import Server

FACTOR = 4
SAMPLE_SECONDS = 0.01
SENTENCES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the measured process does.

    Attributes:
        file: The documents, one JSON object a line.
        embedder: Name of the embedder.
        corpus: Where they go; None only loads what an ingest needs, and uses it once.
        uri: The server.
        username: Its user.
        home: Where working files go.
    """

    file: str
    embedder: str
    corpus: str | None
    uri: str | None
    username: str
    home: str


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--documents", type=int, help="N, made-up vectors (default 400)"
    )
    parser.add_argument("--model-documents", type=int, help="N for it (default 80)")
    parser.add_argument("--model", default=DEFAULT_EMBEDDER)


class Made:
    """Vectors that a text determines and that cost nearly no time and no memory.

    Their cosines lie about 0.45, so that every chunk has all the edges it may have.
    """

    name = "made-up vectors"
    dimensions = 384

    def embed_array(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return a vector a text, float32 of shape (len(texts), 384)."""
        out = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            random = np.random.default_rng(zlib.crc32(text.encode()))
            out[row] = random.standard_normal(self.dimensions) + 0.9
        return out

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors as lists."""
        vectors: list[list[float]] = self.embed_array(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return a question's vector."""
        return self.embed_documents([text])[0]


class Peak(threading.Thread):
    """Watches the anonymous memory of this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self._end = threading.Event()

    def run(self) -> None:
        """Sample until told to stop."""
        while not self._end.wait(SAMPLE_SECONDS):
            self.bytes = max(self.bytes, anonymous())

    def stop(self) -> int:
        """Return the highest value."""
        self._end.set()
        self.join()
        return max(self.bytes, anonymous())


def anonymous() -> int:
    """Return the anonymous memory of this process in bytes."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("This system does not tell anonymous memory: use Linux.")


def child() -> None:
    """Do the job given on standard input and print the peak."""
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import embed_texts, load_embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.pipeline import ingest_corpus
    from knowtrail.ingest.sources.jsonl import JsonlSource
    from knowtrail.ingest.themes import theme_source

    job = Job(**json.loads(sys.stdin.readline()))
    peak = Peak()
    peak.start()
    made = job.embedder == Made.name
    embedder = Made() if made else load_embedder(job.embedder)
    if job.corpus is None:
        with Path(job.file).open(encoding="utf-8") as lines:
            text = json.loads(next(lines))["text"]
        themes = theme_source("keyphrases", embedder, Settings())
        themes.themes("Record", text, language="en")
        embed_texts(embedder, [text[i : i + 200] for i in range(0, 3200, 200)])
    else:
        settings = Settings.from_env(
            uri=job.uri,
            username=job.username,
            home=Path(job.home),
        )
        with Connection.open(settings) as connection:
            ingest_corpus(
                connection,
                [JsonlSource([Path(job.file)])],
                corpus=job.corpus,
                embedder=embedder,
                settings=settings,
            )
    print(peak.stop())


def measured(server: Server, job: Job) -> int:
    """Let a process of its own do a job; return its peak in bytes."""
    environment = {**os.environ, "NEO4J_PASSWORD": server.settings.password or ""}
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(asdict(job)) + "\n",
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return int(done.stdout.splitlines()[-1])


def write_documents(path: Path, count: int) -> None:
    """Write generated documents as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        for raw in generated(count, sentences=SENTENCES):
            record = {"id": raw.source_id, "title": raw.title, "text": raw.raw}
            file.write(json.dumps(record) + "\n")


def run(given: argparse.Namespace) -> None:
    """Measure both embedders and print the table."""
    sizes = {
        Made.name: given.documents or (20 if given.small else 400),
        given.model: given.model_documents or (4 if given.small else 80),
    }
    table = Table(
        title=f"memory: N and {FACTOR}N documents of {SENTENCES} sentences",
        columns=("embedder", "process", "documents", "peak MiB", "beyond model"),
    )
    with tempfile.TemporaryDirectory(prefix="knowtrail-memory-") as name:
        for embedder, count in sizes.items():
            _measure(Path(name), embedder, count, table)
    table.print()


def _measure(folder: Path, embedder: str, count: int, table: Table) -> None:
    """Add the rows of one embedder."""
    with served() as server:
        peaks = {}
        for size in (0, count, FACTOR * count):
            file = folder / f"{size}.jsonl"
            write_documents(file, size or 1)
            job = Job(
                file=str(file),
                embedder=embedder,
                corpus=f"of {size}" if size else None,
                uri=server.settings.uri,
                username=server.settings.username,
                home=str(server.settings.home),
            )
            peaks[size] = measured(server, job) / MIB
    base, small, large = peaks.values()
    for size, peak in peaks.items():
        what = "ingest" if size else "model, one batch, one document's themes"
        beyond = f"{peak - base:.0f}" if size else ""
        table.add(embedder, what, f"{size:,}", f"{peak:.0f}", beyond)
    growth = (large - base) / (small - base)
    table.notes.append(
        f"{embedder}: growth beyond the model (less than 1.2 is wanted): {growth:.2f}x."
    )


if __name__ == "__main__":
    child()

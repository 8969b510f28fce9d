"""An ingest by the engine ray, with one worker and with two, against the local one.

Of generated documents, or of the sample's pages so many times, each time under other
titles and ids. Reading, parsing and embedding are timed alone, too: there nothing is
stored meanwhile.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from measure import Table, served
from sample import CORPUS, OPTIONS, copied_pages, generated

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.models.embedders import named_embedder
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.ray_engine import RayEngine, ray_itself
from knowtrail.ingest.shards import Order
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.sources.jsonl import JsonlSource
from knowtrail.ingest.verify import corpus_digest

if TYPE_CHECKING:
    import argparse

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings

    Pages = DumpSource | JsonlSource


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--documents", type=int, help="generated ones (default 400)")
    parser.add_argument("--copies", type=int, help="of the sample's pages, instead")
    parser.add_argument("--embedder", default="hash:64")


def _source(folder: Path, documents: int, copies: int | None) -> tuple[Pages, int]:
    """Write what is read; return it, and the bytes of a shard of a dozen."""
    if copies:
        path = folder / "dump.xml"
        path.write_bytes(copied_pages(copies, apart=True))
        return DumpSource([path]), path.stat().st_size // 12
    path = folder / "rows.jsonl"
    rows = [
        {"id": d.source_id, "title": d.title, "text": d.raw}
        for d in generated(documents)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return JsonlSource([path]), path.stat().st_size // 12


def _alone(
    engine: RayEngine, source: Pages, settings: Settings, embedder: Embedder
) -> float:
    """Return the seconds that all shards take, and to read them."""
    order = Order(
        corpus=CORPUS,
        options=OPTIONS,
        embedder=embedder,
        keep=False,
        stored=np.empty(0, dtype=np.uint64),
    )
    begin = perf_counter()
    with engine.shards([source], order, settings=settings, progress=silent) as shards:
        for _ in shards.items():
            pass
    return perf_counter() - begin


def run(given: argparse.Namespace) -> None:
    """Measure and print the table."""
    count = given.documents or (20 if given.small else 400)
    made = f"{count} documents of 60 sentences"
    what = f"the sample's pages, {given.copies} times" if given.copies else made
    table = Table(
        title=f"ray: {what}, {given.embedder}",
        columns=(
            "engine", "start of Ray, s", "shards alone, s", "documents, s", "whole, s",
            "digest",
        ),
    )  # fmt: skip
    embedder = named_embedder(given.embedder)
    with tempfile.TemporaryDirectory() as folder, served() as server:
        source, size = _source(Path(folder), count, given.copies)
        alone, whole = dict[int, float](), dict[int, float]()
        for workers in (0, 1, 2):
            start = perf_counter()
            if workers:
                ray = ray_itself()
                ray.init(
                    address="local",
                    num_cpus=workers,
                    _node_ip_address="127.0.0.1",
                    include_dashboard=False,
                    log_to_driver=False,
                )
                engine = RayEngine(shard=size)
            started = perf_counter() - start
            if workers:
                alone[workers] = _alone(engine, source, server.settings, embedder)
            report = ingest_corpus(
                server.connection,
                [source],
                corpus=CORPUS,
                embedder=embedder,
                settings=server.settings,
                options=OPTIONS,
                engine=engine if workers else None,
            )
            if workers:
                ray.shutdown()
            whole[workers] = sum(report.seconds.values())
            digest = corpus_digest(server.connection, CORPUS).value[:8]
            table.add(
                f"ray, {workers} CPUs" if workers else "local",
                f"{started:.1f}",
                f"{alone.get(workers, 0):.1f}",
                f"{report.seconds['documents']:.1f}",
                f"{whole[workers]:.1f}",
                digest,
            )
            delete_corpus(server.connection, CORPUS, work=server.settings.home / "work")
        table.notes.append(
            f"Ray with 2 CPUs over local, without its start (at most 1.25 is wanted): "
            f"{whole[2] / whole[0]:.2f}x; with 1 over with 2: "
            f"{whole[1] / whole[2]:.2f}x, of shards alone {alone[1] / alone[2]:.2f}x."
        )
        table.print(server)

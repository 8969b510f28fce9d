"""An ingest by the engine ray, with one worker and with two, against the local one.

Of generated documents, or of the sample's pages so many times, each time under other
titles and ids. Making the shards is timed alone, too: there the process that drives
Ray neither reads nor stores what is in them.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from bulk import loaded_by
from measure import Table, spread
from sample import CORPUS, OPTIONS, copied_pages, generated

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.models.embedders import named_embedder
from knowtrail.graph.server.folder import stop_server
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.ingest.ray_engine import SHARD, RayEngine, ray_itself
from knowtrail.ingest.shards import Order
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.sources.jsonl import JsonlSource
from knowtrail.ingest.verify import corpus_digest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from knowtrail.graph.models.embedders import Embedder

    Pages = DumpSource | JsonlSource


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--documents", type=int, help="generated ones (default 400)")
    parser.add_argument("--copies", type=int, help="of the sample's pages, instead")
    parser.add_argument("--embedder", default="hash:64")
    parser.add_argument(
        "--door", choices=("bolt", "bulk"), default="bolt", help="into the database"
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="times that shards are made alone (1)"
    )
    parser.add_argument("--alone", action="store_true", help="make shards, no more")
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[0, 1, 2], help="0 is local (0 1 2)"
    )


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
    """Return the seconds that workers take for all shards."""
    order = Order(
        corpus=CORPUS,
        options=OPTIONS,
        embedder=embedder,
        keep=False,
        stored=np.empty(0, dtype=np.uint64),
    )
    begin = perf_counter()
    with engine.shards([source], order, settings=settings, progress=silent) as shards:
        for _ in shards._made:
            pass
    return perf_counter() - begin


@contextmanager
def _started(workers: int) -> Iterator[float]:
    """Run Ray with so many CPUs, or not at all; yield the seconds of its start."""
    start = perf_counter()
    if workers:
        ray_itself().init(
            address="local",
            num_cpus=workers,
            _node_ip_address="127.0.0.1",
            include_dashboard=False,
            log_to_driver=False,
        )
    yield perf_counter() - start
    if workers:
        ray_itself().shutdown()


def _whole(
    door: str,
    source: Pages,
    settings: Settings,
    embedder: Embedder,
    engine: RayEngine,
    workers: int,
) -> tuple[float, str, str, str]:
    """Ingest into an empty server; return the seconds, by stage too, and the digest."""
    try:
        report = loaded_by(
            door,
            0,
            settings,
            source=source,
            embedder=embedder,
            engine=engine if workers else None,
        )
        with open_connection(settings) as connection:
            digest = corpus_digest(connection, CORPUS).value[:8]
    finally:
        stop_server(settings.home)
    stages = ", ".join(f"{name} {took:.0f}" for name, took in report.seconds.items())
    whole = sum(report.seconds.values())
    return whole, stages, f"{whole:.1f}", digest


def run(given: argparse.Namespace) -> None:
    """Measure and print the table."""
    count = given.documents or (20 if given.small else 400)
    made = f"{count} documents of 60 sentences"
    what = f"the sample's pages, {given.copies} times" if given.copies else made
    table = Table(
        title=f"ray: {what}, {given.embedder}",
        columns=(
            "engine", "start of Ray, s", "shards alone, s", "stages, s", "whole, s",
            "digest",
        ),
    )  # fmt: skip
    embedder = named_embedder(given.embedder)
    alone, whole = dict[int, list[float]](), dict[int, float]()
    with tempfile.TemporaryDirectory(prefix="knowtrail-benchmark-") as name:
        folder = Path(name)
        source, size = _source(folder, count, given.copies)
        engine = RayEngine(shard=min(size, SHARD))
        for workers in given.workers[given.alone :]:
            settings = Settings.from_env(env={}, home=folder / f"home-{workers}")
            with _started(workers) as started:
                alone[workers] = [
                    _alone(engine, source, settings, embedder)
                    for _ in range(given.rounds if workers else 0)
                ]
                told = ["", "", ""]
                if not given.alone:
                    whole[workers], *told = _whole(
                        given.door, source, settings, embedder, engine, workers
                    )
            table.add(
                f"ray, {workers} CPUs" if workers else "local",
                f"{started:.1f}",
                spread(alone[workers], "{:.1f}") if alone[workers] else "",
                *told,
            )
            print(table.rows[-1], flush=True)
        if alone.get(1) and alone.get(2):
            ratio = statistics.median(alone[1]) / statistics.median(alone[2])
            table.notes.append(f"Shards alone, 1 CPU over 2: {ratio:.2f}x.")
        table.notes += [
            f"Whole, without its start, Ray with {workers} CPUs over local: "
            f"{whole[workers] / whole[0]:.2f}x."
            for workers in given.workers
            if workers and 0 in whole
        ]
        table.print()

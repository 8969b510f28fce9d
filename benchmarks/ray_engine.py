"""An ingest by the engine ray, with one worker and with two, against the local one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from measure import Table, served
from sample import CORPUS, OPTIONS, generated

from knowtrail.graph.models.embedders import named_embedder
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.ray_engine import RayEngine, ray_itself
from knowtrail.ingest.sources.jsonl import JsonlSource
from knowtrail.ingest.verify import corpus_digest

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--documents", type=int, help="generated ones (default 400)")
    parser.add_argument("--embedder", default="hash:64")


def run(given: argparse.Namespace) -> None:
    """Measure and print the table."""
    import json

    count = given.documents or (20 if given.small else 400)
    table = Table(
        title=f"ray: {count} documents of 60 sentences, {given.embedder}",
        columns=("engine", "start of Ray, s", "documents, s", "whole, s", "digest"),
    )
    with tempfile.TemporaryDirectory() as folder, served() as server:
        path = Path(folder) / "rows.jsonl"
        rows = [
            {"id": d.source_id, "title": d.title, "text": d.raw}
            for d in generated(count)
        ]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        size = path.stat().st_size // 12
        whole: dict[int, float] = {}
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
            started = perf_counter() - start
            report = ingest_corpus(
                server.connection,
                [JsonlSource([path])],
                corpus=CORPUS,
                embedder=named_embedder(given.embedder),
                settings=server.settings,
                options=OPTIONS,
                engine=RayEngine(shard=size) if workers else None,
            )
            if workers:
                ray.shutdown()
            whole[workers] = sum(report.seconds.values())
            digest = corpus_digest(server.connection, CORPUS).value[:8]
            table.add(
                f"ray, {workers} CPUs" if workers else "local",
                f"{started:.1f}",
                f"{report.seconds['documents']:.1f}",
                f"{whole[workers]:.1f}",
                digest,
            )
            delete_corpus(server.connection, CORPUS, work=server.settings.home / "work")
        table.notes.append(
            f"Ray with 2 CPUs over local, without its start (at most 1.25 is wanted): "
            f"{whole[2] / whole[0]:.2f}x; with 1 over with 2: "
            f"{whole[1] / whole[2]:.2f}x."
        )
        table.print(server)

"""Processes of a Ray cluster for tests: its machines, and an ingest on it.

`cluster` starts three nodes, writes the address, and kills one for each line it reads.
`older` is one machine that says that it has another version of Ray.
`ingest URI HOME ADDRESS WORK FILE` ingests; the password is in NEO4J_PASSWORD.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.errors import KnowtrailError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.settings import Settings
from knowtrail.ingest import IngestOptions, RayEngine, ingest_corpus, text_linking
from knowtrail.ingest.ray_engine import ray_itself
from knowtrail.ingest.similar_linking import _block
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.sources.jsonl import JsonlSource
from knowtrail.ingest.text_linking import _counted, _edges

CORPUS = "rays"
OPTIONS = IngestOptions(themes="none")


class SlowEmbedder(HashEmbedder):
    """Takes a while, so that something can happen meanwhile."""

    def embed_array(self, texts):
        """Return vectors after half a second."""
        time.sleep(0.5)
        return super().embed_array(texts)


class SlowLines(JsonlSource):
    """Takes a while to read each piece, so that something can happen meanwhile."""

    def part_items(self, part):
        """Yield what a piece has, after half a second."""
        time.sleep(0.5)
        yield from super().part_items(part)


def slow_block(start, search):
    """Search a block of an index, after a while."""
    time.sleep(3)
    return _block(start, search)


def slow_counted(rows, terms):
    """Count the names of some texts, after a while."""
    time.sleep(0.5)
    return _counted(rows, terms)


def slow_edges(part, by):
    """Find what some texts ask for, after a while."""
    time.sleep(0.5)
    return _edges(part, by)


def cluster(version: str | None = None) -> None:
    """Be the machines of a cluster, of another version of Ray if told so."""
    ray = ray_itself()
    from ray.cluster_utils import Cluster

    ray.__version__ = version or ray.__version__
    small = {"num_cpus": 1, "object_store_memory": 100 << 20}
    machines = Cluster(
        initialize_head=True, head_node_args=small | {"include_dashboard": False}
    )
    nodes = [machines.add_node(**small) for _ in range(0 if version else 2)]
    machines.wait_for_nodes()
    sys.stdout.write(f"{machines.address}\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        machines.remove_node(nodes.pop(), allow_graceful=False)
        sys.stdout.write("gone\n")
        sys.stdout.flush()
    machines.shutdown()


def ingest(uri: str, home: str, address: str, work: str, file: str) -> int:
    """Ingest; return 3 with one line of error where it fails."""
    settings = Settings.from_env(uri=uri, home=Path(home))
    text_linking._counted, text_linking._edges = slow_counted, slow_edges
    with Connection.open(settings) as connection:
        try:
            report = ingest_corpus(
                connection,
                [(DumpSource if ".bz2" in file else SlowLines)([file])],
                corpus=CORPUS,
                embedder=SlowEmbedder(16),
                settings=settings,
                options=OPTIONS,
                engine=RayEngine(address=address, work=Path(work), shard=2000),
            )
        except KnowtrailError as error:
            sys.stderr.write(f"{error}\n")
            return 3
    sys.stdout.write(f"{report.added} {report.skipped}\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1] in {"cluster", "older"}:
        cluster("2.1.0" if sys.argv[1] == "older" else None)
    else:
        sys.exit(ingest(*sys.argv[2:]))

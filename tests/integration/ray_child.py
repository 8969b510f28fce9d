"""Processes of a Ray cluster for tests: its machines, and an ingest on it.

`cluster` starts three nodes, writes the address, and kills one for each line it reads.
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
from knowtrail.ingest import IngestOptions, RayEngine, ingest_corpus
from knowtrail.ingest.ray_engine import ray_itself
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.sources.jsonl import JsonlSource

CORPUS = "rays"
OPTIONS = IngestOptions(themes="none")


class SlowEmbedder(HashEmbedder):
    """Takes a while, so that something can happen meanwhile."""

    def embed_array(self, texts):
        """Return vectors after half a second."""
        time.sleep(0.5)
        return super().embed_array(texts)


def cluster() -> None:
    """Be the machines of a cluster."""
    ray_itself()
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 << 20}
    machines = Cluster(
        initialize_head=True, head_node_args=small | {"include_dashboard": False}
    )
    nodes = [machines.add_node(**small) for _ in range(2)]
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
    with Connection.open(settings) as connection:
        try:
            report = ingest_corpus(
                connection,
                [(DumpSource if ".bz2" in file else JsonlSource)([file])],
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
    if sys.argv[1] == "cluster":
        cluster()
    else:
        sys.exit(ingest(*sys.argv[2:]))

"""Texts that the embedding model takes in a second, by batch size and precision.

Windows of the Wikipedia sample are embedded as an ingest does it, 512 texts a call, on
what the model is loaded to: a GPU where PyTorch finds one, else the processor. The
cosine is the mean of that to the vectors of the first row.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from measure import Table, warmed
from sample import prepared

from knowtrail.graph.models.embedding_models import SentenceTransformerEmbedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.ingest.pipeline import TEXTS

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--texts", type=int, help="texts embedded (2048)")
    parser.add_argument("--batches", type=int, nargs="+", help="sizes (16 64 256 512)")
    parser.add_argument("--embedder", default=DEFAULT_EMBEDDER)


def run(given: argparse.Namespace) -> None:
    """Embed the same texts in each way and print the table."""
    count = given.texts or (64 if given.small else 2048)
    found = [row["text"] for d in prepared(min(count, 4000)) for row in d.chunks]
    texts = [found[n % len(found)] for n in range(count)]
    table = Table(
        title=f"embedding: {count:,} windows, {TEXTS} a call, {given.embedder}",
        columns=("on", "weights", "batch", "texts a second", "CPU s", "cosine"),
    )
    first = None
    for bf16 in (False, True):
        for size in given.batches or ([16] if given.small else [16, 64, 256, 512]):
            embedder = SentenceTransformerEmbedder(
                given.embedder, batch_size=size, bf16=bf16
            )
            warmed(embedder)
            wall, own = time.perf_counter(), time.process_time()
            vectors = np.concatenate([
                embedder.embed_array(texts[at : at + TEXTS])
                for at in range(0, count, TEXTS)
            ])
            wall, own = time.perf_counter() - wall, time.process_time() - own
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            first = vectors if first is None else first
            cosine = float(np.mean(np.sum(vectors * first, axis=1)))
            table.add(
                str(embedder.model.device),
                "bfloat16" if bf16 else "float32",
                str(size),
                f"{count / wall:,.0f}",
                f"{own:.1f}",
                f"{cosine:.5f}",
            )
            print(*table.rows[-1], flush=True)
    table.print()

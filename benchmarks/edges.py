"""SIMILAR_TO edges against a plain-driver UNWIND of the same rows.

Both sides write the edges that an ingest of the sample makes, inside documents and
between them, to the same Chunk nodes, in turn; before each the edges are deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Server, Table, Took, cpu, median, served, server_cpu, spread, walls
from sample import CORPUS, OPTIONS, batches, embedded

from knowtrail.graph.batches import batched
from knowtrail.graph.db.schema import apply_schema
from knowtrail.ingest.pipeline import TEXTS
from knowtrail.ingest.store import intra_edges, similar_rows
from tests.neighbours import top_neighbours

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from knowtrail.ingest.store import EmbeddedDocument

PLAIN = """
UNWIND $rows AS row
MATCH (a:Chunk {id: row.a})
MATCH (b:Chunk {id: row.b})
MERGE (a)-[r:SIMILAR_TO]->(b)
SET r += row.props
"""
PLAIN_ROWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the product writes in one transaction.

    Attributes:
        scope: `intra` or `inter`.
        sources: Ids of the chunks whose edges these are.
        nodes: Ids of all chunks that occur.
        rows: Edges by place in `nodes`.
    """

    scope: str
    sources: list[str]
    nodes: list[str]
    rows: list[dict[str, Any]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--chunks", type=int, help="chunks (default 4000)")
    parser.add_argument("--repeats", type=int, help="rounds (default 3)")


def intra_parts(documents: Sequence[EmbeddedDocument]) -> list[Part]:
    """Return the edges inside documents, a part a batch of an ingest."""
    parts = []
    for batch in batches(documents, TEXTS):
        nodes: list[str] = []
        rows: list[dict[str, Any]] = []
        for one in batch:
            base = len(nodes)
            nodes += [row["id"] for row in one.document.chunks]
            ids = nodes[base:]
            rows += [
                {"source": base + s, "targets": [base + t for t in ts], "scores": x}
                for s, ts, x in intra_edges(one.chunk_vectors, ids, OPTIONS)
            ]
        parts.append(Part(scope="intra", sources=nodes, nodes=nodes, rows=rows))
    return parts


def inter_parts(documents: Sequence[EmbeddedDocument]) -> list[Part]:
    """Return the edges between documents, a part a block of rows."""
    ids = [row["id"] for d in documents for row in d.document.chunks]
    sizes = [len(d.document.chunks) for d in documents]
    parts = []
    for block in top_neighbours(
        np.concatenate([d.chunk_vectors for d in documents]),
        groups=np.repeat(np.arange(len(documents)), sizes),
        ids=np.argsort(np.argsort(np.array(ids))),
        top=OPTIONS.inter_top_x,
        threshold=OPTIONS.inter_threshold,
        same_group=False,
    ):
        number: dict[str, int] = {}
        rows = [
            {
                "source": number.setdefault(ids[s], len(number)),
                "targets": [number.setdefault(ids[t], len(number)) for t in ts],
                "scores": scores,
            }
            for s, ts, scores in similar_rows(block.rows, block.columns, block.scores)
        ]
        parts.append(
            Part(
                scope="inter",
                sources=ids[block.start : block.stop],
                nodes=list(number),
                rows=rows,
            )
        )
    return parts


def ours(server: Server, parts: Sequence[Part]) -> None:
    """Write the parts as an ingest does."""
    for part in parts:
        server.connection.write_all([
            ("ingest/similar_remove", {"scope": part.scope, "ids": part.sources}),
            (
                "ingest/similar",
                {"scope": part.scope, "nodes": part.nodes, "rows": part.rows},
            ),
        ])


def plain_rows(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return the same edges as one row each."""
    return [
        {
            "a": part.nodes[row["source"]],
            "b": part.nodes[target],
            "props": {"score": score, "rank": rank, "scope": part.scope},
        }
        for part in parts
        for row in part.rows
        for rank, (target, score) in enumerate(
            zip(row["targets"], row["scores"], strict=True), start=1
        )
    ]


def plain(server: Server, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows with the driver alone."""
    for part in batched(rows, PLAIN_ROWS):
        server.connection.driver.execute_query(
            PLAIN, rows=part, database_=server.connection.database
        )


def clear(server: Server) -> None:
    """Delete all edges and wait until the server rests."""
    server.connection.run_schema(
        "MATCH ()-[r:SIMILAR_TO]->() CALL (r) { DELETE r } "
        "IN TRANSACTIONS OF 20000 ROWS"
    )
    server.quiet()


def edges_stored(server: Server) -> list[tuple[Any, ...]]:
    """Return what is stored, to see that both sides wrote the same."""
    rows = server.connection.query(
        "MATCH (a:Chunk)-[r:SIMILAR_TO]->(b:Chunk) RETURN count(r) AS n, "
        "sum(r.rank) AS ranks, round(sum(r.score), 3) AS scores, "
        "count(DISTINCT a.id + b.id) AS pairs"
    )
    return [tuple(row.values()) for row in rows]


def run(given: argparse.Namespace) -> None:
    """Measure both sides in turn and print the table."""
    chunks = given.chunks or (400 if given.small else 4000)
    repeats = given.repeats or (1 if given.small else 3)
    documents, kind = embedded(chunks)
    parts = intra_parts(documents) + inter_parts(documents)
    rows = plain_rows(parts)
    times: dict[str, list[Took]] = {"ours": [], "plain": []}
    with served() as server:
        apply_schema(server.connection)
        ids = [row["id"] for d in documents for row in d.document.chunks]
        server.connection.run_schema(
            "UNWIND $ids AS id CREATE (:Chunk {id: id, corpus: $corpus})",
            ids=ids,
            corpus=CORPUS,
        )
        stored = []
        for number in range(repeats + 1):
            for name, work in (
                ("ours", lambda: ours(server, parts)),
                ("plain", lambda: plain(server, rows)),
            ):
                clear(server)
                took = server.time(work)
                stored.append(edges_stored(server))
                if number:
                    times[name].append(took)
        assert all(s == stored[0] for s in stored), stored
        inter = sum(
            len(r["targets"]) for p in parts if p.scope == "inter" for r in p.rows
        )
        table = Table(
            title=(
                f"edges: {len(rows):,} SIMILAR_TO ({inter:,} between documents) of "
                f"{len(ids):,} chunks, {repeats} rounds, {kind}"
            ),
            columns=("side", "seconds", "edges/s", "CPU s: own + server"),
        )
        for key, name in (
            ("ours", "Knowtrail"),
            ("plain", f"plain driver, UNWIND of {PLAIN_ROWS}"),
        ):
            seconds = walls(times[key])
            rates = [len(rows) / s for s in seconds]
            table.add(name, spread(seconds), spread(rates, "{:,.0f}"), cpu(times[key]))
        note = (
            "Rate over the plain driver's (at least 2 is wanted): "
            f"{median(times['plain']) / median(times['ours']):.2f}x"
        )
        mine, theirs = server_cpu(times["ours"]), server_cpu(times["plain"])
        if mine and theirs:
            note += f" ({theirs / mine:.2f}x in server CPU)"
        table.notes.append(note + ". Both leave the same edges.")
        table.print(server)

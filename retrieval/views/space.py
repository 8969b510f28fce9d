"""The chunks of a corpus as points in space, with a walk through them.

Of a large corpus every so many-th chunk of each document is shown, and all chunks of
the walk; what is shown is said above the picture. The axes are those along which the
shown chunks vary most (or UMAP's, with a fixed seed): the same picture every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from knowtrail.graph.errors import InputError
from knowtrail.graph.extras import extra
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.projection import Moments, fit_projection
from knowtrail.retrieval.views.layout import Heading, least_stride
from knowtrail.retrieval.views.page import page_of
from knowtrail.retrieval.views.palette import style_documents
from knowtrail.retrieval.views.reading import (
    Passages,
    read_documents,
    read_edges,
    read_passages,
    read_sample,
)
from knowtrail.retrieval.views.scene import Scene, leaders, scene_layout, scene_traces
from knowtrail.retrieval.views.static import scene_picture
from knowtrail.retrieval.views.walks import heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.traverse import TraverseResult
    from knowtrail.retrieval.views.reading import Edge, PicturedDocument

_RANK = 5
"""Edges of each chunk and scope among which the strongest are looked for."""

_SEED = 0


def space_of(
    connection: Connection,
    corpus: str,
    pictured: TraverseResult | None,
    *,
    chunks: int,
    edges: int,
    projection: str,
    suffix: str = ".html",
) -> bytes | str:
    """Draw the chunks of a corpus, and a walk if there is one.

    At most so many chunks, beside those of the walk, and similarities are shown. The
    projection is `pca` or `umap`; `.html` is a page that can be turned.
    """
    documents = read_documents(connection, corpus)
    shown, every = stride(documents, chunks)
    kept = _walked(pictured)
    sample = _joined(
        read_sample(connection, [document.id for document in shown], every=every),
        read_passages(connection, kept),
    )
    if not sample.rows:
        msg = f"Corpus {corpus!r} has no chunks with vectors: ingest something first."
        raise InputError(msg)
    scene, about = _scene(connection, sample, documents, pictured, edges, projection)
    whole = sum(document.chunks for document in documents)
    rule = _rule(every, len(shown), len(documents), walk=pictured is not None)
    note = (
        f"Shown are {len(sample.rows)} of {whole} chunks of {len(documents)} documents"
        f"{rule} and the {len(scene.edges)} strongest similarities between them. "
        f"{about}"
    )
    said = (
        Heading(title=f"Corpus {corpus}", about=note)
        if pictured is None
        else heading(pictured.walk, f" {note}")
    )
    if suffix != ".html":
        return scene_picture(scene, said, suffix)
    return page_of(said, [*scene_traces(scene), leaders(scene)], scene_layout(scene))


def _scene(
    connection: Connection,
    sample: Passages,
    documents: Sequence[PicturedDocument],
    pictured: TraverseResult | None,
    edges: int,
    projection: str,
) -> tuple[Scene, str]:
    """Return what is drawn, and a sentence about its axes."""
    walk = None if pictured is None else pictured.walk
    query = None if pictured is None else pictured.query
    points, axes, about = _points(sample, query, projection)
    ids = [row.id for row in sample.rows]
    sizes = {document.id: document.chunks for document in documents}
    walked = [] if walk is None else [step.chunk.document_id for step in walk.steps]
    present = {row.document: sizes.get(row.document, 0) for row in sample.rows}
    styles = style_documents([d for d in walked if d in present], present)
    scene = Scene(
        rows=sample.rows,
        points=points[: len(ids)],
        edges=strongest(read_edges(connection, ids, rank=_RANK), ids, edges),
        styles=styles,
        walk=walk,
        query=points[len(ids)] if len(points) > len(ids) else None,
        scores=None
        if query is None
        else cosines(query, sample.vectors.astype(np.float64)),
        axes=axes,
    )
    return scene, about


def stride(
    documents: Sequence[PicturedDocument], most: int
) -> tuple[tuple[PicturedDocument, ...], int]:
    """Choose documents and n, so that of every n-th chunk of each not too many show.

    It is the least n with which all documents fit. Where even one chunk of each is too
    much, every so many-th document is chosen.
    """
    held = [document for document in documents if document.chunks]
    if len(held) > most:
        held = held[:: -(-len(held) // most)]
    return tuple(held), least_stride([document.chunks for document in held], most)


def strongest(edges: Iterable[Edge], ids: Sequence[str], most: int) -> list[Edge]:
    """Return the strongest edges between chunks, each pair once.

    Half of the places are for edges between documents, which are weaker than those
    within one, and would else never be seen; what one half leaves the other takes.
    """
    known = set(ids)
    best: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        if edge.target in known:
            pair = (min(edge.source, edge.target), max(edge.source, edge.target))
            best.setdefault(pair, edge)
    order = sorted(best.values(), key=lambda e: (-e.score, e.source, e.target))
    inter = [edge for edge in order if edge.scope == "inter"]
    intra = [edge for edge in order if edge.scope != "inter"]
    room = max(most // 2, most - len(intra))
    chosen = inter[:room]
    return chosen + intra[: most - len(chosen)]


def _walked(pictured: TraverseResult | None) -> list[str]:
    """Return the chunks of a walk and those that it considered."""
    if pictured is None:
        return []
    steps = pictured.walk.steps
    visited = [step.chunk.id for step in steps]
    considered = [chunk.id for step in steps for chunk in step.considered]
    return list(dict.fromkeys([*visited, *considered]))


def _joined(sample: Passages, kept: Passages) -> Passages:
    known = {row.id for row in sample.rows}
    new = [n for n, row in enumerate(kept.rows) if row.id not in known]
    if not sample.rows:
        return kept
    if not new:
        return sample
    return Passages(
        rows=(*sample.rows, *(kept.rows[n] for n in new)),
        vectors=np.concatenate([sample.vectors, kept.vectors[new]]),
    )


def _points(
    sample: Passages, query: npt.NDArray[np.float64] | None, projection: str
) -> tuple[npt.NDArray[np.float64], tuple[str, str, str], str]:
    """Return points for the chunks and the question, names of the axes, a sentence."""
    vectors = sample.vectors.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = vectors
    if query is not None:
        whole = np.vstack([vectors, query / np.linalg.norm(query)])
    if projection == "umap":
        names = ("UMAP 1", "UMAP 2", "UMAP 3")
        return _umap(whole), names, "Near points are similar (UMAP)."
    fitted = fit_projection(Moments.of(vectors))
    first, second, third = (100 * float(share) for share in fitted.explained)
    return (
        fitted.points(whole),
        (f"PC 1 ({first:.0f} %)", f"PC 2 ({second:.0f} %)", f"PC 3 ({third:.0f} %)"),
        f"The axes are the three principal components (PC), which hold "
        f"{first + second + third:.0f} % of the variance.",
    )


def _umap(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    with extra("umap", "--projection umap", otherwise="; or use --projection pca"):
        import umap  # type: ignore[import-not-found,import-untyped,unused-ignore]
    if len(vectors) < 6:
        msg = f"UMAP needs 6 chunks, there are {len(vectors)}: use --projection pca."
        raise InputError(msg)
    model = umap.UMAP(
        n_components=3,
        n_neighbors=min(15, len(vectors) - 1),
        metric="cosine",
        init="random",
        random_state=_SEED,
        n_jobs=1,
    )
    return np.asarray(model.fit_transform(vectors), dtype=np.float64)


def _rule(every: int, shown: int, documents: int, *, walk: bool) -> str:
    """Say how the shown chunks were chosen; empty where all are shown."""
    if every == 1 and shown == documents:
        return ""
    of_walk = ", and all of the walk" if walk else ""
    some = f"{shown} documents" if shown < documents else "each"
    return f" (one in {every} of {some}{of_walk})"

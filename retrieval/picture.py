"""An interactive picture of a walk: one HTML file that needs no network.

Steps go from left to right, the higher the nearer to the question. Visited chunks
are numbered and coloured by document; the chunks that were considered and not
visited stand faint beside them; a jump to another document is dashed. The page
builds itself from JSON with `textContent` only and forbids every connection, so that
no title or text can become markup or call out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.algorithms.auto import Auto
from knowtrail.retrieval.display import stop_text
from knowtrail.retrieval.views.page import rendered
from knowtrail.retrieval.views.palette import COLORS, FAINT, ink_on
from knowtrail.retrieval.walk import ChunkText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.walk import RankedChunk, Step, Walk


def considered_chunks(connection: Connection, walk: Walk) -> dict[str, ChunkText]:
    """Fetch the chunks that a walk considered, by id, without those that are gone."""
    ids = sorted({c.id for step in walk.steps for c in _drawn(walk, step)})
    rows = connection.read("retrieval/chunk_texts", ids=ids)
    return {row["id"]: ChunkText(**row) for row in rows}


def walk_html(walk: Walk, neighbours: Mapping[str, ChunkText] | None = None) -> str:
    """Return a page that shows a walk, to be encoded as UTF-8."""
    return rendered("picture.html", walk=_data(walk, neighbours or {}))


def _data(walk: Walk, neighbours: Mapping[str, ChunkText]) -> dict[str, Any]:
    titles = {step.chunk.document_id: step.chunk.title for step in walk.steps}
    colors = {
        document: COLORS[place % len(COLORS)] for place, document in enumerate(titles)
    }
    steps = [_step(step, colors, neighbours, _drawn(walk, step)) for step in walk.steps]
    return {
        "question": walk.question,
        "about": (
            f"{walk.algorithm} on {walk.corpus}: {walk.extent} in "
            f"{walk.milliseconds:.0f} ms. It ended because "
            f"{stop_text(walk.stop_reason, walk.parameters)}."
        ),
        "legend": _legend(walk),
        "others": any(c["color"] == FAINT for s in steps for c in s["considered"]),
        "documents": [
            {"title": title, "color": colors[document]}
            for document, title in titles.items()
        ],
        "steps": steps,
    }


def _legend(walk: Walk) -> str:
    if not walk.hops:
        return "rank, from left to right"
    jumps = "; a hop to another document is dashed" if len(walk.documents) > 1 else ""
    starts = sum(step.hop == 0 for step in walk.steps)
    others = "; dotted: a new start, no hop" if starts > 1 else ""
    return f"arrows: hops{jumps}{others}"


def _step(
    step: Step,
    colors: Mapping[str, str],
    neighbours: Mapping[str, ChunkText],
    considered: Sequence[RankedChunk],
) -> dict[str, Any]:
    chunk = step.chunk
    color = colors[chunk.document_id]
    return {
        "id": chunk.id,
        "index": step.index,
        "hop": step.hop > 0,
        "document": chunk.document_id,
        "title": chunk.title,
        "text": chunk.text,
        "place": f"sentences {chunk.first_sentence}-{chunk.last_sentence}",
        "score": step.score,
        "color": color,
        "ink": ink_on(color),
        "sentences": [{"text": s.text, "score": s.score} for s in step.sentences],
        "considered": [
            _considered(ranked, neighbours[ranked.id], colors)
            for ranked in considered
            if ranked.id in neighbours
        ],
    }


def _drawn(walk: Walk, step: Step) -> Sequence[RankedChunk]:
    """Return the candidates of a step that have a place on an axis of cosines."""
    return () if walk.algorithm == Auto.name else step.considered


def _considered(
    ranked: RankedChunk, chunk: ChunkText, colors: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "id": ranked.id,
        "score": ranked.score,
        "title": chunk.title,
        "text": chunk.text,
        "color": colors.get(chunk.document_id, FAINT),
    }

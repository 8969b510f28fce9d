"""Which chunks of a snapshot pass a filter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from retrieval.filter_clauses import Compare
from retrieval.snapshot.blocks import LONG_PROPERTIES

if TYPE_CHECKING:
    import numpy.typing as npt

    from retrieval.filter_clauses import Clause
    from retrieval.filters import Filter
    from retrieval.snapshot.mapped import MappedSnapshot

__all__ = ["passing"]

_MASKS = 16
_PLACES = ("index", "firstSentence", "lastSentence", "startChar", "endChar")


def passing(snapshot: MappedSnapshot, wanted: Filter) -> npt.NDArray[np.bool_]:
    """Return for each chunk whether it passes; the last few filters are kept.

    A filter that looks at documents only is decided once a document.
    """
    key = repr(wanted.clause)
    if (known := snapshot.masks.get(key)) is None:
        known = _decided(snapshot, wanted)
        if len(snapshot.masks) >= _MASKS:
            snapshot.masks.clear()
        snapshot.masks[key] = known
    return known


def _decided(snapshot: MappedSnapshot, wanted: Filter) -> npt.NDArray[np.bool_]:
    """Decide a filter for every chunk."""
    fields = _fields(wanted.clause)
    of_chunk = {name for owner, name in fields if owner == "chunk"}
    of_document = {name for owner, name in fields if owner != "chunk"}
    passes = np.zeros(snapshot.facts.chunks, dtype=np.bool_)
    starts = snapshot.starts["document_chunks"].tolist()
    for row in range(snapshot.facts.documents):
        document = _document(snapshot, row, of_document)
        first, last = starts[row], starts[row + 1]
        if of_chunk:
            passes[first:last] = [
                wanted.matches(_chunk(snapshot, chunk, of_chunk), document)
                for chunk in range(first, last)
            ]
        else:
            passes[first:last] = wanted.matches({}, document)
    return passes


def _fields(clause: Clause) -> set[tuple[str, str]]:
    """Return owner and name of every field that a clause asks for."""
    if isinstance(clause, Compare):
        return {(clause.field.owner, clause.field.name)}
    return {field for part in clause.parts for field in _fields(part)}


def _document(snapshot: MappedSnapshot, row: int, names: set[str]) -> dict[str, Any]:
    """Return what a filter asks of a document."""
    if not names:
        return {}
    head = json.loads(snapshot.texts["documents"][row])
    found = {
        **head["properties"],
        "id": head["id"],
        "themes": head["themes"],
        "categories": head["categories"],
        "corpusVersion": int(snapshot.columns["document_versions"][row]),
    }
    if names & LONG_PROPERTIES:
        found |= json.loads(snapshot.texts["documents_long"][row])
    return found


def _chunk(snapshot: MappedSnapshot, row: int, names: set[str]) -> dict[str, Any]:
    """Return what a filter asks of a chunk."""
    texts = snapshot.texts
    found: dict[str, Any] = {}
    if names & set(_PLACES):
        places = snapshot.columns["chunk_places"][row].tolist()
        found |= dict(zip(_PLACES, places, strict=True))
    if "id" in names:
        found["id"] = texts["chunk_ids"][row].decode()
    if "text" in names:
        found["text"] = texts["chunk_texts"][row].decode("utf-8", "surrogatepass")
    if names - {*_PLACES, "id", "text"}:
        found |= json.loads(texts["chunk_extras"][row])
    return found

"""Terms in a snapshot: which a chunk names, and which chunks name one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from retrieval.protocols import TermsFound

if TYPE_CHECKING:
    import numpy.typing as npt

    from retrieval.snapshot.mapped import MappedSnapshot, TextColumn

    Rows = npt.NDArray[np.int64]

__all__ = ["found_terms", "listed", "listed_sizes"]


class _Texts(Mapping[str, str]):
    """Texts of some chunks, read when they are looked at: few are."""

    def __init__(self, column: TextColumn, ids: list[str], rows: list[int]) -> None:
        self._column = column
        self._rows = dict(zip(ids, rows, strict=True))

    def __getitem__(self, chunk_id: str) -> str:
        """Return the text of a chunk."""
        text = self._column[self._rows[chunk_id]]
        return text.decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._rows)


def listed_sizes(snapshot: MappedSnapshot, name: str, rows: Rows) -> Rows:
    """Return how much a list column holds for each of some rows."""
    starts = snapshot.starts[name]
    sizes: Rows = starts[rows + 1] - starts[rows]
    return sizes


def listed(snapshot: MappedSnapshot, name: str, rows: Rows) -> Rows:
    """Return what a list column holds for some rows, end to end."""
    counts = listed_sizes(snapshot, name, rows)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    first = snapshot.starts[name][rows]
    places = np.repeat(first - ends + counts, counts) + np.arange(total)
    found: Rows = snapshot.columns[name][places]
    return found


def found_terms(
    snapshot: MappedSnapshot,
    chunk_ids: Sequence[str],
    names: Sequence[str],
    *,
    members: bool,
    passing: npt.NDArray[np.bool_] | None,
) -> TermsFound:
    """Return the answer to a `TermsRequest`.

    Args:
        snapshot: The corpus.
        chunk_ids: Chunks whose terms are wanted.
        names: Words that may be terms.
        members: Whether the chunks that name these are wanted too.
        passing: For each chunk whether it passes the filter; None for no filter.
    """
    terms = _there(snapshot, "term_names", "term_lookup", names)
    rows = _there(snapshot, "chunk_ids", "lookup", chunk_ids)
    if members:
        found = listed(snapshot, "term_chunks", terms)
        rows = np.union1d(rows, found if passing is None else found[passing[found]])
    of_chunks = listed(snapshot, "chunk_terms", rows)
    known = np.union1d(terms, of_chunks)
    words = [name.decode() for name in snapshot.texts["term_names"].many(known)]
    sizes = listed_sizes(snapshot, "term_chunks", known).tolist()
    named = [words[place] for place in np.searchsorted(known, of_chunks).tolist()]
    ends = np.cumsum(listed_sizes(snapshot, "chunk_terms", rows)).tolist()
    ids = [key.decode() for key in snapshot.texts["chunk_ids"].many(rows)]
    return TermsFound(
        chunks=snapshot.facts.chunks,
        counts=dict(zip(words, sizes, strict=True)),
        named={
            chunk_id: tuple(named[a:b])
            for chunk_id, (a, b) in zip(ids, pairwise([0, *ends]), strict=True)
        },
        texts=_Texts(snapshot.texts["chunk_texts"], ids, rows.tolist()),
    )


def _there(
    snapshot: MappedSnapshot, column: str, lookup: str, keys: Sequence[str]
) -> Rows:
    """Return the rows of those of some ids or names that are there, in order."""
    wanted = [key.encode("utf-8", "surrogatepass") for key in keys]
    stored = snapshot.texts[column]
    rows = snapshot.rows_of(wanted, lookup=lookup).tolist()
    found = {
        row
        for row, key in zip(rows, wanted, strict=True)
        if row >= 0 and stored[row] == key
    }
    return np.array(sorted(found), dtype=np.int64)

"""Edges between similar chunks, and between documents with similar themes.

Where everything is new, all are compared with all. A change compares what is new with
all, both ways: its own neighbours, and the lists that it enters, which are known down
to a least score. A node that lost a neighbour searches again, unless what is new fills
the place. The result is that of a comparison of all with all; in large corpora an
index proposes whom to compare, and that may pass over some. Vectors, least scores and
index are kept in working files, so that a change reads what changed alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.batches import batched
from knowtrail.graph.db.connection import Counters
from knowtrail.graph.errors import IngestError
from knowtrail.graph.vectors import vector_array
from knowtrail.ingest import neighbour_index
from knowtrail.ingest.background import Background, in_turn
from knowtrail.ingest.corpus import stored_corpus, work_key
from knowtrail.ingest.neighbour_index import NeighbourIndex, search_neighbours
from knowtrail.ingest.similarity import Comparison
from knowtrail.ingest.store import similar_rows
from knowtrail.ingest.text_linking import write_rows
from knowtrail.ingest.vector_file import VectorFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.ingest.background import Mapped
    from knowtrail.ingest.corpus import StoredCorpus
    from knowtrail.ingest.similarity import Best, Ints

_Lists = dict[str, tuple[list[str], list[float]]]
"""Neighbours and scores by rank, of each node."""
_Stored = dict[str, tuple[list[str], list[float], list[int]]]
"""Neighbours, scores and ranks as they are stored."""

_CHANGED_SHARE = 4
"""Above the exact size, all are searched where more than one in so many is new."""
_GONE_SHARE = 4
"""All vectors are read anew where so many in a file are of what is gone."""
_BLOCK = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is compared.

    The name is that of the properties on the corpus that say how it was searched, the
    prefix that of the statements about its edges; one more statement yields document,
    id, vector, and since which version it is.
    """

    name: str
    stage: str
    prefix: str
    vectors: str


CHUNKS = Kind(
    name="similar",
    stage="similar chunks",
    prefix="ingest/similar",
    vectors="ingest/chunk_vectors",
)
THEMES = Kind(
    name="themeSimilar",
    stage="similar themes",
    prefix="ingest/theme_similar",
    vectors="ingest/theme_document_vectors",
)


def link_similar(
    connection: Connection,
    kind: Kind,
    *,
    corpus: str,
    version: int,
    changed: Sequence[str],
    former: str | None,
    work: Path,
    progress: Progress,
    mapped: Mapped,
) -> Counters:
    """Write the edges to the most similar nodes of other documents.

    Those that are new or changed since the state `former` are `changed`; documents that
    are written are marked with the version.
    """
    stored = stored_corpus(connection, corpus)
    new = frozenset(changed)
    linking = _Linking(connection, kind, stored, version, new, progress, mapped)
    key = work_key(connection, corpus, stored.created)
    with VectorFile(work, f"{key}-{kind.name}") as file:
        total = linking.link(file, former)
    for part in batched(list(linking.lost)):
        total += connection.write(f"{kind.prefix}_settled", ids=part)
    return total


@dataclass(eq=False, repr=False)
class _Linking:
    """One linking of a kind, with the rows of its file."""

    _connection: Connection
    _kind: Kind
    _stored_corpus: StoredCorpus
    _version: int
    _changed: frozenset[str]
    _progress: Progress
    _mapped: Mapped

    def __post_init__(self) -> None:
        chunks, options = self._kind is CHUNKS, self._stored_corpus.options
        self._corpus = self._stored_corpus.name
        self._top = options.inter_top_x if chunks else options.theme_top
        self._threshold = options.inter_threshold if chunks else options.theme_threshold
        self._scope = {"scope": "inter"} if chunks else {}
        self._new: set[str] = set()
        self.lost: dict[str, float] = {}
        self._lost_rows: dict[int, float] = {}

    def link(self, file: VectorFile, former: str | None) -> Counters:
        """Choose how to search, and do it; the file takes the vectors."""
        if not self._top:
            return Counters()
        read, prefix = self._connection.read, self._kind.prefix
        (row,) = read(f"{prefix}_count", corpus=self._corpus)
        state = self._stored_corpus.link_state or ""
        exact = row["vectors"] <= neighbour_index.EXACT_VECTORS
        again = exact and self._stored_corpus.methods[self._kind.name] != "exact"
        self.lost = {
            row["id"]: row["lost"]
            for row in read(f"{prefix}_lost", corpus=self._corpus)
        }
        resumed = file.resume(former or None)
        if resumed and file.whole and former == state:
            return self._all(file)
        linked = np.isfinite(file.floors).any() and not (again or self.lost)
        if resumed and former == state and linked:  # another stage was killed
            return Counters()
        whole = again or file.whole
        if not resumed or not self._refresh(file, row["vectors"]):
            self._progress(self._kind.stage, 0, row["vectors"])
            file.resume(None)
            file.reserve(row["vectors"] * self._stored_corpus.dimensions * 4)
            file.extend(self._vectors(None))
        dirty = len(self._new | self.lost.keys())
        many = not exact and dirty * _CHANGED_SHARE > row["vectors"]
        if row["vectors"] and (whole or many or dirty == row["vectors"]):
            file.done = 0
            file.keep(state, whole=True, floors=False)
            return self._all(file)
        file.keep(state, whole=False, floors=not dirty)
        total = self._change(file) if dirty else Counters()
        if dirty:
            file.keep(state, whole=False)
        return total

    def _vectors(self, documents: Sequence[str] | None) -> Iterator[Any]:
        """Yield document, id and vector of all, or of documents; note which are new."""
        name = self._connection.vector_statement(self._kind.vectors)
        for row in self._connection.stream(
            name, corpus=self._corpus, documents=documents
        ):
            if row["document"] in self._changed and (
                row["since"] is None or row["since"] == self._version
            ):
                self._new.add(row["id"])
            yield row["document"], row["id"], vector_array(row["vector"])

    def _refresh(self, file: VectorFile, count: int) -> bool:
        """Bring a kept file up to date; return whether it is whole and not worn."""
        rows = self._connection.stream("ingest/document_ids", corpus=self._corpus)
        gone = set(file.group_names).difference(row["id"] for row in rows)
        there = file.rows_in(self._changed)
        if 2 * len(there) > len(file):  # as dear, in time and space, as all of them
            return False
        kept = {file.key(row): row for row in there.tolist()}
        stay: set[str] = set()

        def read() -> Iterator[Any]:
            """Yield what the file lacks."""
            for row in self._vectors(sorted(self._changed)) if self._changed else ():
                if row[1] in kept and row[1] not in self._new:
                    stay.add(row[1])
                else:
                    yield row

        file.extend(read())
        file.drop(file.rows_in(gone))
        file.drop(np.array([n for k, n in kept.items() if k not in stay], dtype=int))
        alive = file.groups >= 0
        return np.count_nonzero(alive) == count and (
            (len(file) - count) * _GONE_SHARE <= len(file)
        )

    def _search(self, file: VectorFile) -> Comparison | NeighbourIndex:
        exact = Comparison(
            vectors=file.vectors,
            groups=file.groups,
            ids=file.ranks,
            numbers=file.numbers,
            top=self._top,
            threshold=self._threshold,
        )

        def anew() -> None:
            file.done = 0  # of another order

        return search_neighbours(exact, file.index_path, anew)

    def _all(self, file: VectorFile) -> Counters:
        """Write the neighbours of all vectors, from where a kill left off."""
        search = self._search(file)
        done = file.done
        state = self._stored_corpus.link_state or ""
        file.keep(state, whole=True, floors=False)

        def write(stop: int, lists: _Lists, documents: Mapping[str, str]) -> Counters:
            written = self._write(lists, documents, self._stored(list(lists)))
            file.done = stop
            return written

        names, groups = file.group_names, file.groups
        with Background() as writer:
            starts = range(done, len(search.order), neighbour_index.ROWS)
            here = search.method == "exact" or self._mapped is in_turn
            for block in (
                search.blocks(done) if here else self._mapped(_block, starts, search)
            ):
                rows = search.order[block.start : block.stop]
                rows = rows[groups[rows] >= 0].tolist()
                lists = _lists(file, rows, block)
                self._note(file, rows, lists)
                documents = {file.key(row): names[groups[row]] for row in rows}
                writer.submit(write, block.stop, lists, documents)
                self._progress(self._kind.stage, block.stop, len(search.order))
            writer.wait()
            total = sum(writer.results, Counters())
        total += self._record(search)
        file.keep(state, whole=False)
        return total

    def _note(self, file: VectorFile, rows: Sequence[int], lists: _Lists) -> None:
        """Note the score that a new neighbour has to reach."""
        for row in rows:
            _, scores = lists[file.key(row)]
            full = len(scores) == self._top
            file.floors[row] = scores[-1] if full else self._threshold

    def _change(self, file: VectorFile) -> Counters:
        """Write the lists of what is new, and those that it enters or that lost one."""
        search = self._search(file)
        self._lost_rows = {
            n: self.lost[k] for k, n in file.rows_with(self.lost).items()
        }
        rows = np.array(sorted(file.rows_with(self._new).values()), dtype=np.int64)
        lists = self._searched(file, search, rows)
        lost = np.setdiff1d(np.array(sorted(self._lost_rows), dtype=np.int64), rows)
        entered = search.entered(rows, self._floors(file, rows, lost))
        affected = np.union1d(np.unique(entered.rows), lost)
        exact = search.method == "exact"
        stored = self._stored([file.key(row) for row in affected.tolist()])
        merged, open_rows = self._merged(file, entered, affected, stored, exact=exact)
        lists |= merged | self._searched(file, search, open_rows)
        names, groups = file.group_names, file.groups
        total = Counters()
        stored |= self._stored([file.key(row) for row in rows.tolist()])
        rows = np.union1d(rows, affected)
        for done, part in enumerate(batched(rows.tolist(), _BLOCK)):
            self._progress(self._kind.stage, done * _BLOCK, len(rows))
            keys = {file.key(row): names[groups[row]] for row in part}
            some = {key: lists.get(key, ([], [])) for key in keys}
            self._note(file, part, some)
            total += self._write(some, keys, stored)
        self._progress(self._kind.stage, len(rows), len(rows))
        return total + self._record(search)

    def _searched(
        self, file: VectorFile, search: Comparison | NeighbourIndex, rows: Ints
    ) -> _Lists:
        found: _Lists = {}
        rows = search.order[np.isin(search.order, rows)]
        for start in range(0, len(rows), _BLOCK):
            self._progress(self._kind.stage, start, len(rows))
            part = rows[start : start + _BLOCK]
            found |= _lists(file, part.tolist(), search.best(part))
        return found

    def _floors(self, file: VectorFile, new: Ints, lost: Ints) -> Any:
        """Return the score that one has to reach, for each row that is not new."""
        for part in batched(np.flatnonzero(np.isnan(file.floors)).tolist(), _BLOCK):
            keys = [file.key(row) for row in part]
            stored = self._stored(keys)
            lists = {key: stored.get(key, ([], [], []))[:2] for key in keys}
            self._note(file, part, lists)
        floors = file.floors.copy()
        floors[lost] = self._threshold
        floors[new] = np.inf
        return floors

    def _merged(
        self,
        file: VectorFile,
        entered: Best,
        affected: Ints,
        stored: _Stored,
        *,
        exact: bool,
    ) -> tuple[_Lists, Ints]:
        """Merge what enters lists into those that are stored."""
        # The rows returned too are those whose list may lack something that no one has
        # seen since a neighbour went: all others have at most the score that was the
        # least then. One with just that score may come first by its id, which counts in
        # an exact search.
        entering = {
            row: dict(zip((file.key(c) for c in columns), scores, strict=True))
            for row, columns, scores in similar_rows(
                entered.rows, entered.columns, entered.scores
            )
        }
        lists: _Lists = {}
        left = []
        for row in affected.tolist():
            key = file.key(row)
            targets, scores, _ = stored.get(key, ([], [], []))
            known = dict(zip(targets, scores, strict=True))
            both = known | entering.get(row, {})
            order = sorted(both, key=lambda k: (-both[k], k))[: self._top]
            lists[key] = order, [both[k] for k in order]
            lost = self._lost_rows.get(row)
            if lost is None or lost < self._threshold:
                continue
            if len(order) == self._top:
                last = both[order[-1]]
                tied = exact and last == lost and order[-1] not in known
                if last >= lost and not tied:
                    continue
            left.append(row)
        return lists, np.array(left, dtype=np.int64)

    def _stored(self, keys: Sequence[str]) -> _Stored:
        name, found = f"{self._kind.prefix}_existing", {}
        for part in batched(keys, _BLOCK):
            for r in self._connection.read(name, ids=part, **self._scope):
                found[r["id"]] = r["targets"], r["scores"], r["ranks"]
        return found

    def _write(
        self, lists: _Lists, documents: Mapping[str, str], stored: _Stored
    ) -> Counters:
        """Replace the lists that differ from what is stored."""
        # Ranks are compared too: where a target was deleted, a gap is left among them.
        changed = [
            key
            for key, (targets, scores) in lists.items()
            if stored.get(key, ([], [], []))
            != (targets, scores, list(range(1, len(targets) + 1)))
        ]
        if self._kind is THEMES:
            rows = [
                {"id": key, "targets": lists[key][0], "scores": lists[key][1]}
                for key in changed
            ]
            return write_rows(self._connection, self._kind.prefix, rows, self._version)
        write = partial(self._write_chunks, lists=lists, documents=documents)
        return sum(map(write, batched(changed, _BLOCK)), Counters())

    def _write_chunks(
        self, changed: Sequence[str], *, lists: _Lists, documents: Mapping[str, str]
    ) -> Counters:
        number: dict[str, int] = {}
        rows: list[dict[str, Any]] = [
            {
                "source": number.setdefault(key, len(number)),
                "targets": [number.setdefault(t, len(number)) for t in lists[key][0]],
                "scores": lists[key][1],
            }
            for key in changed
            if lists[key][0]
        ]
        touched = sorted({documents[key] for key in changed})
        written = self._connection.write_all([
            ("ingest/similar_remove", {"scope": "inter", "ids": changed}),
            ("ingest/similar", {"scope": "inter", "nodes": list(number), "rows": rows}),
            ("ingest/touch_documents", {"ids": touched, "version": self._version}),
        ])
        if written.relationships_created != sum(len(row["targets"]) for row in rows):
            raise IngestError(
                f"Chunks of corpus {self._corpus!r} changed while they were linked: "
                "run the ingest again, alone."
            )
        return written

    def _record(self, search: Comparison | NeighbourIndex) -> Counters:
        """Store how neighbours were searched, where it was or becomes inexact."""
        name, share = f"{self._kind.name}Method", f"{self._kind.name}Recall"
        properties: dict[str, Any] = {name: search.method, share: search.recall}
        return self._connection.write(
            "ingest/corpus_similar", name=self._corpus, properties=properties
        )


def _block(start: int, search: NeighbourIndex) -> Best:
    """Return the neighbours of a block of vectors."""
    return next(search.blocks(start))


def _lists(file: VectorFile, rows: Iterable[int], best: Any) -> _Lists:
    """Return the lists of some rows, empty ones too, and none of rows that went."""
    keys = {row: file.key(row) for row in rows}
    lists: _Lists = {key: ([], []) for key in keys.values()}
    for row, columns, scores in similar_rows(best.rows, best.columns, best.scores):
        if row in keys:
            lists[keys[row]] = [file.key(column) for column in columns], scores
    return lists

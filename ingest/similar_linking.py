"""Edges between similar chunks, and between documents with similar themes.

Where everything is new, all are compared with all. A change compares what is new with
all, both ways: its own neighbours, and the lists that it enters, which are known down
to a least score. A node that lost a neighbour searches again, unless what is new fills
the place. The result is that of a comparison of all with all; in large corpora the
index of the database proposes whom to compare, and that may pass over some.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.db.connection import Counters
from knowtrail.graph.errors import IngestError
from knowtrail.graph.vectors import vector_array
from knowtrail.ingest import neighbour_index
from knowtrail.ingest.background import Background
from knowtrail.ingest.corpus import stored_corpus
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.neighbour_index import search_neighbours
from knowtrail.ingest.similarity import (
    ROWS,
    entered_lists,
    exact_best,
    neighbour_columns,
)
from knowtrail.ingest.store import batched, similar_rows
from knowtrail.ingest.text_linking import write_rows
from knowtrail.ingest.vector_file import VectorFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.ingest.corpus import StoredCorpus
    from knowtrail.ingest.similarity import Best, Ints

_Lists = dict[str, tuple[list[str], list[float]]]
"""Neighbours and scores by rank, of each node."""

_INDEXED_SHARE = 8
"""Above the exact size, an index serves where one in so many chunks changed or less."""
_COMPARED = 20_000
"""Changed vectors that are compared with any number, where no index serves."""
_FETCHED = (64, 256, 1024)
"""Nearest chunks that are asked for, more where too few are of other documents."""
_BLOCK = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is compared.

    Attributes:
        name: Of the properties on the corpus that say how it was searched.
        stage: For progress.
        prefix: Of the statements about its edges.
        vectors: Statement that yields document, id, vector and whether a neighbour is
            lost.
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
    work: Path,
    progress: Progress,
) -> Counters:
    """Write the edges to the most similar nodes of other documents.

    Args:
        connection: The database.
        kind: What is compared.
        corpus: Name of a stored corpus.
        version: Version that changed documents are marked with.
        changed: Documents that are new or changed.
        work: The folder of working files.
        progress: Told of the stage.
    """
    stored = stored_corpus(connection, corpus)
    linking = _Linking(
        connection, kind, stored, version, changed=changed, progress=progress
    )
    with VectorFile(work, f"{stored.work_key}-{kind.name}") as file:
        total = linking.link(file)
    while (rest := connection.write(f"{kind.prefix}_settled", corpus=corpus)).changed:
        total += rest
    file.remove()
    return total


class _Linking:
    """One linking of a kind, with the rows of its file."""

    def __init__(
        self,
        connection: Connection,
        kind: Kind,
        stored: StoredCorpus,
        version: int,
        *,
        changed: Sequence[str],
        progress: Progress,
    ) -> None:
        chunks, options = kind is CHUNKS, stored.options
        self._connection = connection
        self._kind = kind
        self._stored_corpus = stored
        self._corpus = stored.name
        self._version = version
        self._top = options.inter_top_x if chunks else options.theme_top
        self._threshold = options.inter_threshold if chunks else options.theme_threshold
        self._changed = frozenset(changed)
        self._progress = progress
        self._scope = {"scope": "inter"} if chunks else {}
        self._new: list[bool] = []
        self._lost: list[float] = []

    def link(self, file: VectorFile) -> Counters:
        """Choose how to search, and do it.

        Args:
            file: Takes the vectors.
        """
        if not self._top:
            return Counters()
        (row,) = self._connection.read(
            f"{self._kind.prefix}_count", corpus=self._corpus
        )
        count = row["vectors"]
        exact = count <= neighbour_index.EXACT_VECTORS
        method = self._stored_corpus.methods[self._kind.name]
        content = content_key(self._version, self._stored_corpus.link_state or "")
        if file.resume(content):
            return self._all(file)
        if not exact and self._kind is CHUNKS and self._index_serves():
            rows = self._connection.read(
                "ingest/similar_changed",
                corpus=self._corpus,
                documents=sorted(self._changed),
            )
            if not rows:
                return Counters()
            if len(rows) * _INDEXED_SHARE < count:
                self._load_some(file, [row["id"] for row in rows])
                self._propose(file, np.flatnonzero(self._new))
                total = self._change(file, indexed=True)
                by = "changes by chunk_embedding"
                return (
                    total if by in method else total + self._record(f"{method}, {by}")
                )
        file.reserve(count * self._stored_corpus.dimensions * 4)
        name = self._connection.vector_statement(self._kind.vectors)
        self._load(file, self._connection.stream(name, corpus=self._corpus))
        dirty = sum(self._new) + np.count_nonzero(~np.isnan(self._lost))
        again = method != "exact" if exact else dirty > _COMPARED
        if again or dirty == len(file):
            file.keep(content)
            return self._all(file)
        return self._change(file, indexed=False) if dirty else Counters()

    def _index_serves(self) -> bool:
        """Say whether the database's index can propose neighbours."""
        return bool(self._connection.read("ingest/similar_index"))

    def _load(self, file: VectorFile, rows: Iterable[Any]) -> None:
        """Append vectors, and note which are new or lost a neighbour."""

        def noted() -> Iterator[tuple[str, str, Any]]:
            for row in rows:
                self._new.append(row["document"] in self._changed)
                lost = row["lost"]
                self._lost.append(np.nan if lost is None else lost)
                yield row["document"], row["id"], vector_array(row["vector"])

        file.extend(noted())

    def _load_some(self, file: VectorFile, ids: Sequence[str]) -> None:
        """Append the vectors of some chunks that are not there yet."""
        there = {file.key(row) for row in range(len(file))}
        name = self._connection.vector_statement("ingest/chunk_vectors_some")
        for part in batched([i for i in ids if i not in there], _BLOCK):
            self._load(file, self._connection.stream(name, ids=part))

    def _propose(self, file: VectorFile, rows: Ints) -> None:
        """Append the vectors of those chunks that may be neighbours of some rows."""
        waiting = [file.key(row) for row in rows.tolist()]
        found: dict[str, None] = {}
        for fetch in _FETCHED:
            few = []
            for part in batched(waiting, ROWS):
                for row in self._connection.stream(
                    "ingest/similar_nearest", corpus=self._corpus, ids=part, fetch=fetch
                ):
                    found |= dict.fromkeys(row["nearest"])
                    if len(row["nearest"]) < 3 * self._top:
                        few.append(row["id"])
            waiting = few
        self._load_some(file, list(found))

    def _all(self, file: VectorFile) -> Counters:
        """Write the neighbours of all vectors, from where a kill left off."""
        search = search_neighbours(
            file.vectors,
            groups=file.groups,
            ids=file.ranks,
            top=self._top,
            threshold=self._threshold,
            start=file.done,
            kept=file.index_path,
        )

        def write(stop: int, lists: _Lists, documents: Mapping[str, str]) -> Counters:
            written = self._write(lists, documents)
            file.done = stop
            return written

        names, groups = file.group_names, file.groups
        with Background() as writer:
            for block in search.blocks:
                rows = range(block.start, block.stop)
                writer.submit(
                    write,
                    block.stop,
                    _lists(file, rows, block),
                    {file.key(row): names[groups[row]] for row in rows},
                )
                self._progress(self._kind.stage, block.stop, len(file))
            writer.wait()
            total = sum(writer.results, Counters())
        return total + self._record(search.method, search.recall)

    def _change(self, file: VectorFile, *, indexed: bool) -> Counters:
        """Write the lists of what is new, and those that it enters or that lost one."""
        new = np.array(self._new, dtype=np.bool_)
        rows = np.flatnonzero(new)
        lists = self._searched(file, rows)
        entered = self._entered(file, rows)
        lost = np.flatnonzero(~np.isnan(self._lost) & ~new)
        affected = np.union1d(np.unique(entered.rows), lost)
        merged, open_rows = self._merged(file, entered, affected, new)
        lists |= merged
        if indexed and len(open_rows):
            self._propose(file, open_rows)
        lists |= self._searched(file, open_rows)
        names, groups = file.group_names, file.groups
        total = Counters()
        rows = np.union1d(rows, affected)
        for done, part in enumerate(batched(rows.tolist(), _BLOCK)):
            self._progress(self._kind.stage, done * _BLOCK, len(rows))
            keys = {file.key(row): names[groups[row]] for row in part}
            total += self._write({key: lists.get(key, ([], [])) for key in keys}, keys)
        self._progress(self._kind.stage, len(rows), len(rows))
        return total

    def _searched(self, file: VectorFile, rows: Ints) -> _Lists:
        """Compare some rows with all that are in the file."""
        shared: dict[str, Any] = {
            "groups": file.groups, "ids": file.ranks, "top": self._top,
            "same_group": False,
        }  # fmt: skip
        vectors = file.vectors
        columns = neighbour_columns(vectors, **shared) if len(rows) else rows
        found: _Lists = {}
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            best = exact_best(
                vectors, rows=part, columns=columns, threshold=self._threshold, **shared
            )
            found |= _lists(file, part.tolist(), best)
            self._progress(self._kind.stage, start, len(rows))
        return found

    def _entered(self, file: VectorFile, rows: Ints) -> Best:
        """Return which of the new rows may enter the lists of others."""
        floors = np.full(len(file), np.inf)
        old = np.flatnonzero(~np.array(self._new))
        for part in batched(old.tolist(), _BLOCK):
            keys = {file.key(row): row for row in part}
            floors[part] = self._threshold
            for key, (_, scores, _) in self._stored(list(keys)).items():
                if len(scores) >= self._top:
                    floors[keys[key]] = scores[-1]
        return entered_lists(
            file.vectors,
            rows=rows,
            floors=floors,
            groups=file.groups,
            ids=file.ranks,
            top=self._top,
            threshold=self._threshold,
        )

    def _merged(
        self, file: VectorFile, entered: Best, affected: Ints, new: Any
    ) -> tuple[_Lists, Ints]:
        """Merge what enters lists into those that are stored.

        Returns:
            The lists, and the rows whose list may lack something that no one has seen
            since a neighbour went: all others have at most the score that was the
            least then.
        """
        entering = {
            row: dict(zip((file.key(c) for c in columns), scores, strict=True))
            for row, columns, scores in similar_rows(
                entered.rows, entered.columns, entered.scores
            )
        }
        lists: _Lists = {}
        left = []
        for part in batched(affected.tolist(), _BLOCK):
            stored = self._stored([file.key(row) for row in part])
            for row in part:
                key = file.key(row)
                targets, scores, _ = stored.get(key, ([], [], []))
                known = dict(zip(targets, scores, strict=True))
                both = known | entering.get(row, {})
                order = sorted(both, key=lambda k: (-both[k], k))[: self._top]
                lists[key] = order, [both[k] for k in order]
                lost = self._lost[row]
                if np.isnan(lost) or lost < self._threshold:
                    continue
                last = (both[order[-1]], order[-1] in known) if order else (-2.0, False)
                if len(order) < self._top or last < (lost, True):
                    left.append(row)
        return lists, np.array(left, dtype=np.int64)

    def _stored(self, keys: list[str]) -> dict[str, tuple[Any, ...]]:
        """Return neighbours, scores and ranks as they are stored."""
        rows = self._connection.read(
            f"{self._kind.prefix}_existing", ids=keys, **self._scope
        )
        return {r["id"]: (r["targets"], r["scores"], r["ranks"]) for r in rows}

    def _write(self, lists: _Lists, documents: Mapping[str, str]) -> Counters:
        """Replace the lists that differ from what is stored.

        Ranks are compared too: where a target was deleted, a gap is left among them.
        """
        stored = self._stored(list(lists))
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
        """Replace the outgoing edges of some chunks."""
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
            (
                "ingest/similar",
                {"scope": "inter", "nodes": list(number), "rows": rows},
            ),
            ("ingest/touch_documents", {"ids": touched, "version": self._version}),
        ])
        if written.relationships_created != sum(len(row["targets"]) for row in rows):
            msg = (
                f"Chunks of corpus {self._corpus!r} changed while they were linked: "
                "run the ingest again, alone."
            )
            raise IngestError(msg)
        return written

    def _record(self, method: str, recall: float | None = None) -> Counters:
        """Store how neighbours were searched, where it was or becomes inexact."""
        name, share = f"{self._kind.name}Method", f"{self._kind.name}Recall"
        properties: dict[str, Any] = {name: method}
        if recall is not None:
            properties[share] = recall
        return self._connection.write(
            "ingest/corpus_similar", name=self._corpus, properties=properties
        )


def _lists(file: VectorFile, rows: Iterable[int], best: Any) -> _Lists:
    """Return the lists of some rows, empty ones too."""
    lists: _Lists = {file.key(row): ([], []) for row in rows}
    for row, columns, scores in similar_rows(best.rows, best.columns, best.scores):
        lists[file.key(row)] = [file.key(column) for column in columns], scores
    return lists

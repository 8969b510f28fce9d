"""Edges between documents: computed from the whole corpus, written where they differ.

Each stage states what the finished corpus must have and writes only the difference to
what is stored. That is what makes any sequence of additions, changes and deletions,
and any interruption, end in the graph of a single ingest. The price is one pass over
the corpus after every change; a run that changed nothing does not come here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.connection import Counters
from knowtrail.graph.errors import IngestError
from knowtrail.graph.vectors import vector_array
from knowtrail.ingest.background import Background
from knowtrail.ingest.keys import normalise_title
from knowtrail.ingest.mentions import Mention, TitleFinder, TitleIndex, chunk_mentions
from knowtrail.ingest.neighbour_index import search_neighbours
from knowtrail.ingest.store import ROWS, batched, similar_rows
from knowtrail.ingest.term_linking import link_terms
from knowtrail.ingest.vector_file import VectorFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.ingest.neighbour_index import NeighbourSearch
    from knowtrail.ingest.options import IngestOptions

_DOCUMENTS = 50
"""Documents whose texts and links are read at a time."""


def link_corpus(
    connection: Connection,
    *,
    corpus: str,
    version: int,
    options: IngestOptions,
    folder: Path,
    progress: Progress,
    unclear: Callable[[str], None] = lambda _told: None,
) -> Counters:
    """Make all edges between documents what they must be.

    Args:
        connection: The database.
        corpus: Name of a stored corpus.
        version: Version that changed documents are marked with.
        options: Edge limits and thresholds.
        folder: Where the working file of vectors goes.
        progress: Told of each stage.
        unclear: Told of each link that is left out as its title is that of several
            documents.

    Returns:
        What changed.
    """
    total = connection.write("ingest/themes_orphaned", corpus=corpus)
    total += connection.write("ingest/categories_orphaned", corpus=corpus)
    linker = _Linker(connection, corpus, version, progress, unclear)
    total += linker.titles()
    if options.terms:
        total += link_terms(
            connection, corpus=corpus, version=version, progress=progress
        )
    total += linker.similar(
        folder,
        source="ingest/chunk_vectors",
        stage="similar chunks",
        prefix="ingest/similar",
        top=options.inter_top_x,
        threshold=options.inter_threshold,
    )
    total += linker.similar(
        folder,
        source="ingest/theme_document_vectors",
        stage="similar themes",
        prefix="ingest/theme_similar",
        top=options.theme_top,
        threshold=options.theme_threshold,
    )
    return total


class _Linker:
    """The stages of one linking, with what they share."""

    def __init__(
        self,
        connection: Connection,
        corpus: str,
        version: int,
        progress: Progress,
        unclear: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._version = version
        self._progress = progress
        self._unclear = unclear

    def titles(self) -> Counters:
        """Write aliases, LINKS_TO and MENTIONS."""
        redirects: dict[str, str] = {}
        redirect_titles: dict[str, str] = {}
        for r in self._connection.stream("ingest/redirects_all", corpus=self._corpus):
            key = normalise_title(r["title"])
            redirects[key] = r["targetKey"]
            redirect_titles[key] = r["title"]
        documents = [
            (r["id"], r["title"], r["titleKey"], r["aliases"])
            for r in self._connection.stream("ingest/titles", corpus=self._corpus)
        ]
        documents.sort()
        index = TitleIndex(((d[0], d[2]) for d in documents), redirects)
        taken = {d[2] for d in documents}
        aliases: dict[str, list[str]] = defaultdict(list)
        for key, title in redirect_titles.items():
            if key not in taken and (target := index.resolve(key)):
                aliases[target].append(title)
        changed = [
            {"id": identity, "aliases": sorted(aliases[identity])}
            for identity, _, _, stored in documents
            if sorted(aliases[identity]) != (stored or [])
        ]
        total = self._write_documents("ingest/aliases", changed)
        names = redirect_titles | {d[2]: d[1] for d in documents}
        finder = TitleFinder(
            (names[key], target)
            for key in sorted(names)
            if (target := index.resolve(key))
        )
        ids = [d[0] for d in documents]
        for done, part in enumerate(batched(ids, _DOCUMENTS)):
            self._progress("links", done * _DOCUMENTS, len(ids))
            total += self._links_of(part, index, finder)
        self._progress("links", len(ids), len(ids))
        return total

    def _links_of(
        self, ids: Sequence[str], index: TitleIndex, finder: TitleFinder
    ) -> Counters:
        """Write LINKS_TO and MENTIONS of some documents where they differ."""
        links, mentioning, mentions = [], [], []
        for row in self._connection.stream("ingest/link_sources", ids=list(ids)):
            for key in sorted(set(filter(index.is_shared, row["targets"]))):
                self._unclear(
                    f"{row['title']}: its link to {key!r} is left out, because several "
                    "documents have that title"
                )
            wanted_links, wanted_mentions = _wanted(row, index, finder)
            if wanted_links != [list(pair) for pair in row["links"]]:
                links.append({"id": row["id"], "links": wanted_links})
            if wanted_mentions != sorted(tuple(m) for m in row["mentions"]):
                mentioning.append(row["id"])
                mentions += [
                    {"chunk": c, "document": d, "anchor": a}
                    for c, d, a in wanted_mentions
                ]
        total = self._write_documents("ingest/links_replace", links)
        if mentioning:
            total += self._connection.write_all([
                ("ingest/mentions_remove", {"ids": mentioning}),
                *(("ingest/mentions", {"rows": part}) for part in batched(mentions)),
                (
                    "ingest/touch_documents",
                    {"ids": mentioning, "version": self._version},
                ),
            ])
        return total

    def _write_documents(self, name: str, rows: Sequence[dict[str, Any]]) -> Counters:
        """Run a statement over document rows and mark these documents."""
        total = Counters()
        for part in batched(rows):
            ids = [row["id"] for row in part]
            total += self._connection.write_all([
                (name, {"rows": part}),
                ("ingest/touch_documents", {"ids": ids, "version": self._version}),
            ])
        return total

    def similar(
        self,
        folder: Path,
        *,
        source: str,
        stage: str,
        prefix: str,
        top: int,
        threshold: float,
    ) -> Counters:
        """Write the edges to the most similar nodes of other documents.

        Args:
            folder: Where the working file goes.
            source: Statement that yields document, id and vector.
            stage: Name for progress.
            prefix: `ingest/similar` for chunks, `ingest/theme_similar` for documents.
            top: Edges a node has at most.
            threshold: Least cosine.
        """
        write = (
            self._write_similar_chunks
            if prefix == "ingest/similar"
            else self._write_similar_themes
        )
        with VectorFile(folder) as file, Background() as writer:
            rows = self._connection.stream(
                self._connection.vector_statement(source), corpus=self._corpus
            )
            file.extend(
                (r["document"], r["id"], vector_array(r["vector"])) for r in rows
            )
            names = file.group_names
            groups = file.groups
            search = search_neighbours(
                file.vectors,
                groups=groups,
                ids=file.ranks,
                top=top,
                threshold=threshold,
            )
            for block in search.blocks:
                wanted = {
                    file.key(row): ([file.key(c) for c in columns], scores)
                    for row, columns, scores in similar_rows(
                        block.rows, block.columns, block.scores
                    )
                }
                keys = [file.key(row) for row in range(block.start, block.stop)]
                documents = [
                    names[groups[row]] for row in range(block.start, block.stop)
                ]
                writer.submit(write, keys, documents, wanted)
                self._progress(stage, block.stop, len(file))
            writer.wait()
            kind = "similar" if prefix == "ingest/similar" else "themeSimilar"
            return sum(writer.results, self._record_search(kind, search))

    def _record_search(self, kind: str, search: NeighbourSearch) -> Counters:
        """Store how neighbours were searched, where it was or becomes inexact."""
        method, recall = f"{kind}Method", f"{kind}Recall"
        return self._connection.write(
            "ingest/corpus_similar",
            name=self._corpus,
            method=method,
            recall=recall,
            properties={method: search.method, recall: search.recall},
        )

    def _differing(
        self, name: str, keys: list[str], wanted: _Wanted, **params: Any
    ) -> Iterator[str]:
        """Yield the keys whose stored edges are not the wanted ones.

        Ranks are compared too: where a target was deleted, a gap is left among them.
        """
        stored = {
            row["id"]: (row["targets"], row["scores"], row["ranks"])
            for row in self._connection.read(name, ids=keys, **params)
        }
        for key in keys:
            targets, scores = wanted.get(key, ([], []))
            ranks = list(range(1, len(targets) + 1))
            if stored.get(key, ([], [], [])) != (targets, scores, ranks):
                yield key

    def _write_similar_chunks(
        self, keys: list[str], documents: list[str], wanted: _Wanted
    ) -> Counters:
        """Replace the outgoing edges of the chunks whose edges differ."""
        document_of = dict(zip(keys, documents, strict=True))
        changed = list(
            self._differing("ingest/similar_existing", keys, wanted, scope="inter")
        )
        if not changed:
            return Counters()
        number: dict[str, int] = {}
        rows: list[dict[str, Any]] = []
        for key in changed:
            targets, scores = wanted.get(key, ([], []))
            if targets:
                rows.append({
                    "source": number.setdefault(key, len(number)),
                    "targets": [number.setdefault(t, len(number)) for t in targets],
                    "scores": scores,
                })
        touched = sorted({document_of[key] for key in changed})
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

    def _write_similar_themes(
        self, keys: list[str], _documents: list[str], wanted: _Wanted
    ) -> Counters:
        """Replace the outgoing edges of the documents whose edges differ."""
        rows = []
        for key in self._differing("ingest/theme_similar_existing", keys, wanted):
            targets, scores = wanted.get(key, ([], []))
            rows.append({"id": key, "targets": targets, "scores": scores})
        total = Counters()
        for part in batched(rows, ROWS):
            total += self._write_documents("ingest/theme_similar", part)
        return total


_Wanted = dict[str, tuple[list[str], list[float]]]


def _wanted(
    row: Any, index: TitleIndex, finder: TitleFinder
) -> tuple[list[list[str]], list[tuple[str, str, str]]]:
    """Return a document's LINKS_TO as [target, anchor] and MENTIONS, both sorted."""
    text, identity = row["text"], row["id"]
    linked: dict[str, str] = {}
    hyperlinks: list[Mention] = []
    for key, start, end in zip(row["targets"], row["starts"], row["ends"], strict=True):
        target = index.resolve(key)
        if target is not None and target != identity:
            linked.setdefault(target, text[start:end])
            hyperlinks.append(Mention(start, end, target))
    chunks = [(c[0], c[1], c[2]) for c in row["chunks"]]
    mentions = chunk_mentions(
        hyperlinks + finder.find(text, but=identity), chunks, text
    )
    return sorted([t, a] for t, a in linked.items()), sorted(mentions)

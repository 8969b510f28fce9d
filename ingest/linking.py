"""Edges between documents: what a change touches is worked out anew, and written.

Each stage states what the finished corpus must have and writes only the difference to
what is stored. That is what makes any sequence of additions, changes and deletions,
and any interruption, end in the graph of a single ingest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.ingest.background import in_turn
from knowtrail.ingest.corpus import stored_corpus
from knowtrail.ingest.similar_linking import CHUNKS, THEMES, link_similar
from knowtrail.ingest.text_linking import link_texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection, Counters
    from knowtrail.ingest.background import Mapped
    from knowtrail.ingest.options import IngestOptions


def link_corpus(
    connection: Connection,
    *,
    corpus: str,
    version: int,
    options: IngestOptions,
    work: Path,
    progress: Progress,
    unclear: Callable[[str], None] = lambda _told: None,
    mapped: Mapped = in_turn,
    searched: Mapped = in_turn,
) -> Counters:
    """Make all edges between documents what they must be.

    Documents that are marked with the version are those that changed. What is left in
    `work` makes the next linking quick, and this one go on where it was killed.
    `unclear` is told of each link that is left out as its title is that of several
    documents, in the documents that are read; `mapped` has functions read texts,
    `searched` search vectors, here or elsewhere.

    Raises:
        IngestError: If another process changes the corpus meanwhile.
        StorageError: If there is no space for working files.
    """
    total = connection.write("ingest/themes_orphaned", corpus=corpus)
    total += connection.write("ingest/categories_orphaned", corpus=corpus)
    former = stored_corpus(connection, corpus).link_state
    if former == "":
        connection.write("rdf/corpus_documents", name=corpus, version=version)
    # Before any stage marks a document that it touches:
    changed = connection.read("ingest/changed", corpus=corpus, version=version)
    total += link_texts(
        connection,
        corpus=corpus,
        version=version,
        terms=options.terms,
        work=work,
        progress=progress,
        unclear=unclear,
        mapped=mapped,
    )
    for kind in (CHUNKS, THEMES):
        total += link_similar(
            connection,
            kind,
            corpus=corpus,
            version=version,
            changed=[row["id"] for row in changed],
            former=former,
            work=work,
            progress=progress,
            mapped=searched,
        )
    return total

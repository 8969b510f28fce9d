"""Single documents taken out of a corpus, as though they had never been in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.graph.batches import batched
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.db.corpus_lock import corpus_lock
from knowtrail.graph.errors import InputError
from knowtrail.ingest.corpus import stored_corpus
from knowtrail.ingest.extraction.batch import check_named
from knowtrail.ingest.keys import normalise_title
from knowtrail.ingest.linking import link_corpus
from knowtrail.ingest.prepare import redirect_id
from knowtrail.ingest.store import distrust_links, losses, removal_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection, Counters
    from knowtrail.graph.settings import Settings


def named_documents(
    connection: Connection, corpus: str, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return id, title and aliases of documents by these, sorted by title.

    A title that several documents share means all.

    Raises:
        UnknownCorpusError: If there is no such corpus.
        InputError: If one of them is not in the corpus; suggests a near title. Where
            an interrupted run is repeated, those that are gone are passed over.
    """
    stored = stored_corpus(connection, corpus)
    rows = connection.read("extraction/documents", corpus=corpus, only=list(names))
    if stored.status != "forgetting":
        check_named(connection, corpus, rows, names)
    return rows


def forget_documents(
    connection: Connection,
    corpus: str,
    names: Sequence[str],
    *,
    settings: Settings,
    progress: Progress = silent,
) -> Counters:
    """Delete documents with the redirects to them, and link the others anew.

    The graph is then that of an ingest that never read them; a later one that does
    stores them again. After an interruption the same call goes on.

    Raises:
        UnknownCorpusError: If there is no such corpus.
        InputError: If one of the names is not in the corpus, or this is being written
            by another process or deleted.
    """
    with corpus_lock(settings.home, connection, corpus):
        stored = stored_corpus(connection, corpus)
        if stored.status == "deleting":
            msg = f"Corpus {corpus!r} is being deleted: nothing in it can be forgotten."
            raise InputError(msg)
        rows = named_documents(connection, corpus, names)
        total = connection.write("corpus/forgetting", name=corpus)
        if stored.status != "complete" and stored.link_state:
            distrust_links(connection, corpus)
        for part in batched(rows, 10):
            ids = [row["id"] for row in part]
            titles = (normalise_title(title) for r in part for title in r["aliases"])
            redirects = [redirect_id(corpus, title) for title in titles]
            total += connection.write_all([
                ("ingest/redirects_remove", {"ids": redirects}),
                *losses(ids),
                *removal_of(connection, ids),
            ])
        total += link_corpus(
            connection,
            corpus=corpus,
            version=stored.next_version,
            options=stored.options,
            work=settings.home / "work",
            progress=progress,
        )
        if stored.status != "unfinished":
            total += connection.write("ingest/corpus_complete", name=corpus)
        return total

"""What terms add to an ingest: time and edges, for a corpus and for a change.

A corpus is ingested without terms, all but its last documents; then its terms are made
by themselves, the last documents come in, and the terms are brought up to date. The
passages are those of MuSiQue, where they lie beside the repository, the articles the
sample's.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from measure import Table, Took, served, warmed
from sample import CORPUS, ROOT, raw_documents

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.db.schema import delete_data
from knowtrail.graph.models.embedders import load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.text_linking import link_texts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from measure import Server

    from knowtrail.graph.models.embedders import Embedder

PASSAGES = ROOT.parent / "shared/data/musique/musique_train_corpus.json"
OPTIONS = IngestOptions(terms=False)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--passages", type=int, help="of MuSiQue (default all, 1,890)")
    parser.add_argument("--articles", type=int, help="of the sample (default 12)")
    parser.add_argument("--late", type=int, default=10, help="documents that come late")
    parser.add_argument("--embedder", default=DEFAULT_EMBEDDER)


def run(given: argparse.Namespace) -> None:
    """Measure both corpora and print the table."""
    sizes = (60, 2) if given.small else (1890, 12)
    passages = list(_passages())[: given.passages or sizes[0]]
    articles = list(_first(given.articles or sizes[1]))
    embedder = warmed(load_embedder(given.embedder))
    table = Table(
        title="terms: seconds, CPU seconds here and on the server, edges",
        columns=(
            "corpus",
            "ingest without",
            "terms",
            "share",
            "late documents without",
            "terms then",
            "terms, edges a chunk",
        ),
    )
    with served() as server:
        for name, documents, late in (
            ("passages", passages, given.late),
            ("articles", articles, max(1, given.late // 10)),
        ):
            if documents:
                _measure(table, server, embedder, name, documents, late)
        table.notes.append(
            "Share: terms over the ingest without, by CPU seconds (at most 15 % is "
            f"wanted). {given.embedder}."
        )
        table.print(server)


class _Held:
    """A source of documents held in memory."""

    name = "memory"
    size = None
    position = 0

    def __init__(self, documents: Sequence[RawDocument]) -> None:
        self._documents = documents

    def items(self) -> Iterator[RawDocument]:
        """Yield the documents."""
        yield from self._documents


def _passages() -> Iterator[RawDocument]:
    """Yield MuSiQue's passages, nothing where they are not there."""
    if PASSAGES.is_file():
        rows = json.loads(PASSAGES.read_text("utf-8"))
        for number, row in enumerate(rows):
            yield RawDocument(
                source_id=str(number), title=row["title"], raw=row["text"]
            )


def _first(count: int) -> Iterator[RawDocument]:
    """Yield the first articles of the sample."""
    for _, document in zip(range(count), raw_documents(), strict=False):
        yield document


def _measure(
    table: Table,
    server: Server,
    embedder: Embedder,
    name: str,
    documents: Sequence[RawDocument],
    late: int,
) -> None:
    """Add the row of a corpus."""
    connection = server.connection
    delete_data(connection)

    def ingest(part: Sequence[RawDocument]) -> None:
        ingest_corpus(
            connection,
            [_Held(part)],
            corpus=CORPUS,
            embedder=embedder,
            settings=server.settings,
            options=OPTIONS,
        )

    def terms() -> None:
        link_texts(
            connection,
            corpus=CORPUS,
            version=1,
            terms=True,
            work=server.settings.home / "work",
            progress=silent,
        )

    whole = server.time(lambda: ingest(documents[:-late]))
    server.quiet()
    first = server.time(terms)
    server.quiet()
    added = server.time(lambda: ingest(documents[-late:]))
    server.quiet()
    again = server.time(terms)
    (row,) = connection.read("corpus/show", name=CORPUS)
    chunks = row["chunks"]
    table.add(
        f"{len(documents):,} {name}, {chunks:,} chunks, {late} late",
        _told(whole),
        _told(first),
        f"{100 * _spent(first) / _spent(whole):.1f} %",
        _told(added),
        _told(again),
        f"{row['terms']:,}, {row['names'] / chunks:.1f}",
    )


def _told(took: Took) -> str:
    """Return seconds on the clock, and CPU seconds of both processes."""
    return f"{took.wall:.1f} ({took.own:.1f} + {took.server or 0:.1f})"


def _spent(took: Took) -> float:
    """Return the CPU seconds of both processes."""
    return took.own + (took.server or 0.0)

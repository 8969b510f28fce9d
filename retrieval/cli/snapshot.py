"""`knowtrail corpus snapshot`: a copy of a corpus that walks read without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit
from knowtrail.retrieval.cli.options import told

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.corpora import CorpusInfo


@click.command()
@click.argument("name", required=False)
@told("snapshot")
@click.pass_obj
def snapshot(
    settings: Settings,
    /,
    *,
    name: str | None,
    full: bool,
    verify: bool,
    delete: bool,
    as_json: bool,
) -> None:
    """Copy a corpus's vectors and edges to files, so that walks are fast.

    NAME may be left out where there is one corpus. Only documents that changed since
    the last snapshot are read. Walks use it by themselves while it is current.
    """
    if verify + delete + full > 1:
        raise click.UsageError("Give one of --full, --verify and --delete.")
    from knowtrail.graph.session import open_connection
    from knowtrail.retrieval.corpora import find_corpus

    if delete and name is not None:
        # A corpus that is gone can have left its snapshot behind.
        _delete(settings, name, as_json=as_json)
        return
    with open_connection(settings) as connection:
        info = find_corpus(connection, name or settings.corpus)
        if delete:
            _delete(settings, info.name, as_json=as_json)
        elif verify:
            _verify(settings, connection, info, as_json=as_json)
        else:
            _build(settings, connection, info, full=full, as_json=as_json)


def _build(
    settings: Settings,
    connection: Connection,
    info: CorpusInfo,
    *,
    full: bool,
    as_json: bool,
) -> None:
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.retrieval.snapshot.build import build_snapshot
    from knowtrail.retrieval.snapshot.source import CorpusSource

    source = CorpusSource(connection, info.name)
    with progress_bars() as progress:
        report = build_snapshot(settings.home, source, full=full, progress=progress)
    facts = report.facts
    counted = ("documents", "chunks", "sentences", "edges")
    row: dict[str, Any] = {
        **{name: getattr(facts, name) for name in ("corpus", "version", *counted)},
        "bytes": sum(facts.sizes.values()),
        "documentsRead": report.read,
        "documentsKept": report.kept,
        "built": report.built,
        "seconds": round(report.seconds, 3),
    }
    held = (
        f"version {facts.version}, {facts.documents:,} documents, {facts.chunks:,} "
        f"chunks, {facts.sentences:,} sentences, {facts.edges:,} edges, "
        f"{row['bytes'] / 1e6:,.1f} MB"
    )
    told = f"The snapshot of corpus {facts.corpus} is current: {held}."
    if report.built:
        told = (
            f"Made the snapshot of corpus {facts.corpus} in {report.seconds:.1f} s: "
            f"{held}; {report.read:,} documents read, {report.kept:,} kept."
        )
    emit(row, told, as_json=as_json)


def _verify(
    settings: Settings, connection: Connection, info: CorpusInfo, *, as_json: bool
) -> None:
    from knowtrail.retrieval.snapshot.folder import need_snapshot
    from knowtrail.retrieval.snapshot.source import CorpusSource

    mark = CorpusSource(connection, info.name).corpus()
    found = need_snapshot(settings.home, info.name, mark.version, stamp=mark.stamp)
    found.snapshot.verify()
    facts = found.snapshot.facts
    row = {"corpus": facts.corpus, "version": facts.version, "sound": True}
    told = (
        f"The snapshot of corpus {facts.corpus} is sound and current: version "
        f"{facts.version}, {len(facts.checksums)} files checked."
    )
    emit(row, told, as_json=as_json)


def _delete(settings: Settings, name: str, *, as_json: bool) -> None:
    from knowtrail.retrieval.snapshot.build import delete_snapshot

    deleted = delete_snapshot(settings.home, name)
    told = (
        f"Deleted the snapshot of corpus {name}."
        if deleted
        else f"Corpus {name} has no snapshot."
    )
    emit({"corpus": name, "deleted": deleted}, told, as_json=as_json)

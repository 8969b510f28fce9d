"""The first load of a corpus into the managed server's empty database.

An ingest fills a `Spool`, this is written to column files, Neo4j's import tool makes a
store of them while the server is stopped, and constraints and indexes are made in it.
The folder of a load stays until all of that is done: whatever ends a run, the next one
goes on with it, and a server opens the store whole or not at all.
"""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from knowtrail.graph.batches import batched
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.db.connection import Counters
from knowtrail.graph.db.corpus_lock import corpus_lock
from knowtrail.graph.db.schema import apply_schema, filter_properties, hnsw_settings
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import InputError, ServerError, StorageError
from knowtrail.graph.files import write_file
from knowtrail.graph.models.embedders import embedder_name
from knowtrail.graph.models.served import served_embedder
from knowtrail.graph.server.loading import import_store, stopped_server
from knowtrail.graph.session import open_connection
from knowtrail.ingest.bulk.columns import INPUT, ColumnFiles
from knowtrail.ingest.bulk.spool import LINKING, Spool
from knowtrail.ingest.corpus import known_corpus, work_key
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import Ingest
from knowtrail.ingest.records import position
from knowtrail.ingest.terms import TERM_RULES
from knowtrail.ingest.vector_file import storage_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.options import Cleanup
    from knowtrail.ingest.ray_engine import RayEngine
    from knowtrail.ingest.records import Source
    from knowtrail.ingest.report import IngestReport

_LOG = logging.getLogger(__name__)
LARGE = 32_000_000
"""Bytes of a source from which on a first load is a bulk load by itself."""
_OFF_HEAP = "1g"
_FILES_SHARE, _STORE_SHARE = 1.0, 2.0
"""Size of the column files, and of the store with its indexes, over the spool's."""
_MANIFEST = "load.json"
"""Written when the column files are whole: what is left to do after the import."""
_UNOPENED = (
    "The server did not open the imported store: see knowtrail server logs, and what "
    "server/conf/own.conf says of folders."
)
LOADING = "loading"
"""Status of a corpus whose store was imported and whose indexes are not made."""


def load_folder(settings: Settings, corpus: str, work: Path | None) -> Path:
    """Return the folder of a corpus' load, below the one given or the home folder."""
    base = (work or settings.home / "work").expanduser().absolute()
    return base / f"bulk-{content_key(corpus)}"


def takes_bulk_door(
    connection: Connection,
    sources: Sequence[Source],
    *,
    corpus: str,
    settings: Settings,
    work: Path | None = None,
    asked: bool | None = None,
) -> bool:
    """Return whether an ingest is to be a bulk load; finish one that was cut off.

    What the user says is `asked`; None takes the better one.

    Raises:
        InputError: If it is asked for and cannot be.
    """
    managed = settings.uri is None
    folder = load_folder(settings, corpus, work)
    if managed and folder.is_dir():
        with corpus_lock(settings.home, connection, corpus, lease=False):
            if _finish(connection, corpus, folder, settings):
                return False
    if asked is False:
        return False
    empty = managed and not connection.read("bulk/some_node")
    if asked and not empty:
        why = (
            "this database has data: leave it out"
            if managed
            else "not the server of NEO4J_URI: see knowtrail export bulk"
        )
        msg = f"--bulk makes the managed server's whole database, and {why}."
        raise InputError(msg)
    unit, _, size = position(sources)
    return bool(asked) or (empty and unit == "bytes read" and (size or 0) >= LARGE)


def load_corpus(
    connection: Connection,
    sources: Sequence[Source],
    *,
    corpus: str,
    embedder: Embedder,
    settings: Settings,
    leave: Callable[[], None],
    options: IngestOptions | None = None,
    cleanup: Cleanup = "incremental",
    work: Path | None = None,
    progress: Progress = silent,
    engine: RayEngine | None = None,
    filters: Sequence[str] = (),
) -> IngestReport:
    """Load a corpus into an empty database of the managed server.

    As `ingest_corpus`; `leave` closes the connection and lets go of the server, `work`
    is where the folder of the load goes, None for the home folder. The report counts
    the whole corpus.

    Raises:
        InputError: If the corpus is being written, or the database has data by now.
        ServerError: If the server is in use, or the tool fails.
        StorageError: If there is no space; the next run goes on from there.
    """
    folder = load_folder(settings, corpus, work)
    chosen = options or IngestOptions()
    with corpus_lock(settings.home, connection, corpus, lease=False):
        if filters:
            apply_schema(connection, filters=filters)
        with closing(_spool(folder, corpus, embedder, chosen, settings)) as spool:
            report = Ingest(
                spool,
                corpus,
                embedder if engine else served_embedder(connection, embedder),
                settings,
                chosen,
                cleanup,
                progress,
                filter_properties(connection),
                spool.work,
                spool.write_documents,
            ).run(sources, engine)
            with report.timed("files"):
                indexes = {
                    "hnsw": hnsw_settings(connection),
                    "filters": filter_properties(connection),
                }
                arguments, counts = _write(spool, chosen, settings, indexes, progress)
        with report.timed("import"):
            stays = _import(connection, arguments, settings, leave, progress)
        with report.timed("indexes"), open_connection(settings, stay=stays) as loaded:
            _finish(loaded, corpus, folder, settings, progress)
            if known_corpus(loaded, corpus) is None:
                raise ServerError(_UNOPENED)
    report.added += report.skipped + report.updated
    report.skipped = report.updated = 0
    report.written = counts
    return report


def _spool(
    folder: Path,
    corpus: str,
    embedder: Embedder,
    options: IngestOptions,
    settings: Settings,
) -> Spool:
    """Open the spool of a load, or a new one where that is damaged or of another."""
    shutil.rmtree(folder / "files", ignore_errors=True)
    try:
        spool = Spool(folder)
        stored = known_corpus(spool, corpus)
        model = settings.language_model if options.themes == "llm" else None
        if stored is None or (
            stored.embedder,
            stored.options,
            stored.theme_model,
            stored.term_rules,
        ) == (embedder_name(embedder), options, model, TERM_RULES):
            return spool
        why = "it was begun with other settings"
        spool.close()
    except sqlite3.OperationalError:
        raise  # another process has it, or the disk does not answer: no damage
    except (sqlite3.DatabaseError, ValueError) as error:
        why = str(error)
    _LOG.warning("The load in %s is begun again: %s", folder, why)
    with storage_errors(folder):
        shutil.rmtree(folder)
    return Spool(folder)


def _write(
    spool: Spool,
    options: IngestOptions,
    settings: Settings,
    indexes: dict[str, Any],
    progress: Progress,
) -> tuple[list[str], Counters]:
    """Write the column files; return the arguments that name them, and their counts."""
    folder = spool.folder
    (counts,) = spool.read("bulk/counts")
    room = _check_space(spool, settings.home)
    with ColumnFiles(folder / "files") as files:
        spool.write_files(
            files,
            options,
            status=LOADING,
            tell=lambda done: progress(
                f"column files (with the store about {room})", done, counts["documents"]
            ),
        )
    (corpus,) = spool.read("ingest/corpus_read", name=counts["corpus"])
    properties = {k: v for k, v in corpus["properties"].items() if k != "createdAt"}
    manifest = {"corpus": properties, "blanks": files.blanks, **indexes}
    write_file(folder / _MANIFEST, json.dumps(manifest))
    total = Counters(
        nodes_created=files.nodes, relationships_created=files.relationships
    )
    return [INPUT, *files.arguments()], total


def _check_space(spool: Spool, home: Path) -> str:
    """Return how much files and store take, in step with the bytes of the spool.

    Where that does not fit, working files go, which a change would make anew.
    """
    needed: Counter[int] = Counter()
    for path, share in ((spool.folder, _FILES_SHARE), (home, _STORE_SHARE)):
        disk = path.stat().st_dev
        needed[disk] += int(share * spool.size)
        if (free := shutil.disk_usage(path).free) < needed[disk]:
            if spool.work.exists():
                with storage_errors(spool.folder):
                    shutil.rmtree(spool.work)
                return _check_space(spool, home)
            raise StorageError(
                f"The load needs about {needed[disk] / 1e9:.1f} GB more in {path}, and "
                f"{free / 1e9:.1f} GB are free: free some and run it again."
            )
    return f"{needed.total() / 1e9:.1f} GB"


def _import(
    connection: Connection,
    arguments: Sequence[str],
    settings: Settings,
    leave: Callable[[], None],
    progress: Progress,
) -> bool:
    """Make the store; return whether the server was one that stays."""
    if connection.read("bulk/some_node"):
        raise InputError(
            "The database is no longer empty: another command wrote to it. Ingest "
            "without --bulk, or delete that data and run this again."
        )
    leave()
    progress("importing", 0, None)
    with stopped_server(settings.home) as stays:
        import_store(settings.home, arguments, heap=settings.heap, off_heap=_OFF_HEAP)
    progress("importing", 1, 1)
    return stays


def _finish(
    connection: Connection,
    corpus: str,
    folder: Path,
    settings: Settings,
    progress: Progress = silent,
) -> bool:
    """Make what an imported store lacks; return whether there was such a store."""
    stored = connection.read("ingest/corpus_read", name=corpus)
    if not stored or stored[0]["properties"].get("status") != LOADING:
        return False
    if not folder.is_dir():
        return False
    manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text("utf-8"))
    make = partial(
        apply_schema,
        connection,
        dimensions=manifest["corpus"]["dimensions"],
        hnsw=manifest.get("hnsw"),
        progress=progress,
        whole=True,
    )
    try:
        make(filters=manifest.get("filters", ()))
    except InputError as error:  # what was spooled before they were declared
        _LOG.warning("%s", error)
        make()
    for rows in batched(manifest["blanks"]):
        connection.write("bulk/blanks", rows=list(rows))
    connection.write("bulk/blank_anchors", corpus=corpus)
    if manifest["blanks"] and manifest.get("filters"):
        connection.run_schema(statement("schema/filter_copies"))
    if folder == load_folder(settings, corpus, None):  # a change looks beside it
        created = str(stored[0]["properties"].get("createdAt", ""))
        key = work_key(connection, corpus, created)
        with storage_errors(folder):
            for path in (folder / LINKING).glob("*"):
                path.replace(folder.parent / f"{key}{path.name[len(key) :]}")
    connection.write("bulk/loaded", name=corpus, properties=manifest["corpus"])
    (folder / "spool.sqlite").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return True

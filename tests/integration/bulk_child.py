"""A process that loads made-up articles in bulk, and may kill itself on the way.

Arguments: home, and where it dies: `documents`, `links`, `files`, `import`, `adopted`,
`indexes`, or `never`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from knowtrail.graph.errors import KnowtrailError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.ingest import pipeline
from knowtrail.ingest.bulk import load
from knowtrail.ingest.bulk.columns import ColumnFiles
from knowtrail.ingest.bulk.spool import Spool
from tests.corpora import ListSource, article, redirect
from tests.integration.ingest_child import FirstWords

CORPUS = "loaded"
METADATA = [
    {"year": 1, "note": "", "tags": ["a", ""]},
    {"year": 1.5, "note": "x", "tags": []},
    {"year": "one", "flag": True},
    {},
]
ITEMS = [
    *(
        replace(
            article(n, sentences=8),
            metadata=METADATA[n % len(METADATA)],
            categories=[f"Kind {n % 3}", "Everything"],
        )
        for n in range(40)
    ),
    *(redirect(n, target=n * 3) for n in range(8)),
]


def die() -> None:
    """End this process as a power failure would."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying(call, times: int):
    """Return a call that does not survive being made so often."""
    made = []

    def after(*args, **options):
        answer = call(*args, **options)
        made.append(1)
        if len(made) >= times:
            die()
        return answer

    return after


def soon(call, seconds: float):
    """Return a call during which the process dies."""

    def during(*args, **options):
        threading.Timer(seconds, die).start()
        return call(*args, **options)

    return during


def prepare(point: str) -> None:
    """See to it that this process dies there."""
    pipeline.theme_source = lambda *_: FirstWords()
    pipeline.TEXTS = 60
    pipeline._LOOKUP_DOCUMENTS = 4
    if point == "documents":
        Spool.write_documents = dying(Spool.write_documents, 4)
    elif point == "links":
        Spool._link = dying(Spool._link, 3)
    elif point == "files":
        ColumnFiles.add_nodes = dying(ColumnFiles.add_nodes, 30)
    elif point == "import":
        load.import_store = soon(load.import_store, 2.5)
    elif point == "adopted":
        load.import_store = dying(load.import_store, 1)
    elif point == "indexes":
        load.apply_schema = dying(load.apply_schema, 1)


def attempt(home: Path) -> None:
    """Ingest, in bulk where it can be."""
    settings = Settings.from_env(env={}, home=home)
    sources = [ListSource(ITEMS)]
    with ExitStack() as stack:
        connection = stack.enter_context(open_connection(settings))
        by_bulk = load.takes_bulk_door(
            connection, sources, corpus=CORPUS, settings=settings
        )
        empty = not connection.read("bulk/some_node")
        given = {
            "corpus": CORPUS,
            "embedder": HashEmbedder(32),
            "settings": settings,
        }
        if by_bulk or empty:
            load.load_corpus(connection, sources, leave=stack.close, **given)
        else:
            pipeline.ingest_corpus(connection, sources, **given)


def main() -> None:
    """Make the attempt."""
    prepare(sys.argv[2])
    try:
        attempt(Path(sys.argv[1]))
    except KnowtrailError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(3)


if __name__ == "__main__":
    main()

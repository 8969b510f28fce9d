"""A process that ingests made-up articles, in children that may kill themselves.

Arguments: URI, home, and the size of writes: `small` or `usual`. Each line of standard
input makes a child and says how it dies: `after` the first write that changes
anything, `during` the first that takes more than 4 ms, or `never`. Each line of
standard output is a child's exit code. The password is in NEO4J_PASSWORD.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.errors import KnowtrailError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.settings import Settings
from knowtrail.ingest import pipeline, similarity, text_linking
from knowtrail.ingest.options import IngestOptions
from tests.corpora import ListSource, article, redirect

CORPUS = "killed"
ITEMS = [
    *(article(n, sentences=8) for n in range(24)),
    *(redirect(n, target=n * 3) for n in range(8)),
]


def prepare(*, small: bool) -> None:
    """Take themes without a model, and small batches where many writes are wanted."""
    pipeline.theme_source = lambda *_: FirstWords()
    if not small:
        return
    pipeline.TEXTS = 45
    pipeline._LOOKUP_DOCUMENTS = 3
    text_linking._DOCUMENTS = 5
    similarity.ROWS = 32


class FirstWords:
    """Themes without a model: the first long words of a text."""

    name = "words"

    def themes(self, title: str, text: str, *, language: str) -> list[str]:
        """Return up to five words."""
        words = [w.lower() for w in text.replace(".", "").split() if len(w) > 5]
        return list(dict.fromkeys(words))[:5]


def die() -> None:
    """End this process as a power failure would."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying(write, how):
    """Return a write that does not survive its first call that changes anything."""

    def call(self, steps):
        timer = threading.Timer(0.004 if how == "during" else 60, die)
        timer.start()
        written = write(self, steps)
        timer.cancel()
        if written.changed:
            die()
        return written

    return call


def attempt(uri: str, home: str, how: str) -> int:
    """Ingest; return 3 with one line of error where the database fails."""
    settings = Settings.from_env(uri=uri, home=Path(home))
    with Connection.open(settings) as connection:
        if how != "never":
            Connection.write_all = dying(Connection.write_all, how)
        try:
            pipeline.ingest_corpus(
                connection,
                [ListSource(ITEMS)],
                corpus=CORPUS,
                embedder=HashEmbedder(32),
                settings=settings,
                options=IngestOptions(),
            )
        except KnowtrailError as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()
            return 3
    return 0


def main() -> None:
    """Make an attempt, in a process of its own, for each line that comes in."""
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    import_module("neo4j")  # here, where children find it
    uri, home, steps = sys.argv[1:4]
    prepare(small=steps == "small")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(attempt(uri, home, line.strip()))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

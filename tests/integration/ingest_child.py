"""A process that ingests made-up articles and may kill itself at its first write.

Arguments: URI, home, how to die: `after` the first write that changes anything,
`during` the first that takes more than 4 ms, or `never`.
The password is in NEO4J_PASSWORD.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path

from graph.connection import Connection
from graph.embedders import HashEmbedder
from graph.errors import KnowtrailError
from graph.settings import Settings
from ingest import linking, pipeline, similarity, term_linking
from ingest.options import IngestOptions
from tests.corpora import ListSource, article, redirect

CORPUS = "killed"
ITEMS = [
    *(article(n, sentences=8) for n in range(24)),
    *(redirect(n, target=n * 3) for n in range(8)),
]


def small_steps() -> None:
    """Make batches small, so that an ingest has many writes."""
    pipeline.TEXTS = 45
    pipeline.theme_source = lambda *_: FirstWords()
    pipeline._LOOKUP_DOCUMENTS = 3
    linking._DOCUMENTS = 5
    similarity.ROWS = 32
    term_linking._CHUNKS = 40


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


def main() -> None:
    """Ingest, and exit 3 with one line when the database fails."""
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    uri, home, how = sys.argv[1:4]
    settings = Settings.from_env(uri=uri, home=Path(home))
    small_steps()
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
            sys.exit(3)


if __name__ == "__main__":
    main()

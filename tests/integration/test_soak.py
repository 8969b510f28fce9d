"""An hour in a minute: many threads read, walk, ingest and delete on one server."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from knowtrail.retrieval.search import search
from knowtrail.retrieval.traverse import traverse
from tests.corpora import ListSource, article

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowtrail.graph.settings import Settings

pytestmark = [
    pytest.mark.integration,
    pytest.mark.one_line,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.timeout(600),
]

EMBEDDER = HashEmbedder(32)
WARM_SECONDS = 20
SECONDS = 75
FEWEST = 3
MOST_GROWTH = 100 << 20
ALGORITHMS = ("basic_retrieval", "query_traversal", "kg_traversal")
CLIENTS = "CALL dbms.listConnections() YIELD connectionId RETURN count(*) AS n"
OPEN = """
SHOW TRANSACTIONS YIELD transactionId, currentQuery
WHERE NOT currentQuery STARTS WITH '\\nSHOW'
RETURN transactionId, currentQuery
"""
PROCESS = psutil.Process()


class Traffic:
    """What several threads do to the corpora `steady`, `moving` and `passing`."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self.connection = connection
        self.walks: set[str | None] = set()
        self.done = dict.fromkeys(("search", "walk", "move", "pass"), 0)
        self.errors: list[BaseException] = []
        self._settings = settings
        self._ended = threading.Event()

    def ingest(self, corpus: str, *numbers: int, version: int = 0) -> None:
        """Make articles the whole of a corpus."""
        ingest_corpus(
            self.connection,
            [ListSource([article(n, version=version) for n in numbers])],
            corpus=corpus,
            embedder=EMBEDDER,
            settings=self._settings,
            options=IngestOptions(themes="none"),
            cleanup="full",
        )

    def run(self, seconds: float) -> int:
        """Keep all at work; return the memory after the warm part.

        A busy machine takes longer: each kind of work is done some times.
        """
        steps = [self._search, self._search, self._walk, self._move, self._pass]
        threads = [threading.Thread(target=self._keep, args=(step,)) for step in steps]
        for thread in threads:
            thread.start()
        self._ended.wait(WARM_SECONDS)
        warm = PROCESS.memory_info().rss
        end = time.monotonic() + seconds - WARM_SECONDS
        while time.monotonic() < end or min(self.done.values()) < FEWEST:
            if self._ended.wait(0.5):
                break
        self._ended.set()
        for thread in threads:
            thread.join()
        return warm

    def _keep(self, step: Callable[[int], str]) -> None:
        """Do a step again and again; the first error ends all threads."""
        try:
            for number in itertools.count():
                if self._ended.is_set():
                    return
                self.done[step(number)] += 1
        except BaseException as error:
            self.errors.append(error)
            self._ended.set()

    def _search(self, number: int) -> str:
        found = search(
            self.connection,
            f"What is near {article(number % 9).title}?",
            embedder=EMBEDDER,
            corpus="steady",
            algorithm=ALGORITHMS[number % 3],
            k=3,
        )
        assert len(found.hits) == 3
        return "search"

    def _walk(self, number: int) -> str:
        walked = traverse(
            self.connection,
            f"What shapes {article(number % 9).title}?",
            embedder=EMBEDDER,
            corpus="steady",
            algorithm=ALGORITHMS[number % 3],
        )
        assert walked.walk.sentences
        self.walks.add(walked.traversal_id)
        return "walk"

    def _move(self, number: int) -> str:
        self.ingest("moving", number % 5, number % 7 + 5, 20, version=number % 3)
        return "move"

    def _pass(self, number: int) -> str:
        self.ingest("passing", number % 11, 30)
        delete_corpus(self.connection, "passing")
        return "pass"


def test_an_hour_of_mixed_work_leaves_everything_in_order(
    connection: Connection, server: Settings
) -> None:
    """No error, no leak, nothing open, and each corpus is what was last written."""
    with Connection.open(server) as own:
        traffic = Traffic(own, server)
        traffic.ingest("steady", *range(9))
        steady = corpus_digest(own, "steady")
        clients = connection.query(CLIENTS)[0]["n"]

        warm = traffic.run(SECONDS)
        grown = PROCESS.memory_info().rss - warm
        more_clients = connection.query(CLIENTS)[0]["n"] - clients

    assert traffic.errors == []
    assert min(traffic.done.values()) >= FEWEST
    assert grown < MOST_GROWTH
    assert more_clients <= 10
    assert _comes_true(lambda: connection.query(CLIENTS)[0]["n"] <= clients)
    assert _comes_true(lambda: connection.query(OPEN) == [])
    assert corpus_digest(connection, "steady") == steady
    for corpus in ("steady", "moving"):
        assert [f for f in verify_corpus(connection, corpus) if f.count] == []
    (row,) = connection.query(
        "RETURN COUNT { (n) WHERE n.corpus = 'passing' } AS passed, "
        "COLLECT { MATCH (t:Traversal) RETURN t.id } AS walks"
    )
    assert row["passed"] == 0
    assert set(row["walks"]) == traffic.walks


def _comes_true(condition: Callable[[], bool]) -> bool:
    """Wait some seconds for what the server does in its own time."""
    end = time.monotonic() + 15
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True

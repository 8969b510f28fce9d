"""The thread that works for a call in the server, and the one that waits for it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import DatabaseError
from knowtrail.retrieval.procedures.registry import PROCEDURES
from knowtrail.retrieval.procedures.server_plugin import (
    StoppableConnection,
    _called,
    _CallerGoneError,
    stopping,
)
from knowtrail.retrieval.readers.cypher import CypherReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEARCH = PROCEDURES["search"]


class _Value:
    """A value of Neo4j's that converts to itself."""

    def __init__(self, value: object) -> None:
        self.value = value

    def map(self, mapper: object) -> object:
        """Return the value."""
        return self.value


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Yield the threads that calls work in."""
    with ThreadPoolExecutor(1) as threads:
        yield threads


def _call(
    pool: ThreadPoolExecutor,
    work: Callable[[threading.Event], list[dict[str, Any]]],
    *,
    terminated: bool = False,
) -> list[dict[str, Any]]:
    """Call `search` in a server that does `work`."""
    java = SimpleNamespace(
        to_python=lambda value: value,
        may_write=lambda _: True,
        is_terminated=lambda _: terminated,
    )
    server = SimpleNamespace(
        pool=pool, rows=lambda _procedure, _values, stop, **_: work(stop)
    )
    context = SimpleNamespace(
        internalTransactionOrNull=object, valueMapper=lambda: None
    )
    values = [_Value("What is ice?"), _Value({})]
    return _called(java, SEARCH, server, context, values)  # type: ignore[arg-type]


def test_rows_come_back(pool: ThreadPoolExecutor) -> None:
    """What the work returns is returned."""
    assert _call(pool, lambda _: [{"rank": 1}]) == [{"rank": 1}]


@pytest.mark.timeout(20)
def test_time_out_of_the_work_is_its_failure(pool: ThreadPoolExecutor) -> None:
    """It is not taken for work that goes on, which the caller would await for ever."""

    def work(_: threading.Event) -> list[dict[str, Any]]:
        raise TimeoutError("The model's server said nothing")

    with pytest.raises(TimeoutError, match="said nothing"):
        _call(pool, work)


@pytest.mark.timeout(20)
def test_work_whose_caller_is_gone_is_told_to_stop(pool: ThreadPoolExecutor) -> None:
    """The caller's thread does not wait for it."""
    told = threading.Event()

    def work(stop: threading.Event) -> list[dict[str, Any]]:
        if stop.wait(10):
            told.set()
        return []

    begin = time.monotonic()
    with pytest.raises(_CallerGoneError):
        _call(pool, work, terminated=True)

    assert time.monotonic() - begin < 5
    assert told.wait(10)


def test_walk_that_is_told_to_stop_makes_no_further_hop() -> None:
    """The reader of a walk asks through the connection, which then refuses."""
    asked: list[str] = []

    class Session:
        """A database without chunks."""

        def run(self, text: str, _: object) -> list[Any]:
            asked.append(text)
            kernel = {"name": "Neo4j Kernel", "version": "5.26.0", "edition": ""}
            return [SimpleNamespace(data=lambda: kernel, values=lambda: [[]])]

    driver = SimpleNamespace(
        session=lambda **_: nullcontext(Session()), execute_query_bookmark_manager=None
    )
    connection = StoppableConnection(driver)  # type: ignore[arg-type]
    reader = CypherReader(connection, corpus="tales")
    stop = threading.Event()

    with stopping(stop):
        assert reader.expand(["fox"]) == {}
        before = len(asked)
        stop.set()
        with pytest.raises(DatabaseError, match="ended before"):
            reader.expand(["owl"])

    assert len(asked) == before > 0


@pytest.mark.parametrize("name", ["write_all", "run_schema"])
def test_nothing_waits_for_ever_for_the_locks_of_the_caller(name: str) -> None:
    """Whatever writes has a time limit: the caller waits for it with its locks."""
    limits: list[float] = []

    class RefusedError(Exception):
        """Ends the attempt once the limit is known."""

    class Session:
        """A session that notes the limit it is given."""

        def __enter__(self) -> Session:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def begin_transaction(self, *, timeout: float) -> None:
            limits.append(timeout)
            raise RefusedError

        def run(self, query: Any, *_: object) -> None:
            limits.append(query.timeout)
            raise RefusedError

    driver = SimpleNamespace(
        session=lambda **_: nullcontext(Session()), execute_query_bookmark_manager=None
    )
    connection = StoppableConnection(driver)  # type: ignore[arg-type]

    with pytest.raises(RefusedError):
        getattr(connection, name)([] if name == "write_all" else "DROP INDEX a")

    assert limits == [10.0]

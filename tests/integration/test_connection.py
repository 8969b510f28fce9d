"""Connections to a real server: refusals, transactions, retries, ownership."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import neo4j
import pytest
from neo4j.exceptions import TransientError

from knowtrail.graph.db.connection import AsyncConnection, Connection
from knowtrail.graph.db.driver import translate_errors
from knowtrail.graph.db.user_statements import aread_statement, run_statement
from knowtrail.graph.errors import (
    CredentialsError,
    DatabaseError,
    InputError,
    SettingsError,
    UnavailableError,
)
from tests.proxies import proxied, self_signed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

COUNT = "MATCH (n:Corpus) RETURN count(n) AS n"


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Yield a port that is ours and on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def driver(server: Settings) -> Iterator[neo4j.Driver]:
    """Yield a driver that a caller made."""
    auth = (server.username, server.password or "")
    with neo4j.GraphDatabase.driver(server.uri or "", auth=auth) as driver:
        yield driver


@pytest.fixture
def forgiven(server: Settings) -> Iterator[Settings]:
    """Yield the server; log in afterwards, so that it forgets the failed attempts."""
    yield server
    Connection.open(server).close()


def _new_corpus(name: str, **properties: Any) -> tuple[str, dict[str, Any]]:
    """Return a step of `write_all` that stores a corpus."""
    return "ingest/corpus_create", {"name": name, "properties": properties}


def test_wrong_password_is_refused(forgiven: Settings) -> None:
    """A wrong password is named as such, without the password in the message."""
    with pytest.raises(CredentialsError, match="NEO4J_PASSWORD") as refused:
        Connection.open(replace(forgiven, password="not-the-password"))

    assert "not-the-password" not in str(refused.value)


def test_missing_password_is_refused(forgiven: Settings) -> None:
    """A server with authentication does not take a client without."""
    with pytest.raises(CredentialsError):
        Connection.open(replace(forgiven, password=None))


async def test_wrong_password_is_refused_async(forgiven: Settings) -> None:
    """The asynchronous twin says the same."""
    with pytest.raises(CredentialsError, match="NEO4J_PASSWORD"):
        await AsyncConnection.open(replace(forgiven, password="not-the-password"))


def test_nothing_listening_is_unavailable(server: Settings, silent_port: int) -> None:
    """An address where nothing answers is an error of its own kind."""
    with pytest.raises(UnavailableError, match=f"127.0.0.1:{silent_port}"):
        Connection.open(replace(server, uri=f"bolt://127.0.0.1:{silent_port}"))


async def test_nothing_listening_is_unavailable_async(
    server: Settings, silent_port: int
) -> None:
    """The asynchronous twin says the same."""
    with pytest.raises(UnavailableError, match=f"127.0.0.1:{silent_port}"):
        await AsyncConnection.open(
            replace(server, uri=f"bolt://127.0.0.1:{silent_port}")
        )


def test_a_certificate_is_verified(
    server: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only one that SSL_CERT_FILE vouches for is taken, and only for its own host."""
    address = urlsplit(server.uri or "")
    context, signed_by = self_signed(tmp_path, "localhost")
    told = []

    with proxied(address.hostname or "", address.port or 0, context) as proxy:
        for name, trusted in (
            *(("localhost", None), ("localhost", signed_by)),
            ("127.0.0.1", signed_by),
        ):
            monkeypatch.setenv("SSL_CERT_FILE", str(trusted or tmp_path / "none"))
            try:
                uri = f"bolt+s://{name}:{proxy.port}"
                Connection.open(replace(server, uri=uri)).close()
                told.append("taken")
            except SettingsError as error:
                told.append(str(error).partition("(")[2].partition(")")[0])

    reasons = ["self-signed certificate", "taken", "IP address mismatch"]
    assert [text.partition(",")[0] for text in told] == reasons


def test_browsers_connect_by_websocket(server: Settings) -> None:
    """The port of Bolt upgrades a page's connection, and then agrees on a version."""
    address = urlsplit(server.uri or "")
    upgrade = (
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://localhost:8080\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    bolt_5_4_only = bytes.fromhex("6060b017 00000405 00000000 00000000 00000000")

    with socket.create_connection((address.hostname, address.port or 7687), 9) as line:
        line.sendall(upgrade.encode())
        answer = line.recv(4_000)
        # A binary frame of 20 bytes, masked by zeros, as clients must.
        line.sendall(b"\x82\x94" + bytes(4) + bolt_5_4_only)
        agreed = line.recv(100)

    assert answer.startswith(b"HTTP/1.1 101 ")
    assert agreed == bytes.fromhex("8204 00000405")


def test_missing_database_is_named(server: Settings) -> None:
    """A database that does not exist is a setting to mend."""
    with (
        Connection.open(replace(server, database="nowhere")) as connection,
        pytest.raises(SettingsError, match="NEO4J_DATABASE"),
    ):
        connection.query("RETURN 1")


@pytest.mark.parametrize(
    "uri", ["http://127.0.0.1:7687", "127.0.0.1:7687", "bolt://h:port", "bolt://", ""]
)
def test_unusable_address_is_refused(server: Settings, uri: str) -> None:
    """An address of another form never reaches the driver."""
    with pytest.raises(SettingsError, match="write bolt://HOST:PORT"):
        Connection.open(replace(server, uri=uri))


def test_password_in_the_address_is_not_repeated(server: Settings) -> None:
    """An address with a password in it is refused without showing it."""
    with pytest.raises(SettingsError) as refused:
        Connection.open(replace(server, uri="bolt://neo4j:hidden@127.0.0.1:7687"))

    assert "hidden" not in str(refused.value)


def test_callers_driver_is_never_closed(driver: neo4j.Driver) -> None:
    """A driver that came from outside works after our connection has ended."""
    with Connection(driver) as connection:
        connection.query("RETURN 1 AS one")

    assert driver.execute_query("RETURN 1 AS one", database_="neo4j").records


async def test_callers_async_driver_is_never_closed(server: Settings) -> None:
    """The asynchronous twin keeps to that too."""
    auth = (server.username, server.password or "")
    async with neo4j.AsyncGraphDatabase.driver(server.uri or "", auth=auth) as driver:
        async with AsyncConnection(driver) as connection:
            await connection.aquery("RETURN 1 AS one")

        result = await driver.execute_query("RETURN 1 AS one", database_="neo4j")
    assert result.records[0]["one"] == 1


def test_own_driver_is_closed(server: Settings) -> None:
    """A driver that we made ends with the connection."""
    connection = Connection.open(server)
    connection.close()

    with pytest.raises(DatabaseError, match="driver failed"):
        connection.query("RETURN 1")


def test_capabilities_are_probed_once(session_connection: Connection) -> None:
    """The second question is answered from memory, by the same object."""
    first = session_connection.capabilities

    assert session_connection.capabilities is first
    assert first.version >= (5, 26)


def test_sync_and_async_read_the_same(server: Settings, connection: Connection) -> None:
    """Both twins return rows as dictionaries, in the order of the server."""
    import asyncio

    connection.write_all([_new_corpus("b"), _new_corpus("a")])

    async def read() -> list[dict[str, Any]]:
        async with await AsyncConnection.open(server) as twin:
            return await twin.aread("corpus/list")

    rows = connection.read("corpus/list")
    assert [row["name"] for row in rows] == ["a", "b"]
    assert asyncio.run(read()) == rows


def test_stream_gives_every_row_once(connection: Connection) -> None:
    """Rows that come in several fetches are all there, in order."""
    connection.write_all([_new_corpus(f"c{number:04}") for number in range(1_100)])

    names = [record["name"] for record in connection.stream("corpus/list")]

    assert names == [f"c{number:04}" for number in range(1_100)]


def test_reading_cannot_write(connection: Connection) -> None:
    """A write in a read transaction is refused and changes nothing."""
    with pytest.raises(DatabaseError):
        connection.query("CREATE (:Corpus {name: 'x'})")

    assert connection.query(COUNT) == [{"n": 0}]


def test_write_all_is_all_or_nothing(connection: Connection) -> None:
    """Where the second statement fails, the first is not stored either."""
    steps = [_new_corpus("first"), _new_corpus("second", bad={"a": "map"})]

    with pytest.raises(DatabaseError):
        connection.write_all(steps)

    assert connection.query(COUNT) == [{"n": 0}]


def test_counters_say_what_changed(connection: Connection) -> None:
    """The first write counts, the same again counts nothing."""
    first = connection.write_all([_new_corpus("a", version=1), _new_corpus("b")])
    again = connection.write_all([_new_corpus("a", version=1), _new_corpus("b")])

    assert (first.nodes_created, first.labels_added, first.changed) == (2, 2, True)
    assert not again.changed


def test_reads_see_earlier_writes(connection: Connection) -> None:
    """A read that follows a write sees it, through the shared bookmarks."""
    connection.write_all([_new_corpus("fresh")])

    assert connection.query(COUNT) == [{"n": 1}]


def test_deadlock_is_retried(connection: Connection) -> None:
    """Two writers that lock each other out both succeed in the end."""
    connection.write_all([_new_corpus("a"), _new_corpus("b")])
    held = threading.Barrier(2)
    attempts: list[str] = []
    failures: list[BaseException] = []

    def lock(first: str, second: str) -> None:
        def work(tx: neo4j.ManagedTransaction) -> None:
            attempts.append(first)
            text = "MATCH (k:Corpus {name: $name}) SET k.touched = $by"
            tx.run(text, name=first, by=first).consume()
            if len(attempts) <= 2:
                held.wait(timeout=30)
            tx.run(text, name=second, by=first).consume()

        try:
            with (
                translate_errors(),
                connection.driver.session(database=connection.database) as session,
            ):
                session.execute_write(work)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [
        threading.Thread(target=lock, args=names) for names in (("a", "b"), ("b", "a"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert failures == []
    assert len(attempts) > 2


def test_transient_error_that_lasts_is_reported() -> None:
    """What the driver gives up on after its retries is an error of ours."""
    with (
        pytest.raises(DatabaseError, match=r"Neo\.TransientError"),
        translate_errors(),
    ):
        raise _transient()


def _transient() -> TransientError:
    """Return the error that a server sends for a deadlock."""
    error = TransientError._hydrate_neo4j(
        code="Neo.TransientError.Transaction.DeadlockDetected", message="locked"
    )
    assert isinstance(error, TransientError)
    return error


async def test_the_asynchronous_twin_writes_and_streams(
    server: Settings, connection: Connection
) -> None:
    """It writes all or nothing, counts, and streams what is stored."""
    bad = [_new_corpus("lost"), _new_corpus("bad", bad={"a": "map"})]
    async with await AsyncConnection.open(server) as twin:
        written = await twin.awrite_all([_new_corpus("b"), _new_corpus("a")])
        with pytest.raises(DatabaseError):
            await twin.awrite_all(bad)
        await twin.awrite("ingest/corpus_complete", name="a")
        names = [record["name"] async for record in twin.astream("corpus/list")]

    assert written.nodes_created == 2
    assert names == ["a", "b"]
    assert [row["name"] for row in connection.read("corpus/list")] == names


async def test_a_statement_is_explained_with_its_parameters(
    server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the server plans it once: a plan is kept by the types of what is given."""
    text, given = "RETURN $n AS n", {"n": 1}
    seen: list[tuple[str, Any]] = []
    plain, later = neo4j.Session.run, neo4j.AsyncSession.run

    def run(self: Any, asked: Any, values: Any = None, **more: Any) -> Any:
        seen.append((asked, values))
        return plain(self, asked, values, **more)

    async def arun(self: Any, asked: Any, values: Any = None, **more: Any) -> Any:
        seen.append((asked, values))
        return await later(self, asked, values, **more)

    monkeypatch.setattr(neo4j.Session, "run", run)
    monkeypatch.setattr(neo4j.AsyncSession, "run", arun)
    with Connection.open(server) as connection:
        seen.clear()
        with run_statement(connection, text, given) as statement:
            assert list(statement) == [[1]]
    assert seen == [(f"EXPLAIN\n{text}", given), (text, given)]
    async with await AsyncConnection.open(server) as connection_:
        seen.clear()
        found = await aread_statement(connection_, text, given, limit=2)
        assert found == (("n",), [[1]])
    assert seen == [(f"EXPLAIN\n{text}", given), (text, given)]


def test_number_of_more_than_64_bits_is_refused_in_one_line(
    connection: Connection,
) -> None:
    """The driver raises an error that is none of Neo4j's."""
    with pytest.raises(InputError, match="does not fit the 64 bits"):
        connection.query("RETURN $x AS x", {"x": [2**63]})
    (row,) = connection.query("RETURN $x AS x", {"x": [2**63 - 1]})
    assert row["x"] == [2**63 - 1]

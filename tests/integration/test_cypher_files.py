"""Every statement file is understood by every Neo4j line it says it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graph.connection import Connection
from graph.schema import apply_schema, drop_schema, vector_dimensions
from graph.settings import Settings
from graph.statements import statement_names, statement_record

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration

LTS = "5.26.30"
PLANNED_VALUES = {"options": {}}
"""Parameters that the server looks at while it plans."""


@pytest.fixture(scope="module")
def current(session_connection: Connection) -> Connection:
    """Return the session's server with a schema that has every index."""
    if vector_dimensions(session_connection) not in {None, 32}:
        drop_schema(session_connection, data=True)
    apply_schema(session_connection, dimensions=32)
    return session_connection


@pytest.fixture(scope="module")
def long_term(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """Yield a connection to a server of the long-term support line."""
    from graph.server import join_server

    home = tmp_path_factory.mktemp("lts")
    settings = Settings.from_env(env={}, home=home)
    with join_server(home, version=LTS) as lease:
        info = lease.info
        pointed = settings.with_server(
            uri=info.uri, username=info.username, password=info.password
        )
        with Connection.open(pointed) as connection:
            apply_schema(connection, dimensions=32)
            yield connection


def _explain(connection: Connection, name: str) -> None:
    """Have the server plan a statement; it raises where it cannot."""
    record = statement_record(name)
    params = dict.fromkeys(record.params) | {
        key: value for key, value in PLANNED_VALUES.items() if key in record.params
    }
    connection.query(f"EXPLAIN\n{record.text}", params)


def _runs_on(name: str, version: tuple[int, ...]) -> bool:
    """Return whether a statement says that it runs on a version."""
    since = tuple(int(part) for part in statement_record(name).since.split("."))
    return version >= since


@pytest.mark.parametrize("name", statement_names())
def test_statement_is_understood(current: Connection, name: str) -> None:
    """The server plans the statement, unless it is older than the statement asks."""
    if not _runs_on(name, current.capabilities.version):
        pytest.skip("needs a newer Neo4j")

    _explain(current, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in statement_names() if _runs_on(name, (5, 26))]
)
def test_statement_is_understood_by_long_term_line(
    long_term: Connection, name: str
) -> None:
    """The long-term support line plans every statement that claims to run on it."""
    assert long_term.capabilities.version[:2] == (5, 26)

    _explain(long_term, name)

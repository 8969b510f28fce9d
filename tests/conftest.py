"""Fixtures: the shared material, and one real Neo4j server for the whole session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from graph.connection import Connection
from graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = Path(__file__).resolve().parents[2] / "shared"

# Under CI the same examples every time; elsewhere new ones, which find new defects.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared data; skip without it, fail under CI."""
    if not SHARED.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"CI is set and the shared data is not at {SHARED}")
        pytest.skip(f"the shared data is not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Yield settings of a real server: NEO4J_TEST_URI, or one started here."""
    uri = os.environ.get("NEO4J_TEST_URI")
    if uri:
        yield Settings.from_env(uri=uri, home=tmp_path_factory.mktemp("home"))
        return
    from graph.server import join_server

    home = tmp_path_factory.mktemp("home")
    settings = Settings.from_env(env={}, home=home)
    with join_server(home, version=os.environ.get("KNOWTRAIL_TEST_NEO4J")) as lease:
        info = lease.info
        yield settings.with_server(
            uri=info.uri, username=info.username, password=info.password
        )


@pytest.fixture(scope="session")
def session_connection(server: Settings) -> Iterator[Connection]:
    """Yield one connection to the session's server."""
    with Connection.open(server) as connection:
        yield connection


@pytest.fixture
def connection(session_connection: Connection) -> Connection:
    """Return a connection to an empty database.

    Constraints stay from test to test, and vector indexes too where they have the 32
    dimensions that most tests use.
    """
    from graph.schema import delete_data, drop_schema, vector_dimensions

    delete_data(session_connection)
    # What is not ours, such as RDF of others that a test read, goes too.
    session_connection.run_schema("MATCH (n) WHERE NOT n:SchemaVersion DETACH DELETE n")
    if vector_dimensions(session_connection) not in {None, 32}:
        drop_schema(session_connection)
    return session_connection

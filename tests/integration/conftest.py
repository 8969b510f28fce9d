"""Fixtures that several integration tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.py2neo import Graph
from tests.databases import allow_vectors
from tests.py2neo_graphs import fill_films

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings


@pytest.fixture(scope="module")
def emptied(session_connection: Connection) -> Connection:
    """Return a connection to a database that is emptied once, for a whole module."""
    session_connection.run_schema("MATCH (n) WHERE NOT n:SchemaVersion DETACH DELETE n")
    allow_vectors(session_connection)
    return session_connection


@pytest.fixture(scope="session")
def session_graph(server: Settings) -> Iterator[Graph]:
    """Yield the session's server as a graph of the py2neo package."""
    graph = Graph(server.uri, auth=(server.username, server.password))
    yield graph
    graph.service.close()


@pytest.fixture
def graph(session_graph: Graph, session_connection: Connection) -> Graph:
    """Return the graph, emptied, of the node with the schema's version too."""
    session_connection.run_schema("MATCH (n) DETACH DELETE n")
    return session_graph


@pytest.fixture
def films(graph: Graph) -> Graph:
    """Return the graph with people and a film."""
    fill_films(graph)
    return graph

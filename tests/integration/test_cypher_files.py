"""Statements and the main path run on every Neo4j line, also in the first tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.db.schema import (
    apply_schema,
    delete_data,
    drop_schema,
    vector_dimensions,
)
from knowtrail.graph.db.statements import statement, statement_names, statement_record
from knowtrail.graph.errors import KnowtrailError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval.search import search
from knowtrail.retrieval.traverse import traverse
from tests.conftest import LINES
from tests.corpora import ListSource, article

if TYPE_CHECKING:
    from tests.conftest import Servers

pytestmark = pytest.mark.integration

EMBEDDER = HashEmbedder(32)
QUESTION = "What shapes the glacier near the harbour?"
PLANNED_VALUES = {"options": {}}
"""Parameters that the server looks at while it plans."""


def _refusal(connection: Connection, name: str) -> str:
    """Have the server plan a statement; return why it cannot, "" where it can."""
    record = statement_record(name)
    params = dict.fromkeys(record.params) | {
        key: value for key, value in PLANNED_VALUES.items() if key in record.params
    }
    try:
        connection.query(f"EXPLAIN\n{record.text}", params)
    except KnowtrailError as error:
        return str(error)
    return ""


def _runs_on(name: str, version: tuple[int, ...]) -> bool:
    """Return whether a statement says that it runs on a version."""
    since = tuple(int(part) for part in statement_record(name).since.split("."))
    return version >= since


def _prepared(connection: Connection) -> None:
    """Give a database every index, for vectors of 32 dimensions, and no data."""
    if vector_dimensions(connection) not in {None, 32}:
        drop_schema(connection)
    apply_schema(connection, dimensions=32)
    delete_data(connection)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "line",
    [
        # Where other tests of the first tier run the statements, they need no plan.
        pytest.param(line, marks=[pytest.mark.thorough] * (line == LINES[0]))
        for line in LINES
    ],
)
def test_statements_are_understood(servers: Servers, line: str) -> None:
    """A line plans every statement that says it runs there, with every index."""
    with Connection.open(servers.settings(line)) as connection:
        _prepared(connection)
        version = connection.capabilities.version
        names = [name for name in statement_names() if _runs_on(name, version)]
        refused = {name: _refusal(connection, name) for name in names}

    assert len(names) > 270
    assert {name: why for name, why in refused.items() if why} == {}


@pytest.mark.parametrize("line", LINES)
def test_a_corpus_is_read_and_deleted_by_indexes(servers: Servers, line: str) -> None:
    """No statement about one corpus looks at the nodes of the others."""
    with Connection.open(servers.settings(line)) as connection:
        _prepared(connection)
        names = [
            name
            for name in statement_names()
            if name.startswith(("corpus/", "ingest/"))
            and {"corpus", "name"} & set(statement_record(name).params)
            and _runs_on(name, connection.capabilities.version)
        ]
        scanning = [name for name in names if _scans(connection, name)]

    assert len(names) > 50
    assert scanning == []


def _scans(connection: Connection, name: str) -> bool:
    """Return whether the plan of a statement looks at every node of a label."""
    text = f"EXPLAIN\n{statement_record(name).text}"
    params = dict.fromkeys(statement_record(name).params)
    plans = [connection.driver.execute_query(text, params).summary.plan]
    for plan in plans:
        plans += plan.get("children", [])
    return any("Scan" in plan["operatorType"] for plan in plans)


def test_the_long_term_line_is_ingested_searched_and_walked(servers: Servers) -> None:
    """A corpus is stored there, searched, walked, and the walk is read back."""
    settings = servers.settings(LINES[1])
    with Connection.open(settings) as connection:
        _prepared(connection)

        report = ingest_corpus(
            connection,
            [ListSource([article(n) for n in range(8)])],
            corpus="isles",
            embedder=EMBEDDER,
            settings=settings,
            options=IngestOptions(themes="none"),
        )
        found = search(connection, QUESTION, embedder=EMBEDDER, corpus="isles").walk
        walked = traverse(connection, QUESTION, embedder=EMBEDDER, corpus="isles")
        rows = connection.query(
            statement("inspect/traversal_steps"),
            {"corpus": "isles", "traversal": walked.traversal_id},
        )

    assert report.added == 8
    assert found.steps == walked.walk.steps
    assert [row["text"] for row in rows] == [s.chunk.text for s in walked.walk.steps]
    assert len(rows) > 0

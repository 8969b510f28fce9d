"""Statements and the main path run on every Neo4j line, also in the first tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from neo4j.exceptions import Neo4jError

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.db.schema import apply_schema, delete_data
from knowtrail.graph.db.statements import statement, statement_names, statement_record
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval.search import search
from knowtrail.retrieval.traverse import traverse
from tests.conftest import LINES
from tests.corpora import ListSource, article
from tests.databases import allow_vectors, plan_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Servers

pytestmark = pytest.mark.integration

EMBEDDER = HashEmbedder(32)
QUESTION = "What shapes the glacier near the harbour?"
PLANNED_VALUES = {"options": {}}
"""Parameters that the server looks at while it plans."""
_NO_ROLES = "UnsupportedAdministrationCommand"


class Plans:
    """What the servers of the lines plan, with every index; each is asked once."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._made: dict[tuple[str, str], list[str] | Neo4jError] = {}

    def of(
        self, line: str, wanted: Callable[[str], bool]
    ) -> dict[str, list[str] | Neo4jError]:
        """Return the operators of each wanted statement, or why it has no plan."""
        with Connection.open(self._servers.settings(line)) as connection:
            _prepared(connection)
            version = connection.capabilities.version
            names = [n for n in statement_names() if wanted(n) and _runs_on(n, version)]
            for name in names:
                if (line, name) not in self._made:
                    self._made[line, name] = _plan(connection, name)
        return {name: self._made[line, name] for name in names}


@pytest.fixture(scope="module")
def plans(servers: Servers) -> Plans:
    """Return the plans of this module's tests."""
    return Plans(servers)


def _plan(connection: Connection, name: str) -> list[str] | Neo4jError:
    """Have the server plan a statement; return its operators, or the refusal."""
    record = statement_record(name)
    params = dict.fromkeys(record.params) | {
        key: value for key, value in PLANNED_VALUES.items() if key in record.params
    }
    try:
        steps = plan_steps(connection, f"EXPLAIN\n{record.text}", params)
    except Neo4jError as error:
        # Community has no roles, and says so of commands that it understands.
        roles = name.startswith("schema/reader_") and _NO_ROLES in (error.code or "")
        return [] if roles else error
    return [step["operatorType"] for step in steps]


def _runs_on(name: str, version: tuple[int, ...]) -> bool:
    """Return whether a statement says that it runs on a version."""
    since = tuple(int(part) for part in statement_record(name).since.split("."))
    return version >= since


def _prepared(connection: Connection) -> None:
    """Give a database every index, for vectors of 32 dimensions, and no data."""
    allow_vectors(connection)
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
def test_statements_are_understood(plans: Plans, line: str) -> None:
    """A line plans every statement that says it runs there, with every index."""
    found = plans.of(line, lambda _: True)

    assert len(found) > 270
    assert {name: str(e) for name, e in found.items() if isinstance(e, Exception)} == {}


@pytest.mark.parametrize("line", LINES)
def test_a_corpus_is_read_and_deleted_by_indexes(plans: Plans, line: str) -> None:
    """No statement about one corpus looks at the nodes of the others."""
    found = plans.of(
        line,
        lambda name: (
            name.startswith(("corpus/", "ingest/"))
            and bool({"corpus", "name"} & set(statement_record(name).params))
        ),
    )

    assert len(found) > 50
    scanning = {name for name, steps in found.items() if "Scan" in str(steps)}
    assert scanning | {n for n, e in found.items() if isinstance(e, Exception)} == set()


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

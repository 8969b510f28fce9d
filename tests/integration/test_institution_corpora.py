"""Corpora of institutions: asked for one at a time, and without texts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import UnknownCorpusError
from knowtrail.retrieval.corpora import afind_corpus
from knowtrail.retrieval.serve.backend import TemplateDoor
from knowtrail.retrieval.serve.request_values import Asked
from tests.command_line import CommandLine
from tests.heritage import write_custodians

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database

pytestmark = pytest.mark.integration

_OTHER = """
MATCH (c:Custodian {corpus: 'heritage', name: 'Stadsarchief Waterkant'})
MATCH (c)-[:INSTANCE_OF]->(o)
CREATE (:Custodian {
  id: 'other', corpus: 'other', name: 'Rope Archive', institutionType: 'A',
  city: c.city, countryCode: c.countryCode, className: c.className
})-[:INSTANCE_OF]->(o)
"""


@pytest.fixture
def stored(database: Database, session_connection: Connection) -> Connection:
    """Return a database with institutions of two corpora, and no texts."""

    def fill() -> None:
        write_custodians(session_connection)
        session_connection.run_schema(_OTHER)

    return database.holding("institutions of two corpora", fill)


def test_a_corpus_limits_answers_over_http(
    stored: Connection, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the institutions of the corpus are named, whatever was asked before."""
    assert stored is not None
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    door = TemplateDoor(replace(server, embedder="hash:32"))

    def answer(**given: Any) -> str:
        body = {"question": "Which archives are in Amsterdam?", **given}
        found = asyncio.run(door.answer(Asked(query={}, body=body), "somebody"))
        return str(found["answer"])

    try:
        everything, other = answer(), answer(corpus="other")
        heritage, again = answer(corpus="heritage"), answer()
        with pytest.raises(UnknownCorpusError, match="'nothing'"):
            answer(corpus="nothing")
    finally:
        door.close()

    assert "Rope Archive" in everything
    assert "Stadsarchief Waterkant" in everything
    assert ("Rope" in other, "Waterkant" in other) == (True, False)
    assert ("Rope" in heritage, "Waterkant" in heritage) == (False, True)
    assert again == everything


def test_a_corpus_without_texts_is_said_to_be_one(
    stored: Connection,
    server: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not said to be unknown; the message says what to do."""
    assert stored is not None
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    line = CommandLine(server, capsys, "hash:32")

    refused = [
        line.run("corpus", "show", "other"),
        line.run("corpus", "verify", "other"),
        line.run("ask", "--corpus", "other", "--route", "graph", "Who painted it?"),
        line.run("search", "--corpus", "other", "Who painted it?"),
        line.run("view", "graph", "--corpus", "other"),
    ]
    unknown = line.run("corpus", "show", "nothing")
    routed = line.run("ask", "--corpus", "other", "Who painted the Night Watch?")

    assert [run.code for run in refused] == [2] * 5
    assert [
        "Corpus 'other' has institutions but no texts" in run.errors[-1]
        and "ingest custodians FILE --corpus other" in run.errors[-1]
        for run in refused
    ] == [True] * 5
    assert "No corpus 'nothing'" in unknown.errors[-1]
    assert routed.code == 0
    assert "corpus 'other' has institutions and no texts" in routed.errors[0]


def test_the_message_is_the_same_without_blocking(
    stored: Connection, server: Settings
) -> None:
    """The asynchronous twin tells a corpus without texts from none."""
    from knowtrail.graph.db.connection import AsyncConnection

    assert stored is not None

    async def find(name: str) -> None:
        async with await AsyncConnection.open(server) as connection:
            await afind_corpus(connection, name)

    with pytest.raises(UnknownCorpusError, match="institutions but no texts"):
        asyncio.run(find("other"))
    with pytest.raises(UnknownCorpusError, match="no corpus"):
        asyncio.run(find("nothing"))

"""Extractions in the graph: stored whole, replaced alone, found by saved queries."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from knowtrail.graph.db.statements import statement, statement_names, statement_record
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.models.language_models import LanguageModel
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.extraction.batch import (
    ExtractionOptions,
    extract_sources,
    search_source,
    stored_sources,
)
from knowtrail.ingest.extraction.web import WebResult
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.verify import verify_corpus
from knowtrail.retrieval.ask import ask
from tests.corpora import ListSource, article

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.extraction.batch import ExtractionReport
    from knowtrail.ingest.extraction.stored_knowledge import ExtractionSource
    from tests.databases import Database

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

EMBEDDER = HashEmbedder(32)
QUERIES = [name for name in statement_names() if name.startswith("inspect/extraction_")]
BLOCK = """[SKN]
@src geology | fresh:low | reliability:0.4
@facts
  ! "{first}" [0.95]
  ~ "Nobody has said this anywhere" [0.3]
@causal
  Cold -> ice [0.9]
  ice -> glacier [0.8]
@gaps
  - the height of the summit
@risk misdirection:high | missing_context:medium
[/SKN]"""
JSON = {
    "entities": [
        {"name": "Ice", "type": "substance", "attributes": {"colour": "blue"}},
        {"name": "Glacier", "type": "landform", "attributes": {}},
    ],
    "relationships": [{"source": "Glacier", "relation": "is made of", "target": "ice"}],
    "claims": [{"statement": "Glaciers are made of ice", "category": "fact"}],
}


class Told(GenericFakeChatModel):
    """A chat model that answers as a function of the prompt says."""

    say: Any = None
    asked: list[str] = []  # noqa: RUF012 - Pydantic copies it

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        prompt = str(messages[-1].text)
        self.asked.append(prompt)
        yield ChatGenerationChunk(message=AIMessageChunk(content=self.say(prompt)))


def told(say: Callable[[str], str], name: str = "told") -> LanguageModel:
    """Return a model that answers as a function says."""
    return LanguageModel(
        Told(messages=iter([AIMessage("")]), say=say, asked=[]),
        name=name,
        prompt_tokens=3_584,
    )


def block_of(prompt: str) -> str:
    """Return a block that states the first sentence of the text in a prompt."""
    source = prompt.split("<source-")[-1].split(">\n", 1)[1]
    return BLOCK.format(first=source.split(". ")[0].rstrip(".\n") + ".")


@pytest.fixture
def stored(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a connection to a database with a corpus of four articles."""
    articles = [article(number) for number in range(4)]
    return database.holding(
        "articles to extract from",
        lambda: _ingest(session_connection, server, articles),
        small=True,
    )


def _ingest(connection: Connection, server: Settings, items: list[Any]) -> None:
    ingest_corpus(
        connection,
        [ListSource(items)],
        corpus="c",
        embedder=EMBEDDER,
        settings=server,
        options=IngestOptions(themes="none"),
        cleanup="full",
    )


def _extract(
    connection: Connection,
    say: Callable[[str], str] = block_of,
    *,
    sources: list[ExtractionSource] | None = None,
    name: str = "told",
    **options: Any,
) -> ExtractionReport:
    return extract_sources(
        connection,
        stored_sources(connection, "c") if sources is None else sources,
        corpus="c",
        model=told(say, name),
        embedder=EMBEDDER,
        options=ExtractionOptions(**options),
    )


def _count(connection: Connection, pattern: str) -> int:
    (row,) = connection.query(f"MATCH {pattern} RETURN count(*) AS n")
    return int(row["n"])


def _sound(connection: Connection) -> bool:
    found = [finding for finding in verify_corpus(connection, "c") if finding.count]
    assert found == []
    return True


def test_block_becomes_nodes(stored: Connection) -> None:
    """Every part of a block is where the model of the graph says."""
    report = _extract(stored)

    assert (report.sources, report.ok, report.failed, report.facts) == (4, 4, 0, 8)
    assert report.supported == 4
    (row,) = stored.query(
        """
        MATCH (x:Extraction)-[:EXTRACTED_FROM]->(d:Document)
        WITH x, d ORDER BY d.title LIMIT 1
        MATCH (x)-[:STATES]->(f:Fact) WHERE f.index = 0
        MATCH (f)-[s:SUPPORTED_BY]->(n:Sentence {index: 0})
        MATCH (x)-[:LACKS]->(g:Gap)
        MATCH (x)-[:IDENTIFIES]->(:Concept {name: 'Cold'})
          -[r:CAUSES {extraction: x.id}]->(:Concept {name: 'ice'})
        RETURN x {.*} AS x, f {.*} AS f, s.score AS score, g.text AS gap,
          r.strength AS strength, f.text = n.text AS same
        """
    )
    assert row["x"]["status"] == "ok"
    assert (row["x"]["domain"], row["x"]["reliability"]) == ("geology", 0.4)
    assert (row["x"]["misdirection"], row["x"]["missingContext"]) == ("high", "medium")
    assert (row["f"]["priority"], row["f"]["confidence"]) == ("critical", 0.95)
    assert row["same"]
    assert row["score"] >= 0.6
    assert (row["gap"], row["strength"]) == ("the height of the summit", 0.9)
    assert _count(stored, "(:Concept)") == 3
    assert _sound(stored)


def test_json_becomes_nodes(stored: Connection) -> None:
    """Entities are shared by their normalised names; claims are facts."""
    report = _extract(stored, lambda _: json.dumps(JSON), variant="json")

    assert report.ok == 4
    assert _count(stored, "(:Entity)") == 2
    assert _count(stored, "(:Entity)-[:RELATES {relation: 'is made of'}]->()") == 4
    (row,) = stored.query(
        "MATCH (:Extraction)-[n:IDENTIFIES]->(e:Entity {name: 'Ice'}) "
        "RETURN DISTINCT n.attributes AS said, e.type AS type"
    )
    assert row == {"said": '{"colour": "blue"}', "type": "substance"}
    assert _count(stored, "(:Fact {category: 'fact'})") == 4
    assert _sound(stored)


def test_second_run_asks_and_writes_nothing(stored: Connection) -> None:
    """What is done with the same prompt, model and content is skipped."""
    _extract(stored)
    asked: list[str] = []

    def say(prompt: str) -> str:
        asked.append(prompt)
        return ""

    report = _extract(stored, say)

    assert (report.skipped, report.ok + report.failed, asked) == (4, 0, [])


def test_another_question_or_model_is_another_extraction(stored: Connection) -> None:
    """A question replaces, a model stands beside, what was extracted before."""
    _extract(stored)

    asked = _extract(stored, question="What is high?")
    other = _extract(stored, name="other")

    assert (asked.ok, other.ok) == (4, 4)
    assert _count(stored, "(:Extraction {question: 'What is high?'})") == 4
    assert _count(stored, "(:Extraction)") == 8
    assert _sound(stored)


def test_extraction_again_replaces_its_own_nodes_alone(stored: Connection) -> None:
    """Shared concepts stay while one extraction names them, and go with the last."""
    sources = stored_sources(stored, "c")
    _extract(stored)
    new = '[SKN]\n@src a | fresh:low | reliability:1\n@facts\n! "New" [1]\n'
    new += "@causal\nCOLD -> snow [1]\n@risk misdirection:low | missing_context:low\n"

    _extract(stored, lambda _: f"{new}[/SKN]", sources=sources[:1], question="again")

    names = stored.query("MATCH (c:Concept) RETURN c.name AS name ORDER BY name")
    assert [row["name"] for row in names] == ["Cold", "glacier", "ice", "snow"]
    assert _count(stored, "(:Concept)-[:CAUSES]->(:Concept {name: 'ice'})") == 3
    assert _count(stored, "(:Gap)") == 3
    assert _sound(stored)
    _extract(stored, lambda _: f"{new}[/SKN]", sources=sources, question="all")
    names = stored.query("MATCH (c:Concept) RETURN c.name AS name ORDER BY name")
    assert [row["name"] for row in names] == ["Cold", "snow"]
    assert _sound(stored)


def test_failed_extraction_is_kept_with_its_answer(stored: Connection) -> None:
    """It is not asked for again unless that is wanted."""
    sources = stored_sources(stored, "c")[:1]
    first = _extract(stored, lambda _: "I'd rather not", sources=sources)

    again = _extract(stored, sources=sources)
    wanted = _extract(stored, sources=sources, retry_failed=True)

    assert (first.failed, again.skipped, wanted.ok) == (1, 1, 1)
    assert first.failures[0][0] == sources[0].title
    assert _sound(stored)


def test_failed_extraction_replaces_no_good_one(stored: Connection) -> None:
    """With another question, a model that answers nonsense leaves what there was."""
    sources = stored_sources(stored, "c")[:2]
    _extract(stored, sources=sources)
    before = stored.query("MATCH (f:Fact) RETURN f.id AS id ORDER BY id")

    failed = _extract(stored, lambda _: "no", sources=sources, question="Why?")
    gone = _extract(stored, sources=sources[:1], question="How?")

    assert (failed.failed, failed.kept, failed.facts) == (2, 2, 0)
    assert (gone.ok, gone.kept) == (1, 0)
    assert stored.query("MATCH (f:Fact) RETURN f.id AS id ORDER BY id") == before
    assert _count(stored, "(:Extraction {status: 'ok', question: 'How?'})") == 1
    assert _count(stored, "(:Extraction {status: 'failed'})") == 0
    assert _sound(stored)


def test_model_that_is_gone_leaves_what_there_was(stored: Connection) -> None:
    """A server that is away while a new question is asked costs nothing."""
    sources = stored_sources(stored, "c")[:2]
    _extract(stored, sources=sources)

    def say(prompt: str) -> str:
        raise RuntimeError(prompt[:9])

    with pytest.raises(ModelError):
        _extract(stored, say, sources=sources, question="Why?")

    assert _count(stored, "(:Extraction {status: 'ok'})-[:STATES]->(:Fact)") == 4
    assert _sound(stored)


@pytest.mark.thorough
def test_long_document_is_read_to_its_end(stored: Connection, server: Settings) -> None:
    """Facts of its last passage are supported by sentences of the whole document."""
    text = " ".join(f"Glacier number {n} ends in the sea." for n in range(900))
    long = replace(article(9), raw=text)
    _ingest(stored, server, [article(number) for number in range(4)] + [long])
    (source,) = stored_sources(stored, "c", only=[long.title])

    def say(prompt: str) -> str:
        return block_of(prompt).replace("Nobody", f"Nobody in {len(prompt)}")

    report = _extract(stored, say, sources=[source])

    (row,) = stored.query(
        "MATCH (x:Extraction {sourceId: $id}) RETURN x.readCharacters AS read, "
        "x.sourceCharacters AS characters, x.passages AS passages, x.status AS status",
        {"id": source.id},
    )
    assert (row["status"], row["read"]) == ("ok", row["characters"])
    assert report.passages == row["passages"] > 3
    rows = stored.query(
        "MATCH (f:Fact)-[:SUPPORTED_BY {rank: 1}]->(s:Sentence) "
        "WHERE f.priority = 'critical' RETURN f.text = s.text AS same, s.index AS at"
    )
    assert len(rows) == row["passages"]
    assert all(one["same"] for one in rows)
    assert max(one["at"] for one in rows) > 600
    assert _sound(stored)


def test_answer_that_was_cut_is_asked_for_again_with_more_tokens(
    stored: Connection,
) -> None:
    """What the limit cut off would otherwise never come; whole answers stay."""
    sources = stored_sources(stored, "c")[:2]
    _extract(stored, sources=sources[:1], tokens=100)
    cut = _extract(
        stored,
        lambda prompt: block_of(prompt).split("@gaps")[0],
        sources=sources,
        tokens=100,
    )

    same = _extract(stored, sources=sources, tokens=100)
    more = _extract(stored, sources=sources, tokens=200)

    assert (cut.repaired, same.skipped) == (1, 2)
    assert (more.skipped, more.ok) == (1, 1)
    assert _count(stored, "(:Extraction {answerTokens: 200})-[:LACKS]->(:Gap)") == 1
    assert _sound(stored)


def test_server_that_fails_in_the_middle_loses_nothing(stored: Connection) -> None:
    """What was done before is stored; the next run does the rest."""
    calls: list[str] = []

    def say(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) > 2:
            msg = "the server went away"
            raise RuntimeError(msg)
        return block_of(prompt)

    with pytest.raises(ModelError, match=r"the server went away.* 2 are stored"):
        _extract(stored, say)

    assert _count(stored, "(:Extraction {status: 'ok'})") == 2
    report = _extract(stored)
    assert (report.skipped, report.ok) == (2, 2)


def test_texts_are_read_at_once(stored: Connection) -> None:
    """As many as asked for wait for the model side by side."""
    together = threading.Barrier(4, timeout=20)

    def say(prompt: str) -> str:
        together.wait()
        return block_of(prompt)

    report = _extract(stored, say, concurrency=4)

    assert (report.ok, report.seconds > 0) == (4, True)


def test_chunks_and_their_documents_are_sources(stored: Connection) -> None:
    """Facts of a chunk are supported by sentences of its document."""
    sources = stored_sources(stored, "c", unit="chunk", only=[article(1).title])

    report = _extract(stored, sources=sources)

    assert report.ok == len(sources) > 1
    assert _count(stored, "(:Extraction)-[:EXTRACTED_FROM]->(:Chunk)") == len(sources)
    assert report.supported == len(sources)
    assert _sound(stored)


def test_unknown_document_is_refused_with_a_near_title(stored: Connection) -> None:
    """A typing error says which title is meant."""
    with pytest.raises(InputError, match=f"did you mean '{article(1).title}'"):
        stored_sources(stored, "c", only=[article(1).title.lower()])


def test_web_results_are_sources(stored: Connection) -> None:
    """All results of a search are one text, and a node each."""
    results = [
        WebResult(title=f"Page {n}", url=f"https://x.example/{n}", content="Ice. Cold.")
        for n in range(3)
    ]
    source = search_source("what is ice", results, corpus="c")

    report = _extract(stored, lambda _: BLOCK.format(first="Ice."), sources=[source])

    assert (report.ok, report.supported) == (1, 0)
    rows = stored.query(
        "MATCH (:Extraction)-[:EXTRACTED_FROM]->(n:SearchResult) "
        "RETURN n.title AS title, n.query AS query, n.rank AS rank ORDER BY rank"
    )
    assert [row["title"] for row in rows] == ["Page 0", "Page 1", "Page 2"]
    assert {row["query"] for row in rows} == {"what is ice"}
    assert _sound(stored)
    _extract(stored, sources=[search_source("what is ice", results[:1], corpus="c")])
    assert _count(stored, "(:SearchResult)") == 1
    assert _sound(stored)


@pytest.mark.thorough
def test_replaced_and_deleted_documents_take_their_extractions_along(
    stored: Connection, server: Settings
) -> None:
    """No knowledge stays whose source is gone or has changed."""
    _extract(stored)
    _extract(stored, sources=stored_sources(stored, "c", unit="chunk"))

    _ingest(stored, server, [article(0), article(1, version=1), article(2)])

    titles = stored.query(
        "MATCH (x:Extraction)-[:EXTRACTED_FROM]->(d:Document) RETURN d.title AS t"
    )
    assert {row["t"] for row in titles} == {article(0).title, article(2).title}
    assert _sound(stored)
    assert _extract(stored).ok == 1


def test_deleted_corpus_leaves_no_knowledge(stored: Connection) -> None:
    """All that was extracted goes with its corpus."""
    _extract(stored)
    _extract(stored, lambda _: json.dumps(JSON), variant="json")

    delete_corpus(stored, "c")

    labels = "Extraction|Fact|Gap|Concept|Entity|SearchResult"
    assert _count(stored, f"(:{labels})") == 0


@pytest.mark.thorough
def test_saved_queries_find_what_was_extracted(stored: Connection) -> None:
    """Each finds rows in a corpus with every kind of extraction, none in another."""
    sources = stored_sources(stored, "c")
    _extract(stored, sources=sources[:3])
    _extract(stored, lambda _: "no", sources=sources[3:])
    turned = BLOCK.format(first="It is so.").replace("Cold -> ice", "ice \u2192 Cold")
    _extract(stored, lambda _: turned, sources=sources[:1], variant="skn_no_gaps")

    found, elsewhere = (
        {
            name: bool(stored.query(query.text, dict.fromkeys(query.params) | more))
            for name in QUERIES
            for query in [statement_record(name)]
        }
        for more in ({}, {"corpus": "other"})
    )

    assert found == dict.fromkeys(QUERIES, True)
    assert elsewhere == dict.fromkeys(QUERIES, False)


def test_strongest_chain_is_first(stored: Connection) -> None:
    """Chains are ordered by the product of their strengths."""
    _extract(stored)

    rows = stored.query(
        statement("inspect/extraction_causal_chains"),
        {"corpus": "c", "concept": None, "links": None, "limit": None},
    )

    assert [(row["chain"], row["links"], row["strength"]) for row in rows] == [
        ("Cold -> ice", 1, 0.9),
        ("ice -> glacier", 1, 0.8),
        ("Cold -> ice -> glacier", 2, 0.72),
    ]
    assert len(rows[0]["sources"]) == 4


def test_answer_rests_on_blocks(stored: Connection, server: Settings) -> None:
    """`context="skn"` puts blocks into the prompt, and cites their documents."""
    _extract(stored)
    said = json.dumps({"answer": "Cold.", "citations": [1], "confidence": 0.5})
    asked: list[str] = []

    def say(prompt: str) -> str:
        asked.append(prompt)
        return said

    answer = ask(
        stored,
        "What shapes the glacier?",
        embedder=EMBEDDER,
        model=told(say),
        context="skn",
        settings=server,
    )

    assert "[1] " in asked[0]
    assert "[SKN]\n@src geology" in asked[0]
    assert "numbered SKN-blocks" in asked[0]
    assert answer.text == "Cold."
    first = answer.walk.steps[0].chunk.document_id
    documents = {
        s.id: step.chunk.document_id
        for step in answer.walk.steps
        for s in step.sentences
    }
    assert answer.citations
    assert {documents[s.id] for s in answer.citations} == {first}


def test_answer_says_where_there_are_no_blocks(
    stored: Connection, server: Settings
) -> None:
    """Without extractions the answer rests on sentences, and says so."""
    said = json.dumps({"answer": "Cold.", "citations": [1], "confidence": 0.5})

    answer = ask(
        stored,
        "What shapes the glacier?",
        embedder=EMBEDDER,
        model=told(lambda _: said),
        context="skn",
        settings=server,
    )

    assert answer.citations == answer.walk.sentences[:1]
    assert answer.note.startswith("No SKN is stored for the")
    assert "knowtrail extract --corpus c --variant skn" in answer.note

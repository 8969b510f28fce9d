"""What an ingest and an answer tell OpenTelemetry, over a real database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from knowtrail.graph import telemetry
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.models.language_models import LanguageModel
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval import KnowtrailVectorStore
from knowtrail.retrieval.ask import ask
from tests.corpora import ListSource

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

LINE = "Looms weave wool by night."
ANSWER = json.dumps({"answer": "They weave wool.", "citations": [1], "confidence": 1})


def test_spans_of_an_ingest_and_an_answer_have_no_texts(
    connection: Connection, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stage is told to OpenTelemetry, an answer in its order, by names alone."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(telemetry, "_TRACER", provider.get_tracer("knowtrail"))
    document = RawDocument(source_id="1", title="Looms", raw=LINE)

    report = ingest_corpus(
        connection,
        [ListSource([document])],
        corpus="spans",
        embedder=HashEmbedder(32),
        settings=server,
        options=IngestOptions(themes="none"),
    )
    ingested = kept.get_finished_spans()
    kept.clear()
    ask(
        connection,
        LINE,
        corpus="spans",
        embedder=HashEmbedder(32),
        model=LanguageModel(FakeListChatModel(responses=[ANSWER])),
    )
    answered = kept.get_finished_spans()

    kept.clear()
    store = KnowtrailVectorStore(
        corpus="spans",
        embedder=HashEmbedder(32),
        connection=connection,
        settings=server,
    )
    store.similarity_search(LINE, k=1, filter={"document.title": "Looms"})
    searched = kept.get_finished_spans()

    assert [each.name for each in searched] == ["knowtrail.embed", "knowtrail.walk"]
    assert dict(searched[1].attributes or {}) == {
        "knowtrail.algorithm": "store",
        "knowtrail.corpus": "spans",
        "knowtrail.reader": "cypher",
        "knowtrail.filtered": True,
    }
    stages = sorted(each.name for each in ingested)
    assert stages == sorted(f"knowtrail.ingest.{s}" for s in report.seconds)
    assert [each.name for each in answered] == [
        *("knowtrail.embed", "knowtrail.walk", "knowtrail.model")
    ]
    for each in (*ingested, *answered, *searched):
        assert not each.events
        assert LINE not in each.to_json()
        assert "weave" not in each.to_json()

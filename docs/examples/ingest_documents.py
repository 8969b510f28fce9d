"""Put LangChain Documents into a corpus of their own and ask it."""

from __future__ import annotations

from langchain_core.documents import Document

from knowtrail.graph.models.embedders import load_embedder
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.sources.langchain import LangChainSource
from knowtrail.retrieval.search import search

DOCUMENTS = [
    Document(
        id="lighthouse",
        page_content="The lighthouse stands on the point. Mara keeps it alone. "
        "She lights the lamp an hour before dusk.",
        metadata={"title": "Lighthouse", "year": 1911},
    ),
    Document(
        id="ferry",
        page_content="The ferry crosses twice a day. In fog it waits. "
        "Its captain steers by the lamp of the lighthouse.",
        metadata={"title": "Ferry", "year": 1936},
    ),
]

settings = Settings.from_env()
embedder = load_embedder(settings.embedder, settings=settings)
with open_connection(settings) as connection:
    report = ingest_corpus(
        connection,
        [LangChainSource(DOCUMENTS)],
        corpus="harbour",
        embedder=embedder,
        settings=settings,
    )
    print(f"{report.added} added, {report.skipped} already there")
    result = search(
        connection, "Who lights the lamp?", embedder=embedder, corpus="harbour"
    )
    for hit in result.hits:
        print(f"{hit.chunk.title}: {hit.text} ({hit.score:.2f})")

"""Walk for a question with every algorithm, keep the walks, ask them with Cypher."""

from __future__ import annotations

from graph.cli_session import open_connection
from graph.embedders import load_embedder
from graph.settings import Settings
from graph.statements import statement
from ingest.bundled import bundled_source
from ingest.pipeline import ingest_corpus
from retrieval import KnowtrailRetriever
from retrieval.traverse import compare, overlaps, traverse

QUESTION = "How did sailors find their longitude at sea?"
CORPUS = "quickstart"

settings = Settings.from_env()
embedder = load_embedder(settings.embedder, settings=settings)
with open_connection(settings) as connection, bundled_source() as source:
    ingest_corpus(
        connection, [source], corpus=CORPUS, embedder=embedder, settings=settings
    )

    walks = compare(connection, embedder, QUESTION, corpus=CORPUS, settings=settings)
    for result in walks:
        walk = result.walk
        print(f"{walk.algorithm}: {len(walk.sentences)} sentences, {walk.stop_reason}")
    alike = max(overlaps(walks), key=lambda overlap: overlap.share)
    print(f"Most alike: {alike.left} and {alike.right}, {alike.share:.0%}")

    traced = traverse(
        connection,
        embedder,
        QUESTION,
        corpus=CORPUS,
        algorithm="kg_traversal",
        anchors=2,
        lookahead=1,
        trace=True,
        settings=settings,
    )
    for name in ("traversal_steps", "traversal_candidates"):
        query = statement(f"inspect/{name}")
        params = {"corpus": CORPUS, "traversal": traced.traversal_id, "limit": 20}
        for row in connection.query(query, params)[:3]:
            print(f"{name}: {row['title']} {row['score']}: {row['text'][:60]}")

    retriever = KnowtrailRetriever(
        connection=connection, embedder=embedder, corpus=CORPUS
    )
    for algorithm in ("query_traversal", "triangulation_fulldim"):
        for document in retriever.invoke(QUESTION, algorithm=algorithm, k=2):
            print(f"{algorithm}: {document.page_content[:60]}")

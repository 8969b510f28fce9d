"""Walk with every algorithm, keep the walks, ask and draw them, call them by Cypher."""

from __future__ import annotations

from pathlib import Path

from knowtrail.graph.db.statements import statement
from knowtrail.graph.files import write_file
from knowtrail.graph.models.embedders import load_embedder
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.ingest.bundled import bundled_source
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval import KnowtrailRetriever
from knowtrail.retrieval.algorithms import DETERMINISTIC
from knowtrail.retrieval.traverse import compare, overlaps
from knowtrail.retrieval.views.matrix import path_of
from knowtrail.retrieval.views.walks import read_walk

QUESTION = "How did sailors find their longitude at sea?"
CORPUS = "quickstart"
CALL = "CALL knowtrail.traverse('kg_traversal', $question, {corpus: $corpus})"

settings = Settings.from_env()
embedder = load_embedder(settings.embedder, settings=settings)
with open_connection(settings) as connection, bundled_source() as source:
    ingest_corpus(
        connection, [source], corpus=CORPUS, embedder=embedder, settings=settings
    )

    walks = compare(connection, QUESTION, corpus=CORPUS, trace=True, settings=settings)
    for result in walks:
        walk = result.walk
        print(f"{walk.algorithm}: {len(walk.sentences)} sentences, {walk.stop_reason}")
    alike = max(overlaps(walks), key=lambda overlap: overlap.share)
    print(f"Most alike: {alike.left} and {alike.right}, {alike.share:.0%}")

    stored = walks[1].traversal_id or ""
    for name in ("traversal_steps", "traversal_candidates"):
        params = {"corpus": CORPUS, "traversal": stored, "limit": 20}
        for row in connection.query(statement(f"inspect/{name}"), params)[:3]:
            print(f"{name}: {row['title']} {row['score']}: {row['text'][:60]}")

    walk = read_walk(connection, stored).walk
    picture = path_of(connection, walk, layout="global", suffix=".html")
    write_file(Path("walk.html"), picture)
    print("Drawn: walk.html")

    retriever = KnowtrailRetriever(connection=connection, embedder=embedder)
    for algorithm in DETERMINISTIC:
        found = retriever.invoke(QUESTION, algorithm=algorithm, corpus=CORPUS, k=1)
        print(f"{algorithm}: {' '.join(found[0].page_content[:60].split())}")

    # In the managed server a walk can be called from Cypher, in any language.
    params = {"question": QUESTION, "corpus": CORPUS}
    for row in connection.query(f"{CALL} YIELD title, text, score", params)[:3]:
        print(f"CALL: {row['title']} {row['score']:.3f}: {row['text']}")

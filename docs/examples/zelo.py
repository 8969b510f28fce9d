"""Judge candidates in pairs, benchmark rerankers by the scores, ask why one won."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from knowtrail.eval.zelo.annotation import annotate
from knowtrail.eval.zelo.corpus import bundled_questions, candidates, store_annotation
from knowtrail.eval.zelo.inspection import inspected
from knowtrail.eval.zelo.judges import load_judges
from knowtrail.eval.zelo.metrics import benchmark_files
from knowtrail.eval.zelo.pages import battles_picture
from knowtrail.eval.zelo.scored_pairs import read_judged
from knowtrail.graph.db.statements import statement
from knowtrail.graph.files import write_file
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.ingest.bundled import bundled_source
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval.corpora import loaded_embedder
from knowtrail.retrieval.rerank import load_reranker
from knowtrail.retrieval.rerank.datasets import write_queries

CORPUS = "quickstart"
FOLDER = Path("zelo-example")
FOLDER.mkdir(exist_ok=True)
queries, truth = FOLDER / "queries.jsonl", FOLDER / "annotated.jsonl"

settings = Settings.from_env()
model = loaded_embedder(settings.embedder, settings)
with open_connection(settings) as connection, bundled_source() as source:
    ingest_corpus(
        connection, [source], corpus=CORPUS, embedder=model, settings=settings
    )
    asked = islice(bundled_questions(), 5)
    ways = ("basic_retrieval", "query_traversal")
    found = candidates(connection, asked, corpus=CORPUS, algorithms=ways, count=8)
    print(f"{write_queries(queries, found)} queries exported")

    # These judges need no network; ollama:MODEL, openai ... give reasons in words.
    judges = load_judges(("embedding", "bm25"), settings=settings)
    done = annotate(queries, truth, judges=judges)
    print(f"{done.pairs} pairs judged, {done.scored} documents scored")

    rankings = [FOLDER / "bm25.jsonl", FOLDER / "embedding.jsonl"]
    for path in rankings:
        load_reranker(path.stem, settings=settings).annotate_sync(queries, path)
    for one in benchmark_files(truth, rankings):
        print({name: round(mean.value, 3) for name, mean in one.means.items() if mean})

    picture = battles_picture(inspected(read_judged(truth)[0]), ".svg")
    write_file(FOLDER / "battles.svg", picture)
    print(store_annotation(connection, truth, corpus=CORPUS))
    params = dict.fromkeys(("question", "winner", "loser"))
    why = statement("inspect/zelo_battles")
    for row in connection.query(why, params | {"corpus": CORPUS, "limit": 4}):
        print(f"{row['chunk']} against {row['against']}: {row['reasoning']}")

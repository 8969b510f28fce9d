"""Judge candidates in pairs, benchmark rerankers by the scores, ask why one won."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from eval.zelo.annotation import annotate
from eval.zelo.candidates import bundled_questions, candidates
from eval.zelo.comparison import benchmark_files
from eval.zelo.inspection import inspected
from eval.zelo.judged import read_judged
from eval.zelo.judges import load_judges
from eval.zelo.pictures import battles_picture
from eval.zelo.storing import store_annotation
from graph.cli_session import open_connection
from graph.settings import Settings
from graph.statements import statement
from ingest.bundled import bundled_source
from ingest.pipeline import ingest_corpus
from retrieval.corpora import loaded_embedder
from retrieval.rerank import load_reranker
from retrieval.rerank.datasets import write_queries
from retrieval.views.files import write_file

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

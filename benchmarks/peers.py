"""What others find on MuSiQue, beside our systems: same passages, vectors and run.

The peers are langchain-neo4j's hybrid search and neo4j-graphrag's HybridRetriever, over
our vectors and a full-text index with stems, and langchain-graph-retriever with its
eager and MMR strategies, over an in-memory store of the same vectors with edges from a
passage to those whose titles it mentions, and back. Each has the settings with the best
R@5 over these very questions, of what `SETTINGS` says was tried, which favours the
peers. A passage is one chunk, "title newline text"; the embedder is all-MiniLM-L6-v2
unless named.
"""

from __future__ import annotations

import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from measure import Server, Table, served, warmed

from knowtrail.eval.datasets import load_dataset
from knowtrail.eval.retrieval.bench import open_bench
from knowtrail.eval.retrieval.dataset import RankedDocument, Ranking, Unit
from knowtrail.eval.retrieval.evaluation import differences, run_systems, summarise
from knowtrail.eval.retrieval.systems import system_names, systems_of
from knowtrail.eval.store import code_version
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.db.connection import Connection
from knowtrail.graph.models.embedders import load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER, Settings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from knowtrail.eval.retrieval.bench import Bench
    from knowtrail.eval.retrieval.dataset import RetrievalQuestion, System
    from knowtrail.eval.retrieval.evaluation import SystemResult
    from knowtrail.eval.statistics import Difference, Interval

FOLDER = Path(__file__).resolve().parents[2] / "shared/data/musique"
OURS = ("dense", "bm25", "rrf", "auto")
KS = (2, 5)
LEVEL = 0.05
WORDS = "peers_text"
ENGLISH = f"""
CREATE FULLTEXT INDEX {WORDS} IF NOT EXISTS FOR (c:Chunk) ON EACH [c.text, c.peers]
OPTIONS {{indexConfig: {{`fulltext.analyzer`: 'english'}}}}
"""
"""An index with stems; no chunk has `peers`, which tells it from our own."""

MEASURES = ("recall@2", "recall@5", "all_recall@5")
SETTINGS = (
    (
        "langchain-neo4j hybrid",
        "full-text index with the analyzer `english` (62.4 with the usual one); "
        "effective_search_ratio 2 and 10, and k from 5 to 50, find the same",
    ),
    (
        "neo4j-graphrag hybrid",
        "the same index, ranker naive, the question without signs of Lucene's (less "
        "with them); effective_search_ratio 10 and top_k 20 find the same, ranker "
        "linear less with each alpha from .1 to .9 and top_k from 5 to 100",
    ),
    (
        "graph-retriever eager",
        "defaults: start_k 4, adjacent_k 10, any depth; best of start_k 1 to 5, "
        "adjacent_k 1, 3 and 10, max_depth 1, 2 and none",
    ),
    ("graph-retriever MMR", "defaults: lambda_mult .5, start_k 4, adjacent_k 10"),
    (
        "graph-retriever MMR .8",
        "lambda_mult .8, max_depth 2: best of .5 to .95 with start_k 4, 10, 20 and 50",
    ),
)
"""Peer -> its settings, and which others were tried on the same questions."""

MENTIONS = """
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
RETURN d.id AS document, c.id AS id, c.text AS text, c.embedding AS vector,
  COLLECT { MATCH (c)-[:MENTIONS]->(o:Document) RETURN DISTINCT o.id ORDER BY o.id }
    AS mentions
ORDER BY document, id
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--questions", type=int, help="questions (default 100)")
    parser.add_argument("--home", type=Path, help="keep server and corpus there")
    parser.add_argument("--embedder", default=DEFAULT_EMBEDDER)


def run(given: argparse.Namespace) -> None:
    """Measure all systems on the same questions, and print."""
    if not FOLDER.is_dir():
        print(f"\npeers needs {FOLDER}: left out.")
        return
    warnings.simplefilter("ignore", DeprecationWarning)
    names = ("musique_train.json", "musique_train_corpus.json")
    dataset = load_dataset("musique", [FOLDER / name for name in names])
    count = given.questions or (5 if given.small else len(dataset.questions))
    with _server(given.home) as server, progress_bars() as progress:
        bench = open_bench(
            dataset,
            server.connection,
            warmed(load_embedder(given.embedder)),
            settings=server.settings,
            unit=Unit(name="passage", title=True),
            record=False,
            progress=progress,
        )
        _need_alone(bench)
        bench.connection.driver.execute_query(
            ENGLISH, database_=bench.connection.database
        )
        bench.connection.query("CALL db.awaitIndexes(300)")
        ours = [name for name in OURS if name in system_names(llm=False)]
        peers = [Neo4jHybrid(), GraphragHybrid(), Eagerly(), ByMmr(), ByNearMmr()]
        systems: list[System] = [*systems_of(",".join(ours)), *peers]
        _shorten(bench, count)
        results = run_systems(bench, systems, ks=KS, progress=progress)
        _print(results, bench, server, given.embedder)
        for peer in peers[:1]:
            peer.close()


def _need_alone(bench: Bench) -> None:
    """Fail where the server holds other chunks: peers search them all.

    Raises:
        SystemExit: If it does.
    """
    (row,) = bench.connection.query("MATCH (c:Chunk) RETURN count(c) AS chunks")
    if row["chunks"] != len(bench.chunks):
        msg = (
            f"The server holds {row['chunks']} chunks, the corpus {len(bench.chunks)}: "
            "give another --home, as the peers would find the others too."
        )
        raise SystemExit(msg)


@contextmanager
def _server(home: Path | None) -> Iterator[Server]:
    """Yield a server: that of a folder which is kept, or one for this run."""
    if home is None:
        with served() as server:
            yield server
        return
    from knowtrail.graph.server.lease import join_server

    home.mkdir(parents=True, exist_ok=True)
    with join_server(home) as lease:
        info = lease.info
        settings = Settings.from_env(env={}, home=home).with_server(
            uri=info.uri, username=info.username, password=info.password
        )
        with Connection.open(settings) as connection:
            yield Server(connection, settings, info.pid)


def _shorten(bench: Bench, count: int) -> None:
    """Keep the first questions only; the corpus stays whole."""
    from dataclasses import replace

    shorter = replace(bench.dataset, questions=bench.dataset.questions[:count])
    object.__setattr__(bench, "dataset", shorter)


class Given(Embeddings):
    """The vectors that the corpus has already, and those of questions."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.passages: dict[str, list[float]] = {}

    def embed_query(self, text: str) -> list[float]:
        """Return a question's vector, embedded before the clock starts."""
        return [float(x) for x in self._bench.vector(text)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the stored vectors of passages."""
        return [self.passages[text] for text in texts]


class Peer:
    """A retriever of someone else's, which gives documents of the graph by id."""

    name = ""

    def prepare(self, bench: Bench) -> None:
        """Open the retriever."""
        self._bench = bench
        self._given = Given(bench)
        self.open()

    def open(self) -> None:
        """Make the retriever."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what was opened."""

    def found(self, question: str, k: int) -> list[tuple[str, float]]:
        """Return ids of documents or chunks of the graph with scores, best first."""
        raise NotImplementedError

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Rank passages for a question."""
        self._bench.vector(question.text)
        begin = time.perf_counter()
        found = self.found(question.text, k)
        seconds = time.perf_counter() - begin
        best: dict[str, float] = {}
        for key, score in found:
            chunk = self._bench.chunks.get(key)
            passage = self._bench.passages[key] if chunk is None else chunk.document
            best.setdefault(passage, score)
        documents = [RankedDocument(id=key, score=s) for key, s in best.items()][:k]
        return Ranking(documents=tuple(documents), milliseconds=1000 * seconds)


class Neo4jHybrid(Peer):
    """langchain-neo4j's hybrid search: vector and full-text index, best scores."""

    name = "langchain-neo4j hybrid"

    def open(self) -> None:
        """Open our indexes."""
        from langchain_neo4j import Neo4jVector
        from langchain_neo4j.vectorstores.neo4j_vector import SearchType

        settings = self._bench.settings
        self._store = Neo4jVector.from_existing_index(
            self._given,
            index_name="chunk_embedding",
            keyword_index_name=WORDS,
            search_type=SearchType.HYBRID,
            url=settings.uri,
            username=settings.username,
            password=settings.password,
            node_label="Chunk",
            text_node_property="text",
            embedding_node_property="embedding",
            retrieval_query=(
                "RETURN node.text AS text, score, {key: node.id} AS metadata"
            ),
        )

    def close(self) -> None:
        """Close its driver."""
        self._store._driver.close()

    def found(self, question: str, k: int) -> list[tuple[str, float]]:
        """Return its k best."""
        pairs = self._store.similarity_search_with_score(question, k=k)
        return [(document.metadata["key"], score) for document, score in pairs]


class GraphragHybrid(Peer):
    """neo4j-graphrag's HybridRetriever with its default ranker."""

    name = "neo4j-graphrag hybrid"

    def open(self) -> None:
        """Open our indexes."""
        from neo4j_graphrag.retrievers import HybridRetriever
        from neo4j_graphrag.types import RetrieverResultItem

        def item(record: Any) -> RetrieverResultItem:
            node = record["node"]
            return RetrieverResultItem(
                content=node["id"], metadata={"score": record["score"]}
            )

        connection = self._bench.connection
        self._retriever = HybridRetriever(
            connection.driver,
            "chunk_embedding",
            WORDS,
            embedder=self._given,
            return_properties=["id"],
            result_formatter=item,
            neo4j_database=connection.database,
        )

    def found(self, question: str, k: int) -> list[tuple[str, float]]:
        """Return its k best; signs of Lucene's query language are left out."""
        from langchain_neo4j.vectorstores.neo4j_vector import remove_lucene_chars

        found = self._retriever.search(
            query_text=remove_lucene_chars(question),
            query_vector=self._given.embed_query(question),
            top_k=k,
        )
        return [(one.content, (one.metadata or {})["score"]) for one in found.items]


class Walked(Peer):
    """langchain-graph-retriever over title and mention edges."""

    def strategy(self, k: int) -> Any:
        """Return how it walks."""
        raise NotImplementedError

    def open(self) -> None:
        """Put passages, with the vectors that are stored, into its usual store."""
        from langchain_core.vectorstores import InMemoryVectorStore

        corpus = self._bench.corpus.name
        rows = self._bench.connection.query(MENTIONS, {"corpus": corpus})
        store = InMemoryVectorStore(self._given)
        for row in rows:
            self._given.passages[row["text"]] = list(row["vector"])
        store.add_documents([
            Document(
                id=row["id"],
                page_content=row["text"],
                metadata={"title_of": row["document"], "mentions": row["mentions"]},
            )
            for row in rows
        ])
        self._store = store

    def found(self, question: str, k: int) -> list[tuple[str, float]]:
        """Return its k, in its own order."""
        from langchain_graph_retriever import GraphRetriever

        retriever = GraphRetriever(
            store=self._store,
            edges=[("mentions", "title_of"), ("title_of", "mentions")],
            strategy=self.strategy(k),
        )
        documents = retriever.invoke(question)
        return [
            (document.metadata["title_of"], -float(place))
            for place, document in enumerate(documents)
        ]


class Eagerly(Walked):
    """Takes the nearest passages, then whatever they are linked with."""

    name = "graph-retriever eager"

    def strategy(self, k: int) -> Any:
        """Return the published strategy."""
        from graph_retriever.strategies import Eager

        return Eager(select_k=k)


class ByMmr(Walked):
    """Takes near and different passages among those that are linked."""

    name = "graph-retriever MMR"

    def strategy(self, k: int) -> Any:
        """Return the published strategy."""
        from graph_retriever.strategies import Mmr

        return Mmr(select_k=k)


class ByNearMmr(Walked):
    """The same, with more weight on what is near."""

    name = "graph-retriever MMR .8"

    def strategy(self, k: int) -> Any:
        """Return the published strategy, its settings chosen on these questions."""
        from graph_retriever.strategies import Mmr

        return Mmr(select_k=k, lambda_mult=0.8, max_depth=2)


def _print(
    results: Sequence[SystemResult], bench: Bench, server: Server, embedder: str
) -> None:
    """Print means with intervals, and paired differences from dense and from auto."""
    named = {result.name: result for result in results}
    bases = [named[name] for name in ("dense", "auto") if name in named]
    apart = {
        (one.name, one.base, one.metric): one
        for base in bases
        for one in differences(results, base, MEASURES)
    }
    n = len(bench.dataset.questions)
    table = Table(
        title=f"peers: {n} questions of MuSiQue (train), {len(bench.dataset.passages)} "
        f"passages, {embedder.rpartition('/')[2]}",
        columns=(
            "system",
            *("R@2", "R@5", "all-recall@5"),
            *(f"R@5 less {base.name}" for base in bases),
            "p50 ms",
        ),
    )
    for result in results:
        means = summarise(result)
        less = [apart.get((result.name, base.name, "recall@5")) for base in bases]
        table.add(
            result.name,
            *(_shown(means.measures[name]) for name in MEASURES),
            *("" if d is None else _shown(d.found.difference, sign=True) for d in less),
            f"{means.latency['p50'].value:.1f}",
        )
    table.notes.append(
        "Per cent, with 95 % bootstrap intervals (BCa, 2,000 resamples, seed 0); "
        f"differences are paired; corpus {bench.corpus.name}, commit {code_version()}."
    )
    table.notes.append(
        "Times are without embedding; that of dense is a bare call of the index."
    )
    table.notes.append(
        "The intervals of differences are not corrected for how many are compared. By "
        "permutation tests with Holm's correction, R@5 differs "
        + ", and ".join(_lasting(apart, base) for base in bases)
        + "."
    )
    table.notes += [f"{name}: {how}." for name, how in SETTINGS if name in named]
    table.print(server)


def _lasting(
    apart: Mapping[tuple[str, str, str], Difference], base: SystemResult
) -> str:
    """Say which systems differ from one after correction."""
    found = [
        f"{name} ({one.p_value:.4f})"
        for (name, of, measure), one in apart.items()
        if of == base.name and measure == "recall@5" and one.p_value < LEVEL
    ]
    return (
        f"from that of {base.name} at {LEVEL:g} for these (p): "
        f"{', '.join(found) or 'none'}"
    )


def _shown(found: Interval, *, sign: bool = False) -> str:
    """Return a share in per cent with its interval."""
    form = "{:+.1f}" if sign else "{:.1f}"
    ends = ", ".join(form.format(100 * end) for end in (found.low, found.high))
    return f"{form.format(100 * found.value)} [{ends}]"

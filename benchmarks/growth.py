"""What linking costs as a corpus grows: each stage, a change of 1 %, time and memory.

The first table is the search for similar chunks alone, against all pairs for a
thousand rows, scaled. The second (`--link`) links whole corpora on a server: generated
texts of 30 windows with names that documents share and ready vectors that drift around
subjects, written by the product; then one document in a hundred changes (a sentence of
most, some new, some gone) and is linked again. Each size has a server of its own.
With `--bulk` they are loaded whole by the bulk door and asked first, as `questions`
does, and by a snapshot; then everything by which they change is timed. With
`--settings` their vector index is made anew by several settings instead, and asked
for what is nearest. `--libraries` adds approximate indexes of others to the first
table, where they are installed (`uv run --with usearch --with faiss-cpu`).
"""

from __future__ import annotations

import resource
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from measure import Table, served
from questions import FILTERS, K, ask, bulk_loaded, questions_of
from sample import CORPUS, DIMENSIONS, OPTIONS, prepared, vectors_of

from knowtrail.graph.batches import batched
from knowtrail.graph.db.connection import Counters
from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.db.statements import statement
from knowtrail.graph.doctor import examine
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.vectors import vector_parameter
from knowtrail.ingest import neighbour_index, pipeline
from knowtrail.ingest.corpus import (
    delete_corpus,
    open_corpus,
    stored_corpus,
    work_key,
)
from knowtrail.ingest.linking import link_corpus
from knowtrail.ingest.neighbour_index import SAMPLE, search_neighbours
from knowtrail.ingest.prepare import document_id, prepare
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.similarity import Comparison, vector_number
from knowtrail.ingest.store import losses, removal_of
from knowtrail.ingest.vector_file import VectorFile
from knowtrail.ingest.verify import verify_corpus
from knowtrail.retrieval.readers import opening
from knowtrail.retrieval.search import search
from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.folder import forget_snapshots, need_snapshot
from knowtrail.retrieval.snapshot.source import CorpusSource

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    import numpy.typing as npt
    from measure import Server

    from knowtrail.graph.db.connection import Connection

CHUNKS = 30
BESIDE = "beside"
ASKED, NEAREST, FETCHES = 100, 10, (10, 50, 200, 400)
"""Vectors that the index is asked for, their nearest, and how many it is asked for."""
SETTINGS = ((16, 100), (32, 200), (64, 400))
"""Of the vector index: edges of a vector, and candidates while it is made."""
OPENED = 5
"""Times that a snapshot is opened."""
_NAMES = 20_000
_LETTERS = "bdfgklmnprstvz"


@dataclass(frozen=True, slots=True)
class _Took:
    """What a step took.

    Attributes:
        stages: CPU seconds of this process and of the server, by stage.
        seconds: On the clock.
        more: What else there is to say of it.
    """

    stages: dict[str, tuple[float, float]]
    seconds: float
    more: Sequence[str] = ()


_Step = tuple[str, _Took]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--sizes", type=int, nargs="+", help="(10000 100000)")
    parser.add_argument("--link", action="store_true", help="link corpora on a server")
    parser.add_argument(
        "--bulk", action="store_true", help="whole corpora by the bulk door, asked too"
    )
    parser.add_argument("--questions", type=int, default=20, help="with --bulk (20)")
    parser.add_argument("--changes", type=int, default=3, help="of 1 %% (3)")
    parser.add_argument(
        "--settings", action="store_true", help="of the vector index, with --bulk"
    )
    parser.add_argument(
        "--libraries", action="store_true", help="faiss and usearch, too"
    )
    parser.add_argument(
        "--real", action="store_true", help="the sample's texts, by the index always"
    )


def run(given: argparse.Namespace) -> None:
    """Measure each size and print the tables."""
    sizes = sorted(given.sizes or ([2000] if given.small else [10_000, 100_000]))
    if given.bulk or given.link:
        costs = partial(_loaded_costs, given.questions) if given.bulk else _linked_costs
        if given.bulk and given.settings:
            _followed(sizes, _settings_costs)
        else:
            _followed(sizes, partial(costs, given.changes))
        return
    table = Table(
        title=f"growth: {OPTIONS.inter_top_x} neighbours of each chunk",
        columns=(
            "chunks", "method", "recall", "CPU s", "CPU us a chunk",
            "CPU s of all pairs", "peak MiB",
        ),
    )  # fmt: skip
    if given.real:
        neighbour_index.EXACT_VECTORS = 0
    for size in sizes:
        vectors, groups = _real(size) if given.real else _generated(size)
        table.add(f"{len(vectors):,}", *_measured(vectors, groups))
        print(table.rows[-1], flush=True)
        for library in (_faiss, _usearch) if given.libraries else ():
            told = _by_library(library, vectors, groups)
            table.add(f"{len(vectors):,}", *told, "", "")
            print(table.rows[-1], flush=True)
    table.print()


def _followed(sizes: Sequence[int], costs: Callable[[int], Iterator[_Step]]) -> None:
    """Follow a corpus of each size through its life, and print what each step took."""
    table = Table(
        title="growth: CPU seconds here and on the server, by stage",
        columns=("chunks", "what", "s", "CPU s", "share", "stages", "peak MiB here"),
    )
    for size in sizes:
        first = 0.0
        for what, took in costs(size):
            cpu = sum(map(sum, took.stages.values()))
            first = first or cpu
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            told = (f"{n} {a:.1f} + {b:.1f}" for n, (a, b) in took.stages.items())
            table.add(
                f"{size:,}",
                what,
                f"{took.seconds:.1f}",
                f"{cpu:.1f}",
                f"{cpu / first:.1%}" if first else "-",
                "; ".join([*told, *took.more]),
                f"{peak:.0f}",
            )
            print(table.rows[-1], flush=True)
    table.print()


def _loaded_costs(questions: int, changes: int, size: int) -> Iterator[_Step]:
    """Yield what each step of a whole corpus costs; ask it in between."""
    embedder, count = _Drifting(), size // CHUNKS
    pages = _Pages([(n, 0) for n in range(count)])
    with bulk_loaded(size, source=pages, embedder=embedder) as (server, report):
        told = [f"{stage} {seconds:.0f}" for stage, seconds in report.seconds.items()]
        yield "bulk load", _Took({}, sum(report.seconds.values()), told)
        if questions:
            ask(server, questions, indexed=True, embedder=embedder)
        told = _index_recalls(server)
        yield "nearest 10 by the index", _Took({}, 0.0, told)
        yield "snapshot", _copied(server, questions or 1, embedder)
        yield from _life(server, embedder, count, changes)


def _settings_costs(size: int) -> Iterator[_Step]:
    """Yield what making the vector index takes by its settings, and what it finds."""
    pages = _Pages([(n, 0) for n in range(size // CHUNKS)])
    with bulk_loaded(size, source=pages, embedder=_Drifting()) as (server, _):
        connection = server.connection
        for m, ef in SETTINGS:
            start = time.perf_counter()
            connection.run_schema("DROP INDEX chunk_embedding")
            apply_schema(
                connection,
                dimensions=DIMENSIONS,
                hnsw={"m": m, "ef_construction": ef},
                whole=True,
            )
            took = _Took({}, time.perf_counter() - start, _index_recalls(server))
            yield f"m {m}, ef {ef}", took
        config: dict[str, Any] = {
            "vector.dimensions": DIMENSIONS,
            "vector.similarity_function": "cosine",
            "vector.quantization.enabled": False,
        }
        start = time.perf_counter()
        connection.run_schema("DROP INDEX chunk_embedding")
        made = statement("schema/vector_chunk")
        connection.run_schema(made, options={"indexConfig": config})
        connection.query("CALL db.awaitIndexes(3600)", {})
        took = _Took({}, time.perf_counter() - start, _index_recalls(server))
        yield "m 16, ef 100, not quantised", took


def _linked_costs(changes: int, size: int) -> Iterator[_Step]:
    """Yield what linking chunks costs, and each step afterwards."""
    with served() as server:
        connection, count = server.connection, size // CHUNKS
        options = replace(OPTIONS, themes="none")
        embedder = _Drifting()
        open_corpus(
            connection,
            CORPUS,
            embedder=embedder,
            options=options,
            language_model="none",
        )
        _write(server, embedder, range(count))
        took = _timed(
            server,
            lambda progress: link_corpus(
                connection,
                corpus=CORPUS,
                version=1,
                options=options,
                work=server.settings.home / "work",
                progress=progress,
            ),
        )
        connection.write("ingest/corpus_complete", name=CORPUS)
        (row,) = connection.read("corpus/show", name=CORPUS)
        counts = ("terms", "similarInter", "mentions", "names")
        method = row["settings"].get("similarMethod", "exact")
        recall = f"{method}, recall {row['settings'].get('similarRecall', 1.0):.2%}"
        edges = ", ".join(f"{row[n]:,} {n}" for n in counts)
        yield "linking", replace(took, more=[edges, recall])
        yield from _life(server, embedder, count, changes)


def _life(
    server: Server, embedder: _Drifting, count: int, changes: int
) -> Iterator[_Step]:
    """Yield what changing, examining and deleting a corpus costs."""
    for number in range(changes):
        yield f"change {number + 1}", _changed(server, embedder, count, number)
    connection = server.connection
    pages = _Pages([(n, 0) for n in range(max(1, count // 10))])
    steps: tuple[tuple[str, Callable[[], Sequence[Any]]], ...] = (
        ("doctor", lambda: _recalls(server)),
        ("show", lambda: connection.read("corpus/show", name=CORPUS)),
        ("verify", lambda: _wrong(server)),
        ("ingest of a tenth beside it", lambda: _beside(server, pages, embedder)),
        ("its deletion", lambda: [delete_corpus(connection, BESIDE)]),
        ("deletion of the corpus", lambda: [delete_corpus(connection, CORPUS)]),
    )
    for what, work in steps:
        found: list[Any] = []

        def answered(_: object, work: Any = work, found: list[Any] = found) -> None:
            found.extend(work())

        took = _timed(server, answered)
        yield what, replace(took, more=[one for one in found if isinstance(one, str)])


def _beside(server: Server, pages: _Pages, embedder: _Drifting) -> list[str]:
    """Ingest another corpus by Bolt."""
    report = pipeline.ingest_corpus(
        server.connection,
        [pages],
        corpus=BESIDE,
        embedder=embedder,
        settings=server.settings,
        options=replace(OPTIONS, themes="none"),
    )
    return [f"{stage} {seconds:.0f} s" for stage, seconds in report.seconds.items()]


def _index_recalls(server: Server) -> list[str]:
    """Return what share of the nearest chunks the index has, by how many it is asked.

    The vectors are those that linking left in its working file.
    """
    connection, generator = server.connection, np.random.default_rng(4)
    stored = stored_corpus(connection, CORPUS)
    work = server.settings.home / "work"
    key = work_key(connection, CORPUS, stored.created)
    with VectorFile(work, f"{key}-similar") as file:
        if not file.resume(stored.link_state):
            return ["no working file"]
        vectors = file.vectors
        rows = generator.choice(len(vectors), min(ASKED, len(vectors)), replace=False)
        asked = vectors[rows] + generator.standard_normal(
            (len(rows), vectors.shape[1]), dtype=np.float32
        ) / np.float32(np.sqrt(vectors.shape[1]))
        scores = np.empty((len(rows), 0))
        keys = np.empty((len(rows), 0), dtype=np.int64)
        for start in range(0, len(vectors), 8192):
            part = vectors[start : start + 8192]
            more = asked @ (part / np.linalg.norm(part, axis=1, keepdims=True)).T
            scores = np.hstack([scores, more])
            keys = np.hstack([
                keys,
                np.tile(np.arange(start, start + len(part)), (len(rows), 1)),
            ])
            best = np.argsort(-scores, axis=1, kind="stable")[:, :NEAREST]
            scores = np.take_along_axis(scores, best, 1)
            keys = np.take_along_axis(keys, best, 1)
        wanted = [{file.key(row) for row in found} for found in keys.tolist()]
    told = []
    for fetch in FETCHES:
        began = time.perf_counter()
        shares = [
            len(near & {row["id"] for row in _asked_index(connection, vector, fetch)})
            / len(near)
            for near, vector in zip(wanted, asked.tolist(), strict=True)
        ]
        took = (time.perf_counter() - began) / len(shares) * 1000
        told.append(
            f"asked for {fetch}: {np.mean(shares):.1%} in {took:.0f} ms, "
            f"none of them for {shares.count(0.0)} of {len(shares)} vectors"
        )
    return told


def _asked_index(
    connection: Connection, vector: list[float], fetch: int
) -> list[dict[str, Any]]:
    return connection.query(
        "CALL db.index.vector.queryNodes('chunk_embedding', $fetch, $vector) "
        "YIELD node RETURN node.id AS id",
        {"fetch": fetch, "vector": vector},
    )


def _copied(server: Server, count: int, embedder: _Drifting) -> _Took:
    """Copy a corpus into a snapshot; open it, and walk in it and in the database.

    The first walk with a filter finds what passes, which the others know.
    """
    connection, home = server.connection, server.settings.home
    begin = time.perf_counter()
    build_snapshot(home, CorpusSource(connection, CORPUS))
    built = time.perf_counter() - begin
    version = stored_corpus(connection, CORPUS).version
    opened = []
    for _ in range(OPENED):
        forget_snapshots()
        begin = time.perf_counter()
        need_snapshot(home, CORPUS, version)
        opened.append(time.perf_counter() - begin)
    told = [f"opened in {1000 * statistics.median(opened):.1f} ms"]
    asked = questions_of(connection, count, embedder)

    def timed(name: str, reader: Any, given: Any) -> str:
        """Ask in one way; by the `index` a walk in the snapshot starts there."""
        seconds, most = [], opening.MOST_COMPARED
        opening.MOST_COMPARED = 0 if reader == "index" else most
        for question in asked:
            begin = time.perf_counter()
            search(
                connection,
                question.text,
                vector=question.vector,
                corpus=CORPUS,
                algorithm=name,
                k=K,
                reader="auto" if reader == "index" else reader,
                settings=server.settings,
                filter=given,
            )
            seconds.append(1000 * (time.perf_counter() - begin))
        opening.MOST_COMPARED = most
        return f"{statistics.median(seconds):.0f} ms (first {seconds[0]:.0f})"

    for called, given in FILTERS.items():
        for name in ("basic_retrieval", "query_traversal", "auto"):
            for reader in ("snapshot", "auto", "index", "cypher"):
                took = timed(name, reader, given)
                told.append(f"{name} by {reader}, filter {called}: {took}")
    return _Took({}, built, told)


def _recalls(server: Server) -> list[str]:
    return [
        f"{found.check}: {found.detail}"
        for found in examine(server.settings)
        if found.check in {"vector index", "similar chunks"}
    ]


def _wrong(server: Server) -> list[str]:
    return [
        f"{f.count} of {f.check}"
        for f in verify_corpus(server.connection, CORPUS)
        if f.count
    ]


def _changed(server: Server, embedder: _Drifting, count: int, number: int) -> _Took:
    """Change one document in a hundred; return what linking took."""
    connection = server.connection
    few = max(1, count // 1000)
    edited = range(few, max(3, count // 100) - few)
    first = number * few
    gone = [document_id(CORPUS, str(first + n)) for n in range(few)]
    # Not as a run that was interrupted: that would have all texts read again.
    connection.write_all([*losses(gone), *removal_of(connection, gone)])
    pages = [
        *(((n + number * count // 7) * 31 % count, number + 1) for n in edited),
        *((count + first + n, 0) for n in range(few)),
    ]
    again: list[_Took] = []

    def linked(*args: Any, **more: Any) -> Any:
        found = _timed(
            server,
            lambda progress: link_corpus(*args, **more | {"progress": progress}),
        )
        again.append(found)
        return Counters()

    pipeline.link_corpus = linked  # type: ignore[attr-defined]
    report = pipeline.ingest_corpus(
        connection,
        [_Pages(pages)],
        corpus=CORPUS,
        embedder=embedder,
        settings=server.settings,
    )
    pipeline.link_corpus = link_corpus  # type: ignore[attr-defined]
    told = [f"{stage} {seconds:.1f} s" for stage, seconds in report.seconds.items()]
    return replace(again[0], more=told)


def _write(server: Server, embedder: _Drifting, numbers: range) -> None:
    """Store documents and chunks alone, as linking reads nothing else."""
    able = server.connection.capabilities
    for part in batched(numbers, 100):
        documents = [
            prepare(raw, corpus=CORPUS, options=OPTIONS)
            for raw in _Pages([(n, 0) for n in part]).items()
        ]
        chunks = [(d.id, row) for d in documents for row in d.chunks]
        vectors = embedder.embed_array([row["text"] for _, row in chunks])
        rows = [
            {"id": d.id, "properties": d.properties | {"corpusVersion": 1}}
            for d in documents
        ]
        server.connection.write_all([
            ("ingest/documents", {"corpus": CORPUS, "rows": rows}),
            (
                "ingest/chunks",
                {
                    "rows": [
                        {
                            "document": document,
                            "properties": row | {"corpusVersion": 1},
                            "vector": vector_parameter(vector, able),
                        }
                        for (document, row), vector in zip(chunks, vectors, strict=True)
                    ]
                },
            ),
        ])


def _timed(server: Server, work: Callable[[Callable[..., None]], object]) -> _Took:
    """Do something that tells its stages, and return what it took."""
    taken: defaultdict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    server.quiet()

    def now() -> tuple[float, float]:
        return time.process_time(), server.cpu() or 0.0

    stage, before = "begin", now()

    def progress(name: str, _done: int = 0, _size: int | None = None) -> None:
        nonlocal stage, before
        after, total = now(), taken[stage]
        here, there = (t + b - a for t, a, b in zip(total, before, after, strict=True))
        taken[stage] = here, there
        stage, before = name, after

    start = time.perf_counter()
    work(progress)
    progress("end")
    return _Took(dict(taken), time.perf_counter() - start)


class _Pages:
    """A source of generated pages, given as (number, edition)."""

    name = "generated"
    size = None
    position = 0

    def __init__(self, numbers: Sequence[tuple[int, int]]) -> None:
        self._numbers = numbers

    def items(self) -> Iterator[RawDocument]:
        """Yield the pages; the second edition has another sentence in the middle."""
        for number, edition in self._numbers:
            generator = np.random.default_rng(number)
            topic = f"zq{number // 20}d{number}"
            lines = [_sentence(generator, topic) for _ in range(CHUNKS + 2)]
            if edition:
                other = np.random.default_rng((number, edition))
                lines[CHUNKS // 2] = _sentence(other, topic)
            yield RawDocument(
                source_id=str(number),
                title=f"{_name(number % _NAMES)} {_name(number * 7 % _NAMES)}",
                raw=" ".join(lines),
                sentences=tuple(lines),
            )


def _sentence(generator: np.random.Generator, topic: str) -> str:
    """Return a sentence of about 20 words, with one or two names and a topic.

    Words and names follow Zipf's law, as they do in an encyclopedia.
    """
    ranks = np.minimum(generator.zipf(1.2, 18), 10**6).tolist()
    words = [_word(rank) for rank in ranks]
    for place in generator.integers(3, 17, size=int(generator.integers(1, 3))):
        rank = min(int(generator.zipf(1.3)), 10**7)
        more = f" {_name(rank // 3 + 1)}" if rank % 2 else ""
        words[place] = _name(rank) + more
    return f"{words[0].capitalize()} {' '.join(words[1:])} {topic}."


def _word(number: int) -> str:
    """Return a made-up word in small letters."""
    letters = ""
    while number:
        number, one = divmod(number, 70)
        letters += _LETTERS[one % 14] + "aeiou"[one // 14]
    return letters or "a"


def _name(number: int) -> str:
    """Return a made-up name."""
    return f"{_word(number + 5000)}x".capitalize()


class _Drifting(HashEmbedder):
    """Vectors around the subject and the document of a text, by its topic word."""

    def __init__(self) -> None:
        super().__init__(DIMENSIONS)

    def embed_array(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return a vector for each text, always the same one."""
        out = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for place, text in enumerate(texts):
            topic = text[text.rindex("zq") : -1] if "zq" in text else text
            parts = (topic.partition("d")[0], 1.0), (topic, 0.8), (text, 1.2)
            for part, share in parts:
                normal = np.random.default_rng(crc32(part.encode())).standard_normal
                out[place] += share * normal(DIMENSIONS, dtype=np.float32)
        return out


def _measured(
    vectors: npt.NDArray[np.float32], groups: npt.NDArray[np.int64]
) -> tuple[str, ...]:
    """Return the cells of one size."""
    size = len(vectors)
    start = time.process_time()
    compared = Comparison(
        vectors=vectors,
        groups=groups,
        ids=np.random.default_rng(2).permutation(size),
        numbers=np.array([vector_number(v) for v in vectors]),
        top=OPTIONS.inter_top_x,
        threshold=OPTIONS.inter_threshold,
    )
    search = search_neighbours(compared)
    for _ in search.blocks(0):
        pass
    took = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.process_time()
    compared.best(np.arange(SAMPLE))
    exact = (time.process_time() - start) * size / SAMPLE
    return (
        search.method,
        f"{search.recall:.2%}",
        f"{took:.1f}",
        f"{took / size * 1e6:.0f}",
        f"{exact:.0f}",
        f"{peak:.0f}",
    )


def _by_library(
    nearest: Callable[[npt.NDArray[np.float32], int], npt.NDArray[np.int64]],
    vectors: npt.NDArray[np.float32],
    groups: npt.NDArray[np.int64],
) -> tuple[str, ...]:
    """Return method, recall of the edges to other documents, and CPU time.

    A document's own chunks are asked for, too, as none of these can leave them out.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    top, wanted = OPTIONS.inter_top_x, CHUNKS + OPTIONS.inter_top_x
    start = time.process_time()
    found = nearest(unit, wanted)
    took = time.process_time() - start
    rows = np.random.default_rng(3).choice(len(unit), SAMPLE, replace=False)
    shares = []
    for row in rows.tolist():
        scores = unit @ unit[row]
        scores[groups == groups[row]] = -1
        best = np.argsort(-scores, kind="stable")[:top]
        best = best[scores[best] >= OPTIONS.inter_threshold]
        if len(best):
            shares.append(np.isin(best, found[row]).mean())
    size = len(unit)
    told = f"{np.mean(shares):.2%}", f"{took:.1f}", f"{took / size * 1e6:.0f}"
    return nearest.__name__.lstrip("_"), *told


def _faiss(unit: npt.NDArray[np.float32], wanted: int) -> npt.NDArray[np.int64]:
    """Return the nearest by faiss, an inverted file of as many cells as ours has."""
    import faiss  # type: ignore[import-not-found,unused-ignore]

    cells = 1 << max(0, round(np.log2(4 * len(unit) ** 0.5)) - 1)
    index = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(unit.shape[1]),
        unit.shape[1],
        cells,
        faiss.METRIC_INNER_PRODUCT,
    )
    index.train(unit[:: max(1, len(unit) // (64 * cells))])
    index.add(unit)
    index.nprobe = 6
    return np.asarray(index.search(unit, wanted)[1])


def _usearch(unit: npt.NDArray[np.float32], wanted: int) -> npt.NDArray[np.int64]:
    """Return the nearest by usearch, a graph with its settings as they are."""
    from usearch.index import Index  # type: ignore[import-not-found,unused-ignore]

    index = Index(ndim=unit.shape[1], metric="ip", dtype="f32")
    index.add(np.arange(len(unit)), unit)
    return np.asarray(index.search(unit, wanted).keys, dtype=np.int64)


def _real(size: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return vectors of the sample's chunks by the default model, with documents."""
    documents = prepared(size)
    texts = [row["text"] for d in documents for row in d.chunks]
    groups = np.repeat(np.arange(len(documents)), [len(d.chunks) for d in documents])
    return vectors_of(texts)[0][:size], groups[:size]


def _generated(
    size: int,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return vectors and the document of each; the seed is fixed."""
    generator = np.random.default_rng(1)

    def normal(count: int) -> npt.NDArray[np.float32]:
        return generator.standard_normal((count, DIMENSIONS), dtype=np.float32)

    documents = size // CHUNKS + 1
    groups = np.arange(size) // CHUNKS
    subjects = normal(documents // 20 + 1)
    means = subjects[generator.integers(len(subjects), size=documents)]
    means += np.float32(0.8) * normal(documents)
    vectors = means[groups]
    for start in range(0, size, 8192):  # or the peak of memory would be of this
        part = vectors[start : start + 8192]
        part += np.float32(1.2) * normal(len(part))
    return vectors, groups

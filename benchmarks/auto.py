"""Each part of `auto` on and off, on questions with gold passages, and what it costs.

The corpora are made by the usual ingest; walks read a snapshot, in the table of times
the database too. The questions of MuSiQue and 2WikiMultihop at even places are the
development half, those at odd places the test half. The two CSV sets are conceptual
questions over the union of their contexts, one passage a text; recall there is of what
five places can hold. Gains are paired, with 95 % bootstrap intervals; the floor is a
random walk with the question's terms, without titles, chains and gate. With the triples
that a language model extracted (`--triples`), their entities take the place of the
terms, as an ablation. Then come questions that nothing was chosen on, and each constant
halved and doubled, on the development halves of both sets and by the mean of the two.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from auto_checks import (
    CONSTANTS,
    changed,
    entities,
    joined_questions,
    key_of,
    single_questions,
)
from measure import Server, Table, served, warmed

from knowtrail.eval.datasets import load_dataset
from knowtrail.eval.retrieval.bench import open_bench
from knowtrail.eval.retrieval.dataset import RetrievalQuestion, Unit, halves
from knowtrail.eval.statistics import bootstrap_interval, compare_paired
from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.models.embedders import load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER, Settings
from knowtrail.retrieval.algorithms.auto import Ablation, Auto
from knowtrail.retrieval.driving import run as drive
from knowtrail.retrieval.protocols import WalkOptions, anchor_hits
from knowtrail.retrieval.readers import CypherReader
from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.folder import need_snapshot
from knowtrail.retrieval.snapshot.source import CorpusSource
from tests.memory_reader import MemoryGraph, MemoryReader

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from knowtrail.eval.retrieval.bench import Bench
    from knowtrail.retrieval.protocols import GraphReader, Vector

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PLACES = 10
"""Documents that are ranked."""
OFF = Ablation(
    terms=False,
    written=False,
    titles=False,
    rarity=False,
    coverage=False,
    gate=False,
)
PARTS = {
    "dense": replace(OFF, ranks=False),
    "+ random walk": OFF,
    "+ question's terms (floor)": replace(OFF, terms=True),
    "+ titles": replace(OFF, terms=True, titles=True),
    "+ names in texts": replace(OFF, terms=True, titles=True, written=True),
    "+ chain by rarity": Ablation(coverage=False, gate=False),
    "+ chain by words": Ablation(rarity=False, gate=False),
    "+ both": Ablation(gate=False),
    "auto: + gate": Ablation(),
    "auto without titles": Ablation(titles=False),
    "auto without names in texts": Ablation(written=False),
}
FLOOR, WHOLE = "+ question's terms (floor)", "auto: + gate"
BARE = """
CALL db.index.vector.queryNodes('chunk_embedding', $k, $vector) YIELD node, score
RETURN node.id, score
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Set:
    """A data set, stored.

    Attributes:
        name: What tables call it.
        bench: Its corpus.
        halved: Whether it has a development and a test half.
    """

    name: str
    bench: Bench
    halved: bool

    @property
    def development(self) -> list[RetrievalQuestion]:
        """Return the questions of the development half."""
        questions = self.bench.dataset.questions
        return [questions[place] for place in halves(len(questions))[0]]

    def rank(self, reader: GraphReader, parts: Ablation, text: str) -> list[str]:
        """Return the passages for a question, best first, each by its best chunk."""
        chunks = self.bench.chunks
        options = WalkOptions(
            max_sentences=None, max_chunks=5 * PLACES, max_hops=50, question=text
        )
        trail = drive(reader, Auto(parts=parts).walk(self.bench.vector(text), options))
        found = (chunks[step.chunk.id].document for step in trail.steps)
        return list(dict.fromkeys(found))[:PLACES]

    def measured(
        self,
        reader: GraphReader,
        parts: Ablation,
        questions: Sequence[RetrievalQuestion] = (),
    ) -> dict[str, list[float]]:
        """Return for each measure one figure a question, in percent."""
        out: dict[str, list[float]] = {"R@2": [], "R@5": [], "R@10": [], "all@5": []}
        for question in questions or self.bench.dataset.questions:
            gold = set(question.gold_documents)
            ranking = self.rank(reader, parts, question.text)
            for k in (2, 5, 10):
                most = len(gold) if self.halved else min(k, len(gold))
                out[f"R@{k}"].append(100 * len(gold & set(ranking[:k])) / most)
            out["all@5"].append(100.0 * (gold <= set(ranking[:5])))
        return out


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data")
    parser.add_argument("--triples", action="store_true", help="entities as terms too")
    parser.add_argument("--rounds", type=int, help="rounds of the timing (default 3)")


def run(given: argparse.Namespace) -> None:
    """Store the data sets on one server, and print tables of parts and of times."""
    embedder = warmed(load_embedder(Settings.from_env().embedder or DEFAULT_EMBEDDER))
    developed: list[tuple[GraphReader, Set]] = []
    with served() as server:
        apply_schema(server.connection, dimensions=len(embedder.embed_query("a")))
        for name, kind, files, unit, halved in _sets(given):
            dataset = load_dataset(kind, files, contexts="items")
            bench = open_bench(
                dataset,
                server.connection,
                embedder,
                settings=server.settings,
                unit=unit,
                record=False,
            )
            found = Set(name=name, bench=bench, halved=halved)
            _parts(server, found, given)
            if halved and unit == Unit():
                developed.append((_snapshot(server, found), found))
            if kind == "musique" and unit == Unit():
                _unseen(server, found, given.data / "musique")
            if halved and unit.title:
                _times(server, found, given.rounds or (1 if given.small else 3))
        if not given.small:
            _constants(server, developed)


def _sets(
    given: argparse.Namespace,
) -> list[tuple[str, str, list[Path], Unit, bool]]:
    """Return name, kind, files, unit and whether it has halves, of each data set."""
    musique = [
        given.data / "musique" / f"musique_train{end}.json" for end in ("", "_corpus")
    ]
    wiki = [given.data / "2wiki" / f"2wiki_dev{end}.json" for end in ("", "_corpus")]
    sets = [("MuSiQue-100", "musique", musique, Unit(), True)]
    if given.small:
        return sets
    sets += [
        ("2WikiMultihop-100", "2wiki", wiki, Unit(), True),
        *(
            (path.stem[:12], "deepeval", [path], Unit(title=False), False)
            for path in sorted((given.data / "traversal_questions").glob("*.csv"))
        ),
    ]
    return [
        *sets,
        *(
            ("MuSiQue-100", "musique", musique, unit, True)
            for unit in (Unit(title=False), Unit(name="windows"))
        ),
    ]


def _snapshot(server: Server, found: Set) -> GraphReader:
    """Return a reader of a new snapshot."""
    corpus = found.bench.corpus
    home = server.settings.home
    build_snapshot(home, CorpusSource(server.connection, corpus.name))
    return need_snapshot(home, corpus.name, corpus.version)


def _parts(server: Server, found: Set, given: argparse.Namespace) -> None:
    """Measure every part and print a table."""
    reader = _snapshot(server, found)
    sides = {name: found.measured(reader, parts) for name, parts in PARTS.items()}
    if given.triples and found.halved and found.bench.unit.name == "passage":
        graph = _with_entities(found, reader, given.data)
        sides["auto, entities of triples"] = found.measured(
            MemoryReader(graph), Ablation()
        )
    bench = found.bench
    measures = ("R@2", "R@5", "R@10", "all@5")
    halved = ("dev R@5", "dev all@5", "test R@5", "test all@5") if found.halved else ()
    table = Table(
        title=(
            f"auto on {found.name}, {bench.unit}: {len(bench.dataset.questions)} "
            f"questions, {len(bench.by_id):,} passages, {len(bench.chunks):,} chunks, "
            f"{bench.corpus.embedder}"
        ),
        columns=("parts", *measures, *halved, "R@5 over dense", "R@5 over floor"),
    )
    for name, side in sides.items():
        table.add(
            name,
            *(_interval(side[measure]) for measure in measures),
            *(f"{value:.1f}" for value in _by_half(side) if found.halved),
            _gain(sides["dense"]["R@5"], side["R@5"]),
            _gain(sides[FLOOR]["R@5"], side["R@5"]),
        )
    table.print(server)


def _unseen(server: Server, found: Set, data: Path) -> None:
    """Measure on questions that are made by rule from the same files."""
    dataset = found.bench.dataset
    reader = _snapshot(server, found)
    table = Table(
        title=f"auto on other questions over {found.name}, {found.bench.unit}",
        columns=("questions", "parts", "R@2", "R@5", "all@5", "R@5 over dense"),
    )
    for name, questions in (
        ("single steps", single_questions(data / "musique_train.json", dataset)),
        (
            "joined triples of other passages",
            joined_questions(data / "openie_musique_train.json", dataset),
        ),
    ):
        base: list[float] = []
        for part in ("dense", FLOOR, WHOLE):
            side = found.measured(reader, PARTS[part], questions)
            base = base or side["R@5"]
            table.add(
                f"{name} ({len(questions)})",
                part,
                *(_interval(side[measure]) for measure in ("R@2", "R@5", "all@5")),
                _gain(base, side["R@5"]),
            )
    table.print(server)


def _constants(server: Server, sets: Sequence[tuple[GraphReader, Set]]) -> None:
    """Halve and double each constant, on the development halves of all sets."""

    def measured() -> list[list[float]]:
        return [
            found.measured(reader, Ablation(), found.development)["R@5"]
            for reader, found in sets
        ]

    def told(name: str, value: str) -> None:
        sides = measured()
        means = [statistics.fmean(side) for side in sides]
        gains = map(_gain, base, sides)
        cells = (
            f"{mean:.1f} ({gain})" for mean, gain in zip(means, gains, strict=True)
        )
        table.add(name, value, *cells, f"{statistics.fmean(means):.2f}")

    base = measured()
    table = Table(
        title="constants of auto, R@5 of the development halves: halved, doubled",
        columns=("constant", "value", *(found.name for _, found in sets), "mean"),
    )
    told("as it is", "")
    for module, name in CONSTANTS:
        for factor in (0.5, 2):
            with changed(module, name, factor) as value:
                told(name, value)
    table.print(server)


def _by_half(side: dict[str, list[float]]) -> list[float]:
    """Return R@5 and all-recall@5 of the development half, then of the test half."""
    return [
        statistics.fmean(side[measure][i] for i in half)
        for half in halves(len(side["R@5"]))
        for measure in ("R@5", "all@5")
    ]


def _interval(values: Sequence[float]) -> str:
    """Return a mean with its interval."""
    found = bootstrap_interval(values)
    return f"{found.value:.1f} [{found.low:.1f}, {found.high:.1f}]"


def _gain(first: Sequence[float], second: Sequence[float]) -> str:
    """Return a paired difference with its interval and p-value."""
    if list(first) == list(second):
        return "0"
    found = compare_paired(first, second)
    one = found.difference
    return f"{one.value:+.1f} [{one.low:+.1f}, {one.high:+.1f}] p={found.p_value:.3f}"


def _with_entities(found: Set, reader: GraphReader, data: Path) -> MemoryGraph:
    """Return the corpus with the entities of given triples in place of its terms."""
    of_passage = entities(data / "musique" / "openie_musique_train.json")
    bench = found.bench
    ids = sorted(bench.chunks)
    visits = reader.expand(ids, neighbours=False)
    passages = {i: bench.by_id[bench.chunks[i].document] for i in ids}
    named = {i: of_passage[key_of(p.title, p.text)] for i, p in passages.items()}
    return MemoryGraph(
        chunks=tuple(visits[i].chunk for i in ids),
        vectors=np.stack([_vector(visits[i].vector) for i in ids]),
        sentences={i: visits[i].sentences for i in ids},
        edges={},
        names={i: tuple(sorted(names)) for i, names in named.items()},
    )


def _vector(vector: Vector | None) -> Vector:
    """Return a vector that is there."""
    assert vector is not None
    return vector


def _times(server: Server, found: Set, rounds: int) -> None:
    """Time `auto` in the database and in a snapshot against the bare vector call."""
    bench = found.bench
    corpus = bench.corpus.name
    readers = {
        "database": CypherReader(server.connection, corpus=corpus),
        "snapshot": _snapshot(server, found),
    }

    def bare(text: str) -> object:
        return server.connection.driver.execute_query(
            BARE,
            k=anchor_hits(10),
            vector=bench.vector(text).tolist(),
            database_=server.connection.database,
            routing_="r",
        )

    def walk(reader: GraphReader, parts: Ablation) -> Callable[[str], object]:
        options = WalkOptions(max_sentences=None, max_chunks=5)
        return lambda text: drive(
            reader,
            Auto(parts=parts).walk(bench.vector(text), replace(options, question=text)),
        )

    sides: dict[str, Callable[[str], object]] = {"bare vector-index call": bare}
    for name, reader in readers.items():
        sides[f"dense, {name}"] = walk(reader, PARTS["dense"])
        sides[f"auto, {name}"] = walk(reader, PARTS[WHOLE])
    times = _timed(sides, [q.text for q in bench.dataset.questions], rounds)
    table = Table(
        title=(
            f"time of auto on {found.name}, {bench.unit}: "
            f"{len(bench.dataset.questions)} questions, {rounds} rounds, 5 chunks"
        ),
        columns=("side", "p50 ms", "p95 ms", "p50 over the bare call"),
    )
    base = statistics.median(times["bare vector-index call"])
    for name, values in times.items():
        table.add(
            name,
            f"{1000 * statistics.median(values):.2f}",
            f"{1000 * float(np.percentile(values, 95)):.2f}",
            f"{statistics.median(values) / base:.1f}x",
        )
    table.notes.append("The question's embedding is in no side; at most 10x is wanted.")
    table.print(server)


def _timed(
    sides: dict[str, Callable[[str], object]], questions: Sequence[str], rounds: int
) -> dict[str, list[float]]:
    """Return the seconds of each side, question by question in turn, one round warm."""
    times: dict[str, list[Any]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for text in questions:
            for name, side in sides.items():
                begin = time.perf_counter()
                side(text)
                if number:
                    times[name].append(time.perf_counter() - begin)
    return times

"""zELO scores of offline judges against the passages that people marked as needed.

Each question's 20 nearest passages by embedding are judged in pairs by two judges that
work offline, embedding similarity and BM25. The rankings are files, annotated and
benchmarked as the commands do it; the ground truth is 1 for a needed passage and 0 for
the others. Differences are from the embedding alone, paired, with 95 % intervals.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Table, warmed
from rerank import FOLDER, Remembering, read_questions

from knowtrail.eval.zelo.annotation import annotate
from knowtrail.eval.zelo.judges import RerankerJudge
from knowtrail.eval.zelo.metrics import RankingSettings, benchmark_files, differences
from knowtrail.eval.zelo.pairs import PairSettings
from knowtrail.eval.zelo.scored_pairs import FitSettings
from knowtrail.graph.models.embedders import load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.retrieval.rerank import load_reranker
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Query,
    write_annotated,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rerank import Question

    from knowtrail.eval.statistics import Interval

TOP = 20
SHOWN = ("nDCG@5", "RR", "R@5", "accuracy")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--questions", type=int, help="questions (default 100)")
    parser.add_argument("--keep", type=Path, help="folder for the files, kept")


def run(given: argparse.Namespace) -> None:
    """Judge, fit, benchmark and print."""
    if not FOLDER.is_dir():
        print(f"\nzelo-musique needs {FOLDER}: left out.")
        return
    embedder = Remembering(warmed(load_embedder(DEFAULT_EMBEDDER)))
    count = given.questions or (10 if given.small else 100)
    questions = read_questions(embedder, count, small=given.small)
    with tempfile.TemporaryDirectory() as name:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        files = _annotated(folder, questions, embedder)
        settings = RankingSettings(k=5, ties="half")
        found = benchmark_files(folder / "truth.jsonl", files, settings=settings)
    apart = {(one.name, one.metric): one for one in differences(found)}
    table = Table(
        title=f"zelo-musique: {len(questions)} questions of MuSiQue (train), the {TOP} "
        "nearest passages each",
        columns=("ranking", *(c for metric in SHOWN for c in (metric, "difference"))),
    )
    for one in found:
        cells = []
        for metric in SHOWN:
            less = apart.get((one.name, metric))
            said = "" if less is None else _shown(less.found.difference, sign=True)
            cells += [_shown(one.means[metric]), said]
        table.add(one.name, *cells)
    defined = sum(value == value for value in found[0].values["RR"])
    all_needed = sum(sum(q.needed) + q.missing for q in questions)
    near = sum(sum(q.needed[:TOP]) for q in questions)
    table.notes.append(
        f"{near} of {all_needed} needed passages are among the candidates; measures "
        f"are over the {defined} questions with one, and over what is among them."
    )
    table.print()


def _annotated(
    folder: Path, questions: Sequence[Question], embedder: Remembering
) -> list[Path]:
    """Write the truth and the rankings; return the files of the rankings."""
    truth = folder / "truth.jsonl"
    write_annotated(truth, (_truth(question) for question in questions))
    rerankers = [
        load_reranker("embedding", embedder=embedder),
        load_reranker("bm25"),
    ]
    files = []
    for reranker in rerankers:
        files.append(folder / f"{reranker.name}.jsonl")
        reranker.annotate_sync(truth, files[-1])
    cycles, dense = PairSettings(), PairSettings(mode="dense")
    for name, pairs, fit in (
        ("zELO votes, 4 cycles", cycles, FitSettings()),
        ("zELO magnitudes, 4 cycles", cycles, FitSettings(magnitude=True)),
        ("zELO magnitudes, all pairs", dense, FitSettings(magnitude=True)),
        ("zELO published, 4 cycles", cycles, FitSettings(method="published")),
    ):
        files.append(folder / f"{name}.jsonl")
        judges = [RerankerJudge(reranker) for reranker in rerankers]
        annotate(truth, files[-1], judges=judges, pairs=pairs, fit=fit)
    return files


def _truth(question: Question) -> AnnotatedQueryDocuments:
    """Return a question whose needed passages have 1 and others 0."""
    pairs = list(zip(question.candidates, question.needed, strict=True))[:TOP]
    return AnnotatedQueryDocuments(
        query=Query(id=question.id, query=question.text),
        documents=tuple(
            AnnotatedDocument(id=f"p{place:02d}", content=text, score=float(needed))
            for place, (text, needed) in enumerate(pairs)
        ),
    )


def _shown(interval: Interval | None, *, sign: bool = False) -> str:
    """Return a number with its interval."""
    if interval is None:
        return "-"
    form = "+.3f" if sign else ".3f"
    return f"{interval.value:{form}} ({interval.low:{form}} to {interval.high:{form}})"

"""Rerankers that need no network: what they gain over dense retrieval, and how long.

Each question's 50 nearest passages by embedding are put in the order of a reranker.
Recall@5 and nDCG@10 are against the passages that people marked as needed; differences
from the dense order are paired, with 95 % intervals. The pointwise model never sees the
questions that it is measured on: it is trained five times on four fifths of them, once
on the marks themselves and once on zELO scores that the judges `embedding` and `bm25`
give without any marks. Milliseconds are of 50 candidates, nothing cached. A
cross-encoder cannot be fetched here: one of the usual size with random weights is
timed, and not measured.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Table, spread, warmed

from knowtrail.eval.statistics import compare_paired
from knowtrail.eval.zelo.training import train
from knowtrail.graph.models.embedders import embed_texts, load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.rerank import checked_scores, load_reranker
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Query,
)
from knowtrail.retrieval.rerank.order import best_first
from knowtrail.retrieval.rerank.pointwise import PointwiseReranker

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.retrieval.rerank import BaseReranker

FOLDER = Path(__file__).resolve().parents[2] / "shared/data/musique"
CANDIDATES = 50
FOLDS = 5
Scores = dict[str, "list[float]"]
"""Question id -> one score a candidate."""


class Remembering:
    """An embedder that embeds a text once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name  # type: ignore[attr-defined]
        self.dimensions = embedder.dimensions  # type: ignore[attr-defined]
        self._known: dict[str, Any] = {}

    def embed_array(self, texts: list[str]) -> Any:
        """Return vectors, of which only new ones are computed."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            vectors = embed_texts(self._embedder, new)
            self._known.update(zip(new, vectors, strict=True))
        return np.stack([self._known[text] for text in texts])

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        rows: list[list[float]] = self.embed_array(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embed_documents([text])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its candidates, best first by embedding.

    Attributes:
        id: Its id.
        text: What is asked.
        candidates: Passages.
        needed: Which of them are needed.
        missing: How many needed passages are not among them.
    """

    id: str
    text: str
    candidates: tuple[str, ...]
    needed: tuple[bool, ...]
    missing: int


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--questions", type=int, help="questions (default 100)")
    parser.add_argument("--timed", type=int, help="questions that are timed (10)")
    parser.add_argument("--only-times", action="store_true", help="measure no gains")
    parser.add_argument("--no-zelo", action="store_true", help="leave zELO scores out")


def run(given: argparse.Namespace) -> None:
    """Measure and time, and print a table of each."""
    if not FOLDER.is_dir():
        print(f"\nrerank needs {FOLDER}: left out.")
        return
    bare = warmed(load_embedder(DEFAULT_EMBEDDER))
    embedder = Remembering(bare)
    few = given.small or given.only_times
    count = given.questions or (20 if few else 100)
    questions = read_questions(embedder, count, small=few)
    if not given.only_times:
        measure_gains(questions, embedder, zelo_too=not given.no_zelo)
    time_them(questions, bare, given.timed or (2 if given.small else 10))


def measure_gains(
    questions: Sequence[Question], embedder: Remembering, *, zelo_too: bool
) -> None:
    """Rank, compare with the dense order and print the table."""
    bm25 = load_reranker("bm25")
    dense = load_reranker("embedding", embedder=embedder)
    orders = {
        "embedding (the dense order)": ranked(questions, dense),
        "bm25": ranked(questions, bm25),
        "pointwise, of the marks": crossed(questions, marks(questions), embedder),
    }
    if zelo_too:
        scores = zelo(questions, [dense, bm25])
        orders["zELO of embedding and bm25"] = scores
        orders["pointwise, of zELO"] = crossed(questions, scores, embedder)
    table = Table(
        title=f"rerank: {len(questions)} questions of MuSiQue (train), the "
        f"{CANDIDATES} nearest passages each",
        columns=("reranker", "recall@5", "less dense", "nDCG@10", "less dense"),
    )
    first = next(iter(orders.values()))
    for name, scores in orders.items():
        cells = [name]
        for measure in (recall_at_5, ndcg_at_10):
            cells += compared(questions, first, scores, measure)
        table.add(*cells)
    share = np.mean([sum(q.needed) / (sum(q.needed) + q.missing) for q in questions])
    table.notes.append(
        f"{share:.1%} of the needed passages are among the candidates, which is the "
        "most that a reranker can reach."
    )
    table.print()


def read_questions(embedder: Embedder, count: int, *, small: bool) -> list[Question]:
    """Return questions with the nearest passages of the corpus."""
    rows = json.loads((FOLDER / "musique_train.json").read_text("utf-8"))[:count]
    corpus = json.loads((FOLDER / "musique_train_corpus.json").read_text("utf-8"))
    passages = list(dict.fromkeys(_passage(p["title"], p["text"]) for p in corpus))
    if small:
        passages = passages[:400]
    vectors = _unit(embed_texts(embedder, passages))
    found = []
    for row in rows:
        near = vectors @ _unit(np.asarray([embedder.embed_query(row["question"])]))[0]
        best = best_first(near.tolist(), passages)[:CANDIDATES]
        candidates = tuple(passages[place] for place in best)
        needed = {
            _passage(p["title"], p["paragraph_text"])
            for p in row["paragraphs"]
            if p["is_supporting"]
        }
        if needed & set(passages):
            found.append(
                Question(
                    id=row["id"],
                    text=row["question"],
                    candidates=candidates,
                    needed=tuple(text in needed for text in candidates),
                    missing=len(needed - set(candidates)),
                )
            )
    return found


def _passage(title: str, text: str) -> str:
    """Return a passage as it is embedded and reranked."""
    return f"{title}\n{text}"


def _unit(vectors: Any) -> Any:
    """Return vectors of length 1."""
    vectors = np.asarray(vectors, dtype=np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def ranked(questions: Sequence[Question], reranker: BaseReranker) -> Scores:
    """Return a reranker's scores."""
    return {q.id: checked_scores(reranker, q.text, q.candidates) for q in questions}


def marks(questions: Sequence[Question]) -> Scores:
    """Return 1 for what is needed and 0 for the rest."""
    return {q.id: [float(needed) for needed in q.needed] for q in questions}


def annotated(question: Question, scores: Sequence[float]) -> AnnotatedQueryDocuments:
    """Return a question in the form that training reads."""
    return AnnotatedQueryDocuments(
        query=Query(id=question.id, query=question.text),
        documents=tuple(
            AnnotatedDocument(id=f"{place:03d}", content=text, score=score)
            for place, (text, score) in enumerate(
                zip(question.candidates, scores, strict=True)
            )
        ),
    )


def crossed(
    questions: Sequence[Question], scores: Scores, embedder: Embedder
) -> Scores:
    """Return scores of models that were trained on the other questions."""
    order = sorted(questions, key=lambda q: content_key("benchmark", q.id))
    found: Scores = {}
    for fold in range(FOLDS):
        own = order[fold::FOLDS]
        others = [annotated(q, scores[q.id]) for q in order if q not in own]
        model = train(others, embedder, share=0.01).model
        found |= ranked(own, PointwiseReranker(model, embedder))
    return found


def zelo(questions: Sequence[Question], rerankers: Sequence[BaseReranker]) -> Scores:
    """Return zELO scores of judges that compare by rerankers, every pair judged."""
    from knowtrail.eval.zelo.fit import Battles, fit_battles

    found: Scores = {}
    left, right = np.triu_indices(CANDIDATES, k=1)
    for question in questions:
        scores = np.array([
            checked_scores(r, question.text, question.candidates) for r in rerankers
        ])
        votes = np.sign(scores[:, right] - scores[:, left]).T
        fit = fit_battles(Battles.of(CANDIDATES, left, right, votes))
        found[question.id] = [float(score) for score in fit.scores]
    return found


def recall_at_5(question: Question, order: Sequence[int]) -> float:
    """Return the share of the needed passages among the first five."""
    needed = sum(question.needed) + question.missing
    return sum(question.needed[place] for place in order[:5]) / needed


def ndcg_at_10(question: Question, order: Sequence[int]) -> float:
    """Return the discounted gain of the first ten over that of the best order."""
    discount = 1 / np.log2(np.arange(10) + 2)
    needed = sum(question.needed) + question.missing
    gains = np.array([question.needed[place] for place in order[:10]], dtype=float)
    return float(gains @ discount[: len(gains)] / discount[:needed].sum())


def compared(
    questions: Sequence[Question],
    dense: Scores,
    scores: Scores,
    measure: Callable[[Question, Sequence[int]], float],
) -> tuple[str, str]:
    """Return the mean of a measure, and how it differs from the dense order's."""
    values = [
        [measure(q, best_first(side[q.id], q.candidates)) for q in questions]
        for side in (dense, scores)
    ]
    if dense is scores:
        return f"{np.mean(values[1]):.3f}", ""
    found = compare_paired(values[0], values[1])
    apart = found.difference
    return (
        f"{found.second:.3f}",
        f"{apart.value:+.3f} ({apart.low:+.3f} to {apart.high:+.3f}), "
        f"p {found.p_value:.3f}",
    )


def time_them(questions: Sequence[Question], embedder: Embedder, count: int) -> None:
    """Time each reranker on 50 candidates and print the table."""
    some = [annotated(q, m) for q, m in _with_marks(questions)]
    model = train(some[:30], Remembering(embedder)).model
    table = Table(
        title=f"rerank: time of {CANDIDATES} candidates, {count} questions",
        columns=("reranker", "ms a question", "CPU ms"),
    )
    with tempfile.TemporaryDirectory() as folder:
        rerankers: dict[str, BaseReranker] = {
            "bm25": load_reranker("bm25"),
            "embedding": load_reranker("embedding", embedder=embedder),
            "pointwise": PointwiseReranker(model, embedder),
            "cross-encoder of 6 layers, 384 wide (random weights)": load_reranker(
                f"cross-encoder:{random_cross_encoder(Path(folder))}"
            ),
        }
        for name, reranker in rerankers.items():
            times, work = [], []
            for question in questions[: count + 1]:
                begin, used = time.perf_counter(), time.process_time()
                checked_scores(reranker, question.text, question.candidates)
                times.append((time.perf_counter() - begin) * 1000)
                work.append((time.process_time() - used) * 1000)
            table.add(name, spread(times[1:], "{:,.1f}"), spread(work[1:], "{:,.1f}"))
    table.notes.append(
        "As a stage of a search `embedding` takes the cosines of the corpus's own "
        "vectors, and costs nothing."
    )
    table.print()


def _with_marks(questions: Sequence[Question]) -> list[tuple[Question, list[float]]]:
    """Return questions with their marks."""
    known = marks(questions)
    return [(question, known[question.id]) for question in questions]


def random_cross_encoder(folder: Path) -> Path:
    """Save a cross-encoder of the usual small size whose weights mean nothing."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from knowtrail.graph.models.model_files import local_model

    place = local_model(DEFAULT_EMBEDDER)
    tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True)
    tokenizer.save_pretrained(folder)
    BertForSequenceClassification(  # type: ignore[no-untyped-call]
        BertConfig(  # type: ignore[call-arg]
            vocab_size=len(tokenizer),
            hidden_size=384,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
            num_labels=1,
        )
    ).save_pretrained(folder)
    return folder

"""What a ranking is worth, question by question, without a language model.

| measure | of one question |
|---|---|
| `recall@k` | share of its gold passages that are among the first k |
| `all_recall@k` | 1 where all of them are, else 0 |
| `precision@k` | share of the first k that are gold; fewer than k count as wrong |
| `ndcg@k` | normalised discounted cumulative gain, by grades where there are any |
| `mrr` | 1 / place of the first gold passage; 0 beyond the greatest k |
| `chunk_recall@k` | share of its gold stretches that the first k chunks touch |
| `chunk_precision@k` | share of the first k chunks that touch one |
| `sentence_precision` | share of the returned sentences that are gold |
| `sentence_recall` | share of its gold sentences that were returned |
| `sentence_f1` | harmonic mean of the two |

Recall, precision, nDCG and MRR come from ir-measures. Chunks and sentences are only
measured for questions whose data set names gold at that level; a gold sentence is a
stretch of one sentence. All are numbers from 0 to 1. A system that returns fewer
passages than k is measured by those that it returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eval.retrieval.dataset import RetrievalQuestion
    from eval.retrieval.system import Ranking, ReturnedChunk

__all__ = ["QUANTITIES", "measure_names", "measure_rankings"]

QUANTITIES = ("milliseconds", "sentences", "hops", "documents_crossed", "filled")
"""What is counted rather than judged: smaller is no worse."""


def measure_names(ks: Sequence[int], *, sentences: bool) -> tuple[str, ...]:
    """Return the names of the measures in the order of a table.

    Args:
        ks: Places at which rankings are cut.
        sentences: Whether the data set names gold below passages.
    """
    heads = ["recall", "all_recall", "precision", "ndcg"]
    names = [f"{head}@{k}" for head in heads for k in ks]
    names.append("mrr")
    if sentences:
        chunked = ("chunk_recall", "chunk_precision")
        names += [f"{head}@{k}" for head in chunked for k in ks]
        names += ["sentence_precision", "sentence_recall", "sentence_f1"]
    return tuple(names)


def measure_rankings(
    questions: Sequence[RetrievalQuestion],
    rankings: Sequence[Ranking],
    *,
    ks: Sequence[int],
) -> list[dict[str, float]]:
    """Return the measures of each question, those that are defined for it.

    Args:
        questions: The questions.
        rankings: What a system found for them, in the same order.
        ks: Places at which rankings are cut, each once.
    """
    found = _standard(questions, rankings, ks)
    for question, ranking, values in zip(questions, rankings, found, strict=True):
        for k in ks:
            values[f"all_recall@{k}"] = float(values[f"recall@{k}"] >= 1)
        values.update(_chunks(question, ranking.chunks, ks))
        values.update(_sentences(question, ranking))
    return found


def _standard(
    questions: Sequence[RetrievalQuestion],
    rankings: Sequence[Ranking],
    ks: Sequence[int],
) -> list[dict[str, float]]:
    """Return what ir-measures says; a question for which nothing was found has 0."""
    import ir_measures

    names = {f"R@{k}": f"recall@{k}" for k in ks}
    names |= {f"P@{k}": f"precision@{k}" for k in ks}
    names |= {f"nDCG@{k}": f"ndcg@{k}" for k in ks}
    names["RR"] = "mrr"
    measures = {ir_measures.parse_measure(each): name for each, name in names.items()}
    truth, run = {}, {}
    for place, (question, ranking) in enumerate(zip(questions, rankings, strict=True)):
        truth[str(place)] = {
            name: question.grade(name) for name in question.gold_documents
        }
        if ranking.documents:
            run[str(place)] = {
                document.id: -float(rank)
                for rank, document in enumerate(ranking.documents)
            }
    found = [dict.fromkeys(names.values(), 0.0) for _ in questions]
    if run:
        for metric in ir_measures.iter_calc(list(measures), truth, run):
            found[int(metric.query_id)][measures[metric.measure]] = float(metric.value)
    return found


def _chunks(
    question: RetrievalQuestion, chunks: Sequence[ReturnedChunk], ks: Sequence[int]
) -> Mapping[str, float]:
    """Return how the chunks of a ranking meet the gold stretches."""
    gold = [(g.document, g.first, g.last) for g in question.gold_chunks] or [
        (g.document, g.sentence, g.sentence) for g in question.gold_sentences
    ]
    if not gold:
        return {}
    touched = [
        [
            chunk.document == document and chunk.first <= last and first <= chunk.last
            for document, first, last in gold
        ]
        for chunk in chunks
    ]
    found = {}
    for k in ks:
        top = touched[:k]
        hit = sum(any(row[place] for row in top) for place in range(len(gold)))
        found[f"chunk_recall@{k}"] = hit / len(gold)
        found[f"chunk_precision@{k}"] = sum(any(row) for row in top) / k
    return found


def _sentences(question: RetrievalQuestion, ranking: Ranking) -> Mapping[str, float]:
    """Return how the returned sentences meet the gold ones."""
    gold = {(g.document, g.sentence) for g in question.gold_sentences}
    if not gold:
        return {}
    returned = {(s.document, s.sentence) for s in ranking.sentences}
    right = len(gold & returned)
    precision = right / len(returned) if returned else 0.0
    recall = right / len(gold)
    both = precision + recall
    return {
        "sentence_precision": precision,
        "sentence_recall": recall,
        "sentence_f1": 2 * precision * recall / both if both else 0.0,
    }

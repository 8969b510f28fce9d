"""Questions, rankings and an evaluation that tests of reports use."""

from __future__ import annotations

from knowtrail.eval.retrieval.dataset import (
    GoldSentence,
    Passage,
    RankedDocument,
    Ranking,
    RetrievalDataset,
    RetrievalQuestion,
    ReturnedChunk,
    ReturnedSentence,
    WalkStep,
)

PASSAGES = tuple(
    Passage(id=name, title=name.title(), text=f"About {name}. It is one.")
    for name in ("ash", "birch", "cedar", "<elm>")
)


def question(name: str, *gold: str, sentences: int = 0) -> RetrievalQuestion:
    """Return a question whose gold are passages, and their first sentences."""
    return RetrievalQuestion(
        id=name,
        text=f"Which tree is {name}?",
        gold_documents=gold,
        gold_sentences=tuple(
            GoldSentence(document=each, sentence=number)
            for each in gold
            for number in range(sentences)
        ),
    )


def ranking(*names: str, milliseconds: float = 1.0, walk: bool = False) -> Ranking:
    """Return passages in an order, the last one filled, with their first sentences."""
    return Ranking(
        documents=tuple(
            RankedDocument(id=name, score=1 / (place + 1), filled=place == 3)
            for place, name in enumerate(names)
        ),
        chunks=tuple(
            ReturnedChunk(document=name, first=0, last=1, score=1.0) for name in names
        ),
        sentences=tuple(
            ReturnedSentence(document=name, sentence=0, text=f"About {name}.")
            for name in names
        ),
        milliseconds=milliseconds,
        steps=(WalkStep(document=names[0], hop=0, score=0.5),) if walk else (),
        stop_reason="early_stop" if walk else "",
    )


def dataset(*questions: RetrievalQuestion) -> RetrievalDataset:
    """Return a data set of the passages."""
    return RetrievalDataset(
        name="trees", kind="jsonl", passages=PASSAGES, questions=questions
    )

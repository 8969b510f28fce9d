"""Passages that answer, gathered by research, beside one search and one `ask`.

MuSiQue-100's development half. Research walks as often as its budget says; one search
of the same question, by `auto` and by cosines alone, is given as many passages as
research read for it, one `ask` as many sentences as its walks found. Shown are the
share of gold passages, the questions with all of them, and the tokens of all passages,
four characters a token; of research and `ask` also their claims, and how many of these
have a sentence among those that they cite with a cosine of 0.6 or more. A claim without
a model is its sentence. With `--model` both write in its words, for the first questions
only, and its own tokens are told too.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Table, served, warmed

from knowtrail.eval.datasets import load_dataset
from knowtrail.eval.retrieval.bench import open_bench
from knowtrail.eval.retrieval.dataset import Unit, halves
from knowtrail.eval.statistics import bootstrap_interval
from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.models.embedders import embed_texts, load_embedder
from knowtrail.graph.models.language_models import model_at_hand
from knowtrail.graph.settings import DEFAULT_EMBEDDER, Settings
from knowtrail.ingest.extraction.stored_knowledge import SUPPORT
from knowtrail.ingest.sentences import split_sentences
from knowtrail.retrieval.ask import ask
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.research.run import research
from knowtrail.retrieval.search import search
from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.source import CorpusSource

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from measure import Server

    from knowtrail.eval.retrieval.bench import Bench
    from knowtrail.eval.retrieval.dataset import RetrievalQuestion
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.ask import Answer
    from knowtrail.retrieval.research.report import ResearchReport

    Stored = tuple[Server, Bench, Embedder, list[RetrievalQuestion]]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BUDGETS = (1, 4, 10)
CHARS_PER_TOKEN = 4
OURS = {"research": "research", "ask": "one `ask`"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data")
    parser.add_argument("--model", help="a language model, for --questions of them")
    parser.add_argument("--questions", type=int, default=5, help="with a model (5)")


@contextmanager
def stored_musique(data: Path, *, small: bool) -> Iterator[Stored]:
    """Yield MuSiQue-100 on a server, with the questions of its development half."""
    files = [data / "musique" / f"musique_train{end}.json" for end in ("", "_corpus")]
    embedder = warmed(load_embedder(Settings.from_env().embedder or DEFAULT_EMBEDDER))
    with served() as server:
        apply_schema(server.connection, dimensions=len(embedder.embed_query("a")))
        dataset = load_dataset("musique", files, contexts="items")
        bench = open_bench(
            dataset,
            server.connection,
            embedder,
            settings=server.settings,
            unit=Unit(),
            record=False,
        )
        source = CorpusSource(server.connection, bench.corpus.name)
        build_snapshot(server.settings.home, source)  # the same walks, with less work
        development, _ = halves(len(dataset.questions))
        questions = [dataset.questions[at] for at in development]
        yield server, bench, embedder, questions[:5] if small else questions


class Gathered:
    """What a side read for each question, and what it claimed."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.shares: list[float] = []
        self.tokens: list[float] = []
        self.passages: list[int] = []
        self.claims: list[int] = []
        self.held: list[float] = []

    def add(self, question: RetrievalQuestion, chunks: Sequence[str]) -> None:
        """Take note of the chunks that were read for a question."""
        found = [self._bench.chunks[chunk].document for chunk in dict.fromkeys(chunks)]
        texts = (self._bench.by_id[passage].text for passage in found)
        gold = set(question.gold_documents)
        self.shares.append(100 * len(gold & set(found)) / len(gold))
        self.tokens.append(sum(map(len, texts)) / CHARS_PER_TOKEN)
        self.passages.append(len(found))

    def claim(
        self, embedder: Embedder, claims: Sequence[tuple[str, Sequence[str]]]
    ) -> None:
        """Take note of claims, each with the sentences that it cites."""
        self.claims.append(len(claims))
        held = [supported(embedder, *claim) for claim in claims]
        self.held += [100 * fmean(held)] if held else []

    def cells(self) -> tuple[str, ...]:
        """Return share, questions answered whole, passages, tokens and claims."""
        return (
            told(self.shares),
            told([100.0 * (one == 100) for one in self.shares]),
            f"{fmean(self.passages):.1f}",
            f"{fmean(self.tokens):,.0f}",
            f"{fmean(self.claims):.1f}" if self.claims else "-",
            told(self.held) if self.held else "-",
        )


def told(values: Sequence[float]) -> str:
    """Return a mean with its interval."""
    share = bootstrap_interval(values)
    return f"{share.value:.1f} [{share.low:.1f}, {share.high:.1f}]"


def supported(embedder: Embedder, claim: str, sentences: Sequence[str]) -> bool:
    """Return whether a sentence is near enough to a claim to support it."""
    if not sentences or claim in sentences:
        return bool(sentences)
    vectors = embed_texts(embedder, [claim, *sentences]).astype(np.float64)
    return float(cosines(vectors[0], vectors[1:]).max()) >= SUPPORT


def reported(report: ResearchReport) -> list[tuple[str, list[str]]]:
    """Return the claims of a report with their sentences, doubtful ones too."""
    texts = {source.number: source.text for source in report.sources}
    said = [*(one for _, part in report.parts for one in part), *report.doubtful]
    return [(one.text, [texts[n] for n in one.numbers]) for one in said]


def answered(answer: Answer) -> list[tuple[str, list[str]]]:
    """Return the sentences of an answer with all that it cites."""
    cited = [sentence.text for sentence in answer.citations]
    if answer.model is None:
        return [(text, [text]) for text in cited]
    return [
        (answer.text[span.start : span.end], cited)
        for span in split_sentences(answer.text)
    ]


def sentences_read(server: Server, report: ResearchReport) -> int:
    """Return how many sentences the walks of research found, each once."""
    walks = [question["traversal"] for question in report.questions]
    (row,) = server.connection.query(
        "MATCH (t:Traversal)-[:FIRST_STEP]->()-[:NEXT_STEP]->*()-[:PICKED]->(s) "
        "WHERE t.id IN $walks RETURN count(DISTINCT s) AS n",
        {"walks": walks},
    )
    return max(1, int(row["n"]))


def ask_both(
    server: Server, question: str, given: Mapping[str, Any], budget: int
) -> tuple[ResearchReport, Answer]:
    """Return research, and one answer that may read as many sentences."""
    report = research(server.connection, question, budget=budget, **given)
    most = sentences_read(server, report)
    answer = ask(server.connection, question, max_sentences=most, **given)
    return report, answer


def measured(
    stored: Stored, budget: int, model: LanguageModel | None
) -> dict[str, Gathered]:
    """Ask all questions with a budget, and return what each side gathered."""
    server, bench, embedder, questions = stored
    given: dict[str, Any] = {
        "embedder": embedder,
        "corpus": bench.corpus.name,
        "settings": server.settings,
    }
    names = ("research", "ask", *(() if model else ("auto", "basic_retrieval")))
    sides = {name: Gathered(bench) for name in names}
    for question in questions:
        both = given | {"model": model}
        report, answer = ask_both(server, question.text, both, budget)
        sides["research"].add(question, report.chunks)
        sides["research"].claim(embedder, reported(report))
        sides["ask"].add(question, [step.chunk.id for step in answer.walk.steps])
        sides["ask"].claim(embedder, answered(answer))
        for name in names[2:]:
            most = {"algorithm": name, "k": len(report.chunks)}
            hits = search(server.connection, question.text, **given, **most).hits
            sides[name].add(question, [hit.chunk.id for hit in hits])
    return sides


def run(given: argparse.Namespace) -> None:
    """Store the passages, ask all questions, and print the table."""
    columns = ("side", "budget", "gold found", "all found", "passages", "tokens")
    more = ("claims", "supported")
    model = given.model and model_at_hand(
        replace(Settings.from_env(), language_model=given.model)
    )
    with stored_musique(given.data, small=given.small) as stored:
        server, bench, embedder, questions = stored
        asked = questions[: given.questions] if model else questions
        table = Table(
            f"Gold passages of {len(asked)} questions of MuSiQue-100, percent",
            (*columns, *more),
        )
        for budget in BUDGETS[:2] if given.small else BUDGETS:
            sides = measured((server, bench, embedder, asked), budget, model)
            for name, side in sides.items():
                told = OURS.get(name, f"one search by `{name}`")
                table.add(told, str(budget), *side.cells())
        table.print(server)

"""How much of what a broad question needs is in the answer of `auto`.

Thirty questions of our own over the articles of the quickstart and a piece of English
Wikipedia, none with a name of a person in it that leads to the answer at once. Each
lists the documents and the facts that a good answer has; a fact is a pattern that one
sentence of the answer must match. Shown is the share of both in ten sentences, by the
development half, which constants were chosen on, and the test half, which was looked at
once. "before" is the same walk without documents in turn. `research` without a model
may cite twelve sentences, after ten walks; beside it are `auto` with as many sentences,
and one `ask` that may read as many as those walks found. Tokens are the passages that
were read, four characters a token.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Table, served, warmed
from research import CHARS_PER_TOKEN, ask_both

from knowtrail.eval.statistics import bootstrap_interval
from knowtrail.graph.models.embedders import load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER, Settings
from knowtrail.ingest.bundled import bundled_source
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.retrieval.algorithms.auto import Ablation, Auto
from knowtrail.retrieval.algorithms.basic_retrieval import BasicRetrieval
from knowtrail.retrieval.driving import run as drive
from knowtrail.retrieval.protocols import WalkOptions
from knowtrail.retrieval.readers import CypherReader

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from measure import Server

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.retrieval.walk import Trail, Walk

    Read = tuple[list[tuple[str, str]], float]
    Share = tuple[float, float, int, float]

QUESTIONS = Path(__file__).with_name("broad_questions.jsonl")
DUMP = (
    Path(__file__).resolve().parents[2]
    / "shared/data/wikipedia"
    / "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
)
SYSTEMS = {
    "cosines alone (`basic_retrieval`)": BasicRetrieval(),
    "before": Auto(parts=Ablation(spread=False, words=False)),
    "without the place for words": Auto(parts=Ablation(words=False)),
    "**auto**": Auto(),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--dump", type=Path, default=DUMP, help="piece of Wikipedia")
    parser.add_argument("--sentences", type=int, default=10, help="budget (10)")


def read(trail: Trail) -> list[tuple[str, str]]:
    """Return title and text of every sentence that a walk found."""
    return [(step.chunk.title, s.text) for step in trail.steps for s in step.sentences]


def tokens(trail: Trail | Walk) -> float:
    """Return the tokens of all passages of a walk."""
    texts = {step.chunk.id: step.chunk.text for step in trail.steps}
    return sum(map(len, texts.values())) / CHARS_PER_TOKEN


def covered(
    question: dict[str, Any], sentences: list[tuple[str, str]], tokens: float
) -> Share:
    """Return the shares of documents and facts in an answer, its sentences, tokens."""
    titles = {title for title, _ in sentences}
    texts = [text for _, text in sentences]
    facts = [
        any(re.search(fact, text, re.IGNORECASE) for text in texts)
        for fact in question["facts"]
    ]
    documents = [title in titles for title in question["documents"]]
    return (
        100 * float(np.mean(documents)),
        100 * float(np.mean(facts)),
        len(sentences),
        tokens,
    )


def told(values: Iterable[float]) -> str:
    """Return a mean with its interval."""
    numbers = list(values)
    interval = bootstrap_interval(numbers)
    return f"{interval.value:.0f} [{interval.low:.0f}, {interval.high:.0f}]"


def _answers(
    server: Server,
    embedder: Embedder,
    questions: list[dict[str, Any]],
    corpus: str,
    most: int,
) -> dict[str, dict[str, Share]]:
    """Return what each system's answer has, by system and id of the question."""
    reader = CypherReader(server.connection, corpus=corpus)

    def walked(system: Any, asked: str, most: int) -> Read:
        options = WalkOptions(question=asked, max_sentences=most)
        query = np.array(embedder.embed_query(asked))
        trail = drive(reader, system.walk(query, options))
        return read(trail), tokens(trail)

    given = {"embedder": embedder, "corpus": corpus, "settings": server.settings}
    found: dict[str, dict[str, Share]] = {}
    for one in questions:
        asked = one["question"]
        answers = {name: walked(it, asked, most) for name, it in SYSTEMS.items()}
        report, answer = ask_both(server, asked, given, 10)
        cited = [(source.title, source.text) for source in report.sources]
        rows = server.connection.query(
            "MATCH (c:Chunk) WHERE c.id IN $ids RETURN sum(size(c.text)) AS size",
            {"ids": report.chunks},
        )
        answers["`research` without a model"] = cited, rows[0]["size"] / CHARS_PER_TOKEN
        answers["`auto`, as many sentences"] = walked(Auto(), asked, len(cited))
        titles = {
            s.id: step.chunk.title for step in answer.walk.steps for s in step.sentences
        }
        said = [(titles[s.id], s.text) for s in answer.citations]
        answers["one `ask`, as much read"] = said, tokens(answer.walk)
        for name, (sentences, cost) in answers.items():
            found.setdefault(name, {})[one["id"]] = covered(one, sentences, cost)
    return found


def run(given: argparse.Namespace) -> None:
    """Ingest both corpora, ask all questions, and print the table."""
    questions = [json.loads(line) for line in QUESTIONS.open(encoding="utf-8")]
    embedder = warmed(load_embedder(Settings.from_env().embedder or DEFAULT_EMBEDDER))
    table = Table(
        "What a broad question needs, percent of it in the answer (95 % intervals)",
        ("system", "corpus", "half", "n", "documents", "facts", "sentences", "tokens"),
    )
    every: dict[str, list[Share]] = {}
    with served() as server, bundled_source() as bundled:
        sources = {"quickstart": bundled}
        if not given.small:
            sources["enwiki"] = DumpSource([given.dump])
        for corpus, source in sources.items():
            ingest_corpus(
                server.connection,
                [source],
                corpus=corpus,
                embedder=embedder,
                settings=server.settings,
                options=IngestOptions(themes="none"),
            )
            asked = [one for one in questions if one["corpus"] == corpus]
            answers = _answers(server, embedder, asked, corpus, given.sentences)
            for name, found in answers.items():
                every.setdefault(name, []).extend(found.values())
                for half in ("development", "test"):
                    shares = [found[one["id"]] for one in asked if one["half"] == half]
                    table.add(name, corpus, half, *_cells(shares))
        for name, shares in every.items():
            table.add(name, "all", "both", *_cells(shares))
        table.print(server)


def _cells(shares: list[Share]) -> tuple[str, ...]:
    documents, facts, numbers, cost = zip(*shares, strict=True)
    row = (str(len(shares)), told(documents), told(facts), f"{np.mean(numbers):.1f}")
    return (*row, f"{np.mean(cost):,.0f}")

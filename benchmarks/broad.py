"""How much of what a broad question needs is in the answer of `auto`.

Thirty questions of our own over the articles of the quickstart and a piece of English
Wikipedia, none with a name of a person in it that leads to the answer at once. Each
lists the documents and the facts that a good answer has; a fact is a pattern that one
sentence of the answer must match. Shown is the share of both in ten sentences, by the
development half, which constants were chosen on, and the test half, which was looked at
once. "before" is the same walk without documents in turn.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Table, served, warmed

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

    from knowtrail.retrieval.walk import Trail

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


def covered(question: dict[str, Any], trail: Trail) -> tuple[float, float, int]:
    """Return the shares of documents and facts in an answer, and its hops."""
    steps = [step for step in trail.steps if step.sentences]
    titles = {step.chunk.title for step in steps}
    texts = [sentence.text for step in steps for sentence in step.sentences]
    facts = [
        any(re.search(fact, text, re.IGNORECASE) for text in texts)
        for fact in question["facts"]
    ]
    documents = [title in titles for title in question["documents"]]
    return (
        100 * float(np.mean(documents)),
        100 * float(np.mean(facts)),
        sum(step.hop > 0 for step in steps),
    )


def told(values: Iterable[float]) -> str:
    """Return a mean with its interval."""
    numbers = list(values)
    interval = bootstrap_interval(numbers)
    return f"{interval.value:.0f} [{interval.low:.0f}, {interval.high:.0f}]"


def run(given: argparse.Namespace) -> None:
    """Ingest both corpora, ask all questions, and print the table."""
    questions = [json.loads(line) for line in QUESTIONS.open(encoding="utf-8")]
    embedder = warmed(load_embedder(Settings.from_env().embedder or DEFAULT_EMBEDDER))
    table = Table(
        "What a broad question needs, percent of it in the answer (95 % intervals)",
        ("system", "corpus", "half", "n", "documents", "facts", "hops"),
    )
    with served() as server, bundled_source() as bundled:
        sources = {"quickstart": bundled}
        if not given.small:
            sources["enwiki"] = DumpSource(given.dump)
        for corpus, source in sources.items():
            ingest_corpus(
                server.connection,
                [source],
                corpus=corpus,
                embedder=embedder,
                settings=server.settings,
                options=IngestOptions(themes="none"),
            )
            reader = CypherReader(server.connection, corpus=corpus)
            for name, system in SYSTEMS.items():
                for half in ("development", "test"):
                    asked = [
                        one
                        for one in questions
                        if (one["corpus"], one["half"]) == (corpus, half)
                    ]
                    found = []
                    for one in asked:
                        options = WalkOptions(
                            question=one["question"], max_sentences=given.sentences
                        )
                        query = np.array(embedder.embed_query(one["question"]))
                        trail = drive(reader, system.walk(query, options))
                        found.append(covered(one, trail))
                    documents, facts, hops = zip(*found, strict=True)
                    row = (told(documents), told(facts), f"{np.mean(hops):.1f}")
                    table.add(name, corpus, half, str(len(asked)), *row)
        table.print(server)

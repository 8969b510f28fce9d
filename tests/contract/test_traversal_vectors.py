"""The preset `published` walks as recorded runs of the published code did.

The folder is `KNOWTRAIL_VECTORS`, or else the shared one; every `graph*.json` and
`llm_guided*.json` below its `traversal` is read (of a folder that is itself so named,
every one in it). A graph is loaded with one sentence node for each text, the first, as
the code looks texts up.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.graph.models.language_models import ModelReply
from knowtrail.retrieval.algorithms import algorithm
from knowtrail.retrieval.algorithms.rules import PUBLISHED
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.protocols import StoredSentence, WalkOptions
from knowtrail.retrieval.walk import ChunkText
from tests.cases import each
from tests.conftest import SHARED
from tests.memory_reader import MemoryGraph, MemoryReader

if TYPE_CHECKING:
    from knowtrail.retrieval.walk import Trail

TOLERANCE = 1e-6


def _folder() -> Path:
    """Return where the vectors are."""
    given = os.environ.get("KNOWTRAIL_VECTORS")
    root = Path(given) if given else SHARED / "vectors"
    return root / "traversal" if (root / "traversal").is_dir() else root


pytestmark = pytest.mark.skipif(
    not (
        _folder().is_dir() or os.environ.get("CI") or "KNOWTRAIL_VECTORS" in os.environ
    ),
    reason=f"put the vectors at {_folder()}, or name their folder in KNOWTRAIL_VECTORS",
)


@cache
def _loaded(path: Path) -> dict[str, Any]:
    """Return a file of vectors."""
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return data


def _walks() -> list[tuple[Path, int, str]]:
    """Return every recorded run of a graph that may be asserted on."""
    return [
        (path, number, name)
        for path in sorted(_folder().glob("graph*.json"))
        for number, query in enumerate(_loaded(path)["queries"])
        for name in query["results"]
        if query["query"] not in _loaded(path).get("fragile", {}).get(name, ())
    ]


def _guided() -> list[tuple[Path, int]]:
    """Return every recorded run with a scripted model whose graph is there."""
    return [
        (path, number)
        for path in sorted(_folder().glob("llm_guided*.json"))
        for number, case in enumerate(_loaded(path)["cases"])
        if _graph(path, case).exists()
    ]


def _graph(path: Path, case: dict[str, Any]) -> Path:
    """Return the file of the graph of a case."""
    return path.parent / f"{case['graph']}.json"


def _sentences(data: dict[str, Any]) -> list[StoredSentence]:
    """Return the sentence nodes in their order."""
    vectors = {
        (document["title"], sentence["index"]): sentence["embedding"]
        for document in data["documents"]
        for sentence in document["sentences"]
    }
    return [
        StoredSentence(
            id=node["sentence_id"],
            text=node["text"],
            index=node["sentence_index"],
            start_char=0,
            end_char=0,
            vector=np.array(
                vectors[node["document"], node["sentence_index"]], dtype=np.float64
            ),
        )
        for node in data["sentence_nodes"]
    ]


@cache
def _reader(path: Path) -> MemoryReader:
    """Return a reader of the graph of a file."""
    data = _loaded(path)
    nodes = _sentences(data)
    first = {node.text: node for node in reversed(nodes)}
    of_id = {node.id: first[node.text] for node in nodes}
    chunks = tuple(
        ChunkText(
            id=chunk["chunk_id"],
            text=chunk["text"],
            index=number,
            first_sentence=min(chunk["sentence_indices"]),
            last_sentence=max(chunk["sentence_indices"]),
            start_char=0,
            end_char=0,
            document_id=chunk["document"],
            title=chunk["document"],
        )
        for number, chunk in enumerate(data["chunks"])
    )
    graph = MemoryGraph(
        chunks=chunks,
        vectors=np.array([c["embedding"] for c in data["chunks"]], dtype=np.float64),
        sentences={
            chunk["chunk_id"]: tuple(of_id[i] for i in chunk["sentence_ids"])
            for chunk in data["chunks"]
        },
        edges={
            chunk["chunk_id"]: (
                *chunk["intra_doc_connections"],
                *chunk["inter_doc_connections"],
            )
            for chunk in data["chunks"]
        },
        loose=tuple(nodes),
    )
    return MemoryReader(graph)


def _published(data: dict[str, Any], name: str) -> tuple[Any, WalkOptions]:
    """Return an algorithm and its options with a file's parameters."""
    given = data["parameters"]
    rules = replace(
        PUBLISHED,
        early_stop=given["enable_early_stopping"],
        enough=given["min_sentence_threshold"],
    )
    if name == "basic_retrieval":
        rules = replace(rules, enough=None)
    more = {}
    if name == "llm_guided_traversal":
        more = {"candidates": given.get("llm_top_k_candidates", 5)}
    options = WalkOptions(
        max_sentences=given["max_results"], max_hops=given["max_safety_hops"]
    )
    walker: Any = algorithm(name, published=True)
    return replace(walker, rules=rules, **more), options


def _found(trail: Trail) -> list[str]:
    """Return the texts of the sentences of a walk."""
    return [s.text for step in trail.steps for s in step.sentences]


def _stops(name: str, trail: Trail, data: dict[str, Any]) -> set[str]:
    """Return the stop reason as the vectors may name it.

    They have their reasons from log lines: `kg_traversal` stops early as all do, and a
    chunk without edges is a dead end of either name.
    """
    if name == "kg_traversal" and trail.stop_reason == "no_more_similar":
        return {"early_stop"}
    last = trail.steps[-1].chunk.id
    edges = next(
        c["intra_doc_connections"] + c["inter_doc_connections"]
        for c in data["chunks"]
        if c["chunk_id"] == last
    )
    ends = {"no_connections", "no_unvisited_chunk"}
    if trail.stop_reason in ends and not edges:
        return ends
    return {trail.stop_reason}


@each(("path", "number", "name"), _walks())
def test_a_published_walk_is_reproduced(path: Path, number: int, name: str) -> None:
    """Anchor, path, sentences, stop reason and scores are those recorded."""
    data = _loaded(path)
    query = data["queries"][number]
    expected = query["results"][name]
    walker, options = _published(data, name)

    trail = run(_reader(path), walker.walk(np.array(query["embedding"]), options))

    visited = [step.chunk.id for step in trail.steps]
    scores = [s.score for step in trail.steps for s in step.sentences]
    assert visited == expected["visited_chunks"]
    assert expected["anchor"] in {None, visited[0]}
    assert _found(trail) == expected["sentences"]
    assert expected["stop_reason"] in _stops(name, trail, data)
    assert scores == pytest.approx(expected["confidence_scores"], abs=TOLERANCE)
    assert (trail.score or 0.0) == pytest.approx(expected["final_score"], abs=TOLERANCE)
    assert "pca_explained_variance" not in expected or trail.counts[
        "explainedVariance"
    ] == pytest.approx(expected["pca_explained_variance"], abs=TOLERANCE)


class Scripted:
    """A model that answers as it is told, and keeps what it was asked."""

    def __init__(self, replies: list[str]) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    def reply(self, prompt: str, **_: Any) -> ModelReply:
        """Return the next answer."""
        self.prompts.append(prompt)
        text = self.replies.pop(0)
        return ModelReply(error="down") if text == "RAISE" else ModelReply(text=text)


@each(("path", "number"), _guided())
def test_a_published_guided_walk_is_reproduced(path: Path, number: int) -> None:
    """Path, sentences, calls, what each call showed and the score are as recorded."""
    case = _loaded(path)["cases"][number]
    graph = _graph(path, case)
    data = _loaded(graph)
    embedding = next(
        q["embedding"] for q in data["queries"] if q["query"] == case["query"]
    )
    walker, options = _published(data, "llm_guided_traversal")
    options = replace(options, question=case["query"])
    model: Any = Scripted(case["replies"])

    trail = run(_reader(graph), walker.walk(np.array(embedding), options), model)

    shown = [
        [line.split("[")[1].split("]")[0] for line in call["candidate_lines"]]
        for call in case["calls"]
    ]
    counts = trail.counts
    assert [step.chunk.id for step in trail.steps] == case["path"]
    assert _found(trail) == case["sentences"]
    assert (trail.stop_reason == "model_stopped") == case["llm_stopped"]
    assert (
        counts.get("modelCalls", 0) - counts.get("unanswered", 0) == case["llm_calls"]
    )
    assert [_ids(prompt) for prompt in model.prompts] == shown
    assert trail.score == pytest.approx(case["final_score"], abs=TOLERANCE)


def _ids(prompt: str) -> list[str]:
    """Return the ids of the chunks that a prompt shows, in order."""
    return [
        line.split("[")[1].split("]")[0]
        for line in prompt.splitlines()
        if line[:1].isdigit() and "] similarity " in line
    ]

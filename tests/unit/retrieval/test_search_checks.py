"""What a search checks before it asks any server, and how results are shown."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from click.testing import CliRunner

from knowtrail.eval.retrieval.bench import corpus_name
from knowtrail.eval.retrieval.dataset import RetrievalDataset, Unit
from knowtrail.graph.blocking import at_once
from knowtrail.graph.errors import (
    CorpusDriftError,
    FilterError,
    InputError,
    KnowtrailError,
    UnknownAlgorithmError,
    UnknownCorpusError,
    VectorError,
)
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.cli.traverse import _found as _as_dict
from knowtrail.retrieval.cli.traverse import search as command
from knowtrail.retrieval.corpora import (
    CorpusInfo,
    Ground,
    agreed_embedder,
    pick_corpus,
    question_vector,
)
from knowtrail.retrieval.display import show_result, stop_text
from knowtrail.retrieval.driving import Answering
from knowtrail.retrieval.questions import Task, check_question
from knowtrail.retrieval.readers.opening import OpenReader
from knowtrail.retrieval.search import SearchResult, asearched
from knowtrail.retrieval.walk import StopReason
from tests.cases import each
from tests.conformance import random_graph, random_query
from tests.memory_reader import MemoryReader


def info(name: str, **fields: Any) -> CorpusInfo:
    """Return a stored corpus."""
    known = {"embedder": "hash:8", "query_prompt": "", "dimensions": 8}
    return CorpusInfo(name=name, **{**known, **fields})


def found_by(task: Task) -> SearchResult:
    """Run a search in memory."""
    reader = MemoryReader(random_graph(5), filter=task.filter)
    start = Ground(corpus=info("small"), query=random_query(5))
    opened = OpenReader(reader=Answering(reader), name="memory")
    return at_once(asearched(opened, start, task, blocks=True))


@each(
    ("question", "arguments", "error"),
    [
        ("", {}, InputError),
        ("   ", {}, InputError),
        (None, {}, InputError),
        ("x" * 10_001, {}, InputError),
        ("x" * 100_000, {}, InputError),
        ("x\udcff", {}, InputError),
        ("x", {"preset": "seed"}, InputError),
        ("x", {"reader": "disk"}, InputError),
        ("x", {"k": 0}, InputError),
        ("x", {"k": True}, InputError),
        ("x", {"k": 10**6}, InputError),
        ("x", {"max_hops": -1}, InputError),
        ("x", {"granularity": "page"}, InputError),
        ("x", {"algorithm": "nope"}, UnknownAlgorithmError),
        ("x", {"filter": {"nope": 1}}, FilterError),
    ],
)
def test_a_mistake_is_told_before_the_database_is_asked(
    question: Any, arguments: dict[str, Any], error: type[KnowtrailError]
) -> None:
    """Each wrong argument has its error."""
    with pytest.raises(error):
        check_question(question, **arguments)


def test_the_longest_question_is_taken() -> None:
    """Ten thousand characters are allowed."""
    assert len(check_question("x" * 10_000).question) == 10_000


def test_the_only_corpus_need_not_be_named() -> None:
    """A name is wanted where there are several, and must be one that is stored."""
    assert pick_corpus([info("a")], None).name == "a"
    assert pick_corpus([info("a"), info("b")], "b").name == "b"
    with pytest.raises(InputError, match="name one of a, b"):
        pick_corpus([info("a"), info("b")], None)
    with pytest.raises(UnknownCorpusError, match="did you mean 'enwiki'"):
        pick_corpus([info("enwiki"), info("b")], "enwki")
    with pytest.raises(UnknownCorpusError, match="knowtrail ingest"):
        pick_corpus([], "a")


def test_corpora_of_evaluations_are_asked_by_name() -> None:
    """What `eval retrieval` makes of a data set is not what a question means."""
    passages = RetrievalDataset(name="a", kind="b", passages=(), questions=())
    made = corpus_name(passages, Unit(), "hash:32")
    stored = [info(made), info("eval-notes"), info(f"{made}x")]

    assert pick_corpus([info(made), info("a")], None).name == "a"
    assert pick_corpus(stored[:2], None).name == "eval-notes"
    assert pick_corpus(stored, made).name == made
    with pytest.raises(InputError, match=f"name one of {made}"):
        pick_corpus([info(made)], None)
    with pytest.raises(InputError, match=f"name one of eval-notes, {made}x"):
        pick_corpus(stored, None)


def test_the_embedder_must_be_the_corpus_s() -> None:
    """Name and query prompt must agree."""
    embedder = HashEmbedder(8)
    assert agreed_embedder(info("a"), embedder, None) is embedder
    with pytest.raises(CorpusDriftError, match="'minilm'"):
        agreed_embedder(info("a", embedder="minilm"), embedder, None)
    with pytest.raises(CorpusDriftError, match="query prompt"):
        agreed_embedder(info("a", query_prompt="ask: "), embedder, None)


def test_without_an_embedder_the_right_one_is_found() -> None:
    """The settings' embedder if it is the corpus's, else the one the corpus names."""
    hashed = Settings(embedder="hash:8")
    assert isinstance(agreed_embedder(info("a"), None, hashed), HashEmbedder)
    assert isinstance(
        agreed_embedder(info("a", embedder="hash:8"), None, None), HashEmbedder
    )
    with pytest.raises(CorpusDriftError, match="'minilm'"):
        agreed_embedder(info("a", embedder="minilm"), None, hashed)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([0.0] * 8, VectorError),
        ([float("nan")] * 8, VectorError),
        ([], VectorError),
        ([[1.0]], VectorError),
        ([1.0] * 9, CorpusDriftError),
    ],
)
def test_a_useless_vector_is_refused(values: Any, error: type[KnowtrailError]) -> None:
    """Zero, not finite, or of another length than the corpus's vectors."""
    with pytest.raises(error):
        question_vector(values, info("a"))


def test_every_stop_reason_has_words() -> None:
    """No reason is left to the reader's guess."""
    texts = [stop_text(reason) for reason in get_args(StopReason)]

    assert len(set(texts)) == len(texts)


def test_the_table_shows_walk_and_sentences() -> None:
    """Steps, titles, scores and each sentence are written."""
    result = found_by(check_question("What is said?", max_sentences=5))
    file = io.StringIO()

    show_result(result, file)

    text = file.getvalue()
    assert f"{len(result.walk.steps)} steps" in text
    assert all(step.chunk.title in text for step in result.walk.steps)
    assert all(f"({s.score:.3f})" in text for s in result.walk.sentences)


def test_documents_of_one_title_are_told_apart() -> None:
    """Each has a heading of its own, with its id; others have none."""
    found = found_by(check_question("What is said?", k=9))
    hits = tuple(
        replace(hit, chunk=replace(hit.chunk, title="Mercury"))
        if hit.chunk.title != found.hits[0].chunk.title
        else hit
        for hit in found.hits
    )
    others = {h.chunk.document_id for h in hits if h.chunk.title == "Mercury"}
    file = io.StringIO()

    show_result(replace(found, hits=hits), file)

    headings = [x for x in file.getvalue().splitlines() if x.startswith("Mercury  ")]
    assert len(others) > 1
    assert {x.split()[2] for x in headings} == others
    assert f"document {found.hits[0].chunk.document_id}" not in file.getvalue()


def test_filled_sentences_are_marked() -> None:
    """What was added after the walk has a plus."""
    result = found_by(check_question("x", k=12, max_hops=0))
    file = io.StringIO()

    show_result(result, file)

    assert file.getvalue().count(" + ") == sum(
        len(hit.sentences) for hit in result.hits if hit.filled
    )


def test_control_characters_are_not_printed() -> None:
    """A corpus name or text cannot drive the terminal."""
    task = check_question("x")
    found = found_by(task)
    evil = replace(found, walk=replace(found.walk, corpus="a\x1b[2Jb\nc"))
    file = io.StringIO()

    show_result(evil, file)

    assert "\x1b" not in file.getvalue()


def test_json_has_the_walk_and_its_results() -> None:
    """The machine form names stop reason, steps and ranked results."""
    result = found_by(check_question("x", k=6, filter={"language": "en"}))

    data = json.loads(json.dumps(_as_dict(result)))

    assert data["stopReason"] == result.walk.stop_reason
    assert [row["rank"] for row in data["results"]] == [1, 2, 3, 4, 5, 6]
    assert data["parameters"]["filter"] == {"language": "en"}
    assert [len(step["sentences"]) for step in data["steps"]] == [
        len(step.sentences) for step in result.walk.steps
    ]


def test_a_number_that_python_does_not_write_is_refused() -> None:
    """It is told in a line, and not by an error about its digits."""
    with pytest.raises(InputError, match="k is too large a number"):
        check_question("q", k=10**5_000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["q", "--filter", "{a"], "--filter is not JSON"),
        (["q", "--filter", '{"languge": 1}'], "did you mean 'language'"),
        (["q", "--algorithm", "query_travesal"], "did you mean 'query_traversal'"),
        ([" "], "ask something"),
        (["q", "--k", "0"], "k is 0"),
        (["q", "--k", "9" * 4_000], "k is 999"),
        (["q", "--score-threshold", "1.5"], "score_threshold is 1.5"),
        (["q", "--algorithm", "hybrid", "--reader", "snapshot"], "looks for words"),
    ],
)
def test_the_command_refuses_before_a_server_starts(
    arguments: list[str], message: str
) -> None:
    """Mistakes on the command line are told without a server."""
    nowhere = Settings(uri="bolt://127.0.0.1:1")

    ran = CliRunner().invoke(command, arguments, obj=nowhere)

    assert isinstance(ran.exception, InputError)
    assert message in str(ran.exception)


@each(
    "given",
    [
        {"algorithm": "x" * 100_000},
        {"algorithm": ["x"]},
        {"preset": ["x"]},
        {"preset": "x" * 100_000},
        {"reader": "x" * 100_000},
        {"granularity": {"x": "x" * 100_000}},
        {"k": 10**4000},
        {"filter": "x" * 100_000},
        {"filter": {"x" * 100_000: 1}},
        {"filter": {"title": {"x" * 100_000: 1}}},
        {"filter": {"title": {"$eq": ["x" * 100_000]}}},
        {"filter": {"title": {"$like": ["x" * 100_000]}}},
    ],
)
def test_nonsense_is_refused_in_one_short_line(given: Any) -> None:
    """A message repeats the beginning of a value, however long it is."""
    with pytest.raises(InputError) as refused:
        check_question("What is ice?", **given)

    assert len(str(refused.value)) < 500
    assert "\n" not in str(refused.value)

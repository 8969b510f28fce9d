"""Reranking as the last stage of a search."""

from __future__ import annotations

import io
import json
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from knowtrail.graph.blocking import at_once
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.settings import Settings
from knowtrail.graph.telemetry import listening
from knowtrail.retrieval.cli.traverse import _found as _as_dict
from knowtrail.retrieval.cli.traverse import search as command
from knowtrail.retrieval.corpora import CorpusInfo, Ground
from knowtrail.retrieval.display import show_result
from knowtrail.retrieval.driving import Answering
from knowtrail.retrieval.hits import Hit
from knowtrail.retrieval.procedures.registry import keywords
from knowtrail.retrieval.questions import check_question
from knowtrail.retrieval.readers.opening import OpenReader
from knowtrail.retrieval.rerank import LocalReranker
from knowtrail.retrieval.rerank.stage import arerank_hits, stage_of
from knowtrail.retrieval.search import asearched
from knowtrail.retrieval.walk import ChunkText, FoundSentence
from tests.conformance import random_graph, random_query
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.questions import Task
    from knowtrail.retrieval.search import SearchResult

NOWHERE = Settings(uri="bolt://127.0.0.1:1")


def rerank_hits(*given: Any) -> Any:
    """Rerank at once."""
    return at_once(arerank_hits(*given, blocks=True))


class Given(LocalReranker):
    """Gives each text the number that is written in front of it."""

    name = "given"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        self.texts = list(documents)
        return [float(text.split()[0]) for text in documents]


class Backwards(LocalReranker):
    """Puts what came last first, and gives numbers of its own."""

    name = "backwards"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        return [100.0 + place for place in range(len(documents))]


def _hit(
    name: str, score: str, first: int, last: int, *, new: Sequence[int] | None = None
) -> Hit:
    """Return a hit whose chunk covers sentences, of which some are new."""
    found = range(first, last + 1) if new is None else new
    return Hit(
        chunk=ChunkText(
            id=name,
            text=f"{score} {name}",
            index=first,
            first_sentence=first,
            last_sentence=last,
            start_char=0,
            end_char=1,
            document_id="d",
            title="Fox",
        ),
        sentences=tuple(
            FoundSentence(
                id=f"s{n}", text=f"{n}", index=n, start_char=n, end_char=n, score=0.5
            )
            for n in found
        ),
        score=0.1,
        hop=0,
        path=(name,),
    )


def _found(hits: Sequence[Hit]) -> list[tuple[str, list[str]]]:
    return [(hit.chunk.id, [s.id for s in hit.sentences]) for hit in hits]


def _reranked(hits: list[Hit], **options: Any) -> tuple[Hit, ...]:
    stage = stage_of(Given(), 50)
    assert stage is not None
    return rerank_hits(stage, check_question("q", **options), hits)[0]


def _searched(task: Task, reranker: str | LocalReranker) -> SearchResult:
    """Run a search in memory and rerank it."""
    stage = stage_of(reranker, 20, k=task.k)
    assert stage is not None
    small = CorpusInfo(name="small", embedder=None, query_prompt="", dimensions=None)
    start = Ground(corpus=small, query=random_query(5))
    reader = Answering(MemoryReader(random_graph(5)))
    opened = OpenReader(reader=reader, name="memory")
    return at_once(asearched(opened, start, task, stage=stage, blocks=True))


def test_hits_come_in_the_order_of_the_reranker() -> None:
    """Ties go by the chunk's id; the cosine stays beside the new number."""
    hits = [_hit("b", "1", 0, 0), _hit("c", "2", 1, 1), _hit("a", "1", 2, 2)]

    found = _reranked(hits, k=10)

    assert [hit.chunk.id for hit in found] == ["c", "a", "b"]
    assert [hit.rerank_score for hit in found] == [2.0, 1.0, 1.0]
    assert {hit.score for hit in found} == {0.1}


def test_the_whole_chunk_is_scored_not_what_is_new_of_it() -> None:
    """A chunk that overlaps with an earlier one is judged by all of its text."""
    reranker = Given()
    stage = stage_of(reranker, 50)
    assert stage is not None

    rerank_hits(stage, check_question("q"), [_hit("a", "7", 0, 2, new=[2])])

    assert reranker.texts == ["7 a"]


def test_a_shared_sentence_goes_to_the_better_chunk() -> None:
    """Sentences are dealt out anew, so that the best chunk is whole."""
    hits = [_hit("a", "1", 0, 2), _hit("b", "9", 1, 3, new=[3])]

    found = _reranked(hits, k=10)

    assert _found(found) == [("b", ["s1", "s2", "s3"]), ("a", ["s0"])]


def test_a_chunk_of_which_nothing_is_left_is_left_out() -> None:
    """A hit always has a sentence."""
    hits = [_hit("a", "1", 1, 1), _hit("b", "9", 0, 2, new=[0, 2])]

    found = _reranked(hits, k=10)

    assert _found(found) == [("b", ["s0", "s1", "s2"])]


def test_so_many_hits_as_are_wanted() -> None:
    """The cut comes after the reranking."""
    hits = [_hit("a", "1", 0, 0), _hit("b", "2", 1, 1), _hit("c", "3", 2, 2)]

    assert [hit.chunk.id for hit in _reranked(hits, k=2)] == ["c", "b"]


def test_so_many_sentences_as_are_wanted() -> None:
    """Without k the sentence budget holds, and cuts the last hit."""
    hits = [_hit("a", "1", 0, 2), _hit("b", "2", 5, 7), _hit("c", "0", 9, 9)]

    found = _reranked(hits, max_sentences=4)

    assert _found(found) == [("b", ["s5", "s6", "s7"]), ("a", ["s0"])]


def test_sentences_are_reranked_by_their_own_text() -> None:
    """With the granularity of sentences a hit is one."""
    hits = [_hit("a", "x", 3, 3), _hit("a", "x", 8, 8), _hit("a", "x", 5, 5)]

    found = _reranked(hits, granularity="sentence", k=2)

    assert [s for _, s in _found(found)] == [["s8"], ["s5"]]


async def test_the_asynchronous_way_gives_the_same() -> None:
    """Both twins share their order, and are told of by name and number."""
    heard: list[tuple[str, Any]] = []

    def hears(*span: Any) -> AbstractContextManager[None]:
        heard.append(span)
        return nullcontext()

    stage = stage_of(Given(), 50)
    assert stage is not None
    task, hits = check_question("q", k=1), [_hit("a", "1", 0, 0), _hit("b", "2", 1, 1)]

    with listening(hears):
        found, told = await arerank_hits(stage, task, hits)
        assert found == rerank_hits(stage, task, hits)[0]

    assert heard == [("rerank", {"model": "given", "candidates": 2})] * 2
    assert (told.name, told.candidates) == ("given", 2)


def test_nothing_found_stays_nothing() -> None:
    """A filter that nothing passes is no error."""
    assert _reranked([]) == ()


def test_a_broken_reranker_is_found_out() -> None:
    """A number that is none makes no ranking."""
    with pytest.raises(ModelError, match="gave nan for document 0"):
        _reranked([_hit("a", "nan", 0, 0)])


def test_embedding_takes_the_cosines_of_the_walk() -> None:
    """The corpus has the vectors; nothing is embedded a second time."""
    result = _searched(check_question("q", k=8), "embedding")

    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert [hit.rerank_score for hit in result.hits] == scores


def test_more_is_searched_for_than_is_returned() -> None:
    """The reranker chooses from its candidates, not from the best few."""
    result = _searched(check_question("q", k=3), Backwards())

    assert len(result.hits) == 3
    assert result.reranked is not None
    assert result.reranked.candidates > 3
    assert result.walk.parameters["k"] == 3
    assert result.walk.parameters["rerank"] == "backwards"
    assert result.walk.parameters["rerankCandidates"] == 20


def test_so_many_candidates_as_results_at_least() -> None:
    """More results than candidates cannot be."""
    stage = stage_of("bm25", 5, k=12)

    assert stage is not None
    assert stage.candidates == 12


def test_no_reranker_no_stage() -> None:
    """The number alone means nothing."""
    assert stage_of(None, 0) is None


@pytest.mark.parametrize("number", [0, -1, 1001, 2.5, True, "5", None])
def test_a_number_of_candidates_that_is_none_is_refused(number: Any) -> None:
    """The message says the range."""
    with pytest.raises(InputError, match="rerank_candidates is"):
        stage_of("bm25", number)


@pytest.mark.parametrize("name", [3, "", "nothing", ["bm25"], "x" * 10_000])
def test_a_reranker_that_is_none_is_refused(name: Any) -> None:
    """In one short line."""
    with pytest.raises(InputError) as refused:
        stage_of(name, 50)
    assert len(str(refused.value)) < 300


def test_the_command_shows_both_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """What ranked the results is told aside; they have its number, JSON has both."""
    result = _searched(check_question("q", k=3), Backwards())
    file = io.StringIO()

    show_result(result, file)
    rows = json.loads(json.dumps(_as_dict(result)))["results"]

    best = result.hits[0]
    assert "the best by backwards" in capsys.readouterr().err
    assert file.getvalue().startswith(best.chunk.title)
    assert f"[{best.rerank_score:.3f}]" in file.getvalue()
    assert (rows[0]["score"], rows[0]["rerankScore"]) == (
        best.score,
        best.rerank_score,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["q", "--rerank", "bm52"], "did you mean 'bm25'"),
        (["q", "--rerank", "bm25", "--rerank-candidates", "0"], "from 1 to 1000"),
        (["q", "--rerank", "pointwise:/no/such/file"], "/no/such/file"),
    ],
)
def test_the_command_refuses_before_a_server_starts(
    arguments: list[str], message: str
) -> None:
    """Mistakes on the command line are told without a server."""
    ran = CliRunner().invoke(command, arguments, obj=NOWHERE)

    assert isinstance(ran.exception, InputError | ModelError)
    assert message in str(ran.exception)


def test_procedures_take_both_options() -> None:
    """Their names are camelCase at the doors."""
    options = {"rerank": "bm25", "rerankCandidates": 7}

    found = keywords("search", {"question": "q"}, options)

    assert (found["rerank"], found["rerank_candidates"]) == ("bm25", 7)


@pytest.mark.parametrize(
    "name", ["pointwise:/etc/passwd", "cross-encoder:x", "zeroentropy:y"]
)
def test_callers_of_procedures_load_no_models_and_read_no_files(name: str) -> None:
    """Only what the server's settings name is open besides those without a model."""
    with pytest.raises(InputError, match=r"use one of bm25, embedding\."):
        keywords("search", {"question": "q"}, {"rerank": name}, settings=NOWHERE)


def test_the_reranker_of_the_settings_is_open() -> None:
    """Whoever runs the server decides what it may load."""
    settings = Settings(reranker="cross-encoder:x")

    found = keywords(
        "search",
        {"question": "q"},
        {"rerank": "cross-encoder:x"},
        settings=settings,
    )

    assert found["rerank"] == "cross-encoder:x"

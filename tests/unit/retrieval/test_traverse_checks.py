"""What walks and comparisons check before any server is asked, and how they look."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from knowtrail.graph.errors import InputError, ModelError, UnknownAlgorithmError
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.algorithms import ALGORITHMS
from knowtrail.retrieval.cli.ask import ask
from knowtrail.retrieval.cli.traverse import _as_dict, compare, traverse
from knowtrail.retrieval.display import show_comparison, show_walk
from knowtrail.retrieval.recording import question_id
from knowtrail.retrieval.traverse import TraverseResult, compared_algorithms, overlaps
from knowtrail.retrieval.traverse import compare as compare_walks
from knowtrail.retrieval.walk import RankedChunk
from tests.walks import NIGHT, SEA, recording, walk_over

if TYPE_CHECKING:
    import click

NOWHERE = Settings(uri="bolt://127.0.0.1:1")


def results() -> tuple[TraverseResult, ...]:
    """Return a comparison of three algorithms, of which one failed."""
    query = walk_over("fox0", "owl0", "owl1")
    kg = walk_over("fox0", "fox1", "owl1", "eel0", algorithm="kg_traversal")
    none = walk_over(algorithm="llm_guided_traversal", stop_reason="failed")
    return (
        TraverseResult(walk=query, traversal_id="id-of-query"),
        TraverseResult(walk=kg, warning="It was not recorded."),
        TraverseResult(walk=none, error="No model."),
    )


def test_all_algorithms_are_compared_that_need_no_model() -> None:
    """Without names all take part, the guided one only with a model."""
    without = compared_algorithms(None)

    assert set(ALGORITHMS) - set(without) == {"llm_guided_traversal"}
    assert set(compared_algorithms(None, "a model")) == set(ALGORITHMS)


@pytest.mark.parametrize("names", [(), ("kg_traversal", "kg_traversal")])
def test_algorithms_are_compared_once_each(names: tuple[str, ...]) -> None:
    """None and the same twice make no comparison."""
    with pytest.raises(InputError, match="name each once"):
        compared_algorithms(names)


def test_a_comparison_of_one_algorithm_is_refused() -> None:
    """What `traverse` takes is named, with what a comparison takes instead."""
    with pytest.raises(InputError, match=r"algorithms=\[\.\.\.\], a list"):
        compare_walks(None, "Why?", algorithm="auto")  # type: ignore[arg-type]


def test_overlap_counts_sentences_in_pairs() -> None:
    """Of five sentences that either found, two are common; a failure has no pair."""
    (overlap,) = overlaps(results())

    assert (overlap.left, overlap.right) == ("query_traversal", "kg_traversal")
    assert (overlap.shared, overlap.either, overlap.share) == (2, 5, 0.4)


def test_overlap_of_nothing_is_zero() -> None:
    """Two walks that found nothing have nothing in common."""
    empty = TraverseResult(walk=walk_over(stop_reason="no_anchor"))

    assert overlaps((empty, empty))[0].share == 0.0


def test_comparison_is_a_row_an_algorithm() -> None:
    """Figures, stop, time and id of each, and the shares of common sentences."""
    file = io.StringIO()

    show_comparison(results(), overlaps(results()), file)

    rows = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    early = "enough was found, a sentence of it nearer than any chunk left"
    assert f"query_traversal 3 2 2 4.2 {early}" in rows
    found = rows[rows.index("query_traversal found (traversal id-of-query):") + 1 :]
    assert [row.startswith("- ") for row in found[:4]] == [True, True, True, False]
    assert not any(row.startswith("llm_guided_traversal found") for row in rows)
    assert f"kg_traversal 4 3 3 4.2 {early}" in rows
    assert "llm_guided_traversal 0 0 0 4.2 it could not be made" in rows
    assert "2 kg_traversal 40%" in rows


def test_walk_is_shown_with_reasons_and_sentences() -> None:
    """The table says how each chunk was chosen; the sentences follow by document."""
    file = io.StringIO()

    show_walk(walk_over("fox0", "owl0", "owl1"), file)

    text = file.getvalue()
    assert "3 steps, 2 hops, 3 sentences" in text
    assert [word in text for word in ("Chosen as", "anchor", "nearest to")] == [
        True
    ] * 3
    assert text.count("Owl\n") == 1
    assert "Says owl1 (0.800)" in text


@pytest.mark.parametrize("algorithm", ["auto", "query_traversal"])
def test_steps_of_auto_say_that_scores_do_not_rank_them(algorithm: str) -> None:
    """A later step may have a higher score; walks along edges need no such line."""
    file = io.StringIO()

    show_walk(walk_over("fox0", "owl0", algorithm=algorithm), file)

    assert ("auto ranks by" in file.getvalue()) is (algorithm == "auto")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"title": "Moon"}, "no chunk passed the filter"),
        (None, "the corpus has no chunk yet, see knowtrail corpus list"),
    ],
)
def test_a_walk_without_a_step_is_shown(given: object, what: str) -> None:
    """Nothing found is one line, which names the filter where there is one."""
    file = io.StringIO()

    show_walk(walk_over(stop_reason="no_anchor", filter=given), file)

    assert "0 sentences" in file.getvalue()
    told = f"it ended because {what}."
    assert told in " ".join(file.getvalue().split())


def test_json_has_candidates_with_a_trace() -> None:
    """What was considered is written only where it was asked for."""
    result = replace(results()[0], ranking=(RankedChunk(id="fox0", score=0.9),))

    plain = _as_dict(result, trace=False)
    traced = _as_dict(result, trace=True)

    assert plain["traversalId"] == "id-of-query"
    assert "considered" not in plain["steps"][0]
    assert traced["anchors"] == [{"chunkId": "fox0", "score": 0.9}]
    assert [c["chunkId"] for c in traced["steps"][0]["considered"]] == ["owl0", "owl1"]


def test_ids_follow_content_and_time() -> None:
    """The same walk at the same time has one id, everything else another."""
    walk = walk_over("fox0")
    ids = [
        recording(walk).id,
        recording(walk, minute=1).id,
        recording(replace(walk, question=SEA)).id,
        recording(replace(walk, algorithm="kg_traversal")).id,
        recording(replace(walk, parameters={"maxHops": 3})).id,
    ]

    assert recording(walk).id == ids[0]
    assert len(set(ids)) == len(ids)
    assert question_id("tales", NIGHT) != question_id("other", NIGHT)


def test_each_chunk_and_sentence_is_sent_once() -> None:
    """A chunk that was visited and considered has one place in the statement."""
    sent = recording(walk_over("fox0", "owl0", "owl1"), trace=True).parameters()

    assert sent["chunks"] == ["fox0", "owl0", "owl1", "eel0"]
    assert sent["sentences"] == ["s-fox0", "s-owl0", "s-owl1"]
    assert [row["rank"] for row in sent["picks"]] == [1, 2, 3]


@pytest.mark.parametrize("command", [traverse, compare])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([""], "ask something"),
        ([" \n"], "ask something"),
        (["x" * 100_000], "has 100000 characters"),
        (["q\udcff"], "not valid text"),
        (["q", "--max-sentences", "0"], "max_sentences is 0"),
        (["q", "--max-hops", "-1"], "max_hops is -1"),
        (["q", "--anchors", "21"], "anchors is 21"),
        (["q", "--lookahead", "4"], "lookahead is 4"),
        (["q", "--beam", "0"], "beam is 0"),
        (["q", "--preset", "published", "--anchors", "2"], "has one anchor"),
        (["q", "--preset", "published", "--lookahead", "1"], "does not look ahead"),
        (["q", "--filter", "{"], "--filter is not JSON"),
        (["q", "--filter", "[" * 100_000], "nested too deeply"),
        (["q", "--filter", '{"languge": 1}'], "did you mean 'language'"),
        (["q", "--algorithm", "query_travesal"], "did you mean 'query_traversal'"),
    ],
)
def test_mistakes_are_told_before_a_server_starts(
    command: click.Command, arguments: list[str], message: str
) -> None:
    """Each is one line that says what to give."""
    ran = CliRunner().invoke(command, arguments, obj=NOWHERE)

    assert isinstance(ran.exception, InputError)
    assert message in str(ran.exception)
    assert "\n" not in str(ran.exception)
    assert len(str(ran.exception)) < 500


def test_an_unknown_algorithm_stops_a_comparison_at_once() -> None:
    """It is named before any walk is made."""
    arguments = ["q", "--algorithm", "kg_traversal", "--algorithm", "kg"]

    ran = CliRunner().invoke(compare, arguments, obj=NOWHERE)

    assert isinstance(ran.exception, UnknownAlgorithmError)


@pytest.mark.parametrize("arguments", [["--preset", "seed"], ["--reader", "disk"]])
def test_unknown_choices_are_refused(arguments: list[Any]) -> None:
    """Click names the choices."""
    ran = CliRunner().invoke(traverse, ["q", *arguments], obj=NOWHERE)

    assert ran.exit_code == 2


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("no-model", "ollama serve"),
        ("openai:none@http://127.0.0.1:1/v1", "look at the network and at http"),
    ],
)
def test_ask_misses_its_model_before_it_walks(model: str, said: str) -> None:
    """A model that is not there is told before a database or an embedder is needed."""
    silent = replace(NOWHERE, ollama_url="http://127.0.0.1:1")
    named = replace(silent, language_model=model)

    for arguments, settings in ((["q", "--model", model], silent), (["q"], named)):
        ran = CliRunner().invoke(ask, arguments, obj=settings)
        assert isinstance(ran.exception, ModelError)
        assert said in str(ran.exception)

"""`auto` on graphs worked out by hand: what leads where, and where it stays dense."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.algorithms import auto
from knowtrail.retrieval.algorithms.auto import Ablation, Auto
from knowtrail.retrieval.algorithms.auto_graph import (
    MENTIONS,
    RESTART,
    local_graph,
    seeds,
    worth_opening,
)
from knowtrail.retrieval.algorithms.auto_spread import REPEATED, Place, spread, worded
from knowtrail.retrieval.algorithms.auto_words import (
    as_written,
    content_stems,
    forms,
    possible_names,
    question_names,
    stems,
    unknown_names,
)
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.filters import parse_filter
from knowtrail.retrieval.protocols import (
    AnchorRequest,
    Candidates,
    StoredSentence,
    TermsFound,
    WalkOptions,
)
from knowtrail.retrieval.questions import check_question, refused
from knowtrail.retrieval.rerank.bm25 import words
from knowtrail.retrieval.traverse import compared_algorithms
from knowtrail.retrieval.walk import ChunkText
from tests.memory_reader import MemoryGraph, MemoryReader

if TYPE_CHECKING:
    from knowtrail.retrieval.walk import Trail

QUESTION = "Where was the composer of Nightfall born?"
TEXTS = {
    "a": "Nightfall is an opera by Ida Brandt.",
    "b": "Ida Brandt was born in Kolding.",
    "c": "Operas are often composed for a stage where singers stand.",
    "d": "Where composers were born is listed in many books.",
    "e": "Kolding has a harbour.",
}
NAMES = {"a": ("nightfall", "ida brandt"), "b": ("ida brandt", "kolding"),
         "c": (), "d": (), "e": ("kolding",)}  # fmt: skip
NEARNESS = {"a": 0.9, "b": 0.1, "c": 0.7, "d": 0.8, "e": 0.0}


def graph(names: dict[str, tuple[str, ...]] = NAMES, **more: Any) -> MemoryGraph:
    """Return five passages whose cosines to (1, 0) are given."""
    vectors = np.array([[x, np.sqrt(1 - x * x)] for x in NEARNESS.values()])
    chunks = tuple(
        ChunkText(
            id=key,
            text=text,
            index=0,
            first_sentence=0,
            last_sentence=0,
            start_char=0,
            end_char=len(text),
            document_id=f"of {key}",
            title=f"Page {key}",
        )
        for key, text in TEXTS.items()
    )
    sentences = {
        key: (
            StoredSentence(
                id=f"s{key}",
                text=TEXTS[key],
                index=0,
                start_char=0,
                end_char=len(TEXTS[key]),
                vector=vector,
            ),
        )
        for key, vector in zip(TEXTS, vectors, strict=True)
    }
    return MemoryGraph(
        chunks=chunks,
        vectors=vectors,
        sentences=sentences,
        edges={},
        names=names,
        **more,
    )


def walk(
    question: str = QUESTION,
    names: dict[str, tuple[str, ...]] = NAMES,
    *,
    parts: Ablation | None = None,
    given: dict[str, Any] | None = None,
    **options: Any,
) -> Trail:
    """Walk over the five passages."""
    reader = MemoryReader(graph(names), filter=parse_filter(given))
    walking = Auto(parts=parts or Ablation()).walk(
        np.array([1.0, 0.0]), WalkOptions(question=question, **options)
    )
    return run(reader, walking)


def visited(trail: Trail) -> str:
    """Return the ids of the steps' chunks."""
    return "".join(step.chunk.id for step in trail.steps)


def test_a_shared_name_bridges_to_what_the_question_does_not_name() -> None:
    """The answer shares no name with the question, and is far from it."""
    trail = walk(max_sentences=2)

    assert visited(trail) == "ab"
    first, second = trail.steps
    assert (first.hop, first.reason) == (
        0,
        "nearest to the question, and names 'Nightfall' as it does",
    )
    assert (second.hop, second.reason) == (
        1,
        "names 'Ida Brandt', which 'Page a' names too",
    )
    assert second.score == pytest.approx(0.1)
    assert trail.stop_reason == "sentence_limit"


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where are composers born?", NAMES),
        (QUESTION, {}),
        (QUESTION, dict.fromkeys(TEXTS, ())),
    ],
)
def test_without_names_the_order_is_the_dense_one(
    question: str, names: dict[str, tuple[str, ...]]
) -> None:
    """A question without names, and a corpus without terms, come out as by cosine."""
    trail = walk(question, names)

    assert visited(trail) == "adcbe"
    assert all("nearest to the question" in step.reason for step in trail.steps)
    assert "chunks" not in trail.counts
    assert trail.stop_reason == "chunks_exhausted"


def test_no_hop_means_no_names() -> None:
    """With max_hops 0 the walk is the dense order; with 1 it may follow one name."""
    assert visited(walk(max_hops=0)) == "adcbe"
    assert sum(step.hop > 0 for step in walk(max_hops=1).steps) <= 1


def test_each_reason_is_a_sentence_that_is_true() -> None:
    """What chunks share with the question, with each other, and how near they are."""
    names = {**NAMES, "c": ("nightfall",), "e": ("ida brandt",)}

    trail = walk("When did Ida Brandt write Nightfall?", names, max_sentences=5)
    chained = walk(names={**NAMES, "e": ("ida brandt",)}, max_sentences=5)

    assert {s.chunk.id: s.reason for s in trail.steps} == {
        "a": "nearest to the question, and names 'Nightfall' as it does",
        "b": "4th nearest to the question, and names 'Ida Brandt' as it does",
        "c": "3rd nearest to the question, and names 'nightfall' as it does",
        "d": "2nd nearest to the question",
        "e": "5th nearest to the question, and names 'ida brandt' as it does",
    }
    assert {s.chunk.id: s.reason for s in chained.steps if s.chunk.id in "be"} == {
        "b": "names 'Ida Brandt', which 'Page a' names too",
        "e": "names 'ida brandt', which 'Page a' (step 0) names too",
    }


def test_a_chain_within_a_document_says_so() -> None:
    """Titles say nothing where both have the same."""
    whole = graph()
    chunks = tuple(replace(c, document_id="one", title="One") for c in whole.chunks)
    apart = tuple(replace(c, title="One") for c in whole.chunks)

    reasons = [
        run(
            MemoryReader(replace(whole, chunks=made)),
            Auto().walk(
                np.array([1.0, 0.0]), WalkOptions(question=QUESTION, max_sentences=2)
            ),
        )
        .steps[1]
        .reason
        for made in (chunks, apart)
    ]

    assert reasons == [
        "names 'Ida Brandt', which another part of it names too",
        "names 'Ida Brandt', which another 'One' names too",
    ]


def test_candidates_are_what_the_ranking_left() -> None:
    """After each step the best that are left, as they are ranked.

    The end of a chain is ranked before its beginning, which is taken before it.
    """
    trail = walk(max_sentences=2)
    dense = walk("Where are composers born?", max_sentences=2)
    cosines = walk(max_sentences=2, parts=Ablation(ranks=False, spread=False))

    first, last = trail.steps
    assert (first.considered[0].id, last.chunk.id) == ("b", "b")
    assert [c.id for c in last.considered] == [c.id for c in first.considered[1:]]
    scores = [c.score for c in first.considered]
    assert scores == sorted(scores, reverse=True)
    assert {c.id for c in last.considered} == {"c", "d", "e"}
    assert [len(step.considered) for step in dense.steps] == [4, 3]
    assert [len(step.considered) for step in cosines.steps] == [0, 0]


def test_candidates_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many after a step, and so many after the last one."""
    monkeypatch.setattr(auto, "_NEXT", 1)
    monkeypatch.setattr(auto, "_LEFT", 2)

    trail = walk(max_sentences=2)

    assert [len(step.considered) for step in trail.steps] == [1, 2]


def test_a_filter_holds_for_what_names_lead_to() -> None:
    """What does not pass is not reached through a name either."""
    trail = walk(given={"title": {"$ne": "Page b"}})

    assert "b" not in visited(trail)


def test_one_chunk_and_chunks_without_text() -> None:
    """A corpus of one chunk gives it; a chunk without sentences is passed over."""
    whole = graph()
    one = replace(whole, chunks=whole.chunks[:1], vectors=whole.vectors[:1])
    blank = replace(whole, sentences={**whole.sentences, "b": ()})
    options = WalkOptions(max_sentences=None, max_chunks=50, question=QUESTION)

    found = [
        run(MemoryReader(each), Auto().walk(np.array([1.0, 0.0]), options))
        for each in (one, blank)
    ]

    assert [visited(trail) for trail in found] == ["a", "adce"]
    assert {trail.stop_reason for trail in found} == {"chunks_exhausted"}


def test_equal_chunks_come_in_the_order_of_their_ids() -> None:
    """Where all cosines and names are the same, ids decide, however they are stored."""
    whole = graph(dict.fromkeys(TEXTS, ("nightfall",)))
    same = np.tile(np.array([0.6, 0.8]), (len(TEXTS), 1))
    turned = replace(whole, chunks=whole.chunks[::-1], vectors=same)
    options = WalkOptions(question="Nightfall and Ida Brandt?")

    trail = run(MemoryReader(turned), Auto().walk(np.array([1.0, 0.0]), options))

    assert visited(trail) == "abcde"


def test_each_part_can_be_left_out() -> None:
    """Without walks the order is dense; without chains nothing names its bridge."""
    assert visited(walk(parts=Ablation(ranks=False))) == "adcbe"
    plain = walk(parts=Ablation(rarity=False, coverage=False, spread=False))
    assert not any(step.hop for step in plain.steps)


def test_documents_come_in_turn_as_far_as_names_do_not_count() -> None:
    """The more chunks of a document there were, the less the next one counts."""
    places = [
        Place(id=name, score=score)
        for name, score in zip("abcd", (4, 3.8, 3.7, 1), strict=True)
    ]
    documents = {"a": "x", "b": "x", "c": "y"}

    half = spread(places, documents, 0.5)
    whole = spread(places, documents, 1.0)

    assert "".join(place.id for place in half) == "acbd"
    assert [place.score for place in whole] == [4, 3.7, 3.8 - REPEATED, 1]
    assert spread(places, documents, 0.0) == places


def test_the_sixth_place_is_for_the_words_of_the_question() -> None:
    """It is of a document that is not heard yet; without such words nothing moves."""
    places = [Place(id=name, score=9 - n) for n, name in enumerate("abcdefg")]
    documents = {name: f"of {name}" for name in "abcdefgh"} | {"x": "of a"}
    texts = dict.fromkeys("abcdefg", "The sea was calm.") | {
        "h": "A carpenter found the longitude at sea.",
        "x": "Longitude at sea: sailors, longitude, sailors.",
    }
    question = "How did sailors find their longitude at sea?"

    told = worded(places, documents, texts, question)

    assert "".join(place.id for place in told) == "abcdehfg"
    assert told[5].worded
    assert told[5].score == told[4].score
    assert worded(places, documents, texts, "Why?") == places
    assert worded(places[:4], documents, texts, question) == places[:4]


def test_the_language_of_a_question_decides_its_function_words() -> None:
    """Of `war`, English keeps the noun, German drops the verb."""
    assert content_stems("Which ships went to war?") == ["ship", "went", "war"]
    assert content_stems("Wo war der Hafen?") == ["hafen"]
    assert content_stems("What is this?") == ["what", "is", "thi"]


def test_a_step_tells_the_name_that_joins_it_to_the_one_before() -> None:
    """In the dense order too a name that both have is a hop; it ranks nothing."""
    names = {"a": ("ida brandt",), "d": ("ida brandt",), "c": ("kolding",)}

    trail = walk("Where are composers born?", names, max_sentences=3)

    assert visited(trail) == "adc"
    assert [step.hop for step in trail.steps] == [0, 1, 0]
    assert trail.steps[1].reason == (
        "2nd nearest to the question, and names 'ida brandt', which 'Page a' names too"
    )


def test_told_names_end_no_walk() -> None:
    """They are followed by nobody, so that a budget of hops does not count them."""
    names = dict.fromkeys("abcd", ("ida brandt",))

    trail = walk("Where are composers born?", names, max_hops=1)

    assert visited(trail) == "adcbe"
    assert sum(step.hop > 0 for step in trail.steps) == 1


def test_sentences_that_say_little_stay_out() -> None:
    """Beside the best one, a further sentence of a chunk must be near the question."""
    whole = graph()
    near, far = whole.sentences["a"][0], whole.sentences["e"][0]
    far = replace(far, id="far", index=near.index + 1, vector=np.array([0.1, 1.0]))
    kept = replace(near, id="kept", index=near.index + 2, text="It is near as well.")
    filled = replace(whole, sentences={**whole.sentences, "a": (near, far, kept)})

    def taken(question: str, parts: Ablation) -> list[str]:
        options = WalkOptions(question=question)
        walking = Auto(parts=parts).walk(np.array([1.0, 0.0]), options)
        return [s.id for s in run(MemoryReader(filled), walking).steps[0].sentences]

    asked = "Where are composers born?"
    assert taken(asked, Ablation()) == [near.id, "kept"]
    assert taken(asked, Ablation(spread=False)) == [near.id, "far", "kept"]


def test_a_chunk_budget_takes_all_sentences_of_chunks() -> None:
    """With a budget of chunks the walk ends at the second."""
    trail = walk(max_sentences=None, max_chunks=2)

    assert (visited(trail), trail.stop_reason) == ("ab", "chunk_limit")


def test_page_rank_is_a_distribution_and_seeds_lead() -> None:
    """In a closed graph nothing is lost, and a walker is mostly where it starts."""
    counts = {"x": 2, "y": 2}
    named = {"p": ("x",), "q": ("x", "y"), "r": ("y",)}
    closed = local_graph(named, counts, 8, dict.fromkeys(named, "Page"))
    start = seeds(("p",), np.array([1.0]), ("x",), counts, 8)

    ranks = closed.page_rank(start)

    assert start.terms == {"x": 1.0}
    assert ranks.argmax() in {0, 1}
    assert 0 < ranks[2] < ranks[0]
    assert ranks.sum() < 1 - RESTART + 1e-9


def test_a_name_leads_to_the_document_that_it_is_the_title_of() -> None:
    """What stands in parentheses at a title's end is no part of the name."""
    named = {"p": ("vasa",), "q": ("vasa",), "r": ("vasa",)}
    titles = {"p": "Page", "q": "Page", "r": "Vasa (ship)"}
    led = local_graph(named, {"vasa": 3}, 8, titles)
    plain = local_graph(named, {"vasa": 3}, 8, dict.fromkeys(named, "Page"))
    start = seeds(("p",), np.array([1.0]), ("vasa",), {"vasa": 3}, 8)

    _, second, third = led.page_rank(start)
    _, same, other = plain.page_rank(start)

    assert third > 10 * second > 0
    assert same == other


def test_a_title_names_the_shorter_title_that_is_in_it() -> None:
    """Names are found as the longest, so a title hides what its document is about."""
    named = {"p": ("2018 kansas election",), "q": ("kansas",), "r": ("mine creek",)}
    titles = {"p": "2018 Kansas election", "q": "Kansas", "r": "Battle of Mine Creek"}
    counts = {"2018 kansas election": 1, "kansas": 1, "mine creek": 1}

    found = local_graph(named, counts, 8, titles)

    edges = zip(found.chunk.tolist(), found.term.tolist(), strict=True)
    assert {(found.ids[c], found.names[t]) for c, t in edges} == {
        ("p", "2018 kansas election"), ("p", "kansas"), ("q", "kansas"),
        ("r", "mine creek"),
    }  # fmt: skip


def test_titles_within_titles_make_no_walkers() -> None:
    """Many longer titles hold a short one that few chunks name."""
    named = {f"p{n}": (f"dune {n}", "sand", "spice") for n in range(120)}
    titles = {f"p{n}": f"Dune {n}" for n in range(120)} | {"q": "Dune"}
    counts = {f"dune {n}": 1 for n in range(120)}
    counts |= {"sand": 120, "spice": 120, "dune": 1}

    found = local_graph(named | {"q": ("dune",)}, counts, 20_000, titles)
    start = seeds(("q",), np.array([1.0]), ("dune",), counts, 20_000)

    assert found.page_rank(start).sum() <= 1


def test_a_common_name_does_not_crowd_out_how_many_have_it() -> None:
    """Each unknown name is counted among the chunks that its own words find."""
    texts = {f"t{n:02}": f"Harbour of Kolding, part {n}." for n in range(40)}
    texts |= {f"s{n:02}": "Skagen, Skagen, Skagen." for n in range(60)}
    found = TermsFound(chunks=5_000, counts={}, named={}, texts={}, titles={})
    question = "Did Kolding or Skagen build it?"
    asking = auto._with_written(found, np.ones(2), question)
    asked: list[str] = []
    answer: Any = None
    while True:
        try:
            request: Any = asking.send(answer)
        except StopIteration as end:
            counts = end.value.counts
            break
        if isinstance(request, AnchorRequest):
            word = request.words.split()[0]
            asked.append(word)
            ids = [i for i, text in texts.items() if word in text.lower()]
            answer = Candidates(
                ids=(), vectors=np.empty((0, 2)), by_words=tuple(ids[:50])
            )
        else:
            answer = replace(
                found,
                named=dict.fromkeys(request.chunk_ids, ()),
                texts={i: texts[i] for i in request.chunk_ids},
                titles=dict.fromkeys(request.chunk_ids, ""),
            )

    assert asked == ["kolding", "skagen"]
    assert counts == {}


def test_a_name_with_an_apostrophe_is_asked_for_as_it_is_written() -> None:
    """An index may keep the word whole; the other words are asked for without."""
    found = TermsFound(chunks=5_000, counts={}, named={}, texts={}, titles={})
    question = "Where was Conan O'Brien born?"

    request: Any = next(auto._with_written(found, np.ones(2), question))

    assert request.words.split()[-1] == "O'Brien"
    assert request.words.split().count("Conan") == 0


def test_a_name_of_the_question_that_is_no_term_is_looked_for_in_texts() -> None:
    """The chunks that have it are far from the question, and share no term with it."""
    names = {**dict.fromkeys(TEXTS, ()), "a": ("nightfall",)}
    question = "Is Nightfall about the harbour of Kolding?"
    most: dict[str, Any] = {"max_chunks": 4, "max_sentences": None}

    told = walk(question, names, **most)
    plain = walk(question, names, parts=Ablation(written=False), **most)

    assert set(visited(told)) == {"a", "b", "d", "e"}
    reasons = {step.chunk.id: step.reason for step in told.steps}
    assert reasons["e"] == "5th nearest to the question, and names 'Kolding' as it does"
    assert set(visited(plain)) == {"a", "b", "c", "d"}


def test_names_that_are_unknown_are_written_with_a_capital_and_share_none() -> None:
    question = "What did the Ida Brandt Society find near Skagen in new Kolding?"

    unknown = unknown_names(question, {"ida brandt", "new"})
    assert unknown == {"kolding": "Kolding", "skagen": "Skagen"}


def test_a_chain_by_a_title_is_worth_more_than_by_another_name() -> None:
    """Of two names as rare, that which is the title of the document it leads to."""
    names = {"a": ("nightfall", "ida brandt", "kolding"), "b": ("ida brandt",),
             "c": (), "d": (), "e": ("kolding",)}  # fmt: skip

    def after_the_first(titles: dict[str, str]) -> str:
        whole = graph(names)
        chunks = tuple(replace(c, title=titles.get(c.id, "")) for c in whole.chunks)
        options = WalkOptions(question=QUESTION, max_sentences=2)
        walking = Auto(parts=Ablation(coverage=False)).walk(
            np.array([1.0, 0.0]), options
        )
        return visited(run(MemoryReader(replace(whole, chunks=chunks)), walking))

    assert after_the_first({"b": "Ida Brandt"}) == "ab"
    assert after_the_first({"e": "Kolding (town)"}) == "ae"


def test_a_name_that_is_a_title_counts_fully() -> None:
    """However many chunks have it; without the title its rarity counts."""
    names = dict.fromkeys("abcd", ("nightfall",)) | {"e": ("kolding",)}
    whole = graph(names)
    titled = tuple(replace(c, title="Nightfall") for c in whole.chunks)
    options = WalkOptions(question=QUESTION, max_sentences=2)

    plain, full, without = (
        run(MemoryReader(each), Auto(parts=parts).walk(np.array([1.0, 0.0]), options))
        for each, parts in (
            (whole, Ablation()),
            (replace(whole, chunks=titled), Ablation()),
            (replace(whole, chunks=titled), Ablation(titles=False)),
        )
    )

    assert full.counts["gate"] == 1
    assert 0 < plain.counts["gate"] == without.counts["gate"] < 1


def test_rare_terms_of_good_anchors_are_opened_first() -> None:
    """A term of too many chunks is passed over, and one of this chunk alone."""
    counts = {"rare": 2, "common": MENTIONS, "own": 1}
    start = seeds(("p", "q"), np.array([0.9, 0.1]), (), counts, 10 * MENTIONS)

    opened, broad, _ = worth_opening(
        start, {"p": ("rare", "common", "own"), "q": ()}, counts, 10 * MENTIONS
    )

    assert (opened, broad) == (("rare",), ())


def test_a_name_of_the_question_is_opened_in_part() -> None:
    """One that more chunks have than the limit gets what is left of it."""
    counts = {"rare": 2, "common": MENTIONS + 1}
    start = seeds(("p",), np.array([1.0]), tuple(counts), counts, 10 * MENTIONS)

    found = worth_opening(start, {"p": ("rare",)}, counts, 10 * MENTIONS)

    assert found == (("rare",), ("common",), MENTIONS - 2)


def test_names_of_a_question_are_the_longest() -> None:
    """Whole words in any case, the longest from the left."""
    known = {"ida", "ida brandt", "brandt", "the"}

    assert "ida brandt" in possible_names("Was Ida Brandt there?")
    assert question_names("Was IDA Brandt there?", known) == ("ida brandt",)
    assert possible_names("") == ()


def test_a_long_question_has_a_bounded_number_of_names() -> None:
    """Only the first 200 words are looked at."""
    many = possible_names(" ".join(f"word{n}" for n in range(2000)))

    assert len(many) <= 200 * 16


def test_words_are_compared_without_their_endings() -> None:
    """Endings go where enough is left; a name is shown as the text writes it."""
    assert stems("Operas singing was listed") == ["opera", "sing", "was", "list"]
    asked = {*stems("Is an opera singing of singers?"), "runs"}
    known = forms(asked)
    for text in ("She sang operas; singing.", "", "Operates signs. ISLES runs, éoper"):
        read = [known.get(word, word) for word in words(text)]
        assert asked.intersection(read) == asked.intersection(stems(text))
        assert len(read) == len(stems(text))
    assert as_written("ida brandt", "by Ida-Brandt, in") == "Ida-Brandt"
    assert as_written("ida brandt", "by nobody") == "ida brandt"
    assert as_written("battle of grunberg", "the Battle of\nGrünberg") == (
        "Battle of Grünberg"
    )
    assert as_written("東 京", "彼は東京に住む") == "東京"
    assert as_written("ida", "Idaho") == "ida"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"anchors": 3}, "starts from many chunks"),
        ({"lookahead": 1}, "does not look ahead"),
        ({"preset": "published"}, "has no algorithm 'auto'"),
    ],
)
def test_what_auto_has_no_use_for_is_refused(
    asked: dict[str, Any], message: str
) -> None:
    """One line says so, and a comparison of all leaves it out."""
    with pytest.raises(InputError, match=message):
        check_question(QUESTION, algorithm="auto", **asked)

    assert "auto" not in compared_algorithms(None, None, asked)  # type: ignore[arg-type]
    assert "auto" in compared_algorithms(None)
    assert refused("query_traversal", **asked) == ""

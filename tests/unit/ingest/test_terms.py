"""Terms: which names connect texts, and where they stand."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from knowtrail.ingest.terms import (
    NameTally,
    TermFinder,
    counted_names,
    names_of_chunks,
    segments,
    title_names,
)
from knowtrail.ingest.text_index import open_text_index
from tests.found_terms import find_terms

TEXTS = [
    ("a", "The rocket of Apollo 11 left Cape Canaveral. However, the moon waited."),
    ("b", "In 1969 the apollo 11 crew saw the Moon; however dark, it was near."),
    ("c", "A museum near Cape Canaveral keeps Apollo 11. However cold, the church"),
    ("d", "stands beside a Church, a church and the church of nobody."),
]


def test_terms_are_names_of_two_texts_in_any_case() -> None:
    """Occurrences are found without a capital, and counted as texts."""
    index = find_terms(TEXTS, [])

    assert {name: term.chunks for name, term in index.terms.items()} == {
        "apollo 11": 3,
        "cape canaveral": 2,
    }
    assert index.names == {
        "a": ("apollo 11", "cape canaveral"),
        "b": ("apollo 11",),
        "c": ("apollo 11", "cape canaveral"),
        "d": (),
    }
    assert index.terms["cape canaveral"].label == "Cape Canaveral"


def test_titles_are_terms_without_what_tells_namesakes_apart() -> None:
    """One text is enough for a title, and a word that is mostly small."""
    index = find_terms(TEXTS, ["Moon (satellite)", "Church", "Nowhere", "1969"])

    assert index.terms["moon"].label == "Moon"
    assert index.terms["1969"].chunks == 1
    assert index.terms["church"].chunks == 2
    assert "nowhere" not in index.terms


def test_titles_in_scripts_without_capitals_or_spaces_are_found() -> None:
    """Characters are compared one by one, words of Devanagari as a whole."""
    texts = [("j", "東京は日本の首都です"), ("h", "हिन्दी भारत की भाषा है")]

    index = find_terms(texts, ["東京", "日本", "भाषा", "भार"])

    assert index.names == {"j": ("日 本", "東 京"), "h": ("भाषा",)}


def test_longest_name_from_the_left_is_taken() -> None:
    """A name inside a longer one does not count there, but does beside it."""
    finder = TermFinder(["new york", "york", "new york city", "city of york"])

    assert finder.find("In New York City, York and New-York; newyork") == [
        "new york city",
        "york",
        "new york",
    ]


NAMES = st.lists(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(" ".join), max_size=8
)


@given(NAMES, st.lists(st.sampled_from("abcd"), max_size=14))
def test_finding_is_what_trying_every_name_gives(
    names: list[str], words: list[str]
) -> None:
    """The finder agrees with a search that compares each place with each name."""
    expected, place = [], 0
    while place < len(words):
        fits = [
            name.split()
            for name in names
            if words[place : place + len(name.split())] == name.split()
        ]
        best = max(fits, key=len, default=None)
        if best:
            expected.append(" ".join(best))
        place += len(best) if best else 1

    assert TermFinder(names).find(" ".join(words)) == expected


WORDS = st.sampled_from(["Rome", "rome", "Oslo", "The", "the", "met", "Ann", "of", "."])


@given(
    st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=8),
    st.integers(0, 2**16),
)
def test_order_of_texts_does_not_matter(texts: list[str], seed: int) -> None:
    """The same terms, labels and counts come from any order."""
    pairs = [(str(number), text) for number, text in enumerate(texts)]
    titles = ["Oslo", "Ann (person)"]
    shuffled = pairs.copy()
    random.Random(seed).shuffle(shuffled)

    one, other = find_terms(pairs, titles), find_terms(shuffled, titles[::-1])

    assert (one.terms, one.names) == (other.terms, dict(sorted(other.names.items())))


def counted(texts):
    """Return the tally of some texts."""
    tally = NameTally()
    for text in texts:
        tally.add(counted_names([text]))
    return tally


def test_counts_on_disk_are_those_in_memory(monkeypatch) -> None:
    """A tally that spills after every text chooses the same names."""
    texts = [text for _, text in TEXTS]
    held = counted(texts).chosen()
    monkeypatch.setattr("knowtrail.ingest.terms._HELD", 0)

    assert counted(texts).chosen() == held
    assert "apollo 11" in held


def test_what_is_taken_away_was_never_counted() -> None:
    """Names of a text that goes are counted as though it had not come."""
    texts = [text for _, text in TEXTS]
    tally = counted([*texts, "By Apollo 11, apollo and Old Rome it went."])

    tally.add(counted_names(["By Apollo 11, apollo and Old Rome it went."]), -1)

    assert tally.chosen() == counted(texts).chosen()


def test_label_is_the_usual_form() -> None:
    """The most frequent spelling wins, of equal ones the first in order."""
    tally = counted([
        "in ROME now",
        "in Rome now",
        "in Rome then",
        "at OSLO",
        "at Oslo",
    ])

    assert tally.chosen() == {"rome": "Rome", "oslo": "OSLO"}


def test_titles_of_one_name_have_one_label() -> None:
    """The first in order; names that are too short are left."""
    assert title_names(["Mercury (planet)", "MERCURY", "Io"]) == {"mercury": "MERCURY"}


def test_pieces_are_the_sentences_of_sliding_windows() -> None:
    """The ends of overlapping chunks cut the text where sentences begin and end."""
    assert segments([(0, 8), (3, 12), (6, 15)]) == list(pairwise([0, 3, 6, 8, 12, 15]))
    assert segments([]) == []


def test_names_of_a_chunk_end_with_it() -> None:
    """A name over the end of a chunk is in neither; each chunk has its own pieces."""
    text = "New York. Old Rome. New York."
    chunks = [(0, 19), (10, 29)]

    found = names_of_chunks(text, chunks, TermFinder(["new york", "old rome"]))

    assert found == [{"new york", "old rome"}, {"old rome", "new york"}]
    assert names_of_chunks(text, [(0, 3), (4, 9)], TermFinder(["new york"])) == [
        set(),
        set(),
    ]


def test_very_frequent_terms_are_not_linked(tmp_path) -> None:
    """Up to 100 chunks always are, more only up to one in twenty."""
    linked = {}
    for named, total in ((100, 100), (101, 2019), (101, 2020)):
        with open_text_index(
            tmp_path, f"{total}", about="", state=None, new_state="a"
        ) as index:
            index.add(
                "d", content="h", chunks=total, words={"rome"},
                names=({"Rome": (2, 1)}, {}), appears=True,
            )  # fmt: skip
            index.choose({})
            index.find(("d", [(str(n), ["rome"]) for n in range(named)]))
            changed, gone, _, chunks = index.settle()
            assert (changed, gone, chunks) == ({"rome": ("Rome", named)}, [], total)
            linked[total] = index.linked({"rome", "oslo"})
    assert linked == {100: {"rome"}, 2019: set(), 2020: {"rome"}}


def test_only_documents_with_a_name_that_turned_are_named_again(tmp_path) -> None:
    """What did not change is not written; a document that names it is."""

    def linking(index, documents):
        for key, names in documents.items():
            counts = dict.fromkeys(names, (1, 1))
            words = {word.lower() for name in names for word in name.split()}
            index.add(
                key,
                content=key,
                chunks=1,
                words=words,
                names=(counts, {}),
                appears=True,
            )
        _, appeared = index.choose({})
        undone = {key for key, _ in index.undone("named")}
        for key in undone:
            index.find((key, [(key, ["old rome"] if key in "abc" else [])]))
        return appeared, undone

    def opened(state, new):
        return open_text_index(tmp_path, "k", about="", state=state, new_state=new)

    with opened(None, "a") as index:
        linking(index, {"a": ["Old Rome"], "b": ["Old", "Rome"], "c": ["Old Rome"]})
        index.settle()
        index.done("written", ["a", "b", "c"])
    with opened("a", "b") as index:
        appeared, undone = linking(index, {"d": ["Rome"]})
        assert (appeared, undone) == ({"rome"}, {"a", "b", "c", "d"})
        assert [key for key, _ in index.undone("written")] == ["d"]
        assert linking(index, {"e": ["Oslo"]}) == (set(), {"e"})
        index.remove(["a", "c"])
        index.settle()
        assert index.choose({}) == ({"b"}, set())
